"""Stores are read if nothing can be written beside them, as on a read-only mount."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from commands import MATCH, enter, eval_set, fairtrial, write
from fairtrial import api
from fairtrial.errors import StoreError
from fairtrial.store import Store

NOBODY = 65534
COMMANDS = (("runs",), ("show", "2"), ("show", "2", "good"), ("show", "2", "--json", "-"), ("runs", "export", "2", "-"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a store of one run, in a place that every user may enter."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    enter(tmp_path, monkeypatch)
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set("good"))
    assert fairtrial("run", "trips.evalset.json", "--agent", "commands:obedient", "--store", url(place), "-q").code == 0
    yield place
    place.chmod(0o755)
    shutil.rmtree(place)


def url(folder: Path) -> str:
    """The URL of its store."""
    return f"sqlite:///{folder}/runs.db"


@pytest.fixture
def locked_up(folder: Path) -> Iterator[Path]:
    """The folder, in which this process may write nothing. Permissions do not bind root, who becomes nobody."""
    (folder / "runs.db").chmod(0o444)
    folder.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    try:
        with pytest.raises(PermissionError):
            (folder / "new").touch()
        yield folder
    finally:
        if is_root:
            os.seteuid(0)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_store_in_a_read_only_folder_is_shown(
    command: tuple[str, ...], folder: Path, request: pytest.FixtureRequest
) -> None:
    """The output is the output of a store that can be written, and no file appears."""
    usual = fairtrial(*command, "--store", url(folder))
    request.getfixturevalue("locked_up")
    done = fairtrial(*command, "--store", url(folder))
    assert (done.code, done.out) == (0, usual.out), done.err
    assert [file.name for file in folder.iterdir()] == ["runs.db"]


def test_a_read_only_store_is_not_written(folder: Path, request: pytest.FixtureRequest) -> None:
    """A command that writes says why it cannot."""
    assert fairtrial("runs", "--store", url(folder)).code == 0, "everything that the command needs is imported"
    before = (folder / "runs.db").read_bytes()
    request.getfixturevalue("locked_up")
    done = fairtrial("runs", "rm", "2", "--store", url(folder))
    assert (done.code, "attempt to write a readonly database; make the file" in done.err) == (4, True), done.err
    with pytest.raises(StoreError, match=r"attempt to write a readonly database|unable to open database file"):
        Store(url(folder))
    assert (folder / "runs.db").read_bytes() == before


@pytest.mark.parametrize("parameters", ["mode=ro&uri=true", "mode=ro&immutable=1&uri=true"])
def test_a_store_is_opened_by_a_uri_of_sqlite(folder: Path, parameters: str) -> None:
    """Its parameters say how SQLite opens it, for example for reading only."""
    (run,) = api.runs(f"sqlite:///file:{folder}/runs.db?{parameters}")
    assert run.verdict is not None


def test_rows_in_the_log_of_a_killed_writer_are_not_overlooked(folder: Path, request: pytest.FixtureRequest) -> None:
    """The file alone would show old rows as if they were all. SQLite cannot read the log here."""
    writer = sqlite3.connect(folder / "runs.db", isolation_level=None)
    with closing(writer):
        writer.execute("DELETE FROM fairtrial_results")
        log = (folder / "runs.db-wal").read_bytes()
        content = (folder / "runs.db").read_bytes()
    (folder / "runs.db").chmod(0o644)
    (folder / "runs.db").write_bytes(content)
    (folder / "runs.db-wal").write_bytes(log)
    request.getfixturevalue("locked_up")
    done = fairtrial("runs", "--store", url(folder))
    assert (done.code, "copy the file, and its -wal file if it has one" in done.err) == (4, True), done.err
