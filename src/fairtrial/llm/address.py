"""Which provider serves a model, at which address, and with which key?"""

from __future__ import annotations

import os
from dataclasses import dataclass

from fairtrial.errors import ConfigError, nearest
from fairtrial.llm.endpoint import (
    KEYS,
    USUAL,
    Endpoint,
    Url,
    check_key_variable,
    keeps_key,
    secret_values,
    url_of,
    usual_url,
)
from fairtrial.llm.model import UnusableModelError

PREFIXES = {"gemini-": "google", "gemma-": "google", "gpt-": "openai", "claude-": "anthropic"}
NO_KEY = "none"
"""A word in place of a key, because the clients of providers insist on a key."""


@dataclass(frozen=True)
class Address:
    """The address of a model: its provider, its name there, and its URL if it is not the provider's own.

    `endpoint` is the endpoint that the configuration or the caller gives.
    """

    provider: str
    model: str
    url: Url | None = None
    endpoint: Endpoint = USUAL

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
        return any(keeps_key(variable, self.url, self.provider) for variable in KEYS[self.provider])

    @property
    def api_key(self) -> str:
        """The key for this address, from the environment.

        Raises `UnusableModelError` if a key is needed and none is set. An endpoint of a configuration gets only the key
        that `api_key_env` names.
        """
        own_variable = self.endpoint.api_key_env
        if own_variable is not None:
            check_key_variable(own_variable, self.url, self.provider)
        elif not self.receives_user_keys:
            return NO_KEY
        names = (own_variable,) if own_variable is not None else KEYS[self.provider]
        key = next((os.environ[name] for name in names if os.environ.get(name)), None)
        if key is not None:
            return key
        if own_variable is None and (self.provider == "ollama" or (self.provider == "openai" and self.url)):
            return NO_KEY
        raise UnusableModelError(f"model {self.provider}/{self.model}: no key; set {' or '.join(names)}")

    @property
    def secrets(self) -> tuple[str, ...]:
        """The texts of this address that must not be shown, longest first."""
        own_variable = os.environ.get(self.endpoint.api_key_env, "") if self.endpoint.api_key_env else ""
        password = self.url.userinfo.partition(":")[2] if self.url else ""
        values = [own_variable, password, *secret_values(self.endpoint.headers), *secret_values(self.query)]
        return tuple(sorted({value for value in values if len(value) >= 4}, key=len, reverse=True))


def address(name: str, endpoint: Endpoint = USUAL) -> Address:
    """Resolve a model's name: `gemini-…`, `openai/…`, `anthropic/…`, `ollama/…`.

    A name without a provider, but with a `base_url`, belongs to an OpenAI-compatible server. Raises `ConfigError` for
    an unknown provider, and for a key that must not go to the endpoint.
    """
    provider, model = provider_of(name), name
    if provider and name.startswith(f"{provider}/"):
        model = name.partition("/")[2]
    provider = provider or ("openai" if endpoint.base_url else "")
    if not provider or not model:
        names = [*(f"{known}/" for known in KEYS), *PREFIXES]
        raise ConfigError(
            f"model {name!r} names no provider; begin it with one of {', '.join(names)}, or give base_url"
            f"{nearest(name.partition('/')[0] + '/', names)}"
        )
    base_url = endpoint.base_url or usual_url(provider)
    resolved = Address(provider, model, None if base_url is None else url_of(base_url), endpoint)
    if endpoint.api_key_env is not None:
        check_key_variable(endpoint.api_key_env, resolved.url, provider)
    return resolved


def provider_of(name: str) -> str:
    """Return the provider that a name states, such as "google" for `gemini-2.5-flash`, or an empty text."""
    provider, slash, _ = name.partition("/")
    if slash and provider in KEYS:
        return provider
    return next((owner for prefix, owner in PREFIXES.items() if name.startswith(prefix)), "")
