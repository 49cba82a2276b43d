"""The translations use one word for each concept: the word of the table in the documentation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TEXTS = ROOT / "src" / "fairtrial" / "reports" / "assets" / "texts"
TABLE = ROOT / "docs" / "reference" / "translations.md"
LANGUAGES = {"ko": 1, "ja": 2, "zh-TW": 3, "zh-CN": 4}
"""The column of each language in the table."""
KEYS = {
    "agent": "sideAgent",
    "candidate": "candidate",
    "case": "case",
    "criterion": "criterion",
    "eval set": "evalSet",
    "expected": "expected",
    "failed": "verdictFailed",
    "failure mode": "failureModes",
    "flaky": "flaky",
    "judge": "sideJudge",
    "measure": "measure",
    "pass rate": "passRate",
    "passed": "verdictPassed",
    "run": "run",
    "token": "tokensName",
    "tool call": "partCall",
    "unscored": "verdictUnscored",
    "verdict": "verdict",
}
"""The text of a page that is nothing but the concept."""


def rows() -> dict[str, list[str]]:
    """The rows of the table by their concepts."""
    lines = [line.strip("| \n").split(" | ") for line in TABLE.read_text("utf-8").splitlines() if line.startswith("| ")]
    return {cells[0]: cells for cells in lines[1:]}


def cell(concept: str, language: str) -> tuple[str, list[str]]:
    """The word of a concept, and the words that are not to be used."""
    word, *others = re.split(r", not |, ", rows()[concept][LANGUAGES[language]])
    return word, others


def texts(language: str) -> Iterator[tuple[str, str]]:
    """Every text of a language with its place."""

    def inner(place: str, value: Any) -> Iterator[tuple[str, str]]:
        if isinstance(value, str):
            yield place, value
        else:
            for name, own in value.items():
                yield from inner(f"{place} {name}", own)

    for folder in ("", "reasons", "terminal"):
        yield from inner(folder, json.loads((TEXTS / folder / f"{language}.json").read_text("utf-8")))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("concept", rows())
def test_a_concept_has_its_word(language: str, concept: str) -> None:
    """The text that names it is the word, or the word is used somewhere, and no other word is."""
    word, others = cell(concept, language)
    own = list(texts(language))
    if concept in KEYS:
        assert dict(own)[f" {KEYS[concept]}"] == word
    assert any(word in text for _, text in own)
    assert [place for place, text in own if any(other in text for other in others)] == []


@pytest.mark.parametrize("language", ["ja", "zh-TW", "zh-CN"])
def test_brackets_around_words_are_full_width(language: str) -> None:
    """Half-width brackets are left for signs such as pass@k."""
    words = re.compile(r"\([^()]*[぀-ヿ㐀-鿿][^()]*\)")
    assert [text for _, text in texts(language) if words.search(text)] == []


def test_japanese_counters_follow_their_numbers() -> None:
    """Without a space between them."""
    counted = re.compile(r"(?:\{\w+\}|\d) (?:件|回|個|票|文字)")
    assert [text for _, text in texts("ja") if counted.search(text)] == []


@pytest.mark.parametrize(
    ("language", "foreign"), [("zh-TW", "们这说错误为么对时间轮"), ("zh-CN", "們這說錯誤個為麼對時間輪")]
)
def test_chinese_is_written_in_one_script(language: str, foreign: str) -> None:
    """No text has a character that only the other script has."""
    assert [text for _, text in texts(language) if set(text) & set(foreign)] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_step_of_a_series_has_its_word(language: str) -> None:
    """In the column of the history. The step of a conversation has another word."""
    own = json.loads((TEXTS / "terminal" / f"{language}.json").read_text("utf-8"))
    assert own["step"] == cell("step in a series", language)[0] != own["step{at}"].removesuffix("{at}")
