"""A case may be called `summary`. Tables show the names of users in every language as they are."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from commands import fairtrial
from fairtrial import Criterion
from fairtrial.records.run_comparison import IntervalEstimate
from fairtrial.records.run_history import WatchedMeasure, WatchedTraffic
from fairtrial.reports.decisions.watch_report import watch_report
from fairtrial.reports.rows import Name, Rows
from fairtrial.reports.translated import translate
from fairtrial.store import DEFAULT_URL
from fairtrial.text.languages import LANGUAGES, speaking, translations
from graded_runs import graded_run, quality

OTHERS = [language for language in LANGUAGES if language != "en"]
WORDS = ("summary", "passed", "error", "cost", "no value", "missing", "agent")
"""Names of cases that are words of the tables, too."""


def plain_text(report: Any) -> str:
    """A report as a wide terminal prints it."""
    console = Console(file=io.StringIO(), width=2_000, highlight=False, emoji=False, markup=False)
    console.print(report)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("language", OTHERS)
def test_no_word_of_the_tables_is_taken_for_a_name(language: str) -> None:
    """Every text that the package can translate, as the name of a row, in another cell, and as a title."""
    words = [word for word in translations(language) if word.strip() and "\n" not in word]
    assert len(words) > 1_000
    with speaking(language):
        for word in words:
            rows = Rows(("case", Name(word), "verdict"))
            rows.add(word, Name(word), "passed")
            ((name, cell, verdict), _) = translate(rows).rows[0]
            assert (name, cell) == (word, word)
            assert verdict != "passed"
        assert plain_text(translate(rows)).count(word) == 3


@pytest.fixture
def ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Two runs with flaky cases and a criterion that have such names."""
    monkeypatch.chdir(tmp_path)
    criterion = Criterion("summary", quality, 0.5)
    values = {word: [1.0, 0.0] for word in WORDS}
    return tuple(graded_run(values, store=DEFAULT_URL, criteria=[criterion]).info.id for _ in range(2))  # type: ignore[return-value]


@pytest.mark.long
@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("command", ["show", "flaky", "compare"])
def test_a_case_and_a_criterion_keep_their_names(ids: tuple[str, str], command: str, language: str) -> None:
    """In the output of the command line."""
    runs = ids if command == "compare" else ids[:1]
    lines = fairtrial(command, *runs, "--lang", language).out.splitlines()
    wanted = WORDS if command != "compare" else ("summary",)
    missing = [word for word in wanted if not any(line.lstrip(" ✓✗!~…").startswith(f"{word} ") for line in lines)]
    assert missing == []


@pytest.mark.parametrize(
    ("language", "word"), [("ko", "케이스"), ("ja", "ケース"), ("zh-TW", "案例"), ("zh-CN", "用例")]
)
def test_the_measure_of_all_cases_has_its_word(ids: tuple[str, str], language: str, word: str) -> None:
    """It is no name of a user: a row of `compare`, and a title of `history`."""
    rows = fairtrial("compare", *ids, "--lang", language).out.splitlines()
    assert any(line.lstrip().startswith(f"{word} ") for line in rows)
    assert not any(line.lstrip().startswith("cases ") for line in rows)
    lines = fairtrial("history", "--lang", language).out.splitlines()
    title = next(line for line in lines if word in line)
    assert "cases" not in title.split()


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("state", ["unknown", "steady", "drifted"])
def test_the_state_of_a_judge_has_its_word(language: str, state: str) -> None:
    """Beside a criterion that has the same name, which stays."""
    measures = (WatchedMeasure(state, "steady", 3, IntervalEstimate(None), judge=state),)
    traffic = WatchedTraffic({"agent": "shop"}, 200, 1_000.0, 2, measures)
    with speaking(language):
        rows = next(own for own in translate(watch_report(traffic)).renderables if isinstance(own, Rows))
    ((cells, _),) = rows.rows
    assert cells[0] == state
    assert cells[-1] not in ("", state)
