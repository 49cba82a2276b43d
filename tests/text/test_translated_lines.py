"""Finished English sentences are translated by templates. Names, values and foreign texts stay as they are."""

from __future__ import annotations

import pytest

from fairtrial.text.languages import LANGUAGES, speaking
from fairtrial.text.translated_lines import say_sentence

OTHERS = [language for language in LANGUAGES if language != "en"]


@pytest.mark.parametrize(
    ("language", "text", "translation"),
    [
        ("ko", "1 case", "케이스 1개"),
        ("ko", "50 attempts", "시도 50회"),
        (
            "ko",
            "a.json: /attempts/count: must be a whole number of at least 1, got 'x'",
            "a.json: /attempts/count: 1 이상의 정수이어야 하는데, 받은 값은 'x'",
        ),
        (
            "ja",
            "'replly' is not a criterion; did you mean 'reply'?",
            "'replly' という評価基準はありません; 'reply' のことですか？",
        ),
        (
            "zh-CN",
            "first difference at call 2: expected search, got login",
            "从第 2 次工具调用起不同：预期 search，实际 login",
        ),
        ("zh-TW", "the reply states no facts", "回覆沒有陳述事實"),
        ("ko", "    warning: every case passed", "    경고: 모든 케이스가 통과했습니다"),
        (
            "zh-TW",
            "stated: 'A fee of $9 applies.' is about 'fee', and neither the reference nor the user states its amount",
            "聲稱：'A fee of $9 applies.' 涉及 'fee'，參考答案和使用者都沒有給出這個金額",
        ),
        (
            "ja",
            "contradicted: 'at least 8' is expected, and the reply says 'at most 8' (the other bound)",
            "矛盾: 期待値は 'at least 8'、返答では 'at most 8'（逆の限度）",
        ),
    ],
)
def test_what_a_template_fits_is_translated(language: str, text: str, translation: str) -> None:
    """Also behind the name of a file, before an advice, and behind an indent."""
    with speaking(language):
        assert say_sentence(text) == translation


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "refund_twice",
        "Your order 7 is shipped to Berlin.",
        "evals/shop.json",
        "each of 3 people saw many cases",
        "\x1b[31m{n}",
    ],
)
def test_foreign_texts_stay(language: str, text: str) -> None:
    """A reply of an agent is not a sentence of this package."""
    with speaking(language):
        assert say_sentence(text) == text


def test_english_stays_english() -> None:
    """The language of most terminals costs nothing."""
    assert say_sentence("every case passed") == "every case passed"


@pytest.mark.parametrize("language", OTHERS)
def test_values_are_not_translated(language: str) -> None:
    """The name of a case may be a word of the tables, or look like the place of a value."""
    with speaking(language):
        assert "'failed {n}'" in say_sentence("no case matches 'failed {n}'")
        assert "passed" in say_sentence("passed is not a criterion")


@pytest.mark.parametrize("text", ["; " * 1_900, "a; b: " * 600, "expected , gets " * 240, "1 " * 1_900, "a" * 100_000])
def test_hostile_lines_stay(text: str) -> None:
    """Lines with many joints, with many beginnings of a template, and of great length."""
    with speaking("ko"):
        assert say_sentence(text) == text
