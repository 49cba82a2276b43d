"""Posts the alarms that a run of traffic raises, at its end and while it receives."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from fairtrial import api
from fairtrial.cli.console import echo
from fairtrial.errors import FairtrialError

if TYPE_CHECKING:
    from fairtrial.records.run import RunInfo

SECONDS_BETWEEN = 60.0
"""The shortest time between two looks at a run that receives."""
_LARGEST_SHARE = 0.1
"""The largest share of the time that looks take. A look reads the whole series."""


class AlarmPosts:
    """The alarms of a run, each of which is posted once. A service that takes none is asked again at the next look."""

    def __init__(self, store: str, address: str) -> None:
        self._options = api.WatchOptions(store=store)
        self._address = address
        self._posted: frozenset[str] = frozenset()
        self._has_new = threading.Event()
        self._problem = ""

    def note_result(self) -> None:
        """Let the next look happen, because the run has a new result."""
        self._has_new.set()

    def look(self, run: RunInfo) -> None:
        """Post the alarms that a run raised since the last look. Problems are shown, each once, and end nothing."""
        from fairtrial.text.display import describe_error, visible_line  # the help of a command needs none

        names = ""
        try:
            traffic = api.find_new_alarms(run, self._options, self._posted)
            if traffic is None:
                return
            names = ", ".join(visible_line(measure.measure) for measure in traffic.measures)
            api.post_alarms(traffic, self._address)
        except Exception as error:  # noqa: BLE001  (if the thread ended, later alarms would be lost in silence)
            cause = str(error) if isinstance(error, FairtrialError) else describe_error(error)
            problem = f"alarm: {names}; it was not posted: {cause}" if names else f"no look for alarms: {cause}"
            if problem != self._problem:
                echo(problem, err=True)
            self._problem = problem
        else:
            self._posted |= {measure.measure for measure in traffic.measures}
            echo(f"alarm: {names}; it was posted, and `fairtrial watch` shows it", err=True)

    @contextmanager
    def while_receiving(self, run: RunInfo) -> Iterator[None]:
        """Look now and then during the block, in a thread, if there are new results."""
        ended = threading.Event()

        def go_on() -> None:
            pause = SECONDS_BETWEEN
            while not ended.wait(pause):
                if self._has_new.is_set():
                    self._has_new.clear()
                    start = time.monotonic()
                    self.look(run)
                    pause = max(SECONDS_BETWEEN, (time.monotonic() - start) / _LARGEST_SHARE)

        thread = threading.Thread(target=go_on, name="alarms")
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
