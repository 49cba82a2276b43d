"""Resolve a model name into its provider, address and key."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from typing import NoReturn

from fairtrial.errors import ConfigError, nearest
from fairtrial.llm.endpoint import (
    USUAL,
    Endpoint,
    Url,
    check_key_variable,
    keeps_key,
    read_url,
    secret_values,
    usual_url,
)
from fairtrial.llm.known_providers import ALIASES, CLAUDE_ON_VERTEX, FAMILIES, PROTOCOL_NAMES, PROVIDERS, KnownProvider
from fairtrial.llm.model import UnusableModelError

_RESPONSES = "responses/"
"""How a model's name begins that is asked with the Responses API at any address, for example at a gateway."""
_ONLY_RESPONSES = re.compile(r"codex-|gpt-[\d.]+(-[a-z]+)?-codex|(gpt-5[\d.]*|o1|o3)-pro(-|$)")
"""The models of OpenAI without chat completions."""
NO_KEY = "none"
"""A word in place of a key, because the clients of providers insist on a key."""


@dataclass(frozen=True)
class Address:
    """A model's address: its provider, its name there, and its URL if it is not the provider's own.

    `endpoint` is the endpoint that the configuration or the caller gives. `has_responses` says that the model is asked
    with OpenAI's Responses API.
    """

    provider: str
    model: str
    url: Url | None = None
    endpoint: Endpoint = USUAL
    has_responses: bool = False

    @property
    def known(self) -> KnownProvider:
        """The provider's table entry. Claude has its own protocol at Vertex AI."""
        if self.has_responses:
            return replace(PROVIDERS[self.provider], protocol="responses")
        is_claude = self.provider == "vertex_ai" and self.model.startswith("claude-")
        return CLAUDE_ON_VERTEX if is_claude else PROVIDERS[self.provider]

    @property
    def base_url(self) -> str | None:
        """The URL without secrets, or None for the provider's own."""
        return None if self.url is None else self.url.text

    @property
    def query(self) -> tuple[tuple[str, str], ...]:
        """The query parameters of every request."""
        return (*(self.url.query if self.url else ()), *self.endpoint.query)

    @property
    def receives_user_keys(self) -> bool:
        """Whether the address is the provider's own, or the address that the environment names."""
        return self.known.has_sign_in or any(keeps_key(key, self.url, self.provider) for key in self.known.keys)

    @property
    def key_variable(self) -> str | None:
        """The environment variable that holds the key for this address, or None if no variable with a key is set.

        A configured endpoint gets only the key that `api_key_env` names.
        """
        own_variable = self.endpoint.api_key_env
        if own_variable is not None:
            check_key_variable(own_variable, self.url, self.provider)
        elif not self.receives_user_keys:
            return None
        names = (own_variable,) if own_variable is not None else self.known.keys
        return next((name for name in names if os.environ.get(name)), None)

    @property
    def api_key(self) -> str:
        """The key for this address. Raises `UnusableModelError` if a key is needed and none is set."""
        variable = self.key_variable
        if variable is not None:
            return os.environ[variable]
        own_variable = self.endpoint.api_key_env
        if own_variable is None and not self._needs_key:
            return NO_KEY
        names = (own_variable,) if own_variable is not None else self.known.keys
        raise UnusableModelError(
            f"model {self.provider}/{self.model}: no key; set {' or '.join(names)}", code="missing-key"
        )

    @property
    def _needs_key(self) -> bool:
        # The variable OPENAI_BASE_URL often names a local server without keys.
        is_local = self.provider == "openai" and self.url is not None
        return self.known.needs_key and not self.known.has_sign_in and self.receives_user_keys and not is_local

    @property
    def description(self) -> str:
        """The protocol, the address and where the key comes from, for people. It holds no secret."""
        variable = self.key_variable
        key = "your cloud credentials" if self.known.has_sign_in else "no key"
        place = self.base_url or self.known.url or "the provider's own address"
        return f"{PROTOCOL_NAMES[self.known.protocol]} at {place}, with {f'the key of {variable}' if variable else key}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """The texts of this address that must not be shown, longest first."""
        own_variable = os.environ.get(self.endpoint.api_key_env, "") if self.endpoint.api_key_env else ""
        # A short word in place of a key, such as "dummy", may stand in any reply.
        keys = (key for name in self.known.keys if len(key := os.environ.get(name, "")) >= 8)
        password = self.url.userinfo.partition(":")[2] if self.url else ""
        values = [own_variable, password, *keys, *secret_values(self.endpoint.headers), *secret_values(self.query)]
        return tuple(sorted({value for value in values if len(value) >= 4}, key=len, reverse=True))


def address(name: str, endpoint: Endpoint = USUAL) -> Address:
    """Resolve a model's name, for example `gemini-2.5-flash`, `openai/NAME` or `groq/NAME`.

    A name without a provider, but with a `base_url`, belongs to an OpenAI-compatible server. Raises `ConfigError` for
    an unknown provider, and for a key that must not go to the endpoint.
    """
    provider, model = _split(name, has_base_url=endpoint.base_url is not None)
    if not provider or not model:
        _refuse_name(name)
    known = PROVIDERS[provider]
    if known.has_sign_in and replace(endpoint, price=None) != USUAL:
        raise ConfigError(
            f"model {name!r}: {provider} signs in with your cloud credentials, so a configuration must not give it "
            f"base_url, api_key_env, headers or query; set {known.url_variables[0]} in the environment"
        )
    base_url = endpoint.base_url or usual_url(provider)
    if base_url is None and not known.url and known.protocol == "chat":
        raise ConfigError(f"model {name!r}: {provider} has no address; set {' or '.join(known.url_variables)}")
    url = None if base_url is None else read_url(base_url)
    own_name = model.removeprefix(_RESPONSES) if provider in {"openai", "azure"} else model
    is_own_place = provider == "openai" and url is None
    has_responses = own_name != model or (is_own_place and _ONLY_RESPONSES.match(model) is not None)
    resolved = Address(provider, own_name, url, endpoint, has_responses)
    if endpoint.api_key_env is not None:
        check_key_variable(endpoint.api_key_env, resolved.url, provider)
    return resolved


def find_provider(name: str) -> str:
    """Return the provider that a name states, such as "google" for `gemini-2.5-flash`, or an empty text.

    If GOOGLE_GENAI_USE_VERTEXAI is true, a Gemini model without a prefix is Vertex AI's, as in google-genai and ADK.
    """
    prefix, slash, _ = name.partition("/")
    provider = ALIASES.get(prefix, prefix)
    if slash and provider in PROVIDERS:
        return provider
    owner = next((owner for start, owner in FAMILIES.items() if name.startswith(start)), "")
    return "vertex_ai" if owner == "google" and _uses_vertex() else owner


def _split(name: str, *, has_base_url: bool) -> tuple[str, str]:
    """Return the provider and the provider's model name."""
    prefix, _, model = name.partition("/")
    provider = find_provider(name)
    if has_base_url and provider == "vertex_ai" and prefix == name:
        return "google", name  # a gateway of the configuration never gets the credentials of Google Cloud
    if has_base_url and (not provider or PROVIDERS[provider].is_model_vendor):
        return "openai", name
    return provider, model if ALIASES.get(prefix, prefix) == provider else name


def _uses_vertex() -> bool:
    return os.environ.get("GOOGLE_GENAI_USE_VERTEXAI", "").lower() in {"true", "1"}


def _refuse_name(name: str) -> NoReturn:
    names = [f"{known}/" for known in PROVIDERS] + [f"{alias}/" for alias in ALIASES] + list(FAMILIES)
    shown = [*(f"{known}/" for known in sorted(PROVIDERS)), *FAMILIES]
    raise ConfigError(
        f"model {name!r} names no provider; begin it with one of {', '.join(shown)}, or give base_url"
        f"{nearest(name.partition('/')[0] + '/', names)}",
        code="unusable-model",
    )
