"""Agents in processes of their own: what one conversation leaves behind does not reach another."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE, STDOUT

import pytest

import fairtrial
from commands import MATCH, case, enter, eval_set, write
from commands import fairtrial as command
from fairtrial import Holding, Run, UsageError, Verdict
from fairtrial.records.state_delta import read_delta
from loopback import Loopback, Status
from other_processes import ends

AGENT = '''
import json, os, pathlib
from fairtrial import ToolCall, ToolResult

seen = []


def reply(text: str) -> str:
    """Reply "ok", unless an earlier conversation has left its mark."""
    seen.append(text)
    return "ok" if len(seen) == 1 else f"seen {len(seen)}"


def victim(text: str) -> str:
    """Break the case `victim` after the case `polluter`."""
    seen.append(text)
    return "no" if text == "victim" and "polluter" in seen else "ok"


def writes(text: str) -> str:
    """Write a file in the working directory, and one at home."""
    pathlib.Path("notes.txt").write_text("kept")
    (pathlib.Path.home() / "secret.txt").write_text("x")
    return f"{len(list(pathlib.Path.home().iterdir()))} {len(list(pathlib.Path.cwd().iterdir()))}"


def breaks(text: str) -> str:
    """End in the way that the message asks for."""
    print("printed")
    if text == "exit":
        os._exit(7)
    if text == "raise":
        raise ValueError("boom")
    if text == "down":
        raise ConnectionError("nobody is there")
    return "ok"


def prints(text: str) -> str:
    """Print a text that would clear the screen."""
    print(text, "\\x1b[2J")
    return "ok"


def get_order(order_id: str):
    """Look up an order."""
    if order_id == "none":
        raise KeyError(order_id)
    return {"state": "shipped"}


def calls(text: str, call):
    """Reply what the tool answers."""
    try:
        return json.dumps(call(get_order, order_id=text))
    except KeyError as error:
        return f"unknown {error}"


async def traced(conversation):
    """Yield a call and its result."""
    yield ToolCall("f", {"x": 1})
    yield ToolResult("f", [1, 2])
    yield str(len(conversation.invocations))
'''

ASKING = '''
import contextlib

try:
    import httpx2 as http
except ImportError:
    import httpx as http


def asks(text: str) -> str:
    """Ask a model at the URL of the message, and hide its failure."""
    with contextlib.suppress(http.ConnectError):
        http.post(text, json={"model": "m", "input": "hi"})
    if text.endswith("careless"):
        raise ValueError("boom")
    return "" if text.endswith("silent") else "ok"
'''


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an agent and two cases."""
    enter(tmp_path, monkeypatch)
    monkeypatch.delitem(sys.modules, "isolated_shop", raising=False)
    Path("isolated_shop.py").write_text(AGENT, encoding="utf-8")
    write("test_config.json", MATCH)
    write("two.evalset.json", eval_set(case("first", "ok"), case("second", "ok")))


def held(agent: str, isolation: str, *queries: str, **options: object) -> Run:
    """A run over a case for each query."""
    cases = [case(f"c{number}", "ok", query=query) for number, query in enumerate(queries)]
    write("own.evalset.json", eval_set(*cases))
    return fairtrial.evaluate("own.evalset.json", f"isolated_shop:{agent}", holding=Holding(isolation), **options)  # type: ignore[arg-type]


def replies(run: Run) -> list[str]:
    """The replies of all attempts, in file order."""
    return [recording.trace.invocations[-1].reply or "" for _, recording in run.recordings]


def test_a_process_for_each_conversation_starts_afresh() -> None:
    """A list of the module is empty in every attempt."""
    assert replies(held("reply", "process", "a", "b", attempts=2)) == ["ok"] * 4


@pytest.mark.long
def test_a_process_for_each_case_is_shared_by_its_attempts() -> None:
    """The second attempt sees what the first left, and the second case does not."""
    assert replies(held("reply", "case", "a", "b", attempts=2, concurrency=1)) == ["ok", "seen 2"] * 2


def test_an_agent_that_writes_has_a_folder_and_a_home_of_its_own() -> None:
    """Both are empty at the start, the files are recorded, and the folder of the run stays as it was."""
    before = {path for path in Path.cwd().iterdir() if path.name != "__pycache__"}
    run = held("writes", "folder", "a", "b")
    assert replies(run) == ["1 1", "1 1"]
    deltas = [read_delta(recording.trace) for _, recording in run.recordings]
    assert [[(file.path, file.change, file.diff) for file in delta.files] for delta in deltas if delta] == [
        [("notes.txt", "added", "kept")]
    ] * 2
    after = {path for path in Path.cwd().iterdir() if path.name != "__pycache__"}
    assert after == {*before, Path.cwd() / "own.evalset.json"}


def test_each_end_of_an_agent_is_the_same_as_without_a_process() -> None:
    """An exception has its line, an outage is the infrastructure's, and an exit is the agent's."""
    run = held("breaks", "process", "raise", "down", "exit", "fine")
    failures = [recording.failure for _, recording in run.recordings]
    assert [failure and (failure.side, failure.cause.partition(" (")[0]) for failure in failures] == [
        ("agent", "ValueError: boom"),
        ("infrastructure", "ConnectionError: nobody is there"),
        ("agent", "the process of the agent ended with the exit code 7, before it replied"),
        None,
    ]
    assert failures[0] is not None
    assert "isolated_shop.py, line" in failures[0].cause


def test_a_request_to_a_model_that_failed_in_another_process_is_known_here() -> None:
    """An empty reply is not the agent's, and an error of its own and a note name the request."""
    Path("isolated_shop.py").write_text(ASKING, encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nobody = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with Loopback(lambda _: Status(401), keeps_open=False) as server:
        models = [f"{url}/v1/responses" for url in (server.url, nobody)]
        run = held("asks", "process", *(f"{url}?{end}" for end in ("silent", "careless", "polite") for url in models))
    causes = [recording.failure and recording.failure.cause for _, recording in run.recordings]
    sides = [recording.failure and recording.failure.side for _, recording in run.recordings]
    assert sides == ["infrastructure", "infrastructure", "agent", "agent", None, None]
    assert causes[0] == f"no reply, because a request to the model at {models[0]} failed (HTTP 401)"
    assert str(causes[1]).startswith(f"no reply, because a request to the model at {models[1]} failed (ConnectError: ")
    assert str(causes[2]).endswith(f"; before it, a request to the model at {models[0]} failed (HTTP 401)")
    assert f"; before it, a request to the model at {models[1]} failed (ConnectError: " in str(causes[3])
    assert len([note for note in run.summary.notes if note.startswith("2 messages had an answer although")]) == 1


def test_an_environment_answers_the_calls_of_another_process() -> None:
    """An injected answer replaces that of the tool; other calls reach the tool itself, and its own errors come back."""
    changed = {
        "injection_configs": [{"match_args": {"order_id": "A-17"}, "injected_response": {"state": "lost"}}],
        "tool_name": "get_order",
    }
    environment = {"tool_simulation_configs": [changed]}
    run = held("calls", "process", "A-17", "B-42", "none", environment=environment)
    assert replies(run) == ['{"state": "lost"}', '{"state": "shipped"}', "unknown 'none'"]
    steps = [step for _, recording in run.recordings for step in recording.trace.invocations[0].steps or ()]
    assert [bool(getattr(step, "injected", ())) for step in steps] == [False, True, False, False, False, False]


def test_steps_come_back_as_they_are() -> None:
    """Calls, results and replies are equal to those of a run without a process."""
    own, direct = (held("traced", isolation, "a") for isolation in ("process", ""))
    (first,), (second,) = ([one.trace.invocations[0].steps for _, one in run.recordings] for run in (own, direct))
    assert first == second


@pytest.mark.long
def test_a_case_that_depends_on_another_is_named() -> None:
    """The case that another one spoils is named with it, and nothing else is."""
    names = ("polluter", "victim", "c", "d")
    write("order.evalset.json", eval_set(*(case(name, "ok", query=name) for name in names)))
    run = fairtrial.evaluate(
        "order.evalset.json",
        "isolated_shop:victim",
        attempts={"count": 12, "pass": "any"},
        holding=Holding(shuffle=3),
    )
    notes = run.summary.notes
    assert [note.partition(" (")[0] for note in notes if note.startswith("order")] == [
        "order: 'victim' fails after 'polluter'"
    ]


@pytest.mark.long
def test_an_order_without_effect_is_said() -> None:
    """Without a dependence, the run says so."""
    done = command("run", "two.evalset.json", "--agent", "isolated_shop:victim", "--shuffle", "3", "--attempts", "2")
    assert "order: each case had the same result in all 2 orders of the cases (seed 3)" in " ".join(done.out.split())


@pytest.mark.parametrize(
    ("agent", "holding", "problem"),
    [
        ("http://localhost:1/v1", Holding("process"), "works in a server, which a process of its own would not"),
        ("http://localhost:1/v1", Holding(shuffle=1), "shuffle: http://localhost:1/v1: works in a server"),
        (lambda _: "ok", Holding("process"), "needs an agent that another process can import"),
    ],
)
def test_an_agent_that_a_process_would_not_separate_is_refused(agent: object, holding: Holding, problem: str) -> None:
    """Before anything runs, with the reason."""
    with pytest.raises(UsageError, match=problem):
        fairtrial.evaluate("two.evalset.json", agent, holding=holding)  # type: ignore[arg-type]


@pytest.mark.long
def test_a_function_of_a_module_is_found_by_its_name() -> None:
    """A function that can be imported needs no text."""
    run = fairtrial.evaluate("two.evalset.json", loud, holding=Holding("process"))
    assert run.summary.verdict is Verdict.PASSED


def loud(_: object) -> str:
    """Reply as the cases expect."""
    return "ok"


LEAVES_A_CHILD = '''
import subprocess, sys


def leaves(text: str) -> str:
    """Start a program that outlives the conversation, in a session of its own, with the outputs of the agent."""
    code = "import sys, time; sys.stderr.write('from a child'); sys.stderr.flush(); time.sleep(300)"
    child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    open(text, "w").write(str(child.pid))
    return "ok"
'''


@pytest.mark.long
def test_a_process_that_an_agent_leaves_behind_does_not_keep_the_output_open(tmp_path: Path) -> None:
    """A reader of both outputs of the command sees their end, while the process still runs."""
    Path("leaving_shop.py").write_text(LEAVES_A_CHILD, encoding="utf-8")
    place = tmp_path / "child.pid"
    write("own.evalset.json", eval_set(case("one", "ok", query=str(place))))
    words = ["run", "own.evalset.json", "--agent", "leaving_shop:leaves", "--isolation", "process"]
    done = subprocess.run(
        [sys.executable, "-m", "fairtrial", *words], stdout=PIPE, stderr=STDOUT, text=True, timeout=60, check=False
    )
    child = int(place.read_text())
    os.kill(child, 0)  # raises an error if the process has ended
    os.kill(child, signal.SIGKILL)
    assert done.returncode == 0, done.stdout


FORKS = '''
import os, time


def forks(text: str) -> str:
    """End without a reply, and leave a copy of the process behind in a session of its own."""
    child = os.fork()
    if child == 0:
        os.setsid()
        time.sleep(300)
    open(text, "w").write(str(child))
    os._exit(7)
'''


@pytest.mark.long
def test_a_copy_of_the_process_does_not_keep_the_conversation(tmp_path: Path) -> None:
    """It holds the pipe of the reports open, whose process has ended all the same."""
    Path("forking_shop.py").write_text(FORKS, encoding="utf-8")
    place = tmp_path / "child.pid"
    write("own.evalset.json", eval_set(case("one", "ok", query=str(place))))
    try:
        run = fairtrial.evaluate(
            "own.evalset.json", "forking_shop:forks", holding=Holding("process"), reply_timeout=60.0
        )
    finally:
        os.kill(int(place.read_text()), signal.SIGKILL)
    failure = run.cases[0].failure
    assert failure is not None
    assert failure.cause == "the process of the agent ended with the exit code 7, before it replied"


def test_a_process_that_leaves_the_group_ends_with_the_folder(tmp_path: Path) -> None:
    """It is known by its home."""
    Path("leaving_shop.py").write_text(LEAVES_A_CHILD, encoding="utf-8")
    place = tmp_path / "child.pid"
    write("own.evalset.json", eval_set(case("one", "ok", query=str(place))))
    run = fairtrial.evaluate("own.evalset.json", "leaving_shop:leaves", holding=Holding("folder"))
    assert run.summary.verdict is Verdict.PASSED
    assert ends(int(place.read_text()))


def test_what_an_agent_prints_is_shown_behind_its_name(capfd: pytest.CaptureFixture[str]) -> None:
    """Control characters are spelt out."""
    held("prints", "process", "hi")
    assert "isolated_shop:prints: hi \\x1b[2J\n" in capfd.readouterr().err


def test_attempts_whose_shared_process_does_not_start_all_fail() -> None:
    """The process is shared, and no attempt waits for one that has ended."""
    lines = ("import os", f"if os.getpid() != {os.getpid()}: os._exit(3)", "def reply(text): return text")
    Path("broken_shop.py").write_text("\n".join(lines), encoding="utf-8")
    run = fairtrial.evaluate(
        "two.evalset.json", "broken_shop:reply", attempts=4, concurrency=8, holding=Holding("case")
    )
    causes = {recording.failure and recording.failure.cause.partition(" (")[0] for _, recording in run.recordings}
    assert causes == {"the process of the agent ended with the exit code 3, before it replied"}
