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
