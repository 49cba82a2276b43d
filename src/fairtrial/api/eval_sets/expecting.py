"""Turn a successful conversation into the expectations of an eval set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from fairtrial.api.arguments import read_paths
from fairtrial.errors import UsageError
from fairtrial.loading import as_recording, collect_recordings, merge_sources, sources
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import Invocation, ToolCall
from fairtrial.text.display import count

if TYPE_CHECKING:
    from fairtrial.loading import Source
    from fairtrial.records.attempt import Recording


class Expected(NamedTuple):
    """An eval set made from recordings, and warnings. The files state the expectation of `stated_count` cases."""

    eval_set: EvalSet
    warnings: list[str]
    stated_count: int


def expect(paths: Sequence[str | Path], name: str, *, lenient: bool = False) -> tuple[EvalSet, list[str]]:
    """Return an eval set that expects the calls and the replies of recordings, and a warning for each that is left out.

    The first recording of a case counts. A file may state expectations of its own, for example in a column `expected`.
    A warning says that they are left out. Raises UsageError if no recording can be an expectation.
    """
    eval_set, warnings, stated_count = expect_or_keep(paths, name, lenient=lenient, keeps=False)
    if stated_count:
        warnings.insert(
            0, f"what the files expect of {count(stated_count, 'case')} is left out; the recorded replies are expected"
        )
    return eval_set, warnings


def expect_or_keep(paths: Sequence[str | Path], name: str, *, lenient: bool = False, keeps: bool = True) -> Expected:
    """Return the eval set of `expect`. If `keeps` is true, a case keeps the expectation that its file states."""
    files = sources(read_paths([*paths], "paths must be a path or several paths"), lenient=lenient, recorded=True)
    stated_cases = _read_expectations(files)
    kept_cases = stated_cases if keeps else {}
    cases: dict[str, EvalCase] = {}
    warnings: list[str] = []
    for recording in map(as_recording, collect_recordings(files)):
        if recording.case_id in kept_cases:
            cases[recording.case_id] = kept_cases[recording.case_id]
        elif recording.failure is not None or not recording.trace.invocations:
            warnings.append(f"{recording.case_id}: left out, because the conversation broke or is empty")
        elif recording.case_id in cases:
            warnings.append(f"{recording.case_id}: attempt {recording.attempt} is left out; the first recording counts")
        else:
            cases[recording.case_id] = _case(recording)
    if not cases:
        raise UsageError("no recording can be an expectation: all of them broke, or are empty", code="too-little-data")
    unstated_ids = cases.keys() - kept_cases.keys()
    if kept_cases and unstated_ids:
        warnings.append(
            f"the files state no expectation of {count(len(unstated_ids), 'case')}; "
            "the recorded replies are expected there"
        )
    return Expected(EvalSet(name, tuple(cases.values())), warnings, len(stated_cases))


def expects_anything(case: EvalCase) -> bool:
    """Return whether a case expects anything: a reply, calls, or checks."""
    turns = case.conversation or ()
    return bool(
        case.checks
        or case.expected_calls is not None
        or any(turn.final_response is not None or turn.steps is not None or turn.checks for turn in turns)
    )


def _read_expectations(files: list[Source]) -> dict[str, EvalCase]:
    """Return the cases of which a file states the expectation beside the recording."""
    sets = [file.loaded.eval_set for file in merge_sources(files) if file.loaded.recordings]
    return {case.id: case for own in sets if own is not None for case in own.cases if expects_anything(case)}


def _case(recording: Recording) -> EvalCase:
    return EvalCase(recording.case_id, tuple(map(_make_expected, recording.trace.invocations)))


def _make_expected(invocation: Invocation) -> Invocation:
    """Return the message, the calls and the reply. Results and thoughts do not belong to it."""
    steps = invocation.steps
    calls = None if steps is None else tuple(replace(step, id="") for step in steps if isinstance(step, ToolCall))
    return Invocation(invocation.user, calls, invocation.final_response, invocation.id)
