"""How does a plan run? Every item goes into the store on its way from stage to stage."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
import weakref
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.aggregation import aggregate
from fairtrial.api.blocking import blocking
from fairtrial.api.connection import connected
from fairtrial.api.conversations import conversations
from fairtrial.api.planning import Plan, now
from fairtrial.api.stored_runs import Run, open_store
from fairtrial.judge.ballot_costs import Reusable
from fairtrial.llm.call_cache import CallCache
from fairtrial.planned_case import Pair, PlannedCase
from fairtrial.records.attempt import Recording
from fairtrial.records.ballot import Ballot
from fairtrial.records.result import CaseResult
from fairtrial.records.run import RunInfo
from fairtrial.records.summary import Summary
from fairtrial.scoring import score

if TYPE_CHECKING:
    from fairtrial.store import Store

OnResult = Callable[[CaseResult], None]
"""Is told of each result as it comes."""


def execute(
    plan: Plan,
    *,
    store: str | None = None,
    on_result: OnResult | None = None,
    resumed: bool = False,
    reuse: str | None = None,
) -> Run:
    """Run a plan to its end and return what came out; `on_result` is told of every result as it comes.

    On an interruption everything that was finished is in the store.
    """
    opened = open_store(store) if store is not None else _passing_store()
    try:
        summary, info = blocking(run_plan(plan, opened, on_result or (lambda _: None), resumed=resumed, reuse=reuse))
    except BaseException:
        opened.close()
        raise
    return Run(info, summary, opened)


def _passing_store() -> Store:
    """A store in a folder that goes when nobody holds the store any more."""
    folder = tempfile.mkdtemp(prefix="fairtrial-")
    store = open_store(f"sqlite:///{folder}/run.db")
    weakref.finalize(store, shutil.rmtree, folder, ignore_errors=True)
    return store


async def run_plan(
    plan: Plan, store: Store, on_result: OnResult, *, resumed: bool = False, reuse: str | None = None
) -> tuple[Summary, RunInfo]:
    """Run a plan with models of its own; their replies and the judges' ballots are kept in the store."""
    cache = CallCache(store.replies(plan.info.id))
    if reuse is not None:
        earlier = store.run(reuse).id
        cache = CallCache(cache.replies, Reusable(store.replies(earlier), store.ballots(earlier)))
    ballots = store.ballots(plan.info.id)
    async with connected(plan.works, plan.judges.models, cache, ballots) as connect:
        return await _go(plan, connect, store, ballots, on_result, resumed=resumed)


async def _go(
    plan: Plan,
    connect: Callable[[PlannedCase], PlannedCase],
    store: Store,
    ballots: Mapping[str, Ballot],
    on_result: OnResult,
    *,
    resumed: bool,
) -> tuple[Summary, RunInfo]:
    store.begin(plan.info)
    store.add_cases(plan.info.id, (work.expected for work in plan.works))
    progress = _Progress(store, plan.info)
    standing = _standing(store, plan.info.id) if resumed else set()
    known: dict[tuple[int, int], CaseResult] = {}

    async def recordings() -> AsyncIterator[Pair]:
        for pair, result in _earlier(plan, connect, store, standing) if resumed else ():
            if result is not None:
                known[result.position, result.attempt] = result
            yield pair
        for work, recording in plan.recorded or ():
            store.add_recording(plan.info.id, work.position, recording, may_wait=True)
            yield connect(work), recording
        if plan.agent is not None:
            async for work, recording in conversations(plan, map(connect, plan.works), standing):
                store.add_recording(plan.info.id, work.position, recording)
                yield work, recording

    committing = asyncio.create_task(progress.commit_often())
    try:
        async for result in score(recordings(), concurrency=plan.concurrency, earlier=known, ballots=ballots):
            known.pop((result.position, result.attempt), None)
            progress.add(result)
            on_result(result)
    finally:
        committing.cancel()
        progress.commit()
    summary = aggregate(store.results(plan.info.id), ballots.values())
    finished = replace(progress.info, finished=now(), verdict=summary.verdict)
    store.finish(finished, summary)
    return summary, finished


class _Progress:
    """How far a run is, kept beside its results: a process may be killed at any moment."""

    def __init__(self, store: Store, info: RunInfo) -> None:
        self._store = store
        self._info = info
        self._started = time.monotonic()
        self._grown = True

    @property
    def info(self) -> RunInfo:
        """The run with the seconds that it has taken, those before an interruption included."""
        seconds = (self._info.seconds or 0.0) + time.monotonic() - self._started
        return replace(self._info, seconds=round(seconds, 3))

    def add(self, result: CaseResult) -> None:
        """Keep a result."""
        self._store.add_result(self._info.id, result)
        self._grown = True

    def commit(self) -> None:
        """Write the results that wait, and the time that they took."""
        self._store.commit()
        if self._grown:
            self._grown = False
            self._store.begin(self.info)

    async def commit_often(self) -> None:
        """Commit now and then, also while nothing else comes."""
        from fairtrial.store import SECONDS

        while True:
            await asyncio.sleep(SECONDS)
            try:
                self.commit()
            except Exception:  # noqa: BLE001  (the results still wait, and the next to write them says what is wrong)
                return


def _standing(store: Store, run_id: str) -> set[tuple[int, int]]:
    """The conversations, by position and attempt, that are not to be held again."""
    return {(position, one.attempt) for position, one in store.recordings(run_id) if _stands(one)}


def _earlier(
    plan: Plan, connect: Callable[[PlannedCase], PlannedCase], store: Store, standing: Collection[tuple[int, int]]
) -> Iterator[tuple[Pair, CaseResult | None]]:
    """The conversations that stand, with their results as far as there are any; both are read side by side."""
    cases = {case.position: connect(case) for case in plan.works}
    results = store.results(plan.info.id)
    result = next(results, None)
    for position, recording in store.recordings(plan.info.id):
        place = (position, recording.attempt)
        while result is not None and (result.position, result.attempt) < place:
            result = next(results, None)
        if place in standing and position in cases:
            known = result is not None and (result.position, result.attempt) == place
            yield (cases[position], recording), result if known else None


def _stands(recording: Recording) -> bool:
    """A conversation that ended, or that the agent broke, is finished; one that broke otherwise is held again."""
    return recording.failure is None or recording.failure.side == "agent"
