"""Reports of selected traces, in a terminal and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from fairtrial.text.display import shorten, visible_line

if TYPE_CHECKING:
    from rich.console import Console

    from fairtrial.records.trace_selection import TraceSelection

TABLE_ROWS = 50


def print_traces(console: Console, selection: TraceSelection) -> None:
    """Print the selected traces with their reasons, and how good the selection is."""
    from fairtrial.reports.rows import Name, Rows

    covers = selection.coverage is not None
    table = Rows(
        ("trace", "verdict", "value", "gain", *(("group",) if selection.per else ()), *(("covers",) if covers else ()))
    )
    for trace in selection.traces[:TABLE_ROWS]:
        group = (Name(visible_line(shorten(trace.group, 40))),) if selection.per else ()
        name = visible_line(shorten(trace.id.removeprefix("kp:trace:"), 200))
        numbers = ("passed" if trace.passed else "failed", f"{trace.score:.3f}", f"{trace.gain:.4f}")
        table.add(name, *numbers, *group, *((Name(visible_line(shorten(trace.coverage, 300))),) if covers else ()))
    console.print(table)
    if len(selection.traces) > TABLE_ROWS:
        console.print(f"… and {len(selection.traces) - TABLE_ROWS:,} more; --json gives them all", style="dim")
    for line in summary_lines(selection):
        console.print(line)


def summary_lines(selection: TraceSelection) -> list[str]:
    """Return sentences about the quality of a selection."""
    lines = [f"{len(selection.traces):,} of {selection.count:,} traces selected by {_goal(selection)}"]
    if reasons := _exclusions(selection):
        lines.append(f"left out: {reasons}")
    if failures := sum(not trace.passed for trace in selection.traces):
        lines.append(f"{failures:,} of the selected traces failed")
    if selection.by == "value":
        lines.append("--by value does not avoid traces that failed or that resemble each other; --by verdict does")
    confidence = (
        ""
        if selection.clients == selection.count
        else (f", with a confidence of 99 % ({selection.clients:,} random traces stood for all in the objective)")
    )
    lines.append(
        f"objective {selection.objective:.4f}; no selection of this size has more than {selection.bound:.4f}, "
        f"so this is at least {selection.least_share:.1%} of the best possible{confidence}"
    )
    if selection.coverage is not None and selection.random_coverage is not None:
        lines.append(
            f"coverage {selection.coverage:.4f}, of random selections {selection.random_coverage:.4f} "
            f"(embedder {selection.embedder})"
        )
    return lines


def _exclusions(selection: TraceSelection) -> str:
    numbers = ((selection.failed, "failed"), (selection.repeated, "nearly the same as an earlier trace"))
    return ", ".join(f"{number:,} {reason}" for number, reason in numbers if number)


def _goal(selection: TraceSelection) -> str:
    goal = "verdict and coverage" if selection.by == "verdict" else selection.by
    return f"{goal}, with quotas per {selection.per}" if selection.per else goal


def selection_document(selection: TraceSelection) -> bytes:
    """Return a selection as JSON."""
    return msgspec.json.format(msgspec.json.encode(selection), indent=2)
