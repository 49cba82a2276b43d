"""Read results of tau-bench: cases with what was expected, and the conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.formats.accounting import with_unread
from fairtrial.formats.messages import is_message, trace
from fairtrial.records.attempt import EndedBy, Failure, Recording
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.rubric import make_statement_rubric
from fairtrial.records.trace import ToolCall

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

_STOP = "###STOP###"
_REWARD = "part of the reward"
_TRAJECTORY = "TRAJECTORY_QUALITY"


def is_result(value: Any) -> bool:
    """Whether a value is a result of tau-bench."""
    return isinstance(value, dict) and {"task_id", "traj", "info"} <= value.keys()


def read_results(raw: list[Any], reading: Diagnostics) -> tuple[EvalSet, tuple[Recording, ...]]:
    """Return tau-bench's tasks with their gold actions as expected calls, and its dialogues as recordings.

    What the agent has to tell the user (`outputs`) are rubrics. The user's instruction stays in
    `case.extra["instruction"]`. The trial (from 0) is the attempt (from 1).
    """
    cases: dict[str, EvalCase] = {}
    recordings: list[Recording] = []
    for i, result in enumerate(raw):
        at: Place = ((), i)
        if not is_result(result):
            reading.wrong_type(at, "a result with 'task_id', 'traj' and 'info'", result)
            continue
        case_id = str(result["task_id"])
        failure = _read_failure(result["info"])
        if failure is None and case_id not in cases:
            cases[case_id] = _read_case(case_id, result["info"], (at, "info"), reading)
        messages = reading.array(result, "traj", at)
        user_stops = bool(messages) and _is_stop(messages[-1])
        session = trace(messages[:-1] if user_stops else messages, (at, "traj"), reading)
        session = with_unread(session, reading)
        session = replace(session, reward=reading.number(result, "reward", at))
        trial = result.get("trial", 0)
        attempt = trial + 1 if isinstance(trial, int) else 1
        ending: EndedBy = "failure" if failure is not None else "stop" if user_stops else "script"
        recordings.append(Recording(case_id, session, attempt, failure=failure, ended_by=ending))
    # A task of which every trial crashed is known by its id alone.
    for recording in recordings:
        cases.setdefault(recording.case_id, EvalCase(recording.case_id))
    return EvalSet("tau-bench", tuple(cases.values())), tuple(recordings)


def _read_failure(info: Any) -> Failure | None:
    """Return the failure of a trial that crashed: tau-bench then writes an error in place of the task."""
    if not isinstance(info, dict) or "error" not in info or "task" in info:
        return None
    return Failure("infrastructure", str(info["error"]), str(info.get("traceback") or ""))


def _is_stop(message: Any) -> bool:
    return is_message(message) and message["role"] == "user" and _STOP in str(message.get("content"))


def _read_case(case_id: str, info: Any, at: Place, reading: Diagnostics) -> EvalCase:
    task = info.get("task") if isinstance(info, dict) else None
    if not isinstance(task, dict):
        reading.wrong_type((at, "task"), "an object with 'actions'", task)
        return EvalCase(case_id)
    calls: list[ToolCall] = []
    for i, action in enumerate(reading.array(task, "actions", (at, "task"))):
        kwargs = (action.get("kwargs") or {}) if isinstance(action, dict) else None
        if isinstance(kwargs, dict) and isinstance(action.get("name"), str):
            calls.append(ToolCall(action["name"], kwargs))
        else:
            reading.wrong_type((((at, "task"), "actions"), i), "an action {'name': ..., 'kwargs': {...}}", action)
    statements = [str(text) for text in task.get("outputs") or () if isinstance(text, str | int | float)]
    rubrics = [
        make_statement_rubric(f"outputs_{n}", text, _REWARD, _TRAJECTORY) for n, text in enumerate(statements, 1)
    ]
    extra = {"instruction": task.get("instruction")}
    return EvalCase(case_id, rubrics=tuple(rubrics), expected_calls=tuple(calls), extra=extra)
