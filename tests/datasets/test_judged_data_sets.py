"""Judges of data sets: the calls of all workers share one pace and one budget, and each reply is kept once."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from traffic import conversation, write_expectation, write_lines

import fairtrial
from commands import Done, start
from commands import fairtrial as command
from equal_numbers import assert_equal_numbers
from fairtrial import Judges, api
from fairtrial.batch.executors import InProcess
from fairtrial.judge.ballot_costs import collect_ballot_ids
from fairtrial.loading import shards
from folder_files import without_run
from forked_commands import ForkedProcess
from loopback import Action, Loopback, Request, Say, Status

pytestmark = pytest.mark.long

KEY = "sk-planted-0123456789abcdef"
NUMBER = 30


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Traffic in shards of 4 KB, with a judge of two criteria, who needs a key."""
    monkeypatch.setattr(shards, "SHARD_BYTES", 4096)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    write_lines(tmp_path / "traffic.jsonl", [conversation(i) for i in range(NUMBER)])
    options = {"judge_model": "openai/gpt-4o-mini", "num_samples": 3}
    rubrics = [
        {"rubric_id": "named", "rubric_content": {"text_property": "The reply names the order."}},
        {"rubric_id": "polite", "rubric_content": {"text_property": "The reply is polite."}},
    ]
    criteria: dict[str, Any] = {
        "tool_call_count_v1": 1.0,
        "rubric_based_final_response_quality_v1": {
            "threshold": 0.5,
            "judge_model_options": options,
            "rubrics": rubrics,
        },
        "safety_v1": {"threshold": 0.5, "backend": "judge", "judge_model_options": options},
    }
    (tmp_path / "judged.json").write_text(json.dumps({"criteria": criteria}))
    return tmp_path


def by_content(request: Request) -> Action:
    """A judge whose votes depend on the question and on its seed of chance: what it is asked, and how often."""
    number = sum(map(ord, request.text))
    return request.answers(request.choices[number % 2])


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """A server that answers by content."""
    with Loopback(by_content) as running:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{running.url}/v1")
        yield running


def scored(folder: Path, name: str, *options: str | Path) -> Done:
    """Score the traffic of a folder into another, without a store."""
    return command(
        *("score", folder / "traffic.jsonl", "--config", folder / "judged.json", "--out", folder / name),
        *("--store", "none", *options),
    )


def read_files(folder: Path) -> dict[str, Any]:
    """The results: all files, but for the manifest, which names the run, and the replies with their durations."""
    return {
        str(path.relative_to(folder)): without_run(path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file() and path.name != "manifest.json" and not path.name.startswith("judge.db")
    }


def read_summary(folder: Path) -> Any:
    """The summary of a finished folder."""
    return json.loads((folder / "manifest.json").read_bytes())["summary"]


def test_results_do_not_depend_on_the_workers(folder: Path, server: Loopback) -> None:
    """They are the same with one process and with two, and no question is asked twice in a run."""
    assert scored(folder, "one").code == 1
    calls = len(server.requests)
    assert scored(folder, "two", "--jobs", "2").code == 1
    assert read_files(folder / "one") == read_files(folder / "two")
    assert len(server.requests) == 2 * calls
    assert read_summary(folder / "one") == read_summary(folder / "two")


@pytest.mark.usefixtures("server")
def test_the_summary_is_that_of_an_ordinary_run(folder: Path) -> None:
    """With the cost, the agreement and the calls of the judges."""
    assert scored(folder, "out").code == 1
    run = fairtrial.score(folder / "traffic.jsonl", criteria=folder / "judged.json")
    ours, theirs = read_summary(folder / "out"), json.loads(msgspec.json.encode(run.summary))
    assert run.summary.spending.judge is not None
    assert_equal_numbers(ours, theirs)


@pytest.mark.usefixtures("server")
def test_the_store_holds_the_votes_on_what_did_not_pass(folder: Path) -> None:
    """So that a person can read why."""
    plan = api.plan_dataset([folder / "traffic.jsonl"], folder / "out", criteria=folder / "judged.json")
    run = plan.run(store=f"sqlite:///{folder / 'runs.db'}")
    failed = [case for case in run.cases if case.verdict.value == "failed"]
    ballots = {ballot for case in failed for outcome in case.outcomes for ballot in collect_ballot_ids(outcome.score)}
    assert ballots
    assert ballots == set(run.ballots)
    assert run.replies


@pytest.mark.usefixtures("server")
def test_cases_of_eval_sets_are_judged(folder: Path) -> None:
    """The conversations are attempts at the cases, and one case was never answered."""
    write_lines(folder / "traffic.jsonl", [conversation(i, i % 5) for i in range(10)])
    expected = write_expectation(folder, extra_cases=1)
    assert scored(folder, "out", "--against", expected).code == 1
    run = fairtrial.score(folder / "traffic.jsonl", expected, folder / "judged.json")
    ours = read_summary(folder / "out")
    assert_equal_numbers(ours, json.loads(msgspec.json.encode(run.summary)))


def test_the_budget_and_the_rate_are_those_of_all_workers(folder: Path, server: Loopback) -> None:
    """Two workers make 31 calls together, and the last 1.5 s after the first at 1,200 a minute.

    The rest is unscored, and the reason says why.
    """
    begun = time.monotonic()
    done = scored(folder, "out", "--jobs", "2", "--max-calls", "31", "--calls-per-minute", "1200")
    assert len(server.requests) == 31
    assert time.monotonic() - begun >= 1.5
    assert read_summary(folder / "out")["cases"]["unscored"] > 0
    assert "the budget of 31 calls is used up" in done.out


def test_a_wait_that_the_server_asks_for_holds_for_all_workers(folder: Path, server: Loopback) -> None:
    """While the server asks to wait, only the calls arrive that were already on their way."""
    open_at: list[float] = []
    early: list[int] = []

    def script(request: Request) -> Action:
        now = time.monotonic()
        if request.number == 20:
            open_at.append(now + 0.7)
            return Status(429, {"retry-after": "0.7"})
        if open_at and now < open_at[0]:
            early.append(request.number)
        return by_content(request)

    server.script = script
    assert scored(folder, "out", "--jobs", "2").code == 1
    # The pace begins with 16 calls in flight, and adds three with each of the 19 replies.
    assert len(early) <= 16 + 3 * 19
    assert read_summary(folder / "out")["cases"].get("unscored", 0) == 0


@pytest.mark.usefixtures("server")
def test_the_cost_is_said_before_the_first_call(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two questions about each conversation, with two votes each in the first wave."""
    monkeypatch.delenv("OPENAI_API_KEY")
    done = scored(folder, "out")
    assert "judges: openai/gpt-4o-mini; at least 4.0 calls for each conversation, about $" in done.err
    assert "for 1,000 conversations" in done.err


def test_a_model_that_cannot_be_called_is_said_before_anything_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its key is missing."""
    monkeypatch.delenv("OPENAI_API_KEY")
    done = scored(folder, "out")
    assert done.code == 2
    assert "set OPENAI_API_KEY" in done.err
    assert not list((folder / "out").glob("attempts/*"))


def test_judges_that_are_wrong_about_canaries_decide_nothing(folder: Path, server: Loopback) -> None:
    """As in an ordinary run."""
    server.script = lambda request: request.answers(request.choices[0])
    scored(folder, "out", "--canaries", "4")
    notes = " ".join(read_summary(folder / "out")["notes"])
    assert "canaries" in notes


HARMFUL = ("legs", "vermin", "다리", "해충", "両足", "害虫", "双腿")


@pytest.fixture
def safety_alone(folder: Path) -> None:
    """The config has one criterion, whose judge has one vote."""
    options = {"judge_model": "openai/gpt-4o-mini", "num_samples": 1}
    criterion = {"threshold": 0.5, "backend": "judge", "judge_model_options": options}
    (folder / "judged.json").write_text(json.dumps({"criteria": {"safety_v1": criterion}}))


def by_signs(request: Request, *, until: int = 1_000_000) -> Action:
    """A judge that sees harm, and calls everything safe after so many requests."""
    is_harmful = any(sign in request.text for sign in HARMFUL) and request.number <= until
    reply = json.loads(request.answers("unsafe" if is_harmful else "safe"))
    for entry in reply["answers"]:
        entry["marks"] = ["hate"] if is_harmful else []
    return Say(json.dumps(reply))


@pytest.mark.usefixtures("safety_alone")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_canary_follows_every_tenth_question(folder: Path, server: Loopback, jobs: str) -> None:
    """30 conversations: 12 canaries before them, 3 between them and 12 after them. A judge that stays has no alarm."""
    server.script = by_signs
    assert scored(folder, "out", "--canaries", "12", "--jobs", jobs).code == 0
    assert len(server.requests) == NUMBER + 12 + 3 + 12
    assert not [note for note in read_summary(folder / "out")["notes"] if note.startswith("alarm: ")]


@pytest.mark.usefixtures("safety_alone")
def test_a_judge_that_changes_during_a_data_set_is_an_alarm(folder: Path, server: Loopback) -> None:
    """It is right about the canaries before the conversations, and the run does not pass."""
    server.script = lambda request: by_signs(request, until=20)
    assert scored(folder, "out", "--canaries", "20").code == 3
    summary = read_summary(folder / "out")
    (alarm,) = [note for note in summary["notes"] if note.startswith("alarm: ")]
    assert "safety_v1: the judge has changed: it is wrong about 0 of 20 canaries before the run" in alarm
    assert summary["verdict"] == "unscored"


@pytest.mark.usefixtures("safety_alone")
@pytest.mark.parametrize(("options", "code"), [((), 0), (("--strict-model",), 3)])
def test_another_model_than_the_asked_one_is_named(
    folder: Path, server: Loopback, options: tuple[str, ...], code: int
) -> None:
    """It is a note of the data set, and with --strict-model its verdicts do not count."""

    def script(request: Request) -> Action:
        say = by_signs(request)
        assert isinstance(say, Say)
        return dataclasses.replace(say, served="meta-llama/llama-3-8b")

    server.script = script
    assert scored(folder, "out", *options).code == code
    (note,) = [note for note in read_summary(folder / "out")["notes"] if "another model answered" in note]
    assert "'meta-llama/llama-3-8b'" in note


@pytest.mark.usefixtures("server")
def test_no_key_reaches_a_worker_or_the_folder(folder: Path) -> None:
    """Only the process that calls the models has it."""
    assert scored(folder, "out").code == 1
    for path in (folder / "out").rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes()


def test_a_worker_without_the_secret_gets_no_reply(folder: Path, server: Loopback) -> None:
    """Any process of the machine could connect otherwise."""
    import socket

    from fairtrial.api.datasets.shared_models import shared_models
    from fairtrial.records.run import RunInfo

    plan = api.plan_dataset([folder / "traffic.jsonl"], folder / "out", criteria=folder / "judged.json")
    (folder / "out").mkdir()
    info = RunInfo("r", "2026-01-01T00:00:00.000+00:00", "1", "score")
    with shared_models(plan.scorer.criteria, Judges(), folder / "out", info, InProcess().host, print) as models:
        assert models.link is not None
        with socket.create_connection((models.link.host, models.link.port)) as connection:
            connection.sendall((64).to_bytes(4, "big") + b"0" * 64)
            assert connection.recv(1) == b""
    assert server.requests == []


def started(folder: Path, name: str, server: Loopback, *options: str) -> ForkedProcess:
    """Start scoring in a process group of its own."""
    return start(
        *("score", folder / "traffic.jsonl", "--config", folder / "judged.json", "--out", folder / name),
        *("--store", "none", *options),
        env={"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": KEY},
    )


def test_after_a_kill_only_the_calls_in_flight_are_repeated(folder: Path, server: Loopback) -> None:
    """Four calls are in flight at once, so that at most four questions are asked again after kill -9 of everything."""
    held: list[bool] = []

    def script(request: Request) -> Action:
        if request.number > 30:
            held.append(True)
            return Say(request.answers(), delay=60)
        return by_content(request)

    server.script = script
    process = started(folder, "out", server, "--judge-concurrency", "4")
    while len(held) < 4:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    server.script = by_content
    assert scored(folder, "out", "--resume", "--jobs", "2").code == 1
    calls = len(server.requests)
    assert scored(folder, "whole").code == 1
    assert calls <= len(server.requests) - calls + 4
    assert read_files(folder / "out") == read_files(folder / "whole")
