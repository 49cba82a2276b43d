"""Join the spans of several files of a data set into conversations, in files that workers read on their own.

The spans of a conversation may stand in any of the files. They go through a temporary database, so that memory does not
grow with them, and every conversation ends in the part that a hash of its id decides. A part changes only if one of its
conversations changes, so that late spans cost only the parts of their conversations.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import msgspec
from msgspec.structs import replace

from fairtrial.errors import FormatError
from fairtrial.formats import recordings
from fairtrial.formats.conversation.joining import HistoryKeys, chains, conversation_id, history_keys, successors
from fairtrial.formats.conversation.nodes import build_nodes
from fairtrial.formats.conversation.span_conversations import (
    Conversation,
    group_conversations,
    joined_message,
    single_conversation,
)
from fairtrial.formats.dialects.dialect_table import CONVERSATION_IDS
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.real_tools import with_real_tools
from fairtrial.formats.spans import large_files
from fairtrial.formats.spans.body import make_spans
from fairtrial.formats.spans.large_files import LargeFile, large_file
from fairtrial.formats.spans.span import LogRecord, Span, SpanItem
from fairtrial.loading import shards as shard_cutting
from fairtrial.loading.data_files import is_url, open_data_file
from fairtrial.loading.shards import SPANS, Shard, group_small_files
from fairtrial.loading.spooled_recordings import SpooledRecordings
from fairtrial.loading.temporary_database import TemporaryDatabase
from fairtrial.records.decoding import json_decoder
from fairtrial.records.record import Record

if TYPE_CHECKING:
    from fairtrial.formats.conversation.options import TraceOptions
    from fairtrial.loading.object_folders import ObjectFolder
    from fairtrial.records.attempt import Recording

_SCHEMA = """
CREATE TABLE items (place INTEGER PRIMARY KEY, trace TEXT, is_log INTEGER, outline BLOB, item BLOB);
CREATE TABLE traces (id TEXT PRIMARY KEY, conversation TEXT, start INTEGER, place INTEGER) WITHOUT ROWID;
CREATE TABLE recordings (place INTEGER PRIMARY KEY, case_id BLOB, recording BLOB);
"""
_ITEMS = "SELECT is_log, item FROM items WHERE trace IN (SELECT value FROM json_each(?)) ORDER BY place"
_OUTLINES = "SELECT is_log, outline FROM items WHERE trace IN (SELECT value FROM json_each(?)) ORDER BY place"
_MOST_WARNINGS = 20
"""So many warnings of a large body are listed. Each conversation may have its own."""


class _Unnamed(NamedTuple):
    """A conversation without an id, which may go on with an earlier one."""

    place: int
    trace_ids: tuple[str, ...]
    keys: HistoryKeys
    warnings: tuple[str, ...]


class SpanSpool:
    """The spans of a body of data in a temporary database. It holds as many in memory as one conversation has."""

    def __init__(self, options: TraceOptions) -> None:
        self._options = options
        self._id_names = {*CONVERSATION_IDS, options.conversation}
        self._connection = TemporaryDatabase()
        self._connection.execute("PRAGMA cache_size = -16000")  # 16 MB
        self._connection.executescript(_SCHEMA)
        self._connection.execute("BEGIN")
        self._count = 0

    def add(self, items: Iterable[SpanItem]) -> None:
        """Add spans and log records. Log records outside of every trace belong to no conversation."""
        insert = "INSERT INTO items (place, trace, is_log, outline, item) VALUES (?, ?, ?, ?, ?)"
        for item in items:
            if not item.trace_id and isinstance(item, LogRecord):
                continue
            encoded, outline = msgspec.json.encode(item), msgspec.json.encode(self._outline(item))
            row = (self._count, item.trace_id, isinstance(item, LogRecord), outline, encoded)
            self._connection.execute(insert, row)
            self._count += 1

    def _outline(self, item: SpanItem) -> SpanItem:
        """Return the part of a span that decides which conversation it belongs to."""
        resource = {name: value for name, value in item.resource.items() if name in self._id_names}
        holder = item.event if isinstance(item, LogRecord) else item
        attributes = {name: value for name, value in holder.attributes.items() if name in self._id_names}
        if isinstance(item, LogRecord):
            return replace(item, resource=resource, event=replace(item.event, attributes=attributes, body=None))
        return Span(
            item.trace_id,
            item.span_id,
            item.parent_id,
            start=item.start,
            end=item.end,
            attributes=attributes,
            resource=resource,
        )

    def read_recordings(self, reading: Diagnostics) -> SpooledRecordings:
        """Return the recordings of the conversations in the spans, in the order of their start."""
        self._name_traces()
        warnings: dict[str, None] = {}
        unnamed: list[_Unnamed] = []
        for place, trace_ids in enumerate(self._conversations()):
            of_group: list[str] = []
            for conversation in group_conversations(self._items(trace_ids), of_group, reading, self._options):
                self._keep(place, conversation, reading)
                if not conversation.name and self._options.join == "history":
                    keys = history_keys(conversation.trace, conversation.nodes)
                    unnamed.append(_Unnamed(place, conversation.trace_ids, keys, conversation.warnings))
                else:
                    of_group += conversation.warnings
            warnings |= dict.fromkeys(of_group)
        warnings |= dict.fromkeys(self._join(unnamed, reading))
        messages = [*warnings][:_MOST_WARNINGS]
        if len(warnings) > _MOST_WARNINGS:
            messages.append(f"{len(warnings) - _MOST_WARNINGS} more warnings of this kind")
        reading.warnings += [f"{reading.path}: {warning}" for warning in messages]
        self._connection.executescript("DROP TABLE items; DROP TABLE traces;")
        return SpooledRecordings(self._connection)

    def _name_traces(self) -> None:
        """Find the conversation of each trace. Its spans may stand anywhere in the files."""
        self._connection.execute("CREATE INDEX by_trace ON items (trace)")
        insert = "INSERT INTO traces (id, conversation, start, place) VALUES (?, ?, ?, ?)"
        query = "SELECT trace, min(place) FROM items GROUP BY trace"
        for trace_id, place in self._connection.execute(query).fetchall():
            spans = make_spans(self._items([trace_id], _OUTLINES), [])
            nodes = build_nodes(spans, Diagnostics(""))
            name = "" if self._options.join == "none" else conversation_id(nodes, self._options.conversation)
            start = min(span.start for span in spans)
            # A trace without an id is a conversation of its own. An id and a trace may have the same text.
            group = f"id {name}" if name else f"trace {trace_id}"
            self._connection.execute(insert, (trace_id, group, start, place))
        self._connection.execute("CREATE INDEX by_conversation ON traces (conversation)")

    def _conversations(self) -> Iterator[list[str]]:
        """Yield the ids of the traces of each conversation."""
        groups = "SELECT conversation FROM traces GROUP BY conversation ORDER BY min(start), min(place)"
        members = "SELECT id FROM traces WHERE conversation = ?"
        for (conversation,) in self._connection.execute(groups).fetchall():
            yield [trace_id for (trace_id,) in self._connection.execute(members, (conversation,))]

    def _items(self, trace_ids: Sequence[str], query: str = _ITEMS) -> Iterator[SpanItem]:
        """Yield the items of traces, in the order of the files."""
        for is_log, item in self._connection.execute(query, (msgspec.json.encode(trace_ids),)):
            yield json_decoder(LogRecord).decode(item) if is_log else json_decoder(Span).decode(item)

    def _keep(self, place: int, conversation: Conversation, reading: Diagnostics) -> None:
        recording = with_real_tools(conversation.recording(reading), self._options.tool_names)
        row = (place, recording.case_id.encode("utf-8", "surrogatepass"), msgspec.json.encode(recording))
        self._connection.execute("INSERT OR REPLACE INTO recordings VALUES (?, ?, ?)", row)

    def _join(self, unnamed: Sequence[_Unnamed], reading: Diagnostics) -> list[str]:
        """Join the traces without an id that go on with each other, and return the warnings of all such traces."""
        earlier = successors(part.keys for part in unnamed)
        warnings = [joined_message(len(earlier))] if earlier else []
        for numbers in chains(earlier, len(unnamed)):
            parts = [unnamed[number] for number in numbers]
            if len(parts) == 1:
                warnings += parts[0].warnings
                continue
            delete = "DELETE FROM recordings WHERE place = ?"
            self._connection.executemany(delete, [(part.place,) for part in parts])
            trace_ids = [trace_id for part in parts for trace_id in part.trace_ids]
            joined = single_conversation(self._items(trace_ids), [], Diagnostics(reading.path), self._options)
            if joined is not None:
                self._keep(parts[0].place, joined, reading)
                warnings += joined.warnings
        return warnings


_MOST_PARTS = 256
"""So many parts are open at once."""
INPUTS = "inputs"
"""The folder inside the results with what was fetched or joined before it was scored."""
_FOLDER = "conversations"
_COUNT = "parts"


class JoinedSpans(Record, frozen=True):
    """The conversations in the spans of some files.

    `shards` are the parts, with the digest of each in `versions`. `late` are the ids of conversations that changed
    since the parts were written before, and `warnings` say what is missing.
    """

    shards: tuple[Shard, ...]
    versions: tuple[str, ...]
    paths: frozenset[str]
    late: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def join_span_files(shards: Sequence[Shard], folder: Path, options: TraceOptions) -> JoinedSpans | None:
    """Return the conversations in the shards whose item is `SPANS`, with their parts below a folder.

    None if no file holds spans, or a single small one, which its worker reads as a whole.
    """
    whole = [shard for shard in shards if shard.item == SPANS]
    with TemporaryDirectory(prefix="fairtrial-spans-") as copies:
        files = {shard.path: spans for shard in whole if (spans := _spans_in(shard, Path(copies))) is not None}
        size = sum(shard.size for shard in whole if shard.path in files)
        if not files or (len(files) == 1 and size <= large_files.LARGE):
            return None
        spool, paths = SpanSpool(options), set()
        for path, spans in files.items():
            try:
                spool.add(spans)
            except FormatError:
                continue  # its worker refuses it with the reason
            paths.add(path)
        reading = Diagnostics(str(folder))
        conversations = spool.read_recordings(reading)
    return _write(conversations, folder / _FOLDER, size, reading, frozenset(paths))


def join_into_objects(shards: Sequence[Shard], objects: ObjectFolder, options: TraceOptions) -> JoinedSpans | None:
    """Return the same conversations, with their parts in a folder of an object store, from which workers read them."""
    if not any(shard.item == SPANS for shard in shards):
        return None
    with TemporaryDirectory(prefix="fairtrial-inputs-") as name:
        objects.download(Path(name), [INPUTS])
        joined = join_span_files(shards, Path(name) / INPUTS, options)
        if joined is None:
            return None
        objects.upload(Path(name), f"{INPUTS}/{_FOLDER}/*")
        parts = (
            replace(shard, path=objects.make_url(f"{INPUTS}/{_FOLDER}/{Path(shard.path).name}"))
            for shard in joined.shards
        )
        return replace(joined, shards=tuple(parts))


def _spans_in(shard: Shard, copies: Path) -> LargeFile | None:
    """Return the spans of a file, or None if it holds something else. An object of a store is copied first."""
    if not is_url(shard.path):
        return large_file(Path(shard.path), limit=-1)
    path = copies / f"{shard.number}"
    with open_data_file(shard.path) as stream, path.open("wb") as copy:
        shutil.copyfileobj(stream, copy)
    return large_file(path, limit=-1, name=shard.path)


def _write(
    conversations: Iterable[Recording], folder: Path, size: int, reading: Diagnostics, paths: frozenset[str]
) -> JoinedSpans:
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / _COUNT
    count = int(note.read_text()) if note.exists() else min(_MOST_PARTS, -(-size // shard_cutting.SHARD_BYTES) or 1)
    note.write_text(str(count))
    names = [folder / f"part-{number:04d}.jsonl" for number in range(count)]
    halves = [name.with_suffix(".half") for name in names]
    with ExitStack() as stack:
        files = [stack.enter_context(half.open("wb")) for half in halves]
        for recording in conversations:
            part = crc32(recording.case_id.encode("utf-8", "surrogatepass")) % count
            files[part].write(recordings.line(recording))
    late: list[str] = []
    versions = []
    for name, half in zip(names, halves, strict=True):
        late += _find_changes(name, half) if name.exists() else ()
        with half.open("rb") as file:
            versions.append(hashlib.file_digest(file, "sha256").hexdigest())
        half.replace(name)
    shards = tuple(
        Shard(number, str(name), (length := name.stat().st_size), "lines", "recordings", "", 0, length)
        for number, name in enumerate(names)
    )
    return JoinedSpans(shards, tuple(versions), paths, tuple(late), tuple(reading.warnings))


def _find_changes(before: Path, after: Path) -> Iterator[str]:
    """Yield the ids of the conversations that two files hold in different forms."""
    earlier = dict(_digests(before))
    for case_id, digest in _digests(after):
        if earlier.get(case_id, digest) != digest:
            yield case_id


def _digests(path: Path) -> Iterator[tuple[str, bytes]]:
    with path.open("rb") as file:
        for line in file:
            yield json_decoder(_CaseLine).decode(line).case_id, hashlib.blake2b(line, digest_size=16).digest()


class _CaseLine(Record, frozen=True):
    case_id: str


def renumber(joined: JoinedSpans, shards: Iterable[Shard]) -> tuple[Shard, ...]:
    """Return the parts, and the shards of all other files. The parts come first: their number never changes."""
    remaining = group_small_files(shard for shard in shards if shard.path not in joined.paths)
    start = len(joined.shards)
    return (*joined.shards, *(replace(shard, number=number) for number, shard in enumerate(remaining, start)))
