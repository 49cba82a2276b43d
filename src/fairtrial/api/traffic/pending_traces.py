"""Pending traces of a receiver. A conversation is scored when nothing came for it for a while."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fairtrial.formats.conversation.live_traces import TraceState


@dataclass
class _PendingTrace:
    """A trace with spans that no result counts yet.

    `last` is the time of its last span, by a monotonic clock. `state` is None until the trace was looked at after its
    last span. `possible_ids` are the ids that its conversation may have.
    """

    last: float
    possible_ids: set[str] = field(default_factory=set)
    state: TraceState | None = None


class DueConversation(NamedTuple):
    """A conversation that is to be scored now, with those of its traces that have new spans."""

    name: str
    trace_ids: tuple[str, ...]


class PendingTraces:
    """The traces that wait until their conversation is finished. Several threads may use it.

    It holds no spans, so that its memory does not grow with the size of traces.
    """

    def __init__(self, idle: float) -> None:
        """Wait so many seconds after the last span of a conversation."""
        self._idle = idle
        self._traces: dict[str, _PendingTrace] = {}
        self._end_requests: set[str] = set()
        self._busy: set[str] = set()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._traces)

    def arrive(self, trace_id: str, possible_ids: Iterable[str], at: float) -> None:
        """Note that spans of a trace came."""
        with self._lock:
            pending = self._traces.setdefault(trace_id, _PendingTrace(at))
            pending.last, pending.state = at, None
            pending.possible_ids.update(possible_ids)

    def end(self, name: str) -> bool:
        """Let a conversation be due at once. Returns False if no trace waits for it."""
        with self._lock:
            is_known = any(self._may_belong_to(name, trace_id, trace) for trace_id, trace in self._traces.items())
            if is_known:
                self._end_requests.add(name)
            return is_known

    def quiet(self, at: float) -> list[str]:
        """Return the traces that are to be looked at: nothing came for them for a while, or somebody ended them."""
        with self._lock:
            return [
                trace_id
                for trace_id, trace in self._traces.items()
                if trace.state is None and (self._is_idle(trace, at) or self._is_ended(trace_id, trace))
            ]

    def look(self, trace_id: str, state: TraceState, read_time: float) -> None:
        """Note the state of a trace that was read at a time. If spans came meanwhile, nothing is noted."""
        with self._lock:
            trace = self._traces.get(trace_id)
            if trace is not None and trace.last <= read_time:
                trace.state = state
                if self._is_ended(trace_id, trace):
                    self._end_requests.add(state.conversation)

    def drop(self, trace_ids: Iterable[str], read_time: float) -> None:
        """Forget traces, except those for which spans came after a time."""
        with self._lock:
            for trace_id in trace_ids:
                if trace_id in self._traces and self._traces[trace_id].last <= read_time:
                    del self._traces[trace_id]

    def due(self, at: float) -> list[DueConversation]:
        """Return the conversations that are finished and not being scored. They count as being scored from now on."""
        with self._lock:
            conversations: dict[str, list[str]] = {}
            possible: dict[str, list[_PendingTrace]] = {}
            for trace_id, trace in self._traces.items():
                if trace.state is not None:
                    conversations.setdefault(trace.state.conversation, []).append(trace_id)
                for name in trace.possible_ids:
                    possible.setdefault(name, []).append(trace)
            finished_conversations = [
                DueConversation(name, tuple(trace_ids))
                for name, trace_ids in conversations.items()
                if name not in self._busy and self._is_finished(name, trace_ids, possible.get(name, ()), at)
            ]
            self._end_requests = {
                name for name in self._end_requests if name in self._busy or self._is_to_be_looked_at(name)
            }
            self._busy |= {conversation.name for conversation in finished_conversations}
            return finished_conversations

    def release(self, name: str) -> None:
        """Note that a conversation is not being scored any more."""
        with self._lock:
            self._busy.discard(name)

    def next_look(self, at: float) -> float | None:
        """Return the seconds until the next trace has been quiet for long enough, or None if all are looked at."""
        with self._lock:
            lasts = [trace.last for trace in self._traces.values() if trace.state is None]
            return max(0.0, min(lasts) + self._idle - at) if lasts else None

    def _is_to_be_looked_at(self, name: str) -> bool:
        traces = self._traces.items()
        return any(trace.state is None and self._may_belong_to(name, trace_id, trace) for trace_id, trace in traces)

    def _is_idle(self, trace: _PendingTrace, at: float) -> bool:
        return at - trace.last >= self._idle

    def _is_ended(self, trace_id: str, trace: _PendingTrace) -> bool:
        return any(self._may_belong_to(name, trace_id, trace) for name in self._end_requests)

    def _may_belong_to(self, name: str, trace_id: str, trace: _PendingTrace) -> bool:
        is_decided = trace.state is not None and trace.state.conversation == name
        return is_decided or name == trace_id or name in trace.possible_ids

    def _is_finished(self, name: str, trace_ids: Iterable[str], possible: Iterable[_PendingTrace], at: float) -> bool:
        if name in self._end_requests:
            return True
        own = [self._traces[trace_id] for trace_id in trace_ids]
        if not all(trace.state is not None and trace.state.is_complete for trace in own):
            return False
        # A trace that nobody has looked at may belong to the conversation too.
        return all(self._is_idle(trace, at) for trace in (*own, *possible))
