"""The posterior over commits, and the choice of the next one."""

from __future__ import annotations

import random
import statistics

import pytest

from fairtrial.stats.change_point import GAP, GOOD, ChangePoint, Outcomes


def line(commits: int) -> ChangePoint:
    """A history without merges."""
    return ChangePoint([(2 << place) - 1 for place in range(commits)])


def test_without_outcomes_between_the_ends_each_commit_is_equally_probable() -> None:
    """The ends are before and after the change, whichever commit brought it."""
    point = line(4)
    point.add(GOOD, "a", Outcomes(5, 0))
    point.add(3, "a", Outcomes(0, 5))
    assert point.posterior() == pytest.approx([0.25] * 4)


def test_a_failure_between_the_ends_speaks_for_an_earlier_commit() -> None:
    """And a pass for a later one."""
    for outcomes, is_earlier in ((Outcomes(0, 2), True), (Outcomes(2, 0), False)):
        point = line(4)
        point.add(GOOD, "a", Outcomes(5, 0))
        point.add(3, "a", Outcomes(0, 5))
        point.add(1, "a", outcomes)
        posterior = point.posterior()
        assert (sum(posterior[:2]) > 0.9) == is_earlier
        assert sum(posterior) == pytest.approx(1)
        assert posterior[0] == pytest.approx(posterior[1])


def test_ends_that_may_be_alike_run_again() -> None:
    """One attempt at each does not show which of two cases changed."""
    point = line(4)
    for case in ("a", "b"):
        point.add(GOOD, case, Outcomes(1, 0))
        point.add(3, case, Outcomes(0, 1))
    tests = point.next_tests(point.posterior(), 0.95)
    assert [(test.place, test.cases) for test in tests] == [(GOOD, ("a", "b")), (3, ("a", "b"))]


def test_ends_that_are_alike_so_far_run_again() -> None:
    """No commit between them tells anything about a case that passed at both."""
    point = line(4)
    point.add(GOOD, "a", Outcomes(1, 0))
    point.add(3, "a", Outcomes(1, 0))
    assert [test.place for test in point.next_tests(point.posterior(), 0.95)] == [GOOD, 3]


@pytest.mark.parametrize(("attempts", "is_known"), [(10, False), (60, True)])
def test_ends_that_always_fail_are_alike_after_enough_attempts(attempts: int, is_known: bool) -> None:
    """Then nothing runs any more. Of ends with other rates it is never known."""
    point, other = line(4), line(4)
    for place, passed in ((GOOD, attempts), (3, attempts // 2)):
        point.add(place, "a", Outcomes(0, attempts))
        other.add(place, "a", Outcomes(passed, attempts - passed))
    assert point.are_ends_alike(point.posterior(), 0.95) == is_known
    assert (point.next_tests(point.posterior(), 0.95) == []) == is_known
    assert not other.are_ends_alike(other.posterior(), 0.95)


def test_the_chance_of_a_gap_is_that_of_drawn_rates() -> None:
    """Counted over pairs of rates of Jeffreys' prior, weighted by how probable they make the outcomes."""
    point, rng = line(1), random.Random(1)
    point.add(GOOD, "a", Outcomes(9, 1))
    point.add(0, "a", Outcomes(8, 2))
    weights = {True: 0.0, False: 0.0}
    for _ in range(100_000):
        before, after = (rng.betavariate(0.5, 0.5) for _ in range(2))
        is_lower = 0.9 if after < before else 0.1
        weights[abs(before - after) >= GAP] += 2 * is_lower * before**9 * (1 - before) * after**8 * (1 - after) ** 2
        weights[False] += before**17 * (1 - before) ** 3
    share = weights[True] / sum(weights.values())
    assert point.chance_of_gap([1.0]) == pytest.approx(share, abs=0.02)


def test_a_single_case_runs_between_the_ends_before_they_are_known_to_differ() -> None:
    """What it tells there counts for both questions: which commit, and whether there is a change."""
    point = line(8)
    point.add(GOOD, "a", Outcomes(3, 0))
    point.add(7, "a", Outcomes(1, 2))
    (test,) = point.next_tests(point.posterior(), 0.95)
    assert test.place not in (GOOD, 7)


def test_the_case_that_changed_runs_in_the_middle() -> None:
    """A case that is the same at both ends tells nothing."""
    point = line(8)
    for place, passed in ((GOOD, 10), (7, 0)):
        point.add(place, "broken", Outcomes(passed, 10 - passed))
        point.add(place, "steady", Outcomes(10, 0))
    (test, *_) = point.next_tests(point.posterior(), 0.95)
    assert test.cases == ("broken",)
    assert test.place in (3, 4)


def test_commits_that_cannot_be_tested_are_not_chosen() -> None:
    """If none is left, nothing runs."""
    point = line(2)
    point.add(GOOD, "a", Outcomes(10, 0))
    point.add(1, "a", Outcomes(0, 10))
    point.untestable.add(0)
    assert point.next_tests(point.posterior(), 0.95) == []


def test_in_a_merge_the_other_branch_does_not_have_the_change() -> None:
    """Commits 0 and 1 are on two branches, and commit 2 merges them."""
    point = ChangePoint([0b001, 0b010, 0b111])
    point.add(GOOD, "a", Outcomes(10, 0))
    point.add(2, "a", Outcomes(0, 10))
    point.add(0, "a", Outcomes(0, 5))
    posterior = point.posterior()
    assert posterior[0] > 0.95


def find(seed: int) -> tuple[bool, int]:
    """Whether one of 64 commits that lowers a pass rate from 95 % to 70 % is found, and the attempts."""
    rng = random.Random(seed)
    truth, attempts, point = rng.randrange(64), 0, line(64)
    point.add(GOOD, "a", Outcomes(190, 10))
    point.add(63, "a", Outcomes(140, 60))
    while tests := point.next_tests(posterior := point.posterior(), 0.95):
        for test in tests:
            is_pass = rng.random() < (0.7 if test.place >= truth else 0.95)
            point.add(test.place, "a", Outcomes(int(is_pass), int(not is_pass)))
            attempts += 1
    return posterior.index(max(posterior)) == truth, attempts


@pytest.mark.long
def test_the_commit_is_found_with_about_a_third_of_the_attempts_of_plain_bisection() -> None:
    """Plain bisection with the best limit needs 264 attempts to be right in 95 % (benchmarks/bisection.py).

    The mean of 40 searches varies by about 6, so that two standard errors are allowed.
    """
    searches = [find(seed) for seed in range(40)]
    assert statistics.fmean(is_right for is_right, _ in searches) >= 0.9
    assert statistics.fmean(attempts for _, attempts in searches) <= 264 / 3 + 12
