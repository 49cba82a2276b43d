"""The journal of judge replies in an object store, from which the database of a killed run is restored."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import msgspec

from fairtrial.records.ballot import Ballot
from fairtrial.records.decoding import json_decoder
from fairtrial.records.record import Record
from fairtrial.records.reply import Reply

if TYPE_CHECKING:
    from fairtrial.loading.object_folders import ObjectFolder

_CALLS = "calls"
SECONDS = 10.0
"""The time after which the entries are uploaded, although no shard is finished."""
T = TypeVar("T")


class CallEntry(Record, frozen=True):
    """A reply with the key of its call, or a ballot."""

    key: str
    reply: Reply | None = None
    ballot: Ballot | None = None


@dataclass
class CallJournal:
    """The replies and the ballots that are in the database of this machine, and have to be in an object store, too.

    Entries are uploaded together, as an object of JSON lines. Any thread may add and upload them.
    """

    objects: ObjectFolder
    _lines: list[bytes] = field(default_factory=list)
    _number: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def restore(self, replies: MutableMapping[str, Reply], ballots: MutableMapping[str, Ballot]) -> None:
        """Bring the entries of an interrupted run back into its database."""
        decoder = json_decoder(CallEntry)
        for name in self.objects.names(_CALLS):
            self._number += 1
            for content in self.objects.read_each([name]):
                for entry in decoder.decode_lines(content):
                    if entry.reply is not None:
                        replies[entry.key] = entry.reply
                    if entry.ballot is not None:
                        ballots[entry.key] = entry.ballot

    def add(self, entry: CallEntry) -> None:
        """Add an entry, which the next upload takes."""
        line = msgspec.json.encode(entry)
        with self._lock:
            self._lines.append(line)

    def upload(self) -> None:
        """Upload the new entries, if there are any."""
        with self._lock:
            if self._lines:
                self.objects.write(f"{_CALLS}/part-{self._number:06d}.jsonl", b"\n".join(self._lines))
                self._number += 1
                self._lines.clear()

    def remove(self) -> None:
        """Remove the entries, because the database itself is in the object store."""
        if self._number:
            self.objects.remove(_CALLS)


@dataclass
class NotedMapping(MutableMapping[str, T]):
    """A mapping that reports each entry that is written to it."""

    entries: MutableMapping[str, T]
    note: Callable[[str, T], None]

    def __getitem__(self, key: str) -> T:
        return self.entries[key]

    def __setitem__(self, key: str, value: T) -> None:
        self.entries[key] = value
        self.note(key, value)

    def __delitem__(self, key: str) -> None:
        del self.entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)
