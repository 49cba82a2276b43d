"""Which cases and recordings does a dataset of Google's agents-cli hold?

The dataset is the input of the GenAI evaluation SDK, too. Its cases stand in `eval_cases`, as in ADK's eval sets, but
under other keys: `eval_case_id`, and a `prompt` or `agent_data`.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from fairtrial.config.spelling import spellings
from fairtrial.formats.adk import content
from fairtrial.formats.reading import Diagnostics, Place
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase, Scenario
from fairtrial.records.record import Record
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import About, AgentDetails, Invocation, Message, Step, Trace, split_reply

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
    """Return a case and its recordings; `place` is its index in the dataset."""
    known, extra = reading.fields(raw, CASE, at, open_ended=True)
    case_id = reading.text(known, "eval_case_id", at)
    if not case_id:
        case_id = f"case-{place + 1}"
        if not any("'eval_case_id'" in warning for warning in reading.warnings):
            reading.warning(at, "has no 'eval_case_id'; cases without one are named by their place: case-1, case-2, …")
    invocations, ends_with_agent = _conversation(known, at, reading)
    scenario = _scenario(known, at, reading)
    if scenario is None and not invocations:
        reading.error(at, "must have one of 'prompt', 'agent_data' with a user's event, and 'user_scenario'")
    if "agent_data" in known and not ends_with_agent:
        extra = (extra or {}) | {HISTORY: known["agent_data"]}
    found = EvalCase(
        case_id,
        None if scenario else _expected(invocations, _reference(known, at, reading)),
        scenario,
        rubrics=_rubrics(known, at, reading),
        context=_context(known, at, reading),
        extra=extra,
    )
    responses = _responses(known, at, reading)
    traces = [Trace((*invocations[:-1], replace(invocations[-1], final_response=reply))) for reply in responses]
    if ends_with_agent and not traces:
        traces = [Trace(invocations)]
    return DatasetCase(
        found, tuple(Recording(case_id, one, attempt) for attempt, one in enumerate(traces, 1) if invocations)
    )


def _conversation(known: dict[str, Any], at: Place, reading: Diagnostics) -> tuple[tuple[Invocation, ...], bool]:
    """Return the invocations of `prompt` or `agent_data`, and whether the last one ends with the agent."""
    if "agent_data" in known:
        if "prompt" in known:
            reading.error(at, "must not have both 'prompt' and 'agent_data'")
        return _invocations(known["agent_data"], (at, "agent_data"), reading)
    if "prompt" not in known:
        return (), False
    prompt = known["prompt"]
    user = Message(prompt) if type(prompt) is str else _message(prompt, (at, "prompt"), reading, role="user")
    return (Invocation(user),), False


def _invocations(raw: Any, at: Place, reading: Diagnostics) -> tuple[tuple[Invocation, ...], bool]:
    """Cut the events of all turns at the events of the user; a turn may hold only a part of an invocation."""
    known, _ = reading.fields(raw, _AGENT_DATA, at)
    about = _about(known, at, reading)
    groups: list[tuple[Message, list[Step]]] = []
    for i, turn in enumerate(reading.array(known, "turns", at)):
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


def _about(known: dict[str, Any], at: Place, reading: Diagnostics) -> About | None:
    details: list[AgentDetails] = []
    for name, raw in (reading.mapping(known, "agents", at) or {}).items():
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
            tools += [one for one in reading.array(declared, "function_declarations", place) if isinstance(one, dict)]
        instruction = reading.text(inner, "instruction", place)
        details.append(AgentDetails(name, instruction, tuple(tools), {**rest, **(extra or {})} or None))
    return About(tuple(details)) if details else None


def _message(raw: Any, at: Place, reading: Diagnostics, *, role: str) -> Message:
    return content.message(raw, at, reading, role=role)


def _wrapped(raw: Any, at: Place, reading: Diagnostics) -> Message | None:
    """Return the message in `{"response": CONTENT}`; a bare content is a common mistake, read with a warning."""
    if type(raw) is dict and raw.keys() & _CONTENT_KEYS and "response" not in raw:
        reading.warning(at, "is a bare content; write {'response': {'role': 'model', 'parts': [...]}}")
        return _message(raw, at, reading, role="model")
    inner, _ = reading.fields(raw, _RESPONSE, at)
    if "response" not in inner:
        reading.error(at, "must have 'response': {'role': 'model', 'parts': [...]}")
        return None
    return _message(inner["response"], (at, "response"), reading, role="model")


def _reference(known: dict[str, Any], at: Place, reading: Diagnostics) -> Message | None:
    return _wrapped(known["reference"], (at, "reference"), reading) if "reference" in known else None


def _responses(known: dict[str, Any], at: Place, reading: Diagnostics) -> list[Message]:
    place: Place = (at, "responses")
    found = (_wrapped(raw, (place, i), reading) for i, raw in enumerate(reading.array(known, "responses", at)))
    return [message for message in found if message is not None]


def _expected(invocations: tuple[Invocation, ...], reference: Message | None) -> tuple[Invocation, ...]:
    """Return the user's messages to send, without the agent's part, and the reference as the last expected reply."""
    expected = [Invocation(one.user, about=one.about) for one in invocations]
    if expected:
        expected[-1] = replace(expected[-1], final_response=reference)
    return tuple(expected)


def _context(known: dict[str, Any], at: Place, reading: Diagnostics) -> str:
    raw = known.get("context", "")
    return raw if type(raw) is str else _message(raw, (at, "context"), reading, role="user").text


def _rubrics(known: dict[str, Any], at: Place, reading: Diagnostics) -> tuple[Rubric, ...]:
    """Return the rubrics of all groups; the name of the group is the type of its rubrics."""
    found: list[Rubric] = []
    for name, raw in (reading.mapping(known, "rubric_groups", at) or {}).items():
        place: Place = ((at, "rubric_groups"), name)
        group, _ = reading.fields(raw, _GROUP, place)
        for i, one in enumerate(reading.array(group, "rubrics", place)):
            found.append(_rubric(one, name, ((place, "rubrics"), i), reading))
    return tuple(found)


def _rubric(raw: Any, group: str, at: Place, reading: Diagnostics) -> Rubric:
    known, _ = reading.fields(raw, _RUBRIC, at)
    body = known.get("content")
    inner = body.get("property") if isinstance(body, dict) else None
    text = inner.get("description") if isinstance(inner, dict) else None
    if type(text) is not str:
        reading.error((at, "content"), "must be {'property': {'description': '...'}}")
        text = ""
    others: dict[str, Any] = {key: known[key] for key in ("type", "importance") if key in known}
    return Rubric(reading.required(known, "rubric_id", at), text, type=group, extra=others or None)


def _scenario(known: dict[str, Any], at: Place, reading: Diagnostics) -> Scenario | None:
    if "user_scenario" not in known:
        return None
    place: Place = (at, "user_scenario")
    inner, extra = reading.fields(known["user_scenario"], _SCENARIO, place)
    start, plan = (reading.required(inner, name, place) for name in ("starting_prompt", "conversation_plan"))
    return Scenario(start, plan, extra=extra)
