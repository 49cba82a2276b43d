"""A step is a change of the mean over the same cases, and at most one run in N shows one by chance."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import permutations, product

import pytest

from fairtrial.stats import shuffled_runs
from fairtrial.stats.step_detector import StepDetector
from fairtrial.stats.step_tests import CaseValue

Runs = Sequence[dict[int, CaseValue]]


def evidence(runs: Runs) -> float:
    """Return the e-value after the last run: the smallest N that it does not reach, found by halving."""
    low, high = 0.0, 1.0
    while shows_step(runs, high):
        low, high = high, high * 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if shows_step(runs, middle) else (low, middle)
    return (low + high) / 2


def shows_step(runs: Runs, false_every: float) -> bool:
    """Return whether the last run shows a step. The runs before it are added without a look."""
    detector = StepDetector(false_every=float("inf"))
    for run in runs[:-1]:
        detector.add(run)
    detector.false_every = false_every
    return detector.add(runs[-1]) is not None


@pytest.mark.long
@pytest.mark.parametrize(
    ("values", "is_exact"),
    [
        ([(1.0, 1), (1.0, 1), (0.0, 1), (1.0, 1)], True),
        ([(1.0, 1), (0.0, 1), (0.0, 1), (0.0, 1)], True),
        ([(3.0, 3), (1.0, 3), (2.0, 3), (3.0, 3)], False),
        ([(0.25, 1), (0.5, 1), (1.0, 1), (0.0, 1)], False),
    ],
)
def test_the_mean_e_value_over_all_orders_of_the_runs_is_at_most_one(values: list[CaseValue], is_exact: bool) -> None:
    """Without a change, all orders are equally probable, so that this mean is the expectation."""
    orders = [[{0: value} for value in order] for order in permutations(values)]
    mean = sum(map(evidence, orders)) / len(orders)
    assert mean == pytest.approx(1, abs=1e-6) if is_exact else mean <= 1 + 1e-6


@pytest.mark.long
def test_the_mean_e_value_of_two_independent_cases_is_one() -> None:
    """All pairs of orders are equally probable."""
    first, second = ([(1.0, 1), (0.0, 1), (1.0, 1)], [(0.0, 1), (0.0, 1), (1.0, 1)])
    means = [
        evidence([{0: ours, 1: theirs} for ours, theirs in zip(left, right, strict=True)])
        for left, right in product(permutations(first), permutations(second))
    ]
    assert sum(means) / len(means) == pytest.approx(1, abs=1e-6)


def draw(rng: random.Random, rates: Sequence[float]) -> dict[int, CaseValue]:
    """The values of a run, with one attempt for each case."""
    return {case: (float(rng.random() < rate), 1) for case, rate in enumerate(rates)}


def test_a_fall_of_twenty_points_is_seen_at_once_and_begins_at_its_run() -> None:
    """The 20 runs before show nothing."""
    rng = random.Random(1)
    rates = [0.98] * 80 + [0.6] * 20
    detector = StepDetector()
    for _ in range(20):
        assert detector.add(draw(rng, rates)) is None
    step = detector.add(draw(rng, [0.1] * 20 + rates[20:]))
    assert step is not None
    assert (step.start, step.alarm) == (20, 20)


def test_after_a_step_later_runs_are_compared_with_the_runs_since_it() -> None:
    """The same step is not found again."""
    rng = random.Random(2)
    rates, broken = [0.98] * 100, [0.1] * 20 + [0.98] * 80
    detector = StepDetector()
    steps = [detector.add(draw(rng, rates if run < 15 else broken)) for run in range(40)]
    assert [step.start for step in steps if step is not None] == [15]


def test_cases_that_are_not_shared_show_nothing() -> None:
    """Each run has cases of its own."""
    detector = StepDetector()
    for run in range(10):
        for case in range(50):
            assert detector.add({(run, case): (float(run % 2), 1)}) is None


def test_a_case_that_always_has_the_same_value_shows_nothing() -> None:
    """Even if nearly every run may be false."""
    detector = StepDetector(false_every=1.000001)
    for _ in range(20):
        assert detector.add(dict.fromkeys(range(50), (1.0, 1))) is None


def test_earlier_runs_are_forgotten_at_a_restart() -> None:
    """The later runs are not comparable with them."""
    detector = StepDetector()
    for _ in range(10):
        detector.add(dict.fromkeys(range(50), (1.0, 1)))
    detector.restart()
    assert detector.add(dict.fromkeys(range(50), (0.0, 1))) is None


def test_few_attempts_more_in_one_run_are_no_step() -> None:
    """The number of attempts differs between the runs, and the share of passes does not."""
    rng = random.Random(3)
    detector = StepDetector()
    for run in range(30):
        attempts = 8 if run % 5 == 4 else 1
        values = {case: (float(sum(rng.random() < 0.7 for _ in range(attempts))), attempts) for case in range(40)}
        assert detector.add(values) is None


@pytest.mark.long
@pytest.mark.parametrize("is_dependent", [False, True])
def test_false_steps_stay_within_their_rate(is_dependent: bool) -> None:
    """If one run in 20 may show a false step, 1,500 runs without a change may show 75.

    The attempts of a case in a run are independent, or all alike.
    """
    steps = 0
    for seed in range(30):
        rng = random.Random(seed)
        rates = [rng.betavariate(0.6, 0.3) for _ in range(20)]
        detector = StepDetector(false_every=20)
        for _ in range(50):
            values = {}
            for case, rate in enumerate(rates):
                passed = 3 * (rng.random() < rate) if is_dependent else sum(rng.random() < rate for _ in range(3))
                values[case] = (float(passed), 3)
            steps += detector.add(values) is not None
    assert steps <= 75


def make_fall(seed: int, runs: int, lost: float) -> list[dict[int, CaseValue]]:
    """Runs of 100 cases whose pass rates are spread over 0..1, of which the last run loses a share."""
    rng = random.Random(seed)
    rates = [rng.random() for _ in range(100)]
    return [
        {case: (float(rng.random() < rate * (1 - lost * (run == runs - 1))), 1) for case, rate in enumerate(rates)}
        for run in range(runs)
    ]


@pytest.mark.long
def test_draws_confirm_a_step_of_smaller_evidence() -> None:
    """A fall by 30 % in a single run has an e-value below 1,000, which at most 2 of 3,030 draws reach."""
    steps = []
    for seed in range(4):
        detector = StepDetector()
        *before, last = make_fall(seed, 21, 0.3)
        detector.resume(before)
        steps.append(detector.add(last))
    assert all(step is not None and 19 <= step.start <= 20 for step in steps)
    assert any(step.evidence < 1000 for step in steps if step is not None)


@pytest.mark.long
def test_draws_confirm_hardly_any_step_without_a_change() -> None:
    """Of 300 looks at different runs, 0.3 may be expected to show a step, and 3 with a probability of 0.4 %."""
    steps = 0
    for seed in range(300):
        detector = StepDetector()
        *before, last = make_fall(seed, 10, 0.0)
        detector.resume(before)
        steps += detector.add(last) is not None
    assert steps < 3


@pytest.mark.long
@pytest.mark.parametrize("most_sums", [1, 100])
def test_draws_reach_evidence_as_often_as_all_orders_do(most_sums: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the 735 orders of two cases, a share reaches 1.2. Of 4,000 draws, about the same share does, within 4 errors.

    The sums of a case are drawn length by length, or for all lengths at once.
    """
    monkeypatch.setattr("fairtrial.stats.shuffled_runs._MOST_SUMS", most_sums)
    shuffled_runs._divide.cache_clear()
    ours, theirs = ([place in ones for place in range(7)] for ones in ((0, 1), (0, 1, 2)))
    orders = [set(permutations(own)) for own in (ours, theirs)]
    reached = [
        shows_step([{0: (float(left), 1), 1: (float(right), 1)} for left, right in zip(*order, strict=True)], 1.2)
        for order in product(*orders)
    ]
    runs = [{0: (float(left), 1), 1: (float(right), 1)} for left, right in zip(ours, theirs, strict=True)]
    shuffled = shuffled_runs.ShuffledRuns(runs)
    share = sum(reached) / len(reached)
    drawn = sum(shuffled.reach(1.2) for _ in range(4000)) / 4000
    shuffled_runs._divide.cache_clear()
    assert len(reached) == 735
    assert 0.01 < share < 0.99
    assert abs(drawn - share) < 4 * (share * (1 - share) / 4000) ** 0.5


@pytest.mark.long
def test_the_order_of_cases_does_not_matter_to_draws() -> None:
    """The same runs give the same answer."""
    *before, last = make_fall(1, 21, 0.3)
    answers = []
    for reverse in (False, True):
        detector = StepDetector()
        detector.resume([dict(sorted(run.items(), reverse=reverse)) for run in before])
        answers.append(detector.add(last))
    first, second = answers
    assert first is not None
    assert second is not None
    assert (first.start, first.alarm, first.evidence) == pytest.approx((second.start, second.alarm, second.evidence))
