"""Two measured runs -> Comparison: is the candidate better than the base, and how sure is that?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_measure
from typing import Any, Literal

from msgspec.structs import replace

from fairtrial.measured_run import CASES, Measure, MeasuredRun, described_run
from fairtrial.paired_runs import PairedRuns, SamplePair, check_repeated, difference_of, pair_runs
from fairtrial.records.average import mean
from fairtrial.records.record import Json
from fairtrial.records.result import Verdict
from fairtrial.records.run_comparison import (
    About,
    ComparedMeasure,
    Comparison,
    Flip,
    McNemar,
    Move,
    Pairs,
    PassK,
    RowVerdict,
    SetupDifference,
)
from fairtrial.stats.difference import Difference
from fairtrial.stats.interval import LEVEL
from fairtrial.stats.pass_k import pass_k_table
from fairtrial.stats.several import holm, mcnemar
from fairtrial.stats.student import student_quantile
from fairtrial.text.display import compact, shortened
from fairtrial.version import __version__

CORRECTED = "corrected means, t"
_SIGNIFICANT = 0.05
_POWER = 0.8
_SHORT = 60
_FLIPS: dict[tuple[bool, bool], Flip] = {(True, False): "broken", (False, True): "fixed"}
"""The names of changes, by whether the case passed in the base and in the candidate."""
_NESTING = ("options", "panel", 0)
"""Keys of signatures that say nothing to a reader. For example, the first model of a panel is the judge."""


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
) -> list[Comparison]:
    """Return the comparison of each candidate with the base.

    The p values of the criteria are corrected together, over all candidates. The p values of `cases` are corrected if
    there are several candidates. With `pass_rates` criteria are compared by their pass rates. `margin` is the
    difference up to which two runs are called equal. With `even_so` criteria are compared although their options
    differ. With `corrected` a criterion is compared by its corrected means if people have labelled both runs.
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
    for table in tables:
        for row in table:
            row.row = replace(row.row, verdict=_verdict(row, margin))
    return [_comparison(runs, table, about, margin, family) for runs, table in zip(pairs, tables, strict=True)]


def _measures(runs: PairedRuns, *, pass_rates: bool) -> list[Measure]:
    """Return the measures that both runs have: `cases`, then the criteria with a threshold, then the others."""
    criteria = [measure for measure in runs.base.criteria if measure.name in runs.candidate.measures]
    gating = [measure for measure in criteria if measure.gates and runs.candidate.measures[measure.name].gates]
    informational = [measure for measure in criteria if measure not in gating]
    if pass_rates:
        gating = [runs.base.measures[f"{measure.name}:pass"] for measure in gating]
    return [runs.base.measures[CASES], *gating, *informational]


def _row(runs: PairedRuns, measure: Measure, about: About, *, even_so: bool) -> _Row:
    by_case = runs.samples(measure.name)
    pairs = list(by_case.values())
    informational = measure.name != CASES and not (measure.gates and runs.candidate.measures[measure.name].gates)
    mismatch = "" if even_so else _other_options(runs, measure)
    difference = difference_of(pairs, measure, about) if pairs else None
    low, high = difference.interval() if difference else (None, None)
    moves = [after.mean - before.mean for before, after in pairs]
    better, worse = sum(move > 0 for move in moves), sum(move < 0 for move in moves)
    if measure.lower_is_better:
        better, worse = worse, better
    row = ComparedMeasure(
        measure.name,
        mean([before.mean for before, _ in pairs]) if pairs else None,
        mean([after.mean for _, after in pairs]) if pairs else None,
        mean(moves) if pairs else None,
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
        difference.detectable if difference else None,
        _mcnemar(pairs) if measure.is_rate else None,
        None,
        not mismatch,
        _judges(runs, measure),
        mismatch or _why_no_interval(pairs, difference, measure, about),
        measure.is_rate,
        informational,
    )
    return _Row(measure, row, difference)


def _judges(runs: PairedRuns, measure: Measure) -> str | None:
    """Return the states of the judge in both runs, for example `judge unchecked`. None if there is no judge."""
    own = (run.calibrations.get(measure.criterion) for run in (runs.base, runs.candidate))
    states = [None if calibration is None else calibration.state.value for calibration in own]
    if states == [None, None]:
        return None
    return f"judge {' / '.join(dict.fromkeys(state or 'unchecked' for state in states))}"


def _corrected_row(runs: PairedRuns, measure: Measure, *, even_so: bool) -> _Row | None:
    """Return the row of a criterion by its corrected means, or None unless people have labelled both runs.

    The samples of labels are independent of each other, so the variances of both means add up.
    """
    base, candidate = (run.calibrations.get(measure.criterion) for run in (runs.base, runs.candidate))
    if base is None or candidate is None or not base.error or not candidate.error or base.graded != candidate.graded:
        return None
    before, after = base.corrected.value or 0.0, candidate.corrected.value or 0.0
    freedom = min(base.freedom or 1, candidate.freedom or 1)
    width = measure.width if base.graded else 1.0
    difference = Difference(after - before, after - before, math.hypot(base.error, candidate.error), freedom, width)
    plain = _row(runs, measure, "cases-like-these", even_so=even_so).row
    low, high = difference.interval()
    row = replace(
        plain,
        measure=f"{measure.criterion}:corrected",
        base=before,
        candidate=after,
        difference=after - before,
        low=low,
        high=high,
        p=None if plain.p is None else difference.p,
        method=CORRECTED,
        detectable=difference.error * (student_quantile(0.5 + LEVEL / 2, freedom) + student_quantile(_POWER, freedom)),
        mcnemar=None,
        why=plain.why if not plain.comparable else None,
        is_rate=not base.graded,
    )
    # A corrected pass rate is better if it is higher, whichever direction the values of the criterion have.
    direction = measure if base.graded else replace_measure(measure, lower_is_better=False)
    return _Row(direction, row, difference)


def _why_no_interval(
    pairs: Sequence[SamplePair], difference: Difference | None, measure: Measure, about: About
) -> str | None:
    if difference is not None:
        return None
    if not pairs:
        return "no case has a value in both runs"
    if about == "these-cases":
        if not measure.is_bounded:
            return "about these cases, an interval needs a measure with bounds"
        return "a case has only one scored attempt"
    if len(pairs) < 2:
        return "one case says nothing about others"
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
    for family in (criteria, cases if len(cases) > 1 else []):
        for row, p_value in zip(family, holm([row.row.p or 0.0 for row in family]), strict=True):
            row.row = replace(row.row, p_holm=p_value)
    return len(criteria)


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
    attempts = _attempts(runs)
    rows = tuple(row.row for row in table)
    missing = sum(rows[0].missing)
    signature = {
        "cases": rows[0].cases,
        "attempts": ",".join(attempts),
        "about": "like" if about == "cases-like-these" else "these",
        "ci": (rows[0].method or "none").replace(" ", "-").replace(",", ""),
        "level": LEVEL,
        "holm": family,
        "missing": missing,
        "fairtrial": __version__,
    }
    return Comparison(
        "|".join(f"{name}:{value}" for name, value in signature.items()),
        LEVEL,
        about,
        (described_run(base), described_run(candidate)),
        Pairs(
            len(runs.positions),
            attempts,
            *map(tuple, (runs.only_base, runs.only_candidate, runs.changed, runs.ambiguous)),
        ),
        tuple(_setup(base.info.signatures, candidate.info.signatures)),
        rows,
        tuple(_moves(runs)),
        (_pass_k(runs, 0), _pass_k(runs, 1)),
        margin,
        tuple(_warnings(runs)),
    )


def _attempts(runs: PairedRuns) -> tuple[str, str]:
    """Return how many attempts a case has in both runs, scored or missing: `4`, or `3-4` if the cases differ."""
    texts: list[str] = []
    for run, side in ((runs.base, 0), (runs.candidate, 1)):
        counts = {run.attempts_of(pair[side]) for pair in runs.positions}
        texts.append(f"{min(counts)}-{max(counts)}" if len(counts) > 1 else str(counts.pop()))
    return texts[0], texts[1]


def _pass_k(runs: PairedRuns, side: Literal[0, 1]) -> tuple[PassK, ...]:
    samples = (pair[side] for pair in runs.samples(CASES).values())
    return pass_k_table(Counter((round(sample.mean * sample.attempts), sample.attempts) for sample in samples))


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
            counts = [(round(sample.mean * sample.attempts), sample.attempts) for sample in (before, after)]
            moves.append(Move(runs.base.names[case], counts[0], counts[1], change, flipped))
    return sorted(moves, key=lambda move: (move.flipped != "broken", move.flipped is None, -abs(move.change)))


def _setup(base: Mapping[str, Json], candidate: Mapping[str, Json]) -> Iterator[SetupDifference]:
    """Yield the parts of the configuration in which the runs differ, agents included."""
    for name in {**base, **candidate}:
        for option, before, after in options_that_differ(base.get(name), candidate.get(name)):
            yield SetupDifference(f"{name}: {option}" if option else name, before, after)


def _other_options(runs: PairedRuns, measure: Measure) -> str:
    """Return how the options of a criterion differ between the runs, or an empty string if they do not."""
    if measure.name == CASES:
        return ""
    base, candidate = (run.info.signatures.get(measure.criterion) for run in (runs.base, runs.candidate))
    differences = [
        f"{option or 'options'} {before} / {after}" for option, before, after in options_that_differ(base, candidate)
    ]
    return f"not comparable: {'; '.join(differences[:3])}" if differences else ""


def options_that_differ(base: Json, candidate: Json, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the options in which two signatures differ, each with its path and both values as short texts.

    For example, `judge votes`, `3`, `5`.
    """
    if base == candidate:
        return
    before, after = _items(base), _items(candidate)
    if before is None or after is None or type(base) is not type(candidate):
        yield path, _text(base), _text(candidate)
        return
    for key in {**before, **after}:
        inner = path if key in _NESTING else f"{path} {key}".strip()
        yield from options_that_differ(before.get(key), after.get(key), inner)


def _items(value: Json) -> dict[Any, Json] | None:
    """Return the items of an object or of a list by their keys, or None for other values."""
    if isinstance(value, dict):
        return value
    return dict(enumerate(value)) if isinstance(value, list) else None


def _text(value: Json) -> str:
    return "absent" if value is None else shortened(value if isinstance(value, str) else compact(value), _SHORT)


def _warnings(runs: PairedRuns) -> Iterator[str]:
    for run in (runs.base, runs.candidate):
        if not run.is_finished:
            yield f"run {run.info.id} is not finished: the attempts that it lacks are not counted"
    if runs.without_digest:
        yield (
            f"{runs.without_digest} cases are paired by their id alone, because a run does not hold the digest of "
            "their expectation"
        )
