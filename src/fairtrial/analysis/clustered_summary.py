"""Summaries of runs with clustered cases. Their intervals account for the clusters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, repeat, starmap
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.analysis.criterion_tally import mean_estimate, rate_estimate
from fairtrial.stats.clusters import cluster_values
from fairtrial.stats.moments import Moments
from fairtrial.stats.pass_k import NO_INTERVALS, without_intervals

if TYPE_CHECKING:
    from fairtrial.analysis.measured_run import Measure, MeasuredRun
    from fairtrial.records.summary import CriterionSummary, Estimate, Summary

_FEW = 16
"""The estimate of units with so many different values at most is remembered."""


def with_clustered_intervals(summary: Summary, run: MeasuredRun, valid: MeasuredRun) -> Summary:
    """Return the numbers of a run with a cluster of cases as the unit of each interval.

    `valid` holds the numbers of the attempts that say something about the agent.
    """

    def clustered(criterion: CriterionSummary) -> CriterionSummary:
        mean, rate = _mean(run, criterion), _rate(run, criterion)
        own = criterion.valid
        if own is not None:
            own = replace(own, mean=_mean(valid, criterion), pass_rate=_rate(valid, criterion))
        return replace(criterion, mean=mean, pass_rate=rate, valid=own)

    return replace(
        summary,
        criteria=tuple(map(clustered, summary.criteria)),
        pass_k=without_intervals(summary.pass_k),
        notes=(*summary.notes, NO_INTERVALS) if summary.pass_k else summary.notes,
    )


def _mean(run: MeasuredRun, criterion: CriterionSummary) -> Estimate:
    return mean_estimate(_units(run, criterion.criterion)[0], criterion.range)


def _rate(run: MeasuredRun, criterion: CriterionSummary) -> Estimate:
    units, _, attempts = _units(run, f"{criterion.criterion}:pass")
    return rate_estimate(units, attempts)


def estimate_cases(run: MeasuredRun, measure: Measure, cases: Sequence[int]) -> tuple[int, Estimate]:
    """Return how many of some cases have a measure, and its mean with its interval."""
    units, number, attempts = _units(run, measure.name, cases)
    if not measure.is_rate:
        return number, mean_estimate(units, measure.range)
    counts = units.counts(_FEW)
    return number, rate_estimate(units, attempts) if counts is None else _estimate_rate(counts, attempts)


@lru_cache(maxsize=1 << 10)
def _estimate_rate(counts: tuple[tuple[float, int], ...], attempts: int) -> Estimate:
    """Return the pass rate over units with few values. Many runs of the same cases have equal counts."""
    return rate_estimate(Moments(chain.from_iterable(starmap(repeat, counts))), attempts)


def _units(run: MeasuredRun, measure: str, cases: Sequence[int] | None = None) -> tuple[Moments, int, int]:
    """Return the numbers of the clusters, how many cases have a value, and how many attempts are behind them."""
    column = run.columns.get(measure)
    if column is None:
        return Moments(), 0, 0
    means = list(column.means())
    places = [case for case in (range(len(means)) if cases is None else cases) if case < len(means) and means[case][1]]
    values = [means[case][0] for case in places]
    if run.clusters:
        values = cluster_values(values, list(map(run.cluster, places)))
    return Moments(values), len(places), sum(means[case][1] for case in places)
