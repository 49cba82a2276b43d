"""Numbers of a run on slices of its cases, by the values of a property such as the language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console

from fairtrial.analysis.clustered_summary import estimate_cases
from fairtrial.analysis.measured_run import CASES, Measure
from fairtrial.api.case_groups import groups_by_position
from fairtrial.reports.numbers import interval, number, rate
from fairtrial.reports.rows import INTERVAL, Name, Rows, name_measure
from fairtrial.reports.small_tables import TableNumber, table_sentence
from fairtrial.text.display import DASH, count, visible_line

if TYPE_CHECKING:
    from fairtrial.api.stored_runs import Run
    from fairtrial.records.summary import Estimate


class RunSlice(NamedTuple):
    """One measure on the cases that share a value of a property."""

    value: str
    measure: Measure
    cases: int
    estimate: Estimate


def slice_run(run: Run, by: str) -> list[RunSlice]:
    """Return `cases` and the criteria with a threshold on the cases of each value of a property.

    Raises UsageError if no case has the property.
    """
    measured = run.measured()
    index_of = {position: case for case, position in enumerate(measured.positions)}
    cases_by_value: dict[str, list[int]] = {}
    for position, values in groups_by_position(run.expected, by, run.info.id).items():
        if position in index_of:
            for value in values:
                cases_by_value.setdefault(value, []).append(index_of[position])
    measures = [measured.measures[CASES], *(measure for measure in measured.criteria if measure.gates)]
    return [
        RunSlice(value, measure, *estimate_cases(measured, measure, cases))
        for value, cases in sorted(cases_by_value.items())
        for measure in measures
    ]


def print_slices(console: Console, run: Run, by: str) -> None:
    """Print the numbers of a run on the cases of each value of a property."""
    rows = Rows((Name(by), "", "cases", "value", INTERVAL))
    slices = slice_run(run, by)
    for part in slices:
        is_rate = part.measure.is_rate
        value = rate(part.estimate.value) if is_rate else number(part.estimate.value)
        ends = interval(part.estimate, percent=is_rate) or DASH
        rows.add(part.value, name_measure(part.measure.name), f"{part.cases:,}", value, ends)
    console.print(rows)
    for paragraph in table_sentence(_rates(slices)):
        console.print(paragraph)
    console.print("Differences between these rows are no proof: `fairtrial compare --by` tests them.", style="dim")


def _rates(slices: Iterable[RunSlice]) -> Iterator[TableNumber]:
    """Yield the pass rates of the slices, which a sentence may be about."""
    for part in slices:
        if part.measure.name == CASES:
            name, sample = f"the pass rate of {visible_line(part.value)}", count(part.cases, "case")
            yield TableNumber(name, sample, part.estimate, is_single=part.cases == 1)
