"""Runs without a store leave nothing behind, also after their process was killed."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import pytest

import fairtrial
from builders import turn
from fairtrial.errors import StoreError
from fairtrial.records.case import EvalCase, EvalSet

CASES = EvalSet("shop", (EvalCase("first", (turn(reply="yes"),)),))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_the_folder_lives_as_long_as_the_run(folder: Path) -> None:
    """Its results can be read meanwhile."""
    run = fairtrial.evaluate(CASES, lambda _: "yes")
    assert len(list(folder.iterdir())) == 1
    assert len(run.cases) == 1
    del run
    assert list(folder.iterdir()) == []


def test_no_message_names_the_temporary_file(folder: Path) -> None:
    """A user of Python gave no store, and knows none by that name."""
    run = fairtrial.evaluate(CASES, lambda _: "yes")
    (database,) = folder.glob("*/run.db")
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("DROP TABLE fairtrial_results")
    with pytest.raises(StoreError, match=r"^the store of this process failed: no such table") as failed:
        list(run.cases)
    assert str(folder) not in str(failed.value)


@pytest.mark.long
def test_the_next_run_removes_the_folder_of_a_killed_process(folder: Path) -> None:
    """A process that was killed could not remove it."""
    code = (
        "import fairtrial, os, signal\n"
        "from fairtrial.api.temporary_store import temporary_store\n"
        "store = temporary_store()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "TMPDIR": str(folder)}
    killed = subprocess.run([sys.executable, "-c", code], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    (abandoned,) = folder.iterdir()
    fairtrial.evaluate(CASES, lambda _: "yes")
    assert abandoned.exists(), "it is young, so its process may not have locked it yet"
    an_hour_ago = time.time() - 3600
    os.utime(abandoned, (an_hour_ago, an_hour_ago))
    fairtrial.evaluate(CASES, lambda _: "yes")
    assert not abandoned.exists()


def test_the_folder_of_a_living_run_stays(folder: Path) -> None:
    """However old it is."""
    run = fairtrial.evaluate(CASES, lambda _: "yes")
    (living,) = folder.iterdir()
    os.utime(living, (0, 0))
    fairtrial.evaluate(CASES, lambda _: "yes")
    assert living.exists()
    assert len(run.cases) == 1
