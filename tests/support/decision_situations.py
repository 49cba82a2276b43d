"""Situations with a known truth, in which the errors of decisions and the coverage of intervals are counted.

Finite situations are summed over every outcome. The others are drawn at random with a fixed seed. Outcomes that occur
again are not computed again.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Literal

from fairtrial.stats.agreement import (
    Statistic,
    agreement_interval,
    alpha,
    kappa,
    make_table,
    matthews,
    quadratic_kappa,
)
from fairtrial.stats.correction import Judged, Labelled, corrected_mean
from fairtrial.stats.difference import paired_difference
from fairtrial.stats.evidence import Evidence, choose_strategy
from fairtrial.stats.fixed_cases import CaseSample, fixed_difference, fixed_interval
from fairtrial.stats.interval import bounded_interval, logarithmic_interval
from fairtrial.stats.one_sided import difference_limits, fixed_difference_limits, fixed_limits, mean_limits
from fairtrial.stats.sample_size import cases_to_detect

ALPHA = 0.05
Kind = Literal["error", "coverage", "power"]
Draw = Callable[[random.Random, int], list[float]]
"""Case values of a number of cases."""


@dataclass(frozen=True)
class Situation:
    """A decision with what is said of it: an error, a coverage or a power.

    `share` returns the true figure, from a number of repetitions if it cannot be summed. `impossible` says why no
    method keeps its word there.
    """

    command: str
    name: str
    kind: Kind
    share: Callable[[int], float]
    exact: bool = False
    impossible: str = ""

    @property
    def said(self) -> float:
        """The figure that the command states."""
        return {"error": ALPHA, "coverage": 0.95, "power": 0.8}[self.kind]

    def holds(self, true: float, repetitions: int) -> bool:
        """Return whether the true figure is near enough: errors to a tenth, coverage to 0.93, power in 0.78 to 0.9."""
        noise = 0 if self.exact else 3 * math.sqrt(max(true * (1 - true), 0.01) / repetitions)
        if self.kind == "error":
            return true <= 1.1 * ALPHA + noise
        return true >= 0.93 - noise if self.kind == "coverage" else 0.78 - noise <= true <= 0.9 + noise


def _exactly(chance: Callable[..., float], *arguments: float) -> Callable[[int], float]:
    return lambda _repetitions: chance(*arguments)


def _part(share: Callable[[int], float], divisor: int, repetitions: int) -> float:
    return share(repetitions // divisor)


def _worst_moves_error(cases: int, fixes: float) -> float:
    """Return the highest error over drops just below those that a result of up to 14 broken cases still allows."""
    ends = {-_moves_low(broken, fixed, cases) for fixed in range(3) for broken in range(min(15, cases - fixed))}
    drops = (end - 1e-7 for end in ends if end * cases < 16 and end + 2 * fixes / cases < 0.9)
    return max(_moves_error(cases, drop, fixes / cases) for drop in drops)


def _share(events: Callable[[random.Random], bool], name: str, repetitions: int) -> float:
    source = random.Random(name)
    return sum(events(source) for _ in range(repetitions)) / repetitions


def _binomial(successes: int, trials: int, chance: float) -> float:
    return math.comb(trials, successes) * chance**successes * (1 - chance) ** (trials - successes)


def _passes(passed: int, cases: int) -> list[float]:
    return [1.0] * passed + [0.0] * (cases - passed)


# Gates on one run


@cache
def _rate_limits(passed: int, cases: int) -> tuple[float, float]:
    limits = mean_limits(_passes(passed, cases), ALPHA, attempts=cases)
    assert limits is not None
    return limits.low, limits.high


def _rate_error(cases: int, limit: float, *, failed: bool) -> float:
    wrong = (
        k
        for k in range(cases + 1)
        if (_rate_limits(k, cases)[1] < limit if failed else _rate_limits(k, cases)[0] > limit)
    )
    return sum(_binomial(k, cases, limit) for k in wrong)


def _worst_rate_error(cases: int, *, failed: bool) -> float:
    ends = (_rate_limits(k, cases)[failed] for k in range(cases + 1))
    shift = -1e-9 if failed else 1e-9
    return max(_rate_error(cases, end + shift, failed=failed) for end in ends if 0 < end < 1)


def rate_gates() -> Iterator[Situation]:
    """Gates on pass rates of single attempts, with the truth exactly at the limit."""
    for cases, limit in ((10, 0.981), (20, 0.99), (100, 0.998)):
        yield Situation(
            "gate --at-least, failed", f"{cases} cases, limit {limit:g}", "error",
            _exactly(partial(_rate_error, failed=True), cases, limit), exact=True,
        )  # fmt: skip
    for cases, limit in ((54, 0.95), (100, 0.973)):
        yield Situation(
            "gate --at-least, passed", f"{cases} cases, limit {limit:g}", "error",
            _exactly(partial(_rate_error, failed=False), cases, limit), exact=True,
        )  # fmt: skip
    for cases in (10, 50, 100, 200):
        for failed in (False, True):
            yield Situation(
                f"gate --at-least, {'failed' if failed else 'passed'}", f"{cases} cases, the worst limit", "error",
                _exactly(partial(_worst_rate_error, failed=failed), cases), exact=True,
            )  # fmt: skip


def _drops(share: float, low: Callable[[random.Random], float], high: Callable[[random.Random], float]) -> Draw:
    def draw(source: random.Random, cases: int) -> list[float]:
        return [low(source) if source.random() < share else high(source) for _ in range(cases)]

    return draw


def _chances(rate: float, size: float, attempts: int) -> Draw:
    def draw(source: random.Random, cases: int) -> list[float]:
        values = []
        for _ in range(cases):
            chance = source.betavariate(rate * size, (1 - rate) * size) if size < 1e6 else rate
            values.append(sum(source.random() < chance for _ in range(attempts)) / attempts)
        return values

    return draw


GRADED: dict[str, tuple[Draw, float]] = {
    "10 % in 0 … 0.2, else 0.9 … 1": (_drops(0.1, lambda r: r.uniform(0, 0.2), lambda r: r.uniform(0.9, 1)), 0.865),
    "15 % fail, else 0.8": (_drops(0.15, lambda _: 0.0, lambda _: 0.8), 0.68),
    "3 % fail, else Beta(95, 5)": (_drops(0.03, lambda _: 0.0, lambda r: r.betavariate(95, 5)), 0.97 * 0.95),
    "5 % fail, else 0.8": (_drops(0.05, lambda _: 0.0, lambda _: 0.8), 0.76),
    "Beta(20, 1)": (lambda r, n: [r.betavariate(20, 1) for _ in range(n)], 20 / 21),
    "Beta(5, 3)": (lambda r, n: [r.betavariate(5, 3) for _ in range(n)], 5 / 8),
    "70 % ones, else Beta(4, 2)": (_drops(0.7, lambda _: 1.0, lambda r: r.betavariate(4, 2)), 0.9),
    "normal, 0.5 ± 0.1": (lambda r, n: [min(1.0, max(0.0, r.gauss(0.5, 0.1))) for _ in range(n)], 0.5),
}


def graded_gates() -> Iterator[Situation]:
    """Gates on graded scores, with the truth exactly at the limit."""
    for name, cases in (
        ("10 % in 0 … 0.2, else 0.9 … 1", 10),
        ("10 % in 0 … 0.2, else 0.9 … 1", 20),
        ("3 % fail, else Beta(95, 5)", 50),
        ("5 % fail, else 0.8", 50),
        ("Beta(5, 3)", 20),
        ("70 % ones, else Beta(4, 2)", 30),
    ):
        draw, truth = GRADED[name]

        def passed(source: random.Random, draw: Draw = draw, truth: float = truth, cases: int = cases) -> bool:
            limits = mean_limits(draw(source, cases), ALPHA)
            return limits is not None and limits.low > truth + 1e-9

        yield Situation(
            "gate --at-least, passed", f"scores, {name}, {cases} cases", "error",
            partial(_share, passed, f"{name} {cases}"),
        )  # fmt: skip


# Gates: --not-worse-by


@cache
def _moves_low(broken: int, fixed: int, cases: int) -> float:
    limits = difference_limits([-1.0] * broken + [1.0] * fixed + [0.0] * (cases - broken - fixed), ALPHA)
    assert limits is not None
    return limits.low


def _moves_error(cases: int, drop: float, fixes: float) -> float:
    breaks = fixes + drop
    most = min(cases, round(cases * breaks + 12 * math.sqrt(cases * breaks)) + 5)
    error = 0.0
    for broken in range(most + 1):
        for fixed in range(min(25, cases - broken) + 1 if fixes else 1):
            if _moves_low(broken, fixed, cases) > -drop + 1e-12:
                ways = math.comb(cases, broken) * math.comb(cases - broken, fixed)
                error += ways * breaks**broken * fixes**fixed * (1 - breaks - fixes) ** (cases - broken - fixed)
    return error


MOVES: dict[str, tuple[Draw, float]] = {
    "noise 0.01, 5 % drop by 0.9": (_drops(0.05, lambda r: r.gauss(-0.9, 0.01), lambda r: r.gauss(0, 0.01)), -0.045),
    "noise 0.05, 10 % drop by 0.8": (_drops(0.1, lambda r: r.gauss(-0.8, 0.05), lambda r: r.gauss(0, 0.05)), -0.08),
    "noise 0.2": (lambda r, n: [min(1.0, max(-1.0, r.gauss(0, 0.2))) for _ in range(n)], 0.0),
    "noise 0.2, shift 0.16": (lambda r, n: [min(1.0, max(-1.0, r.gauss(0.16, 0.2))) for _ in range(n)], 0.16),
    "noise 0.2, shift 0.1": (lambda r, n: [min(1.0, max(-1.0, r.gauss(0.1, 0.2))) for _ in range(n)], 0.1),
    "9 of 10 gain 0.1, one drops by 0.9": (
        _drops(0.1, lambda r: r.gauss(-0.9, 0.01), lambda r: r.gauss(0.1, 0.01)), 0.0,
    ),
    "4 attempts, 5 % break": (
        lambda r, n: [
            (sum(r.random() < after for _ in range(4)) - sum(r.random() < 0.95 for _ in range(4))) / 4
            for after in (0.0 if r.random() < 0.05 else 0.95 for _ in range(n))
        ],
        -0.0475,
    ),
    "4 attempts, all from 0.8 to 0.65": (
        lambda r, n: [
            (sum(r.random() < 0.65 for _ in range(4)) - sum(r.random() < 0.8 for _ in range(4))) / 4 for _ in range(n)
        ],
        -0.15,
    ),
}  # fmt: skip


def difference_gates() -> Iterator[Situation]:
    """Gates on a difference of two runs, with the truth exactly at the limit."""
    for cases, drop in ((50, 0.05), (200, 0.02)):
        yield Situation(
            "gate --not-worse-by, passed", f"{cases} cases, {drop:.0%} break", "error",
            _exactly(_moves_error, cases, drop, 0.0), exact=True,
        )  # fmt: skip
    for cases in (10, 50, 100, 200, 500, 2000):
        for fixes in (0.0, 0.5, 1.5) if cases >= 500 else (0.0, 0.5, 1.0):
            yield Situation(
                "gate --not-worse-by, passed",
                f"{cases:,} cases, {fixes:g} fixed on average, the worst limit",
                "error",
                _exactly(_worst_moves_error, cases, fixes),
                exact=True,
            )  # fmt: skip
    for name, cases in (
        ("noise 0.01, 5 % drop by 0.9", 10),
        ("noise 0.01, 5 % drop by 0.9", 20),
        ("noise 0.01, 5 % drop by 0.9", 50),
        ("noise 0.2", 20),
        ("4 attempts, 5 % break", 20),
        ("9 of 10 gain 0.1, one drops by 0.9", 20),
    ):
        draw, truth = MOVES[name]

        def passed(source: random.Random, draw: Draw = draw, truth: float = truth, cases: int = cases) -> bool:
            limits = difference_limits([max(-1.0, move) for move in draw(source, cases)], ALPHA)
            return limits is not None and limits.low > truth + 1e-9

        yield Situation(
            "gate --not-worse-by, passed", f"scores, {name}, {cases} cases", "error",
            partial(_share, passed, f"{name} {cases}"),
        )  # fmt: skip


# About these cases


@cache
def _sample(passed: int, attempts: int) -> CaseSample:
    rate = passed / attempts
    return CaseSample(rate, rate * (1 - rate) * attempts / (attempts - 1), attempts)


def _run(source: random.Random, chances: Sequence[float], attempts: Sequence[int]) -> list[CaseSample]:
    return [
        _sample(sum(source.random() < chance for _ in range(number)), number)
        for chance, number in zip(chances, attempts, strict=True)
    ]


FIXED: dict[str, tuple[list[float], list[int]]] = {
    "10 cases x 2, two x 200": ([0.5] * 12, [2] * 10 + [200] * 2),
    "10 cases x 2, two x 20": ([0.5] * 12, [2] * 10 + [20] * 2),
    "18 cases x 3, two x 30": ([0.5] * 20, [3] * 18 + [30] * 2),
    "12 cases, 0.3 … 1, x 2, two x 20 and 30": ([0.3 + 0.7 * n / 11 for n in range(12)], [2] * 10 + [20, 30]),
    "20 cases x 4, 0.95": ([0.95] * 20, [4] * 20),
    "10 cases x 8, 0.5": ([0.5] * 10, [8] * 10),
}


def fixed_claims() -> Iterator[Situation]:
    """Claims and intervals about these cases."""
    for name, (chances, attempts) in FIXED.items():
        truth = sum(chances) / len(chances)

        def fails(source: random.Random, c: Any = chances, m: Any = attempts, truth: float = truth) -> bool:
            limits = fixed_limits(_run(source, c, m), ALPHA)
            return limits is not None and limits.high < truth - 1e-9

        def worse(source: random.Random, c: Any = chances, m: Any = attempts, truth: float = truth) -> bool:
            perfect = [_sample(number, number) for number in m]
            limits = fixed_difference_limits(perfect, _run(source, c, m), ALPHA)
            return limits is not None and limits.low > truth - 1 + 1e-9

        def held(source: random.Random, c: Any = chances, m: Any = attempts, truth: float = truth) -> bool:
            low, high = fixed_interval(_run(source, c, m)) or (1.0, 0.0)
            return low <= truth <= high

        def difference_held(source: random.Random, c: Any = chances, m: Any = attempts) -> bool:
            difference = fixed_difference(_run(source, c, m), _run(source, c, m))
            assert difference is not None
            low, high = difference.interval()
            return low <= 0 <= high

        events: tuple[tuple[str, Kind, Callable[[random.Random], bool]], ...] = (
            ("gate --about these-cases, failed", "error", fails),
            ("gate --not-worse-by --about these-cases, passed", "error", worse),
            ("show --about these-cases", "coverage", held),
            ("compare --about these-cases", "coverage", difference_held),
        )
        for command, kind, event in events:
            yield Situation(command, name, kind, partial(_share, event, name))


# Intervals of one run


@cache
def _rate_interval(passed: int, cases: int) -> tuple[float, float]:
    return bounded_interval(_passes(passed, cases), attempts=cases) or (1.0, 0.0)


def _rate_coverage(cases: int, truth: float) -> float:
    held = (k for k in range(cases + 1) if _rate_interval(k, cases)[0] <= truth <= _rate_interval(k, cases)[1])
    return sum(_binomial(k, cases, truth) for k in held)


def intervals() -> Iterator[Situation]:
    """Intervals of pass rates, of scores and of seconds."""
    for cases, truth in ((100, 0.995), (100, 0.9983), (10, 0.985), (30, 0.97), (20, 0.5)):
        yield Situation(
            "show, pass rate", f"{cases} cases, {truth:g}", "coverage",
            _exactly(_rate_coverage, cases, truth), exact=True,
        )  # fmt: skip
    for rate, size, attempts, cases in (
        (0.9, 3 / 7, 16, 20),
        (0.9, 3 / 7, 4, 20),
        (0.995, 1 / 9, 4, 100),
        (0.5, 1, 4, 10),
        (0.97, 7 / 3, 16, 50),
    ):
        draw = _chances(rate, size, attempts)

        def held(source: random.Random, draw: Draw = draw, x: Any = (rate, attempts, cases)) -> bool:
            low, high = bounded_interval(draw(source, x[2]), attempts=x[1] * x[2]) or (1.0, 0.0)
            return bool(low <= x[0] <= high)

        name = f"{cases} cases, {rate:g}, {attempts} attempts, correlation {1 / (1 + size):.1f}"
        yield Situation("show, pass rate", name, "coverage", partial(_share, held, name))
    for name, (draw, truth) in GRADED.items():
        for cases in (5, 10, 20) if "fail" in name or "0.2" in name else (10,):

            def covered(source: random.Random, draw: Draw = draw, truth: float = truth, cases: int = cases) -> bool:
                low, high = bounded_interval(draw(source, cases)) or (1.0, 0.0)
                return low - 1e-9 <= truth <= high + 1e-9

            title = f"{name}, {cases} cases"
            yield Situation("show, scores", title, "coverage", partial(_share, covered, title))
    for sigma, cases in ((1.0, 10), (1.5, 30)):

        def timed(source: random.Random, sigma: float = sigma, cases: int = cases) -> bool:
            low, high = logarithmic_interval([source.lognormvariate(0, sigma) for _ in range(cases)]) or (1.0, 0.0)
            return low <= math.exp(sigma**2 / 2) <= high

        title = f"log-normal, sigma {sigma:g}, {cases} cases"
        yield Situation(
            "show, seconds", title, "coverage", partial(_share, timed, title),
            impossible="nothing bounds seconds: the few slow cases that decide the mean are often not there",
        )  # fmt: skip
    yield Situation("show, pass rate", "30 cases, 10 families of 3 near copies, 0.7", "coverage", _families,
                    impossible="copies are not told apart from other cases")  # fmt: skip


def _families(repetitions: int) -> float:
    def held(source: random.Random) -> bool:
        values = []
        for _ in range(10):
            first = float(source.random() < 0.7)
            values += [first if source.random() < 0.9 else float(source.random() < 0.7) for _ in range(3)]
        low, high = bounded_interval(values, attempts=30) or (1.0, 0.0)
        return low <= 0.7 <= high

    return _share(held, "families", repetitions)


# Comparisons


@cache
def _is_shown(moves: tuple[float, ...]) -> bool:
    difference = paired_difference(moves)
    return difference is not None and difference.p < ALPHA


def _rate_moves(cases: int, breaks: float, fixes: float) -> float:
    shown = 0.0
    for broken in range(cases + 1):
        for fixed in range(cases - broken + 1 if fixes else 1):
            ways = math.comb(cases, broken) * math.comb(cases - broken, fixed)
            chance = ways * breaks**broken * fixes**fixed * (1 - breaks - fixes) ** (cases - broken - fixed)
            if chance > 1e-9 and _is_shown((-1.0,) * broken + (0.0,) * (cases - broken - fixed) + (1.0,) * fixed):
                shown += chance
    return shown


def _balanced(share: float, drop: float, noise: float = 0.01) -> Draw:
    """Return cases of which a share drops, and the others gain so much that nothing changes on average."""
    gain = drop * share / (1 - share)
    return lambda r, n: [
        max(-1.0, r.gauss(-drop, noise) if r.random() < share else r.gauss(gain, noise)) for _ in range(n)
    ]


def _grown(source: random.Random, shape: float, mean: float) -> float:
    return mean - source.gammavariate(shape, mean / shape)


def _three(source: random.Random) -> float:
    before, after = (1.0, 1 / 3) if source.random() < 1 / 8 else (2 / 3, 2 / 3 + 2 / 21)
    passed = [sum(source.random() < chance for _ in range(3)) for chance in (before, after)]
    return (passed[1] - passed[0]) / 3


HELD_OUT: tuple[tuple[str, Draw, tuple[int, ...]], ...] = (
    ("12 % drop by 0.5, others gain", _balanced(0.12, 0.5), (30, 50, 95)),
    ("8 % drop by 0.8, others gain", _balanced(0.08, 0.8), (50, 95)),
    ("30 % drop by 0.5, others gain, noise 0.1", _balanced(0.3, 0.5, 0.1), (10, 18, 50)),
    ("losses of Gamma(2)", lambda r, n: [_grown(r, 2, 0.2) for _ in range(n)], (10, 30, 95)),
    ("losses of Beta(1, 4)", lambda r, n: [0.2 - r.betavariate(1, 4) for _ in range(n)], (10, 30, 95)),
    (
        "grades in steps of 0.5",
        lambda r, n: r.choices((-1.0, -0.5, 0.0, 0.5), (0.06, 0.14, 0.54, 0.26), k=n),
        (18, 50, 95),
    ),
    ("3 attempts, one case in eight falls", lambda r, n: [_three(r) for _ in range(n)], (30, 70, 95)),
)
"""Changes with a mean of 0, of which no method was tuned to any. At least three cases drop on average."""


def held_out() -> Iterator[Situation]:
    """False differences of runs in situations that were chosen before the test of signs met them."""
    for name, draw, sizes in HELD_OUT:
        for cases in sizes:

            def claimed(source: random.Random, draw: Draw = draw, cases: int = cases) -> bool:
                return _is_shown.__wrapped__(tuple(draw(source, cases)))

            title = f"held out: {name}, {cases} cases"
            yield Situation(
                "compare, no difference", title, "error", partial(_part, partial(_share, claimed, title), 4)
            )


def comparisons() -> Iterator[Situation]:
    """Comparisons of two runs: false differences, intervals, and the power that was planned."""
    for cases, share in ((10, 0.5), (20, 0.3), (40, 0.3), (40, 0.1), (120, 0.1)):
        yield Situation(
            "compare, no difference", f"pass or fail, {cases} cases, {share:.0%} differ", "error",
            _exactly(_rate_moves, cases, share / 2, share / 2), exact=True,
        )  # fmt: skip
    unseen = "one case in ten drops, and often none of them is there"
    for name, cases, why in (
        ("noise 0.2", 10, ""),
        ("noise 0.2", 30, ""),
        ("9 of 10 gain 0.1, one drops by 0.9", 10, unseen),
        ("9 of 10 gain 0.1, one drops by 0.9", 20, unseen),
        ("9 of 10 gain 0.1, one drops by 0.9", 30, ""),
        ("9 of 10 gain 0.1, one drops by 0.9", 50, ""),
    ):

        def claimed(source: random.Random, draw: Draw = MOVES[name][0], cases: int = cases) -> bool:
            return _is_shown.__wrapped__(tuple(draw(source, cases)))

        title = f"scores, {name}, {cases} cases"
        yield Situation("compare, no difference", title, "error", partial(_share, claimed, title),
                        impossible=why)  # fmt: skip
    for name, sizes in (
        ("noise 0.01, 5 % drop by 0.9", (5, 10, 30)),
        ("noise 0.05, 10 % drop by 0.8", (10, 30)),
        ("noise 0.2, shift 0.16", (14,)),
        ("noise 0.2", (10, 30)),
        ("4 attempts, 5 % break", (20,)),
        ("4 attempts, all from 0.8 to 0.65", (30,)),
    ):
        for cases in sizes:

            def held(source: random.Random, x: Any = (*MOVES[name], cases)) -> bool:
                difference = paired_difference(x[0](source, x[2]))
                low, high = difference.interval() if difference else (1.0, 0.0)
                return bool(low <= x[1] <= high)

            title = f"scores, {name}, {cases} cases"
            yield Situation("compare", title, "coverage", partial(_share, held, title))
    for drop in (0.05, 0.1, 0.15, 0.2):
        cases = cases_to_detect(drop, 0, 1) or 0
        yield Situation(
            "plan --detect", f"{drop:.0%} of cases that always passed break, {cases} cases", "power",
            _exactly(_rate_moves, cases, drop, 0.0), exact=True,
        )  # fmt: skip
    for name, shift in (("noise 0.2, shift 0.16", 0.16), ("noise 0.2, shift 0.1", 0.1)):
        cases = cases_to_detect(shift, 0.04, 0.6) or 0

        def found(source: random.Random, draw: Draw = MOVES[name][0], cases: int = cases) -> bool:
            return _is_shown.__wrapped__(tuple(draw(source, cases)))

        title = f"scores, {name}, {cases} cases"
        yield Situation("plan --detect", title, "power", partial(_share, found, title))


# Looking after every wave


def looks() -> Iterator[Situation]:
    """Claims of runs that stop as soon as one is decided, with the mean exactly at the limit."""
    for name, chances, limit in (
        ("20 cases with 0.6, 20 with 1", [0.6] * 20 + [1.0] * 20, 0.8),
        ("10 cases that never pass, 40 that always do", [0.0] * 10 + [1.0] * 40, 0.8),
        ("20 cases with 0.5", [0.5] * 20, 0.5),
        ("30 cases with 0.9", [0.9] * 30, 0.9),
    ):
        for side in ("passed", "failed"):

            def claims(source: random.Random, c: Any = chances, limit: float = limit, side: str = side) -> bool:
                at = limit if side == "passed" else 1 - limit
                evidence = Evidence(at, len(c), choose_strategy(at, len(c)))
                for _ in range(15):
                    wave = [source.random() < chance for chance in c]
                    evidence.add([float(value == (side == "passed")) for value in wave])
                    if evidence.log >= math.log(1 / ALPHA):
                        return True
                return False

            yield Situation(
                f"run --until-decided, {side}", f"{name}, limit {limit:g}, 15 looks", "error",
                partial(_part, partial(_share, claims, name), 10),
            )  # fmt: skip


# Judges


@cache
def _kappa_interval(counts: tuple[int, ...]) -> tuple[float, float] | None:
    pairs = [(i // 2, i % 2, 1.0) for i, count in enumerate(counts) for _ in range(count)]
    return agreement_interval(kappa, pairs, 2)


def _kappa_coverage(labels: int, rate: float, sensitivity: float, specificity: float) -> float:
    chances = (rate * sensitivity, rate * (1 - sensitivity), (1 - rate) * (1 - specificity), (1 - rate) * specificity)
    truth = kappa([chances[:2], chances[2:]]) or 0.0
    held = known = 0.0
    for a in range(labels + 1):
        for b in range(min(labels - a, labels // 2) + 1):
            for c in range(min(labels - a - b, labels // 2 - b) + 1):
                counts = (a, b, c, labels - a - b - c)
                chance = math.factorial(labels) * math.prod(
                    p**n / math.factorial(n) for p, n in zip(chances, counts, strict=True)
                )
                interval = _kappa_interval(counts) if chance > 1e-7 else None
                if interval is not None:
                    known += chance
                    held += chance * (interval[0] <= truth <= interval[1])
    return held / known


GRADES = (
    ("five grades, a fifth is off by one", (0.05, 0.1, 0.2, 0.35, 0.3), (0.0, 0.1, 0.8, 0.1, 0.0)),
    ("five grades, a third is lifted by one", (0.05, 0.1, 0.2, 0.35, 0.3), (0.0, 0.0, 0.67, 0.33, 0.0)),
    ("five grades, half are off by one or two", (0.2,) * 5, (0.05, 0.2, 0.5, 0.2, 0.05)),
)


def _agreement(
    title: str,
    statistic: Statistic,
    name: str,
    cells: Sequence[tuple[int, int]],
    chances: Sequence[float],
    labels: int,
) -> Situation:
    categories = 1 + max(map(max, cells))
    # So many items that alpha's correction for their number vanishes.
    everything = make_table([(*cell, 1e7 * chance) for cell, chance in zip(cells, chances, strict=True)], categories)
    truth = statistic(everything) or 0.0

    def held(source: random.Random) -> bool:
        interval = None
        while interval is None:
            pairs = [(*cell, 1.0) for cell in source.choices(cells, chances, k=labels)]
            interval = agreement_interval(statistic, pairs, categories)
        return interval[0] <= truth <= interval[1]

    return Situation(f"judge calibrate, {title}", name, "coverage", partial(_part, partial(_share, held, name), 4))


def agreements() -> Iterator[Situation]:
    """Krippendorff's alpha and Matthews' correlation of verdicts, and kappa and alpha of grades."""
    for rate, sensitivity, specificity in ((0.5, 0.9, 0.9), (0.7, 0.99, 0.99), (0.9, 0.97, 0.9)):
        for labels in (20, 50):
            chances: tuple[float, ...] = (rate * sensitivity, rate * (1 - sensitivity),
                       (1 - rate) * (1 - specificity), (1 - rate) * specificity)  # fmt: skip
            name = f"{labels} labels, {rate:g} passed, se {sensitivity:g}, sp {specificity:g}"
            cells = [(0, 0), (0, 1), (1, 0), (1, 1)]
            for title, statistic in (("alpha", alpha), ("Matthews", matthews)):
                yield _agreement(title, statistic, name, cells, chances, labels)
    for name, weights, shifts in GRADES:
        cells = [(grade, min(4, max(0, grade + shift))) for grade in range(5) for shift in range(-2, 3)]
        shares = [weight * shift for weight in weights for shift in shifts]
        for labels in (20, 50, 100):
            for title, statistic in (
                ("quadratic kappa", quadratic_kappa),
                ("alpha of grades", partial(alpha, values=range(5))),
            ):
                yield _agreement(title, statistic, f"{labels} labels, {name}", cells, shares, labels)


def judges() -> Iterator[Situation]:
    """Kappa of few labels, and corrected means of several attempts at a case."""
    for labels, rate, sensitivity, specificity in (
        (20, 0.5, 0.9, 0.9),
        (20, 0.7, 0.95, 0.9),
        (50, 0.7, 0.99, 0.99),
        (50, 0.9, 0.97, 0.9),
        (50, 0.5, 0.6, 0.6),
    ):
        yield Situation(
            "judge calibrate, kappa", f"{labels} labels, {rate:g} passed, se {sensitivity:g}, sp {specificity:g}",
            "coverage", _exactly(_kappa_coverage, labels, rate, sensitivity, specificity), exact=True,
        )  # fmt: skip
    for cases, attempts, labels in ((30, 4, 40), (30, 10, 60), (50, 1, 30)):

        def held(source: random.Random, x: Any = (cases, attempts, labels)) -> bool:
            outcomes = []
            for case in range(x[0]):
                chance = source.betavariate(0.7, 0.3)
                for _ in range(x[1]):
                    people = source.random() < chance
                    outcomes.append(Labelled(float(people), float(source.random() < (0.9 if people else 0.2)), case))
            middle = sum(outcome.judge for outcome in outcomes) / len(outcomes)
            by_case: dict[Hashable, float] = dict.fromkeys(range(x[0]), 0.0)
            for outcome in outcomes:
                by_case[outcome.case] += outcome.judge - middle
            variance = sum((outcome.judge - middle) ** 2 for outcome in outcomes) / (len(outcomes) - 1)
            judged = Judged(len(outcomes), middle, variance, by_case if x[1] > 1 else {})
            found = corrected_mean(source.sample(outcomes, x[2]), judged)
            return found is not None and found.interval[0] <= 0.7 <= found.interval[1]

        name = f"{cases} cases x {attempts}, {labels} labels"
        yield Situation("judge calibrate, corrected mean", name, "coverage", partial(_share, held, name))


def every() -> Iterator[Situation]:
    """All situations."""
    for part in (
        rate_gates,
        graded_gates,
        difference_gates,
        fixed_claims,
        intervals,
        comparisons,
        held_out,
        looks,
        judges,
        agreements,
    ):
        yield from part()
