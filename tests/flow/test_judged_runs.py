"""Runs with a judge, from the command line to the report, against a server on a real socket."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from commands import Done, enter, fairtrial
from fairtrial import api
from fairtrial.errors import UsageError
from fairtrial.judge.judges import Judges
from fairtrial.llm.budget import Budget
from fairtrial.llm.cassette import MissingEntryError
from fairtrial.llm.model_options import ModelOptions
from fairtrial.records.result import Verdict
from fairtrial.records.trace import Trace
from forked_commands import ForkedProcess, start_forked
from loopback import Drop, Half, Loopback, Request, Say, Script, Status

SECRET = "sk-planted-0123456789abcdef"  # noqa: S105 - planted, to be looked for
MODEL = "openai/gpt-4o-mini"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key, and no proxy in between."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)


def conversation(case: int, turns: int) -> list[dict[str, Any]]:
    """Expected invocations in ADK's JSON."""
    return [
        {
            "user_content": {"parts": [{"text": f"question {case}.{turn} 질문"}]},
            "final_response": {"parts": [{"text": f"answer {case}.{turn} 답"}]},
        }
        for turn in range(turns)
    ]


def write_case_files(folder: Path, cases: int, turns: int = 1, votes: int = 5) -> tuple[Path, Path]:
    """Write an eval set whose agent repeats the user, and a config with one judged criterion."""
    sets = {
        "eval_set_id": "s",
        "eval_cases": [{"eval_id": f"c{case}", "conversation": conversation(case, turns)} for case in range(cases)],
    }
    options = {"judge_model": MODEL, "num_samples": votes}
    config = {"criteria": {"final_response_match_v2": {"threshold": 0.5, "judge_model_options": options}}}
    (folder / "s.evalset.json").write_text(json.dumps(sets, ensure_ascii=False), encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "echo.py").write_text("def reply(trace):\n    return trace.invocations[-1].query\n", encoding="utf-8")
    return folder / "s.evalset.json", folder / "config.json"


def evaluate(folder: Path, server: Loopback | None, monkeypatch: pytest.MonkeyPatch, **more: Any) -> api.Run:
    """Run the agent on the cases of a folder with judges at a server."""
    evalset, config = folder / "s.evalset.json", folder / "config.json"
    if server is not None:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    return api.evaluate(evalset, lambda trace: trace.invocations[-1].query, config, **more)


def shown(run: api.Run) -> tuple[Any, Any]:
    """What must not differ between two runs: their cases, and their numbers, but for durations."""
    timed = "invocation_duration_v1"
    cases = [
        replace(case, outcomes=tuple(one for one in case.outcomes if one.criterion != timed)) for case in run.cases
    ]
    criteria = tuple(one for one in run.summary.criteria if one.criterion != timed)
    return msgspec.json.encode(cases), msgspec.json.encode(replace(run.summary, criteria=criteria))


def test_a_run_with_a_judge_has_verdicts_costs_and_ballots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of five votes decide each of four cases; what they took is in the summary."""
    write_case_files(tmp_path, 4)
    with Loopback(lambda request: request.answers("valid")) as server:
        run = evaluate(tmp_path, server, monkeypatch)
        assert run.verdict is Verdict.PASSED
        assert len(server.requests) == 12
    judged = next(one for one in run.summary.criteria if one.calls is not None)
    assert (judged.calls, judged.calls_saved, judged.abstentions, judged.self_agreement) == (12, 8, 0, 1.0)
    assert judged.cost == pytest.approx(12 * 0.00021)
    assert len(run.ballots) == 4
    assert len(run.replies) == 12


def test_a_criterions_limit_on_parallel_calls_holds_for_its_panel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two at once, of both models together."""
    write_case_files(tmp_path, 6)
    options = {"judge_models": ["openai/a", "openai/b"], "parallelism_limit": 2}
    config = {"criteria": {"final_response_match_v2": {"threshold": 0.5, "judge_model_options": options}}}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with Loopback(lambda request: Say(request.answers("valid"), delay=0.01)) as server:
        assert evaluate(tmp_path, server, monkeypatch).verdict is Verdict.PASSED
        assert {request.model for request in server.requests} == {"a", "b"}
        assert server.most_in_flight == 2


def test_equal_questions_are_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two attempts at a case of a deterministic agent share their votes."""
    write_case_files(tmp_path, 3)
    with Loopback(lambda request: request.answers("valid")) as server:
        evaluate(tmp_path, server, monkeypatch, attempts=2)
        assert len(server.requests) == 9


CHAOS: list[Any] = [
    "I cannot decide.",
    Say(""),
    Say("", refusal="I will not judge this."),
    Say(raw=b'{"choices": [{'),
    Say(raw=b""),
    Say('{"answers": []}'),
    Say('{"answers": [{"id": "other", "rationale": "", "answer": "valid"}]}'),
    Say('{"answers": [{"id": "reply", "answer": "valid"}, {"id": "reply", "answer": "invalid"}]}'),
    Say('{"answers": [{"id": "reply", "rationale": "유효합니다", "answer": "유효"}]}'),
    Status(500),
    Status(429, {"retry-after": "0.05"}),
    Drop(),
    Half(),
]


@pytest.mark.long
@pytest.mark.parametrize("trouble", CHAOS, ids=lambda one: repr(one)[:40])
def test_one_bad_reply_in_three_costs_no_good_vote(
    trouble: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever comes instead of every third reply, each case has the verdict of the good ones."""
    monkeypatch.setattr("fairtrial.llm.pacing.PAUSE", 0.01)
    write_case_files(tmp_path, 3)

    def say(request: Request) -> Any:
        return trouble if request.number % 3 == 0 else request.answers("valid")

    with Loopback(say) as server:
        run = evaluate(tmp_path, server, monkeypatch)
        assert run.verdict is Verdict.PASSED
        assert len(server.requests) <= 3 * 5 * 2


@pytest.mark.long
@pytest.mark.parametrize("trouble", CHAOS[:9], ids=lambda one: repr(one)[:40])
def test_a_judge_that_is_never_readable_leaves_the_run_unscored(
    trouble: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never a zero, never a pass; every case says why, and the calls are bounded."""
    monkeypatch.setattr("fairtrial.llm.pacing.PAUSE", 0.01)
    write_case_files(tmp_path, 1)
    with Loopback(lambda _: trouble) as server:
        run = evaluate(tmp_path, server, monkeypatch, judges=Judges(votes=1))
        assert run.verdict is Verdict.UNSCORED
        assert len(server.requests) <= 10
    assert "abstentions" in next(iter(run.cases)).outcomes[0].score.parts[0].reason


def test_a_budget_ends_the_run_as_unscored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five calls pay for one case; the rest is unscored, and says that the budget is used up."""
    write_case_files(tmp_path, 4)
    with Loopback(lambda request: request.answers("valid")) as server:
        run = evaluate(tmp_path, server, monkeypatch, judges=Judges(models=ModelOptions(budget=Budget(max_calls=5))))
        assert len(server.requests) == 5
    assert run.verdict is Verdict.UNSCORED
    reasons = [case.outcomes[0].score.parts[0].reason for case in run.cases if case.verdict is Verdict.UNSCORED]
    assert reasons
    assert all("budget of 5 calls" in reason for reason in reasons)
    assert run.summary.criteria[0].calls == 5


def test_no_server_is_one_error_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a run of failures: the agent is not even called."""
    write_case_files(tmp_path, 3)
    with Loopback(Request.answers) as server:
        pass
    called: list[str] = []

    def agent(trace: Trace) -> str:
        called.append(trace.invocations[-1].query)
        return "x"

    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    with pytest.raises(UsageError, match="no answer"):
        api.evaluate(tmp_path / "s.evalset.json", agent, tmp_path / "config.json")
    assert called == []


def test_a_model_that_only_its_first_calls_tell_unknown_is_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has no list of models: what it says to the first calls ends the run, and no case is unscored."""
    write_case_files(tmp_path, 20)
    with Loopback(lambda _: Status(404, message="no model of that name")) as server:
        with pytest.raises(UsageError, match=r"openai/gpt-4o-mini at .*: HTTP 404: no model of that name"):
            evaluate(tmp_path, server, monkeypatch)
        assert len(server.requests) <= 8 * 3


def record(folder: Path, script: Script, monkeypatch: pytest.MonkeyPatch) -> api.Run:
    """Run once, recording a cassette."""
    with Loopback(script) as server:
        judges = Judges(models=ModelOptions(cassette=folder / "c.jsonl", cassette_mode="record"))
        return evaluate(folder, server, monkeypatch, judges=judges, store=f"sqlite:///{folder}/a.db")


def played(folder: Path, monkeypatch: pytest.MonkeyPatch) -> api.Run:
    """Run again from the cassette, without the key and without sockets."""
    monkeypatch.delenv("OPENAI_API_KEY")

    def refuse(_: socket.socket, address: Any) -> None:
        raise AssertionError(f"a socket was opened to {address}")

    monkeypatch.setattr("fairtrial.llm.provider.Provider.__call__", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse, raising=False)
    judges = Judges(models=ModelOptions(cassette=folder / "c.jsonl", cassette_mode="replay"))
    return evaluate(folder, None, monkeypatch, judges=judges)


def moody(request: Request) -> Any:
    """Now valid, now invalid, now unreadable, now refused for good, by what is asked alone."""
    mood = sum(request.text.encode()) + len(request.text)
    if mood % 7 == 0:
        return Status(400, message=f"bad request with key {SECRET}")
    return "unreadable" if mood % 5 == 0 else request.answers("valid" if mood % 2 else "invalid")


@pytest.mark.long
def test_a_replay_gives_the_same_cases_and_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Abstentions and failures included, and no socket is opened."""
    write_case_files(tmp_path, 12)
    before = shown(record(tmp_path, moody, monkeypatch))
    assert shown(played(tmp_path, monkeypatch)) == before


def test_a_missing_entry_ends_the_replay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line less is no abstention, but an error that names the call."""
    write_case_files(tmp_path, 4)
    record(tmp_path, lambda request: request.answers("valid"), monkeypatch)
    lines = (tmp_path / "c.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "c.jsonl").write_bytes(b"".join(lines[:-1]))
    with pytest.raises(MissingEntryError, match="no entry for a call of"):
        played(tmp_path, monkeypatch)


@pytest.mark.long
def test_no_key_is_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that repeats the key in replies and errors gets it into neither cassette nor store."""

    def leak(request: Request) -> Any:
        return moody(request) if request.number % 2 else request.answers("valid", rationale=f"the key is {SECRET}")

    write_case_files(tmp_path, 12)
    record(tmp_path, leak, monkeypatch)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(b"[secret]" in path.read_bytes() for path in files)
    assert all(SECRET.encode() not in path.read_bytes() for path in files)


def test_an_earlier_run_is_reused_but_for_its_abstentions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second run asks only what the first got no answer to."""
    write_case_files(tmp_path, 6, votes=1)
    store = f"sqlite:///{tmp_path}/a.db"

    def first(request: Request) -> str:
        return "unreadable" if "question 2.0" in request.text else request.answers("valid")

    with Loopback(first) as server:
        earlier = evaluate(tmp_path, server, monkeypatch, store=store)
        assert earlier.verdict is Verdict.UNSCORED
    with Loopback(lambda request: request.answers("valid")) as server:
        run = evaluate(tmp_path, server, monkeypatch, store=store, reuse=earlier.info.id)
        assert [("question 2.0" in request.text) for request in server.requests] == [True]
    assert run.verdict is Verdict.PASSED


def command(folder: Path, server: Loopback, *arguments: str) -> ForkedProcess:
    """Start `fairtrial run` in a process of its own."""
    search_path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": SECRET, "PYTHONPATH": search_path}
    line = ["fairtrial", "run", *arguments, "--store", f"sqlite:///{folder}/k.db"]
    return start_forked(line, folder=folder, environment=env, stderr=subprocess.STDOUT)


@pytest.mark.long
def test_after_a_kill_nothing_that_was_answered_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kill -9 in the middle of 200 calls, then --resume: asked is what was not committed, no more; equal results.

    What is not committed was in flight, as the client sees it: a reply may have left the server without being read.
    """
    evalset, config = write_case_files(tmp_path, 40)
    arguments = (str(evalset), "--agent", "echo:reply", "--config", str(config), "--concurrency", "40", "--all-votes")
    store = f"sqlite:///{tmp_path}/k.db"

    def say(request: Request) -> Say:
        return Say(request.answers("valid"), delay=0.02)

    with Loopback(say) as server:
        first = command(tmp_path, server, *arguments, "--judge-concurrency", "32")
        while len(server.requests) < 100 and first.poll() is None:
            time.sleep(0.005)
        first.kill()
        first.communicate()
    run_id = api.runs(store)[0].id
    committed = len(api.reread(store, run_id).replies)
    assert len(server.requests) - 32 <= committed <= len(server.requests)
    with Loopback(say) as server:
        second = command(tmp_path, server, "--resume", run_id)
        output, _ = second.communicate()
        assert second.returncode == 0, output
        assert len(server.requests) == 200 - committed
        assert max(Counter(request.text for request in server.requests).values()) <= 5
        undisturbed = evaluate(tmp_path, server, monkeypatch, judges=Judges(all_votes=True))
    resumed = api.reread(store, run_id)
    assert {ballot.k - len(ballot.votes) for ballot in resumed.ballots.values()} == {0}
    values = [
        [(one.case_id, one.verdict, one.outcomes[0].score) for one in run.cases] for run in (resumed, undisturbed)
    ]
    assert values[0] == values[1]
    assert resumed.summary.criteria[0].mean == undisturbed.summary.criteria[0].mean


def called(*arguments: str | Path) -> Done:
    """Run a command on the store `k.db` of the current folder, in this process."""
    return fairtrial(*arguments, "--store", f"sqlite:///{Path.cwd()}/k.db")


def test_show_prints_every_vote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose, what, why, what it cost."""
    evalset, config = write_case_files(tmp_path, 1)
    enter(tmp_path, monkeypatch)
    with Loopback(lambda request: request.answers("valid", rationale="같은 뜻")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        run = called("run", evalset, "--agent", "echo:reply", "--config", config)
    assert run.code == 0, run.err
    assert "self-agreement" in run.out
    shown_run = called("show", api.runs(f"sqlite:///{tmp_path}/k.db")[0].id, "c0")
    assert shown_run.code == 0, shown_run.err
    told = shown_run.out
    assert told.count("valid  같은 뜻") == 3
    assert "vote 3, openai/gpt-4o-mini (served by gpt-4o-mini), wave 1" in told
    assert "$0.000210" in told


def test_ping_says_what_a_run_would_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And which answers have no form."""
    evalset, config = write_case_files(tmp_path, 1)
    enter(tmp_path, monkeypatch)

    def say(request: Request) -> str:
        return "no form at all" if "grade" in request.text else request.answers()

    with Loopback(say) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        called("run", evalset, "--agent", "echo:reply", "--config", config)
        run_id = api.runs(f"sqlite:///{tmp_path}/k.db")[0].id
        asked = called("judge", "check", "--quick", "--judge-model", MODEL, "--run", run_id)
    told = asked.out
    assert asked.code == 1, asked.err
    assert "✗ ping/12 (beside_the_point, ja): no readable answer" in told
    assert "3 calls, with openai/gpt-4o-mini $0.0006" in told


@pytest.mark.long
def test_ping_asks_the_models_of_a_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them once, where the config says that it is; a price that nobody knows is said to be unknown."""
    evalset, config = write_case_files(tmp_path, 1)
    enter(tmp_path, monkeypatch)
    with Loopback(lambda request: request.answers(quote="clear")) as server:
        options = {"judge_models": ["mine", "yours"], "base_url": f"{server.url}/v1", "num_samples": 1}
        criteria = {
            name: {"threshold": None, "judge_model_options": options}
            for name in ("final_response_match_v2", "safety_v1")
        }
        config.write_text(json.dumps({"criteria": criteria}), encoding="utf-8")
        called("run", evalset, "--agent", "echo:reply", "--config", config)
        run_id = api.runs(f"sqlite:///{tmp_path}/k.db")[0].id
        asked = called("judge", "check", "--quick", "--config", config, "--run", run_id)
    assert asked.code == 1, asked.err
    assert [asked.out.count(f"{name}: 4 of 12 right") for name in ("mine", "yours")] == [1, 1]
    assert "2 calls, with yours an unknown price" in asked.out


def test_ping_needs_a_config_with_a_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One whose criteria count names nobody to ask."""
    enter(tmp_path, monkeypatch)
    Path("config.json").write_text('{"criteria": {"response_match_score": 0.8}}', encoding="utf-8")
    asked = called("judge", "check", "--quick", "--config", "config.json")
    assert (asked.code, "has no criterion that asks a judge" in asked.err) == (2, True)


@pytest.mark.parametrize("name", ["", " , "])
def test_a_judge_without_a_name_is_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything runs."""
    evalset, config = write_case_files(tmp_path, 1)
    enter(tmp_path, monkeypatch)
    done = called("run", evalset, "--agent", "echo:reply", "--config", config, "--judge-model", name)
    assert (done.code, "the judge's model must be a name" in done.err) == (2, True)


def test_a_judge_that_nobody_asks_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The author of the command line meant the run to be judged. A run with a judged criterion has no such note."""
    evalset, config = write_case_files(tmp_path, 1)
    enter(tmp_path, monkeypatch)
    Path("counted.json").write_text('{"criteria": {"response_match_score": 0}}', encoding="utf-8")
    arguments = ("run", evalset, "--agent", "echo:reply", "--judge-model", MODEL, "--votes", "3")
    counted = called(*arguments, "--config", "counted.json").err
    assert "warning: --judge-model has no effect, because no criterion asks a judge" in counted
    assert "warning: --votes has no effect" in counted
    with Loopback(lambda request: request.answers(quote="clear")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        assert "has no effect" not in called(*arguments, "--config", config).err
