"""The corpora of facts have the shape, size and balance that their README states."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

CORPUS = Path(__file__).parent / "corpus"
LANGUAGES = ("en", "ko", "ja", "zh-Hans", "zh-Hant")
HALVES = ("dev", "held")
KINDS = {
    "addition", "code", "comparison", "contradiction", "date", "duration", "list", "money",
    "name", "negation", "number", "obligation", "omission", "order", "ordinal", "paraphrase",
    "percent", "place", "promise", "quantity", "range", "tense", "time", "unit", "weekday",
}  # fmt: skip


def pairs(name: str) -> list[dict[str, Any]]:
    """Read the objects of one corpus file, one a line."""
    lines = (CORPUS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def texts(row: dict[str, Any]) -> tuple[str, str]:
    """Return what makes a pair unique: what the reply is held against, and the reply."""
    against = row.get("reference") or json.dumps(row["tool_results"], sort_keys=True)
    return f"{row.get('question', '')} {against}", row["reply"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("half", HALVES)
def test_pairs_have_their_fields(language: str, half: str) -> None:
    """Each line has the documented fields and no others, and texts that are not empty."""
    required = {"id", "reference", "reply", "same", "kind"}
    for row in pairs(f"{language}.{half}"):
        assert required <= set(row) <= required | {"question", "hard", "note"}, row
        assert row["kind"] in KINDS, row
        assert row["same"] in (True, False, None), row
        assert all(text.strip() == text and text for text in texts(row)[1:]), row
        assert row["reference"] != row["reply"], row


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("half", HALVES)
def test_grounding_items_have_their_fields(language: str, half: str) -> None:
    """Each grounding line has tool results, a reply and a verdict."""
    required = {"id", "tool_results", "reply", "grounded", "kind"}
    for row in pairs(f"{language}.grounding.{half}"):
        assert required <= set(row) <= required | {"hard", "note"}, row
        assert row["kind"] in KINDS, row
        assert isinstance(row["tool_results"], dict), row
        assert row["grounded"] in (True, False, None), row


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("half", HALVES)
def test_halves_are_large_and_balanced(language: str, half: str) -> None:
    """A half has 200 pairs or more, two fifths or more of each verdict, and hard ones."""
    rows = pairs(f"{language}.{half}")
    verdicts = Counter(row["same"] for row in rows)
    assert len(rows) >= 200
    assert min(verdicts[True], verdicts[False]) >= 0.4 * len(rows)
    assert 0 < verdicts[None] <= 0.06 * len(rows)
    assert sum(row.get("hard", False) for row in rows) >= 0.1 * len(rows)
    assert len({row["kind"] for row in rows}) >= 20
    assert len(pairs(f"{language}.grounding.{half}")) >= 25


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("half", HALVES)
def test_claims_have_six_kinds_with_both_verdicts(language: str, half: str) -> None:
    """A half of the claims has 20 pairs or more, and right and wrong replies of each kind."""
    rows = pairs(f"{language}.claims.{half}")
    assert len(rows) >= 20
    verdicts = {(row["kind"], row["same"]) for row in rows}
    kinds = ("date", "list", "name", "obligation", "promise", "quote")
    assert verdicts == {(kind, same) for kind in kinds for same in (True, False)}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("part", ["", ".grounding", ".claims"])
def test_no_pair_occurs_twice(language: str, part: str) -> None:
    """No pair is a duplicate, and no reference occurs in both halves."""
    dev, held = (pairs(f"{language}{part}.{half}") for half in HALVES)
    seen = Counter(texts(row) for row in dev + held)
    assert [text for text, times in seen.items() if times > 1] == []
    assert len({row["id"] for row in dev + held}) == len(dev) + len(held)
    assert {texts(row)[0] for row in dev}.isdisjoint(texts(row)[0] for row in held)


@pytest.mark.parametrize("language", LANGUAGES)
def test_readme_states_the_counts(language: str) -> None:
    """The table of the README has the counts of the files."""
    rows = pairs(f"{language}.dev") + pairs(f"{language}.held")
    verdicts = Counter(row["same"] for row in rows)
    grounding = [len(pairs(f"{language}.grounding.{half}")) for half in HALVES]
    hard = sum(row.get("hard", False) for row in rows)
    references = len({texts(row)[0] for row in rows})
    counts = (len(rows), verdicts[True], verdicts[False], verdicts[None], hard, references, sum(grounding))
    line = f"| {language} | {' | '.join(map(str, counts))} |"
    assert line in (CORPUS / "README.md").read_text(encoding="utf-8").splitlines()
