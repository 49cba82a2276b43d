"""Join received traces without a conversation id by their message histories."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairtrial.formats.conversation.joining import HistoryKeys


class JoinedHistories:
    """The traces without an id that came so far, and which trace each of them goes on with.

    A trace goes on with the longest conversation that its history holds. It may also come before that conversation. If
    a second trace goes on with the same one, none of them does, although the first was joined before. A conversation
    has the name of its trace that came first.
    """

    def __init__(self, conversations: Iterable[tuple[str, Mapping[str, HistoryKeys]]] = ()) -> None:
        """Begin with the conversations of a run that goes on: the name of each, and the keys of its traces."""
        self._arrivals: dict[str, int] = {}
        self._ends: dict[bytes, str] = {}
        self._starts: defaultdict[bytes, dict[str, int]] = defaultdict(dict)
        self._earlier: dict[str, tuple[int, str]] = {}
        self._followers: defaultdict[str, list[str]] = defaultdict(list)
        self._forks: set[str] = set()
        for name, traces in conversations:
            self._restore(name, traces)

    @property
    def count(self) -> int:
        """The number of traces that go on with another."""
        return sum(trace_id not in self._forks for _, trace_id in self._earlier.values())

    def read_name(self, trace_id: str) -> str:
        """Return the name of the conversation of a trace. It is the trace itself if the trace is not known."""
        return min(self.members(trace_id), key=lambda member: self._arrivals.get(member, 0))

    def has_left(self, name: str, trace_id: str) -> bool:
        """Whether a trace without an id belongs to another conversation by now."""
        return trace_id in self._arrivals and self.read_name(trace_id) != name

    def members(self, trace_id: str) -> list[str]:
        """Return the traces of the conversation of a trace, in their order."""
        while trace_id in self._earlier and self._earlier[trace_id][1] not in self._forks:
            trace_id = self._earlier[trace_id][1]
        chain = [trace_id]
        while self._followers.get(chain[-1]) and chain[-1] not in self._forks:
            chain += self._followers[chain[-1]]
        return chain

    def add(self, trace_id: str, keys: HistoryKeys) -> list[str]:
        """Add a trace, or more of it. Return the traces that were in a conversation that two traces go on with."""
        self._arrivals.setdefault(trace_id, len(self._arrivals))
        # Traces that go on with this one may be linked further back so far, where this one belongs between.
        split = self._find_followers(trace_id, keys) | self._find_earlier(trace_id, keys)
        return sorted(split - {trace_id}, key=self._arrivals.__getitem__)

    def _find_followers(self, trace_id: str, keys: HistoryKeys) -> set[str]:
        """Link the traces that wait for the end of a trace."""
        split = set[str]()
        for end in keys.ends:
            self._ends[end] = trace_id
            for follower, place in self._starts.pop(end, {}).items():
                if follower != trace_id and place > self._place(follower):
                    split |= self._link(follower, place, trace_id)
        return split

    def _find_earlier(self, trace_id: str, keys: HistoryKeys) -> set[str]:
        """Link a trace to the one with the longest end in its history, and let it wait for longer ones."""
        for place in range(len(keys.before) - 1, self._place(trace_id), -1):
            end = keys.before[place]
            if self._ends.get(end, trace_id) != trace_id:
                return self._link(trace_id, place, self._ends[end])
            self._starts[end][trace_id] = place
        return set()

    def _place(self, trace_id: str) -> int:
        """Return how long the part of the history is with which a trace is linked, or -1."""
        return self._earlier[trace_id][0] if trace_id in self._earlier else -1

    def _link(self, trace_id: str, place: int, earlier: str) -> set[str]:
        """Let a trace go on with another. Return the traces of the conversation if it is split by that."""
        conversation = self.members(earlier)
        if trace_id in conversation:
            return set()
        if trace_id in self._earlier:
            self._unlink(trace_id, self._earlier[trace_id][1])
        self._earlier[trace_id] = place, earlier
        self._followers[earlier].append(trace_id)
        if len(self._followers[earlier]) == 1 or earlier in self._forks:
            return set()
        self._forks.add(earlier)
        return set(conversation)

    def _unlink(self, trace_id: str, earlier: str) -> None:
        """Let a trace go on with another no more. If nothing else did, the next one may."""
        self._followers[earlier].remove(trace_id)
        if not self._followers[earlier]:
            self._forks.discard(earlier)

    def _restore(self, name: str, traces: Mapping[str, HistoryKeys]) -> None:
        """Add the traces of a conversation that is scored already. It keeps the name of the trace that came first."""
        if name not in traces:
            return
        self._arrivals.setdefault(name, len(self._arrivals))
        earlier = ""
        for trace_id, keys in traces.items():
            self.add(trace_id, keys)
            if earlier and trace_id not in self.members(name):
                self._link(trace_id, 0, earlier)
            earlier = trace_id
