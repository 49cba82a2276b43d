"""Model endpoints: URL, headers and prices, and the keys that may be sent there."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from fairtrial.errors import ConfigError
from fairtrial.llm.known_providers import OTHER_KEY_HOSTS, PROVIDERS
from fairtrial.text.lazy_pattern import LazyPattern

_HOSTS = {
    **{key: provider.key_hosts for provider in PROVIDERS.values() for key in provider.keys},
    **OTHER_KEY_HOSTS,
}
"""The hosts of known services, by the variable that users keep the service key in."""

_OTHER_SERVICES = LazyPattern(
    r"(AWS|AZURE|CI|CLOUDFLARE|DATABASE|DOCKER|FAIRTRIAL_AGENT|GCP|GH|GITHUB|GITLAB|GOOGLE|KUBE|NPM|OPENAI|PG|PYPI|SLACK|"
    r"SMTP|SSH|STRIPE|TWINE|UV|VAULT)_"
)
"""How the names of credentials begin that no model needs."""

_SECRET_NAME = LazyPattern(
    r"key|token|secret|passw|auth|cookie|credential|\bsig\b|signature|session|\bcode\b", re.compile, re.IGNORECASE
)
_BASE_URL = LazyPattern(r"https?://[^\s\\\x00-\x1f]+", re.compile, re.IGNORECASE)


@dataclass(frozen=True)
class TokenPrice:
    """A model price in US dollars per million tokens."""

    input: float
    output: float

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """Return the price of so many tokens."""
        return (self.input * input_tokens + self.output * output_tokens) / 1e6


@dataclass(frozen=True)
class Endpoint:
    """A server address and what its requests carry. It says nothing about the numbers, so it has no signature.

    Without a `base_url`, the provider's usual address is meant. `api_key_env` names the variable that holds the key. A
    `price` takes precedence over the known model price.
    """

    base_url: str | None = field(default=None, repr=False)
    api_key_env: str | None = None
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    query: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    price: TokenPrice | None = None


USUAL = Endpoint()
"""The endpoint that the provider or the environment names."""


@dataclass(frozen=True)
class Url:
    """A URL without its user, password and query, and what was taken off. Only `text` may be shown."""

    text: str
    userinfo: str = field(default="", repr=False)
    query: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def host(self) -> str:
        """The host in lower case."""
        return urlsplit(self.text).hostname or ""


def read_url(raw: str) -> Url:
    """Return a base URL's parts. Raises `ConfigError`, which does not repeat the URL, if it cannot be used."""
    problem = "base_url must be a URL such as http://localhost:8000/v1"
    if not _BASE_URL.fullmatch(raw):
        raise ConfigError(problem)
    try:
        parts = urlsplit(raw)
        # A password may contain "@", so the last one ends the user information.
        userinfo, _, place = parts.netloc.rpartition("@")
        usable = bool(parts.hostname) and parts.port != 0 and not parts.fragment
    except ValueError:
        raise ConfigError(problem) from None
    if not usable:
        raise ConfigError(problem)
    text = f"{parts.scheme.lower()}://{place}{parts.path.rstrip('/')}"
    return Url(text, unquote(userinfo), tuple(parse_qsl(parts.query, keep_blank_values=True)))


def usual_url(provider: str) -> str | None:
    """Return the provider address that the environment names, or None for the provider's own."""
    return next((os.environ[name] for name in PROVIDERS[provider].url_variables if os.environ.get(name)), None)


def keeps_key(variable: str, url: Url | None, provider: str) -> bool:
    """Whether a user's key may go to an address.

    It may go to its own service's hosts, and to the address that the environment itself names for the provider.
    """
    if url is None:
        return variable in PROVIDERS[provider].keys or variable not in _HOSTS
    owner = next((owner for owner, known in PROVIDERS.items() if variable in known.keys), None)
    usual = usual_url(owner) if owner else None
    if usual is not None and read_url(usual).text == url.text:
        return True
    hosts = _HOSTS.get(variable, ())
    return url.text.startswith("https://") and any(url.host == host or url.host.endswith(f".{host}") for host in hosts)


def check_key_variable(variable: str, url: Url | None, provider: str) -> None:
    """Raise `ConfigError` if a configuration would send a service key, or another credential, elsewhere."""
    is_known = variable in _HOSTS or bool(_OTHER_SERVICES.match(variable))
    if is_known and not keeps_key(variable, url, provider):
        own = _HOSTS.get(variable)
        where = f"belongs to {own[0]}" if own else "is a credential of another service"
        place = f"{url.host} " if url is not None else f"{provider} "
        raise ConfigError(
            f"api_key_env: {variable} {where}, so {place}must not get it; keep the key of this endpoint in a variable "
            "of its own, such as MY_SERVER_KEY"
        )


def secret_values(pairs: tuple[tuple[str, str], ...]) -> list[str]:
    """Return the values of headers or query parameters whose names say that they are secret."""
    values = [value for name, value in pairs if _SECRET_NAME.search(name)]
    # "Bearer abc" is a scheme and a key, and a server may repeat the key alone.
    return [part for value in values for part in {value, value.rpartition(" ")[2]} if len(part) >= 4]


def mixed_sources(values: Mapping[str, str | None], environment: Mapping[str, str]) -> str:
    """Return why a file of variables must not be used, or an empty text.

    A file that names a provider's address would otherwise receive the key that the environment already holds.
    """
    for provider in PROVIDERS.values():
        for endpoint in provider.url_variables:
            if not values.get(endpoint) or environment.get(endpoint):
                continue
            if provider.has_sign_in:
                return f"{endpoint} stands here, but its server would get your cloud credentials; set it elsewhere"
            for key in provider.keys:
                if environment.get(key) and environment[key] != values.get(key):
                    return (
                        f"{endpoint} stands here, but {key} is set elsewhere; a key goes only to the address that is "
                        f"named beside it. Set {endpoint} in the environment too, or unset {key}"
                    )
    return ""
