"""Agents that break, hang, or say nothing or too much break only their own conversation, in every framework."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kinds import KINDS, every_kind, reached
from shop import HUGE, RELEASED, saying

import fairtrial
from fairtrial.records.attempt import Recording
from fairtrial.records.trace import ToolCall, ToolResult

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(autouse=True)
def released() -> Iterator[None]:
    """At the end nothing waits any more."""
    RELEASED.clear()
    yield
    RELEASED.set()


def held(target: str, *queries: str, reply_timeout: float | None = None) -> tuple[Recording, Recording]:
    """The recordings of a conversation in which the user says this, and of one beside it."""
    eval_set = fairtrial.EvalSet("two", (*saying(*queries, name="one").cases, *saying("hello", name="other").cases))
    run = fairtrial.evaluate(eval_set, target, {"response_match_score": 0.5}, reply_timeout=reply_timeout)
    one, other = (recording for _, recording in run.recordings)
    return one, other


@every_kind
def test_an_agent_that_dies_keeps_what_it_did(kind: str) -> None:
    """The first turn is whole; of the second there is what it told before it broke. The other conversation is held."""
    with reached(kind) as target:
        one, other = held(target, "Where is A-17?", "break")
    assert one.failure is not None
    # A chat server whose handler dies closes the connection: nobody can tell the agent from the network.
    assert one.failure.side == ("infrastructure" if kind == "http" else "agent")
    assert KINDS[kind].remote or "the model is broken" in one.failure.cause
    first, second = one.trace.invocations
    assert first.reply == "Your teapot is shipped."
    assert [type(step) for step in second.steps or ()] == ([ToolCall, ToolResult] if KINDS[kind].streams else [])
    assert second.final_response is None
    assert other.failure is None


@every_kind
@pytest.mark.long
def test_an_agent_that_hangs_is_given_up(kind: str) -> None:
    """A tool that never returns ends its conversation after the timeout, with the call; the other is held."""
    timeout = KINDS[kind].reply_timeout
    with reached(kind) as target:
        one, other = held(target, "hello", "Where is C-99?", reply_timeout=timeout)
        RELEASED.set()
    assert one.failure is not None
    assert (one.failure.side, one.failure.cause) == ("agent", f"no reply within {timeout} seconds")
    first, second = one.trace.invocations
    assert first.reply == "You said: hello"
    assert [type(step) for step in second.steps or ()] == ([ToolCall] if KINDS[kind].streams else [])
    assert other.failure is None


@pytest.mark.long
@every_kind
@pytest.mark.parametrize(("query", "reply"), [("empty", ""), ("huge", "x" * HUGE)], ids=["empty", "huge"])
def test_a_reply_of_any_size_is_scored_as_it_is(kind: str, query: str, reply: str) -> None:
    """Nothing is cut, and nothing is made up."""
    if kind in ("pydantic-ai", "claude") and query == "empty":
        pytest.skip("Pydantic AI and Claude Code let no model say nothing, and ask it again")
    with reached(kind) as target:
        one, _ = held(target, query, "hello")
    assert one.failure is None
    assert [each.reply for each in one.trace.invocations] == [reply, "You said: hello"]
