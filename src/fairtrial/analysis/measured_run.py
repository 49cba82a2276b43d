"""The attempts of a run as numbers by case. The case is the unit, and missing numbers are counted.

A criterion gives two measures, its mean `NAME` and its pass rate `NAME:pass`. The measure `cases` is the share of the
attempts that passed. `cases:pass` is the share of the cases that pass by the rule of their attempts. An attack run has
its rates, too, such as `attack_success`.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from fairtrial.analysis.attack_measures import ATTACK_RATES, list_rates, rate_values
from fairtrial.analysis.case_column import CaseColumn
from fairtrial.errors import UsageError, nearest
from fairtrial.records.attempt_rule import AttemptEvidence, AttemptRules, case_evidence
from fairtrial.records.keys import CaseKey
from fairtrial.records.result import Outcome, Verdict
from fairtrial.records.run_comparison import ComparedRun
from fairtrial.records.score import Range, Score

if TYPE_CHECKING:
    from fairtrial.records.attempt_row import AttemptRow, CriterionTerms
    from fairtrial.records.judging.calibration import Calibration
    from fairtrial.records.run import RunInfo
    from fairtrial.stats.fixed_cases import CaseSample
    from fairtrial.stats.judge_agreement import Pair

CASES = "cases"
CASE_RATE = "cases:pass"
_RATE_SUFFIX = ":pass"

PlacedCase = tuple[int, CaseKey, str]
"""The position of a case in its eval sets, its key, and its name."""

_NO_GROUP: tuple[int | None, Iterable[AttemptRow]] = (None, ())


@dataclass(frozen=True)
class Measure:
    """A number that every case of a run has. `gates` says whether a threshold decides a verdict by it."""

    name: str
    criterion: str = ""
    gates: bool = True
    is_rate: bool = True
    lower_is_better: bool = False
    range: Range = Range()

    @property
    def is_bounded(self) -> bool:
        """Whether the values have a lowest and a highest value."""
        return all(map(math.isfinite, self.range.bounds)) and self.range.bounds[0] < self.range.bounds[1]

    @property
    def width(self) -> float:
        """The width of the range, infinite if it is unbounded."""
        low, high = self.range.bounds
        return high - low

    def share(self, value: float) -> float:
        """Return a value of a bounded range as a share of it, in 0..1, so that more is better."""
        low, high = self.range.bounds
        share = min(1.0, max(0.0, (value - low) / (high - low)))
        return 1 - share if self.lower_is_better else share

    def value(self, share: float) -> float:
        """Return the value of a share."""
        return self.range.bounds[0] + self.width * (1 - share if self.lower_is_better else share)


@dataclass
class MeasuredRun:
    """The cases of a run in file order, with a column for each measure.

    `positions` are their places in the eval sets, which have gaps if only some of the cases ran. Everything else counts
    the cases of the run. `case_verdicts` are the verdicts that the rules of the run make of the attempts. Without an
    attempt, they are None.
    `calibrations` say how far the judges may be believed, by criterion. `labelled` are the labelled outcomes of
    each criterion, by the position of the case and the number of the attempt. `clusters` are the clusters of the cases,
    empty if every case stands for itself. `weights` are the inverses of the sampling probabilities of the cases, empty
    if all are equal: then the sample is like the whole.
    """

    info: RunInfo
    keys: list[CaseKey]
    names: list[str]
    positions: list[int]
    measures: dict[str, Measure]
    columns: dict[str, CaseColumn] = field(default_factory=dict)
    case_attempts: array[int] = field(default_factory=lambda: array("I"))
    case_verdicts: list[Verdict | None] = field(default_factory=list)
    calibrations: Mapping[str, Calibration] = field(default_factory=dict)
    labelled: Mapping[str, Mapping[tuple[int, int], Pair]] = field(default_factory=dict)
    clusters: Sequence[str] = ()
    weights: Sequence[float] = ()

    def measure(self, name: str) -> Measure:
        """Return a measure. Raises UsageError with the names of all measures if the run does not have it."""
        if name not in self.measures:
            raise UsageError(
                f"run {self.info.id} has no measure {name!r}{nearest(name, self.measures)}; "
                f"its measures are {', '.join(self.measures)}",
                code="unknown-name",
            )
        return self.measures[name]

    @property
    def attempts(self) -> int:
        """The number of attempts."""
        return sum(self.case_attempts)

    def attempts_at(self, case: int) -> int:
        """Return the number of attempts of a case, scored or not."""
        return self.case_attempts[case] if case < len(self.case_attempts) else 0

    @property
    def is_finished(self) -> bool:
        """Whether the run has come to its end."""
        return self.info.finished is not None

    @property
    def criteria(self) -> list[Measure]:
        """The means of the criteria, in their order."""
        return [measure for name, measure in self.measures.items() if name == measure.criterion]

    def cluster(self, case: int) -> Hashable:
        """Return the cluster of a case. A case without one is a cluster by itself."""
        return (self.clusters[case] if self.clusters else "") or (str(self.keys[case]), case)

    def samples(self, name: str) -> list[CaseSample]:
        """Return the scored attempts of the cases that have any."""
        column = self.columns[name]
        return [sample for case in range(len(self.keys)) if (sample := column.sample(case)) is not None]


def check_unweighted(runs: Iterable[MeasuredRun | None], analysis: str) -> None:
    """Raise UsageError if the cases of a run were sampled unequally, which an analysis cannot weigh."""
    for run in runs:
        if run is not None and run.weights:
            raise UsageError(
                f"run {run.info.id}: its conversations were sampled with unequal probabilities, and {analysis} does "
                "not weigh them; score a sample with one probability",
                code="unusable-run",
            )


def describe_run(run: MeasuredRun) -> ComparedRun:
    """Return the description of a run."""
    info = run.info
    return ComparedRun(
        info.id, info.started, info.kind, run.is_finished, len(run.keys), run.attempts, cluster_count(run)
    )


def cluster_count(run: MeasuredRun) -> int | None:
    """Return the number of clusters of the cases of a run, or None if every case stands for itself."""
    return len(set(map(run.cluster, range(len(run.keys))))) if run.clusters else None


def measure_run(
    info: RunInfo,
    cases: Iterable[PlacedCase],
    attempts: Iterable[AttemptRow],
    terms: Mapping[str, CriterionTerms],
    *,
    valid_only: bool = False,
    only: str = "",
) -> MeasuredRun:
    """Return the numbers of a run from its cases and its attempts, both in the order of their positions.

    Outcomes that do not apply are left out. If the agent broke an attempt, the attempt failed, and the values that it
    could not get are missing. Everything else without a value is missing, too. A case without any attempt lacks one.
    With `valid_only`, attempts that say nothing about the agent are missing. `only` names the single measure that is
    needed: the others that have no part in it are left out. Raises UsageError if an attempt belongs to none of the
    cases.
    """
    return measure_cases(info, _with_attempts(info, cases, attempts), terms, valid_only=valid_only, only=only)


def _with_attempts(
    info: RunInfo, cases: Iterable[PlacedCase], attempts: Iterable[AttemptRow]
) -> Iterator[tuple[PlacedCase, Sequence[AttemptRow]]]:
    groups = groupby(attempts, key=lambda row: row.position)
    place, group = next(groups, _NO_GROUP)
    for case in cases:
        rows = list(group) if place == case[0] else []
        if rows:
            place, group = next(groups, _NO_GROUP)
        yield case, rows
    if place is not None:
        raise _stray_attempts(info, place)


def _stray_attempts(info: RunInfo, position: int) -> UsageError:
    return UsageError(
        f"run {info.id}: holds attempts at position {position}, and no case there; give a complete copy of the run",
        code="too-little-data",
    )


def measure_passes(
    info: RunInfo,
    positions: list[int],
    keys: list[CaseKey],
    names: list[str],
    attempts: Sequence[tuple[int, int, int, int, int]],
) -> MeasuredRun:
    """Return the measure `cases` of a run as `measure_run` does, from the numbers of attempts at its cases.

    `attempts` are the position of a case, its number of attempts, how many of them passed, how many passed or failed,
    and how many are missing. The verdicts of the cases are not known. Raises UsageError as `measure_run` does.
    """
    if [row[0] for row in attempts] != positions:
        rows = {row[0]: row for row in attempts}
        attempts = [rows.pop(position, (position, 0, 0, 0, 1)) for position in positions]
        if rows:
            raise _stray_attempts(info, min(rows))
    run = MeasuredRun(info, keys, names, positions, {CASES: Measure(CASES)})
    _, numbers, passed, trials, missing = zip(*attempts, strict=True) if attempts else ((),) * 5
    run.columns = {CASES: CaseColumn.from_passes(passed, trials, missing)}
    run.case_attempts.extend(numbers)
    run.case_verdicts = [None] * len(keys)
    if "clusters" in info.config:
        run.clusters = [info.find_cluster(key.eval_set, key.case) for key in keys]
    return run


def measure_cases(
    info: RunInfo,
    cases: Iterable[tuple[PlacedCase, Sequence[AttemptRow]]],
    terms: Mapping[str, CriterionTerms],
    *,
    valid_only: bool = False,
    only: str = "",
) -> MeasuredRun:
    """Return the numbers of a run as `measure_run` does, from cases that each come with all of their attempts.

    The attempts of a case are reduced to its sums before the next case is read.
    """
    measures = list_measures(terms, has_attacks=info.kind == "attack")
    run = MeasuredRun(info, [], [], [], select_measures(measures, only) if only else measures)
    run.columns = {name: CaseColumn() for name in run.measures}
    weights, rules = array("d"), info.attempt_rules
    for (position, key, name), rows in cases:
        run.positions.append(position)
        run.keys.append(key)
        run.names.append(name)
        _add_case(run, rows, valid_only=valid_only)
        weights.append(1 / (next((row.probability for row in rows if row.probability), None) or 1.0))
        if rows:
            run.case_verdicts[-1] = _case_verdict(run, rules, rows, terms)
    if "clusters" in info.config:
        run.clusters = [info.find_cluster(key.eval_set, key.case) for key in run.keys]
    _add_case_rates(run)
    run.weights = weights if len(set(weights)) > 1 else ()
    return run


def _case_verdict(
    run: MeasuredRun, rules: AttemptRules, rows: Sequence[AttemptRow], terms: Mapping[str, CriterionTerms]
) -> Verdict | None:
    """Return the verdict of a case from the numbers of its attempts.

    A value that is missing in part counts as missing, because the numbers do not say which values it could have.
    """
    if len(rows) == 1:
        return rows[0].verdict
    key = run.keys[len(run.case_attempts) - 1]
    rule = rules.find_rule(key.eval_set, key.case)
    needs_values = rule.name == "mean"
    # Equal attempts may be one row, so that each row is read once.
    evidence = {
        id(row): AttemptEvidence(row.verdict, row.agent_failed, _outcomes(row, terms) if needs_values else ())
        for row in {id(row): row for row in rows}.values()
    }
    return case_evidence(rule, [evidence[id(row)] for row in rows]).verdict


def _outcomes(row: AttemptRow, terms: Mapping[str, CriterionTerms]) -> list[Outcome]:
    outcomes = []
    for criterion, value, verdict in row.outcomes:
        own = terms[criterion]
        known = None if verdict is Verdict.UNSCORED else value
        score = Score(known, applicable=verdict is not Verdict.NOT_APPLICABLE)
        outcomes.append(Outcome(criterion, score, own.threshold, own.lower_is_better, own.range))
    return outcomes


def _add_case_rates(run: MeasuredRun) -> None:
    """Add the share of the cases that pass by their rules, if cases have several attempts."""
    if max(run.case_attempts, default=0) < 2:
        return
    run.measures[CASE_RATE] = Measure(CASE_RATE)
    column = run.columns[CASE_RATE] = CaseColumn()
    for verdict in run.case_verdicts:
        is_decided = verdict in (Verdict.PASSED, Verdict.FAILED, Verdict.ERROR)
        value = [float(verdict is Verdict.PASSED)] if is_decided else []
        column.add(value, int(verdict in (Verdict.UNSCORED, None)))


def list_measures(terms: Mapping[str, CriterionTerms], *, has_attacks: bool = False) -> dict[str, Measure]:
    """Return the measures of a run by their names, from the terms of its criteria."""
    measures = {CASES: Measure(CASES)}
    for name, term in terms.items():
        gates = term.threshold is not None
        measures[name] = Measure(name, name, gates, False, term.lower_is_better, term.range)
        if gates:
            measures[f"{name}{_RATE_SUFFIX}"] = Measure(f"{name}{_RATE_SUFFIX}", name)
    if has_attacks:
        for name, rate in ATTACK_RATES.items():
            measures[name] = Measure(name, rate.criterion, lower_is_better=rate.lower_is_better)
    return measures


def select_measures(measures: Mapping[str, Measure], name: str) -> dict[str, Measure]:
    """Return a measure and `cases`, with its criterion, or with all criteria that decide whether a case passes.

    The rates of attacks rest on each other, so that all of them are returned.
    """
    if not ATTACK_RATES.keys().isdisjoint(measures):
        return dict(measures)
    criterion = measures[name].criterion if name in measures else ""
    return {
        key: own
        for key, own in measures.items()
        if key in (CASES, name, criterion) or (not criterion and own.gates and key == own.criterion)
    }


def _add_case(run: MeasuredRun, rows: Sequence[AttemptRow], *, valid_only: bool) -> None:
    run.case_attempts.append(len(rows))
    run.case_verdicts.append(None)
    values: dict[str, list[float]] = {name: [] for name in run.measures}
    missing, eval_set = dict.fromkeys(run.measures, 0), run.keys[-1].eval_set
    if not rows:
        own_rates = set(list_rates(eval_set))
        missing = {name: int(name not in ATTACK_RATES or name in own_rates) for name in run.measures}
    known: dict[int, list[tuple[str, float | None]]] = {}
    for row in rows:
        own = known.get(id(row))
        if own is None:
            own = known[id(row)] = [*measured_values(row, run.measures, valid_only=valid_only)]
            if run.info.kind == "attack":
                is_invalid = valid_only and row.valid is False
                own += [(name, None if is_invalid else value) for name, value in rate_values(row, eval_set)]
        for name, value in own:
            if value is None:
                missing[name] += 1
            else:
                values[name].append(value)
    for name, column in run.columns.items():
        column.add(values[name], missing[name])


def measured_values(
    row: AttemptRow, measures: Mapping[str, Measure], *, valid_only: bool = False
) -> Iterator[tuple[str, float | None]]:
    """Yield the measures that an attempt should have, with their values. None is a missing value."""
    invalid = valid_only and row.valid is False
    if row.verdict is not Verdict.INFORMATIONAL:
        yield CASES, None if invalid else _count_passed(row.verdict, agent_failed=row.agent_failed)
    for criterion, value, verdict in row.outcomes:
        if verdict is Verdict.NOT_APPLICABLE or criterion not in measures:
            continue
        yield criterion, None if invalid else value
        if f"{criterion}{_RATE_SUFFIX}" in measures and verdict is not Verdict.INFORMATIONAL:
            yield (
                f"{criterion}{_RATE_SUFFIX}",
                None if invalid else _count_passed(verdict, agent_failed=row.agent_failed),
            )


def _count_passed(verdict: Verdict, *, agent_failed: bool) -> float | None:
    if verdict in (Verdict.PASSED, Verdict.FAILED):
        return float(verdict is Verdict.PASSED)
    return 0.0 if agent_failed else None
