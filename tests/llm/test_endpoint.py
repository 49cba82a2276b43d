"""Keys go to their own provider, or to the address that the environment names, and to nobody else."""

from __future__ import annotations

import asyncio
import logging

import pytest

from fairtrial.errors import ConfigError
from fairtrial.llm.address import address
from fairtrial.llm.endpoint import USUAL, Endpoint, mixed_sources
from fairtrial.llm.known_providers import PROVIDERS
from fairtrial.llm.model import CallError, NamedModel, UnusableModelError
from fairtrial.llm.model_pool import ModelPool
from fairtrial.llm.provider import Provider
from fairtrial.llm.secrets import without_credentials
from fairtrial.records.reply import Prompt, Reply
from loopback import Loopback, Say, Status

pytestmark = pytest.mark.long

NAMES = ["openai/gpt-4o-mini", "gemini-2.5-flash", "anthropic/claude-haiku-4-5", "ollama/qwen3:4b"]
PROMPT = Prompt(id="p", version="1", text="?")
PLANTED = "planted-0123456789"


@pytest.fixture(autouse=True)
def user_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every key that a user may have, and whatever else the SDKs take from the environment."""
    for names in (known.keys for known in PROVIDERS.values()):
        for name in names:
            monkeypatch.setenv(name, f"{PLANTED}-{name}")
    for name in ("ANTHROPIC_AUTH_TOKEN", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, f"{PLANTED}-{name}")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"x-mine: {PLANTED}-header")
    monkeypatch.setenv("SERVER_KEY", "the-servers-own-key")
    for name in (name for known in PROVIDERS.values() for name in known.url_variables):
        monkeypatch.delenv(name, raising=False)


def url(server: Loopback, name: str) -> str:
    """Where a provider's client looks for its own paths."""
    return f"{server.url}/v1" if name.startswith(("openai", "ollama")) else server.url


def call(name: str, endpoint: Endpoint = USUAL) -> Reply:
    """Look the model up, and call it once, as a run does."""

    async def called() -> Reply:
        async with ModelPool() as pool:
            model = pool.connected(NamedModel(name, endpoint=endpoint))
            await pool.check()
            return await model(PROMPT)

    return asyncio.run(called())


def sent(server: Loopback) -> str:
    """Return the paths and headers of everything that a server received."""
    asked = [(request.path, request.headers) for request in server.requests]
    assert asked
    return repr([*server.look_ups, *asked])


@pytest.mark.parametrize("name", NAMES)
def test_an_endpoint_of_a_configuration_gets_no_key_of_the_user(name: str) -> None:
    """Neither in the look-up of the model nor in the call, and nothing else that the environment holds."""
    with Loopback(lambda _: "yes") as server:
        call(name, Endpoint(url(server, name)))
        assert PLANTED not in sent(server)
        assert len(server.look_ups) >= 1


@pytest.mark.parametrize("name", NAMES)
def test_the_address_that_the_environment_names_gets_the_key(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether or not the configuration names the same address."""
    provider = address(name).provider
    for configured in (False, True):
        with Loopback(lambda _: "yes") as server:
            monkeypatch.setenv(PROVIDERS[provider].url_variables[0], url(server, name))
            call(name, Endpoint(url(server, name) + "/") if configured else Endpoint())
            assert f"{PLANTED}-{PROVIDERS[provider].keys[0]}" in sent(server)


@pytest.mark.parametrize("name", NAMES)
def test_an_endpoint_gets_its_own_key_headers_and_query(name: str) -> None:
    """With every request."""
    endpoint = Endpoint("", "SERVER_KEY", (("X-Tenant", "blue"),), (("api-version", "3"),))
    with Loopback(lambda _: "yes") as server:
        call(name, Endpoint(url(server, name), endpoint.api_key_env, endpoint.headers, endpoint.query))
        for path, headers in [*server.look_ups, *((request.path, request.headers) for request in server.requests)]:
            assert "api-version=3" in path
            assert headers["x-tenant"] == "blue"
            assert "the-servers-own-key" in repr(headers)


def test_a_header_of_the_configuration_wins_over_the_key() -> None:
    """Some gateways have a scheme of their own."""
    with Loopback(lambda _: "yes") as server:
        call("m", Endpoint(f"{server.url}/v1", headers=(("Authorization", "Token abc"),)))
        assert server.requests[0].headers["authorization"] == "Token abc"


def test_user_and_password_of_a_url_arrive_as_basic_authorization() -> None:
    """`user:p@ss` in base 64 is dXNlcjpwQHNz; the password may hold an @."""
    with Loopback(lambda _: "yes") as server:
        call("m", Endpoint(server.url.replace("//", "//user:p@ss@") + "/v1?key=hunter2"))
        assert server.requests[0].headers["authorization"] == "Basic dXNlcjpwQHNz"
        assert server.requests[0].path.endswith("?key=hunter2")


@pytest.mark.parametrize("name", NAMES)
def test_a_redirect_is_not_followed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other server would get the key, and the conversation."""

    async def call_once() -> None:
        async with Provider(address(name, Endpoint(None, "SERVER_KEY"))) as model:
            await model(PROMPT)

    with (
        Loopback(lambda _: "yes") as other,
        Loopback(lambda one: Status(307, {"location": other.url + one.path})) as server,
    ):
        monkeypatch.setenv(address(name).known.url_variables[0], url(server, name))
        with pytest.raises(CallError):
            asyncio.run(call_once())
        assert other.requests == []


@pytest.mark.parametrize(
    ("variable", "base_url"),
    [
        ("OPENAI_API_KEY", "https://example.org/v1"),
        ("OPENAI_API_KEY", "https://api.openai.com.example.org/v1"),
        ("OPENAI_API_KEY", "https://api.openai.com@example.org/v1"),
        ("OPENAI_API_KEY", "http://api.openai.com/v1"),
        ("GEMINI_API_KEY", "https://api.openai.com/v1"),
        ("GROQ_API_KEY", "https://example.org/v1"),
        ("GITHUB_TOKEN", "https://example.org/v1"),
        ("AWS_SECRET_ACCESS_KEY", "https://example.org/v1"),
    ],
)
def test_a_configuration_cannot_name_the_key_of_another_service(variable: str, base_url: str) -> None:
    """A stranger's file would collect it."""
    with pytest.raises(ConfigError, match=f"api_key_env: {variable} .* must not get it"):
        address("openai/m", Endpoint(base_url, variable))


@pytest.mark.parametrize(
    ("variable", "base_url"),
    [
        ("OPENAI_API_KEY", "https://eu.api.openai.com/v1"),
        ("GROQ_API_KEY", "https://api.groq.com/openai/v1"),
        ("AZURE_OPENAI_API_KEY", "https://mine.openai.azure.com/openai/v1"),
        ("MY_SERVER_KEY", "http://10.0.0.7:8000/v1"),
    ],
)
def test_a_key_may_go_to_its_own_service(variable: str, base_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a key of another name anywhere."""
    monkeypatch.setenv(variable, "the key")
    assert address("openai/m", Endpoint(base_url, variable)).api_key == "the key"


def test_a_key_that_is_not_set_is_reported_before_anything_runs() -> None:
    """With the name of its variable."""
    with Loopback(lambda _: "yes") as server, pytest.raises(UnusableModelError, match="no key; set ABSENT_KEY"):
        call("m", Endpoint(f"{server.url}/v1", "ABSENT_KEY"))


SECRETS = ("pa55", "word1", "query-secret", "header-secret", "the-servers-own-key")


def test_no_secret_of_an_endpoint_is_in_an_error_or_a_log(caplog: pytest.LogCaptureFixture) -> None:
    """Whether the server repeats it, or is not there."""
    caplog.set_level(logging.DEBUG)
    headers, query = (("X-Auth", "Token header-secret"),), (("key", "query-secret"),)
    with Loopback(lambda _: Status(400, message=f"bad {' '.join(SECRETS)} in http://u:pa55@word1@h/?key=x")) as server:
        base_url = server.url.replace("//", "//user:pa55@word1@") + "/v1?token=query-secret"
        endpoint = Endpoint(base_url, "SERVER_KEY", headers, query)
        with pytest.raises(Exception, match="HTTP 400") as refused:
            call("m", endpoint)
    with pytest.raises(UnusableModelError, match="no answer") as absent:
        call("m", endpoint)
    for text in (str(refused.value), str(absent.value), repr(endpoint), repr(address("m", endpoint)), caplog.text):
        assert [secret for secret in SECRETS if secret in text and secret not in {"pa55", "word1"}] == []
        assert "pa55@word1" not in text


@pytest.mark.parametrize("base_url", ["localhost:8000", "ftp://h/v1", "http://", "http://h:99999/", "http://u:p/w@h"])
def test_a_url_that_cannot_be_used_is_refused_without_being_repeated(base_url: str) -> None:
    """It may hold a password."""
    with pytest.raises(ConfigError) as refused:
        address("m", Endpoint(base_url))
    assert str(refused.value) == "base_url must be a URL such as http://localhost:8000/v1"


def test_urls_in_a_text_lose_user_password_and_query() -> None:
    """The rest of the text stays."""
    text = "GET https://u:p@ss@h.org:8/v1?key=a&b=c, then 'http://h/x' failed"
    assert without_credentials(text) == "GET https://h.org:8/v1?... then 'http://h/x' failed"


def test_an_address_and_a_key_of_two_sources_are_not_mixed() -> None:
    """A file may name an address with its own key, but not with the key of the environment."""
    file = {"OPENAI_BASE_URL": "http://example.org"}
    assert "OPENAI_BASE_URL stands here, but OPENAI_API_KEY is set elsewhere" in mixed_sources(
        file, {"OPENAI_API_KEY": "k"}
    )
    assert mixed_sources(file, {}) == ""
    assert mixed_sources({**file, "OPENAI_API_KEY": "k"}, {"GEMINI_API_KEY": "x"}) == ""
    assert mixed_sources(file, {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://own"}) == ""
    assert mixed_sources({**file, "OPENAI_API_KEY": "other"}, {"OPENAI_API_KEY": "k"}) != ""


def test_a_reply_keeps_its_urls() -> None:
    """Only errors are cleaned of the queries of URLs: a reply is quoted and parsed."""
    with Loopback(lambda _: Say("see http://h/x?page=2")) as server:
        assert call("m", Endpoint(f"{server.url}/v1")).text == "see http://h/x?page=2"
