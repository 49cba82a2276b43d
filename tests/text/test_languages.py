"""Each text of a terminal has a translation in each language, with the same places for values."""

from __future__ import annotations

import ast
import errno
import json
import os
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import click
import pytest

import fairtrial
from fairtrial.text.languages import LANGUAGES, locale_language, say, say_count, speaking, translations

SOURCES = Path(fairtrial.__file__).parent
TEXTS = SOURCES / "reports" / "assets" / "texts"
OTHERS = [language for language in LANGUAGES if language != "en"]


def calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    """The calls of a function in the sources, with the names of their files."""
    for path in SOURCES.rglob("*.py"):
        content = path.read_text(encoding="utf-8")
        if f"{name}(" in content:
            for node in ast.walk(ast.parse(content)):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                    yield path.name, node


def said() -> set[str]:
    """The texts that the sources hand to `say` and `say_count` as they stand."""
    texts = {own.args[0].value for _, own in calls("say") if isinstance(own.args[0], ast.Constant)}
    nouns = {own.args[1].value for _, own in calls("say_count") if isinstance(own.args[1], ast.Constant)}
    return {str(text) for text in texts} | {f"{{n}} {noun!s}s" for noun in map(str, nouns)}


def places(text: str) -> set[str]:
    """The names of the values of a text."""
    return set(re.findall(r"\{(\w+)\}", text))


@pytest.mark.parametrize("language", OTHERS)
def test_every_text_has_a_translation(language: str) -> None:
    """Also every title of the tables of a run, of a comparison and of a decision."""
    titles = {
        own.value
        for file, call in calls("Rows")
        if file in ("summary_table.py", "spending.py", "comparison_table.py")
        for own in ast.walk(call)
        if isinstance(own, ast.Constant) and isinstance(own.value, str) and own.value
    }
    assert sorted((said() | titles) - translations(language).keys()) == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_the_values_of_its_text(language: str) -> None:
    """None is lost, and none is misspelt."""
    own = json.loads((TEXTS / "terminal" / f"{language}.json").read_text(encoding="utf-8"))
    assert {text: other for text, other in own.items() if places(text) != places(other)} == {}


def test_every_language_has_the_same_texts() -> None:
    """Of the terminal, of reasons, and of the pages."""
    for folder in (TEXTS / "terminal", TEXTS / "reasons", TEXTS):
        tables = {path.stem: set(json.loads(path.read_text(encoding="utf-8"))) for path in folder.glob("*.json")}
        assert set(tables) >= set(OTHERS)
        assert len({frozenset(table) for table in tables.values()}) == 1


@pytest.mark.long
def test_every_text_is_used() -> None:
    """At least half of its pairs of words stand in a string of the sources, of click, or of the operating system."""
    sources = [*SOURCES.rglob("*.py"), *Path(click.__file__).parent.glob("*.py")]
    nodes = [own for path in sources for own in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    strings = [own.value for own in nodes if isinstance(own, ast.Constant) and isinstance(own.value, str)]
    known = {pair for own in (*strings, *map(os.strerror, errno.errorcode)) for pair in pairs(own)}
    unused = []
    for folder in ("terminal", "reasons"):
        texts = json.loads((TEXTS / folder / "ko.json").read_text(encoding="utf-8"))
        own = {text: [pair for piece in re.split(r"\{\w+\}", text) for pair in pairs(piece)] for text in texts}
        unused += [text for text, found in own.items() if sum(pair in known for pair in found) < len(found) / 2]
    assert unused == []


def pairs(text: str) -> list[tuple[str, str]]:
    """The pairs of words that follow each other. The last letter of a plural does not count."""
    words = [word.removesuffix("s") for word in re.findall(r"[A-Za-z]+", text)]
    return list(pairwise(words))


@pytest.mark.parametrize(
    ("locale", "language"),
    [
        ({"LANG": "ko_KR.UTF-8"}, "ko"),
        ({"LANG": "ja_JP.eucJP"}, "ja"),
        ({"LANG": "zh_TW.UTF-8"}, "zh-TW"),
        ({"LANG": "zh_HK"}, "zh-TW"),
        ({"LANG": "zh_CN.GB18030"}, "zh-CN"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "C"}, "en"),
        ({}, "en"),
        ({"LANG": "ko_KR.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "ja_JP.UTF-8"}, "ja"),
        ({"LANG": "ko_KR.UTF-8", "LC_ALL": ""}, "ko"),
    ],
)
def test_a_locale_has_a_language(locale: dict[str, str], language: str) -> None:
    """LC_ALL comes before LC_MESSAGES, and LANG is the last, as POSIX has it. An empty variable is none."""
    assert locale_language(locale) == language


def test_a_text_without_a_translation_stays_english() -> None:
    """Its values are in their places."""
    with speaking("ko"):
        assert say("{n} of {all} is new", n=2, all=3) == "2 of 3 is new"


def test_values_are_no_places() -> None:
    """A name of a case that looks like a place of a value stays as it is."""
    with speaking("ko"):
        assert say("note: {note}", note="{note} {n}") == "참고: {note} {n}"


@pytest.mark.parametrize(
    ("language", "text"), [("en", "1,200 cases"), ("ko", "케이스 1,200개"), ("zh-CN", "1,200 个用例")]
)
def test_numbers_of_things(language: str, text: str) -> None:
    """All five languages write a comma between thousands."""
    with speaking(language):
        assert say_count(1200, "case") == text
