"""The failure modes of a run in a few lines, for a pull request: every new mode, and the three largest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fairtrial.reports.failures.failure_table import largest_modes
from fairtrial.reports.markdown_text import code_span
from fairtrial.reports.numbers import interval, rate
from fairtrial.text.display import count

if TYPE_CHECKING:
    from fairtrial.records.failure_mode import FailureMode, Failures, LastingFailure, ModeChange, ModeChanges

_NAME = 200
_MOST_NEW = 5


def mode_lines(failures: Failures | None, changes: ModeChanges | None, lasting: LastingFailure | None) -> Iterator[str]:
    """Yield Markdown: the new modes, if the run is compared with a baseline, and the three largest modes.

    `lasting` says since when the typical case of the most frequent mode fails.
    """
    if failures is None or not failures.modes:
        return
    yield "**Failure modes**"
    yield ""
    new = [] if changes is None else [own for own in changes.changes if own.change == "new"]
    cases = 0 if changes is None else changes.cases
    yield from (f"- new: {_change(own, cases)}" for own in new[:_MOST_NEW])
    if len(new) > _MOST_NEW:
        yield f"- new: … and {len(new) - _MOST_NEW} more modes"
    new_numbers = {own.number for own in new}
    largest = [mode for mode in largest_modes(failures) if mode.number not in new_numbers]
    yield from (f"- {_mode(mode, failures)}" for mode in largest)
    more = sum(mode.number not in new_numbers for mode in failures.modes) - len(largest)
    if more:
        yield f"- … and {count(more, 'more mode')}"
    if lasting is not None and lasting.run != failures.run:
        state = "failed" if lasting.state == "broken" else "been flaky"
        since = f"{lasting.started[:10]} (run {code_span(lasting.run)})"
        yield f"- {code_span(lasting.case, _NAME)} has {state} since {since}"
    yield ""


def _change(own: ModeChange, cases: int) -> str:
    return f"{code_span(own.name, _NAME)}, {own.cases_now:,} of {count(cases, 'case')}"


def _mode(mode: FailureMode, failures: Failures) -> str:
    ends = interval(mode.of_failures, percent=True)
    share = f"{rate(mode.of_failures.value)} of the failures{f' ({ends})' if ends else ''}"
    cases = f"{mode.cases:,} of {count(failures.cases, 'case')}"
    return f"{code_span(mode.name, _NAME)}, {cases}, {share}; {count(mode.repaired, 'case')} would pass without it"
