"""Does `fairtrial report` write pages about stored runs, and do other commands write the same page?"""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import MATCH, case, enter, eval_set, fairtrial, write
from html_pages import read_page


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an eval set."""
    enter(tmp_path, monkeypatch)
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set("good", case("fail[1]"), "crash"))


def run(*more: str) -> str:
    """Run the test agent, and return the id of the run."""
    assert fairtrial("run", "trips.evalset.json", "--agent", "commands:obedient", "--quiet", *more).code in {0, 1}
    return fairtrial("runs", "--limit", "1", "--quiet").out.strip()


def test_one_command_writes_the_page_of_a_run() -> None:
    """`report`, `show --html` and `run --html` give the same page, byte by byte."""
    run_id = run("--html", "own.html")
    done = fairtrial("report", run_id, "-o", "report.html")
    assert (done.code, done.out, done.err) == (0, "report.html\n", "")
    assert fairtrial("show", run_id, "--html", "shown.html").code == 0
    assert Path("own.html").read_bytes() == Path("report.html").read_bytes() == Path("shown.html").read_bytes()
    page = read_page(Path("report.html").read_bytes())
    assert {attempt["name"]: attempt["verdict"] for attempt in page.attempts()} == {
        "good": "passed",
        "fail[1]": "passed",
        "crash": "error",
    }


def test_two_runs_stand_side_by_side() -> None:
    """Cases are joined by their ids; a case of one run only is called so."""
    base, candidate = run("--only", "good", "--only", "crash"), run("--only", "good", "--only", "fail*")
    assert fairtrial("report", base, candidate, "-o", "both.html").code == 0
    page = read_page(Path("both.html").read_bytes())
    assert [view["id"] for view in page.view["runs"]] == [base, candidate]
    changes = {entry["name"]: entry["change"] for entry in page.view["comparison"]["cases"]}
    assert changes == {"good": "same", "crash": "only_base", "fail[1]": "only_candidate"}
    assert [attempt["name"] for attempt in page.attempts(1)] == ["good", "fail[1]"]


def test_a_page_can_show_the_change_since_a_baseline() -> None:
    """With --baseline, the page of one run names the cases that changed."""
    base = run("--only", "good")
    run("--baseline", base, "--html", "changed.html")
    page = read_page(Path("changed.html").read_bytes())
    changes = {entry["name"]: entry["change"] for entry in page.view["comparison"]["cases"]}
    assert changes == {"good": "same", "fail[1]": "only_candidate", "crash": "only_candidate"}
    assert len(page.view["runs"]) == 1


def test_wrong_arguments_are_refused() -> None:
    """More than two runs, a run that does not exist, and a file that is read are refused in words."""
    run_id = run()
    assert "one or two runs, got 3" in fairtrial("report", run_id, run_id, run_id, "-o", "x.html").err
    assert fairtrial("report", "1999", "-o", "x.html").code == 2
    refused = fairtrial("report", run_id, "-o", "trips.evalset.json")
    assert (refused.code, "choose another file" in refused.err) == (2, True)
    assert fairtrial("report", run_id, "-o", "x.html", "--lang", "xx").code == 2
