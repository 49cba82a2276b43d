"""Criteria that Vertex AI's evaluation service scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairtrial.metrics.asking import judge_each, judge_pairs, unfit
from fairtrial.metrics.expectations import blank_references
from fairtrial.records.contents import COMPARABLE
from fairtrial.records.score import Range, Score
from fairtrial.records.trace import AgentDetails, Invocation, Message, Step, Thought, ToolCall, Trace
from fairtrial.text.json_schemas import find_parameters

if TYPE_CHECKING:
    from fairtrial.judge.service import Service
    from fairtrial.records.case import EvalCase
    from fairtrial.records.record import Json

_UNIT, _GRADES = Range(), Range(1.0, 5.0)


@dataclass(frozen=True)
class VertexSafety:
    """`safety_v1` by the service: 1.0 if a reply breaks none of its policies, else 0.0. A case is the mean."""

    service: Service

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002 - every metric has two arguments
        """Have each reply evaluated, and take the mean."""
        return await judge_each(trace, lambda invocation, _: self._judge(invocation))

    async def _judge(self, invocation: Invocation) -> Score:
        instance = {"prompt": _text(invocation.query, "user"), "response": _text(invocation.reply, "model")}
        return await _ask(self.service, instance, _UNIT, "reply")


@dataclass(frozen=True)
class VertexCoherence:
    """`response_evaluation_score` by the service: the coherence of a reply, 1..5. A case is the mean."""

    service: Service

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Have each reply that has a reference evaluated, and take the mean."""
        return await judge_pairs(trace, case, lambda ours, theirs, _: self._grade(ours, theirs), worst=1.0)

    def expectation_problems(self, trace: Trace, case: EvalCase) -> tuple[str, ...]:  # noqa: ARG002
        """Return a problem for each reference that is blank."""
        return tuple(blank_references(case))

    async def _grade(self, actual: Invocation, expected: Invocation) -> Score:
        instance = {
            "prompt": _text(actual.query, "user"),
            "reference": _text(expected.reply, "model"),
            "response": _text(actual.reply, "model"),
        }
        return await _ask(self.service, instance, _GRADES, "reply")


@dataclass(frozen=True)
class VertexConversation:
    """A `multi_turn_..._v1` by the service: one number for the conversation, 0..1, by rubrics that it makes itself."""

    service: Service

    async def __call__(self, trace: Trace, case: EvalCase) -> Score:  # noqa: ARG002 - every metric has two arguments
        """Have the conversation evaluated as a whole."""
        if unfit_score := unfit(trace, reads=COMPARABLE):
            return unfit_score
        agents: dict[str, Json] = {agent.name: _agent(agent) for agent in trace.agents}
        turns: list[Json] = [
            {"turn_index": place, "turn_id": invocation.id or str(place), "events": _events(invocation)}
            for place, invocation in enumerate(trace.invocations)
        ]
        instance: dict[str, Json] = {"agent_data": {"agents": agents, "turns": turns}}
        return await _ask(self.service, instance, _UNIT, "conversation")


def _agent(agent: AgentDetails) -> Json:
    functions: list[Json] = [_function(tool) for tool in agent.tools]
    tools: Json = [{"function_declarations": functions}] if functions else []
    return {"agent_id": agent.name, "instruction": agent.instructions, "tools": tools}


def _function(tool: dict[str, Json]) -> Json:
    """Return the declaration of a tool. Its parameters keep the dialect of JSON Schema in which they were declared."""
    schema = find_parameters(tool)
    function = {"name": str(tool["name"]), "description": str(tool.get("description") or "")}
    return {**function, "parameters_json_schema": schema} if schema else function


def _events(invocation: Invocation) -> list[Json]:
    """Return the messages, calls and results of an invocation as events, without thoughts."""
    steps = [step for step in invocation.steps or () if not isinstance(step, Thought)]
    events = [_event("user", "user", {"text": invocation.query})]
    events += [_event(step.author or "agent", *_part(step)) for step in steps]
    if invocation.final_response is not None:
        events.append(_event(invocation.final_response.author or "agent", "model", {"text": invocation.reply}))
    return events


def _part(step: Step) -> tuple[str, Json]:
    """Return the role of the author of a step, and its content."""
    if isinstance(step, Message | Thought):
        return "model", {"text": step.text}
    if isinstance(step, ToolCall):
        return "model", {"function_call": {"name": step.name, "args": step.args}}
    answer = step.response if isinstance(step.response, dict) else {"result": step.response}
    return "user", {"function_response": {"name": step.name, "response": answer}}


def _event(author: str, role: str, part: Json) -> Json:
    return {"author": author, "content": {"role": role, "parts": [part]}}


def _text(text: str, role: str) -> dict[str, Json]:
    return {"contents": {"contents": [{"role": role, "parts": [{"text": text}]}]}}


async def _ask(service: Service, instance: dict[str, Json], scale: Range, item: str) -> Score:
    ballot = await service(instance, item, scale)
    value, answers = ballot.decisions[item].result.value, ballot.opinions(item)
    if not answers:
        return Score(None, ballot.votes[0].problems[item], ballots=(ballot.id,), side="judge")
    return Score(value, answers[0].rationale, ballots=(ballot.id,))
