"""Strands agents are recorded whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from kinds import recorded
from shop import CRITERIA, Outage, saying

import fairtrial
from fairtrial.agents import find_agent
from fairtrial.errors import UsageError
from fairtrial.records.attempt import Recording
from fairtrial.records.case import SessionInput
from fairtrial.records.trace import Invocation, Message, Part, ToolCall, ToolResult, Usage

pytestmark = pytest.mark.agents
pytest.importorskip("strands")

from strands import Agent  # noqa: E402
from strands.hooks import MessageAddedEvent  # noqa: E402
from strands.multiagent import GraphBuilder, Swarm  # noqa: E402
from strands_shop import ScriptedModel, shop  # noqa: E402

TARGET = "strands:strands_shop:shop"
SEEN: list[Any] = []


def test_state_goes_in_and_comes_out() -> None:
    """The initial state is the state of the agent, and tools change it."""
    one = recorded(TARGET, "visit", "visit again", session=SessionInput(state={"name": "Kim"}))
    first, _ = one.trace.invocations
    assert one.trace.final_state == {"name": "Kim", "visits": 2}
    assert first.steps is not None
    result = first.steps[1]
    assert isinstance(result, ToolResult)
    assert result.response == "Kim is here."


class TextCounts(ScriptedModel):
    """A model whose provider sends the tokens as text, and those of the cache as no number at all."""

    async def stream(self, messages: Any, *more: Any, **options: Any) -> Any:
        """Answer a request."""
        async for event in super().stream(messages, *more, **options):
            if "metadata" in event:
                event["metadata"]["usage"] |= {"inputTokens": "10", "outputTokens": 5.0, "cacheReadInputTokens": "few"}
            yield event


def agent_with_text_counts() -> Agent:
    """Return an agent whose model counts in text."""
    return Agent(name="shop", model=TextCounts(), callback_handler=None)


def test_token_counts_that_are_text_can_be_read_again() -> None:
    """The recording holds whole numbers, and nothing for a number that cannot be read."""
    one = recorded(f"strands:{__name__}:agent_with_text_counts", "hello")
    (usage,) = one.trace.invocations[0].usages or ()
    assert msgspec.structs.replace(usage, first_token=None) == Usage(10, 5, model="scripted")
    assert msgspec.json.decode(msgspec.json.encode(one), type=Recording) == one


def test_an_interrupt_is_answered_by_the_next_message() -> None:
    """A question of a tool is the reply, and the answer becomes the result of the tool."""
    first, second = recorded(TARGET, "question", "the large one").trace.invocations
    assert first.reply == "Which size?"
    assert [type(step) for step in first.steps or ()] == [ToolCall]
    assert [step.response for step in second.steps or () if isinstance(step, ToolResult)] == [
        "The user wants the large one."
    ]


def censored() -> Agent:
    """An agent with a hook that removes what the user shall not see from a message of the model."""

    def hide(event: MessageAddedEvent) -> None:
        if event.message["role"] == "assistant":
            event.message["content"][0]["text"] = "[removed]"

    agent = Agent(name="shop", model=ScriptedModel(), callback_handler=None)
    agent.add_hook(hide)
    return agent


def test_the_reply_is_what_a_hook_makes_of_it() -> None:
    """The user never sees what the model wrote."""
    (invocation,) = recorded(f"strands:{__name__}:censored", "hello").trace.invocations
    assert invocation.reply == "[removed]"


def grouped(kind: str, make: Callable[[], Agent]) -> Any:
    """A group of an agent, its hooks and its interrupts. A graph has another agent before it."""
    if kind == "swarm":
        return Swarm([make()])
    builder = GraphBuilder()
    builder.add_node(Agent(name="first", model=ScriptedModel(), callback_handler=None), "first")
    builder.add_node(make(), "second")
    builder.add_edge("first", "second")
    builder.set_max_node_executions(5)
    return builder.build()


@pytest.mark.parametrize("kind", ["swarm", "graph"])
def test_the_reply_of_a_group_is_what_a_hook_makes_of_it(kind: str) -> None:
    """As of an agent alone."""
    (invocation,) = recorded(named(lambda: grouped(kind, censored)), "hello").trace.invocations
    assert invocation.reply == "[removed]"


@pytest.mark.parametrize("kind", ["swarm", "graph"])
def test_an_interrupt_of_a_group_is_answered_by_the_next_message(kind: str) -> None:
    """As of an agent alone."""
    recording = recorded(named(lambda: grouped(kind, shop)), "question", "the large one")
    assert recording.failure is None, recording.failure.cause
    first, second = recording.trace.invocations
    assert first.reply == "Which size?"
    assert [step.response for step in second.steps or () if isinstance(step, ToolResult)] == [
        "The user wants the large one."
    ]


def named(make: Callable[[], Any]) -> str:
    """The target of a function that makes an agent."""
    globals()["make"] = make
    return f"strands:{__name__}:make"


def test_an_agent_that_holds_one_conversation_is_refused() -> None:
    """Conversations would share its messages."""
    with pytest.raises(UsageError, match="each conversation needs an agent of its own"):
        find_agent(shop())


def test_a_call_of_an_unknown_tool_has_its_refusal_as_result() -> None:
    """The framework answers it."""
    (invocation,) = recorded(f"strands:{__name__}:toolless", "Where is A-17?").trace.invocations
    results = [step for step in invocation.steps or () if isinstance(step, ToolResult)]
    assert [(result.name, result.is_error) for result in results] == [("get_order", True)]


def toolless() -> Any:
    """An agent without tools."""
    return Agent(model=ScriptedModel(), callback_handler=None)


class Seeing(ScriptedModel):
    """A model that tells what it was shown."""

    async def stream(self, messages: Any, *more: Any, **options: Any) -> Any:
        """Note the message of the user."""
        SEEN.append(messages[0]["content"][1:])
        async for event in super().stream(messages, *more, **options):
            yield event


def seeing() -> Any:
    """An agent that tells what it was shown."""
    return Agent(model=Seeing(), callback_handler=None)


def showing(*parts: Part) -> fairtrial.EvalSet:
    """A user who shows something."""
    case = fairtrial.EvalCase("shown", (Invocation(Message("What is this?", parts=parts)),))
    return fairtrial.EvalSet("shown", (case,))


def test_pictures_and_papers_reach_the_model() -> None:
    """As the blocks of Strands, with the data."""
    SEEN.clear()
    parts = (Part("image/png", data="AAAA"), Part("application/pdf", data="AAAA", name="bill.pdf"))
    ((_, one),) = fairtrial.evaluate(showing(*parts), f"strands:{__name__}:seeing", CRITERIA).recordings
    assert one.failure is None
    picture, paper = SEEN[0]
    assert picture == {"image": {"format": "png", "source": {"bytes": b"\0\0\0"}}}
    assert paper == {"document": {"format": "pdf", "name": "bill", "source": {"bytes": b"\0\0\0"}}}


@pytest.mark.parametrize("part", [Part("audio/wav", data="AAAA"), Part("image/png", "https://example.com/a.png")])
def test_parts_without_a_place_are_refused(part: Part) -> None:
    """The case is refused before anything runs."""
    with pytest.raises(UsageError, match="an agent of Strands takes"):
        fairtrial.evaluate(showing(part), TARGET, CRITERIA)


def test_an_outage_of_the_provider_is_not_the_agents() -> None:
    """The status of the exception counts, though the framework wraps it."""
    ((_, one),) = fairtrial.evaluate(saying("hello"), f"strands:{__name__}:down", CRITERIA).recordings
    assert one.failure is not None
    assert one.failure.side == "infrastructure"


class Down(ScriptedModel):
    """A model whose provider is down."""

    async def stream(self, *_: Any, **__: Any) -> Any:
        """Fail as a client of the provider does."""
        Outage.begin(501)
        Outage.note_call()
        yield {}


def down() -> Any:
    """An agent whose provider is down."""
    return Agent(model=Down(), callback_handler=None)
