"""Judges of data sets in batches of their providers: OpenAI's, Anthropic's and Gemini's, over real sockets."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from traffic import conversation, write_lines

from batch_servers import KEYS, MODELS, Batch, BatchServer, Expire, Outcome, by_content, point_to
from commands import Done, start
from commands import fairtrial as command
from fairtrial import BatchOptions, Budget, Judges, ModelOptions, api
from fairtrial.errors import UsageError
from fairtrial.llm.batch_services import OpenAIBatches
from fairtrial.loading import shards
from loopback import Loopback, Request, Status

NUMBER = 8


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for each provider, and small shards."""
    monkeypatch.setattr(shards, "SHARD_BYTES", 2048)
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchServer]:
    """A server with batches, and with no single calls."""
    with BatchServer(by_content) as running:
        point_to(running.url, monkeypatch)
        yield running


def write_traffic(folder: Path, kind: str = "openai", votes: int = 3, judges: int = 1) -> None:
    """Write conversations, and a configuration with one judge or two."""
    write_lines(folder / "traffic.jsonl", [conversation(i) for i in range(NUMBER)])
    options = {"judge_models": MODELS[kind][:judges], "num_samples": votes}
    rubric = {"rubric_id": "named", "rubric_content": {"text_property": "The reply names the order."}}
    criterion = {"threshold": 0.5, "judge_model_options": options, "rubrics": [rubric]}
    criteria = {"rubric_based_final_response_quality_v1": criterion}
    (folder / "judged.json").write_text(json.dumps({"criteria": criteria}))


def score(folder: Path, name: str, *, resume: bool = False, notes: list[str] | None = None, **options: Any) -> Any:
    """Score the traffic into a folder with batches, and return the summary."""
    models = {"batch": BatchOptions(poll=0.01, most_requests=options.pop("most_requests", None)), **options}
    plan = api.plan_dataset(
        [folder / "traffic.jsonl"],
        folder / name,
        criteria=folder / "judged.json",
        judges=Judges(models=ModelOptions(**models)),
    )
    seen: list[str] = [] if notes is None else notes
    plan.run(resume=resume, on_batch=seen.append)
    return json.loads((folder / name / "manifest.json").read_bytes())["summary"]


def score_live(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Score the traffic into a folder with single calls, and return the summary."""
    with Loopback(by_content) as running, monkeypatch.context() as patch:
        point_to(running.url, patch)
        plan = api.plan_dataset([folder / "traffic.jsonl"], folder / name, criteria=folder / "judged.json")
        plan.run()
    return json.loads((folder / name / "manifest.json").read_bytes())["summary"]


def read_reasons(folder: Path) -> str:
    """Everything about the conversations that did not pass."""
    return "".join(path.read_text() for path in sorted((folder / "not_passed").iterdir()))


def make_tables(folder: Path) -> dict[str, str]:
    """The results of a folder without the costs."""
    import pyarrow.parquet as pq

    unlike = {"run", "run_started", "judge", "judge_cost"}
    tables = {name: pq.read_table(folder / name) for name in ("attempts", "outcomes", "parts")}
    return {
        name: repr(table.drop_columns([*unlike.intersection(table.column_names)]).to_pylist())
        for name, table in tables.items()
    }


@pytest.mark.long
@pytest.mark.parametrize("kind", ["openai", "anthropic", "gemini"])
def test_batches_give_the_results_of_single_calls_at_half_the_price(
    kind: str, tmp_path: Path, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second wave asks only what is open after the first, so that there are as many calls as live."""
    write_traffic(tmp_path, kind, judges=2)
    ours, theirs = score(tmp_path, "batched"), score_live(tmp_path, "live", monkeypatch)
    assert make_tables(tmp_path / "batched") == make_tables(tmp_path / "live")
    bill, usual = ours["spending"]["judge"], theirs["spending"]["judge"]
    assert bill["calls"] == usual["calls"] == len(server.asked)
    assert bill["cost"] == pytest.approx(usual["cost"] / 2)
    open_questions = len(server.asked) - 2 * NUMBER
    assert 0 < open_questions < NUMBER
    assert [len(batch.requests) for batch in server.batches.values()] == [NUMBER, NUMBER, open_questions]
    assert {batch.kind for batch in server.batches.values()} == {kind}


@pytest.mark.long
def test_settled_questions_are_not_asked_again(tmp_path: Path, server: BatchServer) -> None:
    """With five votes that agree, three are asked, in one batch."""
    write_traffic(tmp_path, votes=5)
    server.script = lambda request: request.answers("yes")
    score(tmp_path, "out")
    assert [len(batch.requests) for batch in server.batches.values()] == [3 * NUMBER]


@pytest.mark.long
def test_requests_above_the_size_limits_are_split(
    tmp_path: Path, server: BatchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By their number, and by their bytes."""
    write_traffic(tmp_path, votes=1)
    score(tmp_path, "number", most_requests=3)
    assert [len(batch.requests) for batch in server.batches.values()] == [3, 3, 2]
    server.batches.clear()
    monkeypatch.setattr(OpenAIBatches, "most_bytes", 1)
    score(tmp_path, "bytes")
    assert [len(batch.requests) for batch in server.batches.values()] == [1] * NUMBER


@pytest.mark.long
def test_requests_that_fail_for_good_are_unscored_with_the_reason(tmp_path: Path, server: BatchServer) -> None:
    """The others of the batch have their verdicts."""
    write_traffic(tmp_path, votes=1)

    def script(request: Request) -> Outcome:
        return Status(400, message="too long for me") if "order 3?" in request.text else request.answers("yes")

    server.script = script
    summary = score(tmp_path, "out")
    assert summary["cases"] == {"passed": NUMBER - 1, "unscored": 1}
    assert len(server.batches) == 1
    assert "too long for me" in read_reasons(tmp_path / "out")


@pytest.mark.long
@pytest.mark.parametrize("kind", ["openai", "anthropic", "gemini"])
@pytest.mark.parametrize("outcome", [Expire(), Status(529, message="overloaded")])
def test_requests_that_expire_or_meet_an_overload_are_asked_in_another_batch(
    kind: str, outcome: Outcome, tmp_path: Path, server: BatchServer
) -> None:
    """Only they are."""
    write_traffic(tmp_path, kind, votes=1)
    seen: Counter[str] = Counter()

    def script(request: Request) -> Outcome:
        seen[request.text] += 1
        return outcome if seen[request.text] == 1 and "order 3?" in request.text else request.answers("yes")

    server.script = script
    assert score(tmp_path, "out")["cases"] == {"passed": NUMBER}
    assert [len(batch.requests) for batch in server.batches.values()] == [NUMBER, 1]


@pytest.mark.long
def test_a_request_that_always_expires_is_given_up(tmp_path: Path, server: BatchServer) -> None:
    """After three batches."""
    write_traffic(tmp_path, votes=1)
    server.script = lambda request: Expire() if "order 3?" in request.text else request.answers("yes")
    assert score(tmp_path, "out")["cases"]["unscored"] == 1
    assert [len(batch.requests) for batch in server.batches.values()] == [NUMBER, 1, 1]
    assert "no reply in 3 batches" in read_reasons(tmp_path / "out")


@pytest.mark.long
@pytest.mark.parametrize("kind", ["openai", "gemini"])
def test_a_batch_that_somebody_cancelled_stops_the_run(kind: str, tmp_path: Path, server: BatchServer) -> None:
    """Nobody pays for what a person stopped, until --resume asks the rest in a new batch."""
    write_traffic(tmp_path, kind, votes=1)
    server.hold = True

    def cancel(batch: Batch) -> None:
        batch.state, server.on_batch = "cancelled", lambda _: None
        if kind == "openai":
            server.script = lambda request: Expire() if "order 3?" in request.text else request.answers("yes")
            server.finish(batch, "cancelled")

    server.on_batch = cancel
    with pytest.raises(UsageError, match="was cancelled at its provider"):
        score(tmp_path, "out")
    server.hold, server.script = False, lambda request: request.answers("yes")
    assert score(tmp_path, "out", resume=True)["cases"] == {"passed": NUMBER}
    assert len(list(server.batches.values())[1].requests) == (1 if kind == "openai" else NUMBER)


@pytest.mark.long
def test_a_batch_beyond_the_queue_of_the_provider_waits_for_another(tmp_path: Path, server: BatchServer) -> None:
    """OpenAI refuses it some time after it was submitted."""
    write_traffic(tmp_path, votes=1)
    server.hold = True

    def refuse_second(batch: Batch) -> None:
        if len(server.batches) == 2:
            batch.state, batch.problem = "failed", "Enqueued token limit reached"
            server.hold = False
            server.finish(server.batches["batch_1"])

    server.on_batch = refuse_second
    notes: list[str] = []
    assert sum(score(tmp_path, "out", most_requests=4, notes=notes)["cases"].values()) == NUMBER
    assert len(server.asked) == NUMBER
    assert any("has to wait until another has finished" in note for note in notes)


@pytest.mark.long
def test_a_refused_batch_stops_the_run_with_the_providers_words(tmp_path: Path, server: BatchServer) -> None:
    """--resume submits it again."""
    write_traffic(tmp_path, votes=1)
    server.refusals.append((400, "this model has no batches"))
    with pytest.raises(UsageError, match="this model has no batches"):
        score(tmp_path, "out")
    assert sum(score(tmp_path, "out", resume=True)["cases"].values()) == NUMBER
    assert len(server.batches) == 1


@pytest.mark.long
def test_the_budget_cuts_the_batches(tmp_path: Path, server: BatchServer) -> None:
    """Five calls are made. The other questions are unscored, and the reason says why."""
    write_traffic(tmp_path, votes=1)
    assert score(tmp_path, "out", budget=Budget(max_calls=5))["cases"]["unscored"] == NUMBER - 5
    assert len(server.asked) == 5
    assert "the budget of 5 calls is used up" in read_reasons(tmp_path / "out")


@pytest.mark.long
def test_the_budget_in_money_counts_expected_prices_at_half(tmp_path: Path, server: BatchServer) -> None:
    """So that a batch beyond the budget is not submitted in the first place."""
    write_traffic(tmp_path, votes=1)
    notes: list[str] = []
    summary = score(tmp_path, "out", budget=Budget(max_cost=0.0012), notes=notes)
    assert 0 < len(server.asked) < NUMBER
    assert summary["cases"]["unscored"] == NUMBER - len(server.asked)
    assert "at half price" in notes[0]


def test_a_provider_without_batches_is_refused_before_anything_runs(tmp_path: Path) -> None:
    """By name."""
    write_traffic(tmp_path)
    done = run_command(tmp_path, "out", "--judge-model", "mistral/mistral-small")
    assert done.code == 2
    assert "--batch-api: model 'mistral/mistral-small' has no batches; must be a model of openai" in done.err


def run_command(folder: Path, name: str, *options: str) -> Done:
    """Score the traffic with the command."""
    return command(*arguments(folder, name, *options))


def arguments(folder: Path, name: str, *options: str) -> list[str | Path]:
    """The arguments of the command."""
    traffic, config = folder / "traffic.jsonl", folder / "judged.json"
    return ["score", traffic, "--config", config, "--out", folder / name, "--store", "none", "--batch-api", *options]


@pytest.mark.long
def test_after_a_kill_the_same_batches_are_awaited(tmp_path: Path, server: BatchServer) -> None:
    """A batch at its provider is not submitted twice. After the kill, the workers are two processes."""
    write_traffic(tmp_path, judges=2)
    server.hold = True
    process = start(*arguments(tmp_path, "out"))
    while not server.polls:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    refused = command("score", *arguments(tmp_path, "out")[1:-1], "--resume")
    assert refused.code == 2
    assert "go on with --batch-api --resume" in refused.err
    server.finish_all()
    done = run_command(tmp_path, "out", "--resume", "--jobs", "2")
    assert done.code in {0, 1}, done.err
    open_questions = len(server.asked) - 2 * NUMBER
    assert [len(batch.requests) for batch in server.batches.values()] == [NUMBER, NUMBER, open_questions]


@pytest.mark.long
def test_after_ctrl_c_the_same_batch_is_awaited(tmp_path: Path, server: BatchServer) -> None:
    """The command says that its batches stay at their provider."""
    write_traffic(tmp_path, votes=1)
    server.hold = True
    process = start(*arguments(tmp_path, "out"))
    while not server.polls:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert "batches stay at their provider, and --resume waits for the same batches" in errors
    server.finish_all()
    assert run_command(tmp_path, "out", "--resume").code in {0, 1}
    assert [len(batch.requests) for batch in server.batches.values()] == [NUMBER]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["openai", "anthropic", "gemini"])
def test_a_batch_whose_id_was_never_heard_is_found_again(kind: str, tmp_path: Path, server: BatchServer) -> None:
    """The process is killed after the provider has taken its batch, and before it answers."""
    write_traffic(tmp_path, kind, votes=1)
    server.hold = True
    process = start(*arguments(tmp_path, "out"))
    taken: list[Batch] = []

    def kill(batch: Batch) -> None:
        # What the test looks at stands before the process ends, which the test waits for.
        server.is_silent = True
        taken.append(batch)
        os.killpg(process.pid, signal.SIGKILL)

    server.on_batch = kill
    process.communicate()
    assert len(taken) == 1
    server.is_silent = False
    server.finish_all()
    done = run_command(tmp_path, "out", "--resume")
    assert done.code in {0, 1}, done.err
    assert "which was submitted before" in done.err
    assert len(server.batches) == 1


@pytest.mark.long
def test_another_programs_batch_of_the_same_size_is_not_taken_for_ours(tmp_path: Path, server: BatchServer) -> None:
    """Anthropic's batches have no names, so that only their results tell whose they are."""
    write_traffic(tmp_path, "anthropic", votes=1)
    server.refusals.append((500, "lost"))
    with pytest.raises(UsageError, match="may be lost on its way"):
        score(tmp_path, "out")
    body = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": [{"text": "hi"}]}]}
    others = [{"custom_id": f"x{i}", "params": body} for i in range(NUMBER)]
    script, server.script = server.script, lambda _: Expire()
    server.make("/v1/messages/batches", {}, json.dumps({"requests": others}).encode())
    server.script = script
    assert sum(score(tmp_path, "out", resume=True)["cases"].values()) == NUMBER
    assert len(server.batches) == 2


def test_keys_do_not_reach_the_folder(tmp_path: Path, server: BatchServer) -> None:
    """While batches are open, their requests are in a file."""
    write_traffic(tmp_path, votes=1)
    server.hold = True

    def refuse(batch: Batch) -> None:
        batch.state, batch.problem = "failed", f"bad key {KEYS['OPENAI_API_KEY']}"

    server.on_batch = refuse
    with pytest.raises(UsageError) as refusal:
        score(tmp_path, "out")
    assert KEYS["OPENAI_API_KEY"] not in str(refusal.value)
    for path in (tmp_path / "out").rglob("*"):
        assert path.is_dir() or KEYS["OPENAI_API_KEY"].encode() not in path.read_bytes()


@pytest.mark.long
@pytest.mark.usefixtures("server")
def test_a_finished_folder_holds_no_open_batches(tmp_path: Path) -> None:
    """The requests take space, and nobody needs them any more."""
    write_traffic(tmp_path, votes=1)
    score(tmp_path, "out")
    assert not list((tmp_path / "out").glob("batches.db*"))
