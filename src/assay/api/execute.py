"""How does a plan run? Every item goes into the store on its way from stage to stage."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from assay.aggregate import aggregate
from assay.api.blocking import blocking
from assay.api.plan import Plan, now
from assay.api.record import conversations
from assay.data.outcome import CaseResult, Verdict
from assay.data.recording import Recording
from assay.data.summary import RunInfo, Summary
from assay.data.work import Pair
from assay.judge.ballot import Ballot, Reusable
from assay.llm.model import Reply
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
    def ballots(self) -> Mapping[str, Ballot]:
        """What was put to the vote, by the ids that scores name; read from the store each time."""
        return self._store.ballots(self.info.id)

    @property
    def replies(self) -> Mapping[str, Reply]:
        """What the judges' models answered, by the keys that ballots name; read from the store each time."""
        return self._store.replies(self.info.id)

    @property
    def recordings(self) -> Iterator[tuple[int, Recording]]:
        """The recordings with the positions of their cases, read from the store each time."""
        return self._store.recordings(self.info.id)


def execute(
    plan: Plan,
    *,
    store: str | None = None,
    on_result: Heard | None = None,
    resumed: bool = False,
    reuse: str | None = None,
) -> Run:
    """Run a plan to its end and return what came out; `on_result` hears of every result as it comes.

    On an interruption everything that was finished is in the store.
    """
    opened = _opened(store) if store is not None else _passing_store()
    try:
        summary, info = blocking(_judged(plan, opened, on_result or (lambda _: None), resumed=resumed, reuse=reuse))
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


async def _judged(
    plan: Plan, store: Store, on_result: Heard, *, resumed: bool, reuse: str | None
) -> tuple[Summary, RunInfo]:
    """Run a plan with its judges' models open, and what they say kept in the store."""
    judges = plan.judges
    if not judges.made and not plan.simulates:
        return await _go(plan, store, on_result, resumed=resumed)
    judges.exchange.ledger.replies = store.replies(plan.info.id)
    judges.ballots = store.ballots(plan.info.id)
    if reuse is not None:
        earlier = store.run(reuse).id
        judges.exchange.ledger.earlier = Reusable(store.replies(earlier), store.ballots(earlier))
    async with judges.exchange:
        await judges.exchange.check()
        return await _go(plan, store, on_result, resumed=resumed)


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
            async for work, recording in conversations(plan, standing):
                store.add_recording(info.id, work.position, recording)
                yield work, recording

    committing = asyncio.create_task(_commit_often(store))
    try:
        async for result in score(recordings(), concurrency=plan.concurrency, known=known, ballots=plan.judges.ballots):
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
