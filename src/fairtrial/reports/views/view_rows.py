"""View models of case rows: attempts, failure reasons, and the cause of differing attempts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from fairtrial.judge.ballot_costs import collect_ballot_ids, pick
from fairtrial.judge.flake_cause import find_cause
from fairtrial.records.result import CaseResult, Verdict
from fairtrial.reports.attempts import CaseAttempts
from fairtrial.reports.views import view_shapes as shapes
from fairtrial.text.display import compact

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording
    from fairtrial.records.attempt_rule import AttemptRules
    from fairtrial.records.ballot import Ballot
    from fairtrial.records.label import Label
    from fairtrial.records.record import Json
    from fairtrial.records.score import Score
    from fairtrial.records.trace import Invocation
    from fairtrial.reports.views.view_attempts import AttemptParts

_QUERY = 120
_GROUP = 80
_REASON = 240
_FAILING = (Verdict.FAILED, Verdict.UNSCORED)
_FAULTY = frozenset((Verdict.FAILED, Verdict.ERROR))


@dataclass
class RowBuilder:
    """Makes the rows of the list of cases from attempts in file order, and numbers the tools that they called.

    `criteria` are the places of the criteria by their names, `rules` decide the verdicts of cases, and `ballots` are
    the votes of judges. `modes` are the numbers of the failure modes of attempts. `take` gets each whole row.
    The last row is whole after `finish`.
    """

    criteria: Mapping[str, int]
    rules: AttemptRules
    ballots: Mapping[str, Ballot]
    take: Callable[[shapes.CaseRow], object]
    modes: Mapping[tuple[int, int], int] = field(default_factory=dict)
    tools: dict[str, int] = field(default_factory=dict)
    groups: dict[str, None] = field(default_factory=dict)
    labelled: int = 0
    cases: int = 0
    _attempts: list[AttemptParts] = field(default_factory=list)
    _disputed: list[bool] = field(default_factory=list)

    def add(self, parts: AttemptParts, ballots: Mapping[str, Ballot] | None = None) -> None:
        """Add an attempt to the row of its case, or begin a new row. `ballots` are its votes if they are read."""
        if self._attempts and self._attempts[0].result.position != parts.result.position:
            self.finish()
        self._attempts.append(parts)
        self._disputed.append(_is_disputed(parts, self.ballots if ballots is None else ballots))
        self.labelled += bool(parts.labels)

    def finish(self) -> None:
        """Make the row of the attempts that were added last."""
        if not self._attempts:
            return
        first = self._attempts[0]
        reasons = (find_reason(parts.result) for parts in self._attempts)
        self.cases += 1
        groups = _groups(first)
        self.groups |= dict.fromkeys(groups)
        self.take(
            shapes.CaseRow(
                first.result.position,
                first.result.title,
                first.result.eval_set,
                self._verdict().value,  # type: ignore[arg-type]
                list(map(self._attempt, self._attempts, self._disputed)),
                _query(first)[:_QUERY],
                next(filter(None, reasons), ""),
                self._cause(),
                groups,
            )
        )
        self._attempts, self._disputed = [], []

    def _verdict(self) -> Verdict:
        results = tuple(parts.result for parts in self._attempts)
        return CaseAttempts(results, self.rules.find_rule(results[0].eval_set, results[0].case_id)).verdict

    def _cause(self) -> shapes.FlakeCause | None:
        """Return who makes the attempts of the case differ, or None if none failed, if none passed, or if unknown."""
        verdicts = {parts.result.verdict for parts in self._attempts}
        if Verdict.PASSED not in verdicts or not verdicts & _FAULTY:
            return None
        pairs = ((parts.result, parts.recording.trace if parts.recording else None) for parts in self._attempts)
        return find_cause(pairs, self.ballots)

    def _attempt(self, parts: AttemptParts, disputed: bool) -> shapes.AttemptRow:
        result = parts.result
        verdicts = [(self.criteria[outcome.criterion], outcome.verdict) for outcome in result.outcomes]
        values: list[float | None] = [None] * len(self.criteria)
        for outcome in result.outcomes:
            values[self.criteria[outcome.criterion]] = outcome.score.value
        return shapes.AttemptRow(
            place=parts.place,
            attempt=result.attempt,
            verdict=result.verdict.value,  # type: ignore[arg-type]
            fault=result.find_fault_side(result.verdict),
            invalid=bool(result.invalidations),
            failed=[criterion for criterion, verdict in verdicts if verdict is Verdict.FAILED],
            unscored=[criterion for criterion, verdict in verdicts if verdict is Verdict.UNSCORED],
            tools=self._tools(parts.recording),
            labelled=bool(parts.labels),
            seconds=measure_seconds(parts.recording),
            mode=self.modes.get((result.position, result.attempt)),
            values=values,
            tokens=sum_tokens(result.usage),
            cost=sum_costs(*(own.judge_stats for own in result.outcomes), result.simulator, result.environment),
            disputed=disputed,
        )

    def _tools(self, recording: Recording | None) -> list[int]:
        if recording is None:
            return []
        names = {call.name for invocation in recording.trace.invocations for call in invocation.tool_calls}
        return sorted(self.tools.setdefault(name, len(self.tools)) for name in sorted(names))


def _is_disputed(parts: AttemptParts, ballots: Mapping[str, Ballot]) -> bool:
    """Return whether votes on an item differ, or a person decided otherwise than the criterion."""
    verdicts = {outcome.criterion: outcome.verdict for outcome in parts.result.outcomes}
    if any(_disagrees(label, verdicts.get(label.criterion)) for label in parts.labels):
        return True
    ids = (own for outcome in parts.result.outcomes for own in collect_ballot_ids(outcome.score))
    return any(
        len(decision.counted) > 1 for ballot in pick(ballots, ids).values() for decision in ballot.decisions.values()
    )


def _disagrees(label: Label, verdict: Verdict | None) -> bool:
    return label.part is None and (label.value, verdict) in ((1, Verdict.FAILED), (0, Verdict.PASSED))


def sum_tokens(usage: Mapping[str, int] | None) -> int | None:
    """Return the tokens of the agent, or None if a call does not report them: a sum would be too low."""
    if usage is not None and usage.get("unreported_calls"):
        return None
    counts = [count for name in ("input_tokens", "output_tokens") if (count := (usage or {}).get(name)) is not None]
    return sum(counts) if counts else None


class Priced(Protocol):
    """Calls of models."""

    @property
    def cost(self) -> float | None:
        """The cost in US dollars, or None if no price is known."""
        ...


def sum_costs(*usages: Priced | None) -> float | None:
    """Return the cost of the models beside the agent, or None if none of it is known."""
    costs = [usage.cost for usage in usages if usage is not None and usage.cost is not None]
    return sum(costs) if costs else None


def measure_seconds(recording: Recording | None) -> float | None:
    """Return the seconds of a conversation, or None unless all of its invocations recorded theirs."""
    if recording is None:
        return None
    durations = [invocation.durations for invocation in recording.trace.invocations]
    totals = [duration.total for duration in durations if duration is not None and duration.total is not None]
    return sum(totals) if totals and len(totals) == len(durations) else None


def _groups(parts: AttemptParts) -> dict[str, str]:
    groups = {} if parts.case is None else parts.case.groups
    return {name: group_text(value) for name, value in groups.items()}


def group_text(value: Json) -> str:
    """Return the value of a group as a short text."""
    return (value if isinstance(value, str) else compact(value))[:_GROUP]


def _query(parts: AttemptParts) -> str:
    """Return the first message of the user, as it was recorded or else as it was expected."""
    sources: Iterable[Sequence[Invocation]] = (
        parts.recording.trace.invocations if parts.recording else (),
        (parts.case.conversation or ()) if parts.case else (),
    )
    text = next((invocations[0].query for invocations in sources if invocations), "")
    if not text and parts.case is not None and parts.case.scenario is not None:
        text = parts.case.scenario.starting_prompt
    return text


def find_reason(result: CaseResult) -> str:
    """Return the beginning of why an attempt did not pass: its failure, or the first reason of a failed criterion."""
    if result.failure is not None:
        return result.failure.cause[:_REASON]
    for wanted in _FAILING:
        for outcome in result.outcomes:
            if outcome.verdict is wanted:
                return _first_reason(outcome.score).partition("\n")[0][:_REASON]
    return ""


def _first_reason(score: Score) -> str:
    """Return the reason of a score, or of its lowest part that has a reason."""
    if score.reason:
        return score.reason
    lowest = sorted(score.parts, key=lambda part: (part.value is not None, part.value or 0.0))
    return next((reason for part in lowest if (reason := _first_reason(part))), "")
