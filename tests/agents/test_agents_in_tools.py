"""Agents that work inside a tool of another agent are recorded, in every framework."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from kinds import recorded
from shop import TOOLS, cancel_order, saying
from shop import get_order as real_get_order

import fairtrial
from fairtrial.api.attacks.attack_choice import AttackChoice
from fairtrial.api.attacks.attack_planning import plan_attacks
from fairtrial.api.execution import execute
from fairtrial.api.planning import plan_run
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import Invocation, Message, ToolResult

pytestmark = [
    pytest.mark.agents,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
QUERY, REPLY = "Where is A-17?", "Your teapot is shipped."
TASK = "Cancel B-42, please."
"""The task that the tool `get_order` of the outer agent gives to the inner agent."""


def strands_shop_of_agents(*, is_sync: bool = False) -> Any:
    """An agent of Strands whose tool asks another agent."""
    from strands import Agent, tool
    from strands_shop import ScriptedModel

    def expert() -> Any:
        tools = [tool(real_get_order), tool(cancel_order)]
        return Agent(model=ScriptedModel(), name="expert", tools=tools, callback_handler=None)

    async def get_order(order_id: str) -> str:  # noqa: ARG001
        """Look up an order."""
        return str(await expert().invoke_async(TASK))

    def get_order_in_thread(order_id: str) -> str:  # noqa: ARG001
        """Look up an order."""
        return str(expert()(TASK))

    own = tool(name="get_order")(get_order_in_thread) if is_sync else tool(get_order)
    return Agent(model=ScriptedModel(), name="shop", tools=[own], callback_handler=None)


def sync_strands_shop_of_agents() -> Any:
    """The same, with a sync tool."""
    return strands_shop_of_agents(is_sync=True)


def _strands() -> Any:
    pytest.importorskip("strands")
    return f"strands:{__name__}:strands_shop_of_agents"


def _sync_strands() -> Any:
    pytest.importorskip("strands")
    return f"strands:{__name__}:sync_strands_shop_of_agents"


def _agent_framework() -> Any:
    pytest.importorskip("agent_framework")
    from agent_framework import Agent
    from agent_framework_shop import ScriptedClient

    expert = Agent(ScriptedClient(), name="expert", tools=list(TOOLS.values()))

    async def get_order(order_id: str) -> str:  # noqa: ARG001
        """Look up an order."""
        return str((await expert.run(TASK)).text)

    return Agent(ScriptedClient(), name="shop", tools=[get_order])


def _agent_framework_as_tool() -> Any:
    pytest.importorskip("agent_framework")
    from agent_framework import Agent, ChatResponse, ChatResponseUpdate, Content, ResponseStream
    from agent_framework_shop import ScriptedClient

    class Tasked(ScriptedClient):
        """A streaming client, which gets the task instead of the number of an order."""

        def _inner_get_response(self, *, messages: Any, stream: bool, **more: Any) -> Any:
            own = [message.__class__("user", [TASK]) if message.text == "A-17" else message for message in messages]
            answer = super()._inner_get_response(messages=own, stream=stream, **more)

            async def updates() -> AsyncIterator[Any]:
                response = await answer
                usage = Content.from_usage(response.usage_details)
                yield ChatResponseUpdate(contents=[*response.messages[0].contents, usage], role="assistant")

            return ResponseStream(updates(), finalizer=ChatResponse.from_updates) if stream else answer

    expert = Agent(Tasked(), name="expert", tools=list(TOOLS.values()))
    as_tool = expert.as_tool(name="get_order", description="Look up an order.", arg_name="order_id")
    return Agent(ScriptedClient(), name="shop", tools=[as_tool])


def _agno() -> Any:
    pytest.importorskip("agno")
    from agno.agent import Agent
    from agno_shop import ScriptedModel

    expert = Agent(name="expert", model=ScriptedModel(), tools=list(TOOLS.values()), telemetry=False)

    async def get_order(order_id: str) -> str:  # noqa: ARG001
        """Look up an order."""
        return str((await expert.arun(TASK)).content)

    return Agent(name="shop", model=ScriptedModel(), tools=[get_order], telemetry=False)


def _openai() -> Any:
    pytest.importorskip("agents.lifecycle")
    from agents import Agent, Runner, function_tool
    from openai_shop import ScriptedModel

    own = [function_tool(one) for one in TOOLS.values()]
    expert = Agent(name="expert", model=ScriptedModel(), tools=own)

    async def get_order(order_id: str) -> str:  # noqa: ARG001
        """Look up an order."""
        return str((await Runner.run(expert, TASK)).final_output)

    return Agent(name="shop", model=ScriptedModel(), tools=[function_tool(get_order)])


def _pydantic_ai() -> Any:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai_shop import model

    expert = Agent(model, name="expert", tools=list(TOOLS.values()))

    async def get_order(order_id: str) -> str:  # noqa: ARG001
        """Look up an order."""
        return str((await expert.run(TASK)).output)

    return Agent(model, name="shop", tools=[get_order])


def _llama_index() -> Any:
    pytest.importorskip("llama_index.core")
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.tools import FunctionTool
    from llama_index_shop import ScriptedLLM

    own = [FunctionTool.from_defaults(one, description="A tool.") for one in TOOLS.values()]
    expert = FunctionAgent(name="expert", llm=ScriptedLLM(), tools=own, streaming=False)

    async def get_order(order_id: str) -> str:  # noqa: ARG001
        """Look up an order."""
        return str(await expert.run(user_msg=TASK))

    asking = FunctionTool.from_defaults(async_fn=get_order, description="A tool.")
    return FunctionAgent(name="shop", llm=ScriptedLLM(), tools=[asking], streaming=False)


def smolagents_shop_of_agents() -> Any:
    """An agent of smolagents whose tool runs another agent."""
    from smolagents import ToolCallingAgent
    from smolagents_shop import ScriptedModel, ShopTool

    def get_order(order_id: str) -> str:  # noqa: ARG001
        """Look up an order."""
        expert = ToolCallingAgent([ShopTool(one) for one in TOOLS.values()], ScriptedModel(), name="expert")
        return str(expert.run(TASK))

    return ToolCallingAgent([ShopTool(get_order)], ScriptedModel(), name="shop")


def crewai_shop_of_agents() -> Any:
    """An agent of CrewAI whose tool runs another agent."""
    from crewai import Agent
    from crewai.tools import tool
    from crewai_shop import ScriptedLLM

    def agent(role: str, *tools: Any) -> Any:
        own = [tool(one) for one in tools]
        return Agent(role=role, goal="Sell.", backstory="Old.", llm=ScriptedLLM(), tools=own, cache=False)

    def get_order(order_id: str) -> str:  # noqa: ARG001
        """Look up an order."""
        return str(agent("expert", *TOOLS.values()).kickoff(TASK).raw)

    return agent("shop", get_order)


def _smolagents() -> Any:
    pytest.importorskip("smolagents")
    return f"smolagents:{__name__}:smolagents_shop_of_agents"


def _crewai() -> Any:
    pytest.importorskip("crewai")
    return f"crewai:{__name__}:crewai_shop_of_agents"


def _sync_agno() -> Any:
    pytest.importorskip("agno")
    from agno.agent import Agent
    from agno.models.response import ModelResponse
    from agno_shop import ScriptedModel

    class SyncModel(ScriptedModel):
        def invoke(self, *_: Any, **__: Any) -> ModelResponse:
            return ModelResponse(role="assistant", content="Order B-42 is cancelled.")

    expert = Agent(name="expert", model=SyncModel(), telemetry=False)

    def get_order(order_id: str) -> str:  # noqa: ARG001
        """Look up an order."""
        return str(expert.run(TASK).content)

    return Agent(name="shop", model=ScriptedModel(), tools=[get_order], telemetry=False)


UNRECORDED: list[Callable[[], Any]] = [_smolagents, _crewai, _sync_agno]
RECORDED: list[Callable[[], Any]] = [
    _strands,
    _sync_strands,
    _agent_framework,
    _agent_framework_as_tool,
    _agno,
    _openai,
    _pydantic_ai,
    _llama_index,
]
every_framework = pytest.mark.parametrize("make", RECORDED, ids=lambda make: make.__name__.strip("_"))


def with_environment(agent: Any, tool: str) -> Recording:
    """A conversation in which a tool is down."""
    down = {"injected_error": {"injected_http_error_code": 503, "error_message": "down"}}
    config = {"tool_simulation_configs": [{"tool_name": tool, "injection_configs": [down]}]}
    run = fairtrial.evaluate(saying(QUERY), agent, {"response_match_score": 0.0}, environment=config)
    return next(run.recordings)[1]


@every_framework
def test_the_work_of_an_agent_in_a_tool_is_inside_the_result_of_the_tool(make: Callable[[], Any]) -> None:
    """Its calls, its reply and its tokens; none of them twice."""
    one = recorded(make(), QUERY)
    assert one.failure is None, one.failure.traceback
    (turn,) = one.trace.invocations
    assert [call.name for call in turn.tool_calls] == ["get_order"]
    (result,) = [step for step in turn.steps or () if isinstance(step, ToolResult)]
    assert result.inner is not None
    (inner,) = result.inner.invocations
    assert [(call.name, call.author) for call in inner.tool_calls] == [
        ("get_order", "expert"),
        ("cancel_order", "expert"),
    ]
    results = [step.response for step in inner.steps or () if isinstance(step, ToolResult)]
    assert results == [{"item": "lamp", "state": "in preparation"}, {"cancelled": True}]
    assert (inner.reply, turn.reply) == ("Order B-42 is cancelled.", REPLY)
    assert (len(turn.usages or ()), len(inner.usages or ())) == (2, 3)


@every_framework
def test_a_forbidden_tool_of_an_agent_in_a_tool_is_found(make: Callable[[], Any]) -> None:
    """Its call is no call of the outer agent, but it happened."""
    case = EvalCase("one", (Invocation(Message(QUERY), (), Message(REPLY)),))
    options = {"threshold": 1.0, "forbidden_tools": ["cancel_order"], "optional_tools": ["get_order"]}
    run = fairtrial.evaluate(EvalSet("one", (case,)), make(), {"tool_trajectory_avg_score": options})
    assert run.verdict == "failed"
    assert "forbidden tool called: cancel_order" in run.report()


@every_framework
def test_the_answer_of_an_agent_in_a_tool_carries_an_attack(make: Callable[[], Any], tmp_path: Path) -> None:
    """It is a place of its own, and the agent that asked reads the text there."""
    store = f"sqlite:///{tmp_path}/runs.db"
    case = EvalCase("case", (Invocation(Message(QUERY), (), Message(REPLY)),))
    plan = plan_run(EvalSet("said", (case,)), make(), {"response_match_score": 0.0})
    choice = AttackChoice(("direct",), kinds=("exfiltrate",), places=("agent",), languages=("en",))
    run = execute(plan_attacks(plan, execute(plan, store=store), choice).plan, store=store)
    assert run.attacks is not None
    assert [row.name for row in run.attacks.rows if row.by == "place"] == ["agent"]
    assert (run.attacks.exposure.hits, run.attacks.exposure.attempts) == (1, 1)


@every_framework
def test_an_environment_reaches_an_agent_in_a_tool(make: Callable[[], Any]) -> None:
    """The real tool of the inner agent does not run."""
    one = with_environment(make(), "cancel_order")
    assert one.failure is None, one.failure.traceback
    (result,) = [step for step in one.trace.invocations[0].steps or () if isinstance(step, ToolResult)]
    assert result.inner is not None
    inner = [step for step in result.inner.invocations[0].steps or () if isinstance(step, ToolResult)]
    assert inner[1].response == {"error_code": 503, "error_message": "down"}


@pytest.mark.parametrize("make", UNRECORDED, ids=lambda make: make.__name__.strip("_"))
def test_work_that_is_not_recorded_gives_no_verdict(make: Callable[[], Any]) -> None:
    """Nobody knows which tools were called inside the tool, and for how many tokens."""
    case = EvalCase("one", (Invocation(Message(QUERY), (), Message(REPLY)),))
    criteria: dict[str, Any] = {
        "tool_trajectory_avg_score": {"threshold": 1.0, "forbidden_tools": ["sell"], "optional_tools": ["get_order"]},
        "token_usage_v1": {"threshold": 5000},
        "response_match_score": 0.9,
    }
    run = fairtrial.evaluate(EvalSet("one", (case,)), make(), criteria)
    values = {row["criterion"]: row["value"] for row in run.rows() if row["threshold"] is not None}
    assert values == {"tool_trajectory_avg_score": None, "token_usage_v1": None, "response_match_score": 1.0}


@pytest.mark.parametrize("make", UNRECORDED, ids=lambda make: make.__name__.strip("_"))
def test_an_environment_refuses_an_agent_that_it_does_not_reach(make: Callable[[], Any]) -> None:
    """Otherwise the real tools of the inner agent would run."""
    one = with_environment(make(), "cancel_order")
    assert one.failure is not None
    assert one.failure.side == "environment"
    assert "does not reach the tools of 'expert'" in one.failure.cause
