"""Read a run, and find its flaky cases. Only flaky cases are read with their traces."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from fairtrial.analysis.flakiness import find_flaky
from fairtrial.api.flaky_causes import flaky_causes
from fairtrial.api.run_sources import RunSource, is_file, measured
from fairtrial.api.stored_runs import Run
from fairtrial.api.stores import measure_stored, open_store
from fairtrial.store import DEFAULT_URL

if TYPE_CHECKING:
    from fairtrial.records.flaky_case import Flakiness


def flaky(run: RunSource, *, store: str = DEFAULT_URL) -> Flakiness:
    """Return the cases of a run whose attempts differ, with the cause of each if the run is in a store.

    A run is named as in `compare`.
    """
    if isinstance(run, Run):
        return find_flaky(run.measured(), run.flaky_causes)
    if is_file(run):
        return find_flaky(measured(run, store), lambda _: {})
    with closing(open_store(store, create=False)) as run_store:
        info = run_store.run(str(run))
        return find_flaky(
            measure_stored(run_store, info), lambda positions: flaky_causes(run_store, info.id, positions)
        )
