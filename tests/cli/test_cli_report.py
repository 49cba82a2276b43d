"""The commands `fairtrial run --html` and `fairtrial show --html` write pages about runs."""

from __future__ import annotations

import json
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
    """`show --html` and `run --html` give the same page, byte by byte."""
    run_id = run("--html", "own.html")
    assert fairtrial("show", run_id, "--html", "shown.html").code == 0
    assert Path("own.html").read_bytes() == Path("shown.html").read_bytes()
    page = read_page(Path("shown.html").read_bytes())
    assert {attempt["name"]: attempt["verdict"] for attempt in page.attempts()} == {
        "good": "passed",
        "fail[1]": "passed",
        "crash": "error",
    }


def test_a_page_goes_without_personal_data_on_request() -> None:
    """Without the option, a page is without secrets, but with e-mail addresses and telephone numbers."""
    query = "password=x9Kq2Lm8Zt4v, jane@example.com, 010-2345-6789"
    write("mail.evalset.json", eval_set(case("a", query=query)))
    assert fairtrial("run", "mail.evalset.json", "--agent", "commands:obedient", "--quiet").code == 0
    run_id = fairtrial("runs", "--limit", "1", "--quiet").out.strip()
    for options, shown in (
        ([], "password=[REDACTED:pair], jane@example.com, 010-2345-6789"),
        (["--redact", "people"], "password=[REDACTED:pair], [REDACTED:email], [REDACTED:phone]"),
    ):
        assert fairtrial("show", run_id, "--html", "mail.html", *options).code == 0
        page = read_page(Path("mail.html").read_bytes())
        assert shown in json.dumps(list(page.attempts()))


@pytest.mark.long
def test_two_runs_stand_side_by_side() -> None:
    """Cases are joined by their ids; a case of one run only is called so."""
    base, candidate = run("--only", "good", "--only", "crash"), run("--only", "good", "--only", "fail*")
    assert fairtrial("show", candidate, "--baseline", base, "--html", "both.html").code == 0
    page = read_page(Path("both.html").read_bytes())
    assert [view["id"] for view in page.view["runs"]] == [base, candidate]
    changes = {entry["name"]: entry["change"] for entry in page.view["comparisons"][0]["cases"]}
    assert changes == {"good": "same", "crash": "only_base", "fail[1]": "only_candidate"}
    assert [attempt["name"] for attempt in page.attempts(1)] == ["good", "fail[1]"]


@pytest.mark.long
def test_a_page_can_show_the_change_since_a_baseline() -> None:
    """With --baseline, the page names the cases that changed. It has the conversations of a base run of the store."""
    base = run("--only", "good")
    run("--baseline", base, "--html", "changed.html")
    page = read_page(Path("changed.html").read_bytes())
    changes = {entry["name"]: entry["change"] for entry in page.view["comparisons"][0]["cases"]}
    assert changes == {"good": "same", "fail[1]": "only_candidate", "crash": "only_candidate"}
    assert (len(page.view["runs"]), page.view["runs"][0]["id"]) == (2, base)
    assert [attempt["name"] for attempt in page.attempts(0)] == ["good"]
    assert len(page.attempts(1)) == 3


def test_a_baseline_in_a_file_has_no_conversations() -> None:
    """Its numbers are compared, and the page holds one run."""
    run("--only", "good", "--json", "main.json")
    run("--baseline", "main.json", "--html", "changed.html")
    page = read_page(Path("changed.html").read_bytes())
    assert len(page.view["runs"]) == 1
    assert {entry["name"] for entry in page.view["comparisons"][0]["cases"]} == {"good", "fail[1]", "crash"}


def test_wrong_arguments_are_refused() -> None:
    """A missing run, a file that is read, an unknown language, and a redacted report of another form are refused."""
    run_id = run()
    refused = fairtrial("show", run_id, "--json", "x.json", "--html", "x.html", "--redact", "people")
    assert (refused.code, "only HTML is redacted" in refused.err) == (2, True)
    assert fairtrial("show", "1999", "--html", "x.html").code == 2
    refused = fairtrial("show", run_id, "--html", "trips.evalset.json")
    assert (refused.code, "choose another file" in refused.err) == (2, True)
    assert fairtrial("show", run_id, "--html", "x.html", "--lang", "xx").code == 2
