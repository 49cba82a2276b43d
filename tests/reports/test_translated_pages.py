"""Pages about mutants and about failures hold no English of this package if they are written in another language."""

from __future__ import annotations

import html
import re
from contextlib import closing
from pathlib import Path

import pytest

from commands import fairtrial
from fairtrial.store import Store
from fairtrial.text.languages import LANGUAGES
from mode_runs import EXTRA, NOW, mode_run
from viewers import fill

OTHERS = [language for language in LANGUAGES if language != "en"]
EVAL_SET = """{"eval_set_id": "shop", "eval_cases": [
  {"eval_id": "late", "conversation": [
    {"user_content": {"parts": [{"text": "A-17?"}]},
     "intermediate_data": {"tool_uses": [{"name": "find", "args": {"order": "A-17", "count": 3}}]},
     "final_response": {"parts": [{"text": "Order A-17 is ready. It arrives on Friday and costs $20."}]}},
    {"user_content": {"parts": [{"text": "Cancel."}]},
     "intermediate_data": {"tool_uses": [{"name": "cancel", "args": {"order": "A-17"}}]},
     "final_response": {"parts": [{"text": "Done."}]}}]},
  {"eval_id": "empty", "conversation": [{"user_content": {"parts": [{"text": "A-18?"}]}}]}
]}"""
CRITERIA = '{"criteria": {"response_match_score": 0.5, "facts_match_v1": 0.8}}'
DIFFERENCES = re.compile(r"<pre>.*?</pre>", re.DOTALL)
"""The mutants themselves, whose texts are the user's."""
WORDS = re.compile(r"(?<![\w-])[A-Za-z]+(?:[ ,;:]+[a-z]+)+(?!\w)|(?<![\w-])(?:attempt|invocation|step|needs) [0-9]")


def english_in(page: str) -> set[str]:
    """Two words of English or more, or a word with a number, in a text of a page, also in its title."""
    texts = re.split(r"<[^>]+>", re.sub(r"<style>.*?</style>", "", DIFFERENCES.sub("", page), flags=re.DOTALL))
    return {found[0] for text in texts for found in WORDS.finditer(html.unescape(text))}


def declared_language(page: str) -> str:
    """The language that a page declares."""
    found = re.search(r'<html lang="([^"]+)"', page)
    assert found is not None
    return found[1]


@pytest.mark.long
@pytest.mark.parametrize("language", OTHERS)
def test_mutants(language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the hints, the reasons of what was left out, and the coverage."""
    monkeypatch.chdir(tmp_path)
    Path("shop.evalset.json").write_text(EVAL_SET, encoding="utf-8")
    Path("criteria.json").write_text(CRITERIA, encoding="utf-8")
    files = ("shop.evalset.json", "--config", "criteria.json", "--html", "page.html", "--store", "sqlite:///m.db")
    fairtrial("mutate", *files, "--lang", language)
    page = Path("page.html").read_text("utf-8")
    assert "<details" in page
    assert 'class="hint"' in page
    assert "empty" in page
    assert (declared_language(page), english_in(page)) == (language, set())


@pytest.mark.parametrize("language", OTHERS)
def test_failures(language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the names of the modes, and the reason and the place of each failed attempt."""
    monkeypatch.chdir(tmp_path)
    with closing(Store("sqlite:///f.db")) as store:
        fill(store, mode_run(NOW, extra=EXTRA))
    fairtrial("failures", NOW, "--store", "sqlite:///f.db", "--html", "page.html", "--lang", language)
    page = Path("page.html").read_text("utf-8")
    assert page.count("<details") == 14
    assert (declared_language(page), english_in(page)) == (language, set())


def test_english_is_found() -> None:
    """A page in English has much of it, so that the tests above can fail."""
    assert english_in("<h2>Left out</h2><pre>what it says</pre><p>답변 1: no attempt passed</p><b>find_order</b>") == {
        "Left out",
        "no attempt passed",
    }
