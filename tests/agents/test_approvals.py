"""Calls that need a decision wait for it, in every framework, and the trace shows it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from shop import CRITERIA, TOOLS, cancel_order, get_order, saying

import fairtrial
from fairtrial.agents import find_agent
from fairtrial.agents.approvals import _answers, question
from fairtrial.analysis.failures.events import is_error
from fairtrial.formats.adk.evalset import case as read_case
from fairtrial.formats.adk.write import case_json
from fairtrial.formats.reading import Diagnostics
from fairtrial.records.case import EvalCase
from fairtrial.records.trace import Approval, Part, ToolCall, ToolResult, Trace
from fairtrial.reports.views.view_attempts import step_view

QUESTION = question([ToolCall("cancel_order", {"order_id": "B-42"})])

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def _adk() -> Any:
    pytest.importorskip("google.adk")
    from adk_shop.agent import ScriptedLlm
    from google.adk.agents import Agent
    from google.adk.tools.function_tool import FunctionTool

    tools = [get_order, FunctionTool(cancel_order, require_confirmation=True)]
    return Agent(name="shop", model=ScriptedLlm(model="scripted"), tools=tools)


def _middleware(**options: Any) -> Any:
    pytest.importorskip("langgraph.graph")
    from langchain.agents import create_agent
    from langchain.agents.middleware import HumanInTheLoopMiddleware
    from langgraph_shop import ScriptedChat

    if not options.keys() <= inspect.signature(HumanInTheLoopMiddleware).parameters.keys():
        pytest.skip(f"needs a LangChain whose middleware knows {', '.join(options)}")
    middleware = HumanInTheLoopMiddleware(interrupt_on={"cancel_order": True}, **options)
    return create_agent(ScriptedChat(), tools=list(TOOLS.values()), middleware=[middleware], name="shop")


def _openai() -> Any:
    pytest.importorskip("agents.lifecycle")
    from agents import Agent, function_tool
    from openai_shop import ScriptedModel

    tools = [function_tool(get_order), function_tool(cancel_order, needs_approval=True)]
    return Agent(name="shop", model=ScriptedModel(), tools=tools)


def _pydantic_ai() -> Any:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent, Tool
    from pydantic_ai_shop import model

    return Agent(model, name="shop", tools=[get_order, Tool(cancel_order, requires_approval=True)])


def _agno() -> Any:
    pytest.importorskip("agno")
    from agno.agent import Agent
    from agno.tools.decorator import tool
    from agno_shop import ScriptedModel

    tools = [get_order, tool(requires_confirmation=True)(cancel_order)]
    return Agent(name="shop", model=ScriptedModel(), tools=tools, telemetry=False)


def _agent_framework() -> Any:
    pytest.importorskip("agent_framework")
    from agent_framework import Agent, tool
    from agent_framework_shop import ScriptedClient

    tools = [get_order, tool(cancel_order, approval_mode="always_require")]
    return Agent(ScriptedClient(), name="shop", tools=tools)


def _agno_workflow() -> Any:
    pytest.importorskip("agno")
    from agno.db.in_memory import InMemoryDb
    from agno.workflow import Step, Workflow

    return Workflow(name="shop", steps=[Step(name="step", agent=_agno())], db=InMemoryDb(), telemetry=False)


def make_framework_workflow() -> Any:
    """A workflow of Agent Framework whose agent asks."""
    from agent_framework import WorkflowBuilder

    own = _agent_framework()
    return WorkflowBuilder(name="shop", start_executor=own, output_from=[own]).build()


def _agent_framework_workflow() -> Any:
    pytest.importorskip("agent_framework")
    return find_agent(f"agent-framework:{__name__}:make_framework_workflow")


def _claude() -> Any:
    pytest.importorskip("claude_agent_sdk")
    return find_agent("claude:claude_shop:asking")


AGENTS: dict[str, Callable[[], Any]] = {
    "adk": _adk,
    "agent-framework": _agent_framework,
    "agent-framework-workflow": _agent_framework_workflow,
    "agno": _agno,
    "agno-workflow": _agno_workflow,
    "claude": _claude,
    "langchain": _middleware,
    "langchain-per-call": lambda: _middleware(interrupt_mode="per_call"),
    "openai-agents": _openai,
    "pydantic-ai": _pydantic_ai,
}
every_agent = pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.agents) for name in AGENTS])


def held(agent: Any, *queries: str, **options: Any) -> Trace:
    """What is recorded of a conversation; `options` are fields of its case."""
    eval_set = saying(*queries)
    case = replace(eval_set.cases[0], **options)
    run = fairtrial.evaluate(replace(eval_set, cases=(case,)), agent, CRITERIA)
    ((_, recording),) = run.recordings
    assert recording.failure is None, recording.failure.traceback
    return recording.trace


def results(trace: Trace, turn: int) -> list[ToolResult]:
    """The results of the tool that needs a decision, without ADK's remark that it waits."""
    steps = [step for step in trace.invocations[turn].steps or () if isinstance(step, ToolResult)]
    return [step for step in steps if step.name == "cancel_order" and "requires confirmation" not in str(step.response)]


@every_agent
def test_the_agent_asks_and_the_user_agrees(name: str) -> None:
    """The call waits, the question is the reply, and after the next message the tool runs."""
    trace = held(AGENTS[name](), "Cancel B-42", "Yes, please.")
    first, second = trace.invocations
    assert "cancel_order" in [call.name for call in first.tool_calls]
    assert (first.reply, first.final_response and first.final_response.author) == (
        QUESTION,
        "asking" if name == "claude" else "shop",
    )
    assert results(trace, 0) == []
    (result,) = results(trace, 1)
    assert result.response == {"cancelled": True}
    assert result.approval == Approval("approve")
    assert second.reply == "Order B-42 is cancelled."


@every_agent
def test_the_user_rejects(name: str) -> None:
    """The tool does not run; the agent learns it, and the trace keeps the words of the user."""
    trace = held(AGENTS[name](), "Cancel B-42", "No, keep it.")
    (result,) = results(trace, 1)
    assert "cancelled" not in str(result.response).replace("is cancelled", "")
    assert result.approval == Approval("reject", reason="No, keep it.")


@every_agent
def test_the_user_gives_other_arguments(name: str) -> None:
    """JSON replaces the arguments: the order X does not exist. ADK gives them to the tool as a payload."""
    trace = held(AGENTS[name](), "Cancel B-42", '{"order_id": "X"}')
    (result,) = results(trace, 1)
    assert result.approval == Approval("edit", args={"order_id": "X"})
    cancelled = json.dumps({"cancelled": name == "adk"})
    assert cancelled in (result.response if isinstance(result.response, str) else json.dumps(result.response))


@every_agent
@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_the_case_decides(name: str, decision: str) -> None:
    """`approvals` of the case answer at once: the conversation goes on without a question."""
    trace = held(AGENTS[name](), "Cancel B-42", approvals={"cancel_order": decision})
    (invocation,) = trace.invocations
    assert invocation.reply == "Order B-42 is cancelled."
    (result,) = results(trace, 0)
    assert result.approval is not None
    assert (result.approval.decision, result.approval.by) == (decision, "case")
    assert (result.response == {"cancelled": True}) == (decision == "approve")


@every_agent
def test_a_picture_is_no_decision(name: str) -> None:
    """It was dropped without a word. The case is at fault, and the tool does not run."""
    eval_set = saying("Cancel B-42", "Yes, please.")
    first, second = eval_set.cases[0].conversation or ()
    second = replace(second, user=replace(second.user, parts=(Part("image/png", "s3://shop/cat.png"),)))
    case = replace(eval_set.cases[0], conversation=(first, second))
    ((_, recording),) = fairtrial.evaluate(replace(eval_set, cases=(case,)), AGENTS[name](), CRITERIA).recordings
    assert recording.failure is not None
    assert recording.failure.side == "expectation"
    assert recording.failure.cause == "the message is for a question of the agent, and cannot hold 1 part"
    assert results(recording.trace, 1) == []


@every_agent
def test_a_question_without_an_answer_is_the_reply(name: str) -> None:
    """Nobody decides: the tool did not run, and the reply is the question and not `null`."""
    trace = held(AGENTS[name](), "Cancel B-42")
    assert trace.invocations[0].reply == QUESTION
    assert results(trace, 0) == []


@every_agent
def test_each_conversation_waits_alone(name: str) -> None:
    """In twenty conversations at once, each decision reaches its own call."""
    agent = AGENTS[name]()
    cases = [saying("Cancel B-42", "yes" if i % 2 else "no", name=str(i)).cases[0] for i in range(20)]
    run = fairtrial.evaluate(fairtrial.EvalSet("many", tuple(cases)), agent, CRITERIA, concurrency=20)
    for _, recording in run.recordings:
        (result,) = results(recording.trace, 1)
        assert result.approval is not None
        assert (result.approval.decision == "approve") == bool(int(recording.case_id) % 2)
        assert (result.response == {"cancelled": True}) == bool(int(recording.case_id) % 2)


@every_agent
@pytest.mark.parametrize(("message", "response"), [("yes", {"cancelled": "simulated"}), ("no", None)])
def test_a_simulated_tool_waits_as_well(name: str, message: str, response: object) -> None:
    """The environment answers only after the user has agreed."""
    tool = {"tool_name": "cancel_order", "injection_configs": [{"injected_response": {"cancelled": "simulated"}}]}
    criteria = {"criteria": CRITERIA, "environment_simulation_config": {"tool_simulation_configs": [tool]}}
    run = fairtrial.evaluate(saying("Cancel B-42", message), AGENTS[name](), criteria)
    ((_, recording),) = run.recordings
    assert recording.failure is None, recording.failure.traceback
    assert recording.trace.invocations[0].reply == QUESTION
    assert results(recording.trace, 0) == []
    (result,) = results(recording.trace, 1)
    assert (result.response == response) == (message == "yes")
    assert "simulated" in str(result.response) or message == "no"


def _graph(kind: str) -> Any:
    """A graph with a breakpoint before its tools."""
    graphs = pytest.importorskip("langgraph.graph")
    from langchain.agents import create_agent
    from langgraph.prebuilt import ToolNode, tools_condition
    from langgraph_shop import ScriptedChat

    if kind == "agent":
        return create_agent(ScriptedChat(), tools=[get_order], interrupt_before=["tools"])
    model = ScriptedChat().bind_tools([get_order])
    graph = graphs.StateGraph(graphs.MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([get_order]))
    graph.add_edge(graphs.START, "model").add_edge("tools", "model").add_conditional_edges("model", tools_condition)
    return graph.compile(interrupt_before=["tools"])


@pytest.mark.agents
@pytest.mark.parametrize("kind", ["agent", "graph"])
@pytest.mark.parametrize(
    ("message", "response"),
    [
        ("yes", {"item": "teapot", "state": "shipped"}),
        ("no", "no"),
        ('{"order_id": "B-42"}', {"item": "lamp", "state": "in preparation"}),
    ],
)
def test_a_breakpoint_waits_for_a_decision(kind: str, message: str, response: object) -> None:
    """A graph that was compiled with `interrupt_before` goes on, without a checkpointer of its own."""
    trace = held(_graph(kind), "Where is A-17?", message)
    first, second = trace.invocations
    assert first.reply == question([ToolCall("get_order", {"order_id": "A-17"})])
    (result,) = [step for step in second.steps or () if isinstance(step, ToolResult)]
    assert result.response == response
    assert second.reply == "Your teapot is shipped."


@pytest.mark.parametrize(
    ("message", "decisions"),
    [
        ("yes", ["approve", "approve"]),
        ("Yes, go ahead!", ["approve", "approve"]),
        ("네, 그렇게 해 주세요.", ["approve", "approve"]),
        ("예약을 바꿔 주세요.", ["reject", "reject"]),
        ("はい", ["approve", "approve"]),
        ("好的", ["approve", "approve"]),
        ("不可以", ["reject", "reject"]),
        ("ok, do not do it", ["reject", "reject"]),
        ("yesterday", ["reject", "reject"]),
        ("maybe", ["reject", "reject"]),
        ("", ["reject", "reject"]),
        ('["yes", "no"]', ["approve", "reject"]),
        ('[{"a": 1}, true]', ["edit", "approve"]),
        ('["yes"]', ["reject", "reject"]),
    ],
)
def test_a_message_decides(message: str, decisions: list[str]) -> None:
    """Only a message that agrees approves. A list decides about each of two calls."""
    assert [answer.decision for answer in _answers(message, 2)] == decisions


def deciding(*turn: Any, **approvals: str) -> Any:
    """A run of a function that yields these items, with decisions of its case."""
    eval_set = saying("Cancel B-42")
    case = replace(eval_set.cases[0], approvals=approvals)
    return fairtrial.evaluate(replace(eval_set, cases=(case,)), lambda _: list(turn), {"criteria": CRITERIA})


@pytest.mark.parametrize(
    ("turn", "calls"),
    [
        (["done"], "none"),
        ([ToolCall("cancel_order", {}, "1"), "May I?"], "'cancel_order'"),
        (
            [ToolCall("pay", {}, "1"), ToolResult("pay", 1, "1", approval=Approval("approve", "case")), "done"],
            "'pay'",
        ),
    ],
)
def test_a_decision_that_no_call_needs_is_told(turn: list[Any], calls: str) -> None:
    """A typo in `approvals`, or an agent that does not ask, was silent. The warning names the calls that asked."""
    (result,) = deciding(*turn, cancel_ordr="approve").cases
    (warning,) = result.warnings
    assert warning.startswith("approvals: no recorded call of 'cancel_ordr' has a decision; ")
    assert f"without a result: {calls} (a function takes no decisions, " in warning


def test_a_rejected_call_is_no_error_of_its_tool() -> None:
    """The case plans the rejection, and the framework marks it as an error."""
    rejected = ToolResult("pay", "Error: rejected", "1", is_error=True, approval=Approval("reject", "case"))
    run = deciding(ToolCall("pay", {}, "1"), rejected, "I do not pay.", pay="reject")
    ((_, recording),) = run.recordings
    (result,) = [step for step in recording.trace.invocations[0].steps or () if isinstance(step, ToolResult)]
    assert not result.is_error
    assert not is_error(rejected)
    assert run.cases[0].warnings == ()
    assert step_view(rejected).approval == Approval("reject", "case")


def test_approvals_stand_in_the_file_of_the_case() -> None:
    """They are read, written back and checked."""
    case = EvalCase("a", (), approvals={"cancel_order": "reject"})
    reading = Diagnostics("x")
    assert read_case(case_json(case), (), reading).approvals == {"cancel_order": "reject"}
    assert reading.errors == []
    read_case({**case_json(case), "approvals": {"cancel_order": "maybe"}}, (), reading)
    assert reading.errors == ["/approvals/cancel_order: must be 'approve' or 'reject', got 'maybe'"]


def test_an_approval_is_kept_in_the_store(tmp_path: Path) -> None:
    """A recording with a decision is the same after it was stored."""
    result = ToolResult("cancel_order", True, approval=Approval("edit", "user", {"a": 1}))
    store = f"sqlite:///{tmp_path / 'runs.db'}"
    run = fairtrial.evaluate(
        saying("hello"), lambda _: [ToolCall("cancel_order"), result, "done"], CRITERIA, store=store
    )
    ((_, recording),) = fairtrial.open_run(run.info.id, store=store).recordings
    assert recording.trace.invocations[0].steps == (ToolCall("cancel_order"), result)
