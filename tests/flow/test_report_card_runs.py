"""A report card with a judge at a server on a real socket, and replayed from a cassette."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import enter, fairtrial
from loopback import Loopback, Request, Say

MODEL = "openai/gpt-4o-mini"


@pytest.mark.long
def test_a_report_card_is_one_run_that_a_cassette_replays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge that passes everything fails the canaries; without the server the card is the same."""
    enter(tmp_path, monkeypatch)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    row = {"id": "a", "criterion": "safety_v1", "question": "q", "reply": "r", "label": "pass", "group": "g"}
    Path("gold.jsonl").write_text(json.dumps(row))
    command = ("judge", "check", "--gold", "gold.jsonl", "--judge-model", MODEL, "--votes", "1", "--json", "-")

    def script(request: Request) -> Say:
        return Say(request.answers("safe"))

    with Loopback(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        live = fairtrial(*command, "--cassette", "calls.jsonl", "--cassette-mode", "record")
    assert live.code == 1, live.err
    canaries = [own for own in live.json["results"] if (own["rule"], own["language"]) == ("harmful", "ko")]
    wrong = [own["id"] for own in canaries if own["outcome"] != own["expected"]]
    assert wrong == ["safety_v1/Korean harmful 1", "safety_v1/Korean harmful 2"]
    assert len(canaries) == 4
    (whole, group) = live.json["criteria"]
    assert (whole["calls"], whole["criterion"]["labels"], group["group"]) == (1, 1, "g")
    assert whole["criterion"]["judge"] == MODEL
    replayed = fairtrial(*command, "--cassette", "calls.jsonl", "--cassette-mode", "replay")
    assert replayed.json == live.json


@pytest.mark.long
def test_items_that_are_not_judged_as_labelled_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each wrong item with the reason of the judge, each unreadable one with the problem, and no right one."""
    enter(tmp_path, monkeypatch)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    labels = {"blue": "pass", "green": "fail", "red": "fail", "torn": "pass"}
    rows = [
        {"id": name, "criterion": "safety_v1", "question": "q", "reply": name, "label": label, "group": "colours"}
        for name, label in labels.items()
    ]
    Path("gold.jsonl").write_text("\n".join(map(json.dumps, rows)))

    def script(request: Request) -> Say:
        return Say("no JSON" if "\ntorn\n" in request.text else request.answers("safe"))

    with Loopback(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        command = ("judge", "check", "--gold", "gold.jsonl", "--judge-model", MODEL, "--votes", "1", "--no-probes")
        done = fairtrial(*command, "--json", "card.json")
    lines = done.out.splitlines()
    start = lines.index("items that are not judged as labelled")
    assert lines[start + 1].startswith("✗ safety_v1/green (colours): must be fails, got holds: ")
    assert lines[start + 2].startswith("✗ safety_v1/red (colours): must be fails, got holds: ")
    assert lines[start + 3].startswith("✗ safety_v1/torn (colours): no readable answer:")
    assert "blue" not in "".join(lines[start:])
    whole, group = json.loads(Path("card.json").read_text(encoding="utf-8"))["criteria"]
    misses = [(own["id"], own["expected"], own["outcome"]) for own in whole["misses"]]
    assert misses[:2] == [("safety_v1/green", "fails", "holds"), ("safety_v1/red", "fails", "holds")]
    assert misses[2] == ("safety_v1/torn", "holds", "")
    assert "JSON" in whole["misses"][2]["problem"]
    assert group["misses"] == []


@pytest.mark.long
def test_a_grade_is_a_miss_if_it_is_on_the_other_side_of_the_threshold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A judge that always grades 4 passes an item whose label is 2, and agrees in kind with a label of 5."""
    enter(tmp_path, monkeypatch)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    rows = [
        {"id": name, "criterion": "response_evaluation_score", "question": "q", "reply": "r", "reference": "s"}
        | {"label": label}
        for name, label in (("low", 2), ("high", 5))
    ]
    Path("gold.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with Loopback(lambda request: Say(request.answers("4"))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        command = ("judge", "check", "--gold", "gold.jsonl", "--judge-model", MODEL, "--votes", "1", "--no-probes")
        done = fairtrial(*command, "--json", "-")
    misses = [(own["id"], own["expected"], own["outcome"]) for own in done.json["criteria"][0]["misses"]]
    assert misses == [("response_evaluation_score/low", "fails", "holds")]


@pytest.mark.long
def test_few_probed_replies_say_how_little_they_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence names the probe with the widest interval, in whatever order they come."""
    enter(tmp_path, monkeypatch)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    row = {"id": "a", "criterion": "safety_v1", "question": "q", "reply": "r", "label": "pass"}
    Path("gold.jsonl").write_text(json.dumps(row))

    def script(request: Request) -> Say:
        return Say(request.answers("safe"))

    with Loopback(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        command = ("judge", "check", "--gold", "gold.jsonl", "--judge-model", MODEL, "--votes", "1")
        done = fairtrial(*command, "--json", "card.json")
    probes = json.loads(Path("card.json").read_text(encoding="utf-8"))["probes"]
    widest = max(probes, key=lambda own: own["effect"]["high"] - own["effect"]["low"])
    low, high = (f"{100 * widest['effect'][end]:.0f}" for end in ("low", "high"))
    name = f'the change of the pass rate with "{widest["probe"]}"'
    text = f"With {widest['items']} replies, {name} can be anywhere from {low} to {high} %: this is too little to say"
    assert widest["probe"] != probes[0]["probe"]
    assert text in " ".join(done.out.split())
