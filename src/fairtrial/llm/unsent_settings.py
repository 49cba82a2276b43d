"""Report model settings that cannot be sent to a provider."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairtrial.llm.address import Address
    from fairtrial.records.record import Json

_SAMPLING = frozenset(("temperature", "top_p", "presence_penalty", "frequency_penalty"))
_ANTHROPIC_SAMPLING = frozenset(("temperature", "top_p", "top_k"))
UNSUPPORTED_BY_ANTHROPIC = frozenset(("frequency_penalty", "logit_bias", "presence_penalty", "seed"))
UNSUPPORTED_BY_BEDROCK = UNSUPPORTED_BY_ANTHROPIC | {"extra_body", "max_retries", "parallel_tool_calls", "timeout"}
"""What Pydantic AI leaves out. Its later versions have these lists, too, and a test compares them."""


def unsent_settings(at: Address, settings: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the setting names that the provider, or the model, does not take. They are not sent.

    For example, OpenAI's protocol has no `top_k`, and models that think take no `temperature`.
    """
    names = [name for name, value in settings.items() if value is not None]
    # The library knows the models, but it is slow to load. Without it, no model can be called anyway.
    if not names or find_spec("pydantic_ai") is None:
        return ()
    refused = frozenset[str]()
    if at.known.protocol in {"chat", "responses"}:
        refused = _chat(at, settings)
    elif at.known.protocol == "messages" and find_spec("anthropic") is not None:
        refused = _anthropic(at.model)
    elif at.provider == "bedrock" and find_spec("boto3") is not None:
        refused = UNSUPPORTED_BY_BEDROCK
    return tuple(name for name in names if name in refused)


def _anthropic(model: str) -> frozenset[str]:
    from pydantic_ai.providers.anthropic import AnthropicProvider

    profile = AnthropicProvider.model_profile(model) or {}
    refuses_sampling = bool(profile.get("anthropic_disallows_sampling_settings"))
    return UNSUPPORTED_BY_ANTHROPIC | (_ANTHROPIC_SAMPLING if refuses_sampling else frozenset())


def _chat(at: Address, settings: Mapping[str, Json]) -> frozenset[str]:
    from fairtrial.llm.chat_model import ONLY_CHAT, UNSUPPORTED, chat_profile

    profile = chat_profile(at)
    thinking = settings.get("thinking")
    thinks = thinking is not False if thinking is not None else bool(profile.get("thinking_enabled_by_default"))
    thinks = thinks or bool(profile.get("thinking_always_enabled"))
    refuses_sampling = bool(profile.get("openai_supports_reasoning")) and thinks
    refused = UNSUPPORTED | (ONLY_CHAT if at.known.protocol == "responses" else frozenset())
    return refused | (_SAMPLING if refuses_sampling else frozenset())
