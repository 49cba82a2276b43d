"""Pairs of runs and repeated attempts with a known truth, for the coverage of intervals and the errors of claims.

The bench of comparisons uses them too. Each function returns shares of repetitions.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from fairtrial.stats.difference import Difference, paired_difference
from fairtrial.stats.evidence import Evidence, Gambler, Strategy, choose_strategy
from fairtrial.stats.fixed_cases import case_sample, fixed_difference, fixed_interval
from fairtrial.stats.interval import Interval, student_interval, wilson
from fairtrial.stats.one_sided import difference_limits
from fairtrial.stats.pass_k import all_pass, pass_k_interval
from fairtrial.stats.sample_size import cases_to_detect

Z = 1.959963984540054
Pair = tuple[float, float]


@dataclass(frozen=True)
class Comparison:
    """Cases with a value in both runs. `truth` is the expected difference."""

    name: str
    cases: int
    truth: float
    draw: Callable[[random.Random], Pair]

    def shares(self, repetitions: int, *, seed: int) -> tuple[float, float, float]:
        """Return the coverage of the interval, the larger one-sided error at 5 %, and the coverage of plain t."""
        source = random.Random(f"{seed} {self.name} {self.cases}")
        held = usual = above = below = 0
        for _ in range(repetitions):
            pairs = [self.draw(source) for _ in range(self.cases)]
            differences = [after - before for before, after in pairs]
            found = paired_difference(differences)
            held += _holds(None if found is None else found.interval(), self.truth)
            limits = difference_limits(differences, 0.05)
            above += limits is not None and limits.low > self.truth + 1e-9
            below += limits is not None and limits.high < self.truth - 1e-9
            usual += _holds(student_interval(differences), self.truth)
        return held / repetitions, max(above, below) / repetitions, usual / repetitions


def _holds(interval: Interval | None, truth: float) -> bool:
    return interval is not None and interval[0] <= truth <= interval[1]


def comparisons() -> Iterator[Comparison]:
    """Pass rates of which a share of the cases changed, and graded criteria."""
    for cases in (10, 20, 50, 200):
        for attempts, size, share in (
            (1, 1, 0.1),
            (1, 1, 0.4),
            (4, 1, 0.1),
            (4, 1, 0.5),
            (4, 0.1, 0.05),
            (4, 0.1, 0.2),
        ):
            yield changed_cases(cases, attempts, size, share)
        for name, truth, draw in (
            ("overlap of texts, no difference", 0.0, _texts),
            ("four rubrics, 5 % worse", -0.05 * 0.9, _rubrics),
            ("5 % of the cases drop to 0", -0.05 * 0.9, _drops),
        ):
            yield Comparison(name, cases, truth, draw)


def changed_cases(cases: int, attempts: int, size: float, share: float) -> Comparison:
    """Chances from Beta(0.8 k, 0.2 k). A share of the candidate's cases is drawn from Beta(0.6 k, 0.4 k)."""

    def draw(source: random.Random) -> Pair:
        before = after = source.betavariate(0.8 * size, 0.2 * size)
        if source.random() < share:
            after = source.betavariate(0.6 * size, 0.4 * size)
        passes = [sum(source.random() < chance for _ in range(attempts)) / attempts for chance in (before, after)]
        return passes[0], passes[1]

    name = f"pass rate, {attempts} attempts, k = {size}, {share:.0%} of the cases changed"
    return Comparison(name, cases, -0.2 * share, draw)


def _texts(source: random.Random) -> Pair:
    quality = source.betavariate(5, 3)
    size = 10
    values = [source.betavariate(size * quality, size * (1 - quality)) for _ in range(2)]
    return values[0], values[1]


def _rubrics(source: random.Random) -> Pair:
    chance = source.betavariate(9, 1)
    values = [sum(source.random() < own for _ in range(4)) / 4 for own in (chance, 0.95 * chance)]
    return values[0], values[1]


def _drops(source: random.Random) -> Pair:
    value = source.betavariate(9, 1)
    return value, 0.0 if source.random() < 0.05 else value


@dataclass(frozen=True)
class FixedCases:
    """Cases with fixed chances, of which only the attempts are random."""

    a: float
    b: float
    cases: int
    attempts: int

    @property
    def name(self) -> str:
        """The chances and the attempts."""
        return f"chances from Beta({self.a}, {self.b}), {self.attempts} attempts"

    def shares(self, repetitions: int, *, seed: int) -> tuple[float, float]:
        """Return how often the interval of one run, and of the difference of two runs, holds the truth."""
        source = random.Random(f"{seed} {self.name} {self.cases}")
        chances = [[source.betavariate(self.a, self.b) for _ in range(self.cases)] for _ in range(2)]
        truths = [fmean(run) for run in chances]
        held = pair_held = 0
        for _ in range(repetitions):
            runs = [
                [case_sample([float(source.random() < chance) for _ in range(self.attempts)]) for chance in run]
                for run in chances
            ]
            held += _holds(fixed_interval(runs[0]), truths[0])
            difference = fixed_difference(*runs)
            pair_held += _holds(None if difference is None else difference.interval(), truths[1] - truths[0])
        return held / repetitions, pair_held / repetitions


def fixed_cases() -> Iterator[FixedCases]:
    """Chances that are nearly 0 or 1, spread, high, and all a half."""
    for a, b in ((0.3, 0.1), (2, 1), (8, 1), (50, 50)):
        for cases in (10, 50, 200):
            for attempts in (2, 4, 8):
                yield FixedCases(a, b, cases, attempts)


@dataclass(frozen=True)
class PassK:
    """pass^k of cases whose chances are from a Beta distribution."""

    a: float
    b: float
    cases: int
    attempts: int
    k: int

    @property
    def name(self) -> str:
        """The chances."""
        return f"chances from Beta({self.a}, {self.b}), {self.attempts} attempts"

    @property
    def truth(self) -> float:
        """The k-th moment of the Beta distribution."""
        return math.prod((self.a + i) / (self.a + self.b + i) for i in range(self.k))

    def shares(self, repetitions: int, *, seed: int) -> tuple[float, float]:
        """Return how often the interval, and how often plain t, holds the truth."""
        source = random.Random(f"{seed} {self.name} {self.cases} {self.k}")
        held = usual = 0
        for _ in range(repetitions):
            shares = []
            for _ in range(self.cases):
                chance = source.betavariate(self.a, self.b)
                passed = sum(source.random() < chance for _ in range(self.attempts))
                shares.append(all_pass(passed, self.attempts, self.k))
            held += _holds(pass_k_interval(shares, self.cases * self.attempts, self.k), self.truth)
            usual += _holds(student_interval(shares), self.truth)
        return held / repetitions, usual / repetitions


def pass_ks() -> Iterator[PassK]:
    """Agents that fail often, that pass often, and that nearly always do the same."""
    for a, b in ((0.5, 0.7), (2, 1), (0.2, 0.05)):
        for cases in (20, 50, 200):
            for attempts in (4, 8):
                for k in (1, 2, attempts):
                    yield PassK(a, b, cases, attempts, k)


def false_claims(chances: Sequence[float], limit: float, waves: int, repetitions: int, *, seed: int) -> Pair:
    """Return how often "the mean is above the limit" is ever claimed, by evidence and by Wilson after each wave.

    The claim is false if the mean of the chances is not above the limit.
    """
    source = random.Random(f"{seed} {len(chances)} {limit} {waves}")
    threshold = math.log(20)
    claimed = usual = 0
    for _ in range(repetitions):
        evidence = Evidence(limit, len(chances), choose_strategy(limit, len(chances)))
        passed = attempts = 0
        by_evidence = by_wilson = False
        for _ in range(waves):
            wave = [float(source.random() < chance) for chance in chances]
            passed, attempts = passed + int(sum(wave)), attempts + len(wave)
            if not by_evidence:
                evidence.add(wave)
                by_evidence = evidence.log >= threshold
            by_wilson = by_wilson or wilson(passed / attempts, attempts, 1.6448536269514722)[0] > limit
        claimed += by_evidence
        usual += by_wilson
    return claimed / repetitions, usual / repetitions


def waves_to_decide(a: float, b: float, limit: float, cases: int, repetitions: int, *, seed: int) -> Pair:
    """Return the mean number of waves until "the mean is above the limit" is claimed, at most 30, and the fewest.

    The chances are drawn from Beta(a, b) until their mean is that of the distribution, to 0.005. The fewest waves are
    those of a gambler that knows the rate: if all cases are alike, its wealth is the ratio of the likelihoods.
    """
    rate = a / (a + b)
    best = Strategy((Gambler((rate - limit) / (1 - limit), 0.0),))
    waves = [0, 0]
    for side, strategy in enumerate((choose_strategy(limit, cases), best)):
        source = random.Random(f"{seed} {a} {b} {limit}")
        for _ in range(repetitions):
            chances = [0.0]
            while abs(fmean(chances) - rate) > 0.005:
                chances = [source.betavariate(a, b) for _ in range(cases)]
            evidence = Evidence(limit, cases, strategy)
            for wave in range(1, 31):
                evidence.add([float(source.random() < chance) for chance in chances])
                if evidence.log >= math.log(20) or wave == 30:
                    waves[side] += wave
                    break
    return waves[0] / repetitions, waves[1] / repetitions


def power(before: float, after: float, attempts: int, repetitions: int, *, seed: int) -> tuple[int, float, float]:
    """Return the planned cases for a change of pass rates, the power of that plan, and of plain t with as many cases.

    The chances of a case are Beta with an intraclass correlation of 0.3, and correlate by a half between the runs.
    """
    source = random.Random(f"{seed} {before} {after} {attempts}")
    rate, correlation = (before + after) / 2, 0.3
    case, attempt = rate * (1 - rate) * correlation, rate * (1 - rate) * (1 - correlation)
    variance = 2 * case * 0.5 + 2 * attempt / attempts
    planned = cases_to_detect(abs(after - before), variance, 1) or 0
    found = usual = 0
    for _ in range(repetitions):
        differences = [_difference(source, before, after, attempts) for _ in range(planned)]
        paired: Difference | None = paired_difference(differences)
        found += paired is not None and paired.p < 0.05
        interval = student_interval(differences)
        usual += interval is not None and not interval[0] <= 0 <= interval[1]
    return planned, found / repetitions, usual / repetitions


def _difference(source: random.Random, before: float, after: float, attempts: int) -> float:
    size = 1 / 0.3 - 1
    chances = [source.betavariate(rate * size, (1 - rate) * size) for rate in (before, after)]
    if source.random() < 0.5:  # the case keeps its place among the chances
        first = chances[0]
        chances[1] = first * after / before if after < before else 1 - (1 - first) * (1 - after) / (1 - before)
    values = [sum(source.random() < chance for _ in range(attempts)) / attempts for chance in chances]
    return values[1] - values[0]
