"""A quote is found as it was copied, and not where it was made up."""

from __future__ import annotations

import pytest

from fairtrial.text.quoting import Haystack
from quote_corpus import quotes

TEXTS = [
    '{"날씨": "맑음", "city": "Seoul"}',
    "The order ships\n  within   3–5 days.",
    "ＡＢＣ カタカナ",
    'say \\"hi\\" caf\\u00e9',
]


@pytest.mark.parametrize(
    "quote",
    [
        '"날씨": "맑음"',
        "ships within 3–5 days",
        "The order ... 3–5 days.",
        "The order […] days",
        "The order…days",
        "ABCｶﾀｶﾅ",
        "“The order ships within”",
        'say "hi" café',
        "SAY HI CAF\\u00c9",
        "  order   ships within ",
        "맑음",
        "Seoul",
        "The ordr ships within 3–5 days",
    ],
)
def test_a_real_quote_is_found(quote: str) -> None:
    """After NFKC, white space, JSON's escapes, ellipses and quote marks."""
    assert Haystack(TEXTS).holds(quote)


@pytest.mark.parametrize(
    "quote",
    [
        "",
        "...",
        "“”",
        "!",
        "q",
        "흐림",
        "Seou",
        "날씨",
        "the order",
        "order ships within 4 days",
        "order ships within 35 days",
        "The order ... 9 days",
        "T ... e ... o ... d",
        "The order does not ship within 3–5 days",
        "The moon is made of cheese",
    ],
)
def test_a_made_up_quote_is_not(quote: str) -> None:
    """Nothing, no letter, another word, a part that is nowhere, another case."""
    assert not Haystack(TEXTS).holds(quote)


def test_quotes_of_judges_in_four_languages_are_found() -> None:
    """Of 200 honest quotes at least 198, and of 200 quotes that are not there none."""
    honest, wrong = quotes()
    assert (len(honest), len(wrong)) == (200, 200)
    assert sum(Haystack(texts).holds(quote) for texts, quote in honest) >= 198
    assert [quote for texts, quote in wrong if Haystack(texts).holds(quote)] == []


CONTEXT = (
    "당일 배송이 안 되면 배송비를 돌려 드립니다. 今すぐ返金できます。 You can cancel 48 hours before the trip begins."
)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("당일 배송이 안되면 배송비를 돌려드립니다", True),
        ("당일 배송 안 되면 배송비를 돌려 드립니다", True),
        ("당일 배송이 되면 배송비를 돌려 드립니다", False),
        ("익일 배송이 안 되면 배송비를 돌려 드립니다", False),
        ("今すぐ返金できません", False),
        ("You can cancl 48 hours before the trip begins", True),
        ("You can't cancel 48 hours before the trip begins", False),
        ("You can cancel 4 hours before the trip begins", False),
        ("You can cancel hours before the trip begins", False),
        ("You cam camcel 48 hours before the trip begins", False),
        ("Ypu can cancel 48 hours before the trip begims", False),
    ],
)
def test_a_typing_error_may_not_turn_the_meaning_around(quote: str, found: bool) -> None:
    """One error in ten characters is one, whatever the script; numbers, negations and the last letters have none."""
    assert Haystack([CONTEXT]).holds(quote) is found


def test_a_hostile_text_does_not_take_long() -> None:
    """A quote that nearly fits at each of 200,000 places is looked for at some of them only."""
    haystack = Haystack(["ab" * 100_000])
    assert not haystack.holds("ab" * 60 + "c" + "ab" * 3 + "d" + "ab" * 60)
