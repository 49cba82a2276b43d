"""Results of conversations that were sampled with different probabilities speak for all conversations."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from commands import fairtrial as command
from databases import chats, write_sqlite
from fairtrial.analysis.aggregation import SummaryBuilder, aggregate
from fairtrial.records.attempt_rule import AttemptRules
from fairtrial.records.result import CaseResult, Outcome
from fairtrial.records.score import Range, Score
from fairtrial.records.summary import CriterionSummary

pytestmark = pytest.mark.long


def result(position: int, value: float, probability: float | None) -> CaseResult:
    """A conversation with one value of 0 to 1, which passes from 0.5 on."""
    outcome = Outcome("quality", Score(value), 0.5, range=Range(0, 1))
    return CaseResult(f"c{position}", position, (outcome,), invalidations=(), probability=probability)


def criterion(results: list[CaseResult]) -> CriterionSummary:
    """The numbers of the only criterion."""
    (summary,) = aggregate(results).criteria
    return summary


def test_the_mean_weighs_by_the_inverse_of_the_probability() -> None:
    """Hajek's estimator by hand: (1 * 0 + 1 * 1 + 10 * 1 + 10 * 0.5) / 22."""
    values = [(0.0, 1.0), (1.0, 1.0), (1.0, 0.1), (0.5, 0.1)]
    numbers = criterion([result(i, value, probability) for i, (value, probability) in enumerate(values)])
    assert numbers.mean.value == pytest.approx(16 / 22)
    assert numbers.pass_rate.value == pytest.approx(21 / 22)


def test_the_variance_is_that_of_the_linearised_ratio() -> None:
    """For an unbounded criterion: t times the root of the sum of w^2 (y - mean)^2 over the squared sum of w."""
    rng = random.Random(5)
    drawn = [(rng.gauss(3, 1), 1.0) for _ in range(400)] + [(rng.gauss(9, 2), 0.1) for _ in range(400)]
    results = [
        CaseResult(
            f"c{i}", i, (Outcome("seconds", Score(value), None, range=Range(None, None)),), probability=probability
        )
        for i, (value, probability) in enumerate(drawn)
    ]
    (numbers,) = aggregate(results).criteria
    total = math.fsum(1 / probability for _, probability in drawn)
    mean = math.fsum(value / probability for value, probability in drawn) / total
    error = math.sqrt(math.fsum(((value - mean) / probability) ** 2 for value, probability in drawn)) / total
    assert numbers.mean.value == pytest.approx(mean)
    assert numbers.mean.low is not None
    # Satterthwaite's degrees of freedom are about 400, whose quantile is 1.966.
    assert mean - numbers.mean.low == pytest.approx(1.966 * error, rel=0.01)


def test_equal_probabilities_change_nothing_but_say_so_in_the_results() -> None:
    """A sample with one probability is like the whole."""
    values = [1.0, 0.0, 1.0, 1.0]
    equal = criterion([result(i, value, 0.1) for i, value in enumerate(values)])
    none = criterion([result(i, value, None) for i, value in enumerate(values)])
    assert equal.mean == none.mean
    assert equal.pass_rate == none.pass_rate


def test_parts_of_a_run_add_up_to_the_whole() -> None:
    """Whatever worker counted which conversation."""
    results = [result(i, float(i % 3 > 0), (None, 1.0, 0.1, 0.25)[i % 4]) for i in range(60)]
    builders = [SummaryBuilder(AttemptRules()) for _ in range(3)]
    for i, each in enumerate(results):
        builders[i // 20].count(each, each.verdicts)
    for builder in builders[1:]:
        builders[0].merge(builder)
    (merged,) = builders[0].summary().criteria
    whole = criterion(results)
    assert merged.mean.value == pytest.approx(whole.mean.value)
    assert (merged.pass_rate.low, merged.pass_rate.high) == pytest.approx((whole.pass_rate.low, whole.pass_rate.high))


@pytest.mark.parametrize(
    ("errors", "pass_of_errors", "pass_of_others", "share"),
    [(0.1, 0.2, 0.9, 0.1), (0.05, 0.1, 0.995, 0.05), (0.3, 0.5, 0.5, 0.2), (0.1, 0.0, 1.0, 0.1)],
)
def test_weighted_intervals_cover_the_truth(
    errors: float, pass_of_errors: float, pass_of_others: float, share: float
) -> None:
    """All errors and a share of the others are sampled. `benchmarks/weighted_coverage.py` does it at full size."""
    rng = random.Random(2026)
    truth = errors * pass_of_errors + (1 - errors) * pass_of_others
    covered = 0
    runs = 200
    for _ in range(runs):
        results = []
        for i in range(400):
            is_error = rng.random() < errors
            value = float(rng.random() < (pass_of_errors if is_error else pass_of_others))
            if is_error or rng.random() < share:
                results.append(result(i, value, 1.0 if is_error else share))
        rate = criterion(results).pass_rate
        assert rate.low is not None
        assert rate.high is not None
        covered += rate.low <= truth <= rate.high
    # 94 % less three standard errors of 200 runs at 95 %.
    assert covered >= 0.94 * runs - 3 * math.sqrt(runs * 0.95 * 0.05)


def test_the_folder_of_a_sampled_query_holds_its_probabilities(tmp_path: Path) -> None:
    """Every conversation that failed has 1, and the others have the share. A note says that the numbers are weighed."""
    url = write_sqlite(tmp_path / "t.db", 400)
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"criteria": {"tool_call_count_v1": 1.0}}))
    query = ("--sql", "SELECT id, messages, failed FROM chats", "--from", url, "--sample", "10%")
    done = command("score", *query, "--always", "failed = 1", "--out", tmp_path / "out", "--config", config)
    assert done.code in (0, 1, 3), done.err
    table = pq.read_table(tmp_path / "out/attempts")
    probabilities = dict(zip(table["case_id"].to_pylist(), table["probability"].to_pylist(), strict=True))
    assert {probabilities[name] for name, _, failed in chats(400) if failed} == {1.0}
    assert set(probabilities.values()) == {1.0, 0.1}
    notes = json.loads((tmp_path / "out/manifest.json").read_bytes())["summary"]["notes"]
    assert any("sampled with 2 probabilities from 0.1 to 1" in note for note in notes)
