"""Audit suites: find cases and criteria of measured runs that carry no information."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from fairtrial.analysis.comparability import why_not_comparable
from fairtrial.analysis.measured_run import CASES, MeasuredRun, describe_run
from fairtrial.analysis.paired_runs import PairedRuns, estimate_difference, pair_runs
from fairtrial.records.audit import AuditedCase, CopiedCriterion, OpposedCriterion, SeparatedCase, SuiteAudit
from fairtrial.records.average import mean
from fairtrial.records.run_comparison import IntervalEstimate
from fairtrial.stats.agreement import NORMAL
from fairtrial.stats.difference import Difference, paired_difference
from fairtrial.stats.interval import LEVEL, wilson
from fairtrial.stats.several import holm
from fairtrial.version import __version__

if TYPE_CHECKING:
    from fairtrial.stats.fixed_cases import CaseSample

REDUNDANT = 0.95
"""The correlation from which on a criterion is called a copy."""
_SIGNIFICANT = 0.05
_FEWEST = 5
"""With fewer cases, a correlation says nothing."""


class _Ranked(NamedTuple):
    """Two runs of different quality, with the better one as the candidate."""

    pairs: PairedRuns
    difference: Difference

    @property
    def names(self) -> tuple[str, str]:
        return self.pairs.candidate.info.id, self.pairs.base.info.id


def audit_suite(runs: Sequence[MeasuredRun]) -> SuiteAudit:
    """Return which cases never differ, which criteria copy others, and which are passed more often by worse runs."""
    ranked = list(_rank_pairs(runs))
    totals = _totals(runs)
    constant = [_audit_case(name, *counts) for name, counts in totals.items() if counts[0] in (0, counts[1])]
    widest = max(ranked, key=lambda ranking: abs(ranking.difference.value), default=None)
    flat = None if widest is None else _never_separated(ranked)
    removable, now, without = (None, None, None) if widest is None or flat is None else _power(widest, flat)
    notes = [] if ranked else ["no two runs differ in `cases`, so nothing says which case separates agents"]
    return SuiteAudit(
        f"cases:{len(totals)}|runs:{len(runs)}|redundant:{REDUNDANT}|level:{LEVEL}|fairtrial:{__version__}",
        LEVEL,
        "cases-like-these",
        tuple(map(describe_run, runs)),
        len(totals),
        tuple(case for case in constant if case.passed),
        tuple(case for case in constant if not case.passed),
        None if flat is None else tuple(flat),
        tuple(_opposed_cases(ranked)),
        tuple(_copies(runs)),
        tuple(_opposed_criteria(ranked)),
        removable,
        now,
        without,
        tuple(notes),
    )


def _rank_pairs(runs: Sequence[MeasuredRun]) -> Iterator[_Ranked]:
    """Yield the pairs of runs of which one is shown to be better, by Holm's correction over all pairs."""
    candidates: list[_Ranked] = []
    for first, second in combinations(runs, 2):
        pairs = pair_runs(first, second)
        if why_not_comparable(pairs, first.measures[CASES]):
            continue
        difference = estimate_difference(pairs.samples(CASES), pairs, first.measures[CASES], "cases-like-these")
        if difference is not None and difference.value < 0:
            pairs = pair_runs(second, first)
            difference = estimate_difference(pairs.samples(CASES), pairs, first.measures[CASES], "cases-like-these")
        if difference is not None:
            candidates.append(_Ranked(pairs, difference))
    corrected = holm([ranking.difference.p for ranking in candidates])
    yield from (ranking for ranking, p in zip(candidates, corrected, strict=True) if p < _SIGNIFICANT)


def _totals(runs: Sequence[MeasuredRun]) -> dict[str, tuple[int, int]]:
    """Return how many attempts passed of how many, by case, over all runs. Other versions of a case are other cases."""
    totals: dict[tuple[str, str, str], tuple[int, int]] = {}
    names: dict[tuple[str, str, str], str] = {}
    for run in runs:
        column = run.columns[CASES]
        for case, key in enumerate(run.keys):
            if (sample := column.sample(case)) is not None:
                place = (key.eval_set, key.case, key.digest)
                passed, attempts = totals.get(place, (0, 0))
                totals[place] = passed + sample.passed, attempts + sample.attempts
                names.setdefault(place, run.names[case])
    return {names[place]: counts for place, counts in totals.items()}


def _audit_case(name: str, passed: int, attempts: int) -> AuditedCase:
    return AuditedCase(name, passed, attempts, *wilson(passed / attempts, attempts, NORMAL))


def _never_separated(ranked: Sequence[_Ranked]) -> list[str]:
    """Return the cases that have the same value in both runs of every pair of different quality."""
    separated: dict[str, bool] = {}
    for ranking in ranked:
        for case, (before, after) in ranking.pairs.samples(CASES).items():
            name = ranking.pairs.base.names[case]
            separated[name] = separated.get(name, False) or before.mean != after.mean
    return [name for name, is_separated in separated.items() if not is_separated]


def _power(widest: _Ranked, flat: Sequence[str]) -> tuple[int, float | None, float | None]:
    """Return how many of the cases could go, and how many broken cases a comparison notices with and without them."""
    flat_names = {*flat}
    by_case = widest.pairs.samples(CASES)
    moves = [after.mean - before.mean for before, after in by_case.values()]
    other_moves = [
        after.mean - before.mean
        for case, (before, after) in by_case.items()
        if widest.pairs.base.names[case] not in flat_names
    ]
    now, without = _estimate_noticed(moves), _estimate_noticed(other_moves)
    if now is None or without is None or without > now:
        return 0, now, without
    return len(moves) - len(other_moves), now, without


def _estimate_noticed(moves: Sequence[float]) -> float | None:
    difference = paired_difference(moves)
    if difference is None or difference.detectable is None:
        return None
    return difference.detectable * len(moves)


def _opposed_cases(ranked: Sequence[_Ranked]) -> Iterator[SeparatedCase]:
    for ranking in ranked:
        for case, (before, after) in ranking.pairs.samples(CASES).items():
            if after.mean < before.mean:
                yield SeparatedCase(ranking.pairs.base.names[case], *ranking.names, _between(before, after))


def _between(before: CaseSample, after: CaseSample) -> IntervalEstimate:
    """Return the difference of two pass rates of one case, with Newcombe's interval (1998, Statist. Med. 17)."""
    (low_before, high_before), (low_after, high_after) = (
        wilson(own.mean, own.attempts, NORMAL) for own in (before, after)
    )
    value = after.mean - before.mean
    low = value - math.hypot(after.mean - low_after, high_before - before.mean)
    return IntervalEstimate(value, low, value + math.hypot(high_after - after.mean, before.mean - low_before))


def _copies(runs: Sequence[MeasuredRun]) -> Iterator[CopiedCriterion]:
    """Yield the pairs of criteria whose values on the cases of all runs correlate by 0.95 and more."""
    criteria = {ranking.name: ranking for run in runs for ranking in run.criteria if ranking.gates}
    for criterion, copy in combinations(criteria, 2):
        points = [point for run in runs for point in _points(run, criterion, copy)]
        correlation = _correlation(points) if len(points) >= _FEWEST else None
        if correlation is not None and (correlation.value or 0.0) >= REDUNDANT:
            yield CopiedCriterion(copy, criterion, correlation)


def _points(run: MeasuredRun, criterion: str, copy: str) -> Iterator[tuple[float, float]]:
    if criterion not in run.columns or copy not in run.columns:
        return
    for case in range(len(run.keys)):
        first, second = run.columns[criterion].sample(case), run.columns[copy].sample(case)
        if first is not None and second is not None:
            yield run.measures[criterion].share(first.mean), run.measures[copy].share(second.mean)


def _correlation(points: Sequence[tuple[float, float]]) -> IntervalEstimate | None:
    """Return Pearson's correlation with Fisher's interval, None if one of both does not vary.

    Two extra points at which both contradict ranking other keep the interval of a perfect correlation from vanishing.
    """
    value = _pearson(points)
    if value is None:
        return None
    xs, ys = zip(*points, strict=True)
    wide = _pearson([*points, (min(xs), max(ys)), (max(xs), min(ys))]) or 0.0
    half = NORMAL / math.sqrt(len(points) - 1)
    low, high = (math.tanh(math.atanh(wide) + side * half) for side in (-1, 1))
    return IntervalEstimate(value, min(value, low), max(value, high))


def _pearson(points: Sequence[tuple[float, float]]) -> float | None:
    middle_x, middle_y = mean([x for x, _ in points]), mean([y for _, y in points])
    joint = math.fsum((x - middle_x) * (y - middle_y) for x, y in points)
    spread = math.fsum((x - middle_x) ** 2 for x, _ in points) * math.fsum((y - middle_y) ** 2 for _, y in points)
    return min(1.0, max(-1.0, joint / math.sqrt(spread))) if spread > 0 else None


def _opposed_criteria(ranked: Sequence[_Ranked]) -> Iterator[OpposedCriterion]:
    """Yield the criteria that the better of two runs is shown to pass less often, by Holm's correction."""
    tests: list[tuple[OpposedCriterion, float]] = []
    for ranking in ranked:
        for name, difference in _differences(ranking.pairs).items():
            low, high = difference.interval()
            estimate = IntervalEstimate(difference.value, low, high)
            tests.append((OpposedCriterion(name, *ranking.names, estimate), difference.p))
    for (criterion, _), p in zip(tests, holm([p for _, p in tests]), strict=True):
        if p < _SIGNIFICANT and (criterion.difference.value or 0.0) < 0:
            yield criterion


def _differences(pairs: PairedRuns) -> Mapping[str, Difference]:
    """Return the differences of the pass rates of the criteria that can be compared."""
    differences: dict[str, Difference] = {}
    for criterion in pairs.base.criteria:
        measure = pairs.base.measures.get(f"{criterion.name}:pass")
        if measure is None or measure.name not in pairs.candidate.measures or why_not_comparable(pairs, measure):
            continue
        difference = estimate_difference(pairs.samples(measure.name), pairs, measure, "cases-like-these")
        if difference is not None:
            differences[criterion.name] = difference
    return differences
