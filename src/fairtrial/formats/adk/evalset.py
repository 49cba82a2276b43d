"""Which cases does an ADK eval set hold? The current schema, in snake_case, camelCase or both, and tRPC-Agent-Go's."""

from __future__ import annotations

from sys import intern
from typing import Any

import msgspec
from msgspec.structs import replace

from fairtrial.config.spelling import spellings
from fairtrial.config.wording import format_value
from fairtrial.formats.adk import content
from fairtrial.formats.reading import Diagnostics, Place
from fairtrial.formats.right_forms import is_no_expectation
from fairtrial.records.attempt import Recording
from fairtrial.records.case import Behavior, EvalCase, EvalSet, Persona, Scenario, SessionInput
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import (
    About,
    AgentDetails,
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
)
CASE_MARKS = frozenset(spellings("eval_id", "conversation", "conversation_scenario", "actual_conversation"))
"""A case has at least one of these keys; an object without any is not meant to be a case."""
_INVOCATION = spellings(
    "invocation_id",
    "user_content",
    "final_response",
    "intermediate_data",
    "creation_timestamp",
    "duration",
    "model_duration",
    "tool_duration",
    "rubrics",
    "app_details",
    "tools",
    "intermediate_responses",
)
_TRPC_MOCKS = ("toolMock", "tool_mock")
"""Answers that tRPC-Agent-Go gives in place of tools; nothing is held against them."""
_BY_HAND = ("tool_uses", "tool_responses", "intermediate_responses")
_INTERMEDIATE = spellings(*_BY_HAND, "invocation_events")
_TRPC_TOOL = spellings("id", "name", "arguments", "result") | {"args": "arguments"}
_SESSION_INPUT = spellings("app_name", "user_id", "state", "session_id")
_SCENARIO = spellings("starting_prompt", "conversation_plan", "user_persona")
_PERSONA = spellings("id", "description", "behaviors")
_BEHAVIOR = spellings("name", "description", "behavior_instructions", "violation_rubrics")
_RUBRIC = spellings("rubric_id", "rubric_content", "description", "type") | {
    "id": "rubric_id",
    "content": "rubric_content",
}
_RUBRIC_TEXT = spellings("text_property") | {"text": "text_property"}
_APP = spellings("agent_details")
_AGENT = spellings("name", "instructions", "tool_declarations")
_USER, _MODEL = "user", "model"
BY_HAND = "written_by_hand"
"""Our own key of events, which ADK overlooks: nobody recorded them, they only hold steps in an order of their own."""
_SESSIONS = 1000
"""How many session inputs are remembered while a file is read."""


def eval_set(known: dict[str, Any], extra: dict[str, Any] | None, cases: tuple[EvalCase, ...], stem: str) -> EvalSet:
    """Return the set of cases that were read; `known` and `extra` are its other fields, `stem` its file's name."""
    reading_extra = dict(extra or {})
    if "creation_timestamp" in known:
        reading_extra["creation_timestamp"] = known["creation_timestamp"]
    return EvalSet(
        str(known.get("eval_set_id") or stem),
        cases,
        str(known.get("name") or ""),
        str(known.get("description") or ""),
        reading_extra or None,
    )


def case(raw: Any, at: Place, reading: Diagnostics) -> EvalCase:
    """Return one case; problems are noted in `reading`."""
    if type(raw) is not dict:
        reading.wanted(at, "a case {'eval_id': ..., 'conversation': [...]}", raw)
        return EvalCase("")
    errors = len(reading.errors)
    known, extra = reading.fields(raw, CASE, at, open_ended=is_no_expectation)
    given = [name for name in ("conversation", "conversation_scenario") if name in known]
    if len(given) != 1 and len(reading.errors) == errors:
        got = "both" if given else "neither"
        reading.error(at, f"must have exactly one of 'conversation' and 'conversation_scenario', got {got}")
    if known.get("conversation") == [] and known.get("without_conversation"):
        del known["conversation"]  # our own key: the empty one, without which ADK reads no case, stands for none
    extra, created = _created(known, extra)
    if "actual_conversation" in known:
        extra = (extra or {}) | {"actualConversation": known["actual_conversation"]}
    expected = known.get("expected_tool_uses")
    return EvalCase(
        reading.required(known, "eval_id", at),
        invocations(known["conversation"], (at, "conversation"), reading) if "conversation" in known else None,
        scenario(known["conversation_scenario"], (at, "conversation_scenario"), reading)
        if "conversation_scenario" in known
        else None,
        _session_input(known["session_input"], (at, "session_input"), reading) if "session_input" in known else None,
        rubrics(known, at, reading),
        None if expected is None else _calls(reading.array(known, "expected_tool_uses", at), at, reading),
        reading.mapping(known, "final_session_state", at),
        extra,
        created,
        reading.text(known, "context", at),
    )


def _created(known: dict[str, Any], extra: dict[str, Any] | None) -> tuple[dict[str, Any] | None, float | None]:
    """Return what else was said, and the time if it is a number; one that is not is kept as it is."""
    created = known.get("creation_timestamp")
    if created is None or type(created) in (float, int):
        return extra, created
    return (extra or {}) | {"creation_timestamp": created}, None


def _calls(raw: list[Any], at: Place, reading: Diagnostics) -> tuple[ToolCall, ...]:
    place = (at, "expected_tool_uses")
    return tuple(content.call(one, (place, i), reading) for i, one in enumerate(raw))


def recorded(one: EvalCase, at: Place, reading: Diagnostics) -> Recording | None:
    """Return what tRPC-Agent-Go recorded beside the expectation (`actualConversation`), if it did."""
    raw = (one.extra or {}).get("actualConversation")
    if raw is None:
        return None
    return Recording(one.id, Trace(invocations(raw, (at, "actualConversation"), reading)))


def invocations(raw: Any, at: Place, reading: Diagnostics) -> tuple[Invocation, ...]:
    """Return the invocations of a conversation."""
    if type(raw) is not list:
        reading.wanted(at, "an array of invocations", raw)
        return ()
    return tuple(invocation(one, (at, i), reading) for i, one in enumerate(raw))


def invocation(raw: Any, at: Place, reading: Diagnostics) -> Invocation:
    """Return one invocation, expected or recorded."""
    known, extra = reading.fields(raw, _INVOCATION, at, quiet=_TRPC_MOCKS)
    if "user_content" not in known:
        reading.error(at, "must have 'user_content'")
        user = Message("")
    else:
        user = content.message(known["user_content"], (at, "user_content"), reading, role=_USER)
    final = known.get("final_response")
    steps, events, usages, unknown = _intermediate(known, at, reading)
    if unknown:
        extra = (extra or {}) | {"intermediate_data": unknown}
    extra, created = _created(known, extra)
    return Invocation(
        user,
        steps,
        None if final is None else content.message(final, (at, "final_response"), reading, role=_MODEL),
        reading.text(known, "invocation_id", at),
        usages,
        _durations(known, at, reading),
        rubrics(known, at, reading) if "rubrics" in known else (),
        _about(known["app_details"], (at, "app_details"), reading) if "app_details" in known else None,
        events,
        extra,
        created,
    )


_Events = tuple[tuple[Step, ...], tuple[Event, ...], tuple[Usage, ...]]
_Intermediate = tuple[
    tuple[Step, ...] | None, tuple[Event, ...] | None, tuple[Usage, ...] | None, dict[str, Any] | None
]


def _intermediate(known: dict[str, Any], at: Place, reading: Diagnostics) -> _Intermediate:
    """Read the data between query and reply, in whichever of its shapes it is written, and its unknown keys."""
    if "tools" in known or "intermediate_responses" in known:
        if "intermediate_data" in known:
            reading.error(at, "must not have both 'intermediate_data' and 'tools' or 'intermediate_responses'")
        return _trpc(known, at, reading), None, None, None
    if "intermediate_data" not in known:
        return None, None, None, None
    place = (at, "intermediate_data")
    data, extra = reading.fields(known["intermediate_data"], _INTERMEDIATE, place)
    if "invocation_events" in data:
        by_hand = [name for name in _BY_HAND if data.get(name)]
        if by_hand:
            reading.error(place, f"must not have 'invocation_events' beside {', '.join(map(repr, by_hand))}")
        said = _events(reading.array(data, "invocation_events", place), (place, "invocation_events"), reading)
        if said[1] and all((event.extra or {}).get(BY_HAND) for event in said[1]):
            return said[0], None, None, extra
        return *said, extra
    steps: list[Step] = []
    for name, read in (("tool_uses", content.call), ("tool_responses", content.result)):
        for i, one in enumerate(reading.array(data, name, place)):
            steps.append(read(one, ((place, name), i), reading))
    for i, pair in enumerate(reading.array(data, "intermediate_responses", place)):
        steps += _pair(pair, ((place, "intermediate_responses"), i), reading)
    return tuple(steps), None, None, extra


def _pair(raw: Any, at: Place, reading: Diagnostics) -> list[Step]:
    """An intermediate response is `[author, [part, ...]]`."""
    if type(raw) is not list or len(raw) != 2 or type(raw[0]) is not str or type(raw[1]) is not list:
        reading.wanted(at, "a pair [author, [part, ...]]", raw)
        return []
    said = content.steps_of(raw[1], raw[0], (at, 1), reading)
    if len(said) > 1:
        # One message of several parts: its first step remembers how many belong to it.
        said[0] = replace(said[0], extra=(said[0].extra or {}) | {"parts": len(said)})
    return said


def _events(raw: list[Any], at: Place, reading: Diagnostics) -> _Events:
    steps: list[Step] = []
    events: list[Event] = []
    usages: list[Usage] = []
    for i, one in enumerate(raw):
        event, said, used = content.event(one, (at, i), reading)
        events.append(event)
        steps += said
        if used is not None:
            usages.append(used)
    return tuple(steps), tuple(events), tuple(usages)


def _trpc(known: dict[str, Any], at: Place, reading: Diagnostics) -> tuple[Step, ...]:
    """tRPC-Agent-Go holds calls and results together in `tools`, and what was said between in messages."""
    steps: list[Step] = []
    for i, raw in enumerate(reading.array(known, "tools", at)):
        place = ((at, "tools"), i)
        tool, extra = reading.fields(raw, _TRPC_TOOL, place)
        name = reading.required(tool, "name", place)
        call_id = reading.text(tool, "id", place)
        args = tool.get("arguments", {})
        steps.append(ToolCall(name, args if type(args) is dict else {"arguments": args}, call_id, extra=extra))
        if "result" in tool:
            steps.append(ToolResult(name, tool["result"], call_id))
    for i, raw in enumerate(reading.array(known, "intermediate_responses", at)):
        steps.append(content.message(raw, ((at, "intermediate_responses"), i), reading, role=_MODEL))
    return tuple(steps)


def _durations(known: dict[str, Any], at: Place, reading: Diagnostics) -> Durations | None:
    if not ("duration" in known or "model_duration" in known or "tool_duration" in known):
        return None
    return Durations(
        reading.number(known, "duration", at),
        reading.number(known, "model_duration", at),
        reading.number(known, "tool_duration", at),
    )


def rubrics(known: dict[str, Any], at: Place, reading: Diagnostics) -> tuple[Rubric, ...]:
    """Return the rubrics under the key `rubrics`."""
    place = (at, "rubrics")
    return tuple(rubric(one, (place, i), reading) for i, one in enumerate(reading.array(known, "rubrics", at)))


def rubric(raw: Any, at: Place, reading: Diagnostics) -> Rubric:
    """Return one rubric; its text stands in `rubric_content.text_property`."""
    known, extra = reading.fields(raw, _RUBRIC, at)
    text = ""
    if "rubric_content" not in known:
        reading.error(at, "must have 'rubric_content': {'text_property': '...'}")
    elif type(known["rubric_content"]) is not dict:
        got = format_value(known["rubric_content"])
        reading.error((at, "rubric_content"), f"must be an object {{'text_property': '...'}}, got {got}")
    else:
        inner, unknown = reading.fields(known["rubric_content"], _RUBRIC_TEXT, (at, "rubric_content"))
        if unknown:
            extra = (extra or {}) | {"rubric_content": unknown}
        text = reading.required(inner, "text_property", (at, "rubric_content"))
    return Rubric(
        reading.required(known, "rubric_id", at),
        text,
        reading.text(known, "description", at),
        reading.text(known, "type", at),
        extra,
    )


def scenario(raw: Any, at: Place, reading: Diagnostics) -> Scenario:
    """Return a scenario; its persona is given in full, or by id."""
    known, extra = reading.fields(raw, _SCENARIO, at)
    persona = known.get("user_persona")
    return Scenario(
        reading.required(known, "starting_prompt", at),
        reading.required(known, "conversation_plan", at),
        persona if persona is None or type(persona) is str else _persona(persona, (at, "user_persona"), reading),
        extra,
    )


def _persona(raw: Any, at: Place, reading: Diagnostics) -> Persona:
    known, extra = reading.fields(raw, _PERSONA, at)
    behaviors: list[Behavior] = []
    for i, one in enumerate(reading.array(known, "behaviors", at)):
        place = ((at, "behaviors"), i)
        inner, unknown = reading.fields(one, _BEHAVIOR, place)
        behaviors.append(
            Behavior(
                reading.required(inner, "name", place),
                reading.text(inner, "description", place),
                tuple(map(str, reading.array(inner, "behavior_instructions", place))),
                tuple(map(str, reading.array(inner, "violation_rubrics", place))),
                unknown,
            )
        )
    return Persona(reading.required(known, "id", at), reading.text(known, "description", at), tuple(behaviors), extra)


def _session_input(raw: Any, at: Place, reading: Diagnostics) -> SessionInput:
    """Return what a session starts from. Most cases of a file start alike: what says the same is one object."""
    try:
        text = msgspec.json.encode(raw)
    except RecursionError:
        return _new_session_input(raw, at, reading)
    if text not in reading.sessions:
        errors = len(reading.errors)
        made = _new_session_input(raw, at, reading)
        if len(reading.errors) > errors or len(reading.sessions) == _SESSIONS:
            return made
        reading.sessions[text] = made
    return reading.sessions[text]


def _new_session_input(raw: Any, at: Place, reading: Diagnostics) -> SessionInput:
    known, extra = reading.fields(raw, _SESSION_INPUT, at, open_ended=True)
    return SessionInput(
        intern(reading.text(known, "app_name", at)),
        intern(reading.text(known, "user_id", at)),
        reading.mapping(known, "state", at) or {},
        extra,
        reading.text(known, "session_id", at),
    )


def _about(raw: Any, at: Place, reading: Diagnostics) -> About:
    known, extra = reading.fields(raw, _APP, at, open_ended=True)
    place = (at, "agent_details")
    details = reading.mapping(known, "agent_details", at) or {}
    agents: list[AgentDetails] = []
    for name, one in details.items():
        inner, unknown = reading.fields(one, _AGENT, (place, name), open_ended=True)
        declared = reading.array(inner, "tool_declarations", (place, name))
        kept = tuple(tool for tool in declared if type(tool) is dict)
        if len(kept) != len(declared):
            reading.error(((place, name), "tool_declarations"), "must hold objects only")
        agents.append(
            AgentDetails(
                reading.text(inner, "name", (place, name), name),
                reading.text(inner, "instructions", (place, name)),
                kept,
                unknown,
            )
        )
    if list(details) != [agent.name for agent in agents]:
        extra = (extra or {}) | {"agent_details": list(details)}  # the keys, where they are not the names
    return About(tuple(agents), extra=extra)
