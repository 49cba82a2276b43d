"""Agents behind a chat endpoint are recorded whole, and break only their own conversation."""

from __future__ import annotations

import base64
import io
import json
import wave
from typing import Any

import pytest
from chat_server import Answer, ChatServer, Reset, Script, Silence, Status, Streamed, agent, completion
from kinds import recorded
from shop import CRITERIA, EVAL_SET, saying

import fairtrial
from fairtrial.agents import find_agent
from fairtrial.agents.endpoints.chat_replies import time_of_first_text
from fairtrial.agents.endpoints.endpoint_client import BODY, HEADERS, KEY, StreamEvent
from fairtrial.errors import UsageError
from fairtrial.records.attempt import Recording
from fairtrial.records.trace import Message, Part, Thought, ToolCall, Usage


def answered(script: Script, *queries: str, **options: Any) -> Recording:
    """What is recorded of a conversation with a server that answers by a script."""
    with ChatServer(script) as server:
        return recorded(server.url, *queries, **options)


def test_each_request_carries_the_conversation_so_far() -> None:
    """The second request holds both user messages and the first reply, and no calls that are answered already."""
    with ChatServer(agent) as server:
        fairtrial.evaluate(EVAL_SET, f"{server.url}#shop-1", CRITERIA)
        body, _ = server.requests[1]
    assert body == {
        "model": "shop-1",
        "messages": [
            {"role": "user", "content": "Where is A-17?"},
            {"role": "assistant", "content": "Your teapot is shipped."},
            {"role": "user", "content": "Cancel B-42, please."},
        ],
    }


def test_calls_in_the_one_message_come_before_its_text() -> None:
    """Where an endpoint reports its calls beside its reply, the text is the reply."""
    function = {"name": "get_order", "arguments": '{"order_id": "A-17"}'}
    message = {
        "role": "assistant",
        "content": "Shipped.",
        "reasoning_content": "I look it up.",
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }
    (invocation,) = answered(lambda _: completion(message), "Where is A-17?").trace.invocations
    assert invocation.steps == (Thought("I look it up."), ToolCall("get_order", {"order_id": "A-17"}, "c1"))
    assert invocation.reply == "Shipped."


def test_a_spoken_reply_has_its_transcript_and_its_sound() -> None:
    """The form is that of OpenAI's models that speak: the content is null."""
    sound = "UklGRiQAAABXQVZFZm10IA=="
    audio = {"id": "audio_1", "data": sound, "transcript": "It is shipped.", "expires_at": 1_800_000_000}
    recording = answered(lambda _: completion({"role": "assistant", "content": None, "audio": audio}), "Where is A-17?")
    (invocation,) = recording.trace.invocations
    assert invocation.reply == "It is shipped."
    assert invocation.final_response is not None
    assert invocation.final_response.parts == (Part("audio/wav", data=sound),)
    assert recording.trace.incomplete == ""


def test_reported_ids_are_kept() -> None:
    """Calls have the ids that the endpoint gave them."""
    _, invocation = answered(agent, "Where is A-17?", "Cancel B-42").trace.invocations
    assert [one.id for one in invocation.tool_calls] == ["call-get_order-3", "call-cancel_order-5"]


def test_reasoning_and_cached_tokens_are_recorded() -> None:
    """The first are part of the output, the second of the input."""
    usage = {
        "prompt_tokens": 7,
        "completion_tokens": 9,
        "completion_tokens_details": {"reasoning_tokens": 4},
        "prompt_tokens_details": {"cached_tokens": 3},
    }
    (invocation,) = answered(
        lambda _: completion({"role": "assistant", "content": "a"}, usage=usage), "hi"
    ).trace.invocations
    assert invocation.usages == (Usage(7, 9, 4, 3, "scripted"),)


def test_token_counts_of_gateways_are_converted_or_left_out() -> None:
    """Some gateways send numbers as text or as 9.0. A number that cannot be read counts as not recorded."""
    usage = {
        "prompt_tokens": "7",
        "completion_tokens": 9.0,
        "completion_tokens_details": {"reasoning_tokens": "many"},
        "prompt_tokens_details": {"cached_tokens": -3},
    }
    (invocation,) = answered(
        lambda _: completion({"role": "assistant", "content": "a"}, usage=usage), "hi"
    ).trace.invocations
    assert invocation.usages == (Usage(7, 9, model="scripted"),)


def test_a_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is sent as a bearer token, and is no part of what is kept of the run."""
    monkeypatch.setenv(KEY, "sesame")
    with ChatServer(agent) as server:
        run = fairtrial.evaluate(saying("hello"), server.url, CRITERIA)
        _, headers = server.requests[0]
    assert headers["authorization"] == "Bearer sesame"
    assert "sesame" not in repr(run.info)


@pytest.mark.parametrize(
    ("answer", "cause", "side"),
    [
        (Reset(), "Error", "infrastructure"),
        (500, "HTTP 500: it broke", "infrastructure"),
        (400, "HTTP 400: it broke", "agent"),
        (b'{"choices": [', "replied no JSON", "agent"),
        (b"[1]", "must reply an object with 'choices'", "agent"),
        ({"choices": []}, "must reply an object with 'choices'", "agent"),
        ({"choices": [{"message": {"tool_calls": [{"id": 1}]}}]}, "must be a call", "agent"),
        ({"messages": [7]}, "must be a message", "agent"),
    ],
)
def test_a_fault_is_the_failure_of_its_case(answer: Answer, cause: str, side: str) -> None:
    """What breaks in the second turn is told, and the first turn is kept."""

    def script(body: dict[str, Any]) -> Answer:
        return agent(body) if len(body["messages"]) == 1 else answer

    one = answered(script, "hello", "again")
    assert one.failure is not None
    assert one.failure.side == side
    assert cause in one.failure.cause
    assert [invocation.reply for invocation in one.trace.invocations] == ["You said: hello", ""]


def test_a_server_that_hangs_is_left_after_the_timeout() -> None:
    """A reply that does not come in time is the agent's failure."""
    one = answered(lambda _: Silence(), "hello", reply_timeout=0.05)
    assert one.failure is not None
    assert one.failure.cause == "no reply within 0.05 seconds"


@pytest.mark.parametrize("text", ["", "x" * 10_000_000])
def test_a_reply_is_scored_as_it_is(text: str) -> None:
    """A reply of nothing and a reply of 10 MB are replies."""
    one = answered(lambda _: completion({"role": "assistant", "content": text}), "hello")
    assert one.failure is None
    assert one.trace.invocations[0].final_response == Message(text)


@pytest.mark.long
def test_each_history_is_its_own() -> None:
    """In 50 conversations of 6 turns at once each reply carries what its own conversation said, and nothing else."""

    def script(body: dict[str, Any]) -> Answer:
        said = [message["content"] for message in body["messages"] if message["role"] == "user"]
        return completion({"role": "assistant", "content": json.dumps(said)})

    sets = [saying(*(f"{name} {turn}" for turn in range(6)), name=str(name)) for name in range(50)]
    eval_set = fairtrial.EvalSet("many", tuple(case for one in sets for case in one.cases))
    with ChatServer(script) as server:
        run = fairtrial.evaluate(eval_set, server.url, {"response_match_score": 0.0}, concurrency=50)
    for _, one in run.recordings:
        assert one.failure is None
        for turn, invocation in enumerate(one.trace.invocations):
            assert json.loads(invocation.reply) == [f"{one.case_id} {i}" for i in range(turn + 1)]


@pytest.mark.parametrize(
    ("target", "endpoint"),
    [
        ("http://host/v1", "http://host/v1/chat/completions"),
        ("https://host:8443/a/chat/completions?x=1#m", "https://host:8443/a/chat/completions?x=1"),
        ("http://host", "http://host/chat/completions"),
    ],
)
def test_the_endpoint_follows_from_the_url(target: str, endpoint: str) -> None:
    """A URL is the endpoint itself, or what stands before it."""
    found: Any = find_agent(target)
    assert found.url == endpoint


def _stream_rows(*deltas: dict[str, Any], **last: Any) -> bytes:
    """Server-sent events, one for each piece of the message."""
    events = [{"model": "scripted", "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    lines = [f"data: {json.dumps(event)}" for event in [*events, {"choices": [], **last}]]
    return "\n\n".join([": a comment", *lines, "data: [DONE]", ""]).encode()


def test_a_stream_of_events_is_one_reply() -> None:
    """The pieces of the texts, of a call and the tokens are joined, though no stream was asked for."""
    call = {"index": 0, "id": "c1", "function": {"name": "get_order", "arguments": '{"order'}}
    rest = {"index": 0, "function": {"arguments": '_id": "A-17"}'}}
    usage = {"prompt_tokens": 7, "completion_tokens": 9}
    pieces = ({"tool_calls": [call]}, {"tool_calls": [rest]}, {"content": "Ship"}, {"content": "ped."})
    with ChatServer(lambda _: Streamed(_stream_rows(*pieces, usage=usage))) as server:
        (invocation,) = recorded(server.url, "Where is A-17?").trace.invocations
    assert invocation.steps == (ToolCall("get_order", {"order_id": "A-17"}, "c1"),)
    assert invocation.reply == "Shipped."
    assert invocation.usages == (Usage(7, 9, model="scripted"),)


def test_the_time_to_the_first_text_of_a_stream_is_recorded() -> None:
    """It is a part of the whole time."""
    with ChatServer(lambda _: Streamed(_stream_rows({"content": "Ship"}, {"content": "ped."}))) as server:
        (invocation,) = recorded(server.url, "Where is A-17?").trace.invocations
    durations = invocation.durations
    assert durations is not None
    assert durations.first_token is not None
    assert durations.total is not None
    assert 0 < durations.first_token < durations.total


def test_a_reply_in_one_piece_has_no_first_token() -> None:
    """Nobody knows when its server had the first."""
    (invocation,) = answered(agent, "hello").trace.invocations
    assert invocation.durations is not None
    assert invocation.durations.first_token is None


def test_a_spoken_stream_is_its_transcript_and_one_sound() -> None:
    """Bare samples of the provider become a WAV file, which judges can hear."""
    pieces = [b"\0\1" * 100, b"\2\3" * 50]
    deltas = [{"audio": {"id": "a", "data": base64.b64encode(piece).decode()}} for piece in pieces]
    deltas[1]["audio"]["transcript"] = "Shipped."
    with ChatServer(lambda _: Streamed(_stream_rows(*deltas))) as server:
        (invocation,) = recorded(server.url, "Where is A-17?").trace.invocations
    reply = invocation.final_response
    assert reply is not None
    assert (reply.text, [part.mime_type for part in reply.parts]) == ("Shipped.", ["audio/wav"])
    with wave.open(io.BytesIO(base64.b64decode(reply.parts[0].data))) as sound:
        assert (sound.getframerate(), sound.readframes(1000)) == (24_000, b"".join(pieces))
    assert invocation.durations is not None
    assert invocation.durations.first_token is not None


@pytest.mark.parametrize(
    ("texts", "place"),
    [
        (["You", " did."], 0),
        (["", " ", "You"], 2),
        (["<thi", "nk>Hm", ".</th", "ink>", "\n\n", "You"], 5),
        (["<think>Hm.</think>You", " did."], 0),
        (["<thinking>", "a" * 1000, "</thinking> You"], 2),
        (["<b>You"], 0),
    ],
)
def test_a_thought_before_the_text_is_no_text(texts: list[str], place: int) -> None:
    """The tags may be in several pieces."""
    events = [StreamEvent("", text, 10.0 + number) for number, text in enumerate(texts)]
    assert [times.first_token for times in time_of_first_text(events, 10.0, str)] == [place]


def test_a_piece_of_a_call_with_a_huge_index_is_the_agents_failure() -> None:
    """No list of that length is made."""
    call = {"index": 10**12, "id": "c1", "function": {"name": "get_order", "arguments": "{}"}}
    with ChatServer(lambda _: Streamed(_stream_rows({"tool_calls": [call]}))) as server:
        failure = recorded(server.url, "Where is A-17?").failure
    assert failure is not None
    assert (failure.side, "must have an index below 1000" in failure.cause) == ("agent", True)


def test_thinking_is_no_part_of_the_reply() -> None:
    """`<think>` at the beginning of the text is a thought."""
    message = {"role": "assistant", "content": "<think>\nWhere?\n</think>\n\nShipped."}
    (invocation,) = answered(lambda _: completion(message), "hi").trace.invocations
    assert invocation.steps == (Thought("Where?"),)
    assert invocation.reply == "Shipped."


def test_any_success_is_a_reply() -> None:
    """A server may answer with 201."""
    body = json.dumps(completion({"role": "assistant", "content": "Made."})).encode()
    one = answered(lambda _: Status(201, body), "hi")
    assert one.trace.invocations[0].reply == "Made."


def test_a_redirect_on_the_same_server_is_followed() -> None:
    """A slash is missing at the end, as servers like it."""

    def script(body: dict[str, Any]) -> Answer:
        if len(server.requests) == 1:
            return Status(307, b"", {"location": "/v1/chat/completions/"})
        return agent(body)

    with ChatServer(script) as server:
        one = recorded(server.url, "hello")
    assert one.trace.invocations[0].reply == "You said: hello"


def test_a_redirect_to_another_server_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other server would get the headers."""
    monkeypatch.setenv(HEADERS, '{"x-key": "sesame"}')
    with ChatServer(agent) as other, ChatServer(lambda _: Status(307, b"", {"location": other.url})) as server:
        one = recorded(server.url, "hello")
        assert other.requests == []
    assert one.failure is not None
    assert "HTTP 307" in one.failure.cause


def test_headers_and_fields_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both may hold the id of the conversation. The headers are secret, the fields are in the signature."""
    monkeypatch.setenv(HEADERS, '{"x-key": "sesame", "x-session": "s-{conversation}"}')
    monkeypatch.setenv(BODY, '{"temperature": 0, "metadata": {"thread": ["{conversation}"]}}')
    with ChatServer(agent) as server:
        run = fairtrial.evaluate(saying("hello", "again"), server.url, CRITERIA)
        (first, headers), (second, _) = server.requests
    assert headers["x-key"] == "sesame"
    thread = first["metadata"]["thread"][0]
    assert headers["x-session"] == f"s-{thread}"
    assert (first["temperature"], second["metadata"]["thread"]) == (0, [thread])
    assert thread not in ("", "{conversation}")
    assert "sesame" not in repr(run.info)
    assert "temperature" in repr(run.info)


@pytest.mark.parametrize("variable", [HEADERS, BODY])
def test_a_variable_that_is_no_object_is_refused_without_its_value(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The value may be secret."""
    monkeypatch.setenv(variable, '["sesame"]')
    with pytest.raises(UsageError, match=f"{variable} must hold a JSON object") as refused:
        find_agent("http://localhost:1/v1")
    assert "sesame" not in str(refused.value)
