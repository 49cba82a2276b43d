"""Read cases of an ADK eval set: the current schema in any key spelling, and tRPC-Agent-Go's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from fairtrial.config.spelling import spellings
from fairtrial.formats.adk import content
from fairtrial.formats.adk.case_parts import about, rubrics, scenario, session_input
from fairtrial.formats.adk.unknown_keys import note_expectations
from fairtrial.formats.number_range import finite
from fairtrial.formats.right_forms import is_no_expectation
from fairtrial.formats.written_checks import read_checks
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.decoding import json_decoder
from fairtrial.records.trace import (
    Durations,
    Event,
    Invocation,
    Message,
    Step,
    ToolCall,
    ToolResult,
    Trace,
    Usage,
)

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

SET = spellings("eval_set_id", "name", "description", "eval_cases", "creation_timestamp")
CASE = spellings(
    "eval_id",
    "conversation",
    "conversation_scenario",
    "session_input",
    "creation_timestamp",
    "rubrics",
    "final_session_state",
    "expected_tool_uses",
    "without_conversation",
    "actual_conversation",
    "context",
    "approvals",
    "expected_failure",
    "cluster",
    "groups",
    "checks",
    "environment",
)
_COMMON = ("eval_id", "conversation", "conversation_scenario", "session_input", "creation_timestamp")
_RARE = frozenset(CASE.values()).difference(_COMMON, ("without_conversation", "actual_conversation"))
"""Fields that few cases have, and that the cases of a file are not asked for one by one."""
CASE_MARKS = frozenset(spellings("eval_id", "conversation", "conversation_scenario", "actual_conversation"))
"""A case has at least one of these keys. An object without any of them is not a case."""
_DURATIONS = ("duration", "model_duration", "tool_duration", "first_token_duration")
"""The fields of an invocation with its durations, in the order of the record. The last is ours."""
_DURATION_KEYS = frozenset(_DURATIONS)
_INVOCATION = spellings(
    "invocation_id",
    "user_content",
    "final_response",
    "intermediate_data",
    "creation_timestamp",
    *_DURATIONS,
    "rubrics",
    "app_details",
    "tools",
    "intermediate_responses",
    "checks",
)
_TRPC_QUIET = ("toolMock", "tool_mock", "executionTrace", "execution_trace")
"""Answers that tRPC-Agent-Go gives in place of tools, and the nodes that its graph ran. No criterion reads them."""
_TRPC_CONTEXT = frozenset(("contextMessages", "context_messages"))
"""Messages that tRPC-Agent-Go puts before the conversation that a case describes."""
_BY_HAND = ("tool_uses", "tool_responses", "intermediate_responses")
_INTERMEDIATE = spellings(*_BY_HAND, "invocation_events")
_TRPC_TOOL = spellings("id", "name", "arguments", "result") | {"args": "arguments"}
_USER, _MODEL = "user", "model"
BY_HAND = "written_by_hand"
"""Our own key of events, which ADK ignores. Such events were not recorded: they keep steps in an order of their own."""
_NO_GROUPS: dict[str, Any] = {}
_NO_APPROVALS: dict[str, Literal["approve", "reject"]] = {}
"""Nearly every case decides about no call. All of them share one object, which nobody changes."""


class _Top(msgspec.Struct, forbid_unknown_fields=True):
    """The keys of an eval set as ADK writes them. The cases are not decoded yet."""

    eval_cases: list[msgspec.Raw]
    eval_set_id: Any = msgspec.UNSET
    name: Any = msgspec.UNSET
    description: Any = msgspec.UNSET
    creation_timestamp: Any = msgspec.UNSET


_TOP = json_decoder(_Top)


def split(data: bytes | memoryview) -> dict[str, Any] | None:
    """Return the keys of an eval set with its undecoded cases, or None if a text is not an eval set as ADK writes it.

    One pass over the text splits the eval set from its keys and its cases from one another.
    """
    try:
        top = msgspec.structs.asdict(_TOP.decode(data))
    except (ValueError, RecursionError):
        return None
    return {key: value for key, value in top.items() if value is not msgspec.UNSET}


def eval_set(fields: dict[str, Any], extra: dict[str, Any] | None, cases: tuple[EvalCase, ...], stem: str) -> EvalSet:
    """Return an eval set. `fields` and `extra` are its keys beside the cases, `stem` is the name of its file."""
    all_extra = dict(extra or {})
    if "creation_timestamp" in fields:
        all_extra["creation_timestamp"] = fields["creation_timestamp"]
    return EvalSet(
        str(fields.get("eval_set_id") or stem),
        cases,
        str(fields.get("name") or ""),
        str(fields.get("description") or ""),
        all_extra or None,
    )


def case(raw: Any, at: Place, reading: Diagnostics) -> EvalCase:
    """Return a case. Problems are noted in `reading`."""
    if type(raw) is not dict:
        reading.wrong_type(at, "a case {'eval_id': ..., 'conversation': [...]}", raw)
        return EvalCase("")
    errors = len(reading.errors)
    fields, extra = reading.fields(raw, CASE, at, open_ended=is_no_expectation)
    if extra:
        note_expectations(extra, at, reading, names=CASE.values(), quiet=_TRPC_CONTEXT)
    if ("conversation" in fields) is ("conversation_scenario" in fields) and len(reading.errors) == errors:
        got = "both" if "conversation" in fields else "neither"
        reading.error(at, f"must have exactly one of 'conversation' and 'conversation_scenario', got {got}")
    if fields.get("conversation") == [] and fields.get("without_conversation"):
        # ADK demands a conversation. Our own key says that the empty one stands for a missing one.
        del fields["conversation"]
    created = fields.get("creation_timestamp")
    if created is not None and finite(created) is None:  # a time that is not a number joins the unknown keys
        extra, created = (extra or {}) | {"creation_timestamp": created}, None
    if extra and _TRPC_CONTEXT & extra.keys():
        reading.warning(
            at, "'contextMessages' are not given to the agent; tRPC-Agent-Go puts them before each conversation"
        )
    if "actual_conversation" in fields:
        extra = (extra or {}) | {"actualConversation": fields["actual_conversation"]}
    eval_id = fields.get("eval_id")
    case = EvalCase(
        eval_id if type(eval_id) is str and eval_id else _eval_id(fields, at, reading),
        invocations(fields["conversation"], (at, "conversation"), reading) if "conversation" in fields else None,
        scenario(fields["conversation_scenario"], (at, "conversation_scenario"), reading)
        if "conversation_scenario" in fields
        else None,
        session_input(fields["session_input"], (at, "session_input"), reading) if "session_input" in fields else None,
        extra=extra,
        created=created,
        approvals=_NO_APPROVALS,
        groups=_NO_GROUPS,
    )
    return case if _RARE.isdisjoint(fields) else _add_rare(case, fields, at, reading)


def _add_rare(case: EvalCase, fields: dict[str, Any], at: Place, reading: Diagnostics) -> EvalCase:
    expected = fields.get("expected_tool_uses")
    return replace(
        case,
        rubrics=rubrics(fields, at, reading) if "rubrics" in fields else (),
        expected_calls=None
        if expected is None
        else _calls(reading.array(fields, "expected_tool_uses", at), at, reading),
        final_session_state=reading.mapping(fields, "final_session_state", at),
        context=reading.text(fields, "context", at),
        approvals=_approvals(fields, at, reading) if "approvals" in fields else _NO_APPROVALS,
        expected_failure=reading.text(fields, "expected_failure", at),
        cluster=reading.text(fields, "cluster", at),
        groups=reading.mapping(fields, "groups", at) or _NO_GROUPS,
        checks=read_checks(fields["checks"], (at, "checks"), reading) if "checks" in fields else (),
        environment=reading.mapping(fields, "environment", at),
    )


def _eval_id(fields: dict[str, Any], at: Place, reading: Diagnostics) -> str:
    """Return the id of a case. Without one, nothing could name the case."""
    if fields.get("eval_id") == "":
        reading.error((at, "eval_id"), "must not be empty")
    return reading.required(fields, "eval_id", at)


def _approvals(fields: dict[str, Any], at: Place, reading: Diagnostics) -> dict[str, Literal["approve", "reject"]]:
    """Return the decisions about calls by the name of the tool. ADK keeps the key, but does not read it."""
    approvals = reading.mapping(fields, "approvals", at) or {}
    for name, decision in approvals.items():
        if decision not in ("approve", "reject"):
            reading.wrong_type(((at, "approvals"), name), "'approve' or 'reject'", decision)
    return approvals


def _calls(raw: list[Any], at: Place, reading: Diagnostics) -> tuple[ToolCall, ...]:
    place = (at, "expected_tool_uses")
    return tuple(content.call(call, (place, i), reading) for i, call in enumerate(raw))


def recorded(case: EvalCase, at: Place, reading: Diagnostics) -> Recording | None:
    """Return the recording that tRPC-Agent-Go keeps beside the expectation (`actualConversation`), or None."""
    raw = case.extra and case.extra.get("actualConversation")
    if raw is None:
        return None
    return Recording(case.id, Trace(invocations(raw, (at, "actualConversation"), reading)))


def invocations(raw: Any, at: Place, reading: Diagnostics) -> tuple[Invocation, ...]:
    """Return the invocations of a conversation."""
    if type(raw) is not list:
        reading.wrong_type(at, "an array of invocations", raw)
        return ()
    return tuple([invocation(turn, (at, i), reading) for i, turn in enumerate(raw)])


def invocation(raw: Any, at: Place, reading: Diagnostics) -> Invocation:
    """Return one invocation, expected or recorded."""
    fields, extra = reading.fields(raw, _INVOCATION, at, quiet=_TRPC_QUIET)
    if "user_content" not in fields:
        reading.error(at, "must have 'user_content'")
        user = Message("")
    else:
        user = content.message(fields["user_content"], (at, "user_content"), reading, role=_USER)
    final = fields.get("final_response")
    steps, events, usages, unknown = _intermediate(fields, at, reading)
    if unknown:
        extra = (extra or {}) | {"intermediate_data": unknown}
    created = fields.get("creation_timestamp")
    if created is not None and finite(created) is None:  # a time that is not a number joins the unknown keys
        extra, created = (extra or {}) | {"creation_timestamp": created}, None
    return Invocation(
        user,
        steps,
        None if final is None else content.message(final, (at, "final_response"), reading, role=_MODEL),
        reading.text(fields, "invocation_id", at),
        usages,
        _durations(fields, at, reading),
        rubrics(fields, at, reading) if "rubrics" in fields else (),
        about(fields["app_details"], (at, "app_details"), reading) if "app_details" in fields else None,
        events,
        extra,
        created,
        checks=read_checks(fields["checks"], (at, "checks"), reading) if "checks" in fields else (),
    )


_Events = tuple[tuple[Step, ...], tuple[Event, ...], tuple[Usage, ...]]
_Intermediate = tuple[
    tuple[Step, ...] | None, tuple[Event, ...] | None, tuple[Usage, ...] | None, dict[str, Any] | None
]


def _intermediate(fields: dict[str, Any], at: Place, reading: Diagnostics) -> _Intermediate:
    """Read the data between query and reply, in whichever of its shapes it is written, and its unknown keys."""
    if "tools" in fields or "intermediate_responses" in fields:
        if "intermediate_data" in fields:
            reading.error(at, "must not have both 'intermediate_data' and 'tools' or 'intermediate_responses'")
        return _trpc(fields, at, reading), None, None, None
    if "intermediate_data" not in fields:
        return None, None, None, None
    place = (at, "intermediate_data")
    data, extra = reading.fields(fields["intermediate_data"], _INTERMEDIATE, place)
    if "invocation_events" in data:
        by_hand = [name for name in _BY_HAND if data.get(name)]
        if by_hand:
            reading.error(place, f"must not have 'invocation_events' beside {', '.join(map(repr, by_hand))}")
        raw_events = reading.array(data, "invocation_events", place)
        event_steps, events, usages = _events(raw_events, (place, "invocation_events"), reading)
        if events and all((event.extra or {}).get(BY_HAND) for event in events):
            return event_steps, None, None, extra
        return event_steps, events, usages, extra
    steps: list[Step] = []
    for name, read in (("tool_uses", content.call), ("tool_responses", content.result)):
        if name in data:
            inner = (place, name)
            steps += [
                read(raw_step, (inner, i), reading) for i, raw_step in enumerate(reading.array(data, name, place))
            ]
    for i, pair in enumerate(reading.array(data, "intermediate_responses", place)):
        steps += _pair(pair, ((place, "intermediate_responses"), i), reading)
    return tuple(steps), None, None, extra


def _pair(raw: Any, at: Place, reading: Diagnostics) -> list[Step]:
    """Return the steps of an intermediate response, `[author, [part, ...]]`."""
    if type(raw) is not list or len(raw) != 2 or type(raw[0]) is not str or type(raw[1]) is not list:
        reading.wrong_type(at, "a pair [author, [part, ...]]", raw)
        return []
    steps = content.read_steps(raw[1], raw[0], (at, 1), reading)
    if len(steps) > 1:
        # The first step keeps the number of parts, so that the writer can put the parts into one pair again.
        steps[0] = replace(steps[0], extra=(steps[0].extra or {}) | {"parts": len(steps)})
    return steps


def _events(raw: list[Any], at: Place, reading: Diagnostics) -> _Events:
    steps: list[Step] = []
    events: list[Event] = []
    usages: list[Usage] = []
    for i, raw_event in enumerate(raw):
        event, event_steps, usage = content.event(raw_event, (at, i), reading)
        events.append(event)
        steps += event_steps
        if usage is not None:
            usages.append(usage)
    return tuple(steps), tuple(events), tuple(usages)


def _trpc(fields: dict[str, Any], at: Place, reading: Diagnostics) -> tuple[Step, ...]:
    """Return the steps of tRPC-Agent-Go: `tools` hold calls with their results, `intermediate_responses` messages."""
    steps: list[Step] = []
    for i, raw in enumerate(reading.array(fields, "tools", at)):
        place = ((at, "tools"), i)
        tool, extra = reading.fields(raw, _TRPC_TOOL, place)
        name = reading.required(tool, "name", place)
        call_id = reading.text(tool, "id", place)
        args = tool.get("arguments", {})
        steps.append(ToolCall(name, args if type(args) is dict else {"arguments": args}, call_id, extra=extra))
        if "result" in tool:
            steps.append(ToolResult(name, tool["result"], call_id))
    for i, raw in enumerate(reading.array(fields, "intermediate_responses", at)):
        steps.append(content.message(raw, ((at, "intermediate_responses"), i), reading, role=_MODEL))
    return tuple(steps)


def _durations(fields: dict[str, Any], at: Place, reading: Diagnostics) -> Durations | None:
    if _DURATION_KEYS.isdisjoint(fields):
        return None
    return Durations(*[reading.number(fields, name, at) for name in _DURATIONS])
