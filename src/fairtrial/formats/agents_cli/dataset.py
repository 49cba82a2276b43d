"""Read cases and recordings of a Google agents-cli dataset.

The dataset is the input of the GenAI evaluation SDK, too. Its cases stand in `eval_cases`, as in ADK's eval sets, but
under other keys: `eval_case_id`, and a `prompt` or `agent_data`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.config.spelling import spellings
from fairtrial.formats.adk import content
from fairtrial.formats.adk.unknown_keys import note_expectations
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase, Scenario
from fairtrial.records.record import Record
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import About, AgentDetails, Invocation, Message, Step, Trace, split_reply

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

CASE = spellings(
    "eval_case_id",
    "prompt",
    "agent_data",
    "responses",
    "reference",
    "context",
    "rubric_groups",
    "user_scenario",
)
CASE_MARKS = frozenset(CASE) - {"context", "reference"}
"""A case of a dataset has at least one of these keys, and no `eval_id`."""
HISTORY = "agent_data"
"""The key of `extra` that keeps a conversation which the agent is to continue, so that it can be written back."""
_CONTENT_KEYS = frozenset(spellings("parts", "role"))
_AGENT_DATA = spellings("agents", "turns")
_AGENT = spellings("agent_id", "instruction", "tools", "description", "agent_type")
_TOOL = spellings("function_declarations")
_TURN = spellings("turn_index", "turn_id", "events")
_RESPONSE = spellings("response")
_GROUP = spellings("rubrics", "group_id", "display_name")
_RUBRIC = spellings("rubric_id", "content", "type", "importance")
_SCENARIO = spellings("starting_prompt", "conversation_plan")


class DatasetCase(Record, frozen=True):
    """A case with the attempts that its file recorded."""

    case: EvalCase
    recordings: tuple[Recording, ...] = ()


def case(raw: Any, place: int, at: Place, reading: Diagnostics) -> DatasetCase:
    """Return a case and its recordings. `place` is its index in the dataset."""
    fields, extra = reading.fields(raw, CASE, at, open_ended=True)
    note_expectations(extra or {}, at, reading, names=CASE.values())
    case_id = reading.text(fields, "eval_case_id", at)
    if not case_id:
        case_id = f"case-{place + 1}"
        if not any("'eval_case_id'" in warning for warning in reading.warnings):
            reading.warning(at, "has no 'eval_case_id'; cases without one are named by their place: case-1, case-2, …")
    invocations, ends_with_agent = _conversation(fields, at, reading)
    scenario = _scenario(fields, at, reading)
    if scenario is None and not invocations:
        reading.error(at, "must have one of 'prompt', 'agent_data' with a user's event, and 'user_scenario'")
    if "agent_data" in fields and not ends_with_agent:
        extra = (extra or {}) | {HISTORY: fields["agent_data"]}
    case = EvalCase(
        case_id,
        None if scenario else _make_expected(invocations, _reference(fields, at, reading)),
        scenario,
        rubrics=_rubrics(fields, at, reading),
        context=_context(fields, at, reading),
        extra=extra,
    )
    responses = _responses(fields, at, reading) if invocations else []
    traces = [Trace((*invocations[:-1], replace(invocations[-1], final_response=reply))) for reply in responses]
    if ends_with_agent and not traces:
        traces = [Trace(invocations)]
    return DatasetCase(case, tuple(Recording(case_id, trace, attempt) for attempt, trace in enumerate(traces, 1)))


def _conversation(fields: dict[str, Any], at: Place, reading: Diagnostics) -> tuple[tuple[Invocation, ...], bool]:
    """Return the invocations of `prompt` or `agent_data`, and whether the last one ends with the agent."""
    if "agent_data" in fields:
        if "prompt" in fields:
            reading.error(at, "must not have both 'prompt' and 'agent_data'")
        return _invocations(fields["agent_data"], (at, "agent_data"), reading)
    if "prompt" not in fields:
        return (), False
    prompt = fields["prompt"]
    user = Message(prompt) if type(prompt) is str else _message(prompt, (at, "prompt"), reading, role="user")
    return (Invocation(user),), False


def _invocations(raw: Any, at: Place, reading: Diagnostics) -> tuple[tuple[Invocation, ...], bool]:
    """Cut the events of all turns at the events of the user. A turn may hold only a part of an invocation."""
    fields, _ = reading.fields(raw, _AGENT_DATA, at)
    about = _about(fields, at, reading)
    groups: list[tuple[Message, list[Step]]] = []
    for i, turn in enumerate(reading.array(fields, "turns", at)):
        place: Place = ((at, "turns"), i)
        inner, _ = reading.fields(turn, _TURN, place, open_ended=True)
        for k, event in enumerate(reading.array(inner, "events", place)):
            _add_event(event, ((place, "events"), k), groups, reading)
    invocations: list[Invocation] = []
    for user, steps in groups:
        before, reply = split_reply(steps)
        invocations.append(Invocation(user, before if steps else None, reply))
    if invocations and about is not None:
        invocations[0] = replace(invocations[0], about=about)
    return tuple(invocations), bool(groups and groups[-1][1])


def _add_event(raw: Any, at: Place, groups: list[tuple[Message, list[Step]]], reading: Diagnostics) -> None:
    author = raw.get("author") if isinstance(raw, dict) else None
    if author == "user" and isinstance(raw.get("content"), dict):
        groups.append((_message(raw["content"], (at, "content"), reading, role="user"), []))
        return
    _, steps, _ = content.event(raw, at, reading)
    if steps and not groups:
        groups.append((Message(""), []))
    if steps:
        groups[-1][1].extend(steps)


def _about(fields: dict[str, Any], at: Place, reading: Diagnostics) -> About | None:
    details: list[AgentDetails] = []
    for name, raw in (reading.mapping(fields, "agents", at) or {}).items():
        place: Place = ((at, "agents"), name)
        inner, extra = reading.fields(raw, _AGENT, place, open_ended=True)
        rest = (
            {key: value for key, value in raw.items() if _AGENT.get(key) in ("description", "agent_type")}
            if inner
            else {}
        )
        tools: list[dict[str, Any]] = []
        for i, tool in enumerate(reading.array(inner, "tools", place)):
            declared, _ = reading.fields(tool, _TOOL, ((place, "tools"), i), open_ended=True)
            tools += [
                tool for tool in reading.array(declared, "function_declarations", place) if isinstance(tool, dict)
            ]
        instruction = reading.text(inner, "instruction", place)
        details.append(AgentDetails(name, instruction, tuple(tools), {**rest, **(extra or {})} or None))
    return About(tuple(details)) if details else None


def _message(raw: Any, at: Place, reading: Diagnostics, *, role: str) -> Message:
    return content.message(raw, at, reading, role=role)


def _unwrap_message(raw: Any, at: Place, reading: Diagnostics) -> Message | None:
    """Return the message in `{"response": CONTENT}`. A bare content is a common mistake, and is read with a warning."""
    if type(raw) is dict and raw.keys() & _CONTENT_KEYS and "response" not in raw:
        reading.warning(at, "is a bare content; write {'response': {'role': 'model', 'parts': [...]}}")
        return _message(raw, at, reading, role="model")
    inner, _ = reading.fields(raw, _RESPONSE, at)
    if "response" not in inner:
        reading.error(at, "must have 'response': {'role': 'model', 'parts': [...]}")
        return None
    return _message(inner["response"], (at, "response"), reading, role="model")


def _reference(fields: dict[str, Any], at: Place, reading: Diagnostics) -> Message | None:
    return _unwrap_message(fields["reference"], (at, "reference"), reading) if "reference" in fields else None


def _responses(fields: dict[str, Any], at: Place, reading: Diagnostics) -> list[Message]:
    place: Place = (at, "responses")
    messages = (
        _unwrap_message(raw, (place, i), reading) for i, raw in enumerate(reading.array(fields, "responses", at))
    )
    return [message for message in messages if message is not None]


def _make_expected(invocations: tuple[Invocation, ...], reference: Message | None) -> tuple[Invocation, ...]:
    """Return the user's messages to send, without the agent's part, and the reference as the last expected reply."""
    expected = [Invocation(invocation.user, about=invocation.about) for invocation in invocations]
    if expected:
        expected[-1] = replace(expected[-1], final_response=reference)
    return tuple(expected)


def _context(fields: dict[str, Any], at: Place, reading: Diagnostics) -> str:
    raw = fields.get("context", "")
    return raw if type(raw) is str else _message(raw, (at, "context"), reading, role="user").text


def _rubrics(fields: dict[str, Any], at: Place, reading: Diagnostics) -> tuple[Rubric, ...]:
    """Return the rubrics of all groups. The name of the group is the type of its rubrics."""
    rubrics: list[Rubric] = []
    for name, raw in (reading.mapping(fields, "rubric_groups", at) or {}).items():
        place: Place = ((at, "rubric_groups"), name)
        group, _ = reading.fields(raw, _GROUP, place)
        for i, raw_rubric in enumerate(reading.array(group, "rubrics", place)):
            rubrics.append(_rubric(raw_rubric, name, ((place, "rubrics"), i), reading))
    return tuple(rubrics)


def _rubric(raw: Any, group: str, at: Place, reading: Diagnostics) -> Rubric:
    fields, _ = reading.fields(raw, _RUBRIC, at)
    body = fields.get("content")
    inner = body.get("property") if isinstance(body, dict) else None
    text = inner.get("description") if isinstance(inner, dict) else None
    if type(text) is not str:
        reading.error((at, "content"), "must be {'property': {'description': '...'}}")
        text = ""
    unused: dict[str, Any] = {key: fields[key] for key in ("type", "importance") if key in fields}
    return Rubric(reading.required(fields, "rubric_id", at), text, type=group, extra=unused or None)


def _scenario(fields: dict[str, Any], at: Place, reading: Diagnostics) -> Scenario | None:
    if "user_scenario" not in fields:
        return None
    place: Place = (at, "user_scenario")
    inner, extra = reading.fields(fields["user_scenario"], _SCENARIO, place)
    start, plan = (reading.required(inner, name, place) for name in ("starting_prompt", "conversation_plan"))
    return Scenario(start, plan, extra=extra)
