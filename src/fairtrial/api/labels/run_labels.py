"""Names and tags of runs, and the selection of failed cases for another run."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.api.stored_runs import reread
from fairtrial.errors import UsageError, spell
from fairtrial.records.result import Verdict
from fairtrial.text.display import count

if TYPE_CHECKING:
    from fairtrial.api.planning import Plan
    from fairtrial.records.run import RunInfo

_GREEN = (Verdict.PASSED, Verdict.INFORMATIONAL)


def with_labels(plan: Plan, *, name: str = "", tags: Sequence[str] = (), exit_first: bool = False) -> Plan:
    """Return a plan whose run has a name and tags. With `exit_first` it stops at the first attempt that fails."""
    return dataclasses.replace(plan, info=label_info(plan.info, name, tags), exit_first=exit_first)


def label_info(info: RunInfo, name: str, tags: Sequence[str]) -> RunInfo:
    """Return a run with a name and tags."""
    labels = {"name": name, "tags": list(tags)}
    return replace(info, config={**info.config, **{key: value for key, value in labels.items() if value}})


def only_failed(plan: Plan, run_id: str, store: str) -> Plan:
    """Return a plan with only the cases that did not pass in an earlier run, by the verdicts of its cases.

    Raises UsageError if all of them passed, or if the plan has none of them.
    """
    earlier = reread(store, run_id)
    failed = {
        (attempts.results[0].eval_set, attempts.results[0].case_id)
        for attempts in earlier.cases_not_passed(limit=None)
        if attempts.verdict not in _GREEN
    }
    if not failed:
        raise UsageError(f"{spell('failed_from')} {earlier.info.id}: every case passed", code="too-little-data")
    cases = tuple(case for case in plan.cases if (case.eval_set, case.case.id) in failed)
    if not cases:
        problem = f"of its {count(len(failed), 'failed case')}, none is in these files"
        raise UsageError(f"{spell('failed_from')} {earlier.info.id}: {problem}")
    positions = {case.position for case in cases}
    recorded = None if plan.recorded is None else [pair for pair in plan.recorded if pair[0].position in positions]
    chosen_by = [earlier.info.id, *earlier.info.chosen_by]
    config = {**plan.info.config, "failed_from": earlier.info.id, "chosen_by": chosen_by}
    return dataclasses.replace(plan, cases=cases, recorded=recorded, info=replace(plan.info, config=config))
