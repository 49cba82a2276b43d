"""Agents of smolagents are recorded whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from chat_server import ChatServer, completion
from kinds import recorded
from shop import CRITERIA, get_order, saying

import fairtrial
from fairtrial.errors import UsageError
from fairtrial.records.case import EvalCase, SessionInput
from fairtrial.records.trace import Message, Thought, ToolCall, ToolResult, Usage

pytestmark = pytest.mark.agents
pytest.importorskip("smolagents")

from smolagents import CodeAgent, OpenAIModel, ToolCallingAgent  # noqa: E402
from smolagents.models import ChatMessage, MessageRole  # noqa: E402
from smolagents_shop import ScriptedModel, ShopTool, shop  # noqa: E402

TARGET = "smolagents:smolagents_shop:shop"


def recorded_with(make: Any, *queries: str, **options: Any) -> Any:
    """What is recorded with agents that a function makes."""
    globals()["make"] = make
    recording = recorded(f"smolagents:{__name__}:make", *queries, **options)
    assert recording.failure is None, recording.failure.traceback
    return recording


def test_state_goes_in_and_comes_out() -> None:
    """The initial state is that of the agent; tools change it, and texts and tokens are recorded."""
    one = recorded(TARGET, "visit", "visit again", session=SessionInput(state={"name": "Kim"}))
    first, second = one.trace.invocations
    assert one.trace.final_state == {"name": "Kim", "visits": 2}
    assert first.steps is not None
    assert first.steps[0] == Message("Who is it?", "shop")
    assert isinstance(first.steps[2], ToolResult)
    assert first.steps[2].response == "Kim is here."
    assert second.usages == (Usage(10, 5, model="scripted"),) * 2


def test_a_factory_gives_arguments_of_the_run() -> None:
    """They stand in the state, and an agent without a name is recorded as `agent`."""

    def make(case: EvalCase) -> Any:
        return ToolCallingAgent([ShopTool(get_order)], ScriptedModel()), {"additional_args": {"shop": case.id}}

    globals()["make"] = make
    run = fairtrial.evaluate(saying("Where is A-17?", name="corner"), f"smolagents:{__name__}:make", CRITERIA)
    ((_, recording),) = run.recordings
    assert recording.failure is None, recording.failure.traceback
    assert recording.trace.final_state == {"shop": "corner"}
    results = [step for step in recording.trace.invocations[0].steps or () if isinstance(step, ToolResult)]
    assert [(result.response, result.author) for result in results] == [
        ({"item": "teapot", "state": "shipped"}, "agent")
    ]


def test_a_call_of_an_unknown_tool_has_its_refusal_as_result() -> None:
    """The agent remembers it as the error of its step."""

    class Giving(ScriptedModel):
        calls = 0

        def generate(self, messages: Any, *args: Any, **options: Any) -> Any:
            self.calls += 1
            if self.calls > 2:
                return super().generate([ChatMessage(MessageRole.USER, [{"text": "New task:\nhello"}])])
            return super().generate(messages, *args, **options)

    def make() -> Any:
        return ToolCallingAgent([ShopTool(get_order)], Giving(), name="shop", description="Sells.")

    (invocation,) = recorded_with(make, "Cancel B-42").trace.invocations
    results = [step for step in invocation.steps or () if isinstance(step, ToolResult)]
    assert [(result.name, result.is_error) for result in results] == [("get_order", False), ("cancel_order", True)]
    assert "Unknown tool cancel_order" in str(results[1].response)


def test_the_calls_of_code_are_recorded() -> None:
    """A CodeAgent calls its tools in the code that its model writes. The text of the model is a thought."""
    text = (
        'Thought: I look.\n<code>\norder = get_order(order_id="A-17")\nfinal_answer("It is " + order["state"])\n</code>'
    )

    class Writing(ScriptedModel):
        def generate(self, *_: Any, **__: Any) -> Any:
            return ChatMessage(MessageRole.ASSISTANT, text)

    def make() -> Any:
        return CodeAgent([ShopTool(get_order)], Writing(), name="shop", description="Sells.")

    (invocation,) = recorded_with(make, "Where is A-17?").trace.invocations
    thought, call, result = invocation.steps
    assert thought == Thought(text, "shop")
    assert isinstance(call, ToolCall)
    assert isinstance(result, ToolResult)
    assert (call.name, call.args, result.id) == ("get_order", {"order_id": "A-17"}, call.id)
    assert invocation.reply == "It is shipped"


def test_a_managed_agent_is_recorded_too() -> None:
    """The call of the managed agent has its report as result, and the calls inside have its name."""

    class Asking(ScriptedModel):
        def generate(self, messages: Any, *args: Any, **options: Any) -> Any:
            reply = super().generate(messages, *args, **options)
            (call,) = reply.tool_calls
            if call.function.name == "get_order":
                call.function.name, call.function.arguments = "shop", {"task": "Where is A-17?"}
            return reply

    class Managed(ScriptedModel):
        def generate(self, messages: Any, *args: Any, **options: Any) -> Any:
            texts = [
                ChatMessage(message.role, [{"text": "New task:\nA-17"}]) if "A-17" in str(message.content) else message
                for message in messages
                if message.role != MessageRole.SYSTEM
            ]
            kept = [texts[0], *(each for each in texts if each.role == MessageRole.TOOL_RESPONSE)]
            kept[1:] = [ChatMessage(MessageRole.TOOL_RESPONSE, [{"text": "done"}])] * (len(kept) - 1)
            return super().generate(kept, *args, **options)

    def make() -> Any:
        managed = ToolCallingAgent([ShopTool(get_order)], Managed(), name="shop", description="Sells.")
        return ToolCallingAgent([], Asking(), name="desk", description="Greets.", managed_agents=[managed])

    (invocation,) = recorded_with(make, "Where is A-17?").trace.invocations
    assert [(call.name, call.author) for call in invocation.tool_calls or ()] == [
        ("shop", "desk"),
        ("get_order", "shop"),
    ]
    results = {step.name: step for step in invocation.steps or () if isinstance(step, ToolResult)}
    assert "Your teapot is shipped." in str(results["shop"].response)
    assert invocation.about is not None
    assert [(one.name, one.tool_names) for one in invocation.about.agents] == [
        ("desk", ("shop",)),
        ("shop", ("get_order",)),
    ]


def test_an_agent_without_a_function_is_refused() -> None:
    """Conversations would mix in it."""
    with pytest.raises(UsageError, match="each conversation needs an agent of its own"):
        recorded(shop(), "hello")


def asking(name: str, args: dict[str, Any], text: str = "") -> dict[str, Any]:
    """Return an answer of a chat model with a call, and with a text if it has one."""
    function = {"name": name, "arguments": json.dumps(args)}
    calls = [{"id": f"call-{name}", "type": "function", "function": function}]
    return {"role": "assistant", "content": text or None, "tool_calls": calls}


REPLY = "Your teapot is shipped."
CODES = ('Thought: I look.\n<code>\nprint(get_order(order_id="A-17"))\n', f'<code>\nfinal_answer("{REPLY}")\n')


@pytest.mark.parametrize(
    ("agent", "answers"),
    [
        (ToolCallingAgent, [asking("get_order", {"order_id": "A-17"}), asking("final_answer", {"answer": REPLY})]),
        (
            ToolCallingAgent,
            [asking("get_order", {"order_id": "A-17"}, "I look."), asking("final_answer", {"answer": REPLY})],
        ),
        (CodeAgent, [{"role": "assistant", "content": f"{code}</code>"} for code in CODES]),
        (CodeAgent, [{"role": "assistant", "content": code} for code in CODES]),
    ],
    ids=["a call", "a text and a call", "code", "code that the stop sequence ends"],
)
def test_the_calls_that_a_request_repeats_as_text_are_not_missing(agent: Any, answers: list[Any]) -> None:
    """With a model of a provider, spans hold each call in an answer and in the text of the next request."""
    pytest.importorskip("openinference.instrumentation.smolagents")
    waiting = iter(answers)
    with ChatServer(lambda _: completion(next(waiting))) as server:

        def ask(query: str) -> str:
            model = OpenAIModel("scripted", api_base=server.url, api_key="none")
            return str(agent([ShopTool(get_order)], model).run(query))

        run = fairtrial.evaluate(saying("Where is A-17?"), ask, {"tool_trajectory_avg_score": 1.0}, record="spans")
    ((_, recording),) = run.recordings
    assert recording.failure is None
    assert recording.trace.incomplete == ""
    (invocation,) = recording.trace.invocations
    assert [(call.name, call.args) for call in invocation.tool_calls or ()] == [("get_order", {"order_id": "A-17"})]
    assert invocation.reply == REPLY
    assert "Calling tools:" in json.dumps(server.requests[-1][0]["messages"][1:])
