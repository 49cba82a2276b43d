"""Token counts and call costs, read from a reply that may hold anything."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairtrial.llm.known_providers import Protocol, price_id
from fairtrial.llm.served_models import is_same_model

if TYPE_CHECKING:
    from fairtrial.llm.address import Address

_MOST = 10**12
"""No reply takes more tokens. A larger number is a server error."""

_DIGITS = re.compile(r"\d{1,12}(\.0{1,6})?", re.ASCII)

_BYTES_PER_TOKEN, _TOKENS_OF_REPLY = 3, 400
"""The tokens that a call is expected to take, until its reply says it."""


def read_members(value: object) -> Mapping[str, Any]:
    """Return a JSON object's members, or none of any other value."""
    return value if isinstance(value, dict) else {}


def parse_count(value: object) -> int | None:
    """Return a number of tokens, which some gateways send as text or as 12.0, or None for any other value."""
    if isinstance(value, str) and _DIGITS.fullmatch(value.strip()):
        return int(value.strip().partition(".")[0])
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST:
        return None
    return int(value) if value == int(value) else None


def parse_amount(value: object) -> float | None:
    """Return an amount of US dollars, also if it is sent as text, or None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        amount = float(value)
    except (ValueError, OverflowError):
        return None
    return amount if math.isfinite(amount) and 0 <= amount <= _MOST else None


@dataclass(frozen=True)
class TokenCounts:
    """A call's tokens. The cached tokens, and those written to a cache, are part of `input`."""

    input: int
    output: int
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0


def read_counts(protocol: Protocol, usage: object) -> TokenCounts | None:
    """Return a call's tokens, or None if they are not reported.

    A number that is left out is 0. If either total cannot be read, neither counts, because the other alone would look
    like the whole. A cache number that cannot be read is left out, so that the price is rather too high.
    """
    counts = _READERS[protocol](read_members(usage))
    return counts if counts is not None and (counts.input or counts.output) else None


def _totals(usage: Mapping[str, Any], input_name: str, output_name: str) -> tuple[int, int] | None:
    totals = [0 if usage.get(name) is None else parse_count(usage[name]) for name in (input_name, output_name)]
    return None if totals[0] is None or totals[1] is None else (totals[0], totals[1])


def _first(*values: object) -> int:
    """Return the first of some numbers that can be read and is not 0."""
    return next((number for number in map(parse_count, values) if number), 0)


def _within(total: int, output: int, read: int, write: int = 0, hour: int = 0) -> TokenCounts:
    """Return the counts, without cache counts that cannot be in the total."""
    if read + write > total:
        return TokenCounts(total, output)
    return TokenCounts(total, output, read, write, hour if hour <= write else 0)


def _chat(usage: Mapping[str, Any]) -> TokenCounts | None:
    totals = _totals(usage, "prompt_tokens", "completion_tokens")
    if totals is None:
        return None
    prompt, completion = totals
    details = read_members(usage.get("prompt_tokens_details"))
    thoughts = _first(read_members(usage.get("completion_tokens_details")).get("reasoning_tokens"))
    if thoughts and parse_count(usage.get("total_tokens")) == prompt + completion + thoughts:
        completion += thoughts  # xAI counts thoughts beside the completion
    # The names of OpenAI, DeepSeek, Moonshot and LiteLLM.
    read = _first(
        details.get("cached_tokens"),
        usage.get("prompt_cache_hit_tokens"),
        usage.get("cached_tokens"),
        usage.get("cache_read_input_tokens"),
    )
    write = _first(details.get("cache_write_tokens"), usage.get("cache_creation_input_tokens"))
    return _within(prompt, completion, read, write)


def _responses(usage: Mapping[str, Any]) -> TokenCounts | None:
    totals = _totals(usage, "input_tokens", "output_tokens")
    if totals is None:
        return None
    read = _first(read_members(usage.get("input_tokens_details")).get("cached_tokens"))
    return _within(*totals, read)


def _gemini(usage: Mapping[str, Any]) -> TokenCounts | None:
    totals = _totals(usage, "promptTokenCount", "candidatesTokenCount")
    if totals is None:
        return None
    output = totals[1] + _first(usage.get("thoughtsTokenCount"))
    return _within(totals[0], output, _first(usage.get("cachedContentTokenCount")))


def _messages(usage: Mapping[str, Any]) -> TokenCounts | None:
    totals = _totals(usage, "input_tokens", "output_tokens")
    if totals is None:
        return None
    read, write = _first(usage.get("cache_read_input_tokens")), _first(usage.get("cache_creation_input_tokens"))
    hour = _first(read_members(usage.get("cache_creation")).get("ephemeral_1h_input_tokens"))
    return _within(totals[0] + read + write, totals[1], read, write, hour)


def _converse(usage: Mapping[str, Any]) -> TokenCounts | None:
    totals = _totals(usage, "inputTokens", "outputTokens")
    if totals is None:
        return None
    read, write = _first(usage.get("cacheReadInputTokens")), _first(usage.get("cacheWriteInputTokens"))
    return _within(totals[0] + read + write, totals[1], read, write)


_READERS = {
    "chat": _chat,
    "responses": _responses,
    "gemini": _gemini,
    "messages": _messages,
    "converse": _converse,
}


def reported_cost(usage: object) -> float | None:
    """Return a call's cost in US dollars according to a gateway such as OpenRouter, or None.

    If a user pays the provider with a key of their own, the gateway reports its fee and the provider's price apart.
    """
    members = read_members(usage)
    cost = members.get("cost")
    amount = parse_amount(read_members(cost).get("total_cost") if isinstance(cost, dict) else cost)
    if amount is None or members.get("is_byok") is not True:
        return amount
    return amount + (parse_amount(read_members(members.get("cost_details")).get("upstream_inference_cost")) or 0.0)


def compute_price(at: Address, counts: TokenCounts, served: str = "") -> float | None:
    """Return a call's price in US dollars, or None if it is unknown.

    A configured price takes precedence. If another model has `served` the call, its price counts.
    """
    own = at.endpoint.price
    if own is not None:
        return own.cost(counts.input, counts.output)
    names = [served, at.model] if not served or is_same_model(at.model, served) else [served]
    return next((price for name in names if name and (price := _find_listed_price(at, name, counts)) is not None), None)


def _find_listed_price(at: Address, model: str, counts: TokenCounts) -> float | None:
    from genai_prices import Usage, calc_price

    caches = {
        "cache_read_tokens": counts.cache_read,
        "cache_write_tokens": counts.cache_write,
        "cache_write_1h_tokens": counts.cache_write_1h,
    }
    usage = Usage(
        input_tokens=counts.input,
        output_tokens=counts.output,
        **{name: number for name, number in caches.items() if number},
    )
    try:
        return float(calc_price(usage, model_ref=model, provider_id=price_id(at.provider)).total_price)
    except (LookupError, ValueError):
        return None


def price(at: Address, input_tokens: int, output_tokens: int) -> float | None:
    """Return the price for some tokens in US dollars, or None if the model price is unknown."""
    return compute_price(at, TokenCounts(input_tokens, output_tokens))


def expected_price(at: Address, text: str) -> float | None:
    """Return the price that a call with a text is expected to have, or None if the model price is unknown."""
    return price(at, len(text.encode("utf-8", "replace")) // _BYTES_PER_TOKEN, _TOKENS_OF_REPLY)


def price_known(at: Address) -> bool:
    """Return whether a call's price is known."""
    return price(at, 1, 1) is not None
