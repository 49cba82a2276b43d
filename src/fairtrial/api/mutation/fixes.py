"""Fixes of an evaluation that are proven: each criterion is added, and really run on the mutants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fairtrial.api.eval_sets.set_loading import load_sets
from fairtrial.api.plan_options import READ
from fairtrial.judge.judges import Judges
from fairtrial.metrics.entries import CATALOG
from fairtrial.planned_case import PlannedCase
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.mutation import Fix
from fairtrial.records.result import CaseResult, Verdict
from fairtrial.scoring import score_chunk

CANDIDATES: Mapping[str, float] = {
    "facts_match_v1": 1.0,
    "facts_grounded_v1": 1.0,
    "tool_trajectory_avg_score": 1.0,
    "response_match_score": 0.5,
}
"""The criteria that are tried: they ask no model, and cost nothing."""
MOST = 2000
"""The largest number of survivors, and of conversations that pass, on which a fix is tried."""

Conversation = tuple[int, Recording]


@dataclass
class FixTrials:
    """Collects conversations that pass: survivors, which a fix should catch, and harmless ones, which it should not."""

    survivors: list[Conversation] = field(default_factory=list)
    harmless: list[Conversation] = field(default_factory=list)
    configured: set[str] = field(default_factory=set)

    def add(self, result: CaseResult, recording: Recording) -> None:
        """Add a baseline or a mutant, if it passed."""
        self.configured.update(outcome.criterion for outcome in result.outcomes)
        is_harmful = recording.mutation is not None and recording.mutation.direction == "harmful"
        kept = self.survivors if is_harmful else self.harmless
        if result.verdict is Verdict.PASSED and len(kept) < MOST:
            kept.append((result.position, recording))

    def fixes(self, cases: Mapping[int, EvalCase]) -> tuple[Fix, ...]:
        """Return the criteria that tell survivors from right conversations, the best first. None is configured yet.

        A criterion that fails right conversations as often as survivors, such as grounding without tools, is no fix.
        """
        names = [name for name in CANDIDATES if name in CATALOG and name not in self.configured]
        gains = [(_gain(fix), fix) for fix in (self._try(name, cases) for name in names)]
        return tuple(fix for gain, fix in sorted(gains, key=lambda pair: -pair[0]) if gain > 0)

    def _try(self, name: str, cases: Mapping[int, EvalCase]) -> Fix:
        threshold = CANDIDATES[name]
        caught = sum(_failures(name, self.survivors, cases))
        false_alarms = sum(_failures(name, self.harmless, cases))
        return Fix(name, threshold, caught, len(self.survivors), false_alarms, len(self.harmless))


def _gain(fix: Fix) -> float:
    """Return Youden's J of a criterion on the conversations that pass now."""
    return fix.caught / max(1, fix.survivors) - fix.false_alarms / max(1, fix.harmless)


def _failures(name: str, conversations: Sequence[Conversation], cases: Mapping[int, EvalCase]) -> Iterator[bool]:
    """Yield whether each conversation fails a criterion. An unscored conversation does not."""
    if not conversations:
        return
    first = cases[conversations[0][0]]
    loaded, _ = load_sets(EvalSet("fixes", (first,)), {name: CANDIDATES[name]}, READ, Judges())
    criteria = tuple(criterion for criterion in loaded[0].criteria if criterion.name == name)
    pairs = [
        (PlannedCase(position, cases[position].id, cases[position], criteria), recording)
        for position, recording in conversations
    ]
    yield from (result.verdict is Verdict.FAILED for result in score_chunk(pairs))
