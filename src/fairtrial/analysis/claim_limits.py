"""Confidence limits for claims in which people, and not the judge, have the last word."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from fairtrial.analysis.judged_claims import corrected_difference, corrected_share
from fairtrial.stats.difference import Difference
from fairtrial.stats.student import student_cdf

if TYPE_CHECKING:
    from fairtrial.analysis.measured_run import Measure, MeasuredRun
    from fairtrial.analysis.paired_runs import PairedRuns
    from fairtrial.records.gate import Claim, Needed
    from fairtrial.records.run_comparison import About

Filling = Literal["left out", "worst", "best"]
"""The value of missing attempts: none, the worst for the run that is decided about, or the best."""


@dataclass(frozen=True)
class ClaimLimits:
    """An estimate with its one-sided limits and p values. More is better. A run of `size` would decide the claim."""

    estimate: float
    low: float
    high: float
    p: float | None
    p_against: float | None
    size: Needed | None


def corrected_limits(
    run: MeasuredRun, measure: Measure, claim: Claim, limit: float, about: About, filling: Filling
) -> ClaimLimits | None:
    """Return the limits of the mean that people would give to a run, in 0..1."""
    corrected = corrected_share(run, measure)
    if corrected is None or about == "these-cases":
        return None
    column = run.columns[measure.name]
    samples, places = run.samples(measure.name), range(len(run.keys))
    shift, scale = _shift(sum(sample.attempts for sample in samples), sum(map(column.missing, places)), filling)
    moved = replace(corrected, value=shift + scale * corrected.value, centre=shift + scale * corrected.centre)
    return _compute_limits(moved, claim, limit, least=0.0)


def corrected_difference_limits(
    pairs: PairedRuns, measure: Measure, claim: Claim, limit: float, about: About, filling: Filling
) -> ClaimLimits | None:
    """Return the limits of the difference that people would see, in -1..1, positive if the run is better."""
    difference = corrected_difference(pairs, measure)
    shares = [corrected_share(run, measure) for run in (pairs.base, pairs.candidate)]
    if difference is None or about == "these-cases" or None in shares:
        return None
    moved = 0.0
    sign = (-1 if measure.lower_is_better and not measure.is_rate else 1) / difference.width
    lacking = pairs.missing(measure.name)
    lacking = (lacking[0], lacking[1] + (0 if claim.shared_cases else pairs.absent(measure.name)))
    attempts = [sum(pair[side].attempts for pair in pairs.samples(measure.name).values()) for side in (0, 1)]
    for side, direction in ((0, -1), (1, 1)):
        own = filling if side or filling == "left out" else "best" if filling == "worst" else "worst"
        shift, scale = _shift(attempts[side], lacking[side], own)
        before = shares[side].value  # type: ignore[union-attr]
        moved += direction * (shift + scale * before - before)
    corrected = Difference(
        sign * difference.value + moved,
        sign * difference.centre + moved,
        difference.error * abs(sign),
        difference.freedom,
        1.0,
    )
    return _compute_limits(corrected, claim, limit, least=-1.0)


def _shift(attempts: int, missing: int, filling: Filling) -> tuple[float, float]:
    """Return what has to be added to a share, and by what it has to be multiplied before, to fill missing attempts."""
    if filling == "left out" or not missing:
        return 0.0, 1.0
    share = missing / (attempts + missing)
    return (share if filling == "best" else 0.0), 1 - share


def _compute_limits(corrected: Difference, claim: Claim, limit: float, *, least: float) -> ClaimLimits:
    low, high = corrected.interval(1 - 2 * claim.alpha)
    p = 1 - student_cdf((corrected.centre - limit) / corrected.error, corrected.freedom)
    return ClaimLimits(corrected.value, max(least, low), high, p, 1 - p, None)
