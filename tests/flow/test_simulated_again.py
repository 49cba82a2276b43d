"""Conversations with simulated users, interrupted and gone on with, recorded and held again from a cassette."""

from __future__ import annotations

import itertools
import json
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from commands import enter, fairtrial, finish, start, write
from fairtrial.records.attempt import Recording
from fairtrial.store import Store
from loopback import Action, Loopback, Request, Say

CASES = 4
RUN = ("run", "shop.scenarios.json", "--agent", "commands:obedient")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a file of scenarios and a config."""
    enter(tmp_path, monkeypatch)
    plan = "Ask where order A-17 is."
    scenarios = [{"starting_prompt": f"Hello {i}", "conversation_plan": plan} for i in range(CASES)]
    write("shop.scenarios.json", {"scenarios": scenarios})
    simulator = {"model": "openai/gpt-4o-mini", "max_allowed_invocations": 4}
    write("test_config.json", {"criteria": {"tool_call_count_v1": 3}, "user_simulator_config": simulator})


def who(request: Request) -> int:
    """The scenario whose user a request plays."""
    (found,) = (i for i in range(CASES) if f"Hello {i}" in request.text)
    return found


def recorded() -> dict[tuple[int, int], Recording]:
    """The recordings of the one run in the store, by position and attempt."""
    store = Store(create=False)
    (run,) = store.runs()
    found = {(position, one.attempt): one for position, one in store.recordings(run.id)}
    store.close()
    return found


@pytest.mark.long
def test_ctrl_c_keeps_what_is_finished_and_resume_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Finished conversations stand as they are; of the one that was cut off no call is made a second time."""
    reached, calls = threading.Event(), Counter[int]()
    stuck = True

    def script(request: Request) -> Action:
        calls[who(request)] += 1
        if who(request) == 2 and calls[2] == 3 and stuck:
            reached.set()
            return Say(delay=600)
        return f"message {request.number}"

    with Loopback(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        process = start(*RUN, "--concurrency", "1", "--quiet")
        assert reached.wait(60)
        process.send_signal(signal.SIGINT)
        done = finish(process)
        assert (done.code, "Traceback" in done.err) == (130, False)
        before = recorded()
        stuck = False
        (line,) = (line for line in done.err.splitlines() if "fairtrial run --resume" in line)
        again = fairtrial(*line.partition("fairtrial ")[2].split(), "--json", "r.json")
    assert again.code == 0, again.err
    cut_off = before.pop((2, 1))
    assert set(before) == {(0, 1), (1, 1)}
    after = recorded()
    kept = len(cut_off.trace.invocations)
    assert 0 < kept < len(after[2, 1].trace.invocations)
    assert [turn.query for turn in after[2, 1].trace.invocations[:kept]] == [
        turn.query for turn in cut_off.trace.invocations
    ]
    assert set(after) == {(i, 1) for i in range(CASES)}
    assert {place: after[place] for place in before} == before
    # Three messages of the model for each user; the one that was on its way at the interruption is asked for twice.
    assert calls == {0: 3, 1: 3, 2: 4, 3: 3}
    assert json.loads(Path("r.json").read_bytes())["run"]["spending"]["simulator"]["calls"] == 12


def conversations(path: str) -> list[Any]:
    """What was said in each conversation of a file of recordings."""
    lines = [json.loads(line) for line in Path(path).read_bytes().splitlines()]
    return [
        (one["case_id"], one.get("attempt", 1), [each["user"]["text"] for each in one["trace"]["invocations"]])
        for one in lines
    ]


def test_every_attempt_is_its_own_draw_and_a_cassette_brings_them_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three attempts at a scenario each has its own user; without a server the same conversations are held again."""
    record = ("record", *RUN[1:], "--attempts", "3", "--quiet", "--cassette", "c.jsonl")
    numbers = itertools.count()
    with Loopback(lambda _: f"message {next(numbers)}") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        first = fairtrial(*record, "--cassette-mode", "record", "-o", "first.jsonl")
    assert first.code == 0, first.err
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    second = fairtrial(*record, "--cassette-mode", "replay", "-o", "second.jsonl", "--concurrency", "2")
    assert second.code == 0, second.err
    held = conversations("first.jsonl")
    assert len(held) == 3 * CASES
    assert len({tuple(said) for _, _, said in held}) == 3 * CASES
    assert conversations("second.jsonl") == held


@pytest.mark.parametrize("command", [RUN, ("record", *RUN[1:], "-o", "r.jsonl")], ids=["run", "record"])
def test_a_call_that_the_cassette_lacks_ends_the_replay(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is nobody's failure in a conversation, but an error of whoever replays."""
    with Loopback(lambda _: "</finished>") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        cassette = ("--cassette", "c.jsonl", "--cassette-mode")
        assert fairtrial(*RUN, *cassette, "record").code == 0
        text = Path("shop.scenarios.json").read_text(encoding="utf-8")
        Path("shop.scenarios.json").write_text(text.replace("A-17", "B-42"), encoding="utf-8")
        done = fairtrial(*command, *cassette, "replay")
    assert done.code == 2
    assert "c.jsonl: no entry for a call of openai/gpt-4o-mini with prompt simulated_user/3" in done.err


@pytest.mark.parametrize(("option", "most"), [("--max-calls", "5"), ("--max-cost", "0.0012")])
def test_a_budget_ends_the_run_as_unscored(option: str, most: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five calls of 21 hundredths of a cent each fit; what is finished is scored, the rest broke on the user's side."""
    with Loopback(lambda request: f"message {request.number}") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        done = fairtrial(*RUN, "--concurrency", "1", option, most, "--json", "r.json")
    assert done.code == 3, done.out + done.err
    assert len(server.requests) == 5
    cases = json.loads(Path("r.json").read_bytes())["attempts"]
    assert [one["verdict"] for one in cases] == ["passed", "error", "error", "error"]
    assert {one["failure"]["side"] for one in cases[1:]} == {"simulator"}
    assert "used up" in cases[1]["failure"]["cause"]
