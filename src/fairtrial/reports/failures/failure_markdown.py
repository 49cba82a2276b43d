"""The failure modes of a run as Markdown for a pull request: the three largest modes, and every new one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fairtrial.reports.failures.failure_table import (
    describe_shares,
    head_line,
    largest_modes,
    limit_changes,
    summary_lines,
)
from fairtrial.reports.markdown_text import code_span
from fairtrial.reports.numbers import interval, rate
from fairtrial.text.display import DASH, count

if TYPE_CHECKING:
    from fairtrial.records.failure_mode import FailureMode, Failures, ModeChanges

_NAME = 200
_LISTED = 20
_NOTE = 300


def failures_markdown(failures: Failures) -> str:
    """Return the modes of a run as a table."""
    lines = [f"### Failure modes: {head_line(failures)}", ""]
    if failures.modes:
        lines += ["| mode | attempts | of failures | 95 % interval | cases | repaired |", "|---|---|---|---|---|---|"]
        lines += [_row(mode) for mode in failures.modes[:_LISTED]]
        if len(failures.modes) > _LISTED:
            lines += ["", f"… and {len(failures.modes) - _LISTED} more modes"]
        lines.append("")
        lines += [text, ""] if (text := describe_shares(failures)) else []
    lines += [f"- {code_span(line, _NOTE)}" for line in summary_lines(failures)]
    lines += [f"- {code_span(note, _NOTE)}" for note in failures.notes]
    return "\n".join(lines) + "\n"


def _row(mode: FailureMode) -> str:
    cells = (
        code_span(f"{mode.number} {mode.name}", _NAME),
        f"{mode.attempts:,}",
        rate(mode.of_failures.value),
        interval(mode.of_failures, percent=True) or DASH,
        f"{mode.cases:,}",
        f"{mode.repaired:,}",
    )
    return f"| {' | '.join(cells)} |"


def changes_markdown(changes: ModeChanges, failures: Failures) -> str:
    """Return the modes that are new, gone, grown or shrunk, and the three largest modes of this run."""
    lines = [f"### Failure modes: {code_span(changes.run)} against {code_span(changes.earlier)}", ""]
    lines += _change_lines(changes)
    lines += ["", "Largest:", ""] if failures.modes else []
    lines += [
        f"- {code_span(mode.name, _NAME)}: {count(mode.attempts, 'attempt')} in {count(mode.cases, 'case')}"
        for mode in largest_modes(failures)
    ]
    lines += [f"- {code_span(note, _NOTE)}" for note in changes.notes]
    return "\n".join(lines) + "\n"


def _change_lines(changes: ModeChanges) -> Iterator[str]:
    changed = [own for own in changes.changes if own.change != "unchanged"]
    for own in changed:
        cases = f"{own.cases_now:,} of {count(changes.cases, 'case')}, before {own.cases_before:,}"
        yield f"- **{own.change}**: {code_span(own.name, _NAME)}, {cases}"
    if not changed:
        yield "No mode changed more than chance explains."
    if sentence := limit_changes(changes):
        yield from ("", sentence)
