"""The sign-flip test counts its permutations right, and errs as seldom as it states."""

from __future__ import annotations

import random
from itertools import product
from math import comb

import pytest

from fairtrial.stats.difference import paired_difference
from fairtrial.stats.sign_flip import least_shift, sign_flip_p


def counted(moves: list[float]) -> float:
    """The share of all choices of signs whose sum is at least as far from 0."""
    seen = abs(sum(moves))
    sums = [
        abs(sum(sign * move for sign, move in zip(signs, moves, strict=True)))
        for signs in product((1, -1), repeat=len(moves))
    ]
    return sum(one >= seen - 1e-12 for one in sums) / len(sums)


@pytest.mark.parametrize("unit", [0.25, 0.1, 1 / 3])
def test_every_choice_of_signs_is_counted(unit: float) -> None:
    """Grades have a common unit, so that the count is exact."""
    source = random.Random(1)
    for _ in range(30):
        moves = [source.randint(-4, 4) * unit for _ in range(source.randint(1, 9))]
        assert sign_flip_p(moves, 100) == pytest.approx(counted(moves))


def test_numbers_without_a_unit_are_rounded_to_the_safe_side() -> None:
    """The p value is never too small, and hardly too large."""
    source = random.Random(1)
    for _ in range(30):
        moves = [source.gauss(0.2, 0.3) for _ in range(10)]
        assert 0 <= sign_flip_p(moves, 100) - counted(moves) < 0.004


def test_passes_and_failures_have_mcnemars_mid_p() -> None:
    """Five broken cases and none fixed: 1 / 32. One fixed beside them: 2 (1 + 6 / 2) / 64."""
    assert sign_flip_p([-1.0] * 5 + [0.0] * 20, 1) == 1 / 32
    assert sign_flip_p([-1.0] * 5 + [1.0], 1) == 8 / 64


@pytest.mark.parametrize("cases", [10, 20, 40, 60])
def test_equal_agents_seldom_differ(cases: int) -> None:
    """The share of cases that differ is at most a half. Summed over all outcomes, p is below 5 % in at most 5 %."""
    false = [
        sum(comb(n, b) for b in range(n + 1) if sign_flip_p([-1.0] * b + [1.0] * (n - b), 1) < 0.05) / 2**n
        for n in range(cases + 1)
    ]
    for share in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5):
        assert sum(comb(cases, n) * share**n * (1 - share) ** (cases - n) * false[n] for n in range(cases + 1)) <= 0.05


def test_fourteen_scores_show_what_needed_twenty_three() -> None:
    """A shift of 0.8 standard deviations is found in four of five runs, by Student's t in half."""
    source = random.Random(1)
    found = 0
    for _ in range(500):
        difference = paired_difference([source.gauss(0.16, 0.2) for _ in range(14)])
        found += difference is not None and difference.p < 0.05
    assert found / 500 >= 0.75


@pytest.mark.long
def test_few_large_drops_beside_many_small_gains_are_no_coins() -> None:
    """One case in ten drops by 0.9, the others gain 0.09: nothing changes on average. Signs alone err in 19 %."""
    source = random.Random(1)
    claimed = 0
    for _ in range(500):
        moves = [source.gauss(0.09, 0.01) - 0.9 * (source.random() < 0.1) for _ in range(30)]
        difference = paired_difference(moves)
        claimed += difference is not None and difference.p < 0.05
    assert claimed / 500 <= 0.065


@pytest.mark.long
@pytest.mark.parametrize("cases", [5, 10, 30])
def test_rare_drops_are_covered(cases: int) -> None:
    """5 % of the cases drop by 0.9, the others hardly change: intervals covered 0.23, 0.41 and 0.79."""
    source = random.Random(1)
    held = 0
    for _ in range(300):
        difference = paired_difference([source.gauss(0, 0.01) - 0.9 * (source.random() < 0.05) for _ in range(cases)])
        assert difference is not None
        low, high = difference.interval()
        held += low <= -0.045 <= high
    assert held / 300 >= 0.93


def test_the_end_beside_0_is_the_least_shift_that_is_not_refuted() -> None:
    """Shifted by less, p is below 5 %. For passes and failures, the share of fixed cases has the limit 0.549."""
    moves = [0.1, 0.3, 0.25, 0.05, 0.2, -0.02, 0.15, 0.3]
    shift = least_shift(moves, 1, 0.05)
    assert 0 < shift < sum(moves) / 8
    assert sign_flip_p([move - 0.98 * shift for move in moves], 100) < 0.05
    assert sign_flip_p([move - 1.02 * shift for move in moves], 100) >= 0.05
    assert least_shift([1.0] * 5 + [0.0] * 35, 1, 0.05) == pytest.approx((2 * 0.05 ** (1 / 5) - 1) * 5 / 40, abs=1e-3)
