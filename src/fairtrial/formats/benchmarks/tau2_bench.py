"""Read tau2-bench results: dialogues, expected actions and rewards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.formats.accounting import account, with_unread
from fairtrial.formats.benchmarks.tau2_tasks import gold_calls
from fairtrial.formats.chats.assembly import (
    assemble,
    number_at,
    object_at,
    text_at,
)
from fairtrial.formats.message_entries import Entry, UserMessage, read_arguments, read_response
from fairtrial.formats.timestamps import read_seconds, with_durations
from fairtrial.formats.tool_failures import has_failed
from fairtrial.formats.value_shapes import holds_messages
from fairtrial.records.attempt import EndedBy, Failure, Recording, Side
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import Message, Step, ToolCall, ToolResult, Usage

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

_ENDS = ("###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###")
"""The texts with which the simulated user ends a dialogue."""
_CAPS = ("max_steps",)
_SIDES: dict[str, Side] = {
    "too_many_errors": "agent",
    "agent_error": "agent",
    "user_error": "simulator",
    "timeout": "infrastructure",
    "infrastructure_error": "infrastructure",
}
"""The sides of the reasons for which tau2-bench breaks a dialogue off."""


def is_results(value: Any) -> bool:
    """Whether a document holds results of tau2-bench."""
    return (
        isinstance(value, dict) and isinstance(value.get("tasks"), list) and isinstance(value.get("simulations"), list)
    )


def read_results(whole: dict[str, Any], reading: Diagnostics) -> tuple[EvalSet, tuple[Recording, ...]]:
    """Return the tasks with their gold actions as expected calls, and the dialogues, task by task.

    The trial (from 0) is the attempt (from 1). Actions of the simulated user are not expected of the agent.
    """
    cases: dict[str, EvalCase] = {}
    for i, task in enumerate(whole["tasks"]):
        if isinstance(task, dict):
            case = _case(task, (((), "tasks"), i), reading)
            cases[case.id] = case
        else:
            reading.wrong_type((((), "tasks"), i), "a task", task)
    recordings: list[Recording] = []
    for i, simulation in enumerate(whole["simulations"]):
        at = (((), "simulations"), i)
        if isinstance(simulation, dict) and "messages" not in simulation and holds_messages(simulation, depth=2):
            reading.error(at, "holds messages under a key that is not read; the dialogue stands in 'messages'")
        elif isinstance(simulation, dict) and isinstance(simulation.get("messages") or [], list):
            recordings.append(_recording(simulation, object_at(whole, "info"), at, reading))
        else:
            reading.wrong_type(at, "a simulation with 'messages'", simulation)
    order = {case_id: place for place, case_id in enumerate(cases)}
    recordings.sort(key=lambda recording: (order.get(recording.case_id, len(order)), recording.attempt))
    return EvalSet("tau2-bench", tuple(cases.values())), tuple(recordings)


def _case(task: dict[str, Any], at: Place, reading: Diagnostics) -> EvalCase:
    criteria = object_at(task, "evaluation_criteria")
    extra = {"user_scenario": task.get("user_scenario"), "evaluation_criteria": criteria or None}
    return EvalCase(str(task.get("id")), expected_calls=gold_calls(criteria, at, reading), extra=extra)


def _recording(simulation: dict[str, Any], info: dict[str, Any], at: Place, reading: Diagnostics) -> Recording:
    raw = simulation.get("messages") or []  # there are none if the simulation crashed at its start
    user_stops = bool(raw) and _is_end(raw[-1])
    entries = [
        entry
        for i, message in enumerate(raw[:-1] if user_stops else raw)
        for entry in _entries(message, ((at, "messages"), i), reading)
    ]
    environment = object_at(info, "environment_info")
    tools = environment.get("tool_defs")
    policy = text_at(simulation, "policy") or text_at(environment, "policy")
    declared = tuple(tool for tool in tools if isinstance(tool, dict)) if isinstance(tools, list) else ()
    trace = with_unread(with_durations(assemble(entries, policy, declared)), reading)
    reason = text_at(simulation, "termination_reason")
    side = _SIDES.get(reason)
    trace = replace(
        trace,
        session_id=text_at(simulation, "id"),
        reward=reading.number(object_at(simulation, "reward_info"), "reward", (at, "reward_info")),
        broken=reason if side else "",
        extra={"reward_info": simulation.get("reward_info"), "termination_reason": reason},
    )
    ended_by: EndedBy = "failure" if side else "cap" if reason in _CAPS else "stop" if user_stops else "script"
    trial = number_at(simulation, "trial") or 0
    failure = Failure(side, f"tau2-bench broke the dialogue off: {reason}") if side else None
    return Recording(str(simulation.get("task_id")), trace, trial + 1, failure, ended_by)


def _is_end(message: Any) -> bool:
    """Whether a message of the simulated user ends the dialogue."""
    is_user = isinstance(message, dict) and message.get("role") == "user"
    return is_user and any(end in text_at(message, "content") for end in _ENDS)


def _entries(message: Any, at: Place, reading: Diagnostics) -> Sequence[Entry]:
    """Return the entries of a message. The work of a simulated user is not read."""
    entries = list(_read_message(message, at, reading))
    is_agent = isinstance(message, dict) and message.get("role") in ("assistant", "tool")
    if not is_agent:
        return entries
    own_fields = {key: value for key, value in message.items() if key != "raw_data"}  # it repeats the message
    return account(own_fields, entries, at, reading, is_known=_is_of_user)


def _is_of_user(value: dict[str, Any]) -> bool:
    """Whether a result is that of a call of the simulated user."""
    return bool(value.get("requestor", "assistant") != "assistant")


def _read_message(message: Any, at: Place, reading: Diagnostics) -> Iterator[Entry]:
    role = message.get("role") if isinstance(message, dict) else None
    started = read_seconds(message.get("timestamp")) if isinstance(message, dict) else None
    if role == "user":
        # The simulated user may call tools of its own. They are not the agent's, and neither are their results.
        if text := text_at(message, "content"):
            yield UserMessage(Message(text, started=started))
    elif role == "assistant":
        yield from _steps(message, started)
        if message.get("usage") is not None:
            yield _usage(message)
    elif role == "tool":
        several = message.get("tool_messages")
        for answer in several if isinstance(several, list) else [message]:
            if isinstance(answer, dict) and answer.get("requestor", "assistant") == "assistant":
                yield _result(answer, started)
    elif role != "system":
        reading.wrong_type(at, "a message with a role of system, user, assistant, tool", message)


def _steps(message: dict[str, Any], started: float | None) -> Iterator[Step]:
    if text := text_at(message, "content"):
        yield Message(text, started=started)
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            yield ToolCall(
                text_at(call, "name"), read_arguments(call.get("arguments")), text_at(call, "id"), started=started
            )


def _result(answer: dict[str, Any], started: float | None) -> ToolResult:
    response = read_response(text_at(answer, "content"))
    failed = has_failed(response, True if answer.get("error") is True else None)
    return ToolResult("", response, text_at(answer, "id"), is_error=failed, started=started)


def _usage(message: dict[str, Any]) -> Usage:
    usage = object_at(message, "usage")
    model = text_at(object_at(message, "raw_data"), "model")
    return Usage(number_at(usage, "prompt_tokens"), number_at(usage, "completion_tokens"), model=model)
