"""The command `fairtrial record` writes files that `fairtrial score` reads."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import fairtrial as package
from commands import fairtrial

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples in it."""
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.long
@pytest.mark.usefixtures("folder")
def test_scoring_later_gives_what_running_gives() -> None:
    """The same outcomes, whether an agent is run and scored or recorded and scored."""
    ran = fairtrial("run", "examples", "--agent", "examples.agent:reply", "--store", "none", "--json", "-")
    done = fairtrial("record", "examples/shop.evalset.json", "--agent", "examples.agent:reply", "-o", "a.jsonl")
    assert (done.code, done.out) == (0, "3 of 3 conversations recorded in a.jsonl, 0 broken\n")
    scored = fairtrial("score", "a.jsonl", "--against", "examples/shop.evalset.json", "--store", "none", "--json", "-")
    for mine, theirs in zip(scored.json["attempts"], ran.json["attempts"], strict=True):
        kept = [one for one in mine["outcomes"] if one["criterion"] != "invocation_duration_v1"]
        assert kept == [one for one in theirs["outcomes"] if one["criterion"] != "invocation_duration_v1"]


@pytest.mark.usefixtures("folder")
def test_a_recording_warns_about_no_criterion() -> None:
    """Nothing is scored. A run of the same Korean case warns that equal words decide."""
    shutil.copy("examples/shop.evalset.json", "shop.evalset.json")
    agent = ("--agent", "examples.agent:reply")
    assert "response_match_score" not in fairtrial("record", "shop.evalset.json", *agent, "-o", "a.jsonl").err
    assert "only response_match_score decides" in fairtrial("run", "shop.evalset.json", *agent, "--store", "none").err


def test_lines_are_in_the_order_of_cases_and_attempts(folder: Path) -> None:
    """However the conversations ended; nothing else is left in the folder."""
    fairtrial("record", "examples", "--agent", "examples.agent:reply", "-o", "a.jsonl", "--attempts", "2", "-q")
    read = [(one.case_id, one.attempt) for one in package.load_recordings("a.jsonl")]
    ids = ["order_status", "cancel_after_asking", "korean_order_status"]
    assert read == [(name, attempt) for name in ids for attempt in (1, 2)]
    assert sorted(path.name for path in folder.iterdir()) == ["a.jsonl", "examples"]


def test_what_broke_is_written_and_told(folder: Path) -> None:
    """Exit code 1, the cause on stderr, the failure in the file."""
    (folder / "bad.py").write_text("def reply(trace):\n    raise RuntimeError('no luck')\n")
    done = fairtrial("record", "examples", "--agent", "bad:reply", "-o", "a.jsonl", "--only", "order_status")
    assert done.code == 1
    assert "order_status, attempt 1: RuntimeError: no luck" in done.err
    (one,) = package.load_recordings("a.jsonl")
    assert one.failure is not None
    assert one.failure.cause == "RuntimeError: no luck (bad.py, line 2)"


def test_an_outage_is_not_the_agents(folder: Path) -> None:
    """Exit code 3 if nothing but the infrastructure broke conversations."""
    (folder / "down.py").write_text("def reply(trace):\n    raise ConnectionRefusedError('nobody is here')\n")
    done = fairtrial("record", "examples", "--agent", "down:reply", "-o", "a.jsonl", "--only", "order_status")
    assert done.code == 3
    (one,) = package.load_recordings("a.jsonl")
    assert one.failure is not None
    assert one.failure.side == "infrastructure"


def test_an_interruption_keeps_what_is_finished(folder: Path) -> None:
    """Exit code 130, and the conversations that ended are in the file."""
    (folder / "stopping.py").write_text(
        "def reply(trace):\n"
        "    if 'cancel' in trace.invocations[0].query.lower():\n"
        "        raise KeyboardInterrupt\n"
        "    return 'hello'\n"
    )
    arguments = ("--agent", "stopping:reply", "-o", "a.jsonl", "--concurrency", "1")
    done = fairtrial("record", "examples/shop.evalset.json", *arguments)
    assert done.code == 130
    assert [one.case_id for one in package.load_recordings("a.jsonl")] == ["order_status"]


@pytest.mark.usefixtures("folder")
def test_a_file_that_cannot_be_written_is_found_out_first() -> None:
    """Exit code 2 before anything runs. A file stands in place of the folder."""
    Path("nowhere").touch()
    done = fairtrial("record", "examples", "--agent", "examples.agent:reply", "-o", "nowhere/a.jsonl")
    assert done.code == 2
    assert "nowhere" in done.err
    assert "0 of" not in done.err


@pytest.mark.usefixtures("folder")
def test_the_folder_of_the_file_is_made() -> None:
    """The folders above it, too."""
    done = fairtrial("record", "examples", "--agent", "examples.agent:reply", "-o", "new/folder/a.jsonl")
    assert done.code == 0
    assert Path("new/folder/a.jsonl").is_file()
