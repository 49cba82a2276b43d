"""The commands `fairtrial runs` and `fairtrial show` read the store back."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from commands import MATCH, case, enter, eval_set, fairtrial, write
from fairtrial.records.result import CaseResult, Outcome, Verdict
from fairtrial.records.run import RunInfo
from fairtrial.records.score import Score
from fairtrial.store import Store
from fairtrial.store.bodies import compress

KEPT = "sqlite:///kept/here.db"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an eval set."""
    enter(tmp_path, monkeypatch)
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set("good", case("fail[1]"), "crash"))


def run(*more: str) -> str:
    """Run the test agent, and return the id of the run."""
    done = fairtrial(
        "run", "trips.evalset.json", "--agent", "commands:obedient", "--store", KEPT, "--json", "r.json", *more
    )
    assert done.code == 1
    found: str = json.loads(Path("r.json").read_bytes())["run"]["id"]
    return found


@pytest.mark.long
def test_runs_are_listed_newest_first() -> None:
    """Each run has a row: its id, its verdict, what it was."""
    first, second = run(), run("--only", "good", "--only", "crash")
    done = fairtrial("runs", "--store", KEPT)
    rows = [line.split() for line in done.out.splitlines()[2:]]
    assert [row[:2] for row in rows] == [[second, "failed"], [first, "failed"]]
    assert rows[0][6:] == ["run", "trips.evalset.json", "--agent", "commands:obedient"]


def test_a_run_that_did_not_end_says_so() -> None:
    """A run without an end is listed as not finished, and shown without a verdict that sounds final."""
    store = Store(KEPT)
    store.begin(RunInfo("20260101-000000-aaaaaa", "2026-01-01T00:00:00.000+00:00", "0", "run", {"paths": ["x"]}))
    store.close()
    assert "not finished" in fairtrial("runs", "--store", KEPT).out
    assert "NOT FINISHED, so far unscored" in fairtrial("show", "2026", "--store", KEPT).out


def test_the_json_of_a_run_that_did_not_end_has_not_passed() -> None:
    """What was killed half way is no green build, however well it went until then."""
    store = Store(KEPT)
    store.begin(RunInfo("20260101-000000-aaaaaa", "2026-01-01T00:00:00.000+00:00", "0", "run", {"paths": ["x"]}))
    store.add_result("20260101-000000-aaaaaa", CaseResult("a", 0, (Outcome("match", Score(1.0), 0.8),)))
    store.close()
    assert "NOT FINISHED, so far passed" in fairtrial("show", "2026", "--store", KEPT).out
    assert fairtrial("show", "2026", "--json", "-", "--store", KEPT).json["run"]["verdict"] == "unscored"


def test_show_prints_the_report_again() -> None:
    """`fairtrial show RUN` shows the same as the run did, times apart."""
    done = fairtrial("run", "trips.evalset.json", "--agent", "commands:obedient", "--store", KEPT)
    shown = fairtrial("show", "2", "--store", KEPT)
    assert shown.code == 0
    first_line, last_line = "criteria: ", "run 2"
    body = [line for line in done.out.splitlines() if not line.startswith((first_line, last_line))]
    assert shown.out.splitlines() == body


def test_show_one_case_in_full() -> None:
    """`fairtrial show RUN CASE` shows everything about a case: the traceback of a crash too."""
    run_id = run()
    done = fairtrial("show", run_id, "crash", "--store", KEPT)
    assert "agent: RuntimeError: the agent fell over" in done.out
    assert "Traceback (most recent call last):" in done.out
    assert "good" not in done.out


@pytest.mark.parametrize(("pattern", "shown"), [("fail[1]", {"fail[1]"}), ("*a*", {"fail[1]", "crash"})])
def test_show_takes_ids_and_globs(pattern: str, shown: set[str]) -> None:
    """CASE is an id, brackets included, or a glob."""
    done = fairtrial("show", run(), pattern, "--store", KEPT)
    assert set(re.findall(r"^[✓✗!] (\S+)", done.out, re.MULTILINE)) == shown


def test_show_json_is_the_report() -> None:
    """`fairtrial show RUN --json -` prints what --json wrote."""
    run_id = run()
    assert fairtrial("show", run_id, "--json", "-", "--store", KEPT).json == json.loads(Path("r.json").read_bytes())


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nosuch"], "no run in sqlite:///kept/here.db with an id that starts with 'nosuch'"),
        (["2"], "2 runs in sqlite:///kept/here.db with an id that starts with '2'"),
        (["RUN", "nosuch"], "has no case 'nosuch'"),
        (["RUN", "crahs"], "has no case 'crahs'"),
    ],
)
def test_what_is_not_there_is_refused(arguments: list[str], said: str) -> None:
    """An id of no run, of several runs, or of no case ends with 2."""
    run_id = run()
    run()
    done = fairtrial("show", *(run_id if one == "RUN" else one for one in arguments), "--store", KEPT)
    assert (done.code, said in done.err) == (2, True), done.err


@pytest.mark.long
def test_show_lists_what_spoiled_invalid_attempts() -> None:
    """Below the numbers, passed or not; of one case it is shown with the case; a reread report has the same faults."""
    blank = case("blank", "")
    write("trips.evalset.json", eval_set("good", "fail", blank))
    run_id = run("--junit", "r.xml")
    said = "expectation: response_match_score: the reference of invocation 1 is blank, and no call is expected there"
    shown = fairtrial("show", run_id, "--store", KEPT).out
    listed = shown[shown.index("invalid attempts") :].splitlines()
    assert [line.strip() for line in listed[1:]] == ["✗ blank  failed", said]
    assert said in fairtrial("show", run_id, "blank", "--store", KEPT).out
    again = fairtrial("show", run_id, "--json", "-", "--store", KEPT).json
    faults = [one["fault"] and one["fault"]["side"] for one in again["attempts"]]
    assert faults == [None, "agent", "expectation"]
    assert again == json.loads(Path("r.json").read_bytes())


@pytest.mark.long
def test_large_runs_are_shown_by_their_failures_first_and_in_full_on_demand() -> None:
    """`fairtrial show RUN` lists what did not pass; with --all it leaves nothing out."""
    write("trips.evalset.json", eval_set(*(f"good_{i}" for i in range(205)), "fail"))
    done = fairtrial("run", "trips.evalset.json", "--agent", "commands:obedient", "--store", KEPT)
    assert len(re.findall("^[✓✗] ", done.out, re.MULTILINE)) == 1 + 1
    assert len(re.findall("^[✓✗] ", fairtrial("show", "2", "--store", KEPT).out, re.MULTILINE)) == 1 + 1
    assert len(re.findall("^[✓✗] ", fairtrial("show", "2", "--all", "--store", KEPT).out, re.MULTILINE)) == 206 + 1


@pytest.mark.parametrize(
    "command", [["runs"], ["show", "2"], ["run", "--resume", "2"], ["value", "--from-run", "2"]], ids=" ".join
)
def test_where_there_is_no_store_none_is_made(command: list[str]) -> None:
    """Reading says that there is nothing to read, and leaves no folder behind."""
    before = sorted(Path.cwd().rglob("*"))
    done = fairtrial(*command)
    assert (done.code, "there is no store at sqlite:///.fairtrial/fairtrial.db" in done.err) == (2, True), done.err
    assert sorted(Path.cwd().rglob("*")) == before


def test_a_database_without_runs_is_no_store() -> None:
    """A database of somebody else's is not written to."""
    Path("other.db").touch()
    done = fairtrial("runs", "--store", "sqlite:///other.db")
    assert (done.code, "sqlite:///other.db holds no fairtrial store" in done.err) == (2, True), done.err


def spoil_bodies(run_id: str, where: str) -> None:
    """Make the bodies of some results unreadable, so that whoever decodes them fails."""
    with closing(sqlite3.connect("kept/here.db")) as database, database:
        select = f"SELECT number FROM fairtrial_runs WHERE id = '{run_id}'"  # noqa: S608
        database.execute(f"UPDATE fairtrial_results SET body = x'00' WHERE run = ({select}) AND {where}")  # noqa: S608


def test_showing_a_case_decodes_its_own_results_only() -> None:
    """So that it takes no longer in a run of 20,000 attempts."""
    run_id = run()
    spoil_bodies(run_id, "position != 0")
    assert "✓ good  passed" in fairtrial("show", run_id, "good", "--store", KEPT).out


@pytest.mark.long
def test_showing_a_large_run_decodes_what_it_lists_only() -> None:
    """The numbers of a finished run are stored, and the attempts that passed are not looked at."""
    write("trips.evalset.json", eval_set(*(f"good_{i}" for i in range(205)), "fail", "crash"))
    run_id = run()
    spoil_bodies(run_id, "verdict = 'passed'")
    shown = fairtrial("show", run_id, "--store", KEPT)
    assert (shown.code, re.findall(r"^[✓✗!] (\S+)", shown.out, re.MULTILINE)) == (0, ["fail", "crash", "FAILED:"])


def ids(*arguments: str) -> list[str]:
    """The ids that `runs` lists."""
    done = fairtrial("runs", "--store", KEPT, "--quiet", *arguments)
    assert (done.code, done.err) == (0, "")
    return done.out.splitlines()


def begin(run_id: str, started: str, **fields: Any) -> None:
    """Add a run with a description to the store."""
    store = Store(KEPT)
    store.begin(RunInfo(run_id, started, "0.1.0", **fields))
    store.close()


@pytest.fixture
def three_runs() -> None:
    """Three runs, the newest of which is not finished."""
    shop = {"paths": ["evals/shop.evalset.json"], "agent": "shop.agent:reply"}
    begin("run-1", "2026-01-01T12:00:00.000+00:00", kind="run", config=shop, verdict=Verdict.FAILED)
    begin("run-2", "2026-01-02T12:00:00.000+00:00", kind="score", config={"paths": ["x"]}, verdict=Verdict.PASSED)
    begin("run-3", "2026-01-03T12:00:00.000+00:00", kind="run", config={**shop, "agent": "bank.agent:reply"})


@pytest.mark.usefixtures("three_runs")
@pytest.mark.parametrize(
    ("arguments", "listed"),
    [
        ([], ["run-3", "run-2", "run-1"]),
        (["--limit", "2"], ["run-3", "run-2"]),
        (["--limit", "1", "--verdict", "failed"], ["run-1"]),
        (["--verdict", "failed", "--verdict", "passed"], ["run-2", "run-1"]),
        (["--verdict", "unfinished"], ["run-3"]),
        (["--kind", "score"], ["run-2"]),
        (["--agent", "shop.*"], ["run-1"]),
        (["--agent", "bank.agent:reply"], ["run-3"]),
        (["--eval-set", "evals/*"], ["run-3", "run-1"]),
        (["--eval-set", "evals/*", "--since", "2026-01-02T18:00"], ["run-3"]),
        (["--since", "2030-01-01"], []),
    ],
)
def test_runs_are_filtered(arguments: list[str], listed: list[str]) -> None:
    """A run is listed if it has every property; the newest comes first, and the limit counts runs that fit."""
    assert ids(*arguments) == listed


@pytest.mark.parametrize(
    "arguments", [["--limit", "0"], ["--verdict", "great"], ["--kind", "value"], ["--since", "yesterday"]]
)
def test_a_filter_that_means_nothing_is_refused(arguments: list[str]) -> None:
    """It is wrong usage, and the message says what is allowed."""
    assert fairtrial("runs", *arguments).code == 2


LATER = "a kind of a later version"


def write_later_bodies(run_id: str, table: str, where: str = "1") -> None:
    """Replace bodies by bodies that a later version may have written: this version does not know their fields."""
    with closing(sqlite3.connect("kept/here.db")) as database, database:
        select = f"SELECT number FROM fairtrial_runs WHERE id = '{run_id}'"  # noqa: S608
        statement = f"UPDATE fairtrial_{table} SET body = ? WHERE run = ({select}) AND {where}"  # noqa: S608
        database.execute(statement, [compress(json.dumps({"case_id": {"of": LATER}}).encode())])


@pytest.mark.parametrize(
    ("table", "command", "skipped"),
    [
        ("results", ("show", "RUN"), "1 result row"),
        ("cases", ("show", "RUN", "--adk-results", "adk"), "1 case row"),
        ("recordings", ("show", "RUN", "--adk-results", "adk"), "1 recording row"),
        ("recordings", ("value", "--from-run", "RUN", "--confidence", "0.5", "--success"), "1 recording row"),
    ],
)
def test_rows_of_a_later_version_are_left_out_and_counted(table: str, command: tuple[str, ...], skipped: str) -> None:
    """The other rows of the run are shown, and standard error has the number of rows that are not."""
    run_id = run()
    write_later_bodies(run_id, table, "position = 0")
    done = fairtrial(*(run_id if word == "RUN" else word for word in command), "--store", KEPT)
    assert f"{skipped} cannot be read, and left out: a later fairtrial wrote them" in done.err
    assert done.code == 0


@pytest.mark.parametrize(("since", "listed"), [("0001-01-01", True), ("9999-12-31T23:59:59", False)])
@pytest.mark.parametrize("zone", ["UTC", "Asia/Seoul", "America/New_York"])
def test_every_date_is_a_start(since: str, *, listed: bool, zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the first and the last of the calendar, which are outside of it in another zone."""
    run()
    with monkeypatch.context() as patch:
        patch.setenv("TZ", zone)
        time.tzset()
        done = fairtrial("runs", "--store", KEPT, "-q", "--since", since)
    time.tzset()
    assert (done.code, bool(done.out)) == (0, listed)


def test_the_results_that_can_be_read_are_shown() -> None:
    """One of three is not."""
    run_id = run()
    write_later_bodies(run_id, "results", "position = 0")
    assert len(fairtrial("show", run_id, "--json", "-", "--store", KEPT).json["attempts"]) == 2


def test_a_run_with_rows_of_a_later_version_is_not_exported_in_part() -> None:
    """The file has no last line, so that nobody imports it."""
    run_id = run()
    write_later_bodies(run_id, "recordings", "position = 0")
    done = fairtrial("runs", "export", run_id, "part.jsonl", "--store", KEPT)
    assert (done.code, f"1 recording row of run {run_id} cannot be read; export it with" in done.err) == (4, True)
    assert "the file ends before the line that counts" in fairtrial("runs", "import", "part.jsonl").err


def test_a_run_that_cannot_be_read_is_left_out_of_the_list_and_counted() -> None:
    """The others are listed."""
    first, second = run(), run()
    with closing(sqlite3.connect("kept/here.db")) as database, database:
        database.execute("UPDATE fairtrial_runs SET body = x'00' WHERE id = ?", [first])
    done = fairtrial("runs", "--store", KEPT, "-q")
    assert (done.code, done.out.split(), "1 run row cannot be read" in done.err) == (0, [second], True)
    assert fairtrial("show", first, "--store", KEPT).code == 4
