"""Where does a model listen, what do its requests carry, and which keys may go there?"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit

from fairtrial.errors import ConfigError

KEYS = {
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "ollama": ("OLLAMA_API_KEY",),
}
"""The variables that hold the key of a provider. The first that is set counts."""

ENDPOINTS = {
    "google": "GOOGLE_GEMINI_BASE_URL",
    "openai": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
    "ollama": "OLLAMA_BASE_URL",
}
"""The variables that name another address of a provider."""

OLLAMA_URL = "http://localhost:11434/v1"

_HOSTS = {
    "GOOGLE_API_KEY": "generativelanguage.googleapis.com",
    "GEMINI_API_KEY": "generativelanguage.googleapis.com",
    "OPENAI_API_KEY": "api.openai.com",
    "ANTHROPIC_API_KEY": "api.anthropic.com",
    "ANTHROPIC_AUTH_TOKEN": "api.anthropic.com",
    "OLLAMA_API_KEY": "ollama.com",
    "AZURE_OPENAI_API_KEY": "openai.azure.com cognitiveservices.azure.com services.ai.azure.com",
    "AWS_BEARER_TOKEN_BEDROCK": "amazonaws.com",
    "CEREBRAS_API_KEY": "api.cerebras.ai",
    "COHERE_API_KEY": "api.cohere.com api.cohere.ai",
    "DASHSCOPE_API_KEY": "aliyuncs.com",
    "DEEPINFRA_API_KEY": "api.deepinfra.com",
    "DEEPSEEK_API_KEY": "api.deepseek.com",
    "FIREWORKS_API_KEY": "api.fireworks.ai",
    "GROQ_API_KEY": "api.groq.com",
    "HF_TOKEN": "huggingface.co",
    "MISTRAL_API_KEY": "api.mistral.ai",
    "MOONSHOT_API_KEY": "api.moonshot.ai api.moonshot.cn",
    "NVIDIA_API_KEY": "api.nvidia.com",
    "OPENROUTER_API_KEY": "openrouter.ai",
    "PERPLEXITY_API_KEY": "api.perplexity.ai",
    "TOGETHER_API_KEY": "api.together.xyz api.together.ai",
    "XAI_API_KEY": "api.x.ai",
    "ZHIPUAI_API_KEY": "bigmodel.cn",
}
"""The hosts of known services, by the variable that users keep the key of the service in."""

_OTHER_SERVICES = re.compile(
    r"(AWS|AZURE|CI|CLOUDFLARE|DATABASE|DOCKER|FAIRTRIAL_AGENT|GCP|GH|GITHUB|GITLAB|GOOGLE|KUBE|NPM|OPENAI|PG|PYPI|SLACK|"
    r"SMTP|SSH|STRIPE|TWINE|UV|VAULT)_"
)
"""How the names of credentials begin that no model needs."""

_SECRET_NAME = re.compile(
    r"key|token|secret|passw|auth|cookie|credential|\bsig\b|signature|session|\bcode\b", re.IGNORECASE
)
_BASE_URL = re.compile(r"https?://[^\s\\\x00-\x1f]+", re.IGNORECASE)


@dataclass(frozen=True)
class TokenPrice:
    """The price of a model in US dollars per million tokens."""

    input: float
    output: float

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """Return the price of so many tokens."""
        return (self.input * input_tokens + self.output * output_tokens) / 1e6


@dataclass(frozen=True)
class Endpoint:
    """The address of a server and what its requests carry. It says nothing about the numbers, so it has no signature.

    Without a `base_url`, the provider's usual address is meant. `api_key_env` names the variable that holds the key.
    A `price` takes precedence over the known price of the model.
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


def url_of(raw: str) -> Url:
    """Return the parts of a base URL. Raises `ConfigError`, which does not repeat the URL, if it cannot be used."""
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
    """Return the address of a provider that the environment names, or None for the provider's own."""
    return os.environ.get(ENDPOINTS[provider]) or (OLLAMA_URL if provider == "ollama" else None)


def keeps_key(variable: str, url: Url | None, provider: str) -> bool:
    """Whether a key of the user may go to an address.

    It may go to the hosts of its own service, and to the address that the environment itself names for the provider.
    """
    if url is None:
        return variable in KEYS[provider] or variable not in _HOSTS
    owner = next((owner for owner, names in KEYS.items() if variable in names), None)
    usual = usual_url(owner) if owner else None
    if usual is not None and url_of(usual).text == url.text:
        return True
    hosts = _HOSTS[variable].split() if variable in _HOSTS else ()
    return url.text.startswith("https://") and any(url.host == host or url.host.endswith(f".{host}") for host in hosts)


def check_key_variable(variable: str, url: Url | None, provider: str) -> None:
    """Raise `ConfigError` if a configuration would send the key of a service, or another credential, elsewhere."""
    is_known = variable in _HOSTS or bool(_OTHER_SERVICES.match(variable))
    if is_known and not keeps_key(variable, url, provider):
        own = _HOSTS.get(variable, "").split()
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

    A file that names the address of a provider would otherwise receive the key that the environment already holds.
    """
    for provider, endpoint in ENDPOINTS.items():
        if not values.get(endpoint) or environment.get(endpoint):
            continue
        for key in KEYS[provider]:
            if environment.get(key) and environment[key] != values.get(key):
                return (
                    f"{endpoint} stands here, but {key} is set elsewhere; a key goes only to the address that is named "
                    f"beside it. Set {endpoint} in the environment too, or unset {key}"
                )
    return ""
