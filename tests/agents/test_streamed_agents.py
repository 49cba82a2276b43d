"""The time to the first token is recorded where a framework streams, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest
from kinds import KINDS, every, reached, recorded

import fairtrial
from fairtrial.records.trace import Durations

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

STREAMED = [KINDS[name] for name in ("a2a", "strands", "claude")]


def durations(target: Any, query: str) -> Durations:
    """Return the durations of a conversation with one message."""
    recording = recorded(target, query)
    assert recording.failure is None, recording.failure
    found = recording.trace.invocations[0].durations
    assert found is not None
    return found


def assert_within(found: Durations) -> None:
    """A first token comes before the end of the reply."""
    assert found.first_token is not None
    assert found.total is not None
    assert 0 < found.first_token < found.total


@every(lambda kind: kind in STREAMED)
def test_a_framework_that_streams_says_when_the_first_text_came(kind: str) -> None:
    """The call of a tool before the text is a part of the wait."""
    with reached(kind) as target:
        assert_within(durations(target, "Where is A-17?"))


@every(lambda kind: kind in STREAMED and "usages" not in kind.untold)
def test_the_model_call_that_writes_the_reply_has_its_own_first_token(kind: str) -> None:
    """The first request of the model calls a tool, and its wait is not that of the second."""
    with reached(kind) as target:
        (turn,) = recorded(target, "Where is A-17?").trace.invocations
    assert turn.durations is not None
    assert turn.durations.first_token is not None
    calling, writing = turn.usages or ()
    assert calling.first_token is None
    assert writing.first_token is not None
    assert 0 <= writing.first_token < turn.durations.first_token


@every(lambda kind: kind not in STREAMED)
def test_a_reply_in_one_piece_has_no_first_token(kind: str) -> None:
    """Nobody knows when its first token was there."""
    with reached(kind) as target:
        assert durations(target, "Where is A-17?").first_token is None


@pytest.mark.agents
def test_a_model_of_langchain_that_streams() -> None:
    """It streams because its author set `streaming`."""
    pytest.importorskip("langchain")
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    class Speaking(GenericFakeChatModel):  # type: ignore[misc]
        streaming: bool = False

    agent = create_agent(Speaking(messages=iter([AIMessage("It is shipped.")]), streaming=True), name="shop")
    (turn,) = recorded(agent, "Where is A-17?").trace.invocations
    assert turn.durations is not None
    assert_within(turn.durations)
    (usage,) = turn.usages or ()
    assert usage.first_token is not None
    assert 0 <= usage.first_token <= (turn.durations.first_token or 0)


@pytest.mark.agents
def test_an_agent_of_llama_index_that_streams() -> None:
    """`FunctionAgent` streams by default."""
    pytest.importorskip("llama_index.core")
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.llms.mock import MockFunctionCallingLLM

    agent = FunctionAgent(name="shop", llm=MockFunctionCallingLLM(max_tokens=5))
    assert_within(durations(agent, "Where is A-17?"))


@pytest.mark.agents
def test_thoughts_in_the_text_of_a_react_agent_are_no_first_token() -> None:
    """`ReActAgent` streams its thoughts before its answer, and they look alike."""
    pytest.importorskip("llama_index.core")
    from llama_index.core.agent.workflow import ReActAgent
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse
    from llama_index_shop import ScriptedLLM

    text = "Thought: I know it.\nAnswer: It is shipped."

    class Writing(ScriptedLLM):
        async def astream_chat(self, *_: Any, **__: Any) -> Any:
            async def pieces() -> Any:
                yield ChatResponse(message=ChatMessage(role="assistant", content=text), delta=text)

            return pieces()

    assert durations(ReActAgent(name="shop", llm=Writing()), "Where is A-17?").first_token is None


def test_a_function_says_it_by_itself() -> None:
    """A stopwatch of its own measures the pieces that it gets."""

    async def agent(_: str) -> Any:
        times = fairtrial.Stopwatch()
        pieces = []
        for piece in ("It is ", "shipped."):
            times.note_token()
            pieces.append(piece)
        yield fairtrial.Message("".join(pieces))
        yield times.durations

    assert_within(durations(agent, "Where is A-17?"))
