"""Plan a receiver. Criteria and cases are read and checked before the first span comes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fairtrial import loading
from fairtrial.api.arguments import check_numbers
from fairtrial.api.eval_sets.eval_set_arguments import EvalSets, resolve_eval_set
from fairtrial.api.eval_sets.set_loading import Criteria, list_names, load_sets
from fairtrial.api.model_warnings import model_warnings
from fairtrial.api.plan_options import READ, RUN, ReadOptions, RunOptions
from fairtrial.api.planning import Plan, resume, run_info
from fairtrial.api.text_warnings import text_warnings
from fairtrial.errors import UsageError, spell
from fairtrial.formats.conversation.options import DEFAULTS, TraceOptions
from fairtrial.planned_case import PlannedCase
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.keys import digest_bytes
from fairtrial.records.record import without_defaults
from fairtrial.text.redaction.redact import make_finders

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording
    from fairtrial.records.result import Criterion
    from fairtrial.records.run import RunInfo

KIND = "receive"
RECEIVED = "received"
"""The id of the eval set of conversations that answer no case."""


@dataclass(frozen=True)
class ReceptionPlan:
    """A receiver that has not started yet.

    `idle` is the time in seconds without spans after which a conversation is finished. `sample` is the share of the
    conversations that are scored. `criteria` are those of conversations that answer no case. With `people`, personal
    data is removed from spans before they are stored, and not only secrets.
    """

    plan: Plan
    criteria: tuple[Criterion, ...]
    idle: float = 60.0
    sample: float = 1.0
    traces: TraceOptions = DEFAULTS
    people: bool = False

    @property
    def cases(self) -> tuple[PlannedCase, ...]:
        """The cases that conversations may answer."""
        return tuple(self.plan.cases)

    @property
    def unmatched(self) -> PlannedCase:
        """A case without an expectation, for conversations that answer no case."""
        return PlannedCase(len(self.plan.cases), "", EvalCase(""), self.criteria, RECEIVED)

    def is_in_sample(self, conversation: str) -> bool:
        """Whether a conversation is scored. The hash of its id decides, so that a restart decides alike."""
        number = int.from_bytes(hashlib.sha256(conversation.encode(errors="surrogatepass")).digest()[:8])
        return number < self.sample * 2**64

    def resolve_case(self, recording: Recording, finders: Sequence[loading.CaseFinder], position: int) -> PlannedCase:
        """Return the case that a recording answers, or a new case at a position."""
        homes = (finder.find(recording) for finder in finders)
        home = next((case for case in homes if case is not None), None)
        if home is not None:
            return home
        case = EvalCase(recording.case_id)
        return msgspec.structs.replace(
            self.unmatched, position=position, name=recording.case_id, case=case, digest_bytes=digest_bytes(case)
        )

    def finders(self) -> tuple[loading.CaseFinder, ...]:
        """Return what finds the case of a conversation: first by its id, then by the first text of the user."""
        return loading.CaseFinder(self.cases, "id"), loading.CaseFinder(self.cases, "query")

    def continue_run(self, earlier: Sequence[RunInfo]) -> ReceptionPlan:
        """Return the plan as a continuation of the newest receiver with the same inputs and options, if there is one.

        The version of this program may differ.
        """
        for info in earlier:
            if info.kind == KIND:
                try:
                    plan = resume(self.plan, msgspec.structs.replace(info, version=self.plan.info.version))
                except UsageError:
                    continue
                return replace(self, plan=plan)
        return self


def plan_receive(
    eval_set: EvalSets | None = None,
    criteria: Criteria = None,
    reading: ReadOptions = READ,
    run: RunOptions = RUN,
    *,
    idle: float = 60.0,
    sample: float = 1.0,
    redact: str | None = None,
) -> ReceptionPlan:
    """Read and check everything that a receiver needs. Raises UsageError.

    If `redact` is `people`, personal data is removed from spans before they are stored, and not only secrets.
    """
    check_numbers(concurrency=run.concurrency)
    if idle < 0:
        raise UsageError(f"idle must be a number of seconds, 0 or more, got {idle!r}")
    if not 0 < sample <= 1:
        raise UsageError(f"sample must be above 0 and at most 1, got {sample!r}")
    if eval_set is None and criteria is None:
        raise UsageError(
            f"nothing says what to score; give criteria with {spell('criteria')}, "
            f"or an eval set with {spell('eval_set')}"
        )
    make_finders(people=redact == "people")  # raises if the library is missing
    judges = run.judges
    expected: EvalSet | list[str | Path] = EvalSet(RECEIVED)
    if eval_set is not None:
        expected = resolve_eval_set(eval_set)
    loaded_sets, notes = load_sets(expected, criteria, reading, judges)
    arguments = {
        "paths": [RECEIVED],
        "against": None if eval_set is None else list_names(expected),
        "idle": idle,
        "sample": sample,
        **reading.manifest(criteria),
        "judge": judges.arguments,
        "traces": without_defaults(reading.traces),
        "redact": redact,
    }
    plan = Plan(
        run_info(KIND, arguments, notes, loaded_sets, {}),
        tuple(loading.plan_cases(loaded_sets)),
        concurrency=run.concurrency,
        warnings=(*notes.warnings, *model_warnings(loaded_sets, judges), *text_warnings(loaded_sets)),
        judges=judges,
    )
    return ReceptionPlan(plan, loaded_sets[0].criteria, idle, sample, reading.traces, people=redact == "people")
