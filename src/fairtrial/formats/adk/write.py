"""Write cases and recordings for ADK, in its snake_case and without loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial.formats.adk.content import MEDIA_KEYS, OURS, details_json, parts_json
from fairtrial.formats.adk.evalset import BY_HAND
from fairtrial.formats.adk.usage import usage_json
from fairtrial.formats.written_checks import check_json
from fairtrial.records.case import EvalCase, EvalSet, Persona, Scenario, SessionInput
from fairtrial.records.trace import About, Event, Invocation, Message, Step, Thought, ToolCall, ToolResult

if TYPE_CHECKING:
    from fairtrial.records.record import Extra, Json
    from fairtrial.records.rubric import Rubric


def eval_set_json(eval_set: EvalSet) -> dict[str, Json]:
    """Return an eval set in ADK's current schema."""
    return _present(
        eval_set.extra,
        eval_set_id=eval_set.id,
        name=eval_set.name or None,
        description=eval_set.description or None,
        eval_cases=[case_json(case) for case in eval_set.cases],
    )


def dumps(eval_set: EvalSet) -> bytes:
    """Return an eval set as the bytes of a file, text of any language as itself."""
    return msgspec.json.format(msgspec.json.encode(eval_set_json(eval_set)), indent=2)


def _present(extra: Extra = None, /, **fields: Any) -> dict[str, Json]:
    """Return the fields that are not null, and all other keys of the file, even if their values are null."""
    return {key: value for key, value in fields.items() if value is not None} | (extra or {})


def case_json(case: EvalCase) -> dict[str, Json]:
    """Return a case. `expected_tool_uses` is our own key. ADK keeps the key, but does not read it."""
    return _present(
        case.extra,
        eval_id=case.id,
        conversation=None if case.scenario else [invocation_json(turn) for turn in case.conversation or ()],
        conversation_scenario=case.scenario and scenario_json(case.scenario),
        session_input=case.session_input and _session_input(case.session_input),
        rubrics=[_rubric(rubric) for rubric in case.rubrics] or None,
        final_session_state=case.final_session_state,
        creation_timestamp=case.created,
        context=case.context or None,
        approvals=case.approvals or None,
        expected_failure=case.expected_failure or None,
        cluster=case.cluster or None,
        groups=case.groups or None,
        checks=[check_json(check) for check in case.checks] or None,
        environment=case.environment,
        expected_tool_uses=None if case.expected_calls is None else [_call(call) for call in case.expected_calls],
        without_conversation=True if case.conversation is None and case.scenario is None else None,
    )


def scenario_json(scenario: Scenario) -> dict[str, Json]:
    """Return a scenario, its persona in full or by id as it was given."""
    persona = scenario.persona
    return _present(
        scenario.extra,
        starting_prompt=scenario.starting_prompt,
        conversation_plan=scenario.conversation_plan,
        user_persona=_persona(persona) if isinstance(persona, Persona) else persona,
    )


def _persona(persona: Persona) -> dict[str, Json]:
    behaviors = [
        {
            "name": behavior.name,
            "description": behavior.description,
            "behavior_instructions": list(behavior.behavior_instructions),
            "violation_rubrics": list(behavior.violation_rubrics),
            **(behavior.extra or {}),
        }
        for behavior in persona.behaviors
    ]
    return {
        "id": persona.id,
        "description": persona.description,
        "behaviors": behaviors,
        **(persona.extra or {}),
    }


def _session_input(session: SessionInput) -> dict[str, Json]:
    return {
        "app_name": session.app_name,
        "user_id": session.user_id,
        "state": session.state,
        **({"session_id": session.session_id} if session.session_id else {}),
        **(session.extra or {}),
    }


def _rubric(rubric: Rubric) -> dict[str, Json]:
    extra = dict(rubric.extra or {})
    content = {"text_property": rubric.text, **extra.pop("rubric_content", {})}
    return _present(
        extra,
        rubric_id=rubric.id,
        rubric_content=content,
        description=rubric.description or None,
        type=rubric.type or None,
    )


def invocation_json(invocation: Invocation) -> dict[str, Json]:
    """Return an expected or recorded invocation. Steps of a recording are written as events."""
    durations = invocation.durations
    extra = dict(invocation.extra or {})
    between = extra.pop("intermediate_data", {})
    return _present(
        extra,
        invocation_id=invocation.id or None,
        user_content=content_json(invocation.user, "user"),
        final_response=invocation.final_response and content_json(invocation.final_response, "model"),
        intermediate_data=None if invocation.steps is None else {**_intermediate(invocation), **between},
        duration=durations and durations.total,
        model_duration=durations and durations.model,
        tool_duration=durations and durations.tool,
        first_token_duration=durations and durations.first_token,
        rubrics=[_rubric(rubric) for rubric in invocation.rubrics] or None,
        checks=[check_json(check) for check in invocation.checks] or None,
        creation_timestamp=invocation.created,
        app_details=invocation.about and _app_details(invocation.about),
    )


def content_json(message: Message, role: str) -> dict[str, Json]:
    """Return a message as a genai `Content`. `role` is the default for a message without a role of its own."""
    extra = dict(message.extra or {})
    parts = extra.pop("parts", parts_json(message))
    details = details_json(message)
    if details:
        parts = [*parts[:-1], _with_metadata(parts[-1] if parts else {}, details)]
    return {"role": extra.pop("role", role), "parts": parts, **extra}


def _intermediate(invocation: Invocation) -> dict[str, Json]:
    if invocation.events is not None:
        return {"invocation_events": _events(invocation.steps or (), invocation.events)}
    steps = invocation.steps or ()
    if invocation.usages is not None:
        return {"invocation_events": recorded_events(invocation)}
    if not _fits_by_hand(steps):
        return {"invocation_events": [_event(step, step.author) | {BY_HAND: True} for step in steps]}
    messages = [step for step in steps if isinstance(step, Message | Thought)]
    data = {
        "tool_uses": [_call(step) for step in steps if isinstance(step, ToolCall)],
        "tool_responses": [_result(step) for step in steps if isinstance(step, ToolResult)],
        "intermediate_responses": _pairs(messages),
    }
    return {key: value for key, value in data.items() if value}


def _fits_by_hand(steps: Sequence[Step]) -> bool:
    """Whether ADK's shape for files by hand loses nothing: calls, then results, both without author, then messages."""
    places = [0 if isinstance(step, ToolCall) else 1 if isinstance(step, ToolResult) else 2 for step in steps]
    return places == sorted(places) and not any(
        details_json(step) or (step.author and place < 2) for step, place in zip(steps, places, strict=True)
    )


def _pairs(messages: list[Message | Thought]) -> list[Json]:
    """Return messages as pairs of author and parts. The first step of a pair states the number of its parts."""
    pairs: list[Json] = []
    i = 0
    while i < len(messages):
        first = messages[i]
        size = (first.extra or {}).get("parts", 1)
        if not isinstance(size, int):
            pairs.append([first.author, size])  # a whole message, its parts as they were
            i += 1
            continue
        pairs.append([first.author, [part for step in messages[i : i + size] for part in split_parts(step)]])
        i += size
    return pairs


def _events(steps: tuple[Step, ...], events: tuple[Event, ...]) -> list[Json]:
    written: list[Json] = []
    start = 0
    for event in events:
        extra = dict(event.extra or {})
        parts = [part for step in steps[start : start + event.size] for part in split_parts(step, extra)]
        start += event.size
        content: dict[str, Json] = {"parts": parts} if parts else {}
        if "role" in extra:
            content["role"] = extra.pop("role")
        content |= extra.pop("content", {})
        written.append(
            _present(extra, author=event.author, content=content or None, grounding_metadata=event.grounding)
        )
    return written


def recorded_events(invocation: Invocation) -> list[Json]:
    """Return an event for each step of a recording without events of its own, then an event for each model call."""
    return [
        *(_event(step, step.author or "agent") for step in invocation.steps or ()),
        *(
            _present(author="agent", usage_metadata=usage_json(usage), model_version=usage.model or None)
            for usage in invocation.usages or ()
        ),
    ]


def _event(step: Step, author: str) -> dict[str, Json]:
    return {
        "author": author,
        "content": {"role": "user" if isinstance(step, ToolResult) else "model", "parts": split_parts(step)},
    }


def split_parts(step: Step, event: Extra = None) -> list[Json]:
    """Return a step as parts. Only a message with several media has several. `event` holds the keys of its event."""
    first, *others = _plain_parts(step)
    details = details_json(step, event)
    return [_with_metadata(first, details) if details else first, *others]


def _plain_parts(step: Step) -> list[dict[str, Json]]:
    extra = dict(step.extra or {})
    if isinstance(step, ToolCall | ToolResult):
        beside = extra.pop("part", {})
        if isinstance(step, ToolCall):
            return [{"function_call": _call(step, extra), **beside}]
        return [{"function_response": _result(step, extra), **beside}]
    if isinstance(extra.get("parts"), int):
        extra.pop("parts")
    text = {"text": step.text} if step.text or not extra else {}
    if isinstance(step, Thought):
        return [{**text, "thought": True, **extra}]
    if not step.parts or MEDIA_KEYS & extra.keys():
        return [{**text, **extra}]
    first, *others = parts_json(step)
    return [{**first, **extra}, *others]


def _with_metadata(part: dict[str, Json], details: dict[str, Json]) -> dict[str, Json]:
    """Return a part with our own fields in its metadata. ADK keeps the keys of any program there."""
    return {**part, "part_metadata": {**part.get("part_metadata", {}), OURS: details}}


def _call(call: ToolCall, extra: dict[str, Json] | None = None) -> dict[str, Json]:
    beside = extra if extra is not None else {k: v for k, v in (call.extra or {}).items() if k != "part"}
    return _present(beside, id=call.id or None, name=call.name, args=call.args)


def _result(result: ToolResult, extra: dict[str, Json] | None = None) -> dict[str, Json]:
    beside = extra if extra is not None else {k: v for k, v in (result.extra or {}).items() if k != "part"}
    return _present(beside, id=result.id or None, name=result.name, response=result.response)


def _app_details(about: About) -> dict[str, Json]:
    extra = dict(about.extra or {})
    keys = extra.pop("agent_details", [agent.name for agent in about.agents])
    agents = {
        key: {
            "name": agent.name,
            "instructions": agent.instructions,
            "tool_declarations": list(agent.tool_declarations),
            **(agent.extra or {}),
        }
        for key, agent in zip(keys, about.agents, strict=True)
    }
    return {"agent_details": agents, **extra}


def with_extra_as_metadata(case: EvalCase) -> EvalCase:
    """Return a case whose keys of another format stand in `metadata`, because a reader of eval sets refuses them.

    Metadata that the case has stays as it is, so that a file that is read and written again is the same.
    """
    extra = dict(case.extra or {})
    metadata = extra.pop("metadata", {})
    if extra:
        metadata = {**metadata, **extra} if isinstance(metadata, dict) else {"metadata": metadata, **extra}
    return msgspec.structs.replace(case, extra={"metadata": metadata} if metadata else None)
