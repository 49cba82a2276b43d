"""A model on a server writes paraphrases, and only those that the facts prove are planted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import case, turn
from fairtrial import api
from fairtrial.errors import UsageError
from fairtrial.judge.judges import Judges
from fairtrial.llm.budget import Budget
from fairtrial.llm.model_options import ModelOptions
from fairtrial.records.case import EvalSet
from fairtrial.records.mutation import MutationReport, ParaphraseCount
from fairtrial.reports.mutation.mutation_files import mutation_markdown
from loopback import Loopback, Request

PARAPHRASES = {
    "Order 17 is shipped. It costs $1,250.": "We have shipped order 17, and its price is $1,250.",
    "Room 204 is free on July 13.": "On July 14, room 204 is free.",
    "예약은 7월 13일 오후 3시입니다.": "7월 13일 오후 3시로 예약되어 있습니다.",
    "現在の料金は1,200円です。": "The price is 1,200 yen.",
    "目前支持退款。总价是1,300元。": "总价为1,300元，目前不支持退款。",
    "Marta Ruiz pays $40.": "Nina Ruiz will pay $40.",
}
CASES = EvalSet("shop", tuple(case(turn(reply=reply, query="?"), name=reply[:9]) for reply in PARAPHRASES))


def write(request: Request) -> str:
    """A model that knows one paraphrase of each reply, of which two state the same facts."""
    reply = next(reply for reply in PARAPHRASES if reply in request.body["messages"][-1]["content"])
    return json.dumps({"paraphrase": PARAPHRASES[reply]}, ensure_ascii=False)


def mutate(models: ModelOptions, url: str, monkeypatch: pytest.MonkeyPatch, *more: str) -> MutationReport:
    """Plant the paraphrases of a model at a server."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
    judges = Judges(model="openai/gpt-4o-mini", models=models)
    return api.mutate(CASES, {"response_match_score": 0.8}, operators=["paraphrased", *more], judges=judges)


def test_only_proven_paraphrases_are_planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another date, another language, another polarity and another person are dropped and counted."""
    with Loopback(write) as server:
        report = mutate(ModelOptions(), server.url, monkeypatch)
        assert len(server.requests) == len(PARAPHRASES)
    assert report.paraphrases is not None
    assert report.paraphrases.proven == report.false_alarm_rate.mutants == 2
    assert report.paraphrases.unproven == {"another language or script": 1, "other facts": 2, "other names": 1}
    assert "2 proven by their facts, 4 dropped" in mutation_markdown(report)


def test_a_threshold_that_fails_paraphrases_raises_false_alarms(monkeypatch: pytest.MonkeyPatch) -> None:
    """ADK's default threshold fails both right paraphrases, which differ in most words."""
    with Loopback(write) as server:
        report = mutate(ModelOptions(), server.url, monkeypatch)
    assert report.false_alarm_rate.rate == 1.0
    assert {finding.mutation.operator for finding in report.false_alarms} == {"paraphrased"}


def test_other_operators_stand_beside_paraphrases(monkeypatch: pytest.MonkeyPatch) -> None:
    """A named operator is planted, too, and no other one."""
    with Loopback(write) as server:
        report = mutate(ModelOptions(), server.url, monkeypatch, "refused")
    assert [row.operator for row in report.operators] == ["refused", "paraphrased"]


def test_a_cassette_keeps_the_paraphrases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The replay asks no server, and plants the same mutants."""
    tape = tmp_path / "calls.jsonl"
    with Loopback(write) as server:
        recorded = mutate(ModelOptions(cassette=tape, cassette_mode="record"), server.url, monkeypatch)
        replayed = mutate(ModelOptions(cassette=tape, cassette_mode="replay"), server.url, monkeypatch)
        assert len(server.requests) == len(PARAPHRASES)
    assert replayed.operators == recorded.operators
    assert replayed.paraphrases == recorded.paraphrases


def test_replies_beyond_the_budget_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A paraphrase that was not asked for is dropped with its reason, and the others are planted."""
    with Loopback(write) as server:
        report = mutate(ModelOptions(budget=Budget(max_calls=1)), server.url, monkeypatch, "refused")
        assert len(server.requests) == 1
    assert report.paraphrases is not None
    assert report.paraphrases.proven + sum(report.paraphrases.unproven.values()) == len(PARAPHRASES)
    assert report.paraphrases.unproven["no answer"] == len(PARAPHRASES) - 1


def test_an_unreadable_answer_is_no_paraphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prose, another key and an empty text are dropped."""
    answers = ["Sure, here it is.", '{"text": "x"}', '{"paraphrase": ""}']
    with Loopback(lambda request: answers[request.number % 3]) as server:
        report = mutate(ModelOptions(), server.url, monkeypatch, "refused")
    assert report.paraphrases == ParaphraseCount(0, {"no answer": len(PARAPHRASES)})


def test_paraphrases_need_a_model() -> None:
    """Without the name of a model, nothing runs."""
    with pytest.raises(UsageError, match="operator paraphrased asks a model for paraphrases; name it with judge_model"):
        api.mutate(CASES, {"response_match_score": 0.8}, operators=["paraphrased"])
