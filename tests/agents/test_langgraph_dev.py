"""Agents behind a real LangGraph server are recorded whole."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from kinds import recorded
from langgraph_dev import HERE, langgraph_dev
from shop import CRITERIA, EVAL_SET, PROMPT_TOKENS, REPLY_TOKENS, saying

import fairtrial
from fairtrial.agents.approvals import question
from fairtrial.agents.endpoints.endpoint_client import BODY
from fairtrial.errors import UsageError
from fairtrial.records.case import SessionInput
from fairtrial.records.trace import Invocation, Message, ToolCall, ToolResult

pytest.importorskip("langgraph_api")
pytestmark = pytest.mark.agents

import httpx2  # noqa: E402


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a server with all graphs. At the end, no conversation has left a thread."""
    from langgraph_served import GRAPHS

    with langgraph_dev(tmp_path_factory.mktemp("server"), HERE / "langgraph_served.py", GRAPHS) as url:
        yield url
        assert httpx2.post(f"{url}/threads/search", json={}).json() == []


def target(server: str, graph: str) -> str:
    """The target of a graph."""
    return f"langgraph-server:{server}#{graph}"


def replies(server: str, graph: str, *queries: str, **options: Any) -> list[str]:
    """What a graph replies in one conversation."""
    one = recorded(target(server, graph), *queries, **options)
    assert one.failure is None, one.failure.cause
    return [invocation.reply for invocation in one.trace.invocations]


def texts(invocation: Invocation) -> list[str]:
    """What the agent said in an invocation, the reply at the end if there is one."""
    said = [step.text for step in invocation.steps or () if isinstance(step, Message)]
    return [text for text in (*said, invocation.reply) if text]


def result_in(invocation: Invocation) -> ToolResult:
    """The only result of an invocation."""
    (result,) = [step for step in invocation.steps or () if isinstance(step, ToolResult)]
    return result


def test_a_conversation_is_scored(server: str) -> None:
    """Two turns with calls pass: the thread keeps the conversation."""
    assert fairtrial.evaluate(EVAL_SET, target(server, "agent"), CRITERIA).verdict == "passed"


def test_steps_and_tokens_are_recorded(server: str) -> None:
    """Texts, calls and results stand as they came, each model call with its tokens and its model."""
    (invocation,) = recorded(target(server, "agent"), "Cancel B-42").trace.invocations
    kinds = [type(step) for step in invocation.steps or ()]
    assert kinds == [Message, ToolCall, ToolResult, ToolCall, ToolResult]
    assert [(one.input_tokens, one.output_tokens) for one in invocation.usages or ()] == [
        (PROMPT_TOKENS, REPLY_TOKENS)
    ] * 3


def test_conversations_never_mix(server: str) -> None:
    """Conversations at once have threads of their own."""
    many = fairtrial.EvalSet("many", tuple(saying(f"hello {i}", f"again {i}", name=str(i)).cases[0] for i in range(5)))
    run = fairtrial.evaluate(many, target(server, "agent"), {"response_match_score": 0.0}, concurrency=5)
    for _, one in run.recordings:
        expected = [f"You said: {word} {one.case_id}" for word in ("hello", "again")]
        assert [invocation.reply for invocation in one.trace.invocations] == expected


@pytest.mark.parametrize(
    ("message", "response"),
    [
        ("yes", {"item": "teapot", "state": "shipped"}),
        ("no", "no"),
        ('{"order_id": "B-42"}', {"item": "lamp", "state": "in preparation"}),
    ],
)
def test_a_breakpoint_waits_for_a_decision(server: str, message: str, response: object) -> None:
    """A graph that was compiled with `interrupt_before` goes on as the user decides."""
    one = recorded(target(server, "stopping"), "Where is A-17?", message, "hello")
    first, second, third = one.trace.invocations
    assert first.reply == question([ToolCall("get_order", {"order_id": "A-17"})])
    assert result_in(second).response == response
    assert [second.reply, third.reply] == ["Your teapot is shipped.", "You said: hello"]


@pytest.mark.parametrize(("message", "reply"), [("yes", "Goodbye."), ("no", "")])
def test_a_breakpoint_after_a_node_waits_for_a_decision(server: str, message: str, reply: str) -> None:
    """The next node runs only if the user agrees."""
    assert replies(server, "pausing", "hello", message) == [question([ToolCall("part", {})]), reply]


@pytest.mark.parametrize(("message", "decision"), [("yes", "approve"), ("no", "reject")])
def test_a_middleware_gets_the_decision_of_the_user(server: str, message: str, decision: str) -> None:
    """The call waits, and its result says what was decided."""
    one = recorded(target(server, "deciding"), "Cancel B-42", message)
    first, second = one.trace.invocations
    assert first.reply == question([ToolCall("cancel_order", {"order_id": "B-42"})])
    result = result_in(second)
    assert result.approval is not None
    assert (result.approval.decision, result.response == {"cancelled": True}) == (decision, decision == "approve")


def test_questions_at_once_are_one_reply(server: str) -> None:
    """Two interrupted nodes ask in one reply, and the next message answers both."""
    one = recorded(target(server, "asking"), "hello", "large")
    first, second = one.trace.invocations
    assert sorted(first.reply.splitlines()) == ["Which colour?", "Which size?"]
    assert sorted(texts(second)) == ["Your colour: large.", "Your size: large."]


def test_the_state_goes_in_and_comes_out(server: str) -> None:
    """The initial state of the case is in the first input, and other keys than messages come out."""
    one = recorded(target(server, "counting"), "hello", "again", session=SessionInput(state={"visits": 4}))
    assert one.trace.final_state == {"visits": 6}
    assert recorded(target(server, "noting"), "Where is A-17?").trace.final_state == {"noted": "A-17"}


@pytest.mark.parametrize(
    ("body", "reply"),
    [
        ({"context": {"tone": "kind"}}, "tone kind, model None"),
        ({"config": {"configurable": {"model": "small"}}}, "tone None, model small"),
    ],
)
def test_runs_are_configured(server: str, monkeypatch: pytest.MonkeyPatch, body: dict[str, Any], reply: str) -> None:
    """Context and configuration reach the graph."""
    monkeypatch.setenv(BODY, json.dumps(body))
    assert replies(server, "telling", "hello") == [reply]


def test_a_graph_may_be_made_for_each_run(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An async function gets the configuration."""
    monkeypatch.setenv(BODY, '{"config": {"configurable": {"shop": "tea"}}}')
    (invocation,) = recorded(target(server, "made"), "Where is A-17?").trace.invocations
    call = next(step for step in invocation.steps or () if isinstance(step, ToolCall))
    assert (call.author, invocation.reply) == ("tea", "Your teapot is shipped.")


@pytest.mark.parametrize(
    ("graph", "side", "cause"),
    [("breaking", "agent", "the shelf is empty"), ("refusing", "infrastructure", "APIConnectionError")],
)
def test_an_error_in_a_node_keeps_what_came_before(server: str, graph: str, side: str, cause: str) -> None:
    """The server tells the class of the exception: an outage of a provider is not the agent's fault."""
    one = recorded(target(server, graph), "hello")
    assert one.failure is not None
    assert (one.failure.side, cause in one.failure.cause) == (side, True)
    assert texts(one.trace.invocations[0]) == ["One moment."]


def test_a_run_that_nobody_waits_for_is_cancelled(server: str) -> None:
    """Neither the runs that were streamed nor those that waited for a worker hold a worker of the server."""
    many = fairtrial.EvalSet("many", tuple(saying("hello", name=str(i)).cases[0] for i in range(6)))
    fairtrial.evaluate(many, target(server, "endless"), CRITERIA, reply_timeout=1, concurrency=6)
    assert replies(server, "agent", "hello", reply_timeout=60) == ["You said: hello"]


def test_what_was_streamed_before_a_timeout_is_kept(server: str) -> None:
    """The conversation breaks, and the text before stays."""
    one = recorded(target(server, "endless"), "hello", reply_timeout=10)
    assert texts(one.trace.invocations[0]) == ["One moment."]


@pytest.mark.parametrize("graph", ["workflow", "forgetful"])
def test_messages_without_ids_are_told_apart(server: str, graph: str) -> None:
    """A function with `@entrypoint`, and a graph that keeps its latest message only, reply twice."""
    assert replies(server, graph, "hello", "again") == ["Welcome.", "Welcome."]


def test_a_structured_response_is_the_reply(server: str) -> None:
    """The call by which the model gives it is no call."""
    for turn in recorded(target(server, "structured"), "Where is A-17?", "And A-17 now?").trace.invocations:
        assert [call.name for call in turn.tool_calls] == ["get_order"]
        assert turn.reply == '{"item":"teapot"}'


def test_a_graph_without_messages_is_told(server: str) -> None:
    """The message names what the state holds."""
    one = recorded(target(server, "silent"), "hello")
    assert one.failure is not None
    assert "must hold 'messages', a list of messages; it holds 'text'" in one.failure.cause


def test_an_assistant_is_named_by_its_id_too(server: str) -> None:
    """The server makes an assistant for each graph."""
    (found,) = httpx2.post(f"{server}/assistants/search", json={"graph_id": "agent"}).json()
    assert replies(server, found["assistant_id"], "hello") == ["You said: hello"]


def test_an_unknown_assistant_is_one_error_before_the_run(server: str) -> None:
    """The message names the graphs of the server."""
    with pytest.raises(UsageError, match=r"has no assistant 'nobody'.*'agent', 'asking'"):
        recorded(target(server, "nobody"), "hello")
