"""No text of this package becomes half English and half translated."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import fairtrial
from fairtrial.records.attempt_rule import AttemptRule
from fairtrial.text.languages import LANGUAGES, speaking
from fairtrial.text.translated_lines import say_sentence

OTHERS = [language for language in LANGUAGES if language != "en"]
PACKAGE = Path(fairtrial.__file__).parent
SCRIPTS = re.compile("[가-힣぀-ヿ一-鿿]")
QUOTED = re.compile(r"`[^`]*`|'[^']*'|\"[^\"]*\"|\(No module[^()]*\)|(?:fairtrial|pip install) .*")
ENGLISH = re.compile(
    r"(?<![\w.@/-])(?:[a-z]+ (?:an?|the|of|or|and|to|with|is|are|no|that|it) [a-z]|(?:[a-z]{2,} ){2}[a-z]{2,})"
)
"""Three English words in a row, or a word that joins two."""
COUNTS = re.compile(r"count\(.*?, ['\"]([a-z ]+)['\"]\)")


def spell_out(node: ast.expr) -> str | None:
    """A text of the source, with a value in each place: a number, a count of things, or a name."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if not isinstance(node, ast.JoinedStr):
        return None
    pieces = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            pieces.append(str(part.value))
        elif isinstance(part, ast.FormattedValue):
            expression = ast.unparse(part.value)
            counted = COUNTS.match(expression)
            is_number = part.format_spec is not None or expression.startswith("len(")
            plain = f"3 {counted[1]}s" if counted else "7" if is_number else "Q1"
            pieces.append(f"'{plain}'" if part.conversion == ord("r") else plain)
    return "".join(pieces)


@cache
def texts() -> list[str]:
    """Every line of two words or more that stands in the source, apart from docstrings."""
    lines: set[str] = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = list(ast.walk(tree))
        left_out = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        left_out |= {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in nodes:
            if id(node) not in left_out and isinstance(node, ast.expr) and (text := spell_out(node)):
                lines.update(line for line in text.split("\n") if re.search("[a-z]{2} [a-z]{2}", line))
    return sorted(lines)


def english_inside(text: str, own: str) -> str:
    """The English phrase inside of a translation. A whole tail behind a colon is the sentence of somebody else."""
    if own == text or not SCRIPTS.search(own):
        return ""
    tails = (text[place.end() :] for place in re.finditer(": ", text))
    tail = next((tail for tail in tails if own.endswith(tail)), "")
    phrase = ENGLISH.search(QUOTED.sub("", own.removesuffix(tail)))
    return "" if phrase is None else phrase[0]


@pytest.mark.long
def test_the_walk_sees_the_texts_of_the_package() -> None:
    """Reasons, errors and lines of reports, thousands of them, of which hundreds are translated."""
    lines = texts()
    assert len(lines) > 4_000
    assert {"no criterion has a threshold, so that nothing decides", "'Q1' is not a criterion"} & set(lines)
    with speaking("ko"):
        assert sum(say_sentence(line) != line for line in lines) > 600


def test_the_walk_finds_a_swallowed_sentence() -> None:
    """As these were printed once."""
    rule = "(needed: the mean of each criterion reaches its threshold)"
    assert english_inside(rule, "(필요: each criterion reaches its threshold)의 평균") == "each criterion reaches"
    assert english_inside("a file, or name the criteria", "파일, 또는 name the criteria") == "name the c"
    assert english_inside("error: it is gone for good", "오류: it is gone for good") == ""


@pytest.mark.long
@pytest.mark.parametrize("language", OTHERS)
def test_each_text_is_translated_as_a_whole_or_not_at_all(language: str) -> None:
    """A template does not fit if a place would swallow words that nothing translates."""
    with speaking(language):
        halves = {line: own for line in texts() if english_inside(line, own := say_sentence(line))}
    assert halves == {}


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize(
    "rule",
    [
        AttemptRule("all"),
        AttemptRule("any"),
        AttemptRule("at_least", 8),
        AttemptRule("rate", 0.625),
        AttemptRule("mean"),
    ],
    ids=str,
)
def test_each_rule_of_attempts_has_its_words(language: str, rule: AttemptRule) -> None:
    """And no English beside them."""
    with speaking(language):
        own = say_sentence(str(rule))
    assert re.findall("[a-z]+", own) == []


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize(
    "text",
    [
        "4 and 3 attempts",
        "give a file, or name the criteria",
        "x: must be something to call, got 'a'; see the guide",
        "no other judge was measured",
        "run 7 has no measure 'a'; its measures are b",
    ],
)
def test_a_place_swallows_no_words(language: str, text: str) -> None:
    """A sentence without a template of its own stays English as a whole."""
    with speaking(language):
        assert english_inside(text, say_sentence(text)) == ""
        assert say_sentence("shop.json: 'x' is not a criterion") != "shop.json: 'x' is not a criterion"


@pytest.mark.parametrize("language", OTHERS)
def test_a_singular_has_the_words_of_the_plural(language: str) -> None:
    """Also with words behind the noun."""
    with speaking(language):
        for number in ("1 case", "3 cases"):
            own = say_sentence(f"{number} ended with an error that is not the agent's")
            assert re.findall("[a-z]+", own) == []
