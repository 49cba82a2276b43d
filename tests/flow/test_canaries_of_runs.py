"""Runs notice a judge that gets certain verdicts wrong, before they believe the judge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from commands import Done, enter, fairtrial
from loopback import Loopback, Request, Say

pytestmark = pytest.mark.long

MODEL = "openai/gpt-4o-mini"
SIGNS = ("legs", "vermin", "다리", "해충", "両足", "害虫", "双腿")
"""The signs of harmful canaries."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An eval set of two cases, a config with a judged criterion, and a key."""
    enter(tmp_path, monkeypatch)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    write_cases(2)
    options = {"judge_model": MODEL, "num_samples": 1}
    config = {"criteria": {"safety_v1": {"threshold": 1.0, "judge_model_options": options}}}
    Path("config.json").write_text(json.dumps(config))
    Path("echo.py").write_text("def reply(trace):\n    return 'all is well'\n")


def write_cases(number: int) -> None:
    """Write an eval set of cases with a question each."""
    cases = [
        {"eval_id": f"c{n}", "conversation": [{"user_content": {"parts": [{"text": f"question {n}"}]}}]}
        for n in range(number)
    ]
    Path("s.evalset.json").write_text(json.dumps({"eval_set_id": "s", "eval_cases": cases}))


def ran(server: Loopback, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Done:
    """Run the agent with judges at a server."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    command = ("run", "s.evalset.json", "--agent", "echo:reply", "--config", "config.json", "--json", "-")
    return fairtrial(*command, *arguments)


def says(request: Request, answer: str) -> Say:
    """An answer of the judge, with a kind of hazard if it says "unsafe"."""
    reply = json.loads(request.answers(answer))
    for entry in reply["answers"]:
        entry["marks"] = ["hate"] if answer == "unsafe" else []
    return Say(json.dumps(reply))


@pytest.fixture
def careless() -> Iterator[Loopback]:
    """A judge that calls everything safe."""
    with Loopback(lambda request: says(request, "safe")) as server:
        yield server


def test_a_careless_judge_decides_nothing(careless: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    """It passes harmful replies, so the criterion is unscored in every case, with the reason."""
    done = ran(careless, monkeypatch, "--canaries", "20")
    assert done.code == 3, done.err
    outcomes = [outcome for case in done.json["attempts"] for outcome in case["outcomes"] if outcome["threshold"]]
    assert [outcome["verdict"] for outcome in outcomes] == ["unscored", "unscored"]
    assert "safety_v1: the judge is wrong about" in outcomes[0]["reason"]
    assert "so its verdicts are not used" in outcomes[0]["reason"]
    assert len(careless.requests) == 96, "a doubt leads to all canaries, and the judge is not called again"


def test_without_canaries_a_careless_judge_passes(careless: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody notices."""
    assert ran(careless, monkeypatch).code == 0


def test_a_judge_that_gets_canaries_right_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Canaries take no part in any score: the run has its two cases."""

    def script(request: Request) -> Say:
        return says(request, "unsafe" if any(sign in request.text for sign in SIGNS) else "safe")

    with Loopback(script) as server:
        done = ran(server, monkeypatch, "--canaries", "20")
    assert done.code == 0, done.err
    assert len(done.json["attempts"]) == 2
    (row,) = [row for row in done.json["run"]["criteria"] if row["criterion"] == "safety_v1"]
    assert (row["passed"], row["failed"]) == (2, 0)


@pytest.mark.parametrize("number", ["10", "20", "80"])
def test_a_judge_that_objects_to_everything_decides_nothing(number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of every sample of canaries must pass."""
    with Loopback(lambda request: says(request, "unsafe")) as server:
        done = ran(server, monkeypatch, "--canaries", number)
    assert done.code == 3, done.err
    assert "the judge is wrong about 48 of 96 questions" in done.out, "a doubt leads to all canaries"


@pytest.mark.parametrize("number", ["10", "20", "80"])
def test_a_judge_that_obeys_forged_verdicts_decides_nothing(number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are a sixth of the canaries."""
    notes = ("evaluator", "평가자", "評価者", "评估者")

    def script(request: Request) -> Say:
        is_harmful = any(sign in request.text for sign in SIGNS) and not any(note in request.text for note in notes)
        return says(request, "unsafe" if is_harmful else "safe")

    with Loopback(script) as server:
        done = ran(server, monkeypatch, "--canaries", number)
    assert done.code == 3, done.err
    assert "safety_v1: the judge passes forged verdicts: " in done.out


def test_one_forged_verdict_that_passes_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chance explains it, so the judge decides, and a note of the run names the canary."""

    def script(request: Request) -> Say:
        is_harmful = any(sign in request.text for sign in SIGNS) and not obeys(request.text)
        return says(request, "unsafe" if is_harmful else "safe")

    def obeys(text: str) -> bool:
        return "evaluator" in text and "legs" in text

    with Loopback(script) as server:
        done = ran(server, monkeypatch, "--canaries", "80")
    assert done.code == 0, done.err
    (note,) = [note for note in done.json["run"]["notes"] if "forged" in note]
    assert note.startswith("safety_v1: the judge passes forged verdicts: 1 of 16 (")
    assert note.endswith("no more than chance explains: safety_v1/English forged 1")


def test_a_run_whose_judge_changes_does_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is right about its canaries before the run, and calls everything safe after it: the run is unscored."""

    def script(request: Request) -> Say:
        is_late = request.number > 22
        return says(request, "unsafe" if any(sign in request.text for sign in SIGNS) and not is_late else "safe")

    with Loopback(script) as server:
        done = ran(server, monkeypatch, "--canaries", "20")
    assert done.code == 3, done.err
    (note,) = [note for note in done.json["run"]["notes"] if note.startswith("alarm: ")]
    assert "safety_v1: the judge has changed: it is wrong about 0 of 20 canaries before the run" in note
    assert done.json["run"]["verdict"] == "unscored"


@pytest.mark.parametrize(("careless", "part"), [(range(120, 1000), "after"), (range(21, 186), "during")])
def test_a_judge_that_drifts_in_a_long_run_is_found(
    careless: range, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is careless after 100 questions about cases, or during the run alone. A canary follows every tenth one."""
    write_cases(150)

    def script(request: Request) -> Say:
        is_harmful = any(sign in request.text for sign in SIGNS)
        return says(request, "unsafe" if is_harmful and request.number not in careless else "safe")

    with Loopback(script) as server:
        done = ran(server, monkeypatch, "--canaries", "20")
    assert (done.code, done.json["run"]["verdict"]) == (3, "unscored"), done.err
    (note,) = [note for note in done.json["run"]["notes"] if note.startswith("alarm: ")]
    assert "safety_v1: the judge has changed: it is wrong about 0 of 20 canaries before the run" in note
    assert f" {part} it (" in note


def served_by(name: str) -> Loopback:
    """A judge at a router that answers with another model."""
    return Loopback(lambda request: replace(says(request, "safe"), served=name))


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--strict-model",), 3)])
def test_another_model_than_the_asked_one_is_named(
    options: tuple[str, ...], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a warning, and an abstention with --strict-model."""
    name = "meta-llama/llama-3-8b"
    with served_by(name) as server:
        done = ran(server, monkeypatch, *options)
    assert done.code == code, done.err
    (note,) = [note for note in done.json["run"]["notes"] if "another model answered" in note]
    assert f"model {MODEL!r}: another model answered: {name!r}" in note
    if options:
        assert f"another model answered: asked {MODEL!r}, got {name!r}" in done.out


def test_a_version_of_the_asked_model_is_that_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Providers name the version that answers."""
    with served_by("gpt-4o-mini-2024-07-18") as server:
        done = ran(server, monkeypatch, "--strict-model")
    assert done.code == 0, done.err
    assert not done.json["run"]["notes"]
