"""How does a plan run? Every recording and result is stored on its way from stage to stage."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
import weakref
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.aggregation import aggregate
from fairtrial.api.blocking import blocking
from fairtrial.api.connection import connected
from fairtrial.api.conversations import conversations
from fairtrial.api.planning import Plan, now
from fairtrial.api.stored_runs import Run, open_store, resume_command
from fairtrial.batch.executors import ProcessPool, split_into_chunks
from fairtrial.errors import StoreError
from fairtrial.judge.ballot_costs import Reusable
from fairtrial.llm.call_cache import CallCache
from fairtrial.planned_case import Pair, PlannedCase
from fairtrial.records.attempt import Recording
from fairtrial.records.ballot import Ballot
from fairtrial.records.result import CaseResult
from fairtrial.records.run import RunInfo
from fairtrial.records.summary import Summary
from fairtrial.scoring import score, score_chunk

if TYPE_CHECKING:
    from fairtrial.store import Store

CHUNK = 64
PATIENCE = 4
"""Recordings in a chunk, and the number of chunks up to which starting processes takes longer than scoring."""

OnResult = Callable[[CaseResult], None]
"""Receives each result when it is ready."""


def execute(
    plan: Plan,
    *,
    store: str | None = None,
    on_result: OnResult | None = None,
    resumed: bool = False,
    reuse: str | None = None,
) -> Run:
    """Run a plan to its end, and return the run. `on_result` receives every result when it is ready.

    After an interruption, the store contains every finished attempt. Raises StoreError if the store fails meanwhile.
    """
    run_store = open_store(store) if store is not None else _temporary_store()
    advice = "start it again"
    if store is not None and plan.agent is not None:
        advice = f"go on with {resume_command(plan.info.id, store)}"
    report = on_result or (lambda _: None)
    try:
        work = run_plan(plan, run_store, report, resumed=resumed, reuse=reuse, advice=advice)
        summary, info = blocking(work)
    except BaseException:
        with suppress(StoreError):  # the first error says why the run stops
            run_store.close()
        raise
    return Run(info, summary, run_store)


def _temporary_store() -> Store:
    """Return a store in a folder that is removed when the store is garbage."""
    folder = tempfile.mkdtemp(prefix="fairtrial-")
    store = open_store(f"sqlite:///{folder}/run.db")
    weakref.finalize(store, shutil.rmtree, folder, ignore_errors=True)
    return store


async def run_plan(
    plan: Plan,
    store: Store,
    on_result: OnResult,
    *,
    resumed: bool = False,
    reuse: str | None = None,
    advice: str = "start it again",
) -> tuple[Summary, RunInfo]:
    """Run a plan with models of its own. Their replies and the judges' ballots are stored.

    `advice` says what to do if the store fails.
    """
    cache = CallCache(store.replies(plan.info.id))
    if reuse is not None:
        earlier = store.run(reuse).id
        cache = CallCache(cache.replies, Reusable(store.replies(earlier), store.ballots(earlier)))
    ballots = store.ballots(plan.info.id)
    async with connected(plan.cases, plan.judges.models, cache, ballots) as connect:
        store.begin(plan.info)
        with _unfinished(advice):
            return await _run_stages(plan, connect, store, ballots, on_result, resumed=resumed)


@contextmanager
def _unfinished(advice: str) -> Iterator[None]:
    """Add to the failure of a store that the run is not finished, and what to do."""
    try:
        yield
    except StoreError as error:
        raise StoreError(f"not finished: {error}; {advice}") from error


async def _run_stages(
    plan: Plan,
    connect: Callable[[PlannedCase], PlannedCase],
    store: Store,
    ballots: Mapping[str, Ballot],
    on_result: OnResult,
    *,
    resumed: bool,
) -> tuple[Summary, RunInfo]:
    store.add_cases(plan.info.id, (case.expected for case in plan.cases))
    progress = _Progress(store, plan.info)
    attempts_to_skip = _finished_attempts(store, plan.info.id) if resumed else set()
    earlier: dict[tuple[int, int], CaseResult] = {}

    def recorded() -> Iterator[Pair]:
        for case, recording in plan.recorded or ():
            store.add_recording(plan.info.id, case.position, recording, may_wait=True)
            yield connect(case), recording

    async def recordings() -> AsyncIterator[Pair]:
        for pair, result in _earlier_attempts(plan, connect, store, attempts_to_skip):
            if result is not None:
                earlier[result.position, result.attempt] = result
            yield pair
        for pair in recorded():
            yield pair
        if plan.agent is not None:
            async for case, recording in conversations(plan, map(connect, plan.cases), attempts_to_skip):
                store.add_recording(plan.info.id, case.position, recording)
                yield case, recording

    results = (
        score(recordings(), concurrency=plan.concurrency, earlier=earlier, ballots=ballots)
        if plan.jobs == 1
        else _in_processes(recorded(), plan.jobs)
    )
    committing = asyncio.create_task(progress.commit_often())
    try:
        async for result in results:
            earlier.pop((result.position, result.attempt), None)
            progress.add(result)
            on_result(result)
    finally:
        committing.cancel()
        progress.commit()
    summary = aggregate(store.results(plan.info.id), ballots.values())
    info = replace(progress.info, finished=now(), verdict=summary.verdict)
    store.finish(info, summary)
    return summary, info


async def _in_processes(pairs: Iterator[Pair], jobs: int) -> AsyncIterator[CaseResult]:
    """Yield the results of recordings that several processes score, chunk by chunk, in the order of the recordings."""
    for results in ProcessPool(jobs, patience=PATIENCE).map(score_chunk, split_into_chunks(pairs, CHUNK)):
        for result in results:
            yield result
        await asyncio.sleep(0)  # lets the other tasks of the run commit, and notice an interruption


class _Progress:
    """The progress of a run. It is stored with the results, because the process may be killed at any moment."""

    def __init__(self, store: Store, info: RunInfo) -> None:
        self._store = store
        self._info = info
        self._started = time.monotonic()
        self._has_new_results = True

    @property
    def info(self) -> RunInfo:
        """The run with its duration so far. The duration of a resumed run is the sum of its parts."""
        seconds = (self._info.seconds or 0.0) + time.monotonic() - self._started
        return replace(self._info, seconds=round(seconds, 3))

    def add(self, result: CaseResult) -> None:
        """Add a result to the store."""
        self._store.add_result(self._info.id, result)
        self._has_new_results = True

    def commit(self) -> None:
        """Commit the results that wait, and the duration of the run."""
        self._store.commit()
        if self._has_new_results:
            self._has_new_results = False
            self._store.begin(self.info)

    async def commit_often(self) -> None:
        """Commit at regular intervals, also if no new result is ready."""
        from fairtrial.store import SECONDS

        while True:
            await asyncio.sleep(SECONDS)
            try:
                self.commit()
            except Exception:  # noqa: BLE001  (the results still wait; the next commit raises the same error to the caller)
                return


def _finished_attempts(store: Store, run_id: str) -> set[tuple[int, int]]:
    """Return the conversations, by position and attempt, that a resumed run does not hold again."""
    recordings = store.recordings(run_id)
    return {(position, recording.attempt) for position, recording in recordings if _is_finished(recording)}


def _earlier_attempts(
    plan: Plan,
    connect: Callable[[PlannedCase], PlannedCase],
    store: Store,
    attempts_to_skip: Collection[tuple[int, int]],
) -> Iterator[tuple[Pair, CaseResult | None]]:
    """Yield the finished conversations, each with its result or None. Both are read side by side in file order."""
    if not attempts_to_skip:
        return
    cases = {case.position: connect(case) for case in plan.cases}
    results = store.results(plan.info.id)
    result = next(results, None)
    for position, recording in store.recordings(plan.info.id):
        place = (position, recording.attempt)
        while result is not None and (result.position, result.attempt) < place:
            result = next(results, None)
        if place in attempts_to_skip and position in cases:
            has_result = result is not None and (result.position, result.attempt) == place
            yield (cases[position], recording), result if has_result else None


def _is_finished(recording: Recording) -> bool:
    """Whether a conversation ended, or the agent broke it. If anything else broke it, it is held again."""
    return recording.failure is None or recording.failure.side == "agent"
