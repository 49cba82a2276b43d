"""Cases whose result depends on the order are found, and nothing else is."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import pytest

from fairtrial.analysis.order_effects import ALPHA, PLACE_ALPHA, _compare_places, count_attempts, study_orders
from fairtrial.recording import shuffle_positions


def orders(cases: int, attempts: int, seed: int) -> dict[int, list[int]]:
    """Random orders of cases, one for each attempt."""
    return {attempt: shuffle_positions(range(cases), attempt, seed) for attempt in range(1, attempts + 1)}


def test_the_order_of_an_attempt_depends_on_the_seed_alone() -> None:
    """Whatever the order of the input is, so that a resumed run has the same orders."""
    assert shuffle_positions([3, 1, 2, 0], 2, 7) == shuffle_positions(range(4), 2, 7)
    assert len({tuple(shuffle_positions(range(6), attempt, 7)) for attempt in range(1, 20)}) > 15


def test_a_spoiled_case_is_named_with_the_case_that_spoils_it() -> None:
    """Case 2 fails exactly after case 4, and its counts are those of the orders."""
    own = orders(6, 14, 1)
    after = {attempt: order.index(4) < order.index(2) for attempt, order in own.items()}
    passed = {(case, attempt): case != 2 or not after[attempt] for case in range(6) for attempt in own}
    (effect,) = study_orders(own, passed).effects
    assert (effect.position, effect.trigger, effect.fails_after) == (2, 4, True)
    assert effect.after == (sum(after.values()),) * 2
    assert effect.before == (0, 14 - sum(after.values()))


def test_a_case_that_needs_another_is_named_with_it() -> None:
    """Case 0 passes only after case 1: it fails before it."""
    own = orders(4, 14, 2)
    passed = {(case, n): case != 0 or order.index(1) < order.index(0) for case in range(4) for n, order in own.items()}
    (effect,) = study_orders(own, passed).effects
    assert (effect.position, effect.trigger, effect.fails_after) == (0, 1, False)


def test_cases_that_pass_only_at_the_first_place_are_seen() -> None:
    """Whatever case is first spoils all others, so that no pair of cases shows it."""
    own = orders(4, 12, 7)
    passed = {(case, n): order[0] == case for n, order in own.items() for case in order}
    study = study_orders(own, passed)
    assert study.effects == []
    assert study.place is not None
    assert study.place[:3] == (True, (0, 12), (36, 36))
    # One of four cases passes in each order: twice for both sides, and twice for both kinds of places.
    assert study.place.p == pytest.approx(2 * 2 * 0.25**12)


@pytest.mark.parametrize("fails_late", [False, True])
def test_the_p_of_a_place_is_that_of_exact_fractions(*, fails_late: bool) -> None:
    """Most sums of 20 attempts at 60 cases are improbable, and count nothing. A p below 2e-30 is given as that."""
    own, draws = orders(60, 20, 5), random.Random(5)
    failed = {(case, n): draws.random() < 0.5 for n, order in own.items() for case in order}
    if fails_late:
        failed = {(case, n): order.index(case) >= 30 for n, order in own.items() for case in order}
    ways, total, seen = [1], 1, 0
    for n, order in own.items():
        failures = sum(failed[case, n] for case in order)
        seen += sum(failed[case, n] for case in order[:30])
        parts = [math.comb(30, early) * math.comb(30, failures - early) for early in range(failures + 1)]
        total *= math.comb(60, failures)
        sums = [0] * (len(ways) + len(parts) - 1)
        for (left, a), (right, b) in itertools.product(enumerate(ways), enumerate(parts)):
            sums[left + right] += a * b
        ways = sums
    tail = Fraction(min(sum(ways[: seen + 1]), sum(ways[seen:])), total)
    place = _compare_places(own, {key: not value for key, value in failed.items()}, only_first=False)
    assert place.p == pytest.approx(max(2e-30, min(1.0, 2 * float(tail))), rel=1e-12)


def test_cases_that_fail_late_are_seen() -> None:
    """An agent that gets worse from case to case fails in the second half."""
    own = orders(8, 10, 3)
    passed = {(case, n): order.index(case) < 5 for n, order in own.items() for case in order}
    place = study_orders(own, passed).place
    assert place is not None
    assert place[:3] == (False, (0, 40), (30, 40))


@pytest.mark.parametrize("only_first", [True, False])
def test_the_chance_of_a_place_is_exact(only_first: bool) -> None:
    """It is the share of all orders of two attempts whose failures lie at least as far on the same side, twice."""
    failed = {1: {0, 1}, 2: {2}}
    own = {1: [2, 3, 0, 1], 2: [3, 1, 0, 2]}
    passed = {(case, n): case not in failed[n] for n in own for case in range(4)}
    size = 1 if only_first else 2
    every = list(itertools.permutations(range(4)))
    sums = [len(failed[1] & {*a[:size]}) + len(failed[2] & {*b[:size]}) for a in every for b in every]
    place = _compare_places(own, passed, only_first=only_first)
    assert place.early == (0, 2 * size)
    assert place.p == pytest.approx(min(1.0, 2 * sums.count(0) / len(sums)))


def test_too_few_attempts_are_said() -> None:
    """With 2 attempts nothing can be named; the number that is needed for one pair is 6."""
    own = orders(2, 2, 3)
    study = study_orders(own, {(0, 1): True, (0, 2): False, (1, 1): True, (1, 2): True})
    assert (study.effects, study.unstable, study.smallest) == ([], [0], count_attempts(1))
    # Two halves of 3 attempts each: the exact p is 2 / C(6, 3) = 0.1; of 4 each, 2 / C(8, 4) = 0.029.
    assert count_attempts(1) == 8


@pytest.mark.long
def test_flaky_cases_are_rarely_named() -> None:
    """Of 1,000 runs with three cases that fail at random, at most both alphas (and three standard errors) name any."""
    chance = random.Random(5)
    named = 0
    for seed in range(1000):
        own = orders(6, 12, seed)
        passed = {(case, n): case > 2 or chance.random() < 0.6 for case in range(6) for n in own}
        study = study_orders(own, passed)
        named += bool(study.effects or study.place)
    alpha = ALPHA + PLACE_ALPHA
    assert named / 1000 <= alpha + 3 * (alpha * (1 - alpha) / 1000) ** 0.5
