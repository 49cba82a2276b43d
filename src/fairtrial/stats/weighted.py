"""The mean, and the difference, of cases that were sampled with unequal probabilities, with intervals and limits.

Each case weighs the inverse of its probability. The estimate is Hajek's ratio, the sum of w y over the sum of w. Its
variance is that of the linearised ratio, the sum of w^2 (y - mean)^2 over the squared sum of w.
Sources: Sarndal, Swensson and Wretman (1992), "Model Assisted Survey Sampling", sections 5.7 and 5.8; Korn and Graubard
(1998), Survey Methodology 24, for limits by the effective number of trials; Kish (1965), "Survey Sampling", for the
number of cases that tell as much as weighted ones.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist

from fairtrial.stats.difference import TWO_EXTRA_CASES, Difference
from fairtrial.stats.one_sided import WHOLE, WHOLE_DIFFERENCES, Limits, Successes, both_limits
from fairtrial.stats.sample_size import extra_distance
from fairtrial.stats.student import student_quantile

WEIGHTED = f"{TWO_EXTRA_CASES}, weighted"


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Return the sum of w y over the sum of w."""
    return math.fsum(map(math.prod, zip(values, weights, strict=True))) / math.fsum(weights)


def weighted_difference(
    moves: Sequence[float], weights: Sequence[float], clusters: Sequence[Hashable], *, width: float = 1.0
) -> Difference | None:
    """Return the mean difference of weighted cases. None below two clusters, or without any spread.

    It is `paired_difference` with weights: Student's t on the differences and two extra cases, whose weight is that of
    the heaviest case, because such a case could have moved although none did. The p value is Student's, too: signs of
    weighted cases do not flip like coins. No size is planned from weighted cases, so that `detectable` is None.
    """
    if len(set(clusters)) < 2:
        return None
    largest = max(map(abs, moves))
    distance = extra_distance(largest, width) if math.isfinite(width) else largest
    if not distance:
        return None
    value, heaviest = weighted_mean(moves, weights), max(weights)
    total = math.fsum(weights) + 2 * heaviest
    centre = value * (1 - 2 * heaviest / total)
    squares = _squares(moves, weights, clusters, centre)
    squares += heaviest**2 * ((distance - centre) ** 2 + (distance + centre) ** 2)
    units = _count_units(weights, clusters)
    error = math.sqrt(squares * (units + 2) / (units + 1)) / total
    return Difference(value, centre, error, max(1, math.floor(units)), width, WEIGHTED)


def weighted_limits(
    shares: Sequence[float],
    weights: Sequence[float],
    clusters: Sequence[Hashable],
    alpha: float,
    *,
    attempts: float = math.inf,
) -> Limits | None:
    """Return the limits for the weighted mean of case values in 0..1, or None below two clusters.

    The number of trials is at least the total weight in units of the heaviest case, which could have been the first
    failure. `attempts` is the number of passes and failures behind a pass rate, which the trials do not exceed.
    """
    if len(set(clusters)) < 2:
        return None
    mirrored = [1 - share for share in shares]
    below, above = (_successes(own, weights, clusters, alpha, WHOLE, attempts) for own in (shares, mirrored))
    return both_limits(below, above, alpha)


def weighted_difference_limits(
    moves: Sequence[float], weights: Sequence[float], clusters: Sequence[Hashable], alpha: float
) -> Limits | None:
    """Return the limits for the weighted mean difference of paired cases in -1..1, or None below two clusters."""
    if len(set(clusters)) < 2:
        return None
    halves = [(1 + move) / 2 for move in moves]
    mirrored = [1 - half for half in halves]
    below, above = (_successes(own, weights, clusters, alpha, WHOLE_DIFFERENCES) for own in (halves, mirrored))
    limits = both_limits(below, above, alpha)
    return limits._replace(
        low=2 * limits.low - 1,
        high=2 * limits.high - 1,
        p_above=lambda limit: limits.p_above((1 + limit) / 2),
        p_below=lambda limit: limits.p_below((1 + limit) / 2),
    )


def _successes(
    shares: Sequence[float],
    weights: Sequence[float],
    clusters: Sequence[Hashable],
    alpha: float,
    extra: float,
    attempts: float = math.inf,
) -> Successes:
    """Return the effective number of trials behind a weighted mean, with their successes.

    `extra` is the number of extra cases at 0 and at 1, each as heavy as the heaviest case.
    """
    heaviest, total = max(weights), math.fsum(weights)
    middle, filled = weighted_mean(shares, weights), total + 2 * extra * heaviest
    p = (total * middle + extra * heaviest) / filled
    squares = _squares(shares, weights, clusters, p) + extra * heaviest**2 * (p**2 + (1 - p) ** 2)
    units = _count_units(weights, clusters)
    shrunk = (NormalDist().inv_cdf(1 - alpha) / student_quantile(1 - alpha, max(1, math.floor(units) - 1))) ** 2
    trials = min(attempts, max(total / heaviest, p * (1 - p) * total * filled / squares * shrunk))
    return Successes(trials * min(1.0, middle), trials)


def _squares(values: Sequence[float], weights: Sequence[float], clusters: Sequence[Hashable], middle: float) -> float:
    """Return the sum over clusters of the squared weighted distance of their cases from the mean."""
    sums: dict[Hashable, float] = {}
    for value, weight, cluster in zip(values, weights, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + weight * (value - middle)
    return math.fsum(own**2 for own in sums.values())


def _count_units(weights: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """Return Kish's number of clusters: the squared sum of their weights over the sum of the squared weights."""
    sums: dict[Hashable, float] = {}
    for weight, cluster in zip(weights, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + weight
    return math.fsum(sums.values()) ** 2 / math.fsum(own**2 for own in sums.values())
