"""The terminal report of a series of runs, and of a case along it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from fairtrial.records.summary import Estimate
from fairtrial.reports.decisions.comparison_table import points
from fairtrial.reports.numbers import dollars, interval, number, rate
from fairtrial.reports.rows import CASES, INTERVAL, Name, Rows, name_measure, name_series
from fairtrial.reports.small_tables import TableNumber, describe_table, write_paragraph
from fairtrial.text.display import DASH, count, shorten, shorten_commit, visible_line
from fairtrial.text.languages import say, say_count
from fairtrial.text.translated_lines import say_sentence

if TYPE_CHECKING:
    from fairtrial.records.run_history import CaseFailure, CaseHistory, HistoryRow, HistoryStep, RunHistory

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 60
_LONGEST = 120
_NO_STEP = "No step: nothing shows that the agent changed."
_NOT_COMPARED = "No step was looked for: no run has a case that can be compared with an earlier run."


def history_rows(history: RunHistory) -> Rows:
    """Return a row for each run, with its numbers."""
    show = rate if history.is_rate else number
    columns: dict[str, list[str]] = {
        "models": [Name(visible_line(" ".join(row.models))) for row in history.rows],
        "job": [Name(visible_line(row.ci)) for row in history.rows],
        "tags": [Name(visible_line(" ".join(row.tags))) for row in history.rows],
        "changed": [visible_line(", ".join(row.changed)) for row in history.rows],
    }
    if len(set(columns["models"])) == 1:
        del columns["models"]
    optional = {name: cells for name, cells in columns.items() if any(cells)}
    rows = Rows(
        (
            "run",
            "commit",
            say("pass rate") if history.measure == CASES else name_measure(history.measure),
            INTERVAL,
            "cases",
            "compared",
            "time",
            "cost",
            *optional,
            "mark",
        )
    )
    for place, row in enumerate(history.rows):
        ends = Estimate(row.value.value, row.value.low, row.value.high)
        rows.add(
            row.id,
            shorten_commit(row.commit, dirty=row.dirty) or DASH,
            DASH if row.value.value is None else show(row.value.value),
            interval(ends, percent=history.is_rate) or DASH,
            f"{row.cases:,}",
            f"{row.compared:,}",
            DASH if row.seconds is None else f"{row.seconds:.1f} s",
            DASH if row.cost is None else dollars(row.cost),
            *(cells[place] or DASH for cells in optional.values()),
            "step" if row.step is not None else "new segment" if row.new_segment else "",
            style="" if row.step is None else "yellow",
        )
    return rows


def false_rate_line(history: RunHistory) -> str:
    """Return how often a step is false."""
    return f"At most one run in {history.false_every:,.0f} shows a step although nothing changed."


def no_step_line(history: RunHistory) -> str:
    """Return that there is no step, or that no runs could be compared. It is empty if there is a step."""
    if any(row.step for row in history.rows):
        return ""
    return _NO_STEP if len(history.rows) == 1 or any(row.compared for row in history.rows) else _NOT_COMPARED


def left_out_line(history: RunHistory) -> str:
    """Return how many older runs are left out, empty if there are none."""
    return f"{count(history.earlier, 'older run')} left out; --last N shows more" if history.earlier else ""


def history_report(history: RunHistory) -> RenderableType:
    """Return a row for each run, a line of bars, and a sentence for each step."""
    lines: list[RenderableType] = [Text(visible_line(name_series(history.series)), "bold")]
    if left_out := left_out_line(history):
        lines.append(Text(left_out, "dim"))
    lines += [Text(draw_bars([row.value.value for row in history.rows])), history_rows(history)]
    lines += [*write_paragraph(describe_rates(history)), Text("")]
    lines += [Text(visible_line(sentence)) for row in history.rows for sentence in row_sentences(row, history)]
    if line := no_step_line(history):
        lines.append(Text(line))
    lines.append(Text(false_rate_line(history), "dim"))
    return Group(*lines, *(Text(visible_line(note), "yellow") for note in history.notes))


def describe_rates(history: RunHistory) -> str:
    """Return the sentence about the rates of single runs, if their table is small."""
    return describe_table(map(_pass_rate, history.rows)) if history.is_rate else ""


def _pass_rate(row: HistoryRow) -> TableNumber:
    own = row.value
    return TableNumber(f"the rate of run {row.id}", count(row.cases, "case"), Estimate(own.value, own.low, own.high))


def row_sentences(row: HistoryRow, history: RunHistory) -> list[str]:
    """Return why a segment begins with a run, and the step before it."""
    sentences = [f"{row.id}: a new segment begins: {row.new_segment}"] if row.new_segment else []
    if row.step is None:
        return sentences
    changed = f"; changed in {row.id}: {', '.join(row.changed)}" if row.changed else ""
    return [*sentences, describe_step(row.step, is_rate=history.is_rate) + changed]


def describe_step(step: HistoryStep, *, is_rate: bool) -> str:
    """Return a step as a sentence."""
    size = points if is_rate else number
    change = step.change
    if change.value is None or change.low is None or change.high is None:
        moved = "changed by an unknown amount"
    else:
        ends = f"{_write_signed(change.low, size)} … {_write_signed(change.high, size)}"
        moved = f"changed by {_write_signed(change.value, size)} ({ends})"
    return (
        f"between {step.before} and {step.first}, {count(step.cases, 'case')} {moved}; "
        f"the step was seen in {step.seen_in} (e-value {step.evidence:,.0f})"
    )


def _write_signed(value: float, size: Callable[[float], str]) -> str:
    return f"{'-' if value < 0 else '+'}{size(abs(value))}"


def draw_bars(values: Sequence[float | None]) -> str:
    """Return the last values as a line of bars, at most 60 cells. A run without a value is a space.

    The lowest value has the lowest bar. If all are equal, the bars are full, and low if all are 0.
    """
    last_values = list(values)[-_WIDTH:]
    numbers = [value for value in last_values if value is not None]
    if not numbers:
        return ""
    low, high = min(numbers), max(numbers)
    steps = len(_BARS) - 1
    bars = (" " if value is None else _BARS[round(steps * _share(value, low, high))] for value in last_values)
    return "".join(bars)


def _share(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low) if high > low else float(value > 0)


def case_history_report(history: CaseHistory) -> RenderableType:
    """Return the attempts at a case run by run, its state, and its pass rate."""
    titles = ("run", "commit", "passed", "attempts", "without verdict", "")
    has_failures = any(run.failures for run in history.runs)
    rows = Rows((*titles, "where it failed") if has_failures else titles)
    for run in history.runs:
        edited = "expectation changed" if run.expectation_changed else ""
        cells = (f"{run.passed:,}", f"{run.attempts:,}", f"{run.missing:,}" if run.missing else "")
        places = ("; ".join(map(_describe_failure, run.failures)),) if has_failures else ()
        rows.add(run.id, shorten_commit(run.commit) or DASH, *cells, edited, *places)
    value = history.pass_rate
    ends = interval(Estimate(value.value, value.low, value.high), percent=True)
    passed = say("; {rate} of the attempts passed ({ends})", rate=rate(value.value), ends=ends)
    rate_text = "" if value.value is None else passed
    first = next((run for run in history.runs if run.id == history.since), None)
    commit_id = "" if first is None else shorten_commit(first.commit)
    commit = say(", commit {commit}", commit=commit_id) if commit_id else ""
    since = say(" since {run}{commit}", run=history.since, commit=commit) if history.since else ""
    state = say("{name} is {state}", name=history.case, state=say(history.state))
    absence = say("; not in the newest {runs}", runs=say_count(history.later_runs, "run")) if history.later_runs else ""
    return Group(rows, Text(""), Text(visible_line(f"{state}{since}{rate_text}{absence}."), "bold"))


def _describe_failure(failure: CaseFailure) -> str:
    """Return where and why attempts failed, and how many did if there are several."""
    place = say_sentence(failure.reason if failure.step is None else f"{failure.step.place}: {failure.reason}")
    number = f" ({say_count(failure.attempts, 'attempt')})" if failure.attempts > 1 else ""
    return f"{visible_line(shorten(place, _LONGEST))}{number}"
