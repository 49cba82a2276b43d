"""Audit gates: how often each claim would be decided rightly for a measured run.

The cases of the run are drawn again, with weights that give them the mean that is asked about. If every case passes or
fails, all possible results are counted. Otherwise results are drawn, always the same ones.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from fairtrial.analysis.gates import check_claims, claim_limit
from fairtrial.analysis.measured_run import Measure, MeasuredRun, check_unweighted, describe_run
from fairtrial.analysis.paired_runs import pair_runs
from fairtrial.errors import UsageError
from fairtrial.records.audit import AuditMethod, ClaimAudit, GateAudit
from fairtrial.records.average import mean
from fairtrial.records.gate import Claim, is_difference
from fairtrial.stats.clusters import cluster_values
from fairtrial.stats.interval import LEVEL
from fairtrial.stats.one_sided import (
    Limits,
    cases_to_decide_difference,
    cases_to_decide_mean,
    difference_limits,
    mean_limits,
)
from fairtrial.version import __version__

REPETITIONS = 2_000
_LIGHT = 1 / 20
"""The weight of the lowest and the highest value beside those of the cases, which may lack the wanted mean."""
_STEEPEST = 600.0
_STEPS = 80
_LARGEST_SAMPLE = 2_000
_SEED = 1


class _Sample(NamedTuple):
    """The numbers of the clusters of cases behind a claim, at least `low` and at most 1, and how claims are decided."""

    values: list[float]
    cases: int
    low: float
    attempts: float

    @property
    def is_difference(self) -> bool:
        return self.low < 0

    def limits(self, values: Sequence[float], alpha: float) -> Limits | None:
        if self.is_difference:
            return difference_limits(values, alpha)
        return mean_limits(values, alpha, attempts=self.attempts)

    def cases_to_decide(self, values: Sequence[float], limit: float, alpha: float) -> int | None:
        if self.is_difference:
            units = cases_to_decide_difference(values, limit, alpha)
        else:
            most = self.attempts * len(values) / len(self.values)
            units = cases_to_decide_mean(values, limit, alpha, attempts=most)
        return None if units is None else math.ceil(units * self.cases / len(self.values))


def audit_gate(run: MeasuredRun, base: MeasuredRun | None, claims: Sequence[Claim], drop: float) -> GateAudit:
    """Return how often claims are decided rightly, about cases like these and without missing attempts.

    `drop` is by how much an agent is worse than the limit of a claim that should be noticed, as a share of the range.
    """
    check_claims(run, base, claims)
    check_unweighted((run, base), "an audit of a gate")
    if not 0 < drop < 1:
        raise UsageError(f"drop: must be above 0 and below 1, got {drop:g}")
    audits = tuple(_audit(run, base, claim, drop) for claim in claims)
    return GateAudit(
        f"cases:{len(run.keys)}|about:like|repetitions:{REPETITIONS}|seed:{_SEED}|fairtrial:{__version__}",
        LEVEL,
        "cases-like-these",
        tuple(describe_run(member) for member in (base, run) if member is not None),
        audits,
    )


def _audit(run: MeasuredRun, base: MeasuredRun | None, claim: Claim, drop: float) -> ClaimAudit:
    measure = run.measure(claim.measure)
    sample = _difference(run, base, measure) if is_difference(claim.kind) else _single(run, measure)
    if len(sample.values) < 2:
        raise UsageError(
            f"{claim.measure}: an audit needs two cases with a value, got {len(sample.values)}", code="too-little-data"
        )
    limit = claim_limit(claim, measure)
    now, below = mean(sample.values), max(sample.low, limit - drop)
    method: AuditMethod = "enumeration" if _is_enumerable(sample) else "simulation"
    return ClaimAudit(
        claim.measure,
        claim.kind,
        claim.limit,
        claim.alpha,
        sample.cases,
        _rates(sample, limit, limit, claim)[0],
        _rates(sample, now, limit, claim)[0],
        drop * measure.width,
        _rates(sample, below, limit, claim)[1],
        sample.cases_to_decide(_typical(sample, below), limit, claim.alpha),
        method,
        measure.is_rate,
        measure.lower_is_better,
    )


def _single(run: MeasuredRun, measure: Measure) -> _Sample:
    column = run.columns[measure.name]
    samples = {case: own for case in range(len(run.keys)) if (own := column.sample(case)) is not None}
    shares = [measure.share(own.mean) for own in samples.values()]
    attempts = sum(own.attempts for own in samples.values()) if measure.is_rate else math.inf
    return _Sample(cluster_values(shares, list(map(run.cluster, samples))), len(shares), 0.0, attempts)


def _difference(run: MeasuredRun, base: MeasuredRun | None, measure: Measure) -> _Sample:
    if base is None:
        return _Sample([], 0, -1.0, math.inf)
    pairs = pair_runs(base, run)
    by_case = pairs.samples(measure.name)
    sign = (-1 if measure.lower_is_better else 1) / measure.width
    moves = [sign * (after.mean - before.mean) for before, after in by_case.values()]
    return _Sample(cluster_values(moves, pairs.clusters(by_case)), len(moves), -1.0, math.inf)


def _is_enumerable(sample: _Sample) -> bool:
    return not sample.is_difference and {*sample.values} <= {0.0, 1.0} and len(sample.values) <= _LARGEST_SAMPLE


def _weights(sample: _Sample, truth: float) -> tuple[list[float], list[float]]:
    """Return the values that cases can have, with weights that make their mean the truth.

    The weights are those of the cases times exp(slope x value), the nearest ones in the sense of Kullback and Leibler.
    """
    values = sorted({*sample.values, sample.low, 1.0})
    counts = Counter(sample.values)
    own = [counts[value] + (_LIGHT if value in (sample.low, 1.0) else 0.0) for value in values]

    def tilted(slope: float) -> list[float]:
        top = slope if slope > 0 else slope * sample.low
        return [weight * math.exp(slope * value - top) for weight, value in zip(own, values, strict=True)]

    low, high = -_STEEPEST, _STEEPEST
    for _ in range(_STEPS):
        middle = (low + high) / 2
        weights = tilted(middle)
        tilted_mean = math.fsum(map(math.prod, zip(weights, values, strict=True))) / math.fsum(weights)
        low, high = (middle, high) if tilted_mean < truth else (low, middle)
    weights = tilted((low + high) / 2)
    total = math.fsum(weights)
    return values, [weight / total for weight in weights]


def _typical(sample: _Sample, truth: float) -> list[float]:
    """Return many values as they would come at a truth, the same ones each time."""
    values, weights = _weights(sample, truth)
    return [
        value for value, weight in zip(values, weights, strict=True) for _ in range(round(weight * _LARGEST_SAMPLE))
    ]


def _rates(sample: _Sample, truth: float, limit: float, claim: Claim) -> tuple[float, float]:
    """Return how often a claim passes and how often it fails at a truth."""
    decide = _decider(sample, limit, claim)
    results = _every_result(sample, truth) if _is_enumerable(sample) else _random_results(sample, truth)
    passed, failed = 0.0, 0.0
    for values, chance in results:
        verdict = decide(values)
        passed += chance * (verdict > 0)
        failed += chance * (verdict < 0)
    return passed, failed


def _decider(sample: _Sample, limit: float, claim: Claim) -> Callable[[tuple[float, ...]], int]:
    @cache
    def decide(values: tuple[float, ...]) -> int:
        limits = sample.limits(values, claim.alpha)
        if limits is None:
            return 0
        if limits.low > limit or (limits.low == limit and not sample.is_difference):
            return 1
        return -1 if limits.high < limit else 0

    return decide


def _every_result(sample: _Sample, truth: float) -> Iterator[tuple[tuple[float, ...], float]]:
    """Yield every number of passed cases with its probability."""
    cases = len(sample.values)
    for passed in range(cases + 1):
        yield (1.0,) * passed + (0.0,) * (cases - passed), _binomial(passed, cases, truth)


def _binomial(passed: int, cases: int, truth: float) -> float:
    if truth in (0.0, 1.0):
        return float(passed == cases * truth)
    ways = math.lgamma(cases + 1) - math.lgamma(passed + 1) - math.lgamma(cases - passed + 1)
    return math.exp(ways + passed * math.log(truth) + (cases - passed) * math.log(1 - truth))


def _random_results(sample: _Sample, truth: float) -> Iterator[tuple[tuple[float, ...], float]]:
    """Yield results that are drawn, with equal probabilities. Their order changes nothing, so they are sorted."""
    draw = random.Random(_SEED)  # noqa: S311  (the same results for everybody)
    values, weights = _weights(sample, truth)
    for _ in range(REPETITIONS):
        yield tuple(sorted(draw.choices(values, weights, k=len(sample.values)))), 1 / REPETITIONS
