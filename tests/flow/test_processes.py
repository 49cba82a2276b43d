"""The command behaves among other processes: exit codes, pipes, encodings and a shared store."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from commands import MATCH, enter, eval_set, fairtrial, finish, start, start_python, write

pytestmark = pytest.mark.long

RUN = ("run", "trips.evalset.json", "--agent", "commands:obedient")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an eval set in which one case fails."""
    enter(tmp_path, monkeypatch)
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set("good", "fail", "good_주문"))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["--only", "good"], 0), ([], 1), (["--only", "nothing"], 2), (["--config", "informs.json"], 3)],
)
def test_exit_codes(arguments: list[str], code: int) -> None:
    """The process ends with 0, 1, 2 or 3."""
    write("informs.json", {"criteria": {"response_match_score": {"threshold": None}}})
    assert finish(start(*RUN, *arguments, "--store", "none")).code == code


def test_what_is_piped_is_plain() -> None:
    """Piped output has no escape codes, and no spaces at the ends of lines."""
    done = finish(start(*RUN, "--store", "none"))
    assert "\x1b" not in done.out + done.err
    assert not re.search(r"[ \t]$", done.out, re.MULTILINE)


def test_json_goes_through_a_pipe() -> None:
    """The JSON on stdout can be read by the next program, even if the agent prints."""
    done = finish(start(*RUN[:-1], "commands:loud", "--json", "-", "--store", "none"))
    assert json.loads(done.out)["run"]["verdict"] == "passed"


@pytest.mark.parametrize("more", [[], ["--json", "-"], ["--quiet"]])
def test_a_reader_who_leaves_changes_no_verdict(more: list[str]) -> None:
    """Where nobody reads stdout the files are written, the exit code is the verdict's, and there is no traceback."""
    reading, writing = os.pipe()
    os.close(reading)
    process = start(*RUN, *more, "--junit", "r.xml", "--store", "none", stdout=writing)
    os.close(writing)
    done = finish(process)
    assert (done.code, "Traceback" in done.err, "BrokenPipe" in done.err) == (1, False, False)
    assert Path("r.xml").read_text(encoding="utf-8").endswith("</testsuites>\n")


@pytest.mark.parametrize("command", [["criteria"], ["check", "."]])
def test_other_commands_survive_a_reader_who_leaves(command: list[str]) -> None:
    """No command answers a closed pipe with a traceback."""
    reading, writing = os.pipe()
    os.close(reading)
    process = start(*command, stdout=writing)
    os.close(writing)
    done = finish(process)
    assert "Traceback" not in done.err
    assert "BrokenPipe" not in done.err


@pytest.mark.parametrize("command", [["criteria"], [*RUN, "--store", "none", "--json", "-"]])
def test_a_full_disk_is_said_and_is_no_verdict(command: list[str]) -> None:
    """Output that cannot be written is a message and exit code 2, not a traceback and the code of a failed run."""
    with Path("/dev/full").open("w") as full:
        done = finish(start(*command, stdout=full))
    assert (done.code, "fairtrial: cannot write: No space left on device" in done.err) == (2, True)
    assert "Traceback" not in done.err


@pytest.mark.parametrize("encoding", ["ascii", "cp949"])
def test_terminals_that_are_not_utf8(encoding: str) -> None:
    """What an encoding cannot show is written with a backslash; nothing breaks."""
    done = finish(start(*RUN, "--store", "none", env={"PYTHONIOENCODING": encoding}, encoding=encoding))
    assert (done.code, done.err) == (1, "")
    shown = "good_주문" if encoding == "cp949" else r"good_\uc8fc\ubb38"
    assert shown in done.out


def test_json_is_utf8_whatever_the_terminal() -> None:
    """JSON on stdout is UTF-8 always."""
    process = start(*RUN, "--json", "-", "--store", "none", env={"PYTHONIOENCODING": "cp949"}, errors="replace")
    assert json.loads(finish(process).out)["attempts"][2]["case_id"] == "good_주문"


def test_runs_that_share_a_new_store() -> None:
    """Several processes may start at once on a store that does not exist yet, and none loses anything."""
    processes = [start(*RUN, "--attempts", "5", "--quiet", "--store", "sqlite:///shared/new.db") for _ in range(3)]
    assert [finish(process).code for process in processes] == [1, 1, 1]
    runs = [line.split()[0] for line in fairtrial("runs", "--store", "sqlite:///shared/new.db").out.splitlines()[2:]]
    assert len(runs) == 3
    for run in runs:
        assert len(fairtrial("show", run, "--json", "-", "--store", "sqlite:///shared/new.db").json["attempts"]) == 15


def test_colour_is_for_terminals() -> None:
    """On a terminal the verdict is coloured, and what an agent says still is not."""
    ours, theirs = pty.openpty()
    arguments = ("run", "trips.evalset.json", "--agent", "commands:hostile", "--store", "none")
    process = start(
        *arguments, stdout=theirs, stderr=subprocess.DEVNULL, env={"TERM": "xterm-256color", "COLUMNS": "200"}
    )
    os.close(theirs)
    shown = b""
    try:
        while block := os.read(ours, 65536):
            shown += block
    except OSError:  # how Linux says that the other end is closed
        pass
    finally:
        os.close(ours)
    assert process.wait(timeout=60) == 1
    text = shown.decode()
    assert re.search(r"\x1b\[[0-9;]*31m✗", text)
    assert r"\x1b[31mred\x1b[0m" in text
    left = re.sub(r"\x1b\[[0-9;]*m", "", text.replace("\r\n", "\n"))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", left)


def test_the_current_folder_is_importable() -> None:
    """An agent and a metric beside the eval set are found, though the console script lives elsewhere."""
    Path("own.py").write_text(
        "def reply(conversation): return 'ok please'\n"
        "def polite(trace, case): return 'please' in trace.invocations[0].reply\n",
        encoding="utf-8",
    )
    write("c.json", {"criteria": {"polite": 1}, "custom_metrics": {"polite": {"code_config": {"name": "own.polite"}}}})
    done = finish(
        start("run", "trips.evalset.json", "--agent", "own:reply", "--config", "c.json", "--store", "none", "--quiet")
    )
    assert done.code == 0, done.err


def test_the_package_needs_no_warnings_filter() -> None:
    """A whole run raises no warning of Python."""
    done = finish(start_python(*RUN, "--store", "none", "--quiet", env={"PYTHONWARNINGS": "error"}))
    assert (done.code, done.err) == (1, "")


def test_the_example_runs_as_the_readme_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make demo`'s command fails in its one case that is meant to."""
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    done = finish(start_python("run", "examples", "--agent", "examples.agent:reply", "--store", "none"))
    assert done.code == 1
    assert re.findall(r"^[✓✗!?] (\w+)", done.out, re.MULTILINE)[:3] == [
        "order_status",
        "cancel_after_asking",
        "korean_order_status",
    ]
