"""Progress of a run in a notebook. Elsewhere the Python functions print nothing."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fairtrial.records.result import CaseResult, Verdict
from fairtrial.text.display import count

if TYPE_CHECKING:
    from fairtrial.api.execution import OnResult

_INTERVAL = 0.25
"""The shortest time in seconds between two drawings."""
_KERNEL_SHELL = "ZMQInteractiveShell"
_GREEN = (Verdict.PASSED, Verdict.INFORMATIONAL)


@contextmanager
def show_bar(total: int) -> Iterator[OnResult | None]:
    """Show a bar below the cell while a run works, and remove it at the end. Outside of a notebook, yield None."""
    display = _display()
    if display is None:
        yield None
        return
    bar = _Bar(total)
    handle = display(bar, display_id=True)
    drawing_time = time.monotonic()

    def on_result(_: CaseResult, verdict: Verdict) -> None:
        nonlocal drawing_time
        bar.add(verdict)
        if time.monotonic() - drawing_time >= _INTERVAL:
            drawing_time = time.monotonic()
            handle.update(bar)

    try:
        yield on_result
    finally:
        bar.is_closed = True
        handle.update(bar)


def _display() -> Any:
    """Return IPython's function that displays objects, if this process is the kernel of a notebook, or None."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    # The shell of a kernel, also of one that builds on IPython's. IPython in a terminal has another shell.
    if _KERNEL_SHELL not in (base.__name__ for base in type(shell).__mro__):
        return None
    from IPython.display import display

    return display


class _Bar:
    """The numbers of a run as one line. A closed bar is empty, because the run shows its own table."""

    def __init__(self, total: int) -> None:
        self.is_closed = False
        self._total, self._finished_count, self._problems = total, 0, 0

    def add(self, verdict: Verdict) -> None:
        """Count an attempt."""
        self._finished_count += 1
        self._problems += verdict not in _GREEN

    def __repr__(self) -> str:
        if self.is_closed:
            return ""
        problems = f", {self._problems:,} not passed" if self._problems else ""
        return f"{self._finished_count:,} of {count(self._total, 'attempt')}{problems}"

    def _repr_html_(self) -> str:
        bar = f'<progress value="{self._finished_count}" max="{self._total}"></progress>'
        return "" if self.is_closed else f"{bar} {self!r}"
