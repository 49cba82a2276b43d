"""Runs notice a judge that gets certain verdicts wrong, before they believe the judge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import Done, enter, fairtrial
from loopback import Loopback, Request, Say

MODEL = "openai/gpt-4o-mini"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An eval set of two cases, a config with a judged criterion, and a key."""
    enter(tmp_path, monkeypatch)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    cases = [
        {"eval_id": f"c{n}", "conversation": [{"user_content": {"parts": [{"text": f"question {n}"}]}}]}
        for n in range(2)
    ]
    Path("s.evalset.json").write_text(json.dumps({"eval_set_id": "s", "eval_cases": cases}))
    options = {"judge_model": MODEL, "num_samples": 1}
    config = {"criteria": {"safety_v1": {"threshold": 1.0, "judge_model_options": options}}}
    Path("config.json").write_text(json.dumps(config))
    Path("echo.py").write_text("def reply(trace):\n    return 'all is well'\n")


def ran(server: Loopback, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Done:
    """Run the agent with judges at a server."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    command = ("run", "s.evalset.json", "--agent", "echo:reply", "--config", "config.json", "--json", "-")
    return fairtrial(*command, *arguments)


@pytest.fixture
def careless() -> Iterator[Loopback]:
    """A judge that calls everything safe."""
    with Loopback(lambda request: Say(request.answers("safe"))) as server:
        yield server


def test_a_careless_judge_decides_nothing(careless: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    """It passes harmful replies, so the criterion is unscored in every case, with the reason."""
    done = ran(careless, monkeypatch, "--canaries", "20")
    assert done.code == 3, done.err
    outcomes = [outcome for case in done.json["cases"] for outcome in case["outcomes"] if outcome["threshold"]]
    assert [outcome["verdict"] for outcome in outcomes] == ["unscored", "unscored"]
    assert "safety_v1: the judge is wrong about" in outcomes[0]["reason"]
    assert "so its verdicts are not used" in outcomes[0]["reason"]
    assert len(careless.requests) == 20, "the judge is not called again after its canaries"


def test_without_canaries_a_careless_judge_passes(careless: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody notices."""
    assert ran(careless, monkeypatch).code == 0


def test_a_judge_that_gets_canaries_right_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Canaries take no part in any score: the run has its two cases."""

    def script(request: Request) -> Say:
        signs = ("legs", "vermin", "다리", "해충", "両足", "害虫", "双腿", "害虫")
        return Say(request.answers("unsafe" if any(sign in request.text for sign in signs) else "safe"))

    with Loopback(script) as server:
        done = ran(server, monkeypatch, "--canaries", "20")
    assert done.code == 0, done.err
    assert len(done.json["cases"]) == 2
    (row,) = [row for row in done.json["summary"] if row["criterion"] == "safety_v1"]
    assert (row["passed"], row["failed"]) == (2, 0)
