"""Every report can be made again from the store alone, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import MATCH, case, enter, eval_set, fairtrial, write
from fairtrial.api import reread
from fairtrial.reports.report_table import REPORTS, Report
from fairtrial.store import DEFAULT_URL

RUN = ("run", "trips.evalset.json", "more.evalset.json", "--agent", "commands:obedient", "--attempts", "2")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder in which a run of two eval sets has written all its reports, and whose eval sets are gone."""
    enter(tmp_path, monkeypatch)
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set("good", "fail", "crash", case("주문", "ok", "find"), case("blank", "")))
    write("more.evalset.json", eval_set("good", case("alone", "no"), name="more"))
    done = fairtrial(*RUN, "--json", "r.json", "--junit", "r.xml", "--adk-results", "out", "--quiet")
    assert done.code == 1
    for file in ("trips.evalset.json", "more.evalset.json", "test_config.json"):
        Path(file).unlink()


@pytest.mark.long
def test_the_json_report_is_made_again() -> None:
    """Durations, intervals and signatures included."""
    assert fairtrial("show", "2", "--json", "again.json").code == 0
    assert Path("again.json").read_bytes() == Path("r.json").read_bytes()
    assert fairtrial("show", "2", "--json", "-").out.encode() == Path("r.json").read_bytes()


def test_the_junit_report_is_made_again() -> None:
    """Time stamp and seconds are those of the run."""
    assert fairtrial("show", "2", "--junit", "again.xml").code == 0
    assert Path("again.xml").read_bytes() == Path("r.xml").read_bytes()


@pytest.mark.long
def test_the_run_is_shown_beside_its_files() -> None:
    """As the command did that made it. With a report on stdout, people read stderr."""
    shown = fairtrial("show", "2").out
    assert fairtrial("show", "2", "--json", "again.json").out == shown
    quiet = fairtrial("show", "2", "--json", "again.json", "--quiet").out
    assert quiet == fairtrial("show", "2", "--quiet").out
    assert [line for line in quiet.splitlines() if line not in shown] == []
    assert 0 < len(quiet) < len(shown)
    assert "FAILED" in fairtrial("show", "2", "--json", "-", "--quiet").err


def test_adk_results_are_made_again() -> None:
    """A file for each eval set, with what was expected, under the same names."""
    assert fairtrial("show", "2", "--adk-results", "again").code == 0
    first, second = ({file.name: file.read_bytes() for file in Path(name).iterdir()} for name in ("out", "again"))
    assert second == first
    assert len(first) == 2


@pytest.mark.long
@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.name)
def test_every_report_of_the_table_is_made_again(report: Report) -> None:
    """Whoever adds a report finds all that it shows in the store."""
    if report.package:
        pytest.importorskip(report.package)
    store, names = ("--store", "sqlite:///other.db"), (f"written{report.suffix}", f"again{report.suffix}")
    write("trips.evalset.json", eval_set("good", "fail", "crash", case("주문", "ok", "find")))
    write("test_config.json", MATCH)
    assert fairtrial(*RUN[:2], *RUN[3:], *store, report.option, names[0], "--quiet").code == 1
    for file in ("trips.evalset.json", "test_config.json"):
        Path(file).unlink()
    assert fairtrial("show", "2", *store, report.option, names[1]).code == 0
    written, again = map(contents, map(Path, names))
    assert written
    assert again == written


def contents(path: Path) -> dict[str, bytes]:
    """The files of a report by their names, or the file."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return {file.name if path.is_dir() else "": file.read_bytes() for file in files}


def test_a_stored_run_knows_what_was_expected() -> None:
    """The cases of a stored run have their expectation and their key, in file order."""
    run = reread(DEFAULT_URL, "2")
    expected = list(run.expected)
    assert [each.name for each in expected] == ["trips:good", "fail", "crash", "주문", "blank", "more:good", "alone"]
    assert [each.case.conversation[0].reply for each in expected if each.case.conversation][3:5] == ["ok", ""]
    assert [each.key for each in expected] == list(dict.fromkeys(result.key for result in run.cases))


def test_a_case_and_a_file_of_the_run_are_not_both_asked_for() -> None:
    """The files hold a whole run."""
    done = fairtrial("show", "2", "good", "--json", "-")
    assert (done.code, "write a whole run, got the case 'good' too" in done.err) == (2, True)


def test_of_a_case_with_a_shared_id_every_set_is_shown() -> None:
    """CASE is the own id of a case, or the name that reports give it."""
    assert fairtrial("show", "2", "good").out.count("  attempt ") == 4
    assert fairtrial("show", "2", "more:good").out.count("  attempt ") == 2


def test_a_file_that_cannot_be_written_is_refused() -> None:
    """The message names the option and the file."""
    Path("folder").mkdir()
    done = fairtrial("show", "2", "--junit", "folder")
    assert done.code == 2
