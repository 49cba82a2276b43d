"""The prices of the agent's model calls, by the price list of genai-prices."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fairtrial.records.trace import Usage

_MILLION = 1_000_000


class _Rates(NamedTuple):
    """The prices of a million tokens in US dollars. None if the list has no price of its own."""

    input: Decimal
    output: Decimal
    cached: Decimal | None


def find_price(usage: Usage) -> float | None:
    """Return the price of a model call in US dollars, or None if it is unknown.

    The name of a model may begin with a provider, for example `openai/gpt-4o`. Raises ImportError if genai-prices is
    not installed.
    """
    if not usage.model or usage.total_tokens is None:
        return None
    names = dict.fromkeys((usage.model, usage.model.rpartition("/")[2]))
    return next((price for name in names if (price := _price(name, usage)) is not None), None)


def sum_prices(usages: Iterable[Usage]) -> float | None:
    """Return the price of model calls in US dollars. None if a price is unknown, or genai-prices is not installed."""
    try:
        prices = [find_price(usage) for usage in usages]
    except ImportError:
        return None
    known = [price for price in prices if price is not None]
    return sum(known) if known and len(known) == len(prices) else None


def _price(model: str, usage: Usage) -> float | None:
    rates = _rates(model)
    cached = usage.cached_input_tokens or 0
    if rates is None or (cached and rates.cached is None):
        return _exact_price(model, usage.input_tokens, usage.output_tokens, usage.cached_input_tokens)
    fresh = (usage.input_tokens or 0) - cached
    if fresh < 0:
        return None
    total = fresh * rates.input + (usage.output_tokens or 0) * rates.output + cached * (rates.cached or 0)
    return float(total / _MILLION)


@lru_cache(maxsize=512)
def _rates(model: str) -> _Rates | None:
    """Return the rates of a model, or None if the list does not know it or has more to say than a rate."""
    from genai_prices.data_snapshot import get_snapshot

    try:
        found = get_snapshot().find_provider_model(model, None, None, None)[1]
    except LookupError:
        return None
    if not isinstance(found.prices, list):
        own = found.prices
        if isinstance(own.input_mtok, Decimal) and isinstance(own.output_mtok, Decimal) and own.requests_kcount is None:
            cached = own.cache_read_mtok
            return _Rates(own.input_mtok, own.output_mtok, cached if isinstance(cached, Decimal) else None)
    return None


@lru_cache(maxsize=4096)
def _exact_price(model: str, input_tokens: int | None, output_tokens: int | None, cached: int | None) -> float | None:
    """Return the price as the library computes it, which takes longer."""
    from genai_prices import Usage, calc_price

    tokens = Usage(input_tokens=input_tokens, output_tokens=output_tokens, cache_read_tokens=cached)
    try:
        return float(calc_price(tokens, model_ref=model).total_price)
    except (LookupError, ValueError):
        return None
