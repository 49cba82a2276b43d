"""Error rates of one-sided limits. The errors are summed over every possible outcome."""

from __future__ import annotations

import math
import random

import pytest

from fairtrial.stats.beta import beta_cdf, beta_quantile
from fairtrial.stats.fixed_cases import case_sample
from fairtrial.stats.one_sided import (
    cases_to_decide_difference,
    cases_to_decide_mean,
    difference_limits,
    fixed_difference_limits,
    fixed_limits,
    mean_limits,
)

ALPHA = 0.05
WORST = 0.055
"""No stated error is exceeded by more than one tenth of itself."""


def binomial(successes: int, trials: int, chance: float) -> float:
    """The probability of exactly so many successes."""
    return math.comb(trials, successes) * chance**successes * (1 - chance) ** (trials - successes)


@pytest.mark.parametrize("cases", [2, 10, 20, 54, 100])
def test_a_rate_at_its_limit_is_seldom_on_the_wrong_side(cases: int) -> None:
    """Neither side is claimed in more than 5 % of the runs, for any limit. Wilson's limits claim it in up to 20 %."""
    limits = [mean_limits([1.0] * k + [0.0] * (cases - k), ALPHA, attempts=cases) for k in range(cases + 1)]
    # The error is largest where a limit lies: there, the outcome with this limit is just not claimed.
    for truth in [*(each.low + 1e-9 for each in limits if each), *(each.high - 1e-9 for each in limits if each)]:
        if 0 < truth < 1:
            chances = [binomial(k, cases, truth) for k in range(cases + 1)]
            passed = sum(p for p, each in zip(chances, limits, strict=True) if each and each.low > truth)
            failed = sum(p for p, each in zip(chances, limits, strict=True) if each and each.high < truth)
            assert max(passed, failed) <= ALPHA + 1e-6


def test_nine_of_ten_do_not_refute_981_of_a_thousand() -> None:
    """The chance of one failure or more is 17.5 %. And 54 of 54 do not show 95 %."""
    nine = mean_limits([1.0] * 9 + [0.0], ALPHA, attempts=10)
    assert nine is not None
    assert nine.high > 0.981
    assert nine.p_below(0.981) == pytest.approx(1 - 0.981**10)
    all_of_54 = mean_limits([1.0] * 54, ALPHA, attempts=54)
    assert all_of_54 is not None
    assert all_of_54.low == pytest.approx(0.05 ** (1 / 54))


@pytest.mark.parametrize("cases", [10, 50])
def test_broken_cases_are_seldom_overlooked(cases: int) -> None:
    """A share D breaks, and a few cases are fixed: "not worse by D" holds in at most 5.5 % of the runs, for every D."""
    counts = [(b, f) for b in range(cases + 1) for f in range(cases + 1 - b) if f <= 10]
    lows = {}
    for broken, fixed in counts:
        limits = difference_limits([-1.0] * broken + [1.0] * fixed + [0.0] * (cases - broken - fixed), ALPHA)
        assert limits is not None
        lows[broken, fixed] = limits.low
    for fixes in (0.0, 0.01, 0.03):
        for step in range(1, 40):
            drop = step * 0.5 / cases
            breaks = fixes + drop
            if breaks + fixes < 0.9:
                error = sum(
                    math.comb(cases, b)
                    * math.comb(cases - b, f)
                    * breaks**b
                    * fixes**f
                    * (1 - breaks - fixes) ** (cases - b - f)
                    for b, f in counts
                    if lows[b, f] > -drop + 1e-12
                )
                assert error <= WORST


@pytest.mark.long
def test_rare_drops_of_graded_scores_are_seldom_overlooked() -> None:
    """Noise of 0.01 and 5 % drops of 0.9: in 36 % of the runs of 20 cases, no drop is there to be seen."""
    source = random.Random(1)
    claimed = 0
    for _ in range(1000):
        moves = [source.gauss(0, 0.01) - 0.9 * (source.random() < 0.05) for _ in range(20)]
        limits = difference_limits(moves, ALPHA)
        assert limits is not None
        claimed += limits.low > -0.045
    assert claimed / 1000 <= WORST


@pytest.mark.long
def test_graded_scores_that_rarely_fail_are_seldom_overrated() -> None:
    """3 % of the cases fail wholly, the others hardly vary. Limits by Wilson err in 22 % of such runs."""
    source = random.Random(1)
    claimed = 0
    for _ in range(1000):
        scores = [0.0 if source.random() < 0.03 else source.betavariate(95, 5) for _ in range(50)]
        limits = mean_limits(scores, ALPHA)
        assert limits is not None
        claimed += limits.low > 0.97 * 0.95
    assert claimed / 1000 <= WORST


@pytest.mark.long
@pytest.mark.parametrize("attempts", [[2] * 10 + [200] * 2, [3] * 18 + [30] * 2])
def test_unequal_attempts_at_these_cases(attempts: list[int]) -> None:
    """Cases with many attempts do not speak for cases with two. Both sides err seldom, one run and two."""
    source = random.Random(1)
    errors = [0, 0, 0]
    for _ in range(600):
        base, run = (
            [case_sample([float(source.random() < 0.5) for _ in range(number)]) for number in attempts] for _ in "ab"
        )
        one, two = fixed_limits(base, ALPHA), fixed_difference_limits(base, run, ALPHA)
        assert one is not None
        assert two is not None
        errors = [n + wrong for n, wrong in zip(errors, (one.low > 0.5, one.high < 0.5, two.low > 0), strict=True)]
    assert max(errors) / 600 <= WORST + 2 * math.sqrt(ALPHA * (1 - ALPHA) / 600)


def test_p_values_agree_with_limits() -> None:
    """At a limit, the p value is alpha: for means, for differences, and about these cases."""
    source = random.Random(1)
    values = [source.random() for _ in range(12)]
    moves = [source.uniform(-0.5, 0.8) for _ in range(12)]
    base, run = ([case_sample([source.random() for _ in range(3)]) for _ in range(5)] for _ in "ab")
    for limits in (
        mean_limits(values, ALPHA),
        mean_limits([0.25, 0.5, 1.0, 0.75], ALPHA, attempts=16),
        difference_limits(moves, ALPHA),
        fixed_limits(base, ALPHA),
        fixed_difference_limits(base, run, ALPHA),
    ):
        assert limits is not None
        assert limits.p_above(limits.low) == pytest.approx(ALPHA, abs=1e-6)
        assert limits.p_below(limits.high) == pytest.approx(ALPHA, abs=1e-6)


def test_swapped_runs_have_negated_limits() -> None:
    """And mirrored values have mirrored limits."""
    moves = [0.3, -0.2, 0.0, 0.5, 0.1]
    forth, back = difference_limits(moves, ALPHA), difference_limits([-move for move in moves], ALPHA)
    assert forth is not None
    assert back is not None
    assert (forth.low, forth.high) == pytest.approx((-back.high, -back.low))


def test_the_cases_that_would_decide() -> None:
    """59 cases that all pass show 95 %: 0.95^59 is below 5 %. If none of 59 breaks, the run is not worse by 5 %."""
    assert cases_to_decide_mean([1.0] * 20, 0.95, ALPHA, attempts=20) == 59
    assert cases_to_decide_difference([0.0] * 20, -0.05, ALPHA) == 59
    assert cases_to_decide_mean([0.5] * 4, 0.5, ALPHA) is None


def test_the_beta_distribution() -> None:
    """The binomial sum is the Beta probability, and quantiles invert it, also for a hundred thousand trials."""
    assert beta_cdf(0.3, 4, 7) == pytest.approx(sum(binomial(k, 10, 0.3) for k in range(4, 11)), abs=1e-12)
    for a, b in ((0.5, 0.5), (3.7, 1), (47, 4), (99_000, 1_001)):
        for p in (0.001, 0.05, 0.5, 0.975):
            assert beta_cdf(beta_quantile(p, a, b), a, b) == pytest.approx(p, abs=1e-9)
    assert (beta_quantile(0.05, 0, 3), beta_quantile(0.05, 3, 0)) == (0, 1)
    assert (beta_cdf(0, 2, 3), beta_cdf(1, 2, 3)) == (0, 1)
