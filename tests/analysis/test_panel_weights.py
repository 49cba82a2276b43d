"""Weights of judges from labels, beside the majority."""

from __future__ import annotations

import csv
from math import log
from pathlib import Path
from random import Random

import pytest

from fairtrial.analysis.panel_weights import decide, measure_panels, weigh_judges
from fairtrial.formats.verdict_tables import RecordedVerdict


def panel(shares: dict[str, float], items: int = 200, seed: int = 1) -> list[RecordedVerdict]:
    """Verdicts of judges that are right in a share of the items."""
    die = Random(seed)
    other = {"pass": "fail", "fail": "pass"}
    return [
        RecordedVerdict(str(item), label, label if die.random() < share else other[label], judge=judge)
        for item in range(items)
        for label in [die.choice(["pass", "fail"])]
        for judge, share in shares.items()
    ]


def test_a_weight_is_the_log_odds_of_a_right_verdict() -> None:
    """A is right about 3 of 3: (3 + 1) / (3 + 2) = 0.8. B about 1 of 3: 0.4. C has one readable verdict: 2 / 3."""
    votes = {
        "1": {"a": "x", "b": "x", "c": "x"},
        "2": {"a": "y", "b": "x", "c": ""},
        "3": {"a": "y", "b": "x", "c": ""},
    }
    weights = weigh_judges(["1", "2", "3"], votes, {"1": "x", "2": "y", "3": "y"})
    assert weights == pytest.approx({"a": log(4), "b": log(2 / 3), "c": log(2)})


def test_a_tie_decides_nothing() -> None:
    """A judge whose weight is below 0 votes against its own verdict."""
    assert decide({"a": "x", "b": "y"}, {"a": 1.0, "b": 1.0}) == ""
    assert decide({"a": "x", "b": "y"}, {"a": 2.0, "b": 1.0}) == "x"
    assert decide({"a": "x", "b": "y"}, {"a": -2.0, "b": -1.0}) == "y"
    assert decide({"a": "", "b": ""}, {"a": 1.0, "b": 1.0}) == ""


def test_weights_help_a_panel_of_unequal_judges() -> None:
    """One good judge among two that guess: the majority is wrong more often, and the gain excludes 0."""
    (check,) = measure_panels(panel({"good": 0.95, "guess": 0.5, "guess again": 0.5}))
    assert check.items == 200
    assert check.majority.value is not None
    assert check.weighted.value is not None
    assert check.weighted.value > 0.9 > check.majority.value
    assert (check.gain.low or 0) > 0
    assert check.weights["good"] > 2 > abs(check.weights["guess"])


def test_weights_do_not_help_equal_judges() -> None:
    """No gain is claimed: the interval holds 0."""
    (check,) = measure_panels(panel(dict.fromkeys(("a", "b", "c"), 0.8)))
    assert check.gain.low is not None
    assert check.gain.high is not None
    assert check.gain.low <= 0 <= check.gain.high


def test_a_small_panel_is_not_measured() -> None:
    """Two judges, 19 items, or two verdicts of a judge on an item."""
    assert list(measure_panels(panel({"a": 0.8, "b": 0.8}))) == []
    assert list(measure_panels(panel(dict.fromkeys("abc", 0.8), items=19))) == []
    verdicts = panel(dict.fromkeys("abc", 0.8))
    assert list(measure_panels([*verdicts, verdicts[0]])) == []


@pytest.mark.shared
def test_weights_help_the_recorded_panel_of_llmbar(shared: Path) -> None:
    """Six judges on the adversarial items: the majority is right about half, and the weighted vote far more often."""
    with (shared / "data" / "llmbar" / "judgements.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if (row["subset"], row["strategy"]) == ("neighbor", "Vanilla")]
    (check,) = measure_panels(RecordedVerdict(r["item"], r["label"], r["winner"], judge=r["judge"]) for r in rows)
    assert (check.items, len(check.weights)) == (134, 6)
    assert check.weighted.value is not None
    assert check.majority.value is not None
    assert check.weighted.value > check.majority.value + 0.2
    assert (check.gain.low or 0) > 0
