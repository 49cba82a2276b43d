"""Bias correction: what people would say of a whole run, from their labels on a part and a judge on all of it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fairtrial.stats.agreement import NORMAL
from fairtrial.stats.difference import Difference
from fairtrial.stats.interval import LEVEL, Interval
from fairtrial.stats.student import student_quantile

FEWEST_LABELS = 10
"""With fewer labels a corrected mean does not exist."""

CORRECTED = "prediction-powered, two extra labels, t"
CORRECTED_PAIRS = "prediction-powered, pairs of labels, t"
ROGAN_GLADEN = "Rogan-Gladen, Lang and Reiczigel"
NO_CLUSTERS = ", clusters not counted"
"""The end of the name of a method that takes cases in clusters for independent ones."""


@dataclass(frozen=True)
class Labelled:
    """An outcome that both people and the judge valued, in 0..1. Labels for the same case are not independent."""

    people: float
    judge: float
    case: Hashable
    weight: float = 1.0


@dataclass(frozen=True)
class Judged:
    """The values in 0..1 that the judge gave to all outcomes: their number, mean, and variance with n - 1.

    If cases have several outcomes, `by_case` holds the sum of the distances from the mean for each case.
    """

    number: int
    mean: float
    variance: float
    by_case: Mapping[Hashable, float] = field(default_factory=dict)


@dataclass(frozen=True)
class CorrectedMean:
    """The mean that people would give, with its interval. `worth` is the factor by which the judge multiplies labels.

    For example, with a worth of 1.5, 100 labels beside the judge tell as much as 150 labels alone. `error` is the
    standard error around `centre`, with `freedom` degrees of freedom.
    """

    value: float
    centre: float
    interval: Interval
    slope: float
    worth: float
    error: float
    freedom: int


@dataclass(frozen=True)
class _Fit:
    """A line through labels: people = centre + slope x (judge - judge_centre)."""

    centre: float
    judge_centre: float
    slope: float

    def at(self, judged_mean: float) -> float:
        return self.centre + self.slope * (judged_mean - self.judge_centre)


def corrected_mean(
    labels: Sequence[Labelled], judged: Judged, *, graded: bool = False, labels_only: bool = False
) -> CorrectedMean | None:
    """Return the mean over all outcomes that people would give, or None below 10 labels.

    The labels must be drawn at random from the outcomes. The estimate is the label mean plus slope times the difference
    between the judge's mean over all outcomes and over the labels. The slope is that of people's values on the judge's,
    between 0 and 1, so a useless judge changes nothing. The interval adds two labels at which people and judge
    contradict each other, and treats a case as the unit. With `labels_only` the slope is 0. Sources: PPI++
    (Angelopoulos et al. 2023, arXiv 2311.01453) with its best lambda; for pass or fail also the efficient estimator
    (Chen et al. 2026, arXiv 2601.05420).
    """
    if len(labels) < FEWEST_LABELS:
        return None
    widened = [*labels, *_contradictions(labels, graded=graded)]
    fit, wide_fit = _fit(labels), _fit(widened)
    if labels_only:
        fit, wide_fit = replace(fit, slope=0.0), replace(wide_fit, slope=0.0)
    value = _clip(fit.at(judged.mean))
    noise = _total_error(widened, wide_fit, judged)
    centre = wide_fit.at(judged.mean)
    error, freedom = math.sqrt(noise), _freedom(widened)
    half = student_quantile(0.5 + LEVEL / 2, freedom) * error
    interval = (max(0.0, min(value, centre - half)), min(1.0, max(value, centre + half)))
    alone = _total_error(widened, replace(wide_fit, slope=0.0), judged)
    return CorrectedMean(value, centre, interval, fit.slope, alone / noise, error, freedom)


def corrected_difference(pairs: Sequence[tuple[Labelled, Labelled]], judged: Judged) -> Difference | None:
    """Return a candidate's corrected mean less its base's, or None below 10 pairs.

    `pairs` are outcomes on the same cases, base and candidate, that people labelled in both runs.
    `judged` holds the differences of the judge's values over all pairs of outcomes, mapped to 0..1 by (1 + d) / 2.
    Labels on the same cases resemble each other, so their differences vary less than the labels of different cases.
    """
    halves = [
        Labelled(
            (1 + after.people - before.people) / 2, (1 + after.judge - before.judge) / 2, before.case, before.weight
        )
        for before, after in pairs
    ]
    estimate = corrected_mean(halves, judged, graded=True)
    if estimate is None:
        return None
    quantiles = student_quantile(0.5 + LEVEL / 2, estimate.freedom) + student_quantile(0.8, estimate.freedom)
    return Difference(
        2 * estimate.value - 1,
        2 * estimate.centre - 1,
        2 * estimate.error,
        estimate.freedom,
        1.0,
        CORRECTED_PAIRS,
        2 * quantiles * estimate.error,
    )


def flattery(labels: Sequence[Labelled]) -> tuple[float, Interval] | None:
    """Return by how much the judge's values exceed people's on average, with its interval. None below 10 labels."""
    if len(labels) < FEWEST_LABELS:
        return None
    differences = [Labelled(label.judge - label.people, 0.0, label.case, label.weight) for label in labels]
    largest = max(abs(label.people) for label in differences) or 1.0
    weight = _mean_weight(labels)
    widened = [*differences, *(Labelled(end, 0.0, ("extra", end), weight) for end in (-largest, largest))]
    fit, wide_fit = _fit(differences), _fit(widened)
    half = student_quantile(0.5 + LEVEL / 2, _freedom(widened)) * math.sqrt(_squared_error(widened, wide_fit))
    low, high = wide_fit.centre - half, wide_fit.centre + half
    return fit.centre, (max(-1.0, min(fit.centre, low)), min(1.0, max(fit.centre, high)))


def rogan_gladen(
    rate: float, trials: float, sensitivity: tuple[float, int], specificity: tuple[float, int]
) -> tuple[float, Interval] | None:
    """Return the pass rate that people would find, from a judge whose errors were measured elsewhere.

    `rate` is the judged pass rate, and `trials` the number of trials behind it, which need not be whole. Sensitivity
    and specificity come with the number of labels that they were measured on. None if the judge is not better than
    guessing.
    Sources: Rogan and Gladen (1978, Am. J. Epidemiology 107); the interval is Lang and Reiczigel's (2014, Prev. Vet.
    Med. 113), as in Lee et al. (2025, arXiv 2511.21140).
    """
    (se, passes), (sp, fails) = sensitivity, specificity
    if se + sp <= 1:
        return None
    value = _clip((rate + sp - 1) / (se + sp - 1))
    z2 = NORMAL**2
    p = (trials * rate + z2 / 2) / (trials + z2)
    se, sp = (passes * se + 1) / (passes + 2), (fails * sp + 1) / (fails + 2)
    gain = se + sp - 1
    if gain <= 0:
        return None
    theta = (p + sp - 1) / gain
    se_noise, sp_noise = se * (1 - se) / (passes + 2), sp * (1 - sp) / (fails + 2)
    shift = 2 * z2 * (theta * se_noise - (1 - theta) * sp_noise)
    error = math.sqrt(p * (1 - p) / (trials + z2) + (1 - theta) ** 2 * sp_noise + theta**2 * se_noise) / gain
    low, high = _clip(theta + shift - NORMAL * error), _clip(theta + shift + NORMAL * error)
    return value, (min(low, value), max(high, value))


def _fit(labels: Sequence[Labelled]) -> _Fit:
    total = math.fsum(label.weight for label in labels)
    centre = math.fsum(label.weight * label.people for label in labels) / total
    judge_centre = math.fsum(label.weight * label.judge for label in labels) / total
    if len({label.judge for label in labels}) < 2:
        return _Fit(centre, judge_centre, 0.0)
    spread = math.fsum(label.weight * (label.judge - judge_centre) ** 2 for label in labels)
    joint = math.fsum(label.weight * (label.judge - judge_centre) * (label.people - centre) for label in labels)
    return _Fit(centre, judge_centre, _clip(joint / spread))


def _contradictions(labels: Sequence[Labelled], *, graded: bool) -> list[Labelled]:
    """Return two extra labels, each its own case, at which people and judge contradict each other."""
    if graded:
        fit = _fit(labels)
        half = (max(abs(label.people - label.judge) for label in labels) or 1.0) / 2
        weight = _mean_weight(labels)
        return [
            Labelled(fit.centre - half, fit.judge_centre + half, ("extra", 1), weight),
            Labelled(fit.centre + half, fit.judge_centre - half, ("extra", 2), weight),
        ]
    return [
        Labelled(1.0 - verdict, verdict, ("extra", verdict), _mean_weight(stratum or labels))
        for verdict in (1.0, 0.0)
        for stratum in [[label for label in labels if label.judge == verdict]]
    ]


def _mean_weight(labels: Sequence[Labelled]) -> float:
    return math.fsum(label.weight for label in labels) / len(labels)


def _total_error(labels: Sequence[Labelled], fit: _Fit, judged: Judged) -> float:
    """Return the estimate's squared standard error, with the case as the unit, for cases like these.

    If cases have several outcomes, a case's labels and judged outcomes are not independent: hard cases lower both. A
    case's influences then add up before they are squared.
    """
    if not judged.by_case:
        return _squared_error(labels, fit) + fit.slope**2 * judged.variance / judged.number
    return _squared_error(
        labels, fit, {case: fit.slope * distance / judged.number for case, distance in judged.by_case.items()}
    )


def _squared_error(labels: Sequence[Labelled], fit: _Fit, influences: Mapping[Hashable, float] | None = None) -> float:
    """Return the squared standard error at a fit's centre, with the case as the unit.

    `influences` are what else the cases add to the estimate.
    """
    by_case: defaultdict[Hashable, list[float]] = defaultdict(list)
    total = math.fsum(label.weight for label in labels)
    for label in labels:
        residual = label.people - fit.centre - fit.slope * (label.judge - fit.judge_centre)
        by_case[label.case].append(label.weight * residual)
    cases = len(by_case)
    for case, influence in (influences or {}).items():
        by_case[case].append(total * influence)
    return cases / (cases - 1) * math.fsum(math.fsum(parts) ** 2 for parts in by_case.values()) / total**2


def _freedom(labels: Sequence[Labelled]) -> int:
    # Two extra labels are two cases, so there is at least one further case and one degree of freedom.
    return len({label.case for label in labels}) - 2


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))
