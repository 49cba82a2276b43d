"""Situations with a known truth, to count how often an interval holds it. The bench of intervals uses them too."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import fmean

from fairtrial.stats.interval import (
    Interval,
    bounded_interval,
    logarithmic_interval,
    student_interval,
    wilson,
)

SIZES = (3, 5, 10, 20, 50)
"""Numbers of cases in an eval set of pass rates."""

Draw = Callable[[random.Random], float]
Rule = Callable[[list[float]], Interval | None]


@dataclass(frozen=True)
class Situation:
    """Cases whose values are drawn independently of each other; `truth` is what their mean estimates."""

    name: str
    cases: int
    truth: float
    draw: Draw
    rule: Rule
    usual: Rule

    def coverage(self, repetitions: int, *, seed: int) -> tuple[float, float]:
        """Return how often the rule, and how often the usual method, holds the truth."""
        source = random.Random(f"{seed} {self.name} {self.cases}")
        held = usual = 0
        for _ in range(repetitions):
            cases = [self.draw(source) for _ in range(self.cases)]
            held += _holds(self.rule(cases), self.truth)
            usual += _holds(self.usual(cases), self.truth)
        return held / repetitions, usual / repetitions


def _holds(interval: Interval | None, truth: float) -> bool:
    # Without an interval nothing is promised: only cases that are all equal and unbounded have none.
    return interval is not None and interval[0] <= truth <= interval[1]


def rates() -> Iterator[Situation]:
    """Pass rates: the chance of a case is Beta, so that its attempts agree more with each other than with others."""
    for mean in (0.5, 0.8, 0.9, 0.97):
        for attempts in (1, 4, 16):
            for correlation in (0.0,) if attempts == 1 else (0.0, 0.3, 0.7):
                for cases in SIZES:
                    yield rate(mean, attempts, correlation, cases)


def rate(mean: float, attempts: int, correlation: float, cases: int) -> Situation:
    """Pass rates of cases with an intraclass correlation; the usual method is Wilson's over all attempts."""

    def draw(source: random.Random) -> float:
        chance = mean
        if correlation:
            size = 1 / correlation - 1
            chance = source.betavariate(mean * size, (1 - mean) * size)
        return sum(source.random() < chance for _ in range(attempts)) / attempts

    return Situation(
        f"pass rate {mean}, {attempts} attempts, correlation {correlation}",
        cases,
        mean,
        draw,
        lambda values: bounded_interval(values, attempts=attempts * cases),
        lambda values: wilson(fmean(values), attempts * cases, 1.959963984540054),
    )


def means() -> Iterator[Situation]:
    """Graded criteria: overlaps of texts, four rubrics, and scores that are mostly perfect; the usual method is t."""
    for cases in (10, 20, 50, 200):
        for name, truth, draw in (
            ("overlap of texts, Beta(5, 3)", 5 / 8, lambda source: source.betavariate(5, 3)),
            ("four rubrics, Binomial(4, Beta(9, 1)) / 4", 0.9, _four_rubrics),
            ("70 % ones, else Beta(4, 2)", 0.7 + 0.3 * 4 / 6, _mostly_ones),
        ):
            yield Situation(name, cases, truth, draw, bounded_interval, student_interval)


def amounts() -> Iterator[Situation]:
    """Seconds and tokens, whose errors are ratios; the usual method is t."""
    for cases in (5, 10, 20, 50, 200):
        for name, truth, draw in (
            ("log-normal, sigma 0.5", math.exp(0.125), lambda source: source.lognormvariate(0, 0.5)),
            ("log-normal, sigma 1", math.exp(0.5), lambda source: source.lognormvariate(0, 1)),
            ("Gamma(2)", 2.0, lambda source: source.gammavariate(2, 1)),
        ):
            yield Situation(name, cases, truth, draw, logarithmic_interval, student_interval)


def unseen() -> Situation:
    """The limit of every method: 3 % of the cases fail wholly, the others hardly vary, and 50 cases are tried."""

    def draw(source: random.Random) -> float:
        return 0.0 if source.random() < 0.03 else source.betavariate(95, 5)

    return Situation("3 % fail wholly, else Beta(95, 5)", 50, 0.97 * 0.95, draw, bounded_interval, student_interval)


def _four_rubrics(source: random.Random) -> float:
    chance = source.betavariate(9, 1)
    return sum(source.random() < chance for _ in range(4)) / 4


def _mostly_ones(source: random.Random) -> float:
    return 1.0 if source.random() < 0.7 else source.betavariate(4, 2)
