"""Turn a successful conversation into the expectations of an eval set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.api.eval_files import load_recordings
from fairtrial.errors import UsageError
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import Invocation, ToolCall

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording


def expect(paths: Sequence[str | Path], name: str, *, lenient: bool = False) -> tuple[EvalSet, list[str]]:
    """Return an eval set that expects the calls and the replies of recordings, and a warning for each that is left out.

    The first recording of a case counts. Raises UsageError if no recording can be an expectation.
    """
    cases: dict[str, EvalCase] = {}
    warnings: list[str] = []
    for recording in load_recordings([*paths], lenient=lenient):
        if recording.failure is not None or not recording.trace.invocations:
            warnings.append(f"{recording.case_id}: left out, because the conversation broke or is empty")
        elif recording.case_id in cases:
            warnings.append(f"{recording.case_id}: attempt {recording.attempt} is left out; the first recording counts")
        else:
            cases[recording.case_id] = _case(recording)
    if not cases:
        raise UsageError("no recording can be an expectation: all of them broke, or are empty", code="too-little-data")
    return EvalSet(name, tuple(cases.values())), warnings


def _case(recording: Recording) -> EvalCase:
    return EvalCase(recording.case_id, tuple(map(_make_expected, recording.trace.invocations)))


def _make_expected(invocation: Invocation) -> Invocation:
    """Return the message, the calls and the reply. Results and thoughts do not belong to it."""
    steps = invocation.steps
    calls = None if steps is None else tuple(replace(step, id="") for step in steps if isinstance(step, ToolCall))
    return Invocation(invocation.user, calls, invocation.final_response, invocation.id)
