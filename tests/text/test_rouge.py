"""Texts of every script are cut and compared as people expect."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import product
from math import isclose

import pytest

from fairtrial.text.rouge import Rouge, characters, count_characters, overlap, rouge, words


def f(candidate: str, reference: str) -> float:
    """ROUGE-1 of two texts with the peer's tokens."""
    return rouge(characters(candidate), characters(reference)).f


def test_overlap_by_hand() -> None:
    """Of "a a b" and "a b b", clipped, a and b are shared once each: 2 of 3 tokens on both sides."""
    assert rouge(["a", "a", "b"], ["a", "b", "b"]) == Rouge(2 / 3, 2 / 3, 2 / 3)


def test_precision_and_recall_by_hand() -> None:
    """Of three tokens one is in the reference of one: precision 1/3, recall 1, F 1/2."""
    assert rouge(characters("The the THE"), characters("the")) == Rouge(1 / 3, 1.0, 0.5)


@pytest.mark.long
def test_the_harmonic_mean_is_rounded_once() -> None:
    """As fractions of whole numbers say it, for all pairs of texts of up to 59 words."""
    for ours, theirs in product(range(1, 60), repeat=2):
        for common in range(1, min(ours, theirs) + 1):
            candidate = ["a"] * common + ["b"] * (ours - common)
            reference = ["a"] * common + ["c"] * (theirs - common)
            if (exact := Fraction(2 * common, ours + theirs)) in (Fraction(4, 5), Fraction(1, 2), Fraction(7, 10)):
                assert rouge(candidate, reference).f == float(exact)


@pytest.mark.parametrize("kind", ["rouge1", "rouge2", "rougeL"])
def test_an_empty_side_shares_nothing(kind: str) -> None:
    """Without tokens there is nothing to divide by."""
    for ours, theirs in ((["a", "b"], []), ([], ["a", "b"]), ([], [])):
        assert rouge(ours, theirs, kind=kind) == Rouge(0, 0, 0)  # type: ignore[arg-type]


def test_longest_common_subsequence_beyond_a_machine_word() -> None:
    """300 tokens of which every third is missing: the subsequence is the 200 that are left."""
    reference = [str(i) for i in range(300)]
    candidate = [token for i, token in enumerate(reference) if i % 3]
    assert rouge(candidate, reference, kind="rougeL") == Rouge(1.0, 200 / 300, 0.8)


@pytest.mark.parametrize(
    ("candidate", "reference", "value"),
    [
        ("할 수 있습니다", "할 수 없습니다", 10 / 12),
        ("可以退款", "不可以退款", 8 / 9),
        ("가나다", "다나가", 1.0),
        ("naïve café", "naive cafe", 0.0),
        ("ＡＢＣ１２３", "abc123", 1.0),
        ("I am eating apples", "I eat an apple", 0.75),
    ],
)
def test_what_characters_see_and_do_not_see(candidate: str, reference: str, value: float) -> None:
    """The numbers of adk-2.13.md, section 2.2 and 7: a negation costs one character, and order nothing."""
    assert isclose(f(candidate, reference), value)


@pytest.mark.parametrize(
    ("affirmed", "negated"),
    [("할 수 있습니다", "할 수 없습니다"), ("可以退款", "不可以退款"), ("予約できます", "予約できません")],
)
def test_words_lower_the_score_of_a_negation(affirmed: str, negated: str) -> None:
    """A word that differs in one character differs as a whole."""
    assert rouge(words(affirmed), words(negated)).f < f(affirmed, negated)


def test_words_of_each_script() -> None:
    """Chinese, Japanese and Thai are cut by a dictionary, Korean and English at spaces; words are stemmed."""
    assert words("我们今天去北京。") == ["我们", "今天", "去", "北京"]
    assert words("東京に行きます") == ["東京", "に", "行き", "ます"]
    assert words("ฉันรักแมว") == ["ฉัน", "รัก", "แมว"]
    assert words("서울의 날씨는 맑습니다.") == ["서울의", "날씨는", "맑습니다"]
    assert words("Running, ran!") == ["run", "ran"]


def test_words_share_everything_with_themselves() -> None:
    """The same text in any script scores 1."""
    for text in ("可以退款", "予約できます", "환불이 가능합니다", "ฉันรักแมว", "hello"):
        assert rouge(words(text), words(text)).f == 1


_SIGNS = "abcsedingy   19.,-가나다漢字かゞ゛・ーｶﾞéü\u0301\u3099ไทย่ကﬁ①㎏\u200b\n\t\u3000😀İß"


def test_counted_characters_are_those_of_the_cut_text() -> None:
    """However scripts are mixed, the counts are those of the tokens."""
    chance = random.Random(3)
    for _ in range(3000):
        text = "".join(chance.choices(_SIGNS, k=chance.randrange(25)))
        assert count_characters(text) == Counter(characters(text)), text


def test_the_overlap_of_counts_is_that_of_tokens() -> None:
    """ROUGE-1 knows no order."""
    candidate, reference = "환불이 안 됩니다 the refunds", "환불은 됩니다 a refund refunds"
    assert overlap(count_characters(candidate), count_characters(reference)).f == f(candidate, reference)
