"""View models of failure modes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.reports.failures.failure_table import largest_modes
from fairtrial.reports.views.mode_shapes import DecisiveView, ModeExample, ModesView, ModeView

if TYPE_CHECKING:
    from fairtrial.records.failure_mode import FailedAttempt, FailureMode, Failures, ModeChangeKind, ModeChanges
    from fairtrial.reports.report_table import ReportedRun

MOST_MODES = 20
"""The most modes that a page lists."""
_REASON = 300

Place = tuple[int, int]
"""The position of a case and the number of an attempt."""


def modes_view(failures: Failures, changes: ModeChanges | None = None) -> ModesView:
    """Return the first modes of a run, each with an example. `changes` compares them with a baseline."""
    kinds = change_kinds(changes)
    typical = {(name, attempt) for mode in failures.modes for name, attempt in mode.examples[:1]}
    places = {(own.case, own.attempt, own.mode): own for own in failures.failed if (own.case, own.attempt) in typical}
    new = [mode for mode in failures.modes if kinds.get(mode.number) == "new"]
    first = {mode.number: mode for mode in (*largest_modes(failures), *new)}
    rest = [mode for mode in failures.modes if mode.number not in first]
    largest = sorted([*first.values(), *rest][:MOST_MODES], key=lambda mode: mode.number)
    return ModesView(
        failures.cases,
        failures.failed_cases,
        failures.failed_attempts,
        len(failures.modes),
        [_mode_view(mode, kinds.get(mode.number), places) for mode in largest],
        list(first)[:MOST_MODES],
        failures.alone,
        failures.unplaced,
        list(failures.notes),
    )


def change_kinds(changes: ModeChanges | None) -> dict[int, ModeChangeKind]:
    """Return how modes changed, by their numbers. A mode that chance may have changed is left out."""
    own = () if changes is None else changes.changes
    changed = (change for change in own if change.change != "unchanged")
    return {change.number: change.change for change in changed if change.number is not None}


def _mode_view(
    mode: FailureMode, change: ModeChangeKind | None, places: Mapping[tuple[str, int, int | None], FailedAttempt]
) -> ModeView:
    typical = None if not mode.examples else places.get((*mode.examples[0], mode.number))
    return ModeView(
        mode.number,
        mode.name,
        mode.side,
        mode.cases,
        mode.attempts,
        mode.repaired,
        mode.of_failures,
        mode.of_cases,
        change,
        None
        if typical is None
        else ModeExample(typical.position, typical.attempt, typical.case, decisive_view(typical)),
    )


def decisive_view(own: FailedAttempt) -> DecisiveView:
    """Return where a failed attempt went wrong."""
    return DecisiveView(own.reason[:_REASON], own.step, own.evidence, own.mode)


def failed_places(failures: Failures | None) -> dict[Place, FailedAttempt]:
    """Return the failed attempts by their places."""
    failed: Iterable[FailedAttempt] = () if failures is None else failures.failed
    return {(own.position, own.attempt): own for own in failed}


def run_modes(run: ReportedRun, base: ReportedRun | None) -> ModesView | None:
    """Return the modes of a run beside those of a base run, or None if no attempt failed or if too many did."""
    failures = run.failure_modes
    if failures is None or not failures.failed_attempts:
        return None
    view = modes_view(failures, None if base is None else run.mode_changes(base))
    return replace(view, lasting=run.lasting_failure)
