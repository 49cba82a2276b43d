"""On which sides but the agent's did an attempt go wrong? Whatever is found here makes it invalid, passed or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import get_args

from fairtrial.errors import nearest
from fairtrial.metrics.response import ResponseMatch
from fairtrial.metrics.response_evaluation import ResponseEvaluation
from fairtrial.metrics.response_judged import FinalResponseMatch
from fairtrial.metrics.trajectory import ToolTrajectory
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase
from fairtrial.records.record import Json
from fairtrial.records.result import Criterion, Fault, InvocationInjection, Outcome, Verdict
from fairtrial.records.score import FaultSide, Score
from fairtrial.records.trace import HANDOVER, Invocation, Message, ToolCall, Trace
from fairtrial.text.display import shortened

SIMULATOR = "per_turn_user_simulator_quality_v1"
_TRANSFER = "transfer_to_"
"""How the tools begin by which ADK, the OpenAI Agents SDK and LangGraph hand over to another agent."""
_SERVERS = {"hosted_mcp", "mcp_server"}
"""What the OpenAI Agents SDK and Pydantic AI declare for an MCP server that the model's provider asks."""

Said = Iterator[tuple[FaultSide, str]]


def evidence(
    recording: Recording,
    injections: Sequence[InvocationInjection],
    case: EvalCase,
    criteria: Sequence[Criterion],
    outcomes: Sequence[Outcome],
) -> tuple[Fault, ...]:
    """Return each side that there is evidence for, the first by precedence first.

    No verdict on the agent is looked at: only failures, what had no value and why, the verdict on the simulated user,
    injected faults, and the expectation.
    """
    found: dict[FaultSide, dict[str, None]] = {}
    failure = recording.failure
    if failure is not None and failure.side != "agent":
        found[failure.side] = {failure.cause: None}
    for look in (_unscored(outcomes), _simulated(outcomes), _injected(injections)):
        for side, text in look:
            found.setdefault(side, {})[text] = None
    for criterion in criteria:
        for text in _expected(criterion, recording.trace, case):
            found.setdefault("expectation", {})[f"{criterion.name}: {text}"] = None
    return tuple(Fault(side, tuple(found[side])) for side in get_args(FaultSide) if side in found)


def _unscored(outcomes: Sequence[Outcome]) -> Said:
    for outcome in outcomes:
        for score in _applicable(outcome.score):
            if score.value is None and score.side is not None and score.side != "agent":
                yield score.side, f"{outcome.criterion}: {score.reason}"


def _applicable(score: Score) -> Iterator[Score]:
    """A score and its parts, but for those that do not apply."""
    if score.applicable:
        yield score
        for part in score.parts:
            yield from _applicable(part)


def _simulated(outcomes: Sequence[Outcome]) -> Said:
    for outcome in outcomes:
        if outcome.criterion == SIMULATOR and outcome.verdict is Verdict.FAILED:
            broken = [f"{part.label}: {part.reason}" for part in outcome.score.parts if part.value == 0.0]
            for text in broken or [outcome.score.reason or "failed"]:
                yield "simulator", f"{SIMULATOR}: {text}"


def _injected(injections: Sequence[InvocationInjection]) -> Said:
    for one in injections:
        if one.injected.invalidates:
            detail = f": {one.injected.detail}" if one.injected.detail else ""
            yield (
                "environment",
                f"{one.injected.effect} injected into {one.tool} in invocation {one.invocation}{detail}",
            )


def _expected(criterion: Criterion, trace: Trace, case: EvalCase) -> Iterator[str]:
    """What makes an expectation one that no agent can meet, or that cannot be meant; the list is closed."""
    metric = criterion.metric
    if isinstance(metric, ToolTrajectory):
        yield from _undeclared(metric, trace, case)
        yield from _contradictory(metric, case)
    elif isinstance(metric, ResponseMatch | FinalResponseMatch | ResponseEvaluation):
        yield from _empty(case)


def _undeclared(metric: ToolTrajectory, trace: Trace, case: EvalCase) -> Iterator[str]:
    declared = _declared(trace)
    if declared:
        for name in _wanted(metric, case):
            if name not in declared:
                known = shortened(", ".join(sorted(declared)), 200)
                yield f"the expected tool {name!r} is none that the agent declares ({known}){nearest(name, declared)}"


def _declared(trace: Trace) -> set[str]:
    """The tools that there are, none where that is not known: a server, or an agent that was not reached, has more."""
    agents = [agent for one in trace.invocations for agent in (one.about.agents if one.about else ())]
    tools = [tool for agent in agents for tool in agent.tools]
    alone = len({agent.name for agent in agents}) == 1 and not any(map(_leads_elsewhere, tools))
    return {str(tool["name"]) for tool in tools} if alone else set()


def _leads_elsewhere(tool: dict[str, Json]) -> bool:
    """Whether a tool is one by which tools are reached that its agent does not declare."""
    name = str(tool["name"])
    return HANDOVER in tool or name.startswith(_TRANSFER) or name in _SERVERS


def _contradictory(metric: ToolTrajectory, case: EvalCase) -> Iterator[str]:
    wanted = _wanted(metric, case)
    for name in wanted:
        if name in metric.forbidden_tools:
            yield f"the expected tool {name!r} is one of the forbidden_tools"
    conversation = case.conversation or ()
    if wanted and metric.scope == "conversation" and all(one.steps is not None for one in conversation):
        own = Counter(call.name for one in conversation for call in one.tool_calls)
        for name in wanted - own if own else ():
            yield f"{name!r} is expected of the conversation as a whole more often than of its invocations"


def _wanted(metric: ToolTrajectory, case: EvalCase) -> Counter[str]:
    """How often each tool is expected."""
    return Counter(call.name for call in metric.expected(case) or () if call.name not in metric.optional_tools)


def _empty(case: EvalCase) -> Iterator[str]:
    if case.conversation == ():
        yield "the case's conversation is empty"
    for number, invocation in enumerate(case.conversation or (), 1):
        if _says_nothing(invocation):
            yield f"the reference of invocation {number} is blank, and no call is expected there"


def _says_nothing(expected: Invocation) -> bool:
    reference = expected.final_response
    if reference is None or reference.text.strip():
        return False
    if any(isinstance(step, Message | ToolCall) for step in expected.steps or ()):
        return False
    parts = (reference.extra or {}).get("parts")
    pictures = isinstance(parts, list) and not all(isinstance(part, dict) and "text" in part for part in parts)
    return not pictures
