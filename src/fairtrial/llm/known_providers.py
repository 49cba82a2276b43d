"""The table of known providers of language models, with the way in which each takes calls."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlsplit

Protocol = Literal["chat", "responses", "gemini", "messages", "converse"]

PROTOCOL_NAMES: dict[Protocol, str] = {
    "chat": "OpenAI's chat completions",
    "responses": "OpenAI's Responses API",
    "gemini": "Gemini's generateContent",
    "messages": "Anthropic's messages",
    "converse": "Bedrock's Converse",
}


@dataclass(frozen=True, kw_only=True)
class KnownProvider:
    """A provider: its protocol, its address, and the environment variables for its keys and for another address.

    `url` is empty if the provider's SDK knows it, or if every user has their own address. `hosts` may get
    the keys too. A provider that `has_sign_in` finds credentials itself, for example application default credentials.
    If `needs_key` is False, it works without a key. `is_model_vendor` is explained at `PROVIDERS`.
    """

    protocol: Protocol = "chat"
    keys: tuple[str, ...] = ()
    url: str = ""
    url_variables: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    has_sign_in: bool = False
    needs_key: bool = True
    is_model_vendor: bool = False

    @property
    def key_hosts(self) -> tuple[str, ...]:
        """The hosts that may get the keys."""
        own = urlsplit(self.url).hostname
        return (own, *self.hosts) if own and self.needs_key else self.hosts


def _chat(name: str, keys: str, url: str, *hosts: str) -> KnownProvider:
    """Return a provider with OpenAI's protocol. `NAME_BASE_URL` names another address of it."""
    variables = (f"{name.upper()}_BASE_URL",)
    return KnownProvider(keys=tuple(keys.split()), url=url, url_variables=variables, hosts=hosts, is_model_vendor=True)


PROVIDERS: dict[str, KnownProvider] = {
    "google": KnownProvider(
        protocol="gemini",
        keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        url_variables=("GOOGLE_GEMINI_BASE_URL",),
        hosts=("generativelanguage.googleapis.com",),
    ),
    "vertex_ai": KnownProvider(
        protocol="gemini",
        keys=(),
        url_variables=("GOOGLE_VERTEX_BASE_URL",),
        has_sign_in=True,
    ),
    "openai": KnownProvider(
        keys=("OPENAI_API_KEY",),
        url="https://api.openai.com/v1",
        url_variables=("OPENAI_BASE_URL",),
    ),
    "azure": KnownProvider(
        keys=("AZURE_OPENAI_API_KEY", "AZURE_API_KEY"),
        url_variables=("AZURE_OPENAI_ENDPOINT", "AZURE_API_BASE"),
        hosts=("openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com"),
    ),
    "anthropic": KnownProvider(
        protocol="messages",
        keys=("ANTHROPIC_API_KEY",),
        url_variables=("ANTHROPIC_BASE_URL",),
        hosts=("api.anthropic.com",),
    ),
    "bedrock": KnownProvider(
        protocol="converse",
        keys=(),
        url_variables=("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",),
        has_sign_in=True,
    ),
    "ollama": KnownProvider(
        keys=("OLLAMA_API_KEY",),
        url="http://localhost:11434/v1",
        url_variables=("OLLAMA_BASE_URL",),
        hosts=("ollama.com",),
        needs_key=False,
    ),
    "vllm": KnownProvider(
        keys=("VLLM_API_KEY",),
        url_variables=("VLLM_BASE_URL",),
        needs_key=False,
    ),
    "litellm": KnownProvider(
        keys=("LITELLM_PROXY_API_KEY",),
        url_variables=("LITELLM_PROXY_API_BASE",),
        needs_key=False,
    ),
    "mistral": _chat("mistral", "MISTRAL_API_KEY", "https://api.mistral.ai/v1"),
    "groq": _chat("groq", "GROQ_API_KEY", "https://api.groq.com/openai/v1"),
    "openrouter": _chat("openrouter", "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1"),
    "together_ai": _chat(
        "together_ai",
        "TOGETHER_API_KEY TOGETHERAI_API_KEY",
        "https://api.together.xyz/v1",
        "api.together.ai",
    ),
    "deepseek": _chat("deepseek", "DEEPSEEK_API_KEY", "https://api.deepseek.com"),
    "fireworks_ai": _chat(
        "fireworks_ai",
        "FIREWORKS_API_KEY FIREWORKS_AI_API_KEY",
        "https://api.fireworks.ai/inference/v1",
    ),
    "xai": _chat("xai", "XAI_API_KEY", "https://api.x.ai/v1"),
    "cerebras": _chat("cerebras", "CEREBRAS_API_KEY", "https://api.cerebras.ai/v1"),
    "cohere": _chat("cohere", "COHERE_API_KEY CO_API_KEY", "https://api.cohere.ai/compatibility/v1", "api.cohere.com"),
    "huggingface": _chat("huggingface", "HF_TOKEN", "https://router.huggingface.co/v1", "huggingface.co"),
    "moonshot": _chat(
        "moonshot",
        "MOONSHOT_API_KEY MOONSHOTAI_API_KEY",
        "https://api.moonshot.ai/v1",
        "api.moonshot.cn",
    ),
    "dashscope": _chat(
        "dashscope",
        "DASHSCOPE_API_KEY ALIBABA_API_KEY",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "aliyuncs.com",
    ),
    "perplexity": _chat("perplexity", "PERPLEXITY_API_KEY", "https://api.perplexity.ai"),
    "nvidia_nim": _chat(
        "nvidia_nim",
        "NVIDIA_API_KEY NVIDIA_NIM_API_KEY",
        "https://integrate.api.nvidia.com/v1",
        "api.nvidia.com",
    ),
    "deepinfra": _chat("deepinfra", "DEEPINFRA_API_KEY", "https://api.deepinfra.com/v1/openai"),
    "nebius": _chat("nebius", "NEBIUS_API_KEY", "https://api.studio.nebius.com/v1"),
    "ovhcloud": _chat("ovhcloud", "OVHCLOUD_API_KEY", "https://oai.endpoints.kepler.ai.cloud.ovh.net/v1"),
    "sambanova": _chat("sambanova", "SAMBANOVA_API_KEY", "https://api.sambanova.ai/v1"),
    "zai": _chat("zai", "ZAI_API_KEY", "https://api.z.ai/api/paas/v4"),
    "vercel": _chat("vercel", "VERCEL_AI_GATEWAY_API_KEY", "https://ai-gateway.vercel.sh/v1"),
    "heroku": _chat("heroku", "HEROKU_INFERENCE_KEY HEROKU_API_KEY", "https://us.inference.heroku.com/v1"),
    "meta": _chat("meta", "META_API_KEY", "https://api.meta.ai/v1"),
    "crusoe": _chat("crusoe", "CRUSOE_API_KEY", "https://api.inference.crusoecloud.com/v1"),
}
"""The providers by the prefix of their models, for example `groq/llama-3.3-70b-versatile`.

If a configuration gives a `base_url`, a provider's prefix that `is_model_vendor` is in the model name there. For
example, a gateway may call a model `deepseek/deepseek-chat`.
"""

CLAUDE_ON_VERTEX = replace(PROVIDERS["vertex_ai"], protocol="messages")
"""Vertex AI for models of Anthropic, such as `vertex_ai/claude-sonnet-4-5`. They have Anthropic's protocol there."""

ALIASES = {
    "gemini": "google",
    "google-vertex": "vertex_ai",
    "google-cloud": "vertex_ai",
    "azure_ai": "azure",
    "ollama_chat": "ollama",
    "hosted_vllm": "vllm",
    "litellm_proxy": "litellm",
    "together": "together_ai",
    "fireworks": "fireworks_ai",
    "grok": "xai",
    "cohere_chat": "cohere",
    "moonshotai": "moonshot",
    "alibaba": "dashscope",
    "nvidia": "nvidia_nim",
    "vercel_ai_gateway": "vercel",
}
"""Other spellings of prefixes, such as the spellings of LiteLLM and pydantic-ai."""

FAMILIES = {"gemini-": "google", "gemma-": "google", "gpt-": "openai", "claude-": "anthropic"}
"""How the names of models begin that need no prefix."""

OTHER_KEY_HOSTS = {
    "ANTHROPIC_AUTH_TOKEN": ("api.anthropic.com",),
    "AWS_BEARER_TOKEN_BEDROCK": ("amazonaws.com",),
    "ZHIPUAI_API_KEY": ("bigmodel.cn",),
}
"""The hosts of further keys that users may have."""

_PRICE_IDS = {
    "vertex_ai": "google",
    "bedrock": "aws",
    "together_ai": "together",
    "fireworks_ai": "fireworks",
    "xai": "x-ai",
    "moonshot": "moonshotai",
}
_EXTRAS = {"google": "judge", "vertex_ai": "judge"}
_OWN_EXTRAS = frozenset(("anthropic", "azure", "bedrock", "groq", "mistral", "ollama", "openai", "openrouter"))


def price_id(provider: str) -> str:
    """Return a provider's name in the price table."""
    return _PRICE_IDS.get(provider, provider)


def find_extra(provider: str) -> str:
    """Return the extra that installs a provider's packages. All others speak OpenAI's protocol."""
    return _EXTRAS.get(provider) or (provider if provider in _OWN_EXTRAS else "openai")


def canonical(name: str) -> str:
    """Return the one spelling for a model name. For example, `gemini/gemini-2.5-flash` is `gemini-2.5-flash`."""
    prefix, slash, model = name.partition("/")
    if not slash or prefix not in ALIASES:
        return name
    provider = ALIASES[prefix]
    return model if FAMILIES.get(f"{model.partition('-')[0]}-") == provider else f"{provider}/{model}"
