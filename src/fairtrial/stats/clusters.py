"""Clusters of similar cases. A cluster, for example of one template, is one unit."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from hashlib import sha256
from heapq import heappop, heappush

from fairtrial.records.average import mean


def cluster_values(values: Sequence[float], clusters: Sequence[Hashable]) -> list[float]:
    """Return one number for each cluster of cases, so that formulas for independent cases can take them.

    Their mean is the mean over cases. Their spread is that of the linearised mean: the sum of the distances of a
    cluster's cases from the mean, in units of the mean number of cases (Cochran 1977, "Sampling Techniques", 3rd ed.,
    section 6.3, the ratio estimator; Miller 2024, arXiv 2411.00640, section 2.2). If every cluster has one case, the
    numbers are the values.

    Clusters of unequal sizes tell less than as many equal ones. They are joined to units of about equal size. With
    Kish's number of units, (sum of sizes)^2 / sum of squared sizes (1965, "Survey Sampling"), 95 % intervals hold the
    truth in 89 to 95 % of simulations, with as many units as the largest cluster would fit in, in 95 to 100 %. The
    number stands between both, twice as near to the latter.
    """
    groups: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        groups.setdefault(cluster, []).append(value)
    if len(groups) == len(values):
        return list(values)
    sizes = [len(own) for own in groups.values()]
    count = (len(values) ** 2 // sum(size**2 for size in sizes) + 2 * (len(values) // max(sizes))) // 3
    middle, size = mean(values), len(values) / count
    # The order among clusters of one size must have nothing to do with their values, nor with the order of cases.
    ordered = sorted(groups, key=lambda name: (-len(groups[name]), sha256(repr(name).encode()).digest()))
    units: list[list[float]] = [[] for _ in range(count)]
    queue = [(0, place) for place in range(count)]
    for name in ordered:
        members, place = heappop(queue)
        units[place] += groups[name]
        heappush(queue, (members + len(groups[name]), place))
    # In this form, a unit whose cases are all 0 is exactly 0, as tests of signs need it.
    return [math.fsum(unit) / size + middle * (1 - len(unit) / size) for unit in units]


def design_effect(values: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """Return by what factor clusters multiply a mean's variance, so also the cases that a question needs.

    At least 1: chance can make clusters look more alike than cases.
    """
    units = cluster_values(values, clusters)
    spread = _variance(values) / len(values)
    return max(1.0, _variance(units) / len(units) / spread) if spread and len(units) > 1 else 1.0


def _variance(values: Sequence[float]) -> float:
    middle = mean(values)
    return math.fsum((value - middle) ** 2 for value in values) / max(1, len(values) - 1)
