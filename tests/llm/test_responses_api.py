"""Models that OpenAI serves with its Responses API only, at a server on a real socket."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from commands import enter, fairtrial
from fairtrial.errors import ConfigError
from fairtrial.judge.question import answer_schema
from fairtrial.llm.address import address
from fairtrial.llm.batch_outbox import check_batches
from fairtrial.llm.endpoint import Endpoint
from fairtrial.llm.model import CallError, NamedModel
from fairtrial.llm.model_options import ModelOptions
from fairtrial.llm.model_pool import check_model
from fairtrial.llm.provider import Provider
from fairtrial.llm.unsent_settings import unsent_settings
from fairtrial.records.reply import Prompt, Reply
from known_answers import by_rule, perfect
from loopback import Action, Loopback, Request, Say, Status

NAME = "openai/responses/gpt-5-mini"
PROMPT = Prompt(id="p", version="1", text="질문", system="체계", schema=answer_schema(("i1",), ("yes", "no")))


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for the server."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")


def ask(monkeypatch: pytest.MonkeyPatch, action: Action, name: str = NAME, **settings: Any) -> tuple[Reply, Request]:
    """The reply to one call, and the request."""

    async def once() -> Reply:
        async with Provider(address(name), settings) as model:
            return await model(PROMPT)

    with Loopback(lambda _: action) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        return asyncio.run(once()), server.requests[0]


def test_the_request_has_the_form_of_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages are `input`, the schema is the format of the text, and nothing is stored at the server."""
    _, request = ask(monkeypatch, "yes", max_tokens=500, thinking="low")
    assert request.path == "/v1/responses"
    assert request.body["model"] == "gpt-5-mini"
    assert [message["content"] for message in request.body["input"]] == ["체계", "질문"]
    assert request.body["store"] is False
    assert request.body["max_output_tokens"] == 500
    assert request.body["reasoning"] == {"effort": "low"}
    assert request.body["text"]["format"]["type"] == "json_schema"
    assert request.schema is not None
    assert not {"messages", "response_format", "reasoning_effort", "max_completion_tokens"} & request.body.keys()


def test_cached_tokens_cost_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,000 tokens in, of which 800 are cached, and 100 out: 200 * 0.25 + 800 * 0.025 + 100 * 2 dollars a million."""
    reply, _ = ask(monkeypatch, "yes")
    assert (reply.text, reply.input_tokens, reply.output_tokens, reply.model) == ("yes", 1000, 100, "gpt-5-mini")
    assert reply.cost == pytest.approx((200 * 0.25 + 800 * 0.025 + 100 * 2) / 1e6)


@pytest.mark.parametrize(
    ("say", "reason"),
    [
        (Say(refusal="I cannot judge this."), "the model refused to answer: I cannot judge this."),
        (Say("half", finish="length"), "the reply was cut off at the limit of tokens"),
        (Say("half", finish="content_filter"), "the reply was stopped by the provider's content filter"),
        (Say(""), "the reply holds thoughts and no answer"),
        (
            Say(raw=b'{"output": [{"type": "function_call", "name": "f", "arguments": "{}"}], "model": "gpt-5-mini"}'),
            "the reply is a function call instead of an answer",
        ),
    ],
)
def test_a_reply_without_an_answer_has_its_reason(monkeypatch: pytest.MonkeyPatch, say: Say, reason: str) -> None:
    """The reasons are those of chat completions."""
    assert ask(monkeypatch, say)[0].interruption == reason


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (Say(raw=b'{"error": {"code": "server_error", "message": "planted trouble"}}'), "planted trouble"),
        (Say(raw=b'{"id": "resp_1"}'), "no output"),
        (Say(raw=b"<html>"), "not JSON"),
        (Status(400, message="planted refusal"), "planted refusal"),
    ],
)
def test_an_error_keeps_the_message_of_the_server(monkeypatch: pytest.MonkeyPatch, action: Action, reason: str) -> None:
    """Also if it has the status 200."""
    with pytest.raises(CallError, match=reason):
        ask(monkeypatch, action)


@pytest.mark.parametrize(
    "name", ["gpt-5-pro", "openai/gpt-5.2-pro", "openai/o3-pro-2025-06-10", "openai/gpt-5.1-codex-max"]
)
def test_a_model_without_chat_completions_is_asked_with_responses(name: str) -> None:
    """At OpenAI's own address. A gateway is asked with chat completions, unless the name says otherwise."""
    check_model(NamedModel(name), ModelOptions())
    assert address(name).known.protocol == "responses"
    assert address(f"openrouter/openai/{name.rpartition('/')[2]}").known.protocol == "chat"
    gateway = Endpoint("https://gateway.example/v1")
    assert address(name, gateway).known.protocol == "chat"
    assert address("responses/gpt-5-pro", gateway).known.protocol == "responses"
    assert address("responses/gpt-5-pro", gateway).model == "gpt-5-pro"


@pytest.mark.parametrize("name", ["gpt-5", "openai/gpt-5-mini", "openai/o3", "openai/gpt-4o", "openai/o1-preview"])
def test_a_model_with_chat_completions_is_asked_with_them(name: str) -> None:
    """Only the models without them need another protocol."""
    check_model(NamedModel(name), ModelOptions())
    assert address(name).known.protocol == "chat"


def test_settings_that_the_protocol_lacks_are_named() -> None:
    """They are not sent. Chat completions take them."""
    settings = {"seed": 1, "stop_sequences": ["x"], "presence_penalty": 0.5, "max_tokens": 100}
    lacking = unsent_settings(address("openai/responses/gpt-4o"), settings)
    assert lacking == ("seed", "stop_sequences", "presence_penalty")
    assert unsent_settings(address("openai/gpt-4o"), settings) == ()


def test_a_check_of_such_a_judge_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twelve easy questions, with the protocol in the first line, and the other model that answers one of them."""
    enter(tmp_path, monkeypatch)
    say = by_rule(perfect)

    def script(request: Request) -> Say:
        return Say(str(say(request)), served="gpt-4o" if request.number == 1 else "gpt-5-mini-2025-08-07")

    with Loopback(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        done = fairtrial("judge", "check", "--quick", "--judge-model", NAME, "--json", "check.json")
        assert {request.path for request in server.requests} == {"/v1/responses"}
    assert done.code == 0, done.err
    assert f"{NAME} speaks OpenAI's Responses API at {server.url}/v1, with the key of OPENAI_API_KEY" in done.out
    assert f"another model answered: asked {NAME}, got gpt-4o" in done.out
    results = json.loads(Path("check.json").read_text(encoding="utf-8"))["results"]
    assert sum(bool(result["served"]) for result in results) == 1
    assert all(result["cost"] for result in results if not result["served"])


def test_batches_are_refused() -> None:
    """Their requests would go to another endpoint."""
    with pytest.raises(ConfigError, match="has no batches"):
        check_batches(address("openai/responses/gpt-4o"), "openai/responses/gpt-4o")
