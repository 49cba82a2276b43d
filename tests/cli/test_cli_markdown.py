"""The command line writes Markdown for a comment, and compares with a baseline."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import MATCH, enter, eval_set, fairtrial, write

RUN = ("run", "trips.evalset.json", "--agent", "commands:obedient", "--quiet")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an eval set whose case `fail` passed in the run of `main.json`."""
    enter(tmp_path, monkeypatch)
    write("test_config.json", {"criteria": {"response_match_score": 0.0}})
    write("trips.evalset.json", eval_set("good", "fail"))
    assert fairtrial(*RUN, "--json", "main.json").code == 0
    write("test_config.json", MATCH)


def test_run_and_show_write_the_same_report() -> None:
    """With the change since the baseline, and the command that shows the run again."""
    assert fairtrial(*RUN, "--markdown", "report.md", "--baseline", "main.json").code == 1
    report = Path("report.md").read_text(encoding="utf-8")
    assert "**Broken**: `fail`" in report
    run = report.splitlines()[-1].removeprefix("Look closer: `fairtrial show ").removesuffix("`")
    assert fairtrial("show", run, "--markdown", "-", "--baseline", "main.json").out == report


def test_a_baseline_that_does_not_exist_is_refused_before_the_run() -> None:
    """Nothing is paid for, and no run is stored."""
    before = fairtrial("runs").out
    done = fairtrial(*RUN, "--markdown", "report.md", "--baseline", "nothing.json")
    assert done.code == 2
    assert "nothing.json" in done.err
    assert fairtrial("runs").out == before


def test_a_baseline_needs_a_report_that_shows_it() -> None:
    """Otherwise nobody would see the comparison."""
    done = fairtrial(*RUN, "--baseline", "main.json")
    assert (done.code, done.err) == (
        2,
        "fairtrial: --baseline needs a report that shows it: --html or --markdown [missing-option]\n",
    )


def test_two_reports_do_not_share_standard_output() -> None:
    """A program could read neither of them."""
    done = fairtrial(*RUN, "--json", "-", "--markdown", "-")
    assert (done.code, "only one report" in done.err) == (2, True)


def test_compare_writes_its_table() -> None:
    """A row for each measure, as in the terminal."""
    assert fairtrial(*RUN, "--json", "new.json").code == 1
    assert fairtrial("compare", "main.json", "new.json", "--markdown", "compared.md", "--even-so").code == 0
    text = Path("compared.md").read_text(encoding="utf-8")
    assert text.startswith("<!-- fairtrial compare -->\n### 2 cases: ")
    assert "| `cases` | 100 % | 50 % | -50 points (" in text
    assert "**Broken**: `fail`" in text
