"""Commands whose store fails end with a message and an exit code of its own, and the run can go on."""

from __future__ import annotations

import shutil
import sqlite3
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from commands import MATCH, case, enter, eval_set, fairtrial, session, write
from fairtrial import api
from fairtrial.errors import StoreError
from fairtrial.records.trace import Trace
from fairtrial.store import Store

URL = "sqlite:///kept.db"
RUN = ("run", "trips.evalset.json", "--agent", "commands:obedient", "--quiet")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one run."""
    folder = tmp_path_factory.mktemp("filled")
    with pytest.MonkeyPatch.context() as patch:
        enter(folder, patch)
        write("test_config.json", MATCH)
        write("trips.evalset.json", eval_set("good"))
        assert fairtrial(*RUN, "--store", URL).code == 0
    return folder / "kept.db"


@pytest.fixture
def run_id(filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of the one run in the store of a folder with an eval set and a recording."""
    enter(tmp_path, monkeypatch)
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set("good"))
    write("good.session.json", session("good", "good", "ok"))
    shutil.copy(filled, "kept.db")
    return api.runs(URL)[0].id


def foreign() -> None:
    """Make the store a file of another program."""
    Path("kept.db").write_bytes(b"not a database, " * 500)


def newer() -> None:
    """Make the store a store of a later version."""
    change("UPDATE fairtrial_meta SET schema_version = 99")


def older() -> None:
    """Make the store a store that is too old to be migrated."""
    change("UPDATE fairtrial_meta SET schema_version = 0")


def damaged() -> None:
    """Overwrite everything after the first page."""
    content = Path("kept.db").read_bytes()
    Path("kept.db").write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))


def change(statement: str) -> None:
    """Change the store behind its back."""
    with closing(sqlite3.connect("kept.db")) as database, database:
        database.execute(statement)


COMMANDS = {
    "run": RUN,
    "resume": ("run", "--resume", "RUN"),
    "score": ("score", "good.session.json", "--against", "trips.evalset.json"),
    "show": ("show", "RUN"),
    "show a case": ("show", "RUN", "good"),
    "show --json": ("show", "RUN", "--json", "-"),
    "runs": ("runs",),
    "runs rm": ("runs", "rm", "RUN"),
    "runs export": ("runs", "export", "RUN", "-"),
    "runs import": ("runs", "import", "exported.jsonl"),
    "compare": ("compare", "RUN", "RUN"),
    "gate": ("gate", "RUN", "--at-least", "0.5"),
    "value": ("value", "--from-run", "RUN"),
}


@pytest.mark.long
@pytest.mark.parametrize("spoil", [foreign, newer, older, damaged])
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_ends_in_words_and_with_4(name: str, spoil: Callable[[], None], run_id: str) -> None:
    """A store that cannot be read is not a verdict, and it is not changed."""
    fairtrial("runs", "export", run_id, "exported.jsonl", "--store", URL)
    spoil()
    before = Path("kept.db").read_bytes()
    done = fairtrial(*(run_id if word == "RUN" else word for word in COMMANDS[name]), "--store", URL)
    assert (done.code, "kept.db" in done.err) == (4, True), done.err
    assert "Traceback" not in done.err
    assert Path("kept.db").read_bytes() == before


def test_the_cost_of_a_judge_is_not_read_from_a_failing_store(run_id: str) -> None:
    """`judge check --run` reads the replies of a run."""
    damaged()
    with pytest.raises(StoreError, match="is malformed; the file is damaged"):
        api.estimate_cost(run_id, URL, "model")


def test_a_locked_store_is_waited_for_and_then_named(run_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program holds the lock of writers for longer than we wait. Readers do not need it."""
    monkeypatch.setattr("fairtrial.store.opening._PATIENCE", 0.01)
    with closing(sqlite3.connect("kept.db", isolation_level=None)) as database:
        database.execute("BEGIN IMMEDIATE")
        done = fairtrial(*RUN, "--store", URL)
        assert (done.code, "database is locked; another program is writing to it" in done.err) == (4, True), done.err
        assert "--resume" not in done.err, "nothing was begun"
        assert fairtrial("show", run_id, "--store", URL).code == 0
    assert fairtrial(*RUN, "--store", URL).code == 0


@contextmanager
def full(pages: int) -> Iterator[None]:
    """Let no database of this process grow beyond a number of pages, as on a full disk."""

    def limit(connection: Any, _record: Any) -> None:
        connection.execute(f"PRAGMA max_page_count={pages}").close()

    sa.event.listen(sa.Engine, "connect", limit)
    try:
        yield
    finally:
        sa.event.remove(sa.Engine, "connect", limit)


ASKED: list[str] = []
REPLIES = {f"case {number}": "".join(uuid.uuid4().hex for _ in range(400)) for number in range(20)}


def wordy(conversation: Trace) -> str:
    """Reply at length, and remember each question."""
    ASKED.append(conversation.invocations[-1].query)
    return REPLIES[ASKED[-1]]


def test_a_full_disk_ends_a_run_and_a_resume_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The finished attempts are kept. The line that is printed continues the run, and asks only for the others."""
    enter(tmp_path, monkeypatch)
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set(*(case(name, reply) for name, reply in REPLIES.items())))
    Store(URL).close()
    ASKED.clear()
    monkeypatch.setitem(sys.modules, "wordy_agent", sys.modules[__name__])
    with full(pages=Path("kept.db").stat().st_size // 4096 + 30):
        done = fairtrial("run", "trips.evalset.json", "--agent", "wordy_agent:wordy", "--store", URL, "--quiet")
    assert done.code == 4, done.err
    problem, _, end = done.err.strip().partition("; go on with `fairtrial ")
    command, _, code = end.partition("` ")
    assert problem == (
        "fairtrial: not finished: the store sqlite:///kept.db failed: database or disk is full; make room on the disk"
    )
    assert code.startswith("[store-failed]")
    stored = [recording.case_id for _, recording in api.reread(URL, api.runs(URL)[0].id).recordings]
    assert 0 < len(stored) < len(REPLIES)
    ASKED.clear()
    assert fairtrial(*command.split(), "--quiet").code == 0
    assert set(ASKED) == set(REPLIES) - set(stored)
    assert len(list(api.reread(URL, api.runs(URL)[0].id).cases)) == len(REPLIES)
