"""Finished work is kept, whatever ends a run, and `--resume` goes on from there."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import shutil
import signal
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from commands import MATCH, STOPPED, Done, enter, eval_set, fairtrial, finish, start, start_python, write
from fairtrial import api
from fairtrial.api import runs
from fairtrial.records.attempt import Recording
from fairtrial.records.trace import Trace
from fairtrial.store import DEFAULT_URL, Store
from forked_commands import ForkedProcess

CASES = ["good_1", "fail_2", "wait_3", "good_4"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an eval set whose third case never ends."""
    enter(tmp_path, monkeypatch)
    prepare()


def prepare() -> None:
    """Write the files of a run."""
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set(*CASES))


def waiting(*more: str, agent: str = "commands:patient", patience: float | None = None) -> ForkedProcess:
    """A run that has finished two cases, and waits for the third."""
    arguments = ("run", "trips.evalset.json", "--agent", agent, "--concurrency", "1")
    process = start(*arguments, *more, patience=patience)
    assert process.stderr
    for line in process.stderr:
        if line == "WAITING\n":
            return process
    raise AssertionError("the agent never waited")


@pytest.fixture(scope="module")
def remains(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that was killed in its third case."""
    folder = tmp_path_factory.mktemp("killed")
    with pytest.MonkeyPatch.context() as patch:
        enter(folder, patch)
        prepare()
        process = waiting()
        process.kill()
        assert finish(process).code == -signal.SIGKILL
        STOPPED.touch()
    return folder


@pytest.fixture
def killed(remains: Path, tmp_path: Path) -> str:
    """The id of a run that was killed in its third case; from here on the third case does not wait any more."""
    shutil.copytree(remains, tmp_path, dirs_exist_ok=True)
    return only_run()


def only_run() -> str:
    """The id of the one run in the store."""
    (row,) = [row for row in fairtrial("runs").out.splitlines()[2:] if row.lstrip()[:2] == "20"]
    return row.split()[0]


def recorded() -> dict[int, Recording]:
    """What is recorded of the one run in the store, by the positions of its cases."""
    store = Store()
    found = dict(store.recordings(only_run()))
    store.close()
    return found


def again(run_id: str, *more: str) -> Done:
    """Resume a run in this process."""
    return fairtrial("run", "--resume", run_id, *more)


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on() -> None:
    """SIGINT ends a run with 130, without traceback; the line that it prints finishes the run."""
    process = waiting()
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert done.code == 130
    assert "Traceback" not in done.err
    (line,) = [line for line in done.err.splitlines() if "fairtrial run --resume" in line]
    command = line.partition("fairtrial ")[2].split()
    STOPPED.touch()
    resumed = fairtrial(*command, "--json", "-")
    assert [one["case_id"] for one in resumed.json["attempts"]] == CASES
    assert resumed.json["run"]["id"] == command[-1]


def test_sigterm_stores_the_turns_and_says_how_to_go_on() -> None:
    """A container that stops sends SIGTERM. The run ends with 143, and its line finishes it, as after Ctrl-C."""
    process = waiting()
    process.send_signal(signal.SIGTERM)
    done = finish(process)
    assert done.code == 143
    assert "Traceback" not in done.err
    (line,) = [line for line in done.err.splitlines() if "fairtrial run --resume" in line]
    STOPPED.touch()
    resumed = fairtrial(*line.partition("fairtrial ")[2].split(), "--json", "-")
    assert [one["case_id"] for one in resumed.json["attempts"]] == CASES


PROGRAM = """
import json, os, pathlib, signal, sys

for line in sys.stdin:
    text = json.loads(line)["message"]
    with open("seen.txt", "a") as file:
        file.write(f"{text} ")
    if text == "3" and not pathlib.Path("again").exists():
        os.kill(os.getppid(), signal.SIGTERM)
        continue
    print(json.dumps({"reply": text}), flush=True)
"""


def test_a_program_that_begins_again_after_a_resume_says_so() -> None:
    """Two turns were stored at SIGTERM. Nobody can tell them to a program, so that all messages are sent again."""
    Path("program.py").write_text(PROGRAM, encoding="utf-8")
    messages = [{"user_content": {"parts": [{"text": str(number)}]}} for number in range(1, 5)]
    write("long.evalset.json", eval_set({"eval_id": "long", "conversation": messages}))
    assert finish(start("run", "long.evalset.json", "--agent", f"process:{sys.executable} program.py")).code == 143
    assert [len(recording.trace.invocations) for recording in recorded().values()] == [2]
    Path("again").touch()
    done = again(only_run())
    assert Path("seen.txt").read_text(encoding="utf-8").split() == ["1", "2", "3", "1", "2", "3", "4"]
    note = (
        "note: 1 conversation began again at the first message, because the agent, the user or the environment cannot "
        "go on behind the turns of the interrupted run"
    )
    assert note in " ".join(done.out.split())


def test_ctrl_c_does_not_wait_for_an_agent_that_hangs() -> None:
    """A sync agent that never returns cannot keep the process."""
    process = waiting("--store", "none", agent="commands:hanging")
    process.send_signal(signal.SIGINT)
    assert finish(process).code == 130


def test_a_thread_that_hangs_does_not_keep_the_process() -> None:
    """Where an agent waits in a thread for ever, the run ends with its verdict, and so does the process."""
    arguments = ("trips.evalset.json", "--agent", "commands:stuck", "--reply-timeout", "0.02", "--json", "-")
    done = finish(start("run", *arguments, patience=0.1))
    assert done.code == 1
    assert {one["failure"]["cause"] for one in done.json["attempts"]} == {"no reply within 0.02 seconds"}


@pytest.mark.long
def test_ctrl_c_does_not_wait_for_a_thread_that_hangs() -> None:
    """Nor does it after Ctrl-C."""
    process = waiting("--store", "none", agent="commands:stuck", patience=0.1)
    process.send_signal(signal.SIGINT)
    assert finish(process).code == 130


@pytest.mark.long
def test_ctrl_c_before_the_run_is_130_too() -> None:
    """SIGINT while an agent is still being imported ends with 130 and without traceback."""
    Path("slow.py").write_text(
        "import sys, threading\nprint('IMPORTING', file=sys.stderr, flush=True)\nthreading.Event().wait()\n",
        encoding="utf-8",
    )
    process = start_python("run", "trips.evalset.json", "--agent", "slow:reply", "--store", "none")
    assert process.stderr
    assert process.stderr.readline() == "IMPORTING\n"
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert (done.code, done.err.split()) == (130, ["interrupted"])


def test_after_kill_everything_finished_is_there(killed: str) -> None:
    """After kill -9 what was finished is in the store, the run is not called finished, and can be finished."""
    assert "not finished" in fairtrial("runs").out
    resumed = again(killed, "--json", "-").json
    assert [(one["case_id"], one["verdict"]) for one in resumed["attempts"]] == [(name, "passed") for name in CASES]
    assert "not finished" not in fairtrial("runs").out


def test_finished_conversations_are_not_held_again(killed: str) -> None:
    """A resumed run asks the agent only for what is missing; the rest stays, time and all."""
    before = recorded()
    assert again(killed, "--quiet").code == 0
    after = recorded()
    assert set(before) == {0, 1}
    assert {position: after[position] for position in before} == before
    assert set(after) == {0, 1, 2, 3}


def test_a_resumed_run_took_as_long_as_all_its_parts() -> None:
    """What was spent before the interruption is kept, and counted."""
    process = waiting()
    process.send_signal(signal.SIGINT)
    finish(process)
    store = Store()
    info = store.run(only_run())
    assert info.seconds is not None
    store.begin(msgspec.structs.replace(info, seconds=1000.0))
    store.close()
    STOPPED.touch()
    assert again(info.id, "--quiet").code == 0
    (run,) = runs(DEFAULT_URL)
    assert run.seconds is not None
    assert run.seconds > 1000.0


def test_resume_by_the_beginning_of_the_id(killed: str) -> None:
    """The beginning of an id is enough where it is the only one."""
    assert again(killed[:8], "--quiet").code == 0


def test_a_resumed_run_may_have_other_outputs_and_concurrency(killed: str) -> None:
    """Concurrency, reports and --quiet are not of the run."""
    done = again(
        killed, "--concurrency", "3", "--json", "r.json", "--junit", "r.xml", "--adk-results", "out", "--quiet"
    )
    assert done.code == 0
    assert len(json.loads(Path("r.json").read_bytes())["attempts"]) == 4


def test_arguments_may_be_given_again(killed: str) -> None:
    """The same arguments are no difference."""
    done = fairtrial("run", "trips.evalset.json", "--agent", "commands:patient", "--resume", killed, "--attempts", "1")
    assert done.code == 0


def test_more_attempts_are_added(killed: str) -> None:
    """A larger --attempts holds the conversations that are missing then, and the run remembers it."""
    cases = again(killed, "--attempts", "2", "--json", "-").json["attempts"]
    assert [(one["case_id"], one["attempt"]) for one in cases] == [(name, n) for name in CASES for n in (1, 2)]
    fewer = again(killed, "--attempts", "1")
    assert (fewer.code, "--attempts must be at least 2, got 1" in fewer.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["other.evalset.json"], "paths must be ['trips.evalset.json'] as in the run, got ['other.evalset.json']"),
        (
            ["--agent", "commands:obedient"],
            "agent must be 'commands:patient' as in the run, got 'commands:obedient'",
        ),
        (["--config", "test_config.json"], "config must be None as in the run, got 'test_config.json'"),
        (["--only", "good*"], "only must be [] as in the run, got ['good*']"),
        (["--lenient"], "lenient must be False as in the run, got True"),
        (["--reply-timeout", "5"], "reply_timeout must be None as in the run, got 5.0"),
        (["--store", "none"], "--resume needs the store"),
    ],
)
def test_other_arguments_are_refused(killed: str, arguments: list[str], said: str) -> None:
    """An argument that is not the run's is refused, with both values."""
    done = again(killed, *arguments)
    assert (done.code, said in done.err) == (2, True), done.err


def test_a_changed_eval_set_is_refused(killed: str) -> None:
    """An eval set that was edited since is named."""
    write("trips.evalset.json", eval_set(*CASES, "good_5"))
    done = again(killed)
    assert (done.code, "eval set trips.evalset.json is not the same as in the run" in done.err) == (2, True)


def test_a_changed_config_is_refused(killed: str) -> None:
    """A config that was edited since is named, and so is the criterion that it changes."""
    write("test_config.json", {"criteria": {"response_match_score": 0.9}})
    done = again(killed)
    assert done.code == 2
    assert "criteria of test_config.json is not the same as in the run" in done.err
    assert "signature of response_match_score is not the same as in the run" in done.err


def test_an_added_config_is_refused() -> None:
    """A config that now lies nearer than the defaults is a difference."""
    Path("test_config.json").unlink()  # in the folder above, it would be refused
    write("alone/a.evalset.json", eval_set("good"))
    assert fairtrial("run", "alone/a.evalset.json", "--agent", "commands:patient", "--quiet").code == 0
    write("alone/test_config.json", MATCH)
    done = again(only_run())
    assert done.code == 2
    assert "criteria of alone/test_config.json is not the same as in the run: " in done.err


def test_a_changed_agent_is_refused() -> None:
    """An agent whose source was edited since is named."""
    Path("mine.py").write_text("def reply(conversation):\n    return 'ok'\n", encoding="utf-8")
    first = finish(start("run", "trips.evalset.json", "--agent", "mine:reply", "--quiet"))
    assert first.code == 0
    Path("mine.py").write_text("def reply(conversation):\n    return 'okay'\n", encoding="utf-8")
    done = finish(start("run", "--resume", only_run()))
    assert (done.code, "signature of agent is not the same as in the run" in done.err) == (2, True), done.err


def test_another_version_is_refused(killed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of another version of fairtrial is not continued, and both versions are named."""
    monkeypatch.setattr("fairtrial.api.planning.__version__", "9.9")
    done = again(killed)
    assert done.code == 2
    assert 'version is not the same as in the run: "9.9", was "' in done.err


def test_runs_of_score_are_not_resumed() -> None:
    """What was recorded elsewhere is simply scored again."""
    fairtrial("score", "trips.evalset.json", "--quiet")
    done = again(only_run())
    assert (done.code, "start that command again" in done.err) == (2, True)


def test_unknown_runs_are_refused() -> None:
    """--resume of a run that is not in the store is wrong usage."""
    STOPPED.touch()
    fairtrial("run", "trips.evalset.json", "--agent", "commands:patient", "--quiet")
    done = again("1999")
    assert (done.code, "no run in sqlite:///.fairtrial/fairtrial.db" in done.err) == (2, True)


def test_a_finished_run_changes_nothing_when_resumed() -> None:
    """Resuming a finished run gives the same results again."""
    STOPPED.touch()
    first = fairtrial("run", "trips.evalset.json", "--agent", "commands:patient", "--json", "-").json
    second = again(first["run"]["id"], "--json", "-").json
    assert (first["attempts"], first["run"]["criteria"]) == (second["attempts"], second["run"]["criteria"])


def test_the_resume_line_names_the_store() -> None:
    """Where the run is not in the default store, the line says that --store is needed."""
    process = waiting("--store", "sqlite:///other.db")
    os.kill(process.pid, signal.SIGINT)
    assert "--store" in finish(process).err.partition("fairtrial run --resume")[2]


def test_a_run_that_is_being_held_is_not_resumed() -> None:
    """A second process would hold the same conversations. It is refused, and the message names the first process."""
    process = waiting()
    run_id = only_run()
    done = again(run_id)
    assert done.code == 2
    assert f"run {run_id} is being held by process {process.pid} on {platform.node()} since 20" in done.err
    process.send_signal(signal.SIGINT)
    assert finish(process).code == 130
    STOPPED.touch()
    assert again(run_id, "--quiet").code == 0


def change_lease(**values: object) -> None:
    """Change the lease of the one run in the store behind its back."""
    with closing(sqlite3.connect(".fairtrial/fairtrial.db")) as database, database:
        assignments = ", ".join(f"{name} = ?" for name in values)
        changed = database.execute(f"UPDATE fairtrial_leases SET {assignments}", list(values.values()))  # noqa: S608
        assert changed.rowcount == 1


@pytest.mark.parametrize(("seconds", "code"), [(50.0, 2), (61.0, 0)])
def test_the_lease_of_a_process_elsewhere_expires(killed: str, seconds: float, code: int) -> None:
    """Nobody can look whether a process of another machine is alive, so that its silence decides: 60 seconds."""
    change_lease(machine="another", host="ci-7", pid=os.getpid(), seen=time.time() - seconds + 0.5)
    done = again(killed, "--quiet")
    assert (done.code, "on ci-7 since" in done.err) == (code, code == 2)


def test_a_run_that_another_process_took_over_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was silent for long must not write over the results of its successor."""
    monkeypatch.setattr("fairtrial.store.leases._RENEWAL", 0.0)
    write("trips.evalset.json", eval_set("good_1"))
    monkeypatch.setitem(sys.modules, "slow_agent", sys.modules[__name__])
    done = fairtrial("run", "trips.evalset.json", "--agent", "slow_agent:overtaken", "--quiet")
    assert done.code == 4
    assert "was removed, or another process continues it; go on with `fairtrial run --resume" in done.err
    assert api.reread(DEFAULT_URL, only_run()).info.finished is None


async def overtaken(conversation: Trace) -> str:
    """Reply only after another process took over the run; then wait for the end."""
    change_lease(token="another")  # noqa: S106
    await asyncio.Event().wait()
    return str(conversation.invocations)


def test_a_removed_run_leaves_no_lease(killed: str) -> None:
    """The lease of a killed process goes with its run."""
    assert fairtrial("runs", "rm", killed).code == 0
    with closing(sqlite3.connect(".fairtrial/fairtrial.db")) as database:
        assert database.execute("SELECT count(*) FROM fairtrial_leases").fetchone() == (0,)
