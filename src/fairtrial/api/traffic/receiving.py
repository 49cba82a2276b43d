"""Receive spans. A receiver stores them at once, and scores finished conversations."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.analysis.agent_versions import AgentVersions
from fairtrial.api.connection import connected
from fairtrial.api.execution import follow_run
from fairtrial.api.run_progress import RunProgress
from fairtrial.api.stored_runs import Run
from fairtrial.api.stores import open_store
from fairtrial.api.traffic.joined_histories import JoinedHistories
from fairtrial.api.traffic.pending_traces import DueConversation, PendingTraces
from fairtrial.errors import FormatError
from fairtrial.formats.conversation.joining import HistoryKeys, history_keys, possible_ids
from fairtrial.formats.conversation.live_traces import TraceState, state_of_trace
from fairtrial.formats.conversation.span_conversations import joined_message, single_conversation
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.real_tools import with_real_tools
from fairtrial.formats.span_redaction import SpanRedactor
from fairtrial.formats.spans.otlp_requests import read_request
from fairtrial.llm.call_cache import CallCache
from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.result import CaseResult
from fairtrial.records.trace import Trace
from fairtrial.scoring import score
from fairtrial.system.event_loop import blocking

if TYPE_CHECKING:
    from fairtrial.api.traffic.reception_plan import ReceptionPlan
    from fairtrial.formats.conversation.options import TraceOptions
    from fairtrial.formats.spans.otlp_protobuf import Signal
    from fairtrial.formats.spans.span import SpanItem
    from fairtrial.planned_case import Pair, PlannedCase
    from fairtrial.records.run import RunInfo
    from fairtrial.store import Store
    from fairtrial.store.span_rows import SpanBatch, SpanRows


class KnownHistories:
    """The keys of the traces of each scored conversation, by the ids of the traces in their order."""

    def __init__(self, spans: SpanRows, options: TraceOptions) -> None:
        """Read spans only if a recording does not tell all."""
        self._spans = spans
        self._options = options
        self._traces = spans.scored_traces()

    def find_keys(self, recording: Recording) -> dict[str, HistoryKeys]:
        """Return the keys of the traces without an id, or nothing if the conversation has an id of its own.

        A recording names the first trace of each invocation. If each call of a model is a trace, an invocation has
        more traces, and it may begin in the middle of the calls.
        """
        trace = recording.trace
        ends = {own.origin.trace_id: number for number, own in enumerate(trace.invocations, 1) if own.origin}
        if trace.session_id not in ends:
            return {}
        trace_ids = self._traces.list_trace_ids(trace.session_id)
        if set(trace_ids) <= ends.keys() and not _begins_with_calls(trace):
            return {
                trace_id: history_keys(replace(trace, invocations=trace.invocations[:end]), ())
                for trace_id, end in ends.items()
            }
        return {trace_id: keys for trace_id in trace_ids if (keys := self._keys_in_spans(trace_id)) is not None}

    def _keys_in_spans(self, trace_id: str) -> HistoryKeys | None:
        items = [
            item for batch in self._spans.find_trace_spans(trace_id) if not batch.is_pending for item in batch.items
        ]
        return state_of_trace(items, self._options).history


def _begins_with_calls(trace: Trace) -> bool:
    """Whether the first call of a model already had calls of tools in its input, which no span holds."""
    return any(not call.span_id for call in trace.invocations[0].tool_calls)


OnResult = Callable[[CaseResult], None]
Place = tuple[int, int]
"""The position of a case, and the number of an attempt."""


class Receiver:
    """Spans on their way to results. `accept`, `end` and `stop` may be called by other threads while `score` runs."""

    def __init__(self, plan: ReceptionPlan, store: Store) -> None:
        """Continue the run of the plan in a store. Spans that wait there are scored too."""
        self._plan = plan
        self._run_id = plan.plan.info.id
        self._store = store
        store.begin(plan.plan.info)
        self._spans = store.spans(self._run_id)
        self._redactor = SpanRedactor(people=plan.people, key=self._run_id, conversation=plan.traces.conversation)
        self._pending = PendingTraces(plan.idle)
        self._places = _Places(plan, store)
        self._histories = JoinedHistories(self._known_conversations())
        self._in_scoring: dict[Place, tuple[str, list[SpanBatch]]] = {}
        self._in_work: dict[Place, Pair] = {}
        self._versions = AgentVersions()
        self._warnings: dict[str, None] = {}
        self._stopping = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()
        for batch in self._spans.pending():
            self._note_arrival(batch.trace_id, batch.items)

    @property
    def info(self) -> RunInfo:
        """The run that holds the results."""
        return self._plan.plan.info

    @property
    def warnings(self) -> tuple[str, ...]:
        """The problems of the spans, for example that spans never ended, and how many traces were joined."""
        joined = self._histories.count
        return (*self._warnings, joined_message(joined)) if joined else tuple(self._warnings)

    @property
    def waiting(self) -> int:
        """The number of traces that are stored and not scored."""
        return self._spans.count_pending()

    def _known_conversations(self) -> Iterator[tuple[str, Mapping[str, HistoryKeys]]]:
        """Yield the conversations of the run that may go on: the name of each, and the keys of its traces."""
        if self._plan.traces.join == "history":
            known = KnownHistories(self._spans, self._plan.traces)
            for _, recording in self._store.recordings(self._run_id):
                try:
                    yield recording.trace.session_id, known.find_keys(recording)
                except Exception as error:  # noqa: BLE001  (the spans are of strangers)
                    self._warn_unreadable(recording.trace.session_id, error)

    def accept(self, body: bytes, signal: Signal, content_type: str) -> int:
        """Store the spans or the log records of a request, and return how many of them were refused.

        Raises FormatError if the body cannot be read, and StoreError if the store fails. Then nothing is stored.
        """
        received = read_request(body, signal, content_type)
        traces: dict[str, list[SpanItem]] = defaultdict(list)
        try:
            for item in received.items:
                traces[item.trace_id].append(self._redactor.clean(item))
            self._spans.add(traces)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise FormatError("the request", [f"holds a value that cannot be stored: {error}"]) from None
        for trace_id, items in traces.items():
            self._note_arrival(trace_id, items)
        self._awake()
        return received.refused

    def _note_arrival(self, trace_id: str, items: Sequence[SpanItem]) -> None:
        try:
            ids = set[str]().union(*(possible_ids(item, self._plan.traces.conversation) for item in items))
        except Exception:  # noqa: BLE001  (the trace is an error when it is looked at)
            ids = set()
        self._pending.arrive(trace_id, ids, time.monotonic())

    def end(self, conversation: str) -> bool:
        """Score a conversation now, whatever else may come. Returns False if none of its spans wait."""
        is_known = self._pending.end(conversation) or self._pending.end(self._redactor.pseudonym(conversation))
        self._awake()
        return is_known

    def stop(self) -> None:
        """Let `score` return after it has scored the conversations that are finished."""
        self._stopping.set()
        self._awake()

    def _awake(self) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._wake.set)

    def score(self, on_result: OnResult) -> Run:
        """Score conversations until `stop` is called, and return the run. Results are stored when they are ready."""
        run: Run = blocking(self._score(on_result))
        return run

    async def _score(self, on_result: OnResult) -> Run:
        plan, store = self._plan.plan, self._store
        ballots = store.ballots(self._run_id)
        cache = CallCache(store.replies(self._run_id))
        lease = store.lease(self._run_id)
        notes: list[str] = []
        every_kind = (*plan.cases, self._plan.unmatched)
        async with connected(every_kind, plan.judges.models, cache, ballots, notes.append) as connect:
            with lease.hold(), self._awakened_by_others():
                progress = RunProgress(store, plan.info, lease)
                pairs = self._conversations(connect)
                async with (
                    progress.committed_often(),
                    aclosing(score(pairs, concurrency=plan.concurrency, ballots=ballots)) as results,
                ):
                    async for result in results:
                        case, recording = self._in_work.pop((result.position, result.attempt))
                        progress.add(result, recording, case.case)
                        progress.commit()
                        self._note_scored(result)
                        on_result(result)
                summary, info = progress.finish(ballots, versions=self._versions, notes=notes)
        follow_run(store, info.id)
        return Run(info, summary, store)

    @contextmanager
    def _awakened_by_others(self) -> Iterator[None]:
        self._loop = asyncio.get_running_loop()
        try:
            yield
        finally:
            self._loop = None

    async def _conversations(self, connect: Callable[[PlannedCase], PlannedCase]) -> AsyncIterator[Pair]:
        """Yield conversations when they are finished, until the receiver stops."""
        while True:
            self._wake.clear()
            is_last = self._stopping.is_set()
            for pair in self._due():
                self._in_work[pair[0].position, pair[1].attempt] = pair
                yield connect(pair[0]), pair[1]
            if is_last:
                return
            try:
                await asyncio.wait_for(self._wake.wait(), self._pending.next_look(time.monotonic()))
            except TimeoutError:
                continue

    def _due(self) -> Iterator[Pair]:
        for trace_id in self._pending.quiet(time.monotonic()):
            read_time = time.monotonic()
            self._look(trace_id, self._spans.find_trace_spans(trace_id), read_time)
        for conversation in self._pending.due(time.monotonic()):
            pair = self._take(conversation)
            if pair is not None:
                yield pair

    def _look(self, trace_id: str, batches: Sequence[SpanBatch], read_time: float) -> None:
        try:
            state = state_of_trace([item for batch in batches for item in batch.items], self._plan.traces)
        except Exception as error:  # noqa: BLE001  (the spans are of strangers)
            self._warn_unreadable(trace_id, error)
            state = TraceState(trace_id, has_agent=True, is_complete=True)
        if state.history is not None:
            self._reopen(self._histories.add(trace_id, state.history))
            state = replace(state, conversation=self._histories.read_name(trace_id))
        is_left_out = any(batch.is_left_out for batch in batches)
        if is_left_out or (state.is_complete and not state.has_agent):
            self._spans.leave_out(batch for batch in batches if batch.is_pending)
            self._pending.drop([trace_id], read_time)
        else:
            self._pending.look(trace_id, state, read_time)

    def _reopen(self, trace_ids: Sequence[str]) -> None:
        """Let the traces of a conversation be scored again, because they turned out to be several conversations."""
        for trace_id in trace_ids:
            batches = [batch for batch in self._spans.find_trace_spans(trace_id) if not batch.is_left_out]
            if batches:
                self._spans.reopen(batches)
                self._pending.arrive(trace_id, (), time.monotonic())

    def _take(self, due: DueConversation) -> Pair | None:
        """Return a finished conversation with its case, or None if it is not scored."""
        read_time = time.monotonic()
        batches = {
            batch.number: batch for trace_id in due.trace_ids for batch in self._spans.find_trace_spans(trace_id)
        }
        if not self._plan.is_in_sample(due.name):
            self._spans.leave_out(batches.values())
        else:
            batches |= {batch.number: batch for batch in self._spans.find_conversation_spans(due.name)}
            recording = self._recording(due.name, [item for batch in batches.values() for item in batch.items])
            if recording is not None:
                case, attempt = self._places.assign(due.name, recording)
                recording = replace(recording, case_id=case.case.id, eval_set=case.eval_set, attempt=attempt)
                self._store.add_cases(self._run_id, [case.expected])
                self._store.add_recording(self._run_id, case.position, recording)
                self._versions.add(recording.trace)
                self._in_scoring[case.position, attempt] = (due.name, list(batches.values()))
                self._pending.drop(due.trace_ids, read_time)
                return case, recording
            self._spans.leave_out(batch for batch in batches.values() if batch.is_pending)
        self._pending.drop(due.trace_ids, read_time)
        self._pending.release(due.name)
        return None

    def _recording(self, name: str, items: Sequence[SpanItem]) -> Recording | None:
        """Return the recording of a conversation. If its spans cannot be read, the recording says so as its failure."""
        try:
            return self._read(name, items)
        except Exception as error:  # noqa: BLE001  (the spans are of strangers)
            failure = Failure("infrastructure", self._warn_unreadable(name, error))
            return Recording(name, Trace(session_id=name), failure=failure, ended_by="failure")

    def _warn_unreadable(self, name: str, error: Exception) -> str:
        problem = f"the spans cannot be read: {type(error).__name__}: {error}"
        self._warnings[f"{name}: {problem}"] = None
        return problem

    def _read(self, name: str, items: Sequence[SpanItem]) -> Recording | None:
        """Return the recording of a conversation. Its session is the name of the conversation."""
        reading = Diagnostics(name)
        # The conversation is decided. Joining its traces again by other ids would split it.
        warnings: list[str] = []
        conversation = single_conversation(items, warnings, reading, self._plan.traces)
        if conversation is None:
            return None
        recording = with_real_tools(conversation.recording(reading), self._plan.traces.tool_names)
        messages = (f"{name}: {warning}" for warning in (*warnings, *conversation.warnings))
        self._warnings |= dict.fromkeys((*reading.warnings, *messages))
        return replace(recording, case_id=name, trace=replace(recording.trace, session_id=name))

    def _note_scored(self, result: CaseResult) -> None:
        name, batches = self._in_scoring.pop((result.position, result.attempt))
        if not any(self._histories.has_left(name, batch.trace_id) for batch in batches):
            self._spans.mark_scored((batch for batch in batches if batch.is_pending), name)
        self._pending.release(name)
        self._awake()  # spans that came meanwhile may wait for this result


class _Places:
    """The case and the attempt of each conversation. A conversation keeps its place when it is scored again."""

    def __init__(self, plan: ReceptionPlan, store: Store) -> None:
        self._plan = plan
        self._finders = plan.finders()
        self._attempts: Counter[int] = Counter()
        self._by_name: dict[str, tuple[PlannedCase, int]] = {}
        run_id = plan.plan.info.id
        cases = {case.position: case for case in plan.cases}
        for expected in store.cases(run_id):
            if expected.position not in cases:
                cases[expected.position] = replace(
                    plan.unmatched,
                    position=expected.position,
                    name=expected.name,
                    case=expected.case,
                    digest_bytes=bytes.fromhex(expected.digest),
                )
        for position, recording in store.recordings(run_id):
            if position not in cases:
                continue  # The process was killed before the case was stored. Its spans will be scored again.
            self._attempts[position] = max(self._attempts[position], recording.attempt)
            self._by_name[recording.trace.session_id] = cases[position], recording.attempt
        self._next_position = max([len(plan.cases) - 1, *self._attempts]) + 1

    def assign(self, name: str, recording: Recording) -> tuple[PlannedCase, int]:
        """Return the case of a conversation and the number of its attempt."""
        place = self._by_name.get(name)
        if place is None:
            case = self._plan.resolve_case(recording, self._finders, self._next_position)
            self._next_position += case.position == self._next_position
            self._attempts[case.position] += 1
            place = self._by_name[name] = case, self._attempts[case.position]
        return place


def open_receiver(plan: ReceptionPlan, store: str, *, is_new: bool = False) -> Receiver:
    """Return a receiver whose run is in a store.

    It continues the newest run of a receiver with the same inputs and options. With `is_new` it starts another run.
    """
    run_store = open_store(store)
    return Receiver(plan if is_new else plan.continue_run(run_store.runs()), run_store)
