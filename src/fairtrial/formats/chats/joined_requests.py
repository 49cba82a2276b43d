"""Join requests that continue an earlier request. A log of a provider's client holds a conversation many times."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from fairtrial.records.trace import Message, Step, Thought, ToolCall, Trace

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording
    from fairtrial.records.record import Json

_WINDOW = 1000
"""A request is joined to one of so many requests before it, so that a log of any length can be read."""
_ENCODER = msgspec.json.Encoder(order="deterministic")


_Source = TypeVar("_Source")


class _Request(Generic[_Source]):
    """A recording that waits for a later request that goes on with it. `source` is its file."""

    def __init__(self, source: _Source, recording: Recording) -> None:
        self.source = source
        self.recording = recording
        self.end = b""
        self.followers = 0


class RequestJoiner(Generic[_Source]):
    """Leaves out each conversation that a later request repeats as its beginning, in the same file or in another.

    `count` is the number of conversations that were left out.
    """

    def __init__(self) -> None:
        self.count = 0
        self._window: deque[_Request[_Source]] = deque()
        self._by_end: dict[bytes, _Request[_Source]] = {}

    def add(self, source: _Source, stem: str, recording: Recording) -> Iterator[tuple[_Source, Recording]]:
        """Add a recording of a file, and yield the recordings that no later request is compared with.

        `stem` is the name of the file. A conversation with an id of its own is never joined. If two requests go on with
        the same conversation, it stays.
        """
        request = _Request(source, recording)
        if _is_named_after(stem, recording):
            keys = [*_keys(recording.trace)]
            earlier = next((self._by_end[key] for key in reversed(keys[:-1]) if key in self._by_end), None)
            if earlier is not None:
                earlier.followers += 1
            if keys and _may_go_on(recording.trace):
                request.end = keys[-1]
                self._by_end[request.end] = request
        self._window.append(request)
        if len(self._window) > _WINDOW:
            oldest = self._window.popleft()
            yield from self._finish_requests(oldest)
            if self._by_end.get(oldest.end) is oldest:
                del self._by_end[oldest.end]

    def finish(self) -> Iterator[tuple[_Source, Recording]]:
        """Yield the recordings that are left after the last file."""
        for request in self._window:
            yield from self._finish_requests(request)
        self._window.clear()
        self._by_end.clear()

    def _finish_requests(self, request: _Request[_Source]) -> Iterator[tuple[_Source, Recording]]:
        if request.followers == 1:
            self.count += 1
        else:
            yield request.source, request.recording


def _is_named_after(stem: str, recording: Recording) -> bool:
    """Whether a recording is named after its file, because nothing in the file names it."""
    return stem in (recording.case_id, recording.case_id.rpartition("-")[0])


def joined_message(count: int) -> str:
    """Return the warning about requests that a later request repeats."""
    return f"joined {count} requests to a later request that repeats them; --join none makes each a conversation"


def _may_go_on(trace: Trace) -> bool:
    """Whether a conversation ends with a reply, or is a request to a model, which its answer follows."""
    return bool(trace.invocations[-1].reply) or "model" in (trace.extra or {})


def _keys(trace: Trace) -> Iterator[bytes]:
    """Yield a key for the conversation until each of its steps."""
    conversation = blake2b(digest_size=16)
    for invocation in trace.invocations:
        reply = () if invocation.final_response is None else (invocation.final_response,)
        for step in (invocation.user, *(invocation.steps or ()), *reply):
            conversation.update(_ENCODER.encode(_content(step)))
            yield conversation.digest()


def _content(step: Step) -> Json:
    if isinstance(step, Message | Thought):
        return [type(step).__name__, step.text, step.author]
    if isinstance(step, ToolCall):
        return ["ToolCall", step.name, step.args, step.id]
    return ["ToolResult", step.response, step.id]
