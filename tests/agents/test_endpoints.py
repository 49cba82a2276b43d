"""Agents behind a Responses API, a LangGraph server, an ADK server or an own endpoint are recorded whole."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from chat_server import Answer, JsonServer, Request, Status, Streamed
from endpoint_shop import TEMPLATE, LangGraphServer, adk_server, own_reply, response
from kinds import recorded
from shop import CRITERIA, EVAL_SET, INSTRUCTIONS, PROMPT_TOKENS, REPLY_TOKENS, saying

import fairtrial
from commands import fairtrial as command
from fairtrial.agents import find_agent
from fairtrial.agents.endpoints.endpoint_client import BODY, HEADERS
from fairtrial.errors import UsageError
from fairtrial.records.case import SessionInput
from fairtrial.records.trace import Message, Part, Thought, ToolCall, ToolResult, Usage

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@contextmanager
def responses_server() -> Iterator[str]:
    """A server with the Responses API."""
    with JsonServer(response) as server:
        yield f"responses:{server.url}#scripted"


@contextmanager
def langgraph_server() -> Iterator[str]:
    """A LangGraph server, whose threads are all deleted at the end."""
    with LangGraphServer() as server:
        yield f"langgraph-server:{server.url}#shop"
    assert server.threads == {}


@contextmanager
def needs_adk() -> Iterator[str]:
    """ADK's own server."""
    if importlib.util.find_spec("google") is None or importlib.util.find_spec("google.adk") is None:
        pytest.skip("needs google.adk")
    with adk_server() as target:
        yield target


def templated(folder: Path, url: str, **more: Any) -> str:
    """The target of a template for a URL."""
    path = folder / "shop.json"
    path.write_text(json.dumps({"url": url, **TEMPLATE, **more}))
    return f"endpoint:{path}"


SERVERS = {"responses": responses_server, "langgraph-server": langgraph_server, "adk-server": needs_adk}
every_server = pytest.mark.parametrize(
    "kind", [pytest.param(name, marks=[pytest.mark.agents] * (name == "adk-server")) for name in SERVERS]
)


@every_server
def test_the_files_of_init_run_with_the_server(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`fairtrial init --agent TARGET` writes a gate that `fairtrial run` passes, without an argument."""
    monkeypatch.chdir(tmp_path)
    Path("questions.csv").write_text("question\nWhere is A-17?\nhello\n")
    with SERVERS[kind]() as target:
        assert command("init", "--agent", target, "--csv", "questions.csv").code == 0
        monkeypatch.chdir(next(path.parent for path in tmp_path.rglob("fairtrial.toml")))
        done = command("run", "--lang", "en")
    assert done.code == 0, done.out + done.err
    assert "PASSED" in done.out


@every_server
def test_a_conversation_is_scored(kind: str) -> None:
    """Two turns with calls pass, though each request holds the new message only."""
    with SERVERS[kind]() as target:
        run = fairtrial.evaluate(EVAL_SET, target, CRITERIA)
    assert run.verdict == "passed"


@every_server
def test_steps_come_in_their_order(kind: str) -> None:
    """Texts, calls and results stand as they came, results with the ids and names of their calls."""
    with SERVERS[kind]() as target:
        (invocation,) = recorded(target, "Cancel B-42").trace.invocations
    assert invocation.steps is not None
    said, first, order, second, cancelled = invocation.steps
    assert isinstance(said, Message)
    assert said.text == "Let me look at it first."
    assert isinstance(first, ToolCall)
    assert isinstance(second, ToolCall)
    assert (first.name, first.args, second.name) == ("get_order", {"order_id": "B-42"}, "cancel_order")
    assert isinstance(order, ToolResult)
    assert isinstance(cancelled, ToolResult)
    assert (order.name, order.id, order.response) == (
        "get_order",
        first.id,
        {"item": "lamp", "state": "in preparation"},
    )
    assert (cancelled.name, cancelled.id, cancelled.response) == ("cancel_order", second.id, {"cancelled": True})
    assert invocation.reply == "Order B-42 is cancelled."
    assert invocation.usages is not None
    assert invocation.usages[0].input_tokens == PROMPT_TOKENS
    assert invocation.usages[-1].output_tokens == REPLY_TOKENS


@every_server
def test_conversations_never_mix(kind: str) -> None:
    """Conversations at once have threads, sessions and chains of their own."""
    many = fairtrial.EvalSet("many", tuple(saying(f"hello {i}", f"again {i}", name=str(i)).cases[0] for i in range(5)))
    with SERVERS[kind]() as target:
        run = fairtrial.evaluate(many, target, {"response_match_score": 0.0}, concurrency=5)
    for _, one in run.recordings:
        expected = [f"You said: {word} {one.case_id}" for word in ("hello", "again")]
        assert [invocation.reply for invocation in one.trace.invocations] == expected


@pytest.mark.parametrize("kind", ["langgraph-server", pytest.param("adk-server", marks=pytest.mark.agents)])
def test_an_agent_that_breaks_keeps_what_it_did(kind: str) -> None:
    """The steps before the error are those that the server streamed."""
    with SERVERS[kind]() as target:
        one = recorded(target, "break", session=SessionInput(state={"name": "Kim"}))
    assert one.failure is not None
    assert one.failure.side == "agent"
    assert "the model is broken" in one.failure.cause
    assert [type(step) for step in one.trace.invocations[0].steps or ()] == [ToolCall, ToolResult]


@pytest.mark.parametrize("kind", ["langgraph-server", pytest.param("adk-server", marks=pytest.mark.agents)])
def test_the_state_goes_in_and_comes_out(kind: str) -> None:
    """The initial state of the case is the state of the thread or session."""
    with SERVERS[kind]() as target:
        one = recorded(target, "hello", session=SessionInput(state={"name": "Kim"}))
    assert one.trace.final_state is not None
    assert one.trace.final_state["name"] == "Kim"


def test_responses_are_chained() -> None:
    """The second request names the first response, and holds only the new message."""
    with JsonServer(response) as server:
        recorded(f"responses:{server.url}", "hello", "again")
        (first, _), (second, _) = server.requests
    assert first == {"model": "default", "input": [{"role": "user", "content": "hello"}]}
    assert second["input"] == [{"role": "user", "content": "again"}]
    assert second["previous_response_id"].startswith("resp-")


def test_a_server_that_stores_nothing_gets_the_whole_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    """`"store": false` says that no response is kept."""
    monkeypatch.setenv(BODY, '{"store": false}')
    with JsonServer(response) as server:
        recorded(f"responses:{server.url}", "hello", "again")
        second, _ = server.requests[1]
    assert "previous_response_id" not in second
    assert [(item["role"], item["content"]) for item in second["input"]] == [
        ("user", "hello"),
        ("assistant", "You said: hello"),
        ("user", "again"),
    ]


def test_responses_tell_of_instructions_and_tools() -> None:
    """A response repeats what its model got."""
    with responses_server() as target:
        about = recorded(target, "hello").trace.invocations[0].about
    assert about is not None
    assert (about.agents[0].instructions, about.agents[0].tool_names) == (INSTRUCTIONS, ("get_order", "cancel_order"))


def test_a_stream_of_a_response_ends_in_the_response() -> None:
    """The last event holds the whole response."""

    def stream(request: Request) -> Answer:
        done = {"type": "response.completed", "response": response(request)}
        events: list[dict[str, Any]] = [{"type": "response.output_text.delta", "delta": "You"}, done]
        return Streamed("".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events).encode())

    with JsonServer(stream) as server:
        one = recorded(f"responses:{server.url}", "hello")
    (invocation,) = one.trace.invocations
    assert invocation.reply == "You said: hello"
    assert invocation.durations is not None
    assert invocation.durations.first_token is not None


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        ({"object": "response", "error": {"message": "no credit"}, "output": []}, "no credit"),
        ({"choices": []}, "must reply an object with 'output'"),
        ({"output": [7]}, "must be an item"),
        (Streamed(b'data: {"type": "error", "message": "too long"}\n\n'), "too long"),
    ],
)
def test_a_response_that_failed_is_the_agents_failure(answer: Answer, cause: str) -> None:
    """The error of the response is the cause."""
    with JsonServer(lambda _: answer) as server:
        one = recorded(f"responses:{server.url}", "hello")
    assert one.failure is not None
    assert one.failure.side == "agent"
    assert cause in one.failure.cause


def test_pictures_reach_a_response_api() -> None:
    """They are parts of the input."""
    picture = Part("image/png", data="AAAA")
    case = saying("What is it?").cases[0]
    invocation = fairtrial.Invocation(Message("What is it?", parts=(picture,)))
    eval_set = fairtrial.EvalSet("pictures", (fairtrial.EvalCase(case.id, (invocation,)),))
    with JsonServer(response) as server:
        fairtrial.evaluate(eval_set, f"responses:{server.url}", CRITERIA)
        body, _ = server.requests[0]
    assert body["input"][0]["content"][1]["image_url"] == "data:image/png;base64,AAAA"


def test_an_interrupt_of_a_graph_is_answered_by_the_next_message() -> None:
    """A question of the graph is its reply, and the next message resumes the graph."""
    waiting: dict[str, Any] = {}

    def route(request: Request) -> Answer:
        if request.path == "/threads":
            return {"thread_id": "t"}
        if request.method == "DELETE":
            return Status(204, b"")
        if request.method == "GET":
            return waiting
        state: dict[str, Any] = {"messages": [{"type": "human", "content": "hi", "id": "1"}]}
        waiting["tasks"] = []
        if "command" in request.body:
            reply = f"Resumed with {request.body['command']['resume']['i']}."
            state["messages"].append({"type": "ai", "content": reply, "id": "2"})
        else:
            waiting["tasks"] = [{"interrupts": [{"value": "Which order?", "id": "i"}]}]
        return Streamed(f"event: values\ndata: {json.dumps(state)}\n\n".encode())

    with JsonServer(route) as server:
        one = recorded(f"langgraph-server:{server.url}#shop", "hi", "A-17")
    assert [each.reply for each in one.trace.invocations] == ["Which order?", "Resumed with A-17."]


def test_a_middleware_of_a_server_gets_the_decision_of_the_user() -> None:
    """The call waits, and the answer goes to its interrupt."""
    request_of_call = {"name": "cancel_order", "args": {"order_id": "B-42"}}
    waiting: dict[str, Any] = {}

    def route(request: Request) -> Answer:
        if request.path == "/threads":
            return {"thread_id": "t"}
        if request.method == "DELETE":
            return Status(404, b"")
        if request.method == "GET":
            return waiting
        waiting["tasks"] = []
        call = {**request_of_call, "id": "c1"}
        state: dict[str, Any] = {"messages": [{"type": "ai", "content": "", "tool_calls": [call], "id": "1"}]}
        if "command" in request.body:
            decision = request.body["command"]["resume"]["i"]["decisions"][0]["type"]
            content = {"content": decision, "tool_call_id": "c1", "name": "cancel_order"}
            state["messages"].append({"type": "tool", **content, "id": "2"})
            state["messages"].append({"type": "ai", "content": "Done.", "id": "3"})
        else:
            waiting["tasks"] = [{"interrupts": [{"value": {"action_requests": [request_of_call]}, "id": "i"}]}]
        return Streamed(f"event: values\ndata: {json.dumps(state)}\n\n".encode())

    with JsonServer(route) as server:
        one = recorded(f"langgraph-server:{server.url}#shop", "Cancel B-42", "yes")
    first, second = one.trace.invocations
    assert first.reply.startswith('May I call cancel_order({"order_id": "B-42"})?')
    assert second.steps is not None
    (result,) = second.steps
    assert isinstance(result, ToolResult)
    assert result.response == "approve"
    assert result.approval is not None
    assert (result.approval.decision, second.reply) == ("approve", "Done.")


def test_a_template_describes_any_endpoint(tmp_path: Path) -> None:
    """The reply, the calls, the tokens and the id of the conversation are found by their paths."""
    with JsonServer(own_reply) as server:
        one = recorded(templated(tmp_path, server.url), "Cancel B-42", "again")
        (first, _), (second, _) = server.requests
    invocation, again = one.trace.invocations
    assert invocation.steps == (
        ToolCall("get_order", {"order_id": "B-42"}, "0"),
        ToolResult("get_order", {"item": "lamp", "state": "in preparation"}, "0"),
        ToolCall("cancel_order", {"order_id": "B-42"}, "1"),
        ToolResult("cancel_order", {"cancelled": True}, "1"),
    )
    assert invocation.reply == "Order B-42 is cancelled."
    assert invocation.usages == (Usage(PROMPT_TOKENS, REPLY_TOKENS),)
    assert again.reply == "You said: again"
    assert first["text"] == "Cancel B-42"
    assert first["session"] not in ("", "{conversation}")
    assert second["session"].startswith("s-")


@pytest.mark.parametrize(("calls", "steps"), [(None, None), ({"at": "$.steps[*]"}, ())])
def test_a_template_without_calls_knows_of_none(
    tmp_path: Path, calls: dict[str, str] | None, steps: tuple[()] | None
) -> None:
    """Whether the agent called a tool is unknown without a place for calls. With a place, there was no call."""
    with JsonServer(lambda _: {"answer": "Done."}) as server:
        one = recorded(templated(tmp_path, server.url, reply="$.answer", calls=calls), "Cancel B-42")
    (invocation,) = one.trace.invocations
    assert (invocation.steps, invocation.reply) == (steps, "Done.")


def test_an_option_that_a_template_gives_twice_is_refused(tmp_path: Path) -> None:
    """Neither value can be meant more than the other."""
    path = tmp_path / "shop.json"
    path.write_text('{"url": "http://one", "body": {"q": "{message}"}, "reply": "$.a", "url": "http://two"}')
    with pytest.raises(UsageError, match=r"shop\.json: /url: stands there twice; keep one"):
        find_agent(f"endpoint:{path}")


def test_a_template_may_send_all_messages_the_state_and_a_first_request(tmp_path: Path) -> None:
    """The first request gives the conversation its id, which may stand in the URL and in headers too."""
    seen: list[tuple[str, Any]] = []

    def route(request: Request) -> Answer:
        seen.append((request.path, request.body))
        if request.path == "/sessions":
            return {"id": 7}
        answer = {"out": [{"text": "<think>Hm.</think>You "}, {"text": "did."}], "memory": {"turns": 1}, "why": ["So."]}
        return Status(201, json.dumps(answer).encode())

    with JsonServer(route) as server:
        target = templated(
            tmp_path,
            f"{server.url}/sessions/{{conversation}}/run",
            start={"url": f"{server.url}/sessions", "body": {"of": "{state}"}},
            body={"messages": "{messages}", "text": "<{message}>"},
            headers={"x-session": "{conversation}"},
            reply="$.out[*].text",
            conversation="$.id",
            calls=None,
            state="$.memory",
            thoughts="$.why[0]",
        )
        one = recorded(target, "{conversation}", "two", session=SessionInput(state={"name": "Kim"}))
        headers = server.requests[1][1]
    assert seen[0] == ("/sessions", {"of": {"name": "Kim"}})
    assert seen[1] == (
        "/sessions/7/run",
        {"messages": [{"role": "user", "content": "{conversation}"}], "text": "<{conversation}>"},
    )
    assert seen[2][1]["messages"][1:] == [
        {"role": "assistant", "content": "You did."},
        {"role": "user", "content": "two"},
    ]
    assert headers["x-session"] == "7"
    assert one.trace.final_state == {"turns": 1}
    first = one.trace.invocations[0]
    assert (first.steps, first.reply) == ((Thought("So."), Thought("Hm.")), "You did.")


@pytest.mark.parametrize(
    "body",
    [
        b'data: {"answer": "You "}\n\ndata: {"answer": "did.\xe2\x80\xa8"}\n\n',
        b'{"answer": "You "}\n{"answer": "did.\xe2\x80\xa8"}\n',
    ],
)
def test_the_events_of_a_stream_are_a_list(tmp_path: Path, body: bytes) -> None:
    """A path goes through the events. A line separator in a text ends no line."""
    kind = "text/event-stream" if body.startswith(b"data") else "application/x-ndjson"
    with JsonServer(lambda _: Status(200, body, {"content-type": kind})) as server:
        one = recorded(templated(tmp_path, server.url, reply="$[*].answer", conversation=""), "hi")
    (invocation,) = one.trace.invocations
    assert invocation.reply == "You did.\u2028"
    assert invocation.durations is not None
    assert invocation.durations.first_token is not None


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        ({"answer": "", "problem": "no such shop"}, "no such shop"),
        ({"other": 1}, "nothing in the reply is at $.answer"),
        ({"answer": "", "trace": [{"kind": "tool"}]}, "a call must have a name at $.tool"),
        (b"<html>", "replied no JSON"),
    ],
)
def test_a_reply_that_misses_the_template_is_the_agents_failure(tmp_path: Path, answer: Answer, cause: str) -> None:
    """The cause shows the path, or the error that the endpoint reports."""
    with JsonServer(lambda _: answer) as server:
        one = recorded(templated(tmp_path, server.url, error="$.problem"), "hi")
    assert one.failure is not None
    assert one.failure.side == "agent"
    assert cause in one.failure.cause


def test_a_secret_header_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The template is in the signature of the agent, headers of the environment are not."""
    monkeypatch.setenv(HEADERS, '{"x-key": "sesame"}')
    with JsonServer(own_reply) as server:
        run = fairtrial.evaluate(saying("hi"), templated(tmp_path, server.url), CRITERIA)
        _, headers = server.requests[0]
    assert headers["x-key"] == "sesame"
    assert "sesame" not in repr(run.info)
    assert "$.answer" in repr(run.info)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"url": "http://h"}', "must have 'body'"),
        (
            '{"url": "http://h", "body": {"a": "{message}"}, "reply": "answer"}',
            "/reply: is not a JSONPath",
        ),
        ('{"url": "http://h", "body": {"a": 1}, "reply": "$"}', "/body: must hold {message}"),
        ('{"url": "ftp://h", "body": "{message}", "reply": "$"}', "must be a URL"),
        ("{", "is not JSON"),
    ],
)
def test_a_template_that_cannot_work_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    """Each problem is told with the file and the place."""
    path = tmp_path / "shop.json"
    path.write_text(text)
    with pytest.raises(UsageError) as refused:
        find_agent(f"endpoint:{path}")
    assert problem in str(refused.value)


def test_a_template_may_be_yaml(tmp_path: Path) -> None:
    """The same options, in YAML."""
    path = tmp_path / "shop.yaml"
    path.write_text('url: http://localhost:1\nbody:\n  text: "{message}"\nreply: $.answer\n')
    agent: Any = find_agent(f"endpoint:{path}")
    assert agent.template.reply == "$.answer"


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("langgraph-server:http://localhost:2024", "must name the assistant"),
        ("adk-server:http://localhost:8000", "must name the app"),
        ("responses:localhost", "must be a URL"),
        ("responses:http://u:secret@localhost", "must hold no password"),
        ("endpoint:nowhere.json", "cannot be read"),
    ],
)
def test_a_target_that_cannot_work_is_refused(target: str, problem: str) -> None:
    """The message shows an example of a target."""
    with pytest.raises(UsageError, match=problem):
        find_agent(target)


def test_a_server_that_is_down_is_one_error_before_the_run() -> None:
    """Nothing is recorded."""
    with pytest.raises(UsageError, match="does not answer"):
        fairtrial.evaluate(saying("hi"), "langgraph-server:http://127.0.0.1:9#shop", CRITERIA)
