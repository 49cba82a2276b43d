"""Write a criterion that notices a failure mode, and the cases of a mode as an eval set."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from fairtrial.analysis.failures.guard_config import ToolUse, make_guard
from fairtrial.analysis.failures.named_failures import ReadFailure, name_key, weighted_share
from fairtrial.api.collected_failures import by_position, labelled_failures
from fairtrial.api.eval_files import save_eval_set
from fairtrial.api.stored_runs import Run
from fairtrial.errors import UsageError
from fairtrial.loading.criteria import criteria_in
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.failure_mode import FailureMode, Failures, GuardCheck
from fairtrial.records.result import Criterion, Outcome, Verdict
from fairtrial.records.summary import Estimate
from fairtrial.reports.transcript import Transcript, transcripts
from fairtrial.scoring import as_score
from fairtrial.stats.clustered import mean_of_rates
from fairtrial.stats.interval import WILSON
from fairtrial.system.event_loop import blocking


def write_guard(run: Run, failures: Failures, mode: FailureMode, path: Path) -> GuardCheck:
    """Write the configuration of a criterion that notices a mode, and try it on all attempts of the run.

    A criterion that asks a judge is not tried. Raises UsageError for a mode that no criterion could notice, and for a
    file that cannot be written.
    """
    guard = make_guard(mode, _tool_use(run))
    content = msgspec.json.format(msgspec.json.encode(guard.config), indent=2) + b"\n"
    try:
        path.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    criterion = next(own for own in criteria_in(path).criteria if own.name == guard.criterion)
    return GuardCheck(guard.criterion, judged=True) if guard.judged else _try_guard(run, failures, mode, criterion)


def write_cases(run: Run, failures: Failures, mode: FailureMode, path: Path) -> int:
    """Write the cases of a mode as an eval set, and return their number. Equal ids get the names of the run."""
    positions = {own.position for own in failures.failed if own.mode == mode.number}
    expected = [own for own in run.expected if own.position in positions]
    ids = [own.case.id for own in expected]
    cases = [
        own.case if ids.count(own.case.id) == 1 else msgspec.structs.replace(own.case, id=own.name) for own in expected
    ]
    save_eval_set(EvalSet(f"{run.info.id}-mode-{mode.number}", tuple(cases), description=mode.name), path)
    return len(cases)


def _tool_use(run: Run) -> ToolUse:
    tools: dict[str, None] = {}
    expected_tools: dict[str, None] = {}
    scope = "invocation"
    for expected in run.expected:
        if expected.case.expected_calls is not None:
            scope = "conversation"
        expected_tools.update(dict.fromkeys(_expected_tools(expected.case)))
    for _, recording in run.recordings:
        for invocation in recording.trace.invocations:
            tools.update(dict.fromkeys(call.name for call in invocation.tool_calls))
        for agent in recording.trace.agents:
            tools.update(dict.fromkeys(agent.tool_names))
    return ToolUse({*tools, *expected_tools}, {*expected_tools}, scope)


def _expected_tools(case: EvalCase) -> Iterator[str]:
    yield from (call.name for call in case.expected_calls or ())
    yield from (call.name for turn in case.conversation or () for call in turn.tool_calls)


def _try_guard(run: Run, failures: Failures, mode: FailureMode, criterion: Criterion) -> GuardCheck:
    """Return how many attempts of the mode the criterion fails, and how many attempts that passed.

    Failed attempts that people labelled are tried too.
    """
    members = {(own.position, own.attempt) for own in failures.failed if own.mode == mode.number}
    readings = labelled_failures(run, failures)
    caught: dict[int, tuple[int, int]] = {}
    alarms: dict[int, tuple[int, int]] = {}
    verdicts: dict[tuple[int, int], bool] = {}
    for attempts in by_position(transcripts(run)):
        for own in attempts:
            place = (own.result.position, own.result.attempt)
            group = caught if place in members else alarms if own.result.verdict is Verdict.PASSED else None
            if (group is None and place not in readings) or (failed := _fails(criterion, own)) is None:
                continue
            if place in readings:
                verdicts[place] = failed
            if group is not None:
                earlier = group.get(place[0], (0, 0))
                group[place[0]] = (earlier[0] + failed, earlier[1] + 1)
    spared = {place: (total - failed, total) for place, (failed, total) in alarms.items()}
    check = GuardCheck(
        criterion.name,
        judged=False,
        caught=sum(failed for failed, _ in caught.values()),
        members=sum(total for _, total in caught.values()),
        alarms=sum(failed for failed, _ in alarms.values()),
        passes=sum(total for _, total in alarms.values()),
        sensitivity=_rate(caught),
        specificity=_rate(spared),
    )
    return _calibrate(check, mode, verdicts, readings)


def _calibrate(
    check: GuardCheck,
    mode: FailureMode,
    verdicts: Mapping[tuple[int, int], bool],
    readings: Mapping[tuple[int, int], ReadFailure],
) -> GuardCheck:
    """Return a guard with its sensitivity and specificity against people, if any of them named the mode."""
    names = {name_key(mode.name), f"mode {mode.number}"}
    of_mode = {place: failed for place, failed in verdicts.items() if readings[place].names & names}
    of_other_modes = {
        place: not failed for place, failed in verdicts.items() if place not in of_mode and readings[place].names
    }
    if not of_mode:
        return check
    return msgspec.structs.replace(
        check,
        labels=len(of_mode) + len(of_other_modes),
        labelled_sensitivity=weighted_share(of_mode, readings),
        labelled_specificity=weighted_share(of_other_modes, readings),
    )


def _fails(criterion: Criterion, own: Transcript) -> bool | None:
    """Return whether an attempt fails a criterion, or None if it has no verdict."""
    if own.recording is None or own.case is None:
        return None
    result: Any = criterion.metric(own.recording.trace, own.case)
    if inspect.iscoroutine(result):
        result = blocking(result)
    outcome = Outcome(
        criterion.name,
        as_score(result),
        criterion.threshold,
        criterion.lower_is_better,
        criterion.range,
        criterion.aggregation,
    )
    return {Verdict.FAILED: True, Verdict.PASSED: False, Verdict.NOT_APPLICABLE: False}.get(outcome.verdict)


def _rate(counts: dict[int, tuple[int, int]]) -> Estimate:
    rate = mean_of_rates([{"": own} for own in counts.values()])
    if rate is None:
        return Estimate()
    value, ends = rate
    return Estimate(value) if ends is None else Estimate(value, *ends, WILSON)
