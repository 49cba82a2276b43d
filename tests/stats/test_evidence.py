"""Evidence may be read after every wave, and keeps its error rate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, product
from math import exp, inf, isclose, log, prod
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.records.average import mean
from fairtrial.stats.evidence import (
    EVEN,
    Evidence,
    Strategy,
    choose_strategy,
    evidence_above,
    evidence_below,
    evidence_interval,
)

BETS = [(k - 0.5) / 32 for k in range(1, 33)]


def test_the_first_wave_by_hand() -> None:
    """Three passes and a failure against 1/2: each bet f wins (1 + f)^3 (1 - f), since nothing is expected yet."""
    (found,) = evidence_above([[1, 1, 0, 1]], 0.5)
    assert isclose(found, log(sum((1 + f) ** 3 * (1 - f) for f in BETS) / 32))


def test_a_second_wave_expects_what_the_first_gave() -> None:
    """Cases that gave 1 and 0 are expected at (1 + 1)/3 and (0 + 1)/3, so a is +-1/6 and the stake 1/2 + 1/6."""
    found = evidence_above([[1, 0], [1, 0]], 0.5)[1]
    gain = [(1 + f) * (1 - f) * (1 + f * (1 - 1 / 6 - 0.5) / (2 / 3)) * (1 + f * (1 / 6 - 0.5) / (2 / 3)) for f in BETS]
    assert isclose(found, log(sum(gain) / 32), abs_tol=1e-12)


def test_a_missing_value_only_delays() -> None:
    """It is a failure in the evidence for the claim, and a success in the evidence against it."""
    assert evidence_above([[1, None]], 0.5) == evidence_above([[1, 0]], 0.5)
    assert evidence_below([[0, None]], 0.5) == evidence_below([[0, 1]], 0.5)


def test_one_value_above_a_limit_of_0_is_proof() -> None:
    """If the mean were 0, no value could be above 0."""
    assert evidence_above([[0, 0], [0, 1]], 0) == [0, inf]


def test_many_values_do_not_overflow() -> None:
    """Logarithms hold evidence that no float holds."""
    assert evidence_above([[1.0] * 2000], 0.5)[0] > 1000


waves = st.integers(1, 6).flatmap(
    lambda cases: st.lists(st.lists(st.floats(0, 1), min_size=cases, max_size=cases), min_size=1, max_size=5)
)


@given(waves)
def test_the_order_of_cases_never_changes_the_evidence(values: list[list[float]]) -> None:
    """Cases are all alike to it."""
    backwards = [wave[::-1] for wave in values]
    assert evidence_above(values, 0.6) == pytest.approx(evidence_above(backwards, 0.6), abs=1e-12)


@given(waves)
def test_below_is_above_of_the_complement(values: list[list[float]]) -> None:
    """Evidence for "mean < 0.6" is evidence for "mean of 1 - y > 0.4"."""
    complement = [[1 - value for value in wave] for wave in values]
    assert evidence_below(values, 0.6) == evidence_above(complement, 0.4)


@pytest.mark.long
@given(waves)
def test_the_interval_holds_the_mean_and_never_shrinks_to_a_point(values: list[list[float]]) -> None:
    """At any time: its ends are the limits that the evidence does not refute."""
    low, high = evidence_interval(values, 0.05)
    middle = sum(map(sum, values)) / sum(map(len, values))
    assert 0 <= low <= middle <= high <= 1
    assert low < high


def make_evidence(values: Sequence[Sequence[float]], limit: float, strategy: Strategy) -> float:
    """The evidence that the mean is above a limit after all waves."""
    evidence = Evidence(limit, len(values[0]), strategy)
    for wave in values:
        evidence.add(wave)
    return exp(evidence.log)


def test_the_ends_of_the_interval_have_the_evidence_against_them() -> None:
    """At both ends the evidence of even gamblers is 2 / alpha = 40."""
    values = [[1.0, 1, 0, 1, 0, 1, 1, 0, 0, 0]] * 8
    low, high = evidence_interval(values, 0.05)
    losses = [[1 - value for value in wave] for wave in values]
    assert isclose(make_evidence(values, low, EVEN), 40, rel_tol=1e-5)
    assert isclose(make_evidence(losses, 1 - high, EVEN), 40, rel_tol=1e-5)


@pytest.mark.parametrize("strategy", ["even", "tuned"])
@pytest.mark.parametrize(
    "chances", [(0.2,) * 4, (0, 0, 0, 0.8), (0.1, 0.1, 0.1, 0.5), (0, 0, 0.4, 0.4), (0.05, 0.05, 0.05, 0.05)]
)
def test_evidence_is_at_most_1_on_average_at_the_limit(chances: tuple[float, ...], strategy: str) -> None:
    """Summed over every outcome of one and of two waves, with a mean of 0.2 or below, as Ville's inequality needs."""
    gamblers = EVEN if strategy == "even" else choose_strategy(0.2, 4)
    for waves_seen in (1, 2):
        total = 0.0
        for outcome in product((0.0, 1.0), repeat=4 * waves_seen):
            chance = prod(p if value else 1 - p for value, p in zip(outcome, cycle(chances), strict=False))
            total += chance * make_evidence([outcome[at : at + 4] for at in range(0, len(outcome), 4)], 0.2, gamblers)
        assert total <= 1 + 1e-9


def regression_waves(chances: list[float], waves: int, repetitions: int) -> list[int | None]:
    """The wave after which "below 0.8" is claimed, in each repetition, or None."""
    source = Random(1)
    decided: list[int | None] = []
    for _ in range(repetitions):
        evidence = Evidence(1 - 0.8, len(chances), choose_strategy(1 - 0.8, len(chances)))
        decided.append(None)
        for wave in range(1, waves + 1):
            evidence.add([float(source.random() >= chance) for chance in chances])
            if evidence.log >= log(20):
                decided[-1] = wave
                break
    return decided


@pytest.mark.long
def test_a_regression_is_seldom_claimed_of_a_mean_at_the_limit() -> None:
    """20 looks at cases that pass always or in 60 %: at most 5 %, although gamblers trust cases differently."""
    decided = regression_waves([0.6, 1.0] * 10, 20, 200)
    assert sum(wave is not None for wave in decided) / 200 <= 0.05


@pytest.mark.parametrize(
    ("chances", "most"), [([0.7] * 50, 3.7), ([1.0] * 25 + [0.4] * 25, 3.3), ([1.0] * 35 + [0.0] * 15, 3)]
)
def test_a_regression_is_claimed_soon(chances: list[float], most: float) -> None:
    """0.7 against 0.8 takes 3.1 waves of 50 cases if the bet is the best for 0.7."""
    decided = regression_waves(chances, 30, 100)
    assert mean([float(wave or 30) for wave in decided]) <= most
