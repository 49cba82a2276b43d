"""Finished English sentences are translated by templates. Names, values and foreign texts stay as they are."""

from __future__ import annotations

import re

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
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Try 'fairtrial run --help' for help.", "'fairtrial run --help'"),
        ("run 7 has no labels; `fairtrial label 7` asks for them", "`fairtrial label 7`"),
        ("`fairtrial failures 7 --mode 1` lists the attempts of a mode", "`fairtrial failures 7 --mode 1`"),
        ("in.json: /criteria/x: is not a criterion; `fairtrial criteria` lists them", "/criteria/x"),
        ("… and 7 more warnings; `fairtrial check` lists them all", "`fairtrial check`"),
        (
            "mode 1 and 'calls get order': 50 % of its cases, 20 % of the cases that passed; difference 1 % … 2, q 0.1",
            "'calls get order'",
        ),
        (
            "mode 1 and 'calls pay': 50 % of its cases, 20 % of the cases that passed; difference 1 % … 2 %, q 0.1",
            "pay",
        ),
        ("1 case is edited (case 3), so the runs are about other cases", "(case 3)"),
        ("No such option '--jsn'. (Did you mean one of: '--json', '--junit'?)", "'--json', '--junit'"),
        ("in.jsonl: is a file that this command reads; choose another file, or --in-place", "--in-place"),
        ("--columns: must be conversation=COLUMN, or messages=COLUMN,id=COLUMN", "conversation=COLUMN"),
        ("expected the reply to equal 'A 18', got 'A 17'; they differ from character 4 on", "'A 17'"),
        ("expected the reply to fit the schema, got a misfit at /items/1: 7 is too long", "/items/1"),
    ],
)
def test_commands_and_names_in_quotes_leave_the_sentence_whole(language: str, text: str, kept: str) -> None:
    """A command has several words, and none of them is a word of the sentence around it."""
    with speaking(language):
        own = say_sentence(text)
    assert kept in own
    assert own != text
    assert not re.search(
        r"\b(for help|asks for|lists|warnings|is edited|is not|of its cases|choose|must be|differ|misfit)\b", own
    )


@pytest.mark.parametrize("language", OTHERS)
def test_a_place_before_a_colon_is_no_name(language: str) -> None:
    """The colon belongs to the place of the error, and stands once."""
    with speaking(language):
        own = say_sentence("in.json: /criteria/x: is not a criterion")
    assert own.startswith("in.json: /criteria/x: ")
    assert "::" not in own


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
