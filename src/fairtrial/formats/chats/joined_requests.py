"""Which requests go on with an earlier request? A log of a provider's client holds a conversation many times."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from hashlib import blake2b

import msgspec

from fairtrial.records.attempt import Recording
from fairtrial.records.record import Json
from fairtrial.records.trace import Message, Step, Thought, ToolCall, Trace

_WINDOW = 1000
"""A request is joined to one of so many requests before it, so that a log of any length can be read."""
_ENCODER = msgspec.json.Encoder(order="deterministic")


class _Request:
    """A recording that waits for a later request that goes on with it."""

    def __init__(self, recording: Recording, end: bytes = b"") -> None:
        self.recording = recording
        self.end = end
        self.followers = 0


class RequestJoiner:
    """Leaves out each conversation that a later request repeats as its beginning.

    `stem` is the name of the file: conversations with an id of their own are never joined. `count` is the number of
    conversations that were left out.
    """

    def __init__(self, stem: str) -> None:
        self.count = 0
        self._stem = stem

    def join(self, recordings: Iterable[Recording]) -> Iterator[Recording]:
        """Yield the recordings. If two requests go on with the same conversation, it stays."""
        window: deque[_Request] = deque()
        by_end: dict[bytes, _Request] = {}
        for recording in recordings:
            request = _Request(recording)
            if self._is_named_after_file(recording):
                keys = [*_keys(recording.trace)]
                earlier = next((by_end[key] for key in reversed(keys[:-1]) if key in by_end), None)
                if earlier is not None:
                    earlier.followers += 1
                if keys and _may_go_on(recording.trace):
                    request.end = keys[-1]
                    by_end[request.end] = request
            window.append(request)
            if len(window) > _WINDOW:
                oldest = window.popleft()
                yield from self._finished(oldest)
                if by_end.get(oldest.end) is oldest:
                    del by_end[oldest.end]
        for request in window:
            yield from self._finished(request)

    def _is_named_after_file(self, recording: Recording) -> bool:
        """Whether a recording is named after its file, because nothing in the file names it."""
        return recording.case_id == self._stem or recording.case_id.rpartition("-")[0] == self._stem

    def _finished(self, request: _Request) -> Iterator[Recording]:
        if request.followers == 1:
            self.count += 1
        else:
            yield request.recording


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
