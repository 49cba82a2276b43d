"""Known message histories of a run's conversations, from recordings first and from spans for the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.formats.conversation.joining import HistoryKeys, history_keys
from fairtrial.formats.conversation.live_traces import state_of_trace
from fairtrial.formats.conversation.options import TraceOptions
from fairtrial.records.attempt import Recording
from fairtrial.records.trace import Trace

if TYPE_CHECKING:
    from fairtrial.store.span_rows import SpanRows


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
