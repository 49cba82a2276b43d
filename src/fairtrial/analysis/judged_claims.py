"""The judges behind a measure, and the measure corrected by human labels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from fairtrial.analysis.measured_run import CASE_RATE, Measure, MeasuredRun
from fairtrial.records.average import mean
from fairtrial.records.gate import JudgeStanding
from fairtrial.records.judging.judge_state import JudgeState
from fairtrial.records.run_comparison import IntervalEstimate
from fairtrial.stats.correction import FEWEST_LABELS, Judged, Labelled
from fairtrial.stats.correction import corrected_difference as difference_of_labels
from fairtrial.stats.difference import Difference
from fairtrial.stats.interval import LEVEL
from fairtrial.stats.student import student_quantile

if TYPE_CHECKING:
    from fairtrial.analysis.paired_runs import PairedRuns
    from fairtrial.records.judging.calibration import Calibration
    from fairtrial.records.summary import Estimate
    from fairtrial.stats.judge_agreement import Pair

CORRECTED = "corrected means, t"
CLUSTERED = "the corrected interval would not count the clusters of cases"
_POWER = 0.8
USELESS = "the judge is not shown to be better than guessing; see `fairtrial judge calibrate`"


def criteria_behind(run: MeasuredRun, measure: Measure) -> list[str]:
    """Return the criteria whose verdicts or values make a measure."""
    if not measure.criterion:
        return [criterion.name for criterion in run.criteria if criterion.gates]
    return [measure.criterion]


def judge_standings(runs: Sequence[MeasuredRun], measure: Measure) -> tuple[JudgeStanding, ...]:
    """Return the judges behind a measure with what labels of people show about each, run by run."""
    return tuple(
        JudgeStanding(
            run.info.id,
            calibration.criterion,
            calibration.judge,
            calibration.state.value,
            _estimate(calibration.flattery),
            IntervalEstimate(calibration.corrected.value) if run.clusters else _estimate(calibration.corrected),
            calibration.assumed_from,
        )
        for run in runs
        for calibration in _calibrations(run, measure)
    )


def _calibrations(run: MeasuredRun, measure: Measure) -> Iterator[Calibration]:
    for criterion in criteria_behind(run, measure):
        if criterion in run.calibrations:
            yield run.calibrations[criterion]


def _estimate(estimate: Estimate) -> IntervalEstimate:
    return IntervalEstimate(estimate.value, estimate.low, estimate.high)


def why_judges_forbid(runs: Sequence[MeasuredRun], measure: Measure, *, has_limits: bool) -> str:
    """Return why the judges behind a measure leave a claim undecided, or an empty string if they do not.

    `has_limits` says that there are limits as people would see them.
    """
    states = {calibration.state for run in runs for calibration in _calibrations(run, measure)}
    if JudgeState.USELESS in states:
        return USELESS
    if JudgeState.BIASED not in states or has_limits:
        return ""
    biased = {
        calibration.criterion
        for run in runs
        for calibration in _calibrations(run, measure)
        if calibration.state is JudgeState.BIASED
    }
    problem = (
        f"labels show that the judge of {', '.join(sorted(biased))} is biased, and nothing corrects {measure.name}"
    )
    if any(run.clusters for run in runs):
        return f"{problem}: {CLUSTERED}"
    if len(criteria_behind(runs[-1], measure)) > 1:
        return f"{problem}; decide about each criterion by itself"
    labels = "labels of the same cases of both runs" if len(runs) > 1 else "labels of the run"
    return f"{problem}; about cases like these, {labels} would"


def is_biased(runs: Sequence[MeasuredRun], measure: Measure) -> bool:
    """Return whether labels of people show that a judge behind a measure is too kind or too strict."""
    return any(calibration.state is JudgeState.BIASED for run in runs for calibration in _calibrations(run, measure))


def corrected_share(run: MeasuredRun, measure: Measure) -> Difference | None:
    """Return the number that people would give to a run, in 0..1 so that more is better.

    None if it is not known, or if the cases come in clusters, which its interval would not count.
    """
    calibration = _deciding(run, measure)
    if run.clusters or calibration is None or not calibration.error or calibration.corrected.value is None:
        return None
    if not calibration.graded:
        return _spread(calibration, calibration.corrected.value, 1.0, (0.0, 1.0))
    spread = _spread(calibration, calibration.corrected.value, measure.width, measure.range.bounds)
    sign = -1 if measure.lower_is_better else 1
    centre = measure.share(spread.value) + sign * (spread.centre - spread.value) / measure.width
    return Difference(measure.share(spread.value), centre, spread.error / measure.width, spread.freedom, 1.0)


def _deciding(run: MeasuredRun, measure: Measure) -> Calibration | None:
    """Return the calibration that corrects a measure: of its criterion, or of the only criterion behind `cases`."""
    criteria = criteria_behind(run, measure)
    if len(criteria) != 1 or measure.name == CASE_RATE:
        return None
    calibration = run.calibrations.get(criteria[0])
    if calibration is None or (calibration.graded and measure.is_rate):
        return None
    return calibration


def _spread(calibration: Calibration, value: float, width: float, bounds: tuple[float, float]) -> Difference:
    """Return a corrected number with the middle of its interval, which an end tells unless the range cuts it off."""
    error, freedom = calibration.error or 0.0, calibration.freedom or 1
    half = student_quantile(0.5 + LEVEL / 2, freedom) * error
    low, high = calibration.corrected.low, calibration.corrected.high
    return Difference(value, _centre(value, low, high, half, bounds), error, freedom, width)


def _centre(value: float, low: float | None, high: float | None, half: float, bounds: tuple[float, float]) -> float:
    if low is not None and bounds[0] < low < value:
        return low + half
    if high is not None and value < high < bounds[1]:
        return high - half
    return value


def corrected_difference(runs: PairedRuns, measure: Measure) -> Difference | None:
    """Return the difference that people would see between two runs in the unit of the measure.

    None unless people have labelled both runs. If they labelled the same cases, the differences of the labels count:
    what makes a case hard is then in both of its labels. Otherwise the variances of both corrected means add up.
    """
    base, candidate = (_deciding(run, measure) for run in (runs.base, runs.candidate))
    if base is None or candidate is None or not base.error or not candidate.error or base.graded != candidate.graded:
        return None
    paired = _correct_paired(runs, measure, base, candidate)
    if paired is not None:
        return paired
    value = (candidate.corrected.value or 0.0) - (base.corrected.value or 0.0)
    width = measure.width if base.graded else 1.0
    freedom = min(base.freedom or 1, candidate.freedom or 1)
    error = math.hypot(base.error, candidate.error)
    detectable = error * (student_quantile(0.5 + LEVEL / 2, freedom) + student_quantile(_POWER, freedom))
    return Difference(value, value, error, freedom, width, CORRECTED, detectable)


def _correct_paired(runs: PairedRuns, measure: Measure, base: Calibration, candidate: Calibration) -> Difference | None:
    """Return the corrected mean of the differences of cases, if at least half of the labels have a partner."""
    width = measure.width if base.graded else 1.0
    labels = list(_label_pairs(runs, base, width))
    if len(labels) < max(FEWEST_LABELS, min(base.labels, candidate.labels) / 2):
        return None
    name = measure.name
    if not base.graded and f"{base.criterion}:pass" in runs.base.measures:
        name = f"{base.criterion}:pass"
    changes = [(1 + (after.mean - before.mean) / width) / 2 for before, after in runs.samples(name).values()]
    if len(changes) < 2:
        return None
    middle = mean(changes)
    variance = math.fsum((change - middle) ** 2 for change in changes) / (len(changes) - 1)
    difference = difference_of_labels(labels, Judged(len(changes), middle, variance))
    if difference is None:
        return None
    return replace(
        difference,
        value=difference.value * width,
        centre=difference.centre * width,
        error=difference.error * width,
        width=width,
        detectable=None if difference.detectable is None else difference.detectable * width,
    )


def _label_pairs(runs: PairedRuns, calibration: Calibration, width: float) -> Iterator[tuple[Labelled, Labelled]]:
    """Yield the labels of the same attempt in both runs, as shares of the width of the range."""
    before, after = (run.labelled.get(calibration.criterion, {}) for run in (runs.base, runs.candidate))
    for (ours, attempt), (theirs, pair) in _partners(runs, before).items():
        other = after.get((theirs, attempt))
        if other is not None and other.weight == pair.weight:
            yield _share(pair, ours, width), _share(other, ours, width)


def _share(pair: Pair, case: int, width: float) -> Labelled:
    return Labelled(pair.people / width, pair.judge / width, case, pair.weight)


def _partners(runs: PairedRuns, labelled: Mapping[tuple[int, int], Pair]) -> dict[tuple[int, int], tuple[int, Pair]]:
    """Return the labelled outcomes of the base at shared cases, with the position of the case in the candidate."""
    places = {runs.base.positions[ours]: runs.candidate.positions[theirs] for ours, theirs in runs.positions}
    return {place: (places[place[0]], pair) for place, pair in labelled.items() if place[0] in places}
