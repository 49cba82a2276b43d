"""The evidence of a case that its later values are higher or lower than its earlier ones: e-values on a grid of sizes.

A test looks for a change since one of a few lengths before the end, in which one of a few shares is lost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from typing import NamedTuple

LENGTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24)
"""The numbers of later runs of the splits."""
_WEIGHTS = tuple(place**-1.5 for place in range(1, len(LENGTHS) + 1))
"""The weights of the splits. A change is looked for in the last run most of all."""
_SHARES = (0.1, 0.2, 0.4, 0.6, 0.8)
"""The shares of the passes that a fall takes, and of the failures that a rise takes, in the most powerful tests."""
_SPARSE = 0.2
"""The share of cases that change, for the half of the tests that expects most cases to stay as they are."""

_CHANGES = math.log(_SPARSE)
NO_EVIDENCE = (0.0,) * (4 * len(_SHARES))
"""The logarithms of the e-values of a case that shows nothing."""
_LARGE = 600.0
"""Above it, `exp` is near the largest float."""
UNIT = 2.0**28
OFFSET = 2.0**14
"""Packed logarithms are whole numbers of this unit, with an offset that keeps them above 0."""
FIELDS = Struct(f"<{len(NO_EVIDENCE)}Q")

CaseValue = tuple[float, int]
"""The sum of the values of the attempts of a case in a run, in 0..1 each, and the number of attempts."""
Counts = tuple[tuple[CaseValue, int], ...]
"""The values of a case, each with the number of runs that have it."""


class Draws(NamedTuple):
    """A case with values of 0 and 1: the number of attempts, and how many of them are 1."""

    successes: int
    number: int


@dataclass(frozen=True, eq=False)
class Means:
    """A case with values for whole runs: the number of runs, the tilts, and the logarithm of the mean of `exp` of each.

    If the runs have different numbers of attempts, the value of a run is the mean of its attempts, not their sum. It is
    compared by identity, so that its hash is cheap.
    """

    number: int
    is_share: bool
    tilts: tuple[float, ...]
    logs: tuple[float, ...]


@lru_cache(maxsize=1 << 14)
def read_case(counts: Counts) -> Draws | Means | None:
    """Return the values of a case, or None if all of them are equal, so that they show nothing."""
    is_same_number = len({attempts for (_, attempts), _ in counts}) == 1
    if all(total.is_integer() for (total, _), _ in counts) and (not is_same_number or counts[0][0][1] == 1):
        successes = int(sum(total * runs for (total, _), runs in counts))
        number = sum(attempts * runs for (_, attempts), runs in counts)
        return Draws(successes, number) if 0 < successes < number else None
    values = [(total if is_same_number else total / attempts, runs) for (total, attempts), runs in counts]
    low, high = min(values)[0], max(values)[0]
    if low == high:
        return None
    number = sum(runs for _, runs in values)
    tilts = _find_tilts(
        sum(total * runs for (total, _), runs in counts), sum(attempts * runs for (_, attempts), runs in counts)
    )
    logs = []
    for tilt in tilts:
        top = high if tilt > 0 else low
        mean = sum(runs * math.exp(tilt * (value - top)) for value, runs in values) / number
        logs.append(tilt * top + math.log(mean))
    return Means(number, not is_same_number, tilts, tuple(logs))


@lru_cache(maxsize=1 << 14)
def _find_tilts(total: float, number: float) -> tuple[float, ...]:
    """Return the log odds ratios of a case if shares of its passes are lost, then if shares of its failures are."""
    rate = (total + 0.5) / (number + 1)
    falls = [math.log((1 - share) * (1 - rate) / (1 - rate * (1 - share))) for share in _SHARES]
    rises = [-math.log((1 - share) * rate / (1 - (1 - rate) * (1 - share))) for share in _SHARES]
    return (*falls, *rises)


@lru_cache(maxsize=1 << 16)
def weigh_draws(case: Draws, later: int, later_sum: float) -> tuple[float, ...]:
    """Return the logarithms of the e-values of a case: for each tilt if all cases change, and if few do."""
    if not 0 < later < case.number:
        return NO_EVIDENCE
    tilts, means = _find_tilts(*case), _log_means_of_draws(case.successes, case.number, later)
    return _weigh([tilt * later_sum - mean for tilt, mean in zip(tilts, means, strict=True)])


@lru_cache(maxsize=1 << 16)
def weigh_means(case: Means, later: int, later_sum: float) -> tuple[float, ...]:
    """Return the logarithms of the e-values of a case as `weigh_draws` does."""
    if not 0 < later < case.number:
        return NO_EVIDENCE
    return _weigh([tilt * later_sum - later * mean for tilt, mean in zip(case.tilts, case.logs, strict=True)])


def _weigh(dense: Sequence[float]) -> tuple[float, ...]:
    exp, log, stays = math.exp, math.log, 1 - _SPARSE
    return (*dense, *[log(stays + _SPARSE * exp(own)) if own < _LARGE else own + _CHANGES for own in dense])


@lru_cache(maxsize=1 << 16)
def _log_means_of_draws(successes: int, number: int, size: int) -> tuple[float, ...]:
    """Return the logarithm of the mean of `exp(tilt * X)` for each tilt, X being the successes among drawn values.

    X has the hypergeometric distribution. Its polynomial is evaluated by Horner's rule, from the smallest term on.
    """
    low, high = max(0, size - (number - successes)), min(successes, size)
    draws = math.comb(number, size)
    chances = [math.comb(successes, x) * math.comb(number - successes, size - x) / draws for x in range(low, high + 1)]
    falling, means = chances[::-1], []
    for tilt in _find_tilts(successes, number):
        total, base = 0.0, math.exp(-abs(tilt))
        for chance in chances if tilt > 0 else falling:
            total = total * base + chance
        means.append(tilt * (high if tilt > 0 else low) + math.log(total))
    return tuple(means)


def pack(logs: Sequence[float]) -> bytes:
    """Return logarithms as fields of one number, so that a single addition adds all of them.

    Each is rounded, and one that is below 0 with the offset is raised to 0.
    """
    return FIELDS.pack(*(max(0, round((log + OFFSET) * UNIT)) for log in logs))


def bound_tests(total: int, cases: int) -> float:
    """Return a number that no e-value exceeds whose packed logarithms, each of so many cases, add up to a total."""
    largest = max(FIELDS.unpack(total.to_bytes(FIELDS.size, "little"))) / UNIT - cases * OFFSET
    return math.exp(min(700.0, largest + (cases + 1) / UNIT))


def mix_tests(tests: Sequence[Sequence[float]]) -> float:
    """Return the weighted mean of the e-values of all lengths from their logarithms, at most the largest float."""
    largest = max(map(max, tests))
    weights = _WEIGHTS[: len(tests)]
    means = (sum(math.exp(log - largest) for log in own) / len(own) for own in tests)
    total = sum(weight * mean for weight, mean in zip(weights, means, strict=True)) / sum(weights)
    return math.exp(min(700.0, largest + math.log(total)))
