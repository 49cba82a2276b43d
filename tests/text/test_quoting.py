"""A quote is found as it was copied, and not where it was made up."""

from __future__ import annotations

import pytest

from fairtrial.text.quoting import Haystack

TEXTS = [
    '{"날씨": "맑음", "city": "Seoul"}',
    "The order ships\n  within   3–5 days.",
    "ＡＢＣ カタカナ",
    'say \\"hi\\" caf\\u00e9',
]


@pytest.mark.parametrize(
    "quote",
    [
        "날씨",
        '"날씨": "맑음"',
        "ships within 3–5 days",
        "The order ... 3–5 days.",
        "The order […] days",
        "The order…days",
        "ABC",
        "“The order ships”",
        'say "hi" café',
        "caf\\u00e9",
        "  ships   within ",
    ],
)
def test_a_real_quote_is_found(quote: str) -> None:
    """After NFKC, white space, JSON's escapes, ellipses and quote marks."""
    assert Haystack(TEXTS).holds(quote)


@pytest.mark.parametrize(
    "quote", ["", "...", "“”", "!", "흐림", "ships within 4 days", "The order ... 9 days", "the order"]
)
def test_a_made_up_quote_is_not(quote: str) -> None:
    """Nothing, no letter, another word, a part that is nowhere, another case."""
    assert not Haystack(TEXTS).holds(quote)
