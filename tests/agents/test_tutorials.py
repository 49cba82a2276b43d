"""Programs in the shape that the makers of frameworks teach are recorded and scored right, or refused in words."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from kinds import recorded
from shop import TOOLS, cancel_order, get_order

from fairtrial.errors import UsageError
from fairtrial.records.trace import Invocation, ToolCall, ToolResult

pytestmark = [
    pytest.mark.agents,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
ANSWER = {"item": "teapot", "is_shipped": True}
QUERY = "Where is A-17?"


def record_turn(target: Any, query: str = QUERY, **options: Any) -> Invocation:
    """The only turn of a conversation without a failure, of which nothing is missing."""
    one = recorded(target, query, **options)
    assert one.failure is None, one.failure.traceback
    assert one.trace.incomplete == ""
    (turn,) = one.trace.invocations
    return turn


def calls(turn: Invocation) -> list[tuple[str, str]]:
    """The calls of a turn, each behind its author."""
    return [(step.author, step.name) for step in turn.steps or () if isinstance(step, ToolCall)]


def tokens(turn: Invocation) -> int:
    """The tokens of all requests."""
    return sum(usage.total_tokens or 0 for usage in turn.usages or ())


def strands_hook() -> Any:
    """An agent of Strands whose hook asks before a tool runs."""
    from strands import Agent, tool
    from strands.hooks import BeforeToolCallEvent
    from strands_shop import ScriptedModel

    def approve(event: Any) -> None:
        if event.tool_use["name"] == "cancel_order" and event.interrupt("approval", reason="Cancel it?") != "yes":
            event.cancel_tool = "The user said no."

    tools = [tool(one) for one in TOOLS.values()]
    agent = Agent(model=ScriptedModel(), name="shop", tools=tools, callback_handler=None)
    agent.hooks.add_callback(BeforeToolCallEvent, approve)
    return agent


@pytest.mark.parametrize(("answer", "is_error"), [("yes", False), ("no", True)])
def test_a_hook_of_strands_asks_before_a_tool_runs(answer: str, is_error: bool) -> None:
    """The reason of the interrupt is the reply, and the next message decides."""
    pytest.importorskip("strands")
    one = recorded(f"strands:{__name__}:strands_hook", "Cancel B-42, please.", answer)
    assert one.failure is None, one.failure.traceback
    first, second = one.trace.invocations
    assert first.reply == "Cancel it?"
    (result,) = [step for step in second.steps or () if isinstance(step, ToolResult) and step.name == "cancel_order"]
    assert result.is_error is is_error
    assert (result.response == {"cancelled": True}) is not is_error


def _adk_agent(name: str, **options: Any) -> Any:
    from adk_shop.agent import ScriptedLlm
    from google.adk.agents import Agent

    return Agent(name=name, model=ScriptedLlm(model="scripted"), **options)


def _adk_writer(text: str) -> Any:
    """A model that always writes the same."""
    from adk_shop.agent import ScriptedLlm
    from google.adk.models.llm_response import LlmResponse
    from google.genai import types

    class Writer(ScriptedLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:  # noqa: ARG002
            yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))

    return Writer(model="scripted")


def _adk_sequence() -> Any:
    from google.adk.agents import Agent, SequentialAgent

    clerk = _adk_agent("clerk", tools=[get_order, cancel_order])
    polite = Agent(name="polite", model=_adk_writer("I am polite."))
    return SequentialAgent(name="line", sub_agents=[clerk, polite])


def _adk_loop() -> Any:
    from google.adk.agents import LoopAgent

    return LoopAgent(name="line", max_iterations=2, sub_agents=[_adk_agent("clerk", tools=[get_order])])


def _adk_parallel() -> Any:
    from google.adk.agents import ParallelAgent

    agents = [_adk_agent(name, tools=[get_order]) for name in ("clerk", "other")]
    return ParallelAgent(name="line", sub_agents=agents)


@pytest.mark.parametrize(
    ("make", "authors", "requests"),
    [(_adk_sequence, ["clerk"], 2), (_adk_loop, ["clerk"], 3), (_adk_parallel, ["clerk", "other"], 4)],
    ids=["sequence", "loop", "parallel"],
)
def test_workflow_agents_of_adk_are_recorded(make: Callable[[], Any], authors: list[str], requests: int) -> None:
    """Each call has the agent that made it as author, and every request is counted."""
    pytest.importorskip("google.adk")
    turn = record_turn(make())
    assert sorted(calls(turn)) == [(author, "get_order") for author in authors]
    assert turn.usages is not None
    assert len(turn.usages) == requests


def _model_of_order() -> Any:
    from pydantic import BaseModel

    class Order(BaseModel):
        """The state of an order."""

        item: str
        is_shipped: bool

    return Order


def test_the_output_schema_of_adk_gives_the_reply() -> None:
    """The reply of an agent without tools is the JSON that its model writes."""
    pytest.importorskip("google.adk")
    from google.adk.agents import Agent

    model = _adk_writer(json.dumps(ANSWER))
    agent = Agent(name="shop", model=model, output_schema=_model_of_order(), output_key="order")
    one = recorded(agent, QUERY)
    assert one.failure is None, one.failure.traceback
    assert json.loads(one.trace.invocations[0].reply or "") == ANSWER
    assert (one.trace.final_state or {})["order"] == ANSWER


def genai_order() -> Any:
    """A chat of the Gen AI SDK whose answer has a schema."""
    from genai_shop import make_client, scripted
    from google.genai import types

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        response = scripted(request)
        parts = response["candidates"][0]["content"]["parts"]
        if not any("functionCall" in part for part in parts):
            parts[:] = [{"text": json.dumps(ANSWER)}]
        return response

    config = types.GenerateContentConfig(
        tools=[get_order], response_mime_type="application/json", response_schema=_model_of_order()
    )
    return make_client(answer).chats.create(model="scripted", config=config)


def test_the_schema_of_a_chat_of_genai_gives_the_reply() -> None:
    """It is JSON, beside the calls of the tools."""
    pytest.importorskip("google.genai")
    turn = record_turn(f"google-genai:{__name__}:genai_order")
    assert json.loads(turn.reply or "") == ANSWER
    assert [name for _, name in calls(turn)] == ["get_order"]


def smolagents_order() -> Any:
    """An agent of smolagents whose final answer is an object."""
    from smolagents import CodeAgent
    from smolagents.models import ChatMessage, MessageRole
    from smolagents_shop import ScriptedModel, ShopTool

    class Writing(ScriptedModel):
        def generate(self, *_: Any, **__: Any) -> Any:
            text = f'<code>\nget_order(order_id="A-17")\nfinal_answer({ANSWER!r})\n</code>'
            return ChatMessage(MessageRole.ASSISTANT, text)

    return CodeAgent([ShopTool(get_order)], Writing(), name="shop", description="Sells.")


def test_an_object_is_the_final_answer_of_smolagents() -> None:
    """It is the reply as JSON, and no call."""
    pytest.importorskip("smolagents")
    turn = record_turn(f"smolagents:{__name__}:smolagents_order")
    assert json.loads(turn.reply or "") == ANSWER
    assert [name for _, name in calls(turn)] == ["get_order"]


def crew_with_manager() -> Any:
    """A crew of CrewAI whose manager gives the work to a clerk."""
    from crewai import Agent, Crew, Process, Task
    from crewai.tools import tool
    from crewai_shop import ScriptedLLM

    class Manager(ScriptedLLM):
        requests: int = 0

        def answer(self, messages: Any) -> Any:  # noqa: ARG002
            self.requests += 1
            if self.requests > 1:
                return "Final Answer: It is shipped."
            task = {"task": QUERY, "context": "none", "coworker": "clerk"}
            return f"Thought: The clerk knows.\nAction: delegate_work_to_coworker\nAction Input: {json.dumps(task)}"

    tools = [tool(one) for one in TOOLS.values()]
    clerk = Agent(role="clerk", goal="Look up.", backstory="x", llm=ScriptedLLM(), tools=tools, cache=False)
    manager = Agent(role="manager", goal="Lead.", backstory="x", llm=Manager(), allow_delegation=True, cache=False)
    task = Task(description="{message}", expected_output="an answer")
    return Crew(agents=[clerk], tasks=[task], process=Process.hierarchical, manager_agent=manager)


def test_the_coworkers_of_a_crew_are_recorded() -> None:
    """The call of the clerk is a call of the conversation, beside the delegation."""
    pytest.importorskip("crewai")
    turn = record_turn(f"crewai:{__name__}:crew_with_manager")
    assert turn.reply == "It is shipped."
    assert ("clerk", "get_order") in calls(turn)
    assert tokens(turn) == 60


def llama_index_workflow() -> Any:
    """A workflow of LlamaIndex with a step of its own."""
    from llama_index.core.workflow import StartEvent, StopEvent, Workflow, step

    class Shop(Workflow):  # type: ignore[misc, unused-ignore]
        """Answers in one step."""

        @step  # type: ignore[untyped-decorator, unused-ignore]
        async def answer(self, ev: StartEvent) -> StopEvent:
            return StopEvent(result=f"You said: {ev.topic}")

    return Shop(timeout=10)


def test_a_workflow_of_own_steps_of_llama_index_is_refused() -> None:
    """Nothing runs, and the words name what would be taken."""
    pytest.importorskip("llama_index.core")
    with pytest.raises(UsageError, match="an agent or an AgentWorkflow of LlamaIndex"):
        recorded(f"llama-index:{__name__}:llama_index_workflow", QUERY)


def test_a_workflow_of_own_steps_is_recorded_in_a_function() -> None:
    """A step of a workflow of LlamaIndex runs an agent, whose calls stand in the spans."""
    pytest.importorskip("openinference.instrumentation.llama_index")
    pytest.importorskip("opentelemetry.proto")
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.tools import FunctionTool
    from llama_index.core.workflow import StartEvent, StopEvent, Workflow, step
    from llama_index_shop import ScriptedLLM

    class Shop(Workflow):  # type: ignore[misc, unused-ignore]
        """Asks a clerk in its only step."""

    async def answer(ev: Any) -> Any:
        tools = [FunctionTool.from_defaults(one, description="A tool.") for one in (get_order, cancel_order)]
        clerk = FunctionAgent(name="clerk", llm=ScriptedLLM(), tools=tools, streaming=False)
        return StopEvent(result=str(await clerk.run(ev.topic)))

    # The workflow does not read annotations that are texts.
    answer.__annotations__ = {"ev": StartEvent, "return": StopEvent}
    step(workflow=Shop)(answer)

    async def ask(query: str) -> str:
        return str(await Shop(timeout=10).run(topic=query))

    turn = record_turn(ask, record="spans")
    assert turn.reply.strip() == "Your teapot is shipped."
    assert [name for _, name in calls(turn)] == ["get_order"]


def test_a_graph_of_pydantic_ai_is_recorded_in_a_function() -> None:
    """The agents that its nodes run write spans."""
    pytest.importorskip("pydantic_ai")
    pytest.importorskip("opentelemetry.proto")
    from pydantic_ai import Agent
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai_shop import scripted
    from pydantic_graph import GraphBuilder, StepContext

    builder: Any = GraphBuilder(input_type=str, output_type=str)

    async def look(ctx: Any) -> str:
        agent: Any = Agent(FunctionModel(scripted), name="clerk", tools=[get_order, cancel_order])
        return str((await agent.run(ctx.inputs)).output)

    async def say(ctx: Any) -> str:
        agent: Any = Agent(FunctionModel(scripted), name="polite")
        return str((await agent.run(f"Politely: {ctx.inputs}")).output)

    # The builder does not read annotations that are texts.
    context: Any = StepContext
    for step in (look, say):
        step.__annotations__ = {"ctx": context[None, None, str], "return": str}
    first, second = builder.step(look), builder.step(say)
    builder.add_edge(builder.start_node, first)
    builder.add_edge(first, second)
    builder.add_edge(second, builder.end_node)
    graph = builder.build()

    async def ask(query: str) -> str:
        return str(await graph.run(inputs=query))

    turn = record_turn(ask, record="spans")
    assert turn.reply == "You said: Politely: Your teapot is shipped."
    assert calls(turn) == [("clerk", "get_order")]
    assert tokens(turn) == 45


def test_a_runner_of_adk_is_recorded_in_a_function() -> None:
    """ADK writes spans of its own."""
    pytest.importorskip("google.adk")
    pytest.importorskip("opentelemetry.proto")
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    async def ask(query: str) -> str:
        runner = InMemoryRunner(agent=_adk_agent("clerk", tools=[get_order, cancel_order]), app_name="shop")
        session = await runner.session_service.create_session(app_name="shop", user_id="kim")
        message = types.Content(role="user", parts=[types.Part(text=query)])
        texts = [
            part.text
            async for event in runner.run_async(user_id="kim", session_id=session.id, new_message=message)
            for part in (event.content.parts if event.content else ())
            if part.text
        ]
        return str(texts[-1])

    turn = record_turn(ask, record="spans")
    assert turn.reply == "Your teapot is shipped."
    assert [name for _, name in calls(turn)] == ["get_order"]
    assert tokens(turn) == 30
