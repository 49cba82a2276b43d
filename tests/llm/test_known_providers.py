"""Each provider is called at its address, with its key, in its protocol."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from fairtrial.errors import ConfigError
from fairtrial.llm.address import address
from fairtrial.llm.endpoint import USUAL, Endpoint, mixed_sources
from fairtrial.llm.known_providers import ALIASES, PROVIDERS
from fairtrial.llm.model import NamedModel, UnusableModelError
from fairtrial.llm.model_pool import ModelPool
from fairtrial.records.record import Json
from fairtrial.records.reply import Prompt, Reply
from loopback import Loopback, Request, Say

PROMPT = Prompt(id="p", version="1", text="?", system="be brief")
CHAT = [name for name, known in PROVIDERS.items() if known.protocol == "chat" and name != "azure"]


@pytest.fixture(autouse=True)
def no_accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment without accounts at any provider."""
    for known in PROVIDERS.values():
        for name in (*known.keys, *known.url_variables):
            monkeypatch.delenv(name, raising=False)
    for name in ("GOOGLE_GENAI_USE_VERTEXAI", "OPENAI_API_VERSION", "AZURE_API_VERSION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)


def call(name: str, settings: dict[str, Json] | None = None, endpoint: Endpoint = USUAL) -> Reply:
    """Look a model up and call it once, as a run does."""

    async def called() -> Reply:
        async with ModelPool() as pool:
            model = pool.connected(NamedModel(name, None, settings or {}, endpoint))
            await pool.check()
            return await model(PROMPT)

    return asyncio.run(called())


@pytest.mark.parametrize("name", CHAT)
def test_a_provider_with_openais_protocol_gets_its_key_and_the_name_of_the_model(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name may hold slashes; only the first part is the provider."""
    known = PROVIDERS[name]
    monkeypatch.setenv(known.keys[0], f"the-key-of-{name}")
    with Loopback(lambda _: "yes") as server:
        monkeypatch.setenv(known.url_variables[0], f"{server.url}/api")
        assert call(f"{name}/vendor/small-model").text == "yes"
        (request,) = server.requests
    assert (request.path, request.model) == ("/api/chat/completions", "vendor/small-model")
    assert request.headers["authorization"] == f"Bearer the-key-of-{name}"
    assert request.text == "be brief\n?"


@pytest.mark.parametrize("alias", ALIASES)
def test_another_spelling_is_the_same_provider(alias: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """LiteLLM says `gemini/`, `together_ai/` and `hosted_vllm/`, pydantic-ai says `together/` and `moonshotai/`."""
    for variable in ("VLLM_BASE_URL", "LITELLM_PROXY_API_BASE", "AZURE_OPENAI_ENDPOINT"):
        monkeypatch.setenv(variable, "http://127.0.0.1:1")
    at = address(f"{alias}/m")
    assert (at.provider, at.model) == (ALIASES[alias], "m")


def test_two_spellings_of_a_model_have_one_signature() -> None:
    """Runs that differ in the spelling alone are comparable, and share the cache of calls."""
    assert NamedModel("gemini/gemini-2.5-flash").signature == NamedModel("gemini-2.5-flash").signature
    assert NamedModel("together/m").signature == NamedModel("together_ai/m").signature
    assert NamedModel("groq/m").signature != NamedModel("openai/m").signature


def test_an_unknown_prefix_is_answered_with_the_known_ones() -> None:
    """Sorted, and with the nearest."""
    with pytest.raises(ConfigError) as refused:
        address("bedrok/amazon.nova-lite-v1:0")
    for name in PROVIDERS:
        assert f"{name}/" in str(refused.value)
    assert str(refused.value).endswith("did you mean 'bedrock/'?")


def test_a_gateway_of_a_configuration_gets_the_whole_name() -> None:
    """Gateways call models `deepseek/deepseek-chat`. The key of the vendor does not go there."""
    with Loopback(lambda _: "yes") as server:
        call("deepseek/deepseek-chat", endpoint=Endpoint(f"{server.url}/v1"))
        assert server.requests[0].model == "deepseek/deepseek-chat"


@pytest.mark.parametrize("version", ["", "2024-10-21"])
def test_azure_is_called_at_the_resource_or_at_a_deployment(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a version it is the older API, which has the deployment in its path."""
    monkeypatch.setenv("AZURE_API_KEY", "the-key-of-azure")
    if version:
        monkeypatch.setenv("AZURE_API_VERSION", version)
    with Loopback(lambda _: "yes") as server:
        monkeypatch.setenv("AZURE_API_BASE", f"{server.url}/")
        assert call("azure/gpt-4o-mini").text == "yes"
        (request,) = server.requests
    old = "/openai/deployments/gpt-4o-mini/chat/completions?api-version=2024-10-21"
    assert request.path == (old if version else "/openai/v1/chat/completions")
    assert request.headers["api-key"] == "the-key-of-azure"
    assert "authorization" not in request.headers


@pytest.mark.parametrize("name", ["azure/m", "vllm/m", "litellm/m"])
def test_an_address_that_only_the_user_knows_is_asked_for(name: str) -> None:
    """With the variable to set."""
    with pytest.raises(ConfigError, match=rf"has no address; set {PROVIDERS[name[:-2]].url_variables[0]}"):
        address(name)


def test_the_seed_has_another_name_at_mistral(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its API refuses `seed`. Only OpenAI calls the most tokens of a reply `max_completion_tokens`."""
    monkeypatch.setenv("MISTRAL_API_KEY", "the-key-of-mistral")
    with Loopback(lambda _: "yes") as server:
        monkeypatch.setenv("MISTRAL_BASE_URL", server.url)
        call("mistral/mistral-small", {"seed": 4, "max_output_tokens": 9})
        body = server.requests[0].body
    assert (body["random_seed"], body["max_tokens"]) == (5, 9)
    assert not {"seed", "max_completion_tokens"} & body.keys()


@pytest.fixture
def google_cloud(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of application default credentials, and a project."""
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "adc.json"))
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "shop")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "europe-west4")
    return tmp_path / "adc.json"


def workload_credentials(server: Loopback, folder: Path) -> str:
    """Return credentials whose tokens a server makes: a workload identity, as builds have it."""
    (folder / "subject").write_text("the token of the build")
    kind = {"type": "external_account", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt"}
    source = {"credential_source": {"file": str(folder / "subject")}}
    return json.dumps({**kind, **source, "audience": "shop", "token_url": f"{server.url}/token"})


@pytest.mark.long
@pytest.mark.parametrize("name", ["vertex_ai/gemini-2.5-flash", "google-vertex/gemini-2.5-flash", "gemini-2.5-flash"])
def test_vertex_ai_is_called_with_the_credentials_of_google_cloud(
    name: str, google_cloud: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bare name is Vertex AI's if GOOGLE_GENAI_USE_VERTEXAI says so, as in ADK."""
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "TRUE")
    with Loopback(lambda _: "yes") as server:
        google_cloud.write_text(workload_credentials(server, google_cloud.parent))
        monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", server.url)
        reply = call(name)
        (request,) = server.requests
    assert (reply.text, reply.input_tokens) == ("yes", 1000)
    assert "projects/shop/locations/europe-west4/publishers/google/models/gemini-2.5-flash" in request.path
    assert request.headers["authorization"] == "Bearer planted-access-token"


@pytest.mark.long
def test_claude_is_called_at_vertex_ai(google_cloud: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With Anthropic's protocol and the credentials of Google Cloud, and never with the key of Anthropic."""
    pytest.importorskip("anthropic")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the-key-of-anthropic")
    with Loopback(lambda _: "yes") as server:
        google_cloud.write_text(workload_credentials(server, google_cloud.parent))
        monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", server.url)
        reply = call("vertex_ai/claude-sonnet-4-5@20250929", {"thinking_budget": 2048, "max_output_tokens": 4096})
        (request,) = server.requests
    assert (reply.text, reply.input_tokens) == ("yes", 1000)
    place = "projects/shop/locations/europe-west4/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict"
    assert request.path.replace("%40", "@") == f"/v1/{place}"
    assert request.headers["authorization"] == "Bearer planted-access-token"
    assert "the-key-of-anthropic" not in repr(request)
    assert request.body["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert address("vertex_ai/claude-sonnet-4-5").description.startswith("Anthropic's messages at ")


def test_a_prefix_goes_before_the_variable_of_vertex_ai(monkeypatch: pytest.MonkeyPatch) -> None:
    """`gemini/` is Google's API with a key, in LiteLLM too."""
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "1")
    assert address("gemini/gemini-2.5-flash").provider == "google"


@pytest.mark.long
def test_missing_credentials_of_google_cloud_are_reported(google_cloud: Path) -> None:
    """With what to do."""
    google_cloud.write_text("{}")
    with pytest.raises(UnusableModelError, match="set GOOGLE_APPLICATION_CREDENTIALS"):
        call("vertex_ai/gemini-2.5-flash")


@pytest.mark.long
def test_bedrock_is_called_in_its_protocol(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Requests are signed with the user's credentials. boto3 sends a bearer token to HTTPS addresses only."""
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDPLANTED")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-secret")
    with Loopback(lambda _: "yes") as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", server.url)
        reply = call("bedrock/amazon.nova-lite-v1:0", {"temperature": 0.5})
        (request,) = server.requests
    assert (reply.text, reply.input_tokens, reply.output_tokens) == ("yes", 1000, 100)
    assert (request.model, request.text) == ("amazon.nova-lite-v1:0", "be brief\n?")
    assert request.body["inferenceConfig"]["temperature"] == 0.5
    assert request.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDPLANTED/")
    assert "planted-secret" not in repr(request.headers)


def test_missing_credentials_of_aws_are_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With what to do."""
    for name in ("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(UnusableModelError, match="no credentials of AWS; set AWS_BEARER_TOKEN_BEDROCK"):
        call("bedrock/amazon.nova-lite-v1:0")


@pytest.mark.parametrize("name", ["vertex_ai/gemini-2.5-flash", "bedrock/amazon.nova-lite-v1:0"])
def test_cloud_credentials_never_go_to_an_address_of_a_configuration(name: str) -> None:
    """A stranger's file, or a `.env` file in a stranger's folder, would collect them."""
    with pytest.raises(ConfigError, match="signs in with your cloud credentials"):
        address(name, Endpoint("https://example.org"))
    variable = PROVIDERS[name.partition("/")[0]].url_variables[0]
    assert "would get your cloud credentials" in mixed_sources({variable: "https://example.org"}, {})


def test_a_gateway_beside_vertex_ai_is_called_as_google(monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable means Vertex AI's own address, and not an address of the configuration."""
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "TRUE")
    assert address("gemini-2.5-flash", Endpoint("http://127.0.0.1:1")).provider == "google"


@pytest.mark.parametrize(
    ("reply", "text", "stop"),
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab", ""),
        ({"content": "a", "reasoning_content": "thoughts"}, "a", ""),
        ({"content": None, "refusal": "I will not"}, "", "refusal: I will not"),
    ],
)
def test_replies_of_compatible_servers_are_read(reply: dict[str, Json], text: str, stop: str) -> None:
    """In parts, with thoughts beside the text, without usage, and with a refusal."""
    raw = json.dumps({"choices": [{"message": reply, "finish_reason": "stop"}]}).encode()
    with Loopback(lambda _: Say(raw=raw)) as server:
        answer = call("m", endpoint=Endpoint(f"{server.url}/v1"))
    assert (answer.text, answer.stop, answer.input_tokens, answer.model) == (text, stop, None, "m")


@pytest.mark.parametrize(
    ("name", "thinking", "effort"),
    [
        ("openai/o3-mini", "high", "high"),
        ("openai/gpt-5.1", False, "none"),
        ("openai/gpt-5", True, "medium"),
        ("openai/gpt-4o", "low", None),
        ("groq/openai/gpt-oss-20b", "low", "low"),
    ],
)
def test_thinking_is_an_effort_that_the_model_takes(
    name: str, thinking: Json, effort: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenAI's models take different efforts. Models that do not think get none."""
    with Loopback(lambda _: "yes") as server:
        for variable in ("OPENAI_BASE_URL", "GROQ_BASE_URL"):
            monkeypatch.setenv(variable, server.url)
        monkeypatch.setenv("GROQ_API_KEY", "the-key-of-groq")
        call(name, {"thinking": thinking})
        assert server.requests[0].body.get("reasoning_effort") == effort


def test_a_description_names_protocol_address_and_key_but_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `judge check --quick` prints it."""
    monkeypatch.setenv("GROQ_API_KEY", "the-key-of-groq")
    assert address("groq/m").description == (
        "OpenAI's chat completions at https://api.groq.com/openai/v1, with the key of GROQ_API_KEY"
    )
    assert address("m", Endpoint("http://u:pass@127.0.0.1:1/v1?key=x")).description == (
        "OpenAI's chat completions at http://127.0.0.1:1/v1, with no key"
    )
    assert address("vertex_ai/m").description == (
        "Gemini's generateContent at the provider's own address, with your cloud credentials"
    )


def test_a_short_word_in_place_of_a_key_is_not_taken_out_of_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Local servers get `OPENAI_API_KEY=dummy`."""
    monkeypatch.setenv("OPENAI_API_KEY", "dummy")

    def answer(_: Request) -> str:
        return "a dummy answer"

    with Loopback(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert call("openai/m").text == "a dummy answer"
