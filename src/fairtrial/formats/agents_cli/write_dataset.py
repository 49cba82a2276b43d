"""Write cases and recordings as an agents-cli dataset, and report expectations that it has no place for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial.formats.adk.write import content_json, split_parts
from fairtrial.formats.agents_cli.dataset import HISTORY
from fairtrial.records.trace import About, AgentDetails, Invocation, ToolCall, ToolResult, Trace

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording
    from fairtrial.records.case import EvalCase, EvalSet
    from fairtrial.records.record import Json


def dataset(eval_set: EvalSet, recordings: Sequence[Recording] = ()) -> tuple[bytes, list[str]]:
    """Return the bytes of a dataset, and each loss: its place in the eval set, and the reason."""
    by_case: dict[str, list[Recording]] = {}
    for recording in recordings:
        by_case.setdefault(recording.case_id, []).append(recording)
    losses: list[str] = []
    cases: list[Json] = []
    for i, case in enumerate(eval_set.cases):
        recordings = by_case.get(case.id, [])
        cases.append(_case(case, recordings))
        losses += (f"/eval_cases/{i}: {loss}" for loss in _losses(case, recordings))
    return msgspec.json.format(msgspec.json.encode({"eval_cases": cases}), indent=2), losses


def instance_json(case: EvalCase, trace: Trace) -> dict[str, Json]:
    """Return a case with the conversation that was recorded, under the keys of a dataset."""
    extra = {key: value for key, value in (case.extra or {}).items() if key != HISTORY}
    instance = _case(msgspec.structs.replace(case, extra=extra), [])
    return {**instance, HISTORY: _agent_data(trace.invocations)}


def _case(case: EvalCase, recordings: list[Recording]) -> dict[str, Json]:
    extra = dict(case.extra or {})
    history = extra.pop(HISTORY, None)
    raw: dict[str, Json] = {"eval_case_id": case.id}
    expected = case.conversation or ()
    # A history is written as it was read; then recordings are replies to its last message.
    whole = [recording for recording in recordings if history is None and _is_conversation(recording)]
    if case.scenario is not None:
        scenario = case.scenario
        raw["user_scenario"] = {
            "starting_prompt": scenario.starting_prompt,
            "conversation_plan": scenario.conversation_plan,
            **(scenario.extra or {}),
        }
    elif history is not None:
        raw[HISTORY] = history
    elif whole:
        raw[HISTORY] = _agent_data(whole[0].trace.invocations)
    elif len(expected) == 1 and expected[0].about is None:
        raw["prompt"] = content_json(expected[0].user, "user")
    elif expected:
        raw[HISTORY] = _agent_data((*expected[:-1], msgspec.structs.replace(expected[-1], final_response=None)))
    replies = [
        recording.trace.invocations[-1].final_response
        for recording in recordings
        if recording.trace.invocations and not whole
    ]
    if any(replies):
        raw["responses"] = [{"response": content_json(reply, "model")} for reply in replies if reply]
    if expected and expected[-1].final_response is not None:
        raw["reference"] = {"response": content_json(expected[-1].final_response, "model")}
    if case.context:
        raw["context"] = case.context
    if case.rubrics:
        raw["rubric_groups"] = _rubric_groups(case)
    return raw | extra


def _is_conversation(recording: Recording) -> bool:
    """Whether a recording says more than the reply to one message."""
    invocations = recording.trace.invocations
    return len(invocations) > 1 or any(invocation.steps for invocation in invocations)


def _agent_data(invocations: Sequence[Invocation]) -> dict[str, Json]:
    about = invocations[0].about if invocations else None
    turns: list[Json] = []
    for i, invocation in enumerate(invocations):
        events: list[Json] = [{"author": "user", "content": content_json(invocation.user, "user")}]
        for step in invocation.steps or ():
            author = step.author or ("tool" if isinstance(step, ToolResult) else "agent")
            events.append({"author": author, "content": {"parts": split_parts(step)}})
        reply = invocation.final_response
        if reply is not None:
            events.append({"author": reply.author or "agent", "content": content_json(reply, "model")})
        turns.append({"turn_index": i, "events": events})
    return {**({"agents": _agents(about)} if about is not None else {}), "turns": turns}


def _agents(about: About) -> dict[str, Json]:
    return {agent.name: _agent(agent) for agent in about.agents}


def _agent(agent: AgentDetails) -> dict[str, Json]:
    raw: dict[str, Any] = {"agent_id": agent.name}
    if agent.instructions:
        raw["instruction"] = agent.instructions
    if agent.tool_declarations:
        raw["tools"] = [{"function_declarations": list(agent.tool_declarations)}]
    return raw | (agent.extra or {})


def _rubric_groups(case: EvalCase) -> dict[str, Json]:
    groups: dict[str, list[Json]] = {}
    for rubric in case.rubrics:
        content: Json = {"property": {"description": rubric.text}}
        written = {"rubric_id": rubric.id, "content": content, **(rubric.extra or {})}
        groups.setdefault(rubric.type or "rubrics", []).append(written)
    return {name: {"rubrics": rubrics} for name, rubrics in groups.items()}


def _losses(case: EvalCase, recordings: list[Recording]) -> Iterator[str]:
    """Each thing that a case holds and a dataset has no place for."""
    expected = case.conversation or ()
    for number, invocation in enumerate(expected, 1):
        calls = [step.name for step in invocation.steps or () if isinstance(step, ToolCall)]
        if calls:
            yield f"the expected calls of invocation {number} ({', '.join(calls[:3])}) have no place in a dataset"
        if invocation.final_response is not None and number < len(expected):
            yield f"the expected reply of invocation {number} becomes history: only the last reply has a reference"
        if invocation.rubrics:
            yield f"the rubrics of invocation {number} have no place in a dataset"
    if case.expected_calls is not None:
        yield "the expected calls of the conversation have no place in a dataset"
    has_checks = case.checks or any(invocation.checks for invocation in expected)
    for name, value in (
        ("list of checks", has_checks or None),
        ("session input", case.session_input),
        ("approvals", case.approvals or None),
        ("expected failure", case.expected_failure or None),
        ("cluster", case.cluster or None),
        ("final session state", case.final_session_state),
        ("workspace of a coding agent, with its files and checks,", case.workspace),
    ):
        if value is not None:
            yield f"the {name} has no place in a dataset"
    if case.scenario is not None and case.scenario.persona is not None:
        yield "the user's persona has no place in a dataset"
    if len(recordings) > 1 and any(len(recording.trace.invocations) > 1 for recording in recordings):
        yield f"{len(recordings) - 1} more recorded conversations: a case of a dataset has room for one"
