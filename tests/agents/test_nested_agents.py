"""Tokens of agents that work inside a tool of another agent are counted."""

from __future__ import annotations

from typing import Any

import pytest
from kinds import recorded
from shop import PROMPT_TOKENS, REPLY_TOKENS, TOOLS

from fairtrial.records.trace import ToolResult, Usage

pytestmark = [
    pytest.mark.agents,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def totals(agent: Any, *queries: str) -> list[tuple[int, int]]:
    """The requests and tokens of each turn."""
    one = recorded(agent, *queries)
    assert one.failure is None, one.failure.traceback
    usages = [turn.all_usages or () for turn in one.trace.invocations]
    return [(len(turn), sum(usage.total_tokens or 0 for usage in turn)) for turn in usages]


def test_an_agent_as_a_tool_of_the_openai_agents_sdk() -> None:
    """Two requests of the outer agent and one of the inner agent, in each turn."""
    pytest.importorskip("agents.lifecycle")
    from agents import Agent, ModelResponse
    from agents import Usage as Tokens
    from openai_shop import ScriptedModel, _call, _text

    class Asking(ScriptedModel):
        async def get_response(self, *_: Any, **options: Any) -> Any:
            is_answered = options["input"][-1].get("type") == "function_call_output"
            output = _text("Done.") if is_answered else _call("expert", {"input": "hello"})
            return ModelResponse([output], Tokens(1, 10, output_tokens=5, total_tokens=15), None)

    expert = Agent(name="expert", model=ScriptedModel()).as_tool("expert", "Knows all.")
    assert totals(Agent(name="shop", model=Asking(), tools=[expert]), "one", "two") == [(3, 45)] * 2


def test_the_default_model_of_the_openai_agents_sdk_has_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that names no model uses the SDK's."""
    pytest.importorskip("agents.lifecycle")
    from agents import Agent, models
    from agents.models.multi_provider import MultiProvider
    from openai_shop import ScriptedModel

    monkeypatch.setattr(MultiProvider, "get_model", lambda *_: ScriptedModel())
    (turn,) = recorded(Agent(name="shop"), "hello").trace.invocations
    assert turn.usages == (Usage(PROMPT_TOKENS, REPLY_TOKENS, 0, 0, models.get_default_model()),)


def test_delegation_in_pydantic_ai() -> None:
    """A tool that runs another agent with the usage of its own run."""
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent, RunContext
    from pydantic_ai_shop import model

    expert = Agent(model)

    async def get_order(context: RunContext[None], order_id: str) -> str:
        await expert.run(f"about {order_id[:1]}", usage=context.usage)
        return (await expert.run("again", usage=context.usage)).output

    get_order.__annotations__["context"] = RunContext[None]
    assert totals(Agent(model, name="shop", tools=[get_order]), "Where is A-17?", "hello") == [(4, 60), (1, 15)]


def test_an_agent_tool_of_adk() -> None:
    """The inner agent runs in a session of its own."""
    pytest.importorskip("google.adk")
    from adk_shop.agent import ScriptedLlm
    from google.adk.agents import Agent
    from google.adk.models.llm_response import LlmResponse
    from google.adk.tools.agent_tool import AgentTool
    from google.genai import types

    class Asking(ScriptedLlm):
        async def generate_content_async(self, llm_request: Any, *_: Any, **__: Any) -> Any:
            last = llm_request.contents[-1].parts[-1]
            call = types.FunctionCall(name="expert", args={"request": "Cancel B-42, please."})
            part = types.Part(text="Done.") if last.function_response else types.Part(function_call=call)
            usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=10, candidates_token_count=5)
            yield LlmResponse(content=types.Content(role="model", parts=[part]), usage_metadata=usage)

    expert = Agent(name="expert", model=ScriptedLlm(model="scripted"), tools=list(TOOLS.values()))
    agent = Agent(name="shop", model=Asking(model="scripted"), tools=[AgentTool(expert)])
    assert totals(agent, "one", "two") == [(5, 75)] * 2
    (turn,) = recorded(agent, "one").trace.invocations
    (result,) = [step for step in turn.steps or () if isinstance(step, ToolResult)]
    assert result.inner is not None
    (inner,) = result.inner.invocations
    assert [(call.name, call.author) for call in inner.tool_calls] == [
        ("get_order", "expert"),
        ("cancel_order", "expert"),
    ]
    assert [step.response for step in inner.steps or () if isinstance(step, ToolResult)][1] == {"cancelled": True}
    assert (inner.reply, turn.reply) == ("Order B-42 is cancelled.", "Done.")
    assert len(turn.usages or ()) == 2


def test_an_agent_in_a_tool_of_langchain() -> None:
    """The callbacks reach the inner agent."""
    pytest.importorskip("langgraph.graph")
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langgraph_shop import ScriptedChat

    expert = create_agent(ScriptedChat(), tools=[])

    async def get_order(order_id: str) -> str:
        """Look up an order."""
        answer = await expert.ainvoke({"messages": [("user", f"about {order_id[:1]}")]})
        return str(answer["messages"][-1].text)

    agent = create_agent(ScriptedChat(), tools=[tool(get_order)])
    assert totals(agent, "Where is A-17?", "hello") == [(3, 45), (1, 15)]
