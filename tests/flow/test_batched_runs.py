"""Judges of ordinary runs in batches of their providers: OpenAI's, Anthropic's and Gemini's, over real sockets."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import builders
import fairtrial
from batch_servers import KEYS, MODELS, BatchServer, by_content, point_to
from commands import Done, start
from commands import fairtrial as command
from equal_numbers import assert_equal_numbers
from fairtrial import BatchOptions, Judges, ModelOptions, Run, UsageError, api
from loopback import Loopback

NUMBER = 8


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for each provider."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchServer]:
    """A server with batches, and with no single calls."""
    with BatchServer(by_content) as running:
        point_to(running.url, monkeypatch)
        yield running


def write_dialogues(folder: Path, kind: str = "openai", judges: int = 1) -> None:
    """Write conversations, and a configuration with one judge or two and a criterion that asks nobody."""
    lines = [
        {
            "id": f"c{number}",
            "messages": [
                {"role": "user", "content": f"Where is order {number}?"},
                {"role": "assistant", "content": f"Order {number} arrives tomorrow."},
            ],
        }
        for number in range(NUMBER)
    ]
    (folder / "dialogues.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    rubric = {"rubric_id": "named", "rubric_content": {"text_property": "The reply names the order."}}
    judged = {
        "threshold": 0.5,
        "judge_model_options": {"judge_models": MODELS[kind][:judges], "num_samples": 3},
        "rubrics": [rubric],
    }
    criteria = {"rubric_based_final_response_quality_v1": judged, "tool_call_count_v1": {"threshold": 2}}
    (folder / "judged.json").write_text(json.dumps({"criteria": criteria}))


def score(folder: Path, **options: Any) -> Run:
    """Score the dialogues with batches."""
    judges = Judges(models=ModelOptions(batch=BatchOptions(poll=0.01), **options))
    return fairtrial.score(
        folder / "dialogues.jsonl", criteria=folder / "judged.json", judges=judges, store=f"sqlite:///{folder}/runs.db"
    )


def arguments(folder: Path, *options: str) -> list[str | Path]:
    """The arguments of the command."""
    store = f"sqlite:///{folder}/runs.db"
    dialogues, config = folder / "dialogues.jsonl", folder / "judged.json"
    return ["score", dialogues, "--config", config, "--store", store, "--batch-api", *options]


def run_command(folder: Path, *options: str) -> Done:
    """Score the dialogues with the command."""
    return command(*arguments(folder, *options))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["openai", "anthropic", "gemini"])
def test_batches_give_the_results_of_single_calls_at_half_the_price(
    kind: str, tmp_path: Path, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second wave asks only what is open after the first, so that there are as many calls as live."""
    write_dialogues(tmp_path, kind, judges=2)
    ours = score(tmp_path)
    with Loopback(by_content) as running, monkeypatch.context() as patch:
        point_to(running.url, patch)
        theirs = fairtrial.score(tmp_path / "dialogues.jsonl", criteria=tmp_path / "judged.json")
    assert [case.verdict for case in ours.cases] == [case.verdict for case in theirs.cases]
    bill, usual = ours.summary.spending.judge, theirs.summary.spending.judge
    assert bill is not None
    assert usual is not None
    assert bill.calls == usual.calls == len(server.asked)
    assert bill.cost == pytest.approx((usual.cost or 0) / 2)
    open_questions = len(server.asked) - 2 * NUMBER
    assert [len(batch.requests) for batch in server.batches.values()] == [NUMBER, NUMBER, open_questions]
    assert {batch.kind for batch in server.batches.values()} == {kind}
    assert not list(tmp_path.glob("batches*"))


@pytest.mark.long
@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGINT])
def test_the_same_command_goes_on_with_the_same_run_and_batches(
    signal_number: signal.Signals, tmp_path: Path, server: BatchServer
) -> None:
    """After a kill, and after Ctrl-C. A batch at its provider is not submitted twice."""
    write_dialogues(tmp_path)
    server.hold = True
    process = start(*arguments(tmp_path))
    while not server.polls:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    os.killpg(process.pid, signal_number)
    _, errors = process.communicate()
    if signal_number is signal.SIGINT:
        assert "the same command waits for the same batches" in errors
    server.finish_all()
    done = run_command(tmp_path)
    assert done.code in {0, 1}, done.err
    assert sum(len(batch.requests) for batch in server.batches.values()) == len(server.asked)
    assert len(api.runs(f"sqlite:///{tmp_path}/runs.db")) == 1


@pytest.mark.long
def test_other_inputs_are_another_run(tmp_path: Path, server: BatchServer) -> None:
    """The batches of the first stay at their provider."""
    write_dialogues(tmp_path)
    server.refusals.append((400, "this model has no batches"))
    with pytest.raises(UsageError, match="this model has no batches"):
        score(tmp_path)
    with (tmp_path / "dialogues.jsonl").open("a") as file:
        file.write(json.dumps({"id": "new", "messages": [{"role": "user", "content": "Hello?"}]}) + "\n")
    assert len(score(tmp_path).cases) == NUMBER + 1
    assert len(list(tmp_path.glob("batches-*.db"))) == 1
    assert len(api.runs(f"sqlite:///{tmp_path}/runs.db")) == 2


@pytest.mark.long
def test_replies_before_an_interruption_are_not_asked_again(tmp_path: Path, server: BatchServer) -> None:
    """The first wave is answered, and the second is refused. The run then has the numbers of a whole run."""
    (tmp_path / "whole").mkdir()
    for folder in (tmp_path, tmp_path / "whole"):
        write_dialogues(folder, judges=2)
    whole, calls = score(tmp_path / "whole"), len(server.asked)
    server.batches.clear()

    def refuse_next(_: object) -> None:
        if len(server.batches) == 2:
            server.refusals.append((400, "no credit is left"))

    server.on_batch = refuse_next
    with pytest.raises(UsageError, match="no credit is left"):
        score(tmp_path)
    server.on_batch = lambda _: None
    again = score(tmp_path)
    assert len(server.asked) == 2 * calls
    assert_equal_numbers(json.loads(msgspec.json.encode(whole.summary)), json.loads(msgspec.json.encode(again.summary)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--store", "none"], "--batch-api: needs a store"),
        (["--canaries", "3"], "--canaries: does not go with --batch-api"),
        (["--judge-model", "mistral/mistral-small"], "has no batches; must be a model of openai"),
    ],
)
def test_what_cannot_go_into_batches_is_refused_before_anything_runs(
    options: list[str], message: str, tmp_path: Path
) -> None:
    """By name."""
    write_dialogues(tmp_path)
    done = run_command(tmp_path, *options)
    assert done.code == 2
    assert message in done.err


def test_conversations_have_to_be_recorded_first(tmp_path: Path) -> None:
    """An agent could not wait for a day."""
    write_dialogues(tmp_path)
    judges = Judges(models=ModelOptions(batch=BatchOptions()))
    with pytest.raises(UsageError, match="use `fairtrial record`"):
        fairtrial.evaluate(
            fairtrial.EvalSet("s", (builders.case(builders.turn()),)),
            lambda _: "hello",
            tmp_path / "judged.json",
            judges=judges,
            store=f"sqlite:///{tmp_path}/runs.db",
        )
