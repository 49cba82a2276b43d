"""Execute a plan. Every recording and result is stored on its way from stage to stage."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.analysis.agent_versions import AgentVersions
from fairtrial.api.connection import connected
from fairtrial.api.run_batches import OnBatch, ask_all, check_batches, open_outbox, with_earlier_id
from fairtrial.api.run_progress import RunProgress
from fairtrial.api.stored_runs import Run, resume_command
from fairtrial.api.stores import open_store
from fairtrial.api.temporary_store import temporary_store
from fairtrial.errors import StoreError
from fairtrial.judge.ballot_costs import Reusable
from fairtrial.llm.call_cache import CallCache
from fairtrial.records.attempt import Recording
from fairtrial.records.result import CaseResult, Verdict
from fairtrial.scoring import score, score_chunk
from fairtrial.system.event_loop import blocking

if TYPE_CHECKING:
    from fairtrial.api.planning import Plan
    from fairtrial.api.run_canaries import RunCanaries
    from fairtrial.llm.batch_outbox import BatchOutbox
    from fairtrial.planned_case import Pair, PlannedCase
    from fairtrial.records.ballot import Ballot
    from fairtrial.records.gate import GateDecision
    from fairtrial.records.run import RunInfo
    from fairtrial.records.summary import Summary
    from fairtrial.store import Store

CHUNK = 64
PATIENCE = 4
"""Recordings in a chunk, and the number of chunks up to which starting processes takes longer than scoring."""
_WORTH_FOLLOWING = 4096
"""If the runs of a store have fewer attempts together, a first look at their history takes less than half a second."""

OnResult = Callable[[CaseResult, Verdict], None]
"""Receives each result with its verdict when it is ready."""
OnRecording = Callable[[Recording], None]
"""Receives each conversation when it has ended, before it is scored."""


def execute(
    plan: Plan,
    *,
    store: str | None = None,
    on_result: OnResult | None = None,
    on_recording: OnRecording | None = None,
    on_batch: OnBatch | None = None,
    on_wait: Callable[[str], None] | None = None,
    resumed: bool = False,
    reuse: str | None = None,
) -> Run:
    """Run a plan to its end, and return the run. `on_result` receives every result when it is ready.

    `on_recording` receives every conversation that the run holds, before it is scored, and `on_wait` remarks about long
    ones while they are held. If the calls of judges go into batches, all of them are asked first, and `on_batch`
    receives what happens. After an interruption, the store holds every finished attempt. Raises StoreError if it fails.
    """
    run: Run = blocking(
        execute_in_loop(
            plan,
            store=store,
            on_result=on_result,
            on_recording=on_recording,
            on_batch=on_batch,
            on_wait=on_wait,
            resumed=resumed,
            reuse=reuse,
        )
    )
    return run


async def execute_in_loop(
    plan: Plan,
    *,
    store: str | None = None,
    on_result: OnResult | None = None,
    on_recording: OnRecording | None = None,
    on_batch: OnBatch | None = None,
    on_wait: Callable[[str], None] | None = None,
    resumed: bool = False,
    reuse: str | None = None,
) -> Run:
    """Run a plan as `execute` does, in the running event loop."""
    check_batches(plan, store)
    run_store = open_store(store) if store is not None else temporary_store()
    if plan.judges.models.batch is not None:
        plan = with_earlier_id(plan, run_store)
    advice = "start it again"
    if store is not None and plan.agent is not None:
        advice = f"go on with `{resume_command(plan.info, store)}`"
    events = RunEvents(on_result or _ignore, on_recording or _ignore, on_batch or _ignore, on_wait or _ignore)
    try:
        summary, info = await run_plan(plan, run_store, events, resumed=resumed, reuse=reuse, advice=advice)
        if plan.diagnose and plan.agent is not None:
            from fairtrial.api.diagnosis.diagnosing import diagnose

            notes = await diagnose(plan, run_store, summary, _run_apart, events.on_wait)
            summary = replace(summary, notes=(*summary.notes, *notes))
            run_store.finish(info, summary)
    except BaseException:
        with suppress(StoreError):  # the first error says why the run stops
            run_store.close()
        raise
    if store is not None:
        follow_run(run_store, info.id)
    return Run(info, summary, run_store)


def follow_run(store: Store, run_id: str) -> None:
    """Let a run that has ended follow its series, if a first look at the history would take long."""
    with suppress(StoreError):  # a later look follows the series
        if len(store.run_ids()) * store.count_results(run_id) >= _WORTH_FOLLOWING:
            from fairtrial.api.decisions.history import keep_history

            keep_history(store.url, run_id)


async def _run_apart(plan: Plan) -> list[CaseResult]:
    """Run a plan in a store of its own, and return its results."""
    store = temporary_store()
    try:
        _, info = await run_plan(plan, store, RunEvents())
        return list(store.results(info.id))
    finally:
        store.close()


def _ignore(*_: object) -> None:
    """Receive an event that nobody wants."""


@dataclass(frozen=True)
class RunEvents:
    """The functions that receive the results and the conversations of a run, and remarks about batches and waits."""

    on_result: OnResult = _ignore
    on_recording: OnRecording = _ignore
    on_batch: OnBatch = _ignore
    on_wait: Callable[[str], None] = _ignore


async def run_plan(
    plan: Plan,
    store: Store,
    events: RunEvents,
    *,
    resumed: bool = False,
    reuse: str | None = None,
    advice: str = "start it again",
    earlier: Sequence[CaseResult] | None = None,
) -> tuple[Summary, RunInfo]:
    """Run a plan with models of its own. Their replies and the judges' ballots are stored.

    `advice` says what to do if the store fails. `earlier` are all results that the run has already, in file order. They
    are read from the store if they are not given.
    """
    cache = CallCache(store.replies(plan.info.id))
    if reuse is not None:
        source = store.run(reuse).id
        cache = CallCache(cache.replies, Reusable(store.replies(source), store.ballots(source)))
    ballots = store.ballots(plan.info.id)
    lease = store.lease(plan.info.id)
    if plan.agent is not None:
        from fairtrial.api.conversations import check_target

        await check_target(plan.agent)
    notes: list[str] = []
    async with AsyncExitStack() as stack:
        outbox = stack.enter_context(open_outbox(plan, store, cache.replies, events.on_batch))
        connection = connected(plan.cases, plan.judges.models, cache, ballots, notes.append, outbox)
        connect = await stack.enter_async_context(connection)
        with lease.hold():
            store.begin(plan.info)
            own_canaries = None
            if plan.judges.canaries:
                from fairtrial.api.run_canaries import RunCanaries

                own_canaries = RunCanaries(plan.judges.canaries, notes.append)
                stack.callback(own_canaries.cancel)
                connect = await own_canaries.before(connect, plan.cases)
            progress = RunProgress(store, plan.info, lease, earlier)
            with _unfinished(advice):
                return await _run_stages(
                    plan, connect, store, ballots, progress, events, outbox, own_canaries, resumed=resumed, notes=notes
                )


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
    progress: RunProgress,
    events: RunEvents,
    outbox: BatchOutbox | None,
    own_canaries: RunCanaries | None,
    *,
    resumed: bool,
    notes: list[str],
) -> tuple[Summary, RunInfo]:
    store.add_cases(plan.info.id, (case.expected for case in plan.cases))
    places_to_skip, partial_recordings = _earlier_recordings(store, plan) if resumed else (set(), {})
    stages = _Stages(plan, connect, store, ballots, events, progress, places_to_skip, notes.append, partial_recordings)
    async with progress.committed_often():
        if outbox is not None and plan.recorded is not None:
            await ask_all(plan.recorded, connect, outbox)
        decision = await stages.run()
        alarms = await own_canaries.after() if own_canaries is not None else ()
    if plan.holding.shuffle is not None:
        from fairtrial.api.diagnosis.order_notes import order_notes

        notes += order_notes(plan, store)
    return progress.finish(ballots, versions=stages.versions, decision=decision, notes=notes, alarms=alarms)


@dataclass
class _Stages:
    """The stages of one run, from recordings to stored results. A gate runs them once for every wave of attempts."""

    plan: Plan
    connect: Callable[[PlannedCase], PlannedCase]
    store: Store
    ballots: Mapping[str, Ballot]
    events: RunEvents
    progress: RunProgress
    attempts_to_skip: set[tuple[int, int]]
    note: Callable[[str], None]
    partial_recordings: dict[tuple[int, int], Recording]
    earlier: dict[tuple[int, int], CaseResult] = field(default_factory=dict)
    versions: AgentVersions = field(default_factory=AgentVersions)
    in_work: dict[tuple[int, int], Pair] = field(default_factory=dict)
    """The conversations that are being scored, by position and attempt."""
    kept_places: set[tuple[int, int]] = field(default_factory=set)
    """The conversations of which only some turns are stored."""
    is_stopped: bool = False
    """Whether the run ends before all of its conversations are held, and nothing will go on behind their turns."""

    async def run(self) -> GateDecision | None:
        """Store the result of every attempt, and return the decision about the claims of the plan, if it has any."""
        plan, gate = self.plan, self.plan.gate
        decision: GateDecision | None = None
        for number, attempts in enumerate(_waves(plan)):
            async with aclosing(self._results(attempts, is_first=number == 0)) as results:
                async for result in results:
                    place = (result.position, result.attempt)
                    self.earlier.pop(place, None)
                    case, recording = self.in_work.pop(place)
                    verdict = self.progress.add(result, recording, case.case)
                    self.events.on_result(result, verdict)
                    if plan.exit_first and verdict not in (Verdict.PASSED, Verdict.INFORMATIONAL):
                        self.is_stopped = True
                        self.store.remove_recordings(plan.info.id, self.kept_places)
                        self.note("stopped at the first attempt that did not pass (-x); the others were not made")
                        return decision
            if gate is not None:
                from fairtrial.api.waves import decision_after  # few runs decide claims wave by wave

                self.progress.commit()
                decision = decision_after(gate, self.store, self.progress.info, attempts)
                self.attempts_to_skip |= {(case.position, attempts) for case in plan.cases}
                if gate.is_decided(decision) or _is_out_of_budget(plan):
                    break
        return decision

    def _results(self, attempts: int, *, is_first: bool) -> AsyncGenerator[CaseResult]:
        # Processes for a few chunks would take longer to start than the chunks take here.
        if self.plan.jobs > 1 and self.plan.total > CHUNK * PATIENCE:
            return _in_processes(self._list_recorded(), self.plan.jobs)
        pairs = self._recordings(attempts, is_first=is_first)
        return score(pairs, concurrency=self.plan.concurrency, earlier=self.earlier, ballots=self.ballots)

    def _list_recorded(self) -> Iterator[Pair]:
        for case, recording in self.plan.recorded or ():
            self.store.add_recording(self.plan.info.id, case.position, recording, may_wait=True)
            yield self._begin(self.connect(case), recording)

    def _begin(self, case: PlannedCase, recording: Recording) -> Pair:
        """Return a conversation to score, and keep it until its result is there."""
        self.in_work[case.position, recording.attempt] = (case, recording)
        self.versions.add(recording.trace)
        return case, recording

    async def _recordings(self, attempts: int, *, is_first: bool) -> AsyncIterator[Pair]:
        """Yield the recordings up to a number of attempts. Those that exist already are in the first wave."""
        plan = dataclasses.replace(self.plan, attempts=attempts)
        if is_first:
            for pair, result in _earlier_attempts(plan, self.connect, self.store, self.attempts_to_skip):
                if result is not None:
                    self.earlier[result.position, result.attempt] = result
                yield self._begin(*pair)
            for pair in self._list_recorded():
                yield pair
        if plan.agent is not None:
            from fairtrial.api.conversations import conversations
            from fairtrial.recording import Watcher

            cases = map(self.connect, plan.cases)
            watcher = Watcher(self.note, self.events.on_wait, self._keep_turns)
            async for case, recording in conversations(
                plan, cases, self.attempts_to_skip, earlier=self.partial_recordings, watcher=watcher
            ):
                self.store.add_recording(plan.info.id, case.position, recording)
                self.kept_places.discard((case.position, recording.attempt))
                self.events.on_recording(recording)
                yield self._begin(case, recording)

    def _keep_turns(self, case: PlannedCase, recording: Recording) -> None:
        """Store the turns of a conversation that is not over, for a run that goes on after an interruption."""
        if not self.is_stopped:
            self.kept_places.add((case.position, recording.attempt))
            self.store.add_recording(self.plan.info.id, case.position, recording)


def _waves(plan: Plan) -> Iterable[int]:
    """Return how many attempts each case has after each wave: all at once, or one by one until claims are decided."""
    return (plan.attempts,) if plan.gate is None else range(1, plan.gate.most_waves + 1)


def _is_out_of_budget(plan: Plan) -> bool:
    budget = plan.judges.models.budget
    return budget is not None and budget.is_used_up


async def _in_processes(pairs: Iterator[Pair], jobs: int) -> AsyncGenerator[CaseResult]:
    """Yield the results of recordings that several processes score, chunk by chunk, in the order of the recordings."""
    from fairtrial.batch.executors import ProcessPool, split_into_chunks

    for results in ProcessPool(jobs).map(score_chunk, split_into_chunks(pairs, CHUNK)):
        for result in results:
            yield result
        await asyncio.sleep(0)  # lets the other tasks of the run commit, and notice an interruption


def _earlier_recordings(store: Store, plan: Plan) -> tuple[set[tuple[int, int]], dict[tuple[int, int], Recording]]:
    """Return the conversations, by position and attempt, that a resumed run does not hold again, and the others.

    The cases of a shuffled attempt share a process, so that all of them are held again if one of them is missing.
    """
    complete_places: set[tuple[int, int]] = set()
    partial_recordings: dict[tuple[int, int], Recording] = {}
    for position, recording in store.recordings(plan.info.id):
        place = (position, recording.attempt)
        if _is_finished(recording):
            complete_places.add(place)
        else:
            partial_recordings[place] = recording
    if plan.holding.shuffle is None:
        return complete_places, partial_recordings
    all_places = {
        (case.position, number) for case in plan.cases for number in range(1, (case.attempts or plan.attempts) + 1)
    }
    partial_attempts = {attempt for position, attempt in all_places - complete_places}
    return {(position, attempt) for position, attempt in complete_places if attempt not in partial_attempts}, {}


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
