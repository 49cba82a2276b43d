"""The terminal report of watched traffic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from fairtrial.records.summary import Estimate
from fairtrial.reports.numbers import interval, number
from fairtrial.reports.rows import INTERVAL, Rows, name_measure, name_series
from fairtrial.text.display import DASH, count, visible_line
from fairtrial.text.languages import say_count

if TYPE_CHECKING:
    from fairtrial.records.run_history import WatchedMeasure, WatchedTraffic


def watch_report(traffic: WatchedTraffic) -> RenderableType:
    """Return a row for each measure, and a sentence for each alarm."""
    rows = Rows(("measure", "state", "conversations", "reference", INTERVAL, "last 100", "evidence", "judge"))
    for measure in traffic.measures:
        reference = measure.reference
        ends = Estimate(reference.value, reference.low, reference.high)
        rows.add(
            name_measure(measure.measure),
            measure.state,
            f"{measure.count:,}",
            DASH if reference.value is None else number(reference.value),
            interval(ends) or DASH,
            DASH if measure.recent is None else number(measure.recent),
            f"{measure.evidence:,.0f}",
            measure.judge,
            style="yellow" if measure.state in ("higher", "lower") else "",
        )
    lines: list[RenderableType] = [
        Text(visible_line(f"{name_series(traffic.series)}, {say_count(traffic.runs, 'run')}"), "bold"),
        rows,
        Text(""),
    ]
    lines += [Text(visible_line(_describe(alarm)), "yellow") for alarm in traffic.alarms]
    corrected = [measure for measure in traffic.measures if measure.corrected.value is not None]
    lines += [Text(visible_line(_correct(measure))) for measure in corrected]
    if not traffic.alarms:
        lines.append(Text("No alarm: nothing shows that a measure left its reference."))
    text = f"On average, at most one conversation in {traffic.false_every:,.0f} raises a false alarm of a measure."
    return Group(*lines, Text(text, "dim"), *(Text(visible_line(note), "yellow") for note in traffic.notes))


def _correct(measure: WatchedMeasure) -> str:
    corrected = measure.corrected
    ends = Estimate(corrected.value, corrected.low, corrected.high)
    labels = count(measure.labels, "label")
    return f"{measure.measure}: people would give {number(corrected.value)} ({interval(ends)}), from {labels} of people"


def _describe(alarm: WatchedMeasure) -> str:
    causes = {
        "drifted": "; the judge scores the same recordings differently, too",
        "steady": "; the judge scores the same recordings as before",
    }
    where = f"since {alarm.since}, seen in {alarm.seen_in}"
    return f"{alarm.measure} is {alarm.state} than its reference {where}{causes.get(alarm.judge, '')}"
