"""List, remove, export and import the runs of a store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

from fairtrial.api.stores import open_store
from fairtrial.text.globs import fits

if TYPE_CHECKING:
    from fairtrial.records.result import Verdict
    from fairtrial.records.run import RunInfo
    from fairtrial.store import Store


@dataclass(frozen=True)
class RunFilter:
    """The runs that a user looks for. A run must have all the properties that are given.

    `verdicts` may hold None for a run that is not finished. `agent` and `eval_set` may hold the wildcards `*` and `?`.
    """

    verdicts: Collection[Verdict | None] = ()
    kind: str | None = None
    agent: str | None = None
    eval_set: str | None = None
    since: datetime | None = None
    name: str | None = None
    tags: Collection[str] = ()

    def fits(self, run: RunInfo) -> bool:
        """Return whether a run has all the properties."""
        paths = [str(path) for path in run.config.get("paths") or ()]
        return (
            (not self.verdicts or run.verdict in self.verdicts)
            and self.kind in (None, run.kind)
            and (self.agent is None or fits(str(run.config.get("agent") or ""), self.agent))
            and (self.eval_set is None or any(fits(path, self.eval_set) for path in paths))
            and (self.name is None or fits(run.name, self.name))
            and all(tag in run.tags for tag in self.tags)
            and (self.since is None or datetime.fromisoformat(run.started) >= self.since)
        )


def runs(
    store: str,
    run_filter: RunFilter | None = None,
    *,
    limit: int | None = None,
    on_skipped: Callable[[str], None] = lambda _: None,
) -> list[RunInfo]:
    """Return the runs of a store, the newest first. Raises UsageError if the store does not exist.

    If this version cannot read some runs, `on_skipped` gets their number as text.
    """
    with closing(open_store(store, create=False)) as run_store:
        all_runs = run_store.runs()
        if skipped := run_store.count_skipped():
            on_skipped(skipped)
    return list(islice((run for run in all_runs if run_filter is None or run_filter.fits(run)), limit))


def case_ids(store: str, run_id: str) -> list[str]:
    """Return the ids of the cases of a run, each once, in the order of the run."""
    with closing(open_store(store, create=False)) as run_store:
        return list(dict.fromkeys(name for _, _, name in run_store.case_keys(run_store.run(run_id).id)))


def remove_runs(store: str, run_ids: Sequence[str]) -> list[RunInfo]:
    """Remove runs with everything that belongs to them, and return them.

    Raises UsageError, and removes nothing, if an id does not start the id of exactly one run.
    """
    with closing(open_store(store, create=False)) as run_store:
        runs_to_remove = {run.id: run for run in map(run_store.run, run_ids)}
        for run_id in runs_to_remove:
            run_store.remove(run_id)
        return list(runs_to_remove.values())


def export_run(store: str, run_id: str) -> Generator[bytes, None, None]:
    """Return the lines of a run as a file: JSON, a record each.

    Raises UsageError at once, before the caller opens a file, if the store or the run does not exist.
    """
    run_store = open_store(store, create=False)
    return _export_run(run_store, run_store.run(run_id).id)


def _export_run(run_store: Store, run_id: str) -> Generator[bytes, None, None]:
    from fairtrial.store import transfer

    with closing(run_store):
        yield from transfer.export_run(run_store, run_id)


def import_run(store: str, lines: Iterable[bytes], origin: str) -> RunInfo:
    """Add an exported run to a store, which is made if it does not exist, and return the run.

    Raises UsageError if the lines cannot be read, or the store has the run already. `origin` names them in messages.
    """
    from fairtrial.store import transfer

    with closing(open_store(store)) as run_store:
        return transfer.import_run(run_store, lines, origin)
