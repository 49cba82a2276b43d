"""Mutation testing keeps to its budget with a judge on a server, and a cassette can play the judge."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from builders import case, turn
from fairtrial import UsageError, api
from fairtrial.judge.judges import Judges
from fairtrial.llm.budget import Budget
from fairtrial.llm.model_options import ModelOptions
from fairtrial.records.case import EvalSet
from fairtrial.records.mutation import MutationReport
from fairtrial.reports.mutation.mutation_files import mutation_markdown
from fairtrial.reports.mutation.mutation_html import mutation_html
from fairtrial.reports.mutation.mutation_table import mutation_table
from loopback import Loopback, Request

REFERENCE = "Order 17 is shipped. It costs $1,250."
CASES = EvalSet("shop", (case(turn(reply=REFERENCE, query="Where is order 17?"), name="order"),))
CRITERIA = {
    "final_response_match_v2": {"threshold": 0.8, "judge_model_options": {"judge_model": "openai/m", "num_samples": 1}}
}
OPERATORS = ["number_changed", "refused", "polite_frame"]


def strict(request: Request) -> str:
    """A judge that accepts a reply only if the reference stands in the prompt twice: as expected, and as the reply."""
    return request.answers("valid" if request.text.count(REFERENCE) > 1 else "invalid")


def mutate(models: ModelOptions, url: str, monkeypatch: pytest.MonkeyPatch) -> MutationReport:
    """Mutate the eval set with a judge at a server."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
    return api.mutate(CASES, CRITERIA, operators=OPERATORS, judges=Judges(models=models))


def test_a_judge_on_a_server_gets_its_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    """One question for the baseline and one for each mutant, and the report names the criterion as judged."""
    with Loopback(strict) as server:
        report = mutate(ModelOptions(budget=Budget(max_calls=50)), server.url, monkeypatch)
        mutants = report.score.mutants + report.false_alarm_rate.mutants
        assert len(server.requests) == 1 + mutants
    (role,) = report.criteria
    assert (role.judged, role.sensitivity.rate, role.false_alarms.rate) == (True, 1.0, 0.0)


def test_a_judge_that_always_says_valid_notices_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its score is 0 %, which no false alarm excuses. The only criterion of a gate is not proposed to be dropped."""
    with Loopback(lambda request: request.answers("valid")) as server:
        report = mutate(ModelOptions(budget=Budget(max_calls=50)), server.url, monkeypatch)
    (role,) = report.criteria
    assert (report.score.rate, role.sensitivity.rate, role.false_alarms.rate) == (0.0, 0.0, 0.0)
    stream = io.StringIO()
    Console(file=stream, width=120).print(mutation_table(report))
    assert "the judge notices 0 % of the planted errors" in stream.getvalue()
    assert "it may be dropped" not in stream.getvalue()


def test_a_judge_that_always_says_invalid_has_no_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    """It fails the right reply too, so that its alarms about mutants would mean nothing."""
    with (
        Loopback(lambda request: request.answers("invalid")) as server,
        pytest.raises(UsageError, match="the baseline failed: final_response_match_v2"),
    ):
        mutate(ModelOptions(budget=Budget(max_calls=50)), server.url, monkeypatch)


def test_the_report_card_of_a_judge_has_each_operator_and_language(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal, Markdown and HTML show the judge's rates on planted errors in a table of its own."""
    with Loopback(strict) as server:
        report = mutate(ModelOptions(budget=Budget(max_calls=2)), server.url, monkeypatch)
    (role,) = report.criteria
    rates = {
        row.operator: [(rate.name, rate.mutants + rate.unscored) for rate in row.languages] for row in role.operators
    }
    assert rates == {operator: [("en", 1)] for operator in OPERATORS}
    stream = io.StringIO()
    Console(file=stream, width=120).print(mutation_table(report))
    assert "final_response_match_v2 on planted errors" in stream.getvalue()
    assert "final_response_match_v2` on planted errors" in mutation_markdown(report)
    assert "| polite_frame | harmless | 0 of 0, 1 unscored | – | 0 of 0, 1 unscored |" in mutation_markdown(report)
    assert "<h2>final_response_match_v2 on planted errors</h2>" in mutation_html(report)


def test_mutants_beyond_the_budget_are_unscored(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two calls, the baseline and one mutant are judged. The others are counted, and are in no rate."""
    with Loopback(strict) as server:
        report = mutate(ModelOptions(budget=Budget(max_calls=2)), server.url, monkeypatch)
        assert len(server.requests) == 2
    overall = [report.score, report.false_alarm_rate]
    assert sum(rate.mutants for rate in overall) == 1
    assert sum(rate.unscored for rate in overall) == 2


def test_a_cassette_plays_the_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The replay asks no server, and gives the same rates."""
    tape = tmp_path / "calls.jsonl"
    with Loopback(strict) as server:
        recorded = mutate(ModelOptions(cassette=tape, cassette_mode="record"), server.url, monkeypatch)
    with Loopback(strict) as server:
        replayed = mutate(ModelOptions(cassette=tape, cassette_mode="replay"), server.url, monkeypatch)
        assert server.requests == []
    assert (replayed.score, replayed.operators) == (recorded.score, recorded.operators)
