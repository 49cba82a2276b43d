"""The price of a model call by the price list, computed quickly, is the price that the library computes."""

from __future__ import annotations

import random

import pytest

from fairtrial.llm.listed_prices import find_price, sum_prices
from fairtrial.records.trace import Usage

genai_prices = pytest.importorskip("genai_prices")
data = pytest.importorskip("genai_prices.data")


def test_every_model_of_the_list_has_the_price_of_the_library() -> None:
    """Also models whose price depends on the number of tokens, or on the date."""
    chance = random.Random(3)
    names = dict.fromkeys(model.id for provider in data.providers for model in provider.models)
    different = []
    for name in chance.sample(list(names), 400):
        tokens = chance.randrange(1, 400_000)
        cached = chance.choice([None, chance.randrange(tokens)])
        usage = Usage(tokens, chance.randrange(5000), None, cached, name)
        if find_price(usage) != pytest.approx(expected(usage)):
            different.append(name)
    assert different == []


def expected(usage: Usage) -> float | None:
    """The price of the library, for the whole name or for the name behind a provider."""
    tokens = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_input_tokens,
    )
    for name in (usage.model, usage.model.rpartition("/")[2]):
        try:
            return float(genai_prices.calc_price(tokens, model_ref=name).total_price)
        except (LookupError, ValueError):
            continue
    return None


def test_a_sum_with_an_unknown_price_is_unknown() -> None:
    """It would be too low."""
    known = Usage(1_000_000, 0, model="gpt-4o")
    assert sum_prices([known, known]) == pytest.approx(5.0)
    assert sum_prices([known, Usage(10, 5, model="my-own-model")]) is None
    assert sum_prices([known, Usage(10, 5)]) is None
    assert sum_prices([]) is None
