"""Read the parts of a case: rubrics, scenario, start of the session, and details of its agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial.config.spelling import spellings
from fairtrial.config.wording import format_value
from fairtrial.formats.shared_texts import shared
from fairtrial.records.case import Behavior, Persona, Scenario, SessionInput
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import (
    About,
    AgentDetails,
)

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

_TRPC_METRIC = ("metricName", "metric_name")
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
_SESSIONS = 1000
"""The number of session inputs that a reader remembers."""


def rubrics(fields: dict[str, Any], at: Place, reading: Diagnostics) -> tuple[Rubric, ...]:
    """Return the rubrics under the key `rubrics`."""
    place = (at, "rubrics")
    return tuple(rubric(raw, (place, i), reading) for i, raw in enumerate(reading.array(fields, "rubrics", at)))


def rubric(raw: Any, at: Place, reading: Diagnostics) -> Rubric:
    """Return a rubric. Its text is in `rubric_content.text_property`."""
    fields, extra = reading.fields(raw, _RUBRIC, at, quiet=_TRPC_METRIC)
    if metric := next((extra[key] for key in _TRPC_METRIC if key in extra), None) if extra else None:
        reading.warning(
            at, f"is for the metric {metric!r} of tRPC-Agent-Go; here it counts for each criterion of its kind"
        )
    text = ""
    if "rubric_content" not in fields:
        reading.error(at, "must have 'rubric_content': {'text_property': '...'}")
    elif type(fields["rubric_content"]) is not dict:
        got = format_value(fields["rubric_content"])
        reading.error((at, "rubric_content"), f"must be an object {{'text_property': '...'}}, got {got}")
    else:
        inner, unknown = reading.fields(fields["rubric_content"], _RUBRIC_TEXT, (at, "rubric_content"))
        if unknown:
            extra = (extra or {}) | {"rubric_content": unknown}
        text = reading.required(inner, "text_property", (at, "rubric_content"))
    return Rubric(
        reading.required(fields, "rubric_id", at),
        text,
        reading.text(fields, "description", at),
        reading.text(fields, "type", at),
        extra,
    )


def scenario(raw: Any, at: Place, reading: Diagnostics) -> Scenario:
    """Return a scenario. Its persona is a full description, or an id, for example `EXPERT`."""
    fields, extra = reading.fields(raw, _SCENARIO, at)
    persona = fields.get("user_persona")
    return Scenario(
        reading.required(fields, "starting_prompt", at),
        reading.required(fields, "conversation_plan", at),
        persona if persona is None or type(persona) is str else _persona(persona, (at, "user_persona"), reading),
        extra,
    )


def _persona(raw: Any, at: Place, reading: Diagnostics) -> Persona:
    fields, extra = reading.fields(raw, _PERSONA, at)
    behaviors: list[Behavior] = []
    for i, raw_behavior in enumerate(reading.array(fields, "behaviors", at)):
        place = ((at, "behaviors"), i)
        inner, unknown = reading.fields(raw_behavior, _BEHAVIOR, place)
        behaviors.append(
            Behavior(
                reading.required(inner, "name", place),
                reading.text(inner, "description", place),
                tuple(map(str, reading.array(inner, "behavior_instructions", place))),
                tuple(map(str, reading.array(inner, "violation_rubrics", place))),
                unknown,
            )
        )
    return Persona(reading.required(fields, "id", at), reading.text(fields, "description", at), tuple(behaviors), extra)


def session_input(raw: Any, at: Place, reading: Diagnostics) -> SessionInput:
    """Return the start of a session. Most cases of a file start alike, and equal starts become one object."""
    try:
        text = msgspec.json.encode(raw)
    except RecursionError:
        return _new_session_input(raw, at, reading)
    if text not in reading.sessions:
        errors = len(reading.errors)
        session_input = _new_session_input(raw, at, reading)
        if len(reading.errors) > errors or len(reading.sessions) == _SESSIONS:
            return session_input
        reading.sessions[text] = session_input
    return reading.sessions[text]


def _new_session_input(raw: Any, at: Place, reading: Diagnostics) -> SessionInput:
    fields, extra = reading.fields(raw, _SESSION_INPUT, at, open_ended=True)
    return SessionInput(
        shared(reading.text(fields, "app_name", at)),
        shared(reading.text(fields, "user_id", at)),
        reading.mapping(fields, "state", at) or {},
        extra,
        reading.text(fields, "session_id", at),
    )


def about(raw: Any, at: Place, reading: Diagnostics) -> About:
    """Return the details of the agents that recorded an invocation."""
    fields, extra = reading.fields(raw, _APP, at, open_ended=True)
    place = (at, "agent_details")
    details = reading.mapping(fields, "agent_details", at) or {}
    agents: list[AgentDetails] = []
    for name, raw_agent in details.items():
        inner, unknown = reading.fields(raw_agent, _AGENT, (place, name), open_ended=True)
        raw_tools = reading.array(inner, "tool_declarations", (place, name))
        tools = tuple(tool for tool in raw_tools if type(tool) is dict)
        if len(tools) != len(raw_tools):
            reading.error(((place, name), "tool_declarations"), "must hold objects only")
        agents.append(
            AgentDetails(
                reading.text(inner, "name", (place, name), name),
                reading.text(inner, "instructions", (place, name)),
                tools,
                unknown,
            )
        )
    if list(details) != [agent.name for agent in agents]:
        extra = (extra or {}) | {"agent_details": list(details)}  # the keys differ from the names
    return About(tuple(agents), extra=extra)
