"""Is an agent behind a real A2A server recorded whole?"""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from shop import CRITERIA, EVAL_SET, saying

import assay
from assay.agents import agent_of
from assay.data.recording import Recording
from assay.data.trace import Message, ToolCall, ToolResult

pytestmark = pytest.mark.agents
pytest.importorskip("a2a")
pytest.importorskip("uvicorn")


@pytest.fixture(scope="module", params=[True, False], ids=["streaming", "polling"])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where the shop listens; it streams, or answers at once."""
    from a2a_shop import A2AServer

    with A2AServer(streaming=request.param) as server:
        yield server.url


def recorded(url: str, *queries: str) -> Recording:
    """What is recorded of a conversation."""
    return next(assay.evaluate(saying(*queries), f"a2a:{url}", CRITERIA).recordings)[1]


def test_a_conversation_is_scored(url: str) -> None:
    """Two turns with reported tool calls pass the deterministic criteria."""
    run = assay.evaluate(EVAL_SET, f"a2a:{url}", CRITERIA)
    assert run.verdict == "passed"


def test_reported_calls_are_steps(url: str) -> None:
    """What was said, called and answered before the reply is recorded in order, numbers as they were."""
    (invocation,) = recorded(url, "Cancel B-42").trace.invocations
    assert invocation.steps is not None
    assert invocation.steps[:3] == (
        Message("Let me look at it first.", "shop"),
        ToolCall("get_order", {"order_id": "B-42"}, "get_order-0", "shop"),
        ToolResult("get_order", {"item": "lamp", "state": "in preparation"}, "get_order-0", "shop"),
    )
    assert invocation.final_response == Message("Order B-42 is cancelled.", "shop")


def test_a_message_alone_is_the_reply(url: str) -> None:
    """An agent that answers without a task is recorded too."""
    (invocation,) = recorded(url, "hello").trace.invocations
    assert invocation.final_response == Message("You said: hello", "shop")


def test_a_task_that_needs_more_goes_on(url: str) -> None:
    """The question is the reply, and the user's next message goes to the same task."""
    one = recorded(url, "which?", "the blue one")
    assert [invocation.reply for invocation in one.trace.invocations] == ["Which one?", "You chose the blue one."]


def test_a_task_that_fails_is_the_failure_of_its_case(url: str) -> None:
    """The cause is what the agent said, and what came before is kept."""
    one = recorded(url, "hello", "refuse")
    assert one.failure is not None
    assert one.failure.cause == "shop: failed: We are closed."
    assert one.trace.invocations[0].reply == "You said: hello"


def test_no_server_is_a_failure() -> None:
    """Where nobody listens the case fails, and the run ends."""
    one = recorded("http://127.0.0.1:1", "hello")
    assert one.failure is not None
    assert one.failure.side == "agent"


def test_a_server_that_says_nothing_is_given_up() -> None:
    """The agent's card does not come, and the case fails after the timeout."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        target = f"a2a:http://127.0.0.1:{silent.getsockname()[1]}"
        run = assay.evaluate(saying("hello"), target, CRITERIA, reply_timeout=0.2)
    ((_, one),) = run.recordings
    assert one.failure is not None
    assert one.failure.cause == "no reply within 0.2 seconds"


def test_sessions_never_mix(url: str) -> None:
    """20 conversations of 6 turns at once: each reply carries the token of its own conversation."""
    sets = [saying(*(f"hello {name}-{turn}" for turn in range(6)), name=str(name)) for name in range(20)]
    many = assay.EvalSet("many", tuple(case for one in sets for case in one.cases))
    run = assay.evaluate(many, f"a2a:{url}", {"response_match_score": 0.0}, concurrency=20)
    for _, one in run.recordings:
        replies = [invocation.reply for invocation in one.trace.invocations]
        assert replies == [f"You said: hello {one.case_id}-{turn}" for turn in range(6)]


@pytest.mark.parametrize(("target", "problem"), [("a2a:shop", "must be a URL"), ("a2a:http://a:b@c", "no password")])
def test_a_url_that_is_none_is_refused(target: str, problem: str) -> None:
    """What cannot be reached, or should not be kept, is found out before anything runs."""
    with pytest.raises(assay.UsageError, match=problem):
        agent_of(target)
