"""Conversations keep their pace and their time, and go on after an interruption."""

from __future__ import annotations

import asyncio
import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import fairtrial
from builders import case, turn, work
from commands import MATCH, enter, eval_set, write
from commands import fairtrial as command
from fairtrial import Holding, UsageError, recording
from fairtrial.agents.function import FunctionAgent
from fairtrial.records.attempt import Recording
from fairtrial.records.trace import Trace

THREE = case(turn(query="1"), turn(query="2"), turn(query="3"))


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"isolation": "proces"}, "got 'proces'; did you mean 'process'"),
        ({"isolation": "process", "shuffle": 1}, "leave isolation process out"),
        ({"shuffle": 1.5}, "shuffle must be a whole number, got 1.5"),
        ({"requests_per_second": 0}, "requests_per_second must be a number above 0, or None, got 0"),
        ({"conversation_timeout": True}, "conversation_timeout must be a number above 0"),
    ],
)
def test_a_wrong_value_is_refused(values: dict[str, object], problem: str) -> None:
    """With the value and what may stand there."""
    with pytest.raises(UsageError, match=problem):
        Holding(**values)  # type: ignore[arg-type]


def held(function: object, holding: Holding, watcher: recording.Watcher = recording.QUIET) -> Recording:
    """The recording of one conversation with a function."""

    async def run() -> list[Recording]:
        pairs = recording.record([work(expected=THREE)], FunctionAgent(function), holding=holding, watcher=watcher)  # type: ignore[arg-type]
        return [found async for _, found in pairs]

    return asyncio.run(run())[0]


def test_a_conversation_has_a_time_for_all_of_its_replies() -> None:
    """The replies so far stay, and the message that took too long has none."""

    async def slow(trace: Trace) -> str:
        if len(trace.invocations) == 2:
            await asyncio.Event().wait()
        return "ok"

    found = held(slow, Holding(conversation_timeout=0.05))
    assert [one.reply for one in found.trace.invocations] == ["ok", ""]
    assert found.failure is not None
    assert found.failure.side == "agent"
    assert found.failure.cause == "the replies of the conversation took longer than 0.05 seconds together"


def test_a_long_conversation_is_named_while_it_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its message, so that a run of hours is not taken for dead."""
    monkeypatch.setattr(recording, "WAIT_SECONDS", 0.01)
    seen: list[str] = []
    is_named = asyncio.Event()

    def note(remark: str) -> None:
        seen.append(remark)
        is_named.set()

    async def waits(trace: Trace) -> str:
        if len(trace.invocations) == 2:
            await is_named.wait()
        return "ok"

    found = held(waits, Holding(), recording.Watcher(on_wait=note))
    assert found.failure is None
    assert seen[0].startswith("waiting for 1 long conversation; the longest: case, attempt 1, message 2, 0 steps, ")


def test_a_turn_is_stored_every_five_seconds_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two turns of three seconds are stored together, and the last one is stored with the finished conversation."""
    seconds = [0.0]
    monkeypatch.setattr(recording, "time", SimpleNamespace(monotonic=lambda: seconds[0]))
    stored: list[int] = []

    def slow(_: Trace) -> str:
        seconds[0] += 3
        return "ok"

    def keep(_: object, so_far: Recording) -> None:
        stored.append(len(so_far.trace.invocations))

    held(slow, Holding(), recording.Watcher(on_turn=keep))
    assert stored == [2]


def test_messages_keep_their_pace() -> None:
    """Three messages at ten a second go out at three times, a tenth of a second apart."""
    times: list[float] = []

    async def note(_: Trace) -> str:
        times.append(asyncio.get_running_loop().time())
        return "ok"

    held(note, Holding(requests_per_second=10.0))
    assert [round(later - earlier, 3) >= 0.099 for earlier, later in itertools.pairwise(times)] == [
        True,
        True,
    ]


class TooManyError(Exception):
    """A refusal of a server with the status 429."""

    status_code = 429
    response = SimpleNamespace(headers={"retry-after": "0"})


@pytest.mark.long
def test_a_later_message_that_was_refused_is_sent_again() -> None:
    """A function gets the whole conversation, so that the second message can go to a new session."""
    calls: list[int] = []

    def refuses_once(trace: Trace) -> str:
        calls.append(len(trace.invocations))
        if calls.count(2) == 1:
            raise TooManyError
        return "ok"

    found = held(refuses_once, Holding(requests_per_second=1000.0))
    assert ([one.reply for one in found.trace.invocations], calls) == (["ok"] * 3, [1, 2, 2, 3])


AGENT = '''
import pathlib


def reply(conversation):
    """Reply, and note the number of the message. Break off as the file `stop` says."""
    number = len(conversation.invocations)
    with open("seen.txt", "a") as file:
        file.write(f"{number} ")
    stop = pathlib.Path("stop")
    if number == 3 and stop.exists():
        raise (KeyboardInterrupt if stop.read_text() == "interrupt" else ConnectionError)
    return f"{number} of {[one.reply for one in conversation.invocations[:-1]]}"
'''


@pytest.mark.parametrize(("end", "seconds"), [("interrupt", 0.0), ("interrupt", 60.0), ("outage", 0.0)])
def test_a_resumed_run_goes_on_behind_the_last_turn(
    end: str, seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first two messages are not sent again, and the agent knows their replies.

    An interruption stores the last turn, however short the time since the turn before it is.
    """
    enter(tmp_path, monkeypatch)
    monkeypatch.setattr(recording, "KEEP_SECONDS", seconds)
    Path("resumed_agent.py").write_text(AGENT, encoding="utf-8")
    Path("stop").write_text(end, encoding="utf-8")
    write("test_config.json", MATCH)
    messages = [{"user_content": {"parts": [{"text": str(number)}]}} for number in range(1, 5)]
    write("long.evalset.json", eval_set({"eval_id": "long", "conversation": messages}))
    command("run", "long.evalset.json", "--agent", "resumed_agent:reply")
    Path("stop").unlink()
    run_id = command("runs").out.splitlines()[2].split()[0]
    done = command("run", "--resume", run_id, "--json", "-")
    assert Path("seen.txt").read_text(encoding="utf-8").split() == ["1", "2", "3", "3", "4"]
    ((_, found),) = fairtrial.open_run(run_id).recordings
    assert [(one.reply or "")[:1] for one in found.trace.invocations] == ["1", "2", "3", "4"]
    assert (found.trace.invocations[2].reply or "").startswith("3 of ['1 of []', \"2 of")
    assert json.dumps(done.json["attempts"][0]["failure"]) == "null"


WAITING = '''
import asyncio

second = asyncio.Event()


async def reply(message):
    """Never answer the message `2`. Answer `fail` with an error as soon as `2` has come."""
    if message == "2":
        second.set()
        await asyncio.Event().wait()
    if message == "fail":
        await second.wait()
        raise ValueError("no")
    return "ok"
'''


@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_a_run_that_stops_at_a_failure_keeps_no_turns(
    seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other conversation has a finished turn, which may be stored, but the run says that it was not made."""
    enter(tmp_path, monkeypatch)
    Path("waiting_agent.py").write_text(WAITING, encoding="utf-8")
    write("test_config.json", MATCH)
    messages = [{"user_content": {"parts": [{"text": str(number)}]}} for number in range(1, 4)]
    write("two.evalset.json", eval_set({"eval_id": "long", "conversation": messages}, "fail"))
    monkeypatch.setattr(recording, "KEEP_SECONDS", seconds)
    command("run", "two.evalset.json", "--agent", "waiting_agent:reply", "-x", "--concurrency", "2")
    run = fairtrial.open_run(command("runs").out.splitlines()[2].split()[0])
    assert [own.case_id for _, own in run.recordings] == ["fail"]
