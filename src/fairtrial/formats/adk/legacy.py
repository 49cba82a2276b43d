"""Read cases of ADK's two older formats: lists of queries, with or without a name around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairtrial.config.spelling import spellings
from fairtrial.formats.adk.unknown_keys import note_expectations
from fairtrial.records.case import EvalCase, SessionInput
from fairtrial.records.trace import Invocation, Message, Step, ToolCall

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

TURN = spellings("query", "expected_tool_use", "expected_intermediate_agent_responses", "reference")
CASE = spellings("name", "data", "initial_session")
_TOOL = {"tool_name": "name", "tool_input": "args", "name": "name", "args": "args"}
_RESPONSE = spellings("author", "text")
_SESSION = spellings("state", "app_name", "user_id", "session_id")


def conversation(raw: list[Any], at: Place, reading: Diagnostics) -> tuple[Invocation, ...]:
    """Return the invocations of a list of `{query, expected_tool_use, reference}`."""
    return tuple(_turn(turn, (at, i), reading) for i, turn in enumerate(raw))


def case(raw: Any, at: Place, reading: Diagnostics) -> EvalCase:
    """Return a case of an old eval set, `{name, data, initial_session}`."""
    fields, extra = reading.fields(raw, CASE, at, open_ended=True)
    note_expectations(extra or {}, at, reading, names=CASE.values())
    session = None
    if fields.get("initial_session"):
        inner, unknown = reading.fields(fields["initial_session"], _SESSION, (at, "initial_session"), open_ended=True)
        place = (at, "initial_session")
        session = SessionInput(
            reading.text(inner, "app_name", place),
            reading.text(inner, "user_id", place),
            reading.mapping(inner, "state", place) or {},
            unknown,
            reading.text(inner, "session_id", place),
        )
    return EvalCase(
        reading.required(fields, "name", at),
        conversation(reading.array(fields, "data", at), (at, "data"), reading),
        session_input=session,
        extra=extra,
    )


def _turn(raw: Any, at: Place, reading: Diagnostics) -> Invocation:
    fields, extra = reading.fields(raw, TURN, at)
    has_steps = "expected_tool_use" in fields or "expected_intermediate_agent_responses" in fields
    steps: list[Step] = [
        _call(raw_call, ((at, "expected_tool_use"), i), reading)
        for i, raw_call in enumerate(reading.array(fields, "expected_tool_use", at))
    ]
    for i, raw_response in enumerate(reading.array(fields, "expected_intermediate_agent_responses", at)):
        place = ((at, "expected_intermediate_agent_responses"), i)
        inner, unknown = reading.fields(raw_response, _RESPONSE, place)
        steps.append(Message(reading.text(inner, "text", place), reading.text(inner, "author", place), unknown))
    return Invocation(
        Message(reading.required(fields, "query", at)),
        tuple(steps) if has_steps else None,
        Message(reading.text(fields, "reference", at)) if "reference" in fields else None,
        extra=extra,
    )


def _call(raw: Any, at: Place, reading: Diagnostics) -> ToolCall:
    fields, extra = reading.fields(raw, _TOOL, at)
    return ToolCall(reading.required(fields, "name", at), reading.mapping(fields, "args", at) or {}, extra=extra)
