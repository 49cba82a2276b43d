"""A store with one row that cannot be read: the others are read, and every command says how many are not."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import polars as pl
import pytest

from commands import Done, enter, fairtrial
from fairtrial import open_run
from fairtrial.records.label import Label
from fairtrial.store.bodies import compress, encode
from loopback import Loopback
from viewers import viewing

STORE, CRITERION = "sqlite:///k.db", "final_response_match_v2"
NOUNS = {
    "results": "result",
    "recordings": "recording",
    "ballots": "ballot",
    "replies": "reply",
    "cases": "case",
    "criteria": "criterion",
    "labels": "label",
}
COMMANDS = {
    "show": ("show", "RUN"),
    "case": ("show", "RUN", "c*", "--ballots"),
    "json": ("show", "RUN", "--json", "-"),
    "report": ("show", "RUN", "--html", "r.html"),
    "compare": ("compare", "OTHER", "RUN"),
    "labels": ("labels", "RUN"),
    "flaky": ("flaky", "RUN"),
}
READERS = {
    "results": ("show", "case", "json", "report"),
    "recordings": ("case", "json", "report"),
    "ballots": ("show", "case", "json", "report"),
    "replies": ("case", "json", "report"),
    "cases": ("case", "json", "report"),
    "labels": ("show", "json", "report", "compare", "labels"),
}
"""The commands that read a table, and must count the row that they leave out."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Loopback, Path]]:
    """A judge, and a folder with two equal runs of three cases each that it judged, and labels."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch, Loopback(lambda request: request.answers("valid")) as judge:
        enter(folder, patch)
        (folder / "echo_all.py").write_text("def reply(trace):\n    return trace.invocations[-1].query\n")
        parts = [{"parts": [{"text": f"Hi {number}"}]} for number in range(3)]
        turns = [[{"user_content": part, "final_response": part}] for part in parts]
        cases = [{"eval_id": f"c{number}", "conversation": turn} for number, turn in enumerate(turns)]
        (folder / "s.evalset.json").write_text(json.dumps({"eval_set_id": "s", "eval_cases": cases}))
        options = {"judge_model": "mine", "num_samples": 1, "base_url": f"{judge.url}/v1"}
        criteria = {CRITERION: {"threshold": 0.5, "judge_model_options": options}}
        (folder / "test_config.json").write_text(json.dumps({"criteria": criteria}))
        for _ in range(2):
            assert called("run", "s.evalset.json", "--agent", "echo_all:reply").code == 0
        run = open_run(run_ids()[1], store=STORE)
        for result in run.cases:
            run.add_label(Label(result.key, 1, CRITERION, value=1.0, author="ann", at="2026-01-01T00:00:00Z"))
        run._store.close()
        yield judge, folder


@pytest.fixture
def server(made: tuple[Loopback, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Loopback:
    """The judge, and a copy of the folder to work in."""
    judge, folder = made
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    enter(tmp_path, monkeypatch)
    judge.requests.clear()
    return judge


def called(*arguments: str) -> Done:
    """Call a command for the store. RUN is the id of its second run, OTHER the id of its first."""
    ids = dict(zip(("OTHER", "RUN"), run_ids(), strict=False)) if {"RUN", "OTHER"} & set(arguments) else {}
    return fairtrial(*(ids.get(word, word) for word in arguments), "--store", STORE)


def run_ids() -> list[str]:
    """Return the ids of the runs in the order in which they were made."""
    with closing(sqlite3.connect("k.db")) as database:
        return [row[0] for row in database.execute("SELECT id FROM fairtrial_runs ORDER BY number")]


def damage(table: str) -> None:
    """Write a value of a wrong type into the first row of the second run, or of the only labels."""
    column, value = ("value", "high") if table == "labels" else ("body", compress(b'{"case_id": {"votes": "12"}}'))
    with closing(sqlite3.connect("k.db")) as database, database:
        where = "run = (SELECT max(number) FROM fairtrial_runs) ORDER BY 1 LIMIT 1"
        keys = [row[1] for row in database.execute(f"PRAGMA table_info(fairtrial_{table})") if row[5]]
        key = ", ".join(keys)
        first = f"SELECT {key} FROM fairtrial_{table} WHERE {where}"  # noqa: S608
        statement = f"UPDATE fairtrial_{table} SET {column} = ? WHERE ({key}) IN ({first})"  # noqa: S608
        changed = database.execute(statement, [value]).rowcount
    assert changed == 1


@pytest.mark.parametrize(("table", "name"), [(table, name) for table in READERS for name in COMMANDS])
@pytest.mark.usefixtures("server")
def test_a_damaged_row_costs_one_row(table: str, name: str) -> None:
    """No command ends with an error of the store. A command that reads the table says how many rows it left out."""
    damage(table)
    done = called(*COMMANDS[name])
    assert done.code in {0, 1, 3}, done.err
    said = f"warning: 1 {NOUNS[table]} row cannot be read, and left out" in done.err
    # A comparison reads results only if an outcome has no score, and ballots only if somebody labelled both runs.
    assert said or name == "compare" or name not in READERS[table], done.err


@pytest.mark.usefixtures("server")
def test_the_other_results_and_labels_are_shown() -> None:
    """Of three results and three labels, two of each."""
    damage("results")
    damage("labels")
    assert len(called("show", "RUN", "--json", "-").json["attempts"]) == 2
    assert len(open_run(run_ids()[1], store=STORE).labels) == 2


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.usefixtures("server")
def test_damaged_terms_of_a_criterion_are_no_error_of_the_store(name: str) -> None:
    """Without them the results of the criterion say nothing, and every command that reads them says so."""
    damage("criteria")
    done = called(*COMMANDS[name])
    assert done.code in {0, 1, 2, 3}, done.err
    assert "1 criterion row" in done.err or name == "labels", done.err


@pytest.mark.parametrize("table", ["results", "ballots", "labels"])
@pytest.mark.usefixtures("server")
def test_a_frame_warns_of_the_rows_that_it_lacks(table: str) -> None:
    """Each table that holds rows of a kind is made of those that can be read."""
    damage(table)
    name = {"results": "outcomes", "ballots": "ballots", "labels": "labels"}[table]
    run = open_run(run_ids()[1], store=STORE)
    with pytest.warns(UserWarning, match=f"1 {NOUNS[table]} row cannot be read"):
        frame = pl.DataFrame(run.tables()[name])
    assert len(frame.unique("case_id") if table == "results" else frame) == 2
    if table == "results":
        with pytest.warns(UserWarning, match="1 result row cannot be read"):
            assert run.to_frame("polars")["case_id"].n_unique() == 2


@pytest.mark.parametrize("table", READERS)
@pytest.mark.usefixtures("server")
def test_a_viewer_shows_the_other_rows(table: str) -> None:
    """Each page of the run is served, and its notes say what it lacks."""
    damage(table)
    run_id = run_ids()[1]
    with viewing(STORE) as site:
        site.sign_in()
        assert len(site.get("/api/runs")["runs"]) == 2
        for path in ("", "/cases", "/rows", "/labels"):
            answer = site.request("GET", f"/api/runs/{run_id}{path}")
            assert answer.status == 200, (path, answer.body)


@pytest.mark.parametrize(("table", "asked"), [("replies", 1), ("ballots", 0), ("results", 0)])
def test_a_reused_run_costs_the_calls_that_cannot_be_read(server: Loopback, table: str, asked: int) -> None:
    """The other replies are paid already. A ballot is only evidence of a reply that cannot be used again."""
    damage(table)
    done = called("run", "s.evalset.json", "--agent", "echo_all:reply", "--reuse", "RUN")
    assert done.code == 0, done.err
    assert len(server.requests) == asked
    assert (f"1 {NOUNS[table]} row cannot be read" in done.err) == (table != "results")


@pytest.mark.parametrize("table", ["replies", "ballots", "results", "recordings", "criteria"])
def test_an_interrupted_run_goes_on_past_a_damaged_row(server: Loopback, table: str) -> None:
    """It ends with a verdict on all three cases."""
    with closing(sqlite3.connect("k.db")) as database, database:
        info = open_run(run_ids()[1], store=STORE).info
        body = encode(msgspec.structs.replace(info, finished=None, verdict=None))
        database.execute("UPDATE fairtrial_runs SET body = ?, summary = NULL WHERE id = ?", [body, info.id])
    damage(table)
    done = called("run", "--resume", "RUN")
    assert done.code == 0, done.err
    assert len(server.requests) <= 1
    assert len(called("show", "RUN", "--json", "-").json["attempts"]) == 3
