"""Runs whose judges do what real servers do: refuse schemas, send lone surrogates, end replies early, hang."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands import Done, enter, fairtrial
from loopback import Loopback, Request, Say, Script, Status

STORE = "sqlite:///k.db"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key, as users have it."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, script: Script, *more: str, **options: Any) -> Done:
    """Run an agent that repeats the user on one case, with a judge at a server."""
    enter(folder, monkeypatch)
    monkeypatch.syspath_prepend(str(folder))
    (folder / "wild_echo.py").write_text("def reply(trace):\n    return trace.invocations[-1].query\n")
    turn = {"user_content": {"parts": [{"text": "Hi"}]}, "final_response": {"parts": [{"text": "Hi"}]}}
    evalset = {"eval_set_id": "s", "eval_cases": [{"eval_id": "c", "conversation": [turn]}]}
    (folder / "s.evalset.json").write_text(json.dumps(evalset))
    with Loopback(script) as server:
        judge = {"judge_model": "openai/gpt-4o-mini", "num_samples": 1, "base_url": f"{server.url}/v1", **options}
        criteria = {"final_response_match_v2": {"threshold": 0.5, "judge_model_options": judge}}
        (folder / "test_config.json").write_text(json.dumps({"criteria": criteria}))
        arguments = ("run", "s.evalset.json", "--agent", "wild_echo:reply", "--store", STORE, "--json", "r.json")
        return fairtrial(*arguments, *more)


def test_a_lone_surrogate_loses_no_vote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in the reply itself nor in its JSON; the case has its verdict."""

    def answer(request: Request) -> Say:
        text = request.answers("valid", rationale="a\ud800b").replace("because", "\udfff")
        inner = json.dumps(text)  # ASCII, with the surrogates as escapes
        message = '{"role": "assistant", "content": ' + inner + "}"
        choice = '{"index": 0, "finish_reason": "stop", "message": ' + message + "}"
        body = '{"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [' + choice + "]}"
        return Say(raw=body.encode())

    done = run(tmp_path, monkeypatch, answer)
    assert done.code == 0, done.out + done.err
    assert "passed" in done.out


def test_a_server_without_schemas_is_noted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run has all its votes, and says what it did, also when it is shown again."""
    reply = '{"answers": [{"id": "reply", "rationale": "same", "answer": "valid"}]}'

    def answer(request: Request) -> Status | str:
        return Status(400, message="Unknown field: response_format") if request.schema else reply

    done = run(tmp_path, monkeypatch, answer, "--votes", "3", "--all-votes")
    assert done.code == 0, done.out + done.err
    assert done.out.count("does not take JSON schemas") == 1
    assert "does not take JSON schemas" in fairtrial("show", "2", "--store", STORE).out


def test_settings_without_effect_are_told_before_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A setting that is not sent, and votes that are one vote."""
    settings = {"temperature": 0, "top_k": 3}
    done = run(
        tmp_path, monkeypatch, lambda request: request.answers("valid"), judge_model_config=settings, num_samples=5
    )
    warnings = [line for line in done.err.splitlines() if line.startswith("warning: ")]
    assert [warning.partition(": ")[2][:60] for warning in warnings] == [
        "model 'openai/gpt-4o-mini': top_k has no effect, because ope",
        "model 'openai/gpt-4o-mini': temperature 0 gives 5 votes that",
    ]


@pytest.mark.parametrize("place", ["flag", "config"])
def test_the_timeout_of_a_judge_can_be_set(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call without a reply is made again; the flag goes before the configuration."""

    def answer(request: Request) -> Say:
        return Say(request.answers("valid"), delay=60 if request.number == 1 else 0)

    flags = ("--judge-timeout", "0.2") if place == "flag" else ()
    done = run(tmp_path, monkeypatch, answer, *flags, judge_timeout=0.2 if place == "config" else 100)
    assert done.code == 0, done.out + done.err


def test_the_reason_of_a_reply_that_was_cut_off_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the report of the run."""
    done = run(tmp_path, monkeypatch, lambda _: Say('{"answers": [', finish="length"))
    assert done.code != 0
    assert "the reply was cut off at the limit of tokens" in " ".join(done.out.split())
