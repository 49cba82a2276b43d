"""Real clients against a real socket, whatever the other side does."""

from __future__ import annotations

import asyncio
import json
import os
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from msgspec.structs import replace

from fairtrial.errors import ConfigError
from fairtrial.judge.question import answer_schema
from fairtrial.llm.address import address
from fairtrial.llm.budget import Budget
from fairtrial.llm.endpoint import Endpoint
from fairtrial.llm.library_settings import settings_for
from fairtrial.llm.model import CallError, NamedModel, RefusedError, UnsentError, UnusableModelError
from fairtrial.llm.model_options import ModelOptions
from fairtrial.llm.model_pool import ModelPool, check_model
from fairtrial.llm.provider import Provider
from fairtrial.llm.provider_refusals import retry_after
from fairtrial.llm.token_counts import price_known
from fairtrial.llm.unsent_settings import UNSUPPORTED_BY_ANTHROPIC, UNSUPPORTED_BY_BEDROCK, unsent_settings
from fairtrial.records.record import Json
from fairtrial.records.reply import Prompt, Reply
from loopback import Drop, Half, Loopback, Request, Say, Script, Status

NAMES = ["openai/gpt-4o-mini", "gemini-2.5-flash", "anthropic/claude-haiku-4-5"]
PROMPT = Prompt(
    id="p", version="1", text="질문 “?” 質問 问题 🙂", system="체계", schema=answer_schema(("i1", "i2"), ("yes", "no"))
)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys as users have them, and none of this machine's endpoints."""
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, f"planted-{name}")
    monkeypatch.setenv("SERVER_KEY", "planted-SERVER_KEY")
    for name in (
        "GOOGLE_API_KEY",
        "OPENAI_BASE_URL",
        "GOOGLE_GEMINI_BASE_URL",
        "ANTHROPIC_BASE_URL",
        "OLLAMA_BASE_URL",
    ):
        monkeypatch.delenv(name, raising=False)


def url(server: Loopback, name: str) -> str:
    """Where a provider's client looks for its own paths."""
    return f"{server.url}/v1" if name.startswith("openai") else server.url


def own(base_url: str | None) -> Endpoint:
    """An endpoint of a configuration that gets a key of its own."""
    return Endpoint(base_url, "SERVER_KEY")


def ask(name: str, script: Script, prompt: Prompt = PROMPT) -> tuple[Reply, Request]:
    """Ask once; return the reply and what the server was asked."""

    async def once(server: Loopback) -> Reply:
        async with Provider(address(name, own(url(server, name))), {"temperature": 0.5}) as model:
            return await model(prompt)

    with Loopback(script) as server:
        return asyncio.run(once(server)), server.requests[0]


@pytest.mark.parametrize("name", NAMES)
def test_a_reply_has_text_tokens_and_cost(name: str) -> None:
    """1,000 tokens in and 100 out have a price for models that are known."""
    reply, _ = ask(name, lambda request: request.answers("no"))
    assert '"answer": "no"' in reply.text
    assert (reply.input_tokens, reply.output_tokens, reply.model) == (1000, 100, name.rpartition("/")[2])
    assert reply.cost is not None
    assert 0 < reply.cost < 0.01


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_arrives_as_it_is(name: str) -> None:
    """Every character of it, as itself, after the system's text; schema and settings go with it."""
    _, request = ask(name, Request.answers)
    assert request.text == "체계\n질문 “?” 質問 问题 🙂"
    assert request.items == ["i1", "i2"]
    assert request.choices == ["yes", "no"]
    config = request.body.get("generationConfig", request.body)
    assert config["temperature"] == 0.5


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("code", [408, 429, 500, 503])
def test_passing_trouble_is_told_from_lasting(name: str, code: int) -> None:
    """One request, and the wait that was asked for; only 429 and 503 are about too many calls."""
    with pytest.raises(RefusedError) as caught:
        ask(name, lambda _: Status(code, {"Retry-After": "7"}))
    assert (caught.value.overload, caught.value.after) == (code in {429, 503}, 7.0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("code", [400, 403, 422])
def test_lasting_trouble_is_not_to_be_repeated(name: str, code: int) -> None:
    """The cause is the server's own message."""
    with pytest.raises(CallError, match=f"HTTP {code}: scripted error") as caught:
        ask(name, lambda _: Status(code))
    assert not isinstance(caught.value, RefusedError)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("code", [401, 404])
def test_a_key_or_model_that_was_never_accepted_is_unusable(name: str, code: int) -> None:
    """What refuses the first call will refuse all."""
    with pytest.raises(UnusableModelError, match=f"HTTP {code}: scripted error"):
        ask(name, lambda _: Status(code))


@pytest.mark.parametrize("code", [401, 404])
def test_a_model_that_has_answered_stays_usable(code: int) -> None:
    """A later refusal is one call's."""

    async def twice(base_url: str) -> None:
        async with Provider(address("openai/m", Endpoint(base_url))) as model:
            await model(PROMPT)
            await model(PROMPT)

    def answer_once(request: Request) -> Status | str:
        return request.answers() if request.number == 1 else Status(code)

    with Loopback(answer_once) as server, pytest.raises(CallError, match=f"HTTP {code}"):
        asyncio.run(twice(f"{server.url}/v1"))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("action", [Drop(), Half(), Say(raw=b'{"choices": [{')])
def test_a_broken_connection_may_be_tried_again(name: str, action: Drop | Half | Say) -> None:
    """Dropped, half sent, malformed."""
    with pytest.raises(RefusedError):
        ask(name, lambda _: action)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("say", "stop"), [(Say(""), ""), (Say("", finish="content_filter"), "content_filter")])
def test_an_empty_reply_is_a_reply(name: str, say: Say, stop: str) -> None:
    """That nothing was said is for the judge to judge."""
    finish = "SAFETY" if name.startswith("gemini") and stop else say.finish
    reply, _ = ask(name, lambda _: Say("", finish=finish))
    assert (reply.text, reply.stop) == ("", stop)


@pytest.mark.parametrize("name", NAMES)
def test_keys_never_come_back(name: str) -> None:
    """Neither in a cause nor in a reply."""
    secret = os.environ["SERVER_KEY"]
    with pytest.raises(UnusableModelError, match=r"bad key \[secret\]"):
        ask(name, lambda _: Status(401, message=f"bad key {secret}"))
    reply, request = ask(name, lambda _: f"your key is {secret}")
    assert reply.text == "your key is [secret]"
    assert secret in "".join(request.headers.values())


def test_a_password_in_an_endpoint_is_not_said() -> None:
    """Where the server is said not to answer."""
    with Loopback(Request.answers) as server:
        base_url = server.url.replace("//", "//user:hunter2@")
    with pytest.raises(UnusableModelError, match=r"at http://127\.0\.0\.1"):
        asyncio.run(check("openai/m", base_url))


@pytest.mark.parametrize("variable", ["HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "ANTHROPIC_AUTH_TOKEN", "AZURE_APIKEY"])
def test_no_key_of_another_provider_comes_back_either(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the environment names a key."""
    monkeypatch.setenv(variable, "planted-elsewhere")
    assert ask(NAMES[0], lambda _: "it is planted-elsewhere")[0].text == "it is [secret]"


@pytest.mark.parametrize(
    ("name", "provider", "model"),
    [
        ("gemini-2.5-flash", "google", "gemini-2.5-flash"),
        ("openai/org/model:8b", "openai", "org/model:8b"),
        ("gpt-4o", "openai", "gpt-4o"),
        ("ollama/qwen3:4b", "ollama", "qwen3:4b"),
    ],
)
def test_a_name_says_its_provider(name: str, provider: str, model: str) -> None:
    """By its prefix, or by how its family is called."""
    at = address(name)
    assert (at.provider, at.model) == (provider, model)


def test_any_name_will_do_at_an_endpoint_of_ones_own() -> None:
    """A server that speaks OpenAI's protocol may call its models as it likes, and needs no key."""
    at = address("my-model", Endpoint("http://127.0.0.1:1/v1"))
    assert (at.provider, at.model) == ("openai", "my-model")


def test_an_unknown_provider_is_a_config_error() -> None:
    """With the nearest known one."""
    with pytest.raises(ConfigError, match="did you mean 'openai/'"):
        address("opanai/gpt-4o")


def test_a_missing_key_is_said_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the names of the variables that are looked at."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(UnusableModelError, match="no key; set ANTHROPIC_API_KEY"):
        asyncio.run(check("anthropic/claude-sonnet-4-5", None))


def test_an_unknown_setting_is_a_config_error() -> None:
    """With the nearest known one."""
    with pytest.raises(ConfigError, match="did you mean 'temperature'"):
        settings_for("google", {"temperatur": 0})


def test_a_thinking_budget_is_translated() -> None:
    """ADK's shape and the bare number mean the same."""
    shape = settings_for("google", {"thinking_config": {"thinking_budget": 0}})
    assert shape == settings_for("google", {"thinking_budget": 0})
    camel = settings_for("anthropic", {"thinking_config": {"thinkingBudget": 1024}})
    assert camel == settings_for("anthropic", {"thinking_budget": 1024})
    assert camel["anthropic_thinking"]["budget_tokens"] == 1024
    with pytest.raises(ConfigError, match="thinking_budget"):
        settings_for("openai", {"thinking_budget": 1024})


@pytest.mark.parametrize("budget", [10240, None])
def test_a_thinking_budget_that_nobody_asked_for_is_none(budget: int | None) -> None:
    """google-adk writes its default whatever the model is; where there are no budgets that says nothing."""
    unasked = {"include_thoughts": False, "thinking_budget": budget, "thinking_level": None}
    assert settings_for("openai", {"thinking_config": unasked}) == settings_for("openai", {})
    with pytest.raises(ConfigError, match="thinking_budget"):
        settings_for("openai", {"thinking_config": {**unasked, "thinking_budget": 1024}})


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"retry-after": "3"}, None, 3.0),
        ({"retry-after": "0.5"}, None, 0.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, None, 0.25),
        ({}, {"error": {"details": [{"@type": "x"}, {"retryDelay": "34s"}]}}, 34.0),
        ({}, {"error": {"details": "none"}}, None),
        ({"retry-after": "soon"}, None, None),
        ({}, "text", None),
    ],
)
def test_the_wait_is_read_from_header_or_body(headers: dict[str, str], body: object, seconds: float | None) -> None:
    """Seconds, milliseconds, Google's RetryInfo; what cannot be read is no wait."""
    assert retry_after(headers, body) == seconds


def test_the_wait_may_be_a_date() -> None:
    """An hour from now is about 3,600 s."""
    later = format_datetime(datetime.now(UTC) + timedelta(hours=1))
    seconds = retry_after({"retry-after": later})
    assert seconds is not None
    assert 3500 < seconds <= 3600


def test_prices_are_known_for_known_models_only() -> None:
    """What a local model costs, nobody can tell."""
    assert price_known(address("gemini-2.5-flash"))
    assert not price_known(address("ollama/qwen3:4b"))


async def check(name: str, base_url: str | None) -> None:
    """Look before anything runs."""
    async with ModelPool() as pool:
        pool.connected(NamedModel(name, endpoint=Endpoint(base_url)))
        await pool.check()


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_model_is_found_before_anything_runs(name: str) -> None:
    """The server lists what it has; no question is asked."""
    with Loopback(Request.answers) as server:
        server.models = ["gpt-4o", "gemini-2.5-pro", "claude-haiku-4-4"]
        with pytest.raises(UnusableModelError, match=r"no such model .*; did you mean"):
            asyncio.run(check(name, url(server, name)))
        assert server.requests == []


@pytest.mark.parametrize("name", NAMES)
def test_a_refused_key_is_found_before_anything_runs(name: str) -> None:
    """By its status."""
    with Loopback(Request.answers) as server:
        server.unauthorized = True
        with pytest.raises(UnusableModelError, match="key was refused"):
            asyncio.run(check(name, url(server, name)))


@pytest.mark.parametrize("name", NAMES)
def test_a_server_that_is_not_there_is_found_before_anything_runs(name: str) -> None:
    """Nothing listens on a port that was just closed."""
    with Loopback(Request.answers) as server:
        base_url = url(server, name)
    with pytest.raises(UnusableModelError, match="no answer"):
        asyncio.run(check(name, base_url))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("known", [True, False])
def test_a_server_that_has_the_model_or_tells_nothing_passes(name: str, known: bool) -> None:
    """Many small servers have no list of models."""
    with Loopback(Request.answers) as server:
        server.models = [name.rpartition("/")[2]] if known else None
        asyncio.run(check(name, url(server, name)))


def test_a_pool_connects_each_model_once() -> None:
    """Criteria with equal settings share one model, and so its cache, budget and pace."""
    pool = ModelPool()
    one, two = (pool.connected(NamedModel("gemini-2.5-flash", settings={"temperature": 0})) for _ in range(2))
    assert one is two
    assert pool.connected(NamedModel("gemini-2.5-flash", settings={"temperature": 1})) is not one


def test_a_model_has_one_pace_whatever_its_settings() -> None:
    """Told to wait for longer than it would, a model is not asked under other settings either; another model is."""

    async def ask_all(base_url: str) -> list[Reply | BaseException]:
        asked = [("gpt-4o-mini", 1), ("gpt-4o-mini", 2), ("gpt-4o", 1)]
        async with ModelPool() as pool:
            endpoint = Endpoint(base_url)
            models = [pool.connected(NamedModel(name, None, {"seed": seed}, endpoint)) for name, seed in asked]
            await pool.check()
            return [(await asyncio.gather(model(PROMPT), return_exceptions=True))[0] for model in models]

    def refuse(request: Request) -> Status | str:
        return Status(429, {"Retry-After": "500"}) if request.model == "gpt-4o-mini" else request.answers("yes")

    with Loopback(refuse) as server:
        outcomes = asyncio.run(ask_all(f"{server.url}/v1"))
        assert [type(one) for one in outcomes] == [CallError, UnsentError, Reply]
        assert len(server.requests) == 2


def test_a_budget_in_money_needs_a_price() -> None:
    """Before anything runs."""
    with pytest.raises(ConfigError, match="price is not known"):
        check_model(NamedModel("ollama/qwen3:4b"), ModelOptions(budget=Budget(max_cost=1.0)))


def test_a_server_without_schemas_is_asked_without_from_then_on() -> None:
    """A 400 that names response_format is no failure; it is noted once."""
    notes: list[str] = []

    async def twice(base_url: str) -> list[Reply]:
        async with Provider(address("openai/m", Endpoint(base_url)), note=notes.append) as model:
            return [await model(PROMPT), await model(PROMPT)]

    def answer(request: Request) -> Status | str:
        return Status(400, message="'response_format' is not supported") if request.schema else "yes"

    with Loopback(answer) as server:
        assert [one.text for one in asyncio.run(twice(f"{server.url}/v1"))] == ["yes", "yes"]
        assert [request.schema is None for request in server.requests] == [False, True, True]
    (note,) = notes
    assert "does not take JSON schemas (HTTP 400: 'response_format' is not supported)" in note


@pytest.mark.parametrize("message", ["You exceeded your quota: insufficient_quota", "Your credit balance is too low"])
def test_an_account_without_money_is_unusable(message: str) -> None:
    """No waiting ends that, although the status is that of overload."""
    with pytest.raises(UnusableModelError, match=message):
        ask("openai/gpt-4o-mini", lambda _: Status(429, message=message))


def test_each_draw_has_a_seed_of_its_own() -> None:
    """The seed of a vote is the seed of the settings and the number of the vote; a user's draw is no number."""

    async def draws(base_url: str) -> None:
        async with Provider(address("openai/m", Endpoint(base_url)), {"seed": 40}) as model:
            for draw in ("1", "2", '["c",1,2]', '["c",2,2]'):
                await model(replace(PROMPT, draw=draw))

    with Loopback(lambda _: "yes") as server:
        asyncio.run(draws(f"{server.url}/v1"))
        seeds = [request.body["seed"] for request in server.requests]
    assert seeds[:2] == [41, 42]
    assert len(set(seeds)) == 4


def test_the_settings_that_are_left_out_are_those_of_the_library() -> None:
    """Its older versions have no such lists, so that fairtrial has its own."""
    claude = pytest.importorskip("pydantic_ai.models.anthropic").AnthropicModel
    if not hasattr(claude, "unsupported_settings"):
        pytest.skip("needs a later Pydantic AI")
    bedrock = pytest.importorskip("pydantic_ai.models.bedrock").BedrockConverseModel
    assert claude.unsupported_settings == UNSUPPORTED_BY_ANTHROPIC
    assert bedrock.unsupported_settings == UNSUPPORTED_BY_BEDROCK


@pytest.mark.parametrize(
    ("name", "settings", "unsent"),
    [
        ("openai/gpt-4o", {"temperature": 0.5, "top_k": 3, "seed": None}, ("top_k",)),
        ("openai/o3-mini", {"temperature": 0.5, "seed": 1}, ("temperature",)),
        ("anthropic/claude-haiku-4-5", {"temperature": 0.5, "top_k": 3, "seed": 1}, ("seed",)),
        ("gemini-2.5-flash", {"temperature": 0.5, "top_k": 3, "seed": 1}, ()),
        ("ollama/qwen3:4b", {"top_k": 3}, ("top_k",)),
    ],
)
def test_what_a_model_does_not_take_is_known_and_not_sent(
    name: str, settings: dict[str, Json], unsent: tuple[str, ...]
) -> None:
    """The request holds the other settings."""
    assert unsent_settings(address(name), settings) == unsent

    async def once(base_url: str) -> None:
        async with Provider(address(name, Endpoint(base_url)), settings) as model:
            await model(replace(PROMPT, schema=None))

    with Loopback(lambda _: "yes") as server:
        asyncio.run(once(server.url if name.startswith(("gemini", "anthropic")) else f"{server.url}/v1"))
        body = json.dumps(server.requests[0].body).lower().replace("topk", "top_k")
    assert {setting for setting, value in settings.items() if value is not None and f'"{setting}"' in body} == {
        setting for setting, value in settings.items() if value is not None and setting not in unsent
    }


def test_an_older_model_has_the_form_of_the_answer_from_the_prompt() -> None:
    """What its provider has no schemas for is asked without one, instead of failing at every call."""
    name = "anthropic/claude-3-haiku-20240307"
    reply, request = ask(name, lambda _: '{"answers": []}')
    assert (reply.text, request.schema) == ('{"answers": []}', None)
