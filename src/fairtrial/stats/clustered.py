"""Intervals for a mean of rates with clustered trials, for example several mutants of one case."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fairtrial.records.average import mean
from fairtrial.stats.interval import LEVEL, Interval, wilson
from fairtrial.stats.student import student_quantile

Counts = Mapping[Any, Sequence[int]]
"""The successes and trials of one cluster, by the rate that they belong to."""


def share(pairs: Mapping[tuple[int, int], int], level: float = LEVEL) -> tuple[float, Interval | None] | None:
    """Return the share and the interval of `mean_of_rates` for one rate. `pairs` counts equal clusters.

    For example, {(1, 2): 3} are three clusters with one success in two trials each.
    """
    used = {pair: number for pair, number in pairs.items() if pair[1] and number}
    total = sum(trials * number for (_, trials), number in used.items())
    if not total:
        return None
    value = sum(successes * number for (successes, _), number in used.items()) / total
    units = sum(used.values())
    if units < 2:
        return value, None
    squares = [number * ((successes - value * trials) / total) ** 2 for (successes, trials), number in used.items()]
    variance = math.fsum(squares) * units / (units - 1)
    worth = min(float(total), max(float(units), value * (1 - value) / variance)) if variance else float(units)
    return value, wilson(value, worth, student_quantile(0.5 + level / 2, units - 1))


def mean_of_rates(clusters: Sequence[Counts], level: float = LEVEL) -> tuple[float, Interval | None] | None:
    """Return the mean rate, each with equal weight, and its interval. None without trials.

    Each rate is its successes by its trials over all clusters. The variance is that of the linearised mean, with the
    cluster as the unit (Cochran 1977, "Sampling Techniques", 3rd ed., section 6.3, the ratio estimator). The interval
    is Wilson's, with the number of trials that would tell as much: at least the number of clusters, at most the number
    of trials. The interval is None below two clusters.
    """
    totals: dict[Any, tuple[int, int]] = {}
    for counts in clusters:
        for name, (successes, trials) in counts.items():
            earlier = totals.get(name, (0, 0))
            totals[name] = (earlier[0] + successes, earlier[1] + trials)
    rates = {name: successes / trials for name, (successes, trials) in totals.items() if trials}
    if not rates:
        return None
    value = mean(list(rates.values()))
    used = [counts for counts in clusters if any(counts[name][1] for name in counts if name in rates)]
    if len(used) < 2:
        return value, None
    influences = [
        math.fsum(
            (counts[name][0] - rate * counts[name][1]) / totals[name][1]
            for name, rate in rates.items()
            if name in counts
        )
        for counts in used
    ]
    variance = math.fsum(influence**2 for influence in influences) / len(rates) ** 2 * len(used) / (len(used) - 1)
    worth = float(len(used))
    if variance:
        most = sum(total for _, total in totals.values())
        worth = min(float(most), max(worth, value * (1 - value) / variance))
    return value, wilson(value, worth, student_quantile(0.5 + level / 2, len(used) - 1))
