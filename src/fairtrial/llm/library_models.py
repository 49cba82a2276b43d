"""Open pydantic-ai models. The provider libraries are loaded when a model is first opened."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fairtrial.errors import ConfigError, lacks_extra
from fairtrial.llm.known_providers import find_extra
from fairtrial.llm.model import UnusableModelError

if TYPE_CHECKING:
    from httpx2 import AsyncClient
    from pydantic_ai.models import Model

    from fairtrial.llm.address import Address


@dataclass(frozen=True)
class OpenModel:
    """A library model, its request client, and the object that looks models up.

    Bedrock has neither: boto3 brings its own client, and lists models at another service. Claude at Vertex AI cannot be
    looked up.
    """

    model: Model
    http: AsyncClient | None
    models: Any


def require_packages(at: Address) -> None:
    """Raise `ConfigError`, which names the provider's extra, if prompts cannot be written or models not be opened."""
    if find_spec("jinja2") is None or find_spec("pydantic_ai") is None:
        raise ConfigError(lacks_extra(f"model {at.provider}/{at.model}", find_extra(at.provider)))


def open_model(at: Address) -> OpenModel:
    """Return the model at an address. Raises `ConfigError` if the provider's extra is not installed."""
    require_packages(at)
    try:
        return _OPENERS[at.known.protocol](at)
    except ImportError as missing:
        raise ConfigError(lacks_extra(f"model {at.provider}/{at.model}", find_extra(at.provider))) from missing


def _open_chat(at: Address) -> OpenModel:
    from fairtrial.llm.chat_model import ChatClient, ChatModel
    from fairtrial.llm.guarded_client import guarded_client

    _ = at.api_key  # a missing key is reported before a client is made
    http = guarded_client(at)
    client = ChatClient(at, http)
    return OpenModel(ChatModel(client), http, client)


def _open_gemini(at: Address) -> OpenModel:
    from pydantic_ai.models.google import GoogleModel

    provider, http = _vertex(at) if at.provider == "vertex_ai" else _gemini(at)
    return OpenModel(GoogleModel(at.model, provider=provider), http, provider.client.aio.models)


def _gemini(at: Address) -> tuple[Any, AsyncClient]:
    from pydantic_ai.providers.google import GoogleProvider

    from fairtrial.llm.guarded_client import guarded_client

    key = at.api_key
    http = guarded_client(at)
    return GoogleProvider(api_key=key, base_url=at.base_url, http_client=http), http


def _vertex(at: Address) -> tuple[Any, AsyncClient]:
    from pydantic_ai.providers.google_cloud import GoogleCloudProvider

    from fairtrial.llm.guarded_client import guarded_client

    sign_in = _sign_in(at)
    http = guarded_client(at)
    return GoogleCloudProvider(**sign_in, base_url=at.base_url, http_client=http), http


def _sign_in(at: Address) -> dict[str, Any]:
    """Return a Google Cloud user's credentials, project and location."""
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError

    try:
        credentials, project = google.auth.default(scopes=["https://www.googleapis.com/auth/cloud-platform"])
    except DefaultCredentialsError:
        raise UnusableModelError(
            f"model {at.provider}/{at.model}: no credentials of Google Cloud; run 'gcloud auth application-default "
            "login', or set GOOGLE_APPLICATION_CREDENTIALS",
            code="missing-key",
        ) from None
    project = os.environ.get("GOOGLE_CLOUD_PROJECT") or project
    if not project:
        raise UnusableModelError(
            f"model {at.provider}/{at.model}: no project; set GOOGLE_CLOUD_PROJECT", code="missing-key"
        )
    location = os.environ.get("GOOGLE_CLOUD_LOCATION") or "global"
    return {"credentials": credentials, "project": project, "location": location}


def _open_messages(at: Address) -> OpenModel:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    from fairtrial.llm.guarded_client import guarded_client

    if at.known.has_sign_in:
        return _open_claude_on_vertex(at)
    key = at.api_key
    http = guarded_client(at)
    provider = AnthropicProvider(api_key=key, base_url=at.base_url, http_client=http)
    client: Any = provider.client
    # An option of each call would make the library open a client per call.
    client.max_retries = 0
    return OpenModel(AnthropicModel(at.model, provider=provider), http, client.models)


def _open_claude_on_vertex(at: Address) -> OpenModel:
    """Return Claude at Vertex AI, which has Anthropic's protocol, Google's credentials, and no list of models."""
    try:
        from anthropic import AsyncAnthropicVertex
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider
    except ImportError as missing:
        raise ConfigError(lacks_extra(f"model {at.provider}/{at.model}", "anthropic")) from missing

    from fairtrial.llm.guarded_client import guarded_client

    sign_in = _sign_in(at)
    http = guarded_client(at)
    client = AsyncAnthropicVertex(
        credentials=sign_in["credentials"],
        project_id=sign_in["project"],
        region=sign_in["location"],
        base_url=None if at.base_url is None else f"{at.base_url}/v1",
        max_retries=0,
        http_client=http,
    )
    return OpenModel(AnthropicModel(at.model, provider=AnthropicProvider(anthropic_client=client)), http, None)


def _open_converse(at: Address) -> OpenModel:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError
    from pydantic_ai.models.bedrock import BedrockConverseModel
    from pydantic_ai.providers.bedrock import BedrockProvider

    from fairtrial.llm.guarded_client import SECONDS, read_converse

    where = f"model {at.provider}/{at.model}"
    session = boto3.Session()
    if not os.environ.get("AWS_BEARER_TOKEN_BEDROCK") and session.get_credentials() is None:
        raise UnusableModelError(
            f"{where}: no credentials of AWS; set AWS_BEARER_TOKEN_BEDROCK, or sign in with aws", code="missing-key"
        )
    limits = Config(
        retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=SECONDS, max_pool_connections=100
    )
    try:
        client = session.client(
            "bedrock-runtime", region_name=os.environ.get("AWS_REGION"), endpoint_url=at.base_url, config=limits
        )
    except (BotoCoreError, ValueError) as problem:
        raise UnusableModelError(f"{where}: {problem}; set AWS_REGION") from None
    client.meta.events.register("before-parse.bedrock-runtime.Converse", read_converse)
    return OpenModel(BedrockConverseModel(at.model, provider=BedrockProvider(bedrock_client=client)), None, None)


_OPENERS = {
    "chat": _open_chat,
    "responses": _open_chat,
    "gemini": _open_gemini,
    "messages": _open_messages,
    "converse": _open_converse,
}
