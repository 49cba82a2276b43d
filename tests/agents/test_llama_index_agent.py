"""LlamaIndex agents are recorded whole."""

from __future__ import annotations

from typing import Any

import pytest
from kinds import recorded
from shop import CRITERIA, get_order, saying

import fairtrial
from fairtrial.records.case import EvalCase, SessionInput
from fairtrial.records.trace import Thought, ToolCall, ToolResult, Usage

pytestmark = pytest.mark.agents
pytest.importorskip("llama_index.core")

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent, ReActAgent  # noqa: E402
from llama_index.core.base.llms.types import ChatMessage, ChatResponse  # noqa: E402
from llama_index.core.memory import ChatMemoryBuffer  # noqa: E402
from llama_index.core.tools import FunctionTool  # noqa: E402
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent  # noqa: E402
from llama_index_shop import ScriptedLLM, agent  # noqa: E402

TARGET = "llama-index:llama_index_shop:agent"


def shop_with(llm: Any, **options: Any) -> Any:
    """An agent with a model."""
    return FunctionAgent(name="shop", llm=llm, streaming=False, **options)


def test_state_goes_in_and_comes_out() -> None:
    """The initial state is that of the context; tools change it, and thoughts and tokens are recorded."""
    one = recorded(TARGET, "visit", "visit again", session=SessionInput(state={"name": "Kim"}))
    first, second = one.trace.invocations
    assert one.trace.final_state == {"name": "Kim", "visits": 2}
    assert first.steps is not None
    assert first.steps[0] == Thought("Who is it?", "shop")
    assert isinstance(first.steps[2], ToolResult)
    assert first.steps[2].response == "Kim is here."
    assert second.usages == (Usage(10, 5, model="scripted"),) * 2


def test_the_model_sees_the_conversation() -> None:
    """The memory of the context keeps the earlier messages."""
    seen: list[list[str]] = []

    class Seeing(ScriptedLLM):
        def answer(self, messages: Any) -> Any:
            seen.append([str(message.content) for message in messages])
            return super().answer(messages)

    recorded(shop_with(Seeing()), "one", "two")
    assert seen == [["one"], ["one", "You said: one", "two"]]


def test_a_factory_gives_the_memory() -> None:
    """What stands in it is known to the model."""
    seen: list[str] = []

    class Seeing(ScriptedLLM):
        def answer(self, messages: Any) -> Any:
            seen.extend(str(message.content) for message in messages)
            return super().answer(messages)

    def make(case: EvalCase) -> Any:
        memory = ChatMemoryBuffer.from_defaults([ChatMessage(role="user", content=f"I am {case.id}.")])
        return shop_with(Seeing()), {"memory": memory}

    globals()["make"] = make
    run = fairtrial.evaluate(saying("hello", name="Kim"), f"llama-index:{__name__}:make", CRITERIA)
    ((_, recording),) = run.recordings
    assert recording.failure is None, recording.failure.traceback
    assert seen == ["I am Kim.", "hello"]


async def cancel_if_sure(ctx: Context, order_id: str) -> str:
    """Cancel an order."""
    question = InputRequiredEvent(prefix=f"Cancel {order_id}?", user_name="Kim")
    answer = await ctx.wait_for_event(
        HumanResponseEvent, waiter_id="sure", waiter_event=question, requirements={"user_name": "Kim"}
    )
    return f"Kim says {answer.response}."


# LlamaIndex does not read annotations that are texts.
cancel_if_sure.__annotations__ |= {"ctx": Context, "order_id": str}
ASKING_TOOLS = [get_order, FunctionTool.from_defaults(async_fn=cancel_if_sure, name="cancel_order")]


def test_a_tool_that_asks_the_user_gets_the_next_message() -> None:
    """The question is the reply, and the call has one result."""
    recording = recorded(shop_with(ScriptedLLM(), tools=ASKING_TOOLS), "Cancel B-42", "sure", "thanks")
    assert recording.failure is None, recording.failure.traceback
    asked, answered, last = recording.trace.invocations
    assert asked.reply == "Cancel B-42?"
    results = [step for step in answered.steps or () if isinstance(step, ToolResult)]
    assert [(result.name, result.response) for result in results] == [("cancel_order", "Kim says sure.")]
    assert (answered.reply, last.reply) == ("Order B-42 is cancelled.", "You said: thanks")


def test_a_conversation_may_end_while_a_tool_waits() -> None:
    """Nothing hangs, and the question is the last reply."""
    (invocation,) = recorded(shop_with(ScriptedLLM(), tools=ASKING_TOOLS), "Cancel B-42").trace.invocations
    assert invocation.reply == "Cancel B-42?"


def test_agents_hand_over() -> None:
    """The handover is a call, and each agent is known with its own tools."""

    class Clerk(ScriptedLLM):
        def answer(self, messages: Any) -> Any:
            return super().answer([message for message in messages if "is now handling" not in str(message.content)])

    class Desk(ScriptedLLM):
        def answer(self, messages: Any) -> Any:  # noqa: ARG002
            reply = super().answer([ChatMessage(role="user", content="Where is A-17?")])
            block = reply.message.blocks[-1]
            block.tool_name, block.tool_kwargs = "handoff", {"to_agent": "shop", "reason": "orders"}
            return reply

    desk = FunctionAgent(name="desk", description="Greets.", llm=Desk(), streaming=False, can_handoff_to=["shop"])
    shop = FunctionAgent(name="shop", description="Sells.", llm=Clerk(), streaming=False, tools=[get_order])
    recording = recorded(AgentWorkflow(agents=[desk, shop], root_agent="desk"), "Where is A-17?")
    assert recording.failure is None, recording.failure.traceback
    (invocation,) = recording.trace.invocations
    assert [(call.name, call.author) for call in invocation.tool_calls or ()] == [
        ("handoff", "desk"),
        ("get_order", "shop"),
    ]
    assert invocation.about is not None
    assert [(one.name, one.tool_names) for one in invocation.about.agents] == [
        ("desk", ("handoff",)),
        ("shop", ("get_order", "handoff")),
    ]
    assert invocation.reply == "Your teapot is shipped."


def test_an_agent_that_writes_its_calls_has_thoughts() -> None:
    """The text before a call is a thought of ReAct, and the reply is what follows `Answer:`."""
    texts = iter(
        [
            'Thought: I look.\nAction: get_order\nAction Input: {"order_id": "A-17"}',
            "Thought: I know it.\nAnswer: Your teapot is shipped.",
        ]
    )

    class Writing(ScriptedLLM):
        async def achat(self, messages: Any, **_: Any) -> Any:  # noqa: ARG002
            return ChatResponse(message=ChatMessage(role="assistant", content=next(texts)))

    shop = ReActAgent(name="shop", llm=Writing(), tools=[get_order], streaming=False)
    recording = recorded(shop, "Where is A-17?")
    assert recording.failure is None, recording.failure.traceback
    (invocation,) = recording.trace.invocations
    thought, call, result = invocation.steps or ()
    assert isinstance(thought, Thought)
    assert isinstance(call, ToolCall)
    assert isinstance(result, ToolResult)
    assert (call.args, result.id) == ({"order_id": "A-17"}, call.id)
    assert invocation.reply == "Your teapot is shipped."


def test_the_agent_itself_is_not_changed() -> None:
    """After a run, the agent has the tools and the steps that it had."""
    before = list(agent.tools)
    recorded(agent, "Where is A-17?")
    assert agent.tools == before
    assert {"get_tools", "take_step"}.isdisjoint(vars(agent))
