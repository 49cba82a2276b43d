"""A model that speaks OpenAI's chat completions over HTTP. It needs no SDK, so that it runs beside any version of one.

google-adk, crewai and others hold versions of openai that pydantic-ai's own model does not run with. This module loads
pydantic-ai and httpx2, so it is imported only when a model is opened.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
import msgspec
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import BinaryContent, ModelMessage, ModelResponse, SystemPromptPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.profiles.openai import (
    OPENAI_REASONING_EFFORT_MAP,
    OpenAIJsonSchemaTransformer,
    OpenAIModelProfile,
    openai_model_profile,
)
from pydantic_ai.settings import ModelSettings

from fairtrial.llm.address import NO_KEY, Address
from fairtrial.llm.known_providers import price_id
from fairtrial.records.decoding import json_decoder

UNSUPPORTED = frozenset(("top_k",))
"""The settings that OpenAI's protocols do not have."""
ONLY_CHAT = frozenset(("seed", "stop_sequences", "presence_penalty", "frequency_penalty"))
"""The settings that the Responses API does not have."""

_FIELDS = {
    "temperature": "temperature",
    "top_p": "top_p",
    "seed": "seed",
    "max_tokens": "max_tokens",
    "stop_sequences": "stop",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
}
"""The library settings, with their names in the protocol."""


class StatusError(Exception):
    """A look-up was refused."""

    def __init__(self, status_code: int, message: str) -> None:
        super().__init__(message)
        self.status_code = status_code


@dataclass
class ChatClient:
    """The protocol's requests. It also looks models up, as the SDKs' clients do."""

    address: Address
    http: httpx2.AsyncClient

    async def complete(self, body: Mapping[str, Any]) -> None:
        """Request a reply, which the transport keeps. Raises `ModelHTTPError` if it is refused."""
        path = "responses" if self.address.has_responses else "chat/completions"
        response = await self._send("POST", path, body)
        if response.status_code != 200:
            raise ModelHTTPError(
                response.status_code, self.address.model, _body(response), headers=dict(response.headers)
            )

    async def retrieve(self, name: str) -> None:
        """Raise `StatusError` if the server does not have a model."""
        await self._get(f"models/{name}")

    async def list(self) -> AsyncIterator[Any]:
        """Return the server's models. Raises `StatusError` if it has no list."""
        listed = json_decoder(_ModelList).decode(await self._get("models"))

        async def models() -> AsyncIterator[Any]:
            for model in listed.data:
                yield model

        return models()

    async def _get(self, path: str) -> bytes:
        response = await self._send("GET", path)
        if response.status_code != 200:
            raise StatusError(response.status_code, f"HTTP {response.status_code}: {response.text[:200]}")
        return response.content

    async def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> httpx2.Response:
        base, query = _base(self.address)
        headers = {"api-key" if self.address.provider == "azure" else "authorization": self._credential()}
        return await self.http.request(
            method,
            f"{base}/{path}",
            params=query or None,
            headers={**headers, "accept": "application/json", "content-type": "application/json"},
            content=None if body is None else msgspec.json.encode(body),
        )

    def _credential(self) -> str:
        key = self.address.api_key
        return key if self.address.provider == "azure" else f"Bearer {key or NO_KEY}"


class _ListedModel(msgspec.Struct):
    id: str


class _ModelList(msgspec.Struct):
    data: tuple[_ListedModel, ...]


class ChatModel(Model[ChatClient]):
    """A model on a server with OpenAI's chat completions, or its Responses API.

    Everything but the library's interface stands in functions, because the names of methods could be the library's.
    """

    unsupported_settings = UNSUPPORTED  # type: ignore[assignment]

    def __init__(self, chat_client: ChatClient) -> None:
        super().__init__(profile=chat_profile(chat_client.address))
        self.chat_client = chat_client

    @property
    def model_name(self) -> str:
        """The model name at its server."""
        return self.chat_client.address.model

    @property
    def system(self) -> str:
        """The provider name in the price table."""
        return price_id(self.chat_client.address.provider)

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Send messages of system and user. The transport keeps the reply, and the response has no content."""
        settings, parameters = self.prepare_request(model_settings, model_request_parameters)
        entries = list(_entries(messages, self.profile))
        fields = _settings_fields(self.chat_client.address.provider, settings or {})
        fields |= _request_fields(parameters, self.profile)
        body = {"model": self.model_name, "messages": entries, "stream": False, **fields}
        if self.chat_client.address.has_responses:
            body = _as_responses(body)
        await self.chat_client.complete(body)
        return ModelResponse(parts=[])


def _entries(messages: Sequence[ModelMessage], profile: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    system_role = profile.get("openai_system_prompt_role") or "system"
    for message in messages:
        for part in message.parts:
            if isinstance(part, SystemPromptPart):
                yield {"role": system_role, "content": part.content}
            elif isinstance(part, UserPromptPart):
                content = part.content
                yield {"role": "user", "content": content if isinstance(content, str) else list(map(_content, content))}


def _content(content: Any) -> dict[str, Any]:
    """Return a text, a picture or a sound of a message."""
    if isinstance(content, BinaryContent) and content.is_audio:
        return {"type": "input_audio", "input_audio": {"data": content.base64, "format": content.format}}
    if isinstance(content, BinaryContent):
        return {"type": "image_url", "image_url": {"url": content.data_uri}}
    return {"type": "text", "text": str(content)}


def _settings_fields(provider: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    fields = {field: settings[name] for name, field in _FIELDS.items() if settings.get(name) is not None}
    if provider in {"openai", "azure"} and "max_tokens" in fields:
        # OpenAI's models that think refuse the old name.
        fields["max_completion_tokens"] = fields.pop("max_tokens")
    if provider == "mistral" and "seed" in fields:
        fields["random_seed"] = fields.pop("seed")
    return fields


def _request_fields(parameters: ModelRequestParameters, profile: Mapping[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    effort = None if parameters.thinking is None else _effort(parameters.thinking, profile)
    if effort is not None:
        fields["reasoning_effort"] = effort
    shape = parameters.output_object
    if parameters.output_mode == "native" and shape is not None:
        schema: dict[str, Any] = {"name": shape.name or "answer", "schema": shape.json_schema}
        if shape.strict is not None:
            schema["strict"] = shape.strict
        fields["response_format"] = {"type": "json_schema", "json_schema": schema}
    return fields


def _as_responses(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a chat completion as that of a response, which the server does not store."""
    fields = {name: value for name, value in body.items() if name in {"model", "stream", "temperature", "top_p"}}
    fields |= {"input": body["messages"], "store": False}
    if "max_completion_tokens" in body:
        fields["max_output_tokens"] = body["max_completion_tokens"]
    if "reasoning_effort" in body:
        fields["reasoning"] = {"effort": body["reasoning_effort"]}
    if "response_format" in body:
        fields["text"] = {"format": {"type": "json_schema", **body["response_format"]["json_schema"]}}
    return fields


def chat_profile(address: Address) -> ModelProfile:
    """Return what is known about a model. OpenAI's own models are known one by one."""
    if address.provider in {"openai", "azure"}:
        return openai_model_profile(address.model)
    # Other servers refuse what they do not take, and their models do not follow OpenAI's names.
    return OpenAIModelProfile(
        json_schema_transformer=OpenAIJsonSchemaTransformer,
        supports_json_schema_output=not _is_ollama_cloud(address),
        supports_thinking=address.provider != "ollama",
    )


def _is_ollama_cloud(address: Address) -> bool:
    """Whether Ollama's cloud answers. It takes JSON schemas, and does not follow them."""
    host = address.url.host if address.url else ""
    return address.provider == "ollama" and (address.model.endswith("-cloud") or f".{host}".endswith(".ollama.com"))


def _base(address: Address) -> tuple[str, dict[str, str]]:
    """Return the start of every URL, and its query.

    For Azure it is the resource's current API, or one deployment's API if a version is set.
    """
    base = address.base_url or address.known.url
    if address.provider != "azure" or "/openai" in base:
        return base, {}
    version = _azure_version()
    if version:
        return f"{base}/openai/deployments/{address.model}", {"api-version": version}
    return f"{base}/openai/v1", {}


def _azure_version() -> str:
    return os.environ.get("OPENAI_API_VERSION") or os.environ.get("AZURE_API_VERSION") or ""


def _effort(thinking: bool | str, profile: Mapping[str, Any]) -> str | None:
    """Return the nearest effort of reasoning that a model takes, or None to leave it to the model."""
    order = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
    wanted = OPENAI_REASONING_EFFORT_MAP.get(thinking, thinking)  # type: ignore[arg-type]
    if wanted == "minimal" and not profile.get("openai_supports_minimal_reasoning_effort", True):
        wanted = "low"
    accepted = sorted(profile.get("openai_reasoning_efforts") or (), key=order.index)
    if not accepted:
        return None if thinking is False and profile.get("thinking_always_enabled") else str(wanted)
    if thinking is False:
        return str(accepted[0])
    stronger = [effort for effort in accepted if effort != "none" and order.index(effort) >= order.index(str(wanted))]
    return str((stronger or accepted[-1:])[0])


def _body(response: httpx2.Response) -> object:
    try:
        return msgspec.json.decode(response.content)
    except msgspec.DecodeError:
        return response.text
