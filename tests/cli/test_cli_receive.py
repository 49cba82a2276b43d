"""The command `fairtrial receive` ends on Ctrl-C with the report, and refuses wrong options."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import threading
from pathlib import Path
from typing import IO, Any

import httpx2
import pytest

import span_senders
from commands import MATCH, case, enter, eval_set, fairtrial, finish, start, write
from fairtrial import api
from forked_commands import start_forked
from ports import free_port
from span_files import call, otlp, request

SENDERS = 8
EACH = 25
"""The conversations that each sender sends."""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enter(tmp_path, monkeypatch)
    write("shop.evalset.json", eval_set(case("greeting", "Hi.", query="Hello?")))
    write("config.json", MATCH)


def receiver(*more: str) -> tuple[Any, str]:
    """Start a receiver, and return its process and its URL."""
    options = ("--config", "config.json", "--listen", "127.0.0.1:0", "--json", "-")
    process = start("receive", "--against", "shop.evalset.json", *options, *more)
    return process, read_url(process)


@pytest.mark.long
def test_ctrl_c_scores_what_is_finished_and_keeps_the_rest() -> None:
    """The report is that of `score`, and the exit code too."""
    process, url = receiver()
    spans = otlp(
        call(1, ["Hello?"], "Hi.", **{"session.id": "s-1"}), call(2, ["Hello?"], "Hi.", **{"session.id": "s-2"})
    )
    httpx2.post(f"{url}/v1/traces", json=spans).raise_for_status()
    httpx2.post(f"{url}/v1/conversations/s-1/end").raise_for_status()
    wait_for_line(process.stderr, "passed: greeting")
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert done.code == 0, done.err
    assert json.loads(done.out)["run"]["verdict"] == "passed"
    assert "stored 1 trace that the run has not scored yet" in done.err


@pytest.mark.long
def test_a_receiver_keeps_no_personal_data() -> None:
    """The telephone number is not in the exported conversation. The reply is still compared with the expected one."""
    pytest.importorskip("phonenumbers", reason="the extra people is not installed")
    process, url = receiver("--redact", "people")
    spans = otlp(call(1, ["Call +82 10-2345-6789"], "Hi.", **{"session.id": "greeting"}))
    httpx2.post(f"{url}/v1/traces", json=spans).raise_for_status()
    httpx2.post(f"{url}/v1/conversations/greeting/end").raise_for_status()
    wait_for_line(process.stderr, "passed: greeting")
    process.send_signal(signal.SIGINT)
    assert finish(process).code == 0
    run = fairtrial("runs", "--limit", "1", "--quiet").out.strip()
    (line,) = fairtrial("export", run, "--as", "messages").out.splitlines()
    assert [message["content"] for message in json.loads(line)["messages"]] == ["Call [REDACTED:phone]", "Hi."]


@pytest.mark.long
def test_a_killed_receiver_knows_the_traces_of_a_tool_loop() -> None:
    """Each call of the model is a trace, and the conversation goes on after kill -9."""
    for number in (1, 2, 3):
        process, url = receiver("--idle", "0.2s")
        spans = otlp(request(number, ("Hello?",), number - 1, "Hi." if number == 3 else ""))
        httpx2.post(f"{url}/v1/traces", json=spans).raise_for_status()
        wait_for_line(process.stderr, ": greeting")
        if number < 3:
            process.kill()
            process.communicate()
    process.send_signal(signal.SIGINT)
    finish(process)
    run = fairtrial("runs", "--limit", "1", "--quiet").out.strip()
    (line,) = fairtrial("export", run, "--as", "messages").out.splitlines()
    roles = [message["role"] for message in json.loads(line)["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "assistant"]


@pytest.mark.long
def test_no_conversation_is_lost_or_scored_twice_over_a_kill() -> None:
    """Eight processes send at once, spans come in any order, and the receiver is killed in the middle."""
    write("config.json", {"criteria": {"tool_call_count_v1": {"threshold": 5}}})
    address = ("--listen", f"127.0.0.1:{free_port()}", "--idle", "1s", "--config", "config.json")
    process: Any = start("receive", *address)
    url = read_url(process)
    senders = [sender(url, str(number)) for number in range(SENDERS)]
    for _ in range(SENDERS * EACH // 4):
        wait_for_line(process.stderr, ": s-")
    process.kill()
    process.communicate()
    process = start("receive", *address)
    read_url(process)
    drain = threading.Thread(target=wait_for_line, args=(process.stderr, "passed: last"))
    drain.start()
    for each in senders:
        done = finish(each)
        assert done.code == 0, done.err
    httpx2.post(f"{url}/v1/traces", json=otlp(call(1, ["Bye."], "Bye.", **{"session.id": "last"}))).raise_for_status()
    drain.join()
    process.send_signal(signal.SIGINT)
    assert finish(process).code == 0
    run = api.reread(api.DEFAULT_URL, fairtrial("runs", "--limit", "1", "--quiet").out.strip())
    names = {f"s-{number}-{place}" for number in range(SENDERS) for place in range(EACH)}
    results = [result for result in run.cases if result.case_id != "last"]
    assert sorted(result.case_id for result in results) == sorted(names)
    turns = [recording.trace.invocations for _, recording in run.recordings if recording.case_id in names]
    assert {(turn.query.startswith("Where is"), turn.reply, len(turn.tool_calls)) for (turn,) in turns} == {
        (True, "Here.", 1)
    }


def sender(url: str, number: str) -> Any:
    """Start a process that sends conversations."""
    script = Path(span_senders.__file__)
    environment = {**os.environ, "PYTHONPATH": str(script.parent)}
    return start_forked(["python", str(script), url, number, str(EACH)], environment=environment)


def wait_for_line(stream: IO[str], pattern: str) -> re.Match[str]:
    """Read lines until a pattern comes; AssertionError with what was read if the process ends before."""
    lines: list[str] = []
    for line in iter(stream.readline, ""):
        if found := re.search(pattern, line):
            return found
        lines.append(line)
    raise AssertionError("".join(lines))


def read_url(process: Any) -> str:
    """Return the URL of a receiver that starts."""
    return wait_for_line(process.stderr, r"receiving at (\S+),")[1]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "--config, or an eval set with --against"),
        (("--config", "config.json", "--listen", "0.0.0.0:4318"), "set FAIRTRIAL_RECEIVE_TOKEN"),
        (("--config", "config.json", "--listen", "4318"), "must be HOST:PORT"),
        (("--config", "config.json", "--idle", "soon"), "must be a time such as 60s or 5m"),
        (("--config", "config.json", "--forward", "collector"), "--forward must be a URL"),
    ],
)
def test_wrong_options_are_refused(arguments: tuple[str, ...], problem: str) -> None:
    """Before anything listens."""
    done = fairtrial("receive", *arguments)
    assert done.code == 2
    assert problem in " ".join(done.err.split())


def test_an_address_that_is_in_use_is_refused() -> None:
    """With the reason of the system."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        place = f"127.0.0.1:{other.getsockname()[1]}"
        done = fairtrial("receive", "--config", "config.json", "--listen", place)
    assert done.code == 2
    assert f"cannot listen at {place}: Address already in use" in done.err
