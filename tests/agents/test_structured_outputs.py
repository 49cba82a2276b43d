"""Structured answers are the reply as JSON, and not a call, in every framework."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from kinds import recorded
from shop import TOOLS

from fairtrial.records.trace import ToolCall, ToolResult

pytest.importorskip("pydantic", reason="no framework with structured answers is installed")
from pydantic import BaseModel

pytestmark = [
    pytest.mark.agents,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
ANSWER = {"item": "teapot", "is_shipped": True}
TEXT = json.dumps(ANSWER)


class Order(BaseModel):
    """The state of an order."""

    item: str
    is_shipped: bool


def strands_order() -> Any:
    """An agent of Strands, whose model answers by a call of the tool that Strands makes of the schema."""
    from strands import Agent, tool
    from strands_shop import ScriptedModel

    class Answering(ScriptedModel):
        async def stream(self, messages: Any, *args: Any, **more: Any) -> AsyncIterator[dict[str, Any]]:
            if not any("toolResult" in block for message in messages for block in message["content"]):
                async for event in super().stream(messages, *args, **more):
                    yield event
                return
            yield {"messageStart": {"role": "assistant"}}
            yield {"contentBlockStart": {"start": {"toolUse": {"name": "Order", "toolUseId": "order"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": TEXT}}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use"}}

    tools = [tool(one) for one in TOOLS.values()]
    return Agent(model=Answering(), name="shop", tools=tools, structured_output_model=Order, callback_handler=None)


def _strands() -> Any:
    pytest.importorskip("strands")
    return f"strands:{__name__}:strands_order"


def _openai() -> Any:
    pytest.importorskip("agents.lifecycle")
    from agents import Agent, function_tool
    from openai_shop import ScriptedModel, _text

    class Answering(ScriptedModel):
        async def get_response(self, system_instructions: Any, input: Any, *args: Any, **more: Any) -> Any:  # noqa: A002
            response = await super().get_response(system_instructions, input, *args, **more)
            if input[-1].get("type") == "function_call_output":
                response.output[:] = [_text(TEXT)]
            return response

    tools = [function_tool(one) for one in TOOLS.values()]
    return Agent(name="shop", model=Answering(), tools=tools, output_type=Order)


def _agent_framework() -> Any:
    pytest.importorskip("agent_framework")
    from agent_framework import Agent, ChatResponse, Message
    from agent_framework_shop import ScriptedClient

    class Answering(ScriptedClient):
        async def _inner_get_response(self, *, messages: Sequence[Any], **more: Any) -> ChatResponse:
            response = await super()._inner_get_response(messages=messages, **more)
            return ChatResponse(messages=[Message("assistant", [TEXT])]) if response.text else response

    return Agent(Answering(), name="shop", tools=list(TOOLS.values()), default_options={"response_format": Order})


def _agno() -> Any:
    pytest.importorskip("agno")
    from agno.agent import Agent
    from agno_shop import ScriptedModel

    class Answering(ScriptedModel):
        async def ainvoke(self, messages: Any, **more: Any) -> Any:
            response = await super().ainvoke(messages, **more)
            response.content = TEXT if response.content else None
            return response

    return Agent(name="shop", model=Answering(), tools=list(TOOLS.values()), output_schema=Order, telemetry=False)


def _llama_index() -> Any:
    pytest.importorskip("llama_index.core")
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.tools import FunctionTool
    from llama_index_shop import ScriptedLLM

    tools = [FunctionTool.from_defaults(one, description="A tool.") for one in TOOLS.values()]
    return FunctionAgent(
        name="shop", llm=ScriptedLLM(), tools=tools, structured_output_fn=lambda _: ANSWER, streaming=False
    )


def _claude() -> Any:
    pytest.importorskip("claude_agent_sdk")
    from anthropic_server import call, latest, message, shop, text
    from claude_shop import shop_with

    def script(body: dict[str, Any]) -> Any:
        _, results = latest(body)
        if not results:
            return shop(body)
        answers = [text("I write it."), call("StructuredOutput", ANSWER, "order")]
        return message(*answers) if len(results) == 1 else message(text("Written."))

    schema = {"type": "json_schema", "schema": Order.model_json_schema()}
    globals()["claude_order"] = shop_with(script, output_format=schema)
    return f"claude:{__name__}:claude_order"


def _crew(written: str, **output: Any) -> Any:
    """A crew of CrewAI whose model writes an order among other words, and whose task has a schema."""
    pytest.importorskip("crewai")
    from crewai import Agent, Crew, Task
    from crewai.tools import tool
    from crewai_shop import ScriptedLLM

    class Answering(ScriptedLLM):
        def answer(self, messages: Any) -> Any:
            response = super().answer(messages)
            return f"Final Answer: {written}" if response.startswith("Final Answer") else response

    def crew_order() -> Any:
        tools = [tool(one) for one in TOOLS.values()]
        agent = Agent(role="shop", goal="Sell.", backstory="x", llm=Answering(), tools=tools, cache=False)
        task = Task(description="{message}", expected_output="an order", agent=agent, **output)
        return Crew(agents=[agent], tasks=[task])

    globals()["crew_order"] = crew_order
    return f"crewai:{__name__}:crew_order"


def _crewai_pydantic() -> Any:
    return _crew(f"Here it is: {TEXT} Bye.", output_pydantic=Order)


def _crewai_json() -> Any:
    return _crew(f"```json\n{TEXT}\n```", output_json=Order)


def _crewai_plain() -> Any:
    return _crew(TEXT, output_pydantic=Order)


def _crewai_flow() -> Any:
    pytest.importorskip("crewai")
    from crewai.flow.flow import Flow, start

    class OrderFlow(Flow):  # type: ignore[misc]
        @start()  # type: ignore[untyped-decorator]
        def answer(self) -> Any:
            crew = _crew(f"Here it is: {TEXT}", output_pydantic=Order)
            assert crew
            return globals()["crew_order"]().kickoff(inputs={"message": "Where is A-17?"})

    globals()["flow_order"] = OrderFlow
    return f"crewai:{__name__}:flow_order"


FRAMEWORKS = [_strands, _openai, _agent_framework, _agno, _llama_index, _claude]
FRAMEWORKS += [_crewai_pydantic, _crewai_json, _crewai_plain, _crewai_flow]


@pytest.mark.parametrize("make", FRAMEWORKS, ids=lambda make: make.__name__.strip("_"))
def test_a_structured_answer_is_the_reply(make: Callable[[], Any]) -> None:
    """It is JSON, and the calls are those of the tools."""
    one = recorded(make(), "Where is A-17?")
    assert one.failure is None, one.failure.traceback
    (turn,) = one.trace.invocations
    assert json.loads(turn.reply) == ANSWER
    kinds = [(type(step), step.name) for step in turn.steps or () if isinstance(step, ToolCall | ToolResult)]
    assert kinds == [(ToolCall, "get_order"), (ToolResult, "get_order")]
    assert turn.about is not None
    assert [sorted(agent.tool_names) for agent in turn.about.agents] == [["cancel_order", "get_order"]]
