"""Compare two measured runs, with paired differences and their uncertainty."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_fields
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec.structs import replace

from fairtrial.analysis.attack_measures import ATTACK_RATES
from fairtrial.analysis.comparability import (
    WEIGHTED_BY_PEOPLE,
    attempts_until_decided,
    options_that_differ,
    pairing_warnings,
    rules_that_differ,
    why_not_comparable,
)
from fairtrial.analysis.judged_claims import CLUSTERED, corrected_difference
from fairtrial.analysis.measured_run import CASES, Measure, MeasuredRun, describe_run
from fairtrial.analysis.paired_runs import (
    PairedRuns,
    SamplePair,
    check_repeated,
    estimate_difference,
    pair_runs,
    paired_cases,
)
from fairtrial.records.attack import REPORTED, SUCCESS
from fairtrial.records.average import mean
from fairtrial.records.result import Verdict
from fairtrial.records.run_comparison import (
    About,
    ComparedMeasure,
    ComparedSlice,
    Comparison,
    Flip,
    McNemar,
    Move,
    PassK,
    RowVerdict,
    SetupDifference,
)
from fairtrial.stats.interval import LEVEL
from fairtrial.stats.pass_k import NO_INTERVALS, pass_k_table, without_intervals
from fairtrial.stats.several import holm, mcnemar
from fairtrial.stats.weighted import weighted_mean
from fairtrial.version import __version__

if TYPE_CHECKING:
    from fairtrial.stats.difference import Difference

_SIGNIFICANT = 0.05
_WEIGHTED_NOTE = (
    "the conversations were sampled with unequal probabilities: means and differences weigh each by its inverse, and "
    "counts are those of the sample"
)
_FLIPS: dict[tuple[bool, bool], Flip] = {(True, False): "broken", (False, True): "fixed"}
"""The names of changes, by whether the case passed in the base and in the candidate."""


class Slices(NamedTuple):
    """The property by which cases are divided, and the positions of the cases of the base by its values."""

    by: str | None = None
    values: Mapping[str, Collection[int]] = {}


NO_SLICES = Slices()


@dataclass
class _Row:
    """A row without its corrected p value and its verdict, which depend on the other rows."""

    measure: Measure
    row: ComparedMeasure
    difference: Difference | None


def compare_runs(
    base: MeasuredRun,
    candidates: Sequence[MeasuredRun],
    *,
    about: About = "cases-like-these",
    pass_rates: bool = False,
    margin: float | None = None,
    even_so: bool = False,
    corrected: bool = False,
    slices: Slices = NO_SLICES,
) -> list[Comparison]:
    """Return the comparison of each candidate with the base.

    The p values of the criteria are corrected together, over all candidates. The p values of `cases` are corrected if
    there are several candidates. With `pass_rates` criteria are compared by their pass rates. `margin` is the
    difference up to which two runs are called equal. With `even_so` criteria are compared although their options
    differ. With `corrected` a criterion is compared by its corrected means if people have labelled both runs. `slices`
    divide the cases of the base. Their p values are corrected together, over all slices and measures.
    """
    pairs = [pair_runs(base, candidate) for candidate in candidates]
    if about == "these-cases":
        for runs in pairs:
            check_repeated(runs, CASES)
    tables = [
        [
            (corrected and _corrected_row(runs, measure, even_so=even_so))
            or _row(runs, measure, about, even_so=even_so)
            for measure in _measures(runs, pass_rates=pass_rates)
        ]
        for runs in pairs
    ]
    family = _correct(tables)
    divided = [_slice_runs(runs, slices, about, pass_rates=pass_rates, even_so=even_so) for runs in pairs]
    _correct_family([row for rows_by_value in divided for rows in rows_by_value.values() for row in rows])
    for table in (*tables, *(rows for rows_by_value in divided for rows in rows_by_value.values())):
        for row in table:
            row.row = replace(row.row, verdict=_verdict(row, margin))
    comparisons = [_comparison(runs, table, about, margin, family) for runs, table in zip(pairs, tables, strict=True)]
    return [
        replace(comparison, by=slices.by, slices=tuple(starmap(_slice, rows_by_value.items())))
        if slices.by
        else comparison
        for comparison, rows_by_value in zip(comparisons, divided, strict=True)
    ]


def _slice_runs(
    runs: PairedRuns, slices: Slices, about: About, *, pass_rates: bool, even_so: bool
) -> dict[str, list[_Row]]:
    """Return the rows of `cases` and of the criteria with a threshold for each slice of the shared cases."""
    places = {runs.base.positions[ours]: (ours, theirs) for ours, theirs in runs.positions}
    tables = {}
    for value, positions in slices.values.items():
        own = [places[position] for position in sorted(positions) if position in places]
        if own:
            part = with_fields(runs, positions=own, alone=[])
            rows = [_row(part, each, about, even_so=even_so) for each in _measures(part, pass_rates=pass_rates)]
            tables[value] = [row for row in rows if not row.row.informational and row.row.cases]
    return tables


def _slice(value: str, rows: Sequence[_Row]) -> ComparedSlice:
    return ComparedSlice(value, rows[0].row.cases if rows else 0, tuple(row.row for row in rows))


def _measures(runs: PairedRuns, *, pass_rates: bool) -> list[Measure]:
    """Return the measures that both runs have: `cases`, the rates, the criteria with a threshold, and the others."""
    rates = [name for name in ATTACK_RATES if name in runs.base.measures and name in runs.candidate.measures]
    criteria = [
        measure
        for measure in runs.base.criteria
        if measure.name in runs.candidate.measures and not (measure.name in (SUCCESS, REPORTED) and rates)
    ]
    gating = [measure for measure in criteria if measure.gates and runs.candidate.measures[measure.name].gates]
    informational = [measure for measure in criteria if measure not in gating]
    if pass_rates:
        gating = [runs.base.measures[f"{measure.name}:pass"] for measure in gating]
    return [*(runs.base.measures[name] for name in (CASES, *rates)), *gating, *informational]


def _row(runs: PairedRuns, measure: Measure, about: About, *, even_so: bool) -> _Row:
    by_case = runs.samples(measure.name)
    pairs = list(by_case.values())
    informational = measure.name != CASES and not (measure.gates and runs.candidate.measures[measure.name].gates)
    mismatch = "" if even_so else why_not_comparable(runs, measure)
    difference = estimate_difference(by_case, runs, measure, about) if pairs else None
    low, high = difference.interval() if difference else (None, None)
    moves = [after.mean - before.mean for before, after in pairs]
    better, worse = sum(move > 0 for move in moves), sum(move < 0 for move in moves)
    if measure.lower_is_better:
        better, worse = worse, better
    average = _average(runs, by_case, about)
    row = ComparedMeasure(
        measure.name,
        average([before.mean for before, _ in pairs]) if pairs else None,
        average([after.mean for _, after in pairs]) if pairs else None,
        average(moves) if pairs else None,
        low,
        high,
        difference.p if difference and not mismatch and not informational else None,
        None,
        difference.method if difference else None,
        len(pairs),
        better,
        worse,
        len(pairs) - better - worse,
        runs.missing(measure.name),
        difference.detectable if difference and not mismatch else None,
        _mcnemar(pairs) if measure.is_rate and not runs.is_weighted else None,
        None,
        not mismatch,
        _judges(runs, measure),
        mismatch or _why_no_interval(pairs, difference, measure, about, len({*runs.clusters(by_case)})),
        measure.is_rate,
        informational,
    )
    return _Row(measure, row, difference)


def _average(runs: PairedRuns, cases: Iterable[int], about: About) -> Callable[[Sequence[float]], float]:
    """Return the mean over cases, which weighs them if they stand for others and have unequal probabilities."""
    if about == "these-cases" or not runs.is_weighted:
        return mean
    return partial(weighted_mean, weights=runs.weights(cases))


def _judges(runs: PairedRuns, measure: Measure) -> str | None:
    """Return the states of the judge in both runs, for example `judge unchecked`. None if there is no judge."""
    own = (run.calibrations.get(measure.criterion) for run in (runs.base, runs.candidate))
    states = [None if calibration is None else calibration.state.value for calibration in own]
    if states == [None, None]:
        return None
    return f"judge {' / '.join(dict.fromkeys(state or 'unchecked' for state in states))}"


def _corrected_row(runs: PairedRuns, measure: Measure, *, even_so: bool) -> _Row | None:
    """Return the row of a criterion by its corrected means, or None unless people have labelled both runs."""
    if not measure.criterion:
        return None
    difference = corrected_difference(runs, runs.base.measures[measure.criterion])
    if difference is None:
        return None
    base, candidate = (run.calibrations[measure.criterion] for run in (runs.base, runs.candidate))
    plain = _row(runs, measure, "cases-like-these", even_so=even_so).row
    clustered = bool(runs.base.clusters or runs.candidate.clusters or runs.is_weighted)
    low, high = (None, None) if clustered else difference.interval()
    row = replace(
        plain,
        measure=f"{measure.criterion}:corrected",
        base=base.corrected.value,
        candidate=candidate.corrected.value,
        difference=difference.value,
        low=low,
        high=high,
        p=None if plain.p is None or clustered else difference.p,
        method=None if clustered else difference.method,
        detectable=None if clustered or not plain.comparable else difference.detectable,
        mcnemar=None,
        why=plain.why if not plain.comparable else _why_uncorrected(runs) if clustered else None,
        is_rate=not base.graded,
    )
    # A corrected pass rate is better if it is higher, whichever direction the values of the criterion have.
    direction = measure if base.graded else with_fields(measure, lower_is_better=False)
    return _Row(direction, row, None if clustered else difference)


def _why_uncorrected(runs: PairedRuns) -> str:
    return WEIGHTED_BY_PEOPLE if runs.is_weighted else CLUSTERED


def _why_no_interval(
    pairs: Sequence[SamplePair], difference: Difference | None, measure: Measure, about: About, clusters: int
) -> str | None:
    if difference is not None:
        return None
    if not pairs:
        return "no case has a value in both runs"
    if about == "these-cases":
        if not measure.is_bounded:
            return "about these cases, an interval needs a measure with bounds"
        return "a case has only one scored attempt"
    if clusters < 2:
        return f"one {'case' if len(pairs) < 2 else 'cluster of cases'} says nothing about others"
    return "every case has the same value in both runs, and the measure has no bounds"


def _mcnemar(pairs: Sequence[SamplePair]) -> McNemar | None:
    """Return McNemar's test if every case has one attempt in both runs."""
    if not pairs or any(sample.attempts != 1 for pair in pairs for sample in pair):
        return None
    fixed = sum(after.mean > before.mean for before, after in pairs)
    regressions = sum(after.mean < before.mean for before, after in pairs)
    return McNemar(fixed, regressions, *mcnemar(fixed, regressions))


def _correct(tables: Sequence[Sequence[_Row]]) -> int:
    """Correct p values by family: all criteria, and `cases` of several candidates. Return the number of criteria."""
    rows = [row for table in tables for row in table if row.row.p is not None]
    criteria = [row for row in rows if row.measure.name != CASES]
    cases = [row for row in rows if row.measure.name == CASES]
    _correct_family(criteria)
    if len(cases) > 1:
        _correct_family(cases)
    return len(criteria)


def _correct_family(rows: Sequence[_Row]) -> None:
    """Correct the p values of rows, and give each the interval of the level at which it was tested.

    Holm's procedure tests a row at 5 % by the factor of its correction. So the interval excludes 0 exactly if the
    corrected p value is below 5 %.
    """
    family = [row for row in rows if row.row.p is not None]
    for row, corrected in zip(family, holm([row.row.p or 0.0 for row in family]), strict=True):
        factor = corrected / row.row.p if row.row.p else float(len(family))
        level = 1 - _SIGNIFICANT / max(1.0, factor)
        low, high = row.difference.interval(level) if row.difference else (None, None)
        row.row = replace(row.row, p_holm=corrected, low=low, high=high, level=level)


def _verdict(row: _Row, margin: float | None) -> RowVerdict | None:
    p = row.row.p if row.row.p_holm is None else row.row.p_holm
    if p is None or row.difference is None:
        return None
    if p < _SIGNIFICANT:
        return "better" if (row.difference.centre > 0) != row.measure.lower_is_better else "worse"
    if margin is not None:
        low, high = row.difference.interval(2 * LEVEL - 1)
        if -margin < low and high < margin:
            return "equal within the margin"
    return "no difference shown"


def _comparison(runs: PairedRuns, table: Sequence[_Row], about: About, margin: float | None, family: int) -> Comparison:
    base, candidate = runs.base, runs.candidate
    pairs = paired_cases(runs)
    unfinished = [
        f"run {run.info.id} is not finished: the attempts that it lacks are not counted"
        for run in (base, candidate)
        if not run.is_finished
    ]
    rows = tuple(row.row for row in table)
    missing = sum(rows[0].missing)
    signature = {
        "cases": rows[0].cases,
        **({} if pairs.clusters is None else {"clusters": pairs.clusters}),
        "attempts": ",".join(pairs.attempts),
        "about": "like" if about == "cases-like-these" else "these",
        "ci": (rows[0].method or "none").replace(" ", "-").replace(",", ""),
        "level": LEVEL,
        "holm": family,
        "missing": missing,
        "fairtrial": __version__,
    }
    pass_k = (_pass_k(runs, 0), _pass_k(runs, 1))
    return Comparison(
        "|".join(f"{name}:{value}" for name, value in signature.items()),
        LEVEL,
        about,
        (describe_run(base), describe_run(candidate)),
        pairs,
        tuple(_setup(runs)),
        rows,
        tuple(_moves(runs)),
        pass_k,
        margin,
        (
            *unfinished,
            *pairing_warnings(runs),
            *attempts_until_decided([runs.base, runs.candidate]),
            *([_WEIGHTED_NOTE] if runs.is_weighted and about == "cases-like-these" else []),
            *([NO_INTERVALS] if pairs.clusters and any(pass_k) else []),
        ),
    )


def _pass_k(runs: PairedRuns, side: Literal[0, 1]) -> tuple[PassK, ...]:
    samples = (pair[side] for pair in runs.samples(CASES).values())
    if runs.is_weighted:
        return ()
    table = pass_k_table(Counter((sample.passed, sample.attempts) for sample in samples))
    return without_intervals(table) if runs.base.clusters or runs.candidate.clusters else table


def _moves(runs: PairedRuns) -> list[Move]:
    """Return the cases that changed: first the broken and the fixed ones, then the largest changes of the pass rate."""
    moves: list[Move] = []
    places = dict(runs.positions)
    for case, (before, after) in runs.samples(CASES).items():
        change = after.mean - before.mean
        verdicts = (runs.base.case_verdicts[case], runs.candidate.case_verdicts[places[case]])
        is_decided = not {Verdict.UNSCORED, None} & {*verdicts}
        flipped = _FLIPS.get((verdicts[0] is Verdict.PASSED, verdicts[1] is Verdict.PASSED)) if is_decided else None
        if change or flipped:
            counts = [(sample.passed, sample.attempts) for sample in (before, after)]
            moves.append(Move(runs.base.names[case], counts[0], counts[1], change, flipped))
    return sorted(moves, key=lambda move: (move.flipped != "broken", move.flipped is None, -abs(move.change)))


def _setup(runs: PairedRuns) -> Iterator[SetupDifference]:
    """Yield the parts of the configuration in which the runs differ, agents and the rules of attempts included."""
    base, candidate = runs.base.info.signatures, runs.candidate.info.signatures
    for name in {**base, **candidate}:
        for option, before, after in options_that_differ(base.get(name), candidate.get(name)):
            yield SetupDifference(f"{name}: {option}" if option else name, before, after)
    if rules := rules_that_differ(runs):
        yield SetupDifference("attempts pass", *rules)
