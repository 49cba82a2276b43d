"""The command `fairtrial expect` turns recordings into an eval set."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import MATCH, enter, eval_set, fairtrial, write


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an eval set and recordings of it."""
    enter(tmp_path, monkeypatch)
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set("good", "fail_it", "crash"))
    fairtrial("record", "trips.evalset.json", "--agent", "commands:obedient", "-o", "r.jsonl")


def test_the_agent_that_was_recorded_meets_its_own_expectation() -> None:
    """Whatever it did is right now. A conversation that broke is left out, and the command says so."""
    done = fairtrial("expect", "r.jsonl", "-o", "mine.evalset.json")
    assert done.code == 0
    assert "mine.evalset.json: 2 cases" in done.out
    assert "warning: crash: left out, because the conversation broke" in done.err
    assert (
        fairtrial("run", "mine.evalset.json", "--agent", "commands:obedient", "--config", "test_config.json").code == 0
    )


def test_a_recording_is_not_overwritten() -> None:
    """The file to write must be another one."""
    assert fairtrial("expect", "r.jsonl", "-o", "r.jsonl").code == 2
