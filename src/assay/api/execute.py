"""How does a plan run? Every item goes into the store on its way from stage to stage."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from assay.aggregate import aggregate
from assay.api.plan import Pair, Plan, now
from assay.data.outcome import CaseResult, Verdict
from assay.data.recording import Recording
from assay.data.summary import RunInfo, Summary
from assay.record import record
from assay.score import score

if TYPE_CHECKING:
    from assay.store import Store

Heard = Callable[[CaseResult], None]


@dataclass(frozen=True)
class Run:
    """What came out of a run: its numbers, and its results in file order."""

    info: RunInfo
    summary: Summary
    _store: Store = field(repr=False)

    @property
    def verdict(self) -> Verdict:
        """Whether the run passed."""
        return self.summary.verdict

    @property
    def cases(self) -> Iterator[CaseResult]:
        """The results, read from the store each time."""
        return self._store.results(self.info.id)

    @property
    def recordings(self) -> Iterator[tuple[int, Recording]]:
        """The recordings with the positions of their cases, read from the store each time."""
        return self._store.recordings(self.info.id)


def execute(plan: Plan, *, store: str | None = None, on_result: Heard | None = None, resumed: bool = False) -> Run:
    """Run a plan to its end and return what came out; `on_result` hears of every result as it comes.

    On an interruption everything that was finished is in the store.
    """
    opened = _opened(store) if store is not None else _passing_store()
    try:
        summary, info = _blocking(_go(plan, opened, on_result or (lambda _: None), resumed=resumed))
    except BaseException:
        opened.close()
        raise
    return Run(info, summary, opened)


def _opened(url: str) -> Store:
    from assay.store import Store  # SQL is imported only where it is used: reading files needs none

    return Store(url)


def _passing_store() -> Store:
    """A store in a folder that goes when nobody holds the store any more."""
    folder = tempfile.mkdtemp(prefix="assay-")
    store = _opened(f"sqlite:///{folder}/run.db")
    weakref.finalize(store, shutil.rmtree, folder, ignore_errors=True)
    return store


def reread(store: str, run_id: str) -> Run:
    """Return a run of the store, finished or not, with its numbers computed from its results."""
    opened = _opened(store)
    info = opened.run(run_id)
    return Run(info, aggregate(opened.results(info.id)), opened)


def runs(store: str) -> list[RunInfo]:
    """Return the runs of a store, the newest first."""
    opened = _opened(store)
    try:
        return opened.runs()
    finally:
        opened.close()


async def _go(plan: Plan, store: Store, on_result: Heard, *, resumed: bool) -> tuple[Summary, RunInfo]:
    started = time.monotonic()
    info = plan.info
    store.begin(info)
    earlier = [pair for pair in _earlier(plan, store) if _stands(pair[1])] if resumed else []
    standing = {(work.position, one.attempt) for work, one in earlier}
    known = {
        (one.position, one.attempt): one
        for one in (store.results(info.id) if resumed else ())
        if (one.position, one.attempt) in standing
    }

    async def recordings() -> AsyncIterator[Pair]:
        for pair in earlier if plan.recorded is None else plan.recorded:
            if plan.recorded is not None:
                store.add_recording(info.id, pair[0].position, pair[1])
            yield pair
        if plan.agent is not None:
            held = record(
                plan.works,
                plan.agent,
                attempts=plan.attempts,
                concurrency=plan.concurrency,
                reply_timeout=plan.reply_timeout,
                held=standing,
            )
            async for work, recording in held:
                store.add_recording(info.id, work.position, recording)
                yield work, recording

    committing = asyncio.create_task(_commit_often(store))
    try:
        async for result in score(recordings(), concurrency=plan.concurrency, known=known):
            store.add_result(info.id, result)
            on_result(result)
    finally:
        committing.cancel()
    summary = aggregate(store.results(info.id))
    finished = replace(info, finished=now(), seconds=round(time.monotonic() - started, 3), verdict=summary.verdict)
    store.begin(finished)
    return summary, finished


async def _commit_often(store: Store) -> None:
    """Write the results that wait, also while nothing else comes: a process may be killed at any moment."""
    from assay.store import SECONDS

    while True:
        await asyncio.sleep(SECONDS)
        try:
            store.commit()
        except Exception:  # noqa: BLE001  (the results still wait, and the next to write them says what is wrong)
            return


def _earlier(plan: Plan, store: Store) -> Iterator[Pair]:
    works = {work.position: work for work in plan.works}
    for position, recording in store.recordings(plan.info.id):
        if position in works:
            yield works[position], recording


def _stands(recording: Recording) -> bool:
    """A conversation that ended, or that the agent broke, is finished; one that broke otherwise is held again."""
    return recording.failure is None or recording.failure.side == "agent"


def _blocking(work: Any) -> Any:
    """Run a coroutine to its end, in a thread of its own where a loop is already running (notebooks)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.extend((asyncio.run(work), None))
        except BaseException as error:  # noqa: BLE001  (raised again below, where the caller is)
            outcome.extend((None, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    result, error = outcome
    if error is not None:
        raise error
    return result
