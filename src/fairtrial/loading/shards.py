"""Cut a data set into shards that workers read on their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from typing import BinaryIO, Literal

from msgspec.structs import replace

from fairtrial.errors import UsageError, spell
from fairtrial.formats.columnar_rows import is_parquet
from fairtrial.formats.items import detect_item_format
from fairtrial.formats.jsontext import decode
from fairtrial.formats.packed import LONGEST_MAGIC, packing_at
from fairtrial.formats.spans.large_documents import begins_otherwise
from fairtrial.formats.spans.large_files import large_file
from fairtrial.loading.data_files import DataFile, is_url, open_data_file
from fairtrial.loading.packed_streams import UNREADABLE, estimate_unpacked_size, unpacked
from fairtrial.records.record import Record
from fairtrial.system.importing import import_extra

SHARD_BYTES = 16 << 20
"""The largest size of a shard of JSON lines, and the uncompressed size of the row groups in a shard of Parquet."""
_SMALLEST_CUT = 2 << 20
_CUTS = 32
"""A file is cut into so many shards, unless they are smaller than `_SMALLEST_CUT` or larger than `SHARD_BYTES`.

With few shards, workers wait for the last of them: of seven equal shards, two workers do one at a time four times.
"""
_SMALLEST_PACKED_CUT = 8 << 20
_PACKED_CUTS = 16
"""The same for packed files, by their unpacked bytes. Each shard unpacks what is before it, so that they are fewer."""
GROUP_BYTES = 4 << 20
"""Small files are read together as one shard up to this size. They are not cut."""
_GROUP_FILES = 1000
_AT_ONCE = 16
"""So many objects of a store are opened at once."""
_PEEK = 256 << 10
"""So many bytes of an object are read to see whether it may hold spans."""
SPANS = "spans"
"""The item of a whole file that may hold spans."""
_SNIFFED_LINES = 20
_LONGEST_SNIFFED = 16 << 20
BOM = b"\xef\xbb\xbf"

Kind = Literal["lines", "rows", "whole"]


class Shard(Record, frozen=True):
    """A part of one file, or several small files. `item` is the format of items, and `packing` is empty, gzip or zstd.

    The item of a "whole" file is empty, or `SPANS` if it was looked for spans and may hold some.

    `start` and `end` are bytes for "lines", unpacked ones if the file is packed, and row groups for "rows". The last
    shard of a packed file ends at 0, which is the end of the file. A "whole" file is one shard.
    If `members` are given, they are shards of one file each, and the fields other than `size` are those of the first.
    """

    number: int
    path: str
    size: int
    kind: Kind = "whole"
    item: str = ""
    packing: str = ""
    start: int = 0
    end: int = 0
    columns: Columns | None = None
    members: tuple[Shard, ...] = ()


class Columns(Record, frozen=True):
    """The columns of Parquet files that hold conversations.

    `conversation` holds a whole conversation as JSON. Otherwise `messages` holds the messages of a conversation, as
    JSON or as a list, and `id` holds its id.
    """

    conversation: str = ""
    messages: str = ""
    id: str = ""


_GUESSES = {
    "messages": ("messages",),
    "conversation": ("conversation", "trace", "recording", "dialogue", "json"),
    "id": ("id", "conversation_id", "session_id", "case_id", "trace_id"),
}
"""The usual names of columns, for each member of `Columns`."""


def columns_in(text: str) -> Columns:
    """Return the columns in a text such as `conversation=body` or `messages=turns,id=key`. Raises UsageError."""
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    values = {name.strip(): column.strip() for name, _, column in pairs}
    return make_columns(values if len(values) == len(pairs) else {}, spell("data_columns"), text)


def make_columns(values: Mapping[str, str], name: str, value: object) -> Columns:
    """Return columns by their roles. Raises UsageError, which names the option and its `value`."""
    allowed = "conversation=COLUMN, or messages=COLUMN,id=COLUMN"
    if not values.keys() <= set(_GUESSES) or not all(values.values()):
        raise UsageError(f"{name}: must be {allowed}, got {value!r}")
    if ("conversation" in values) == ("messages" in values):
        raise UsageError(f"{name}: must name either conversation or messages, as {allowed}, got {value!r}")
    return Columns(**values)


def cut_into_shards(
    files: Sequence[DataFile],
    columns: Columns | None = None,
    note: Callable[[str], object] = str,
    map_lists: Callable[..., Iterable[FileShards]] = map,
    *,
    seeks_spans: bool = False,
) -> Iterator[Shard]:
    """Yield the shards of files in order. `note` receives the columns that are used for the content of a file.

    A file that cannot be read is a shard, too: its worker refuses it, because a million readable files may be beside
    it. `map_lists` applies a function to lists of files, in this process or in several, and gives its results in order.
    With `seeks_spans`, a whole file that may hold spans has the item `SPANS`. Raises UsageError if a Parquet file does
    not have the columns.
    """
    number = 0
    lists = [files[start : start + _GROUP_FILES] for start in range(0, len(files), _GROUP_FILES)]
    # Few files are looked at here: to start a process takes longer.
    apply = map_lists if len(lists) > 1 else map
    for own_files, (shard_lists, notes) in zip(lists, apply(FileCutter(columns, seeks_spans), lists), strict=True):
        for text in notes:
            note(text)
        for file, shards in zip(own_files, shard_lists, strict=True):
            for shard in shards:
                # A path that comes from another process is another object, and a million of them take much memory.
                yield replace(shard, number=number, path=file.path)
                number += 1


FileShards = tuple[list[list[Shard]], list[str]]
"""The shards of each of some files, and notes about the columns of Parquet files."""


@dataclass(frozen=True)
class FileCutter:
    """Cuts some files into shards. It is picklable, so that any worker can do it."""

    columns: Columns | None
    seeks_spans: bool

    def __call__(self, files: Sequence[DataFile]) -> FileShards:
        """Return the shards of each file. Objects of a store are opened several at once, because each takes a while."""
        notes: list[str] = []
        cut_file = partial(self._cut_file, note=notes.append)
        if not any(is_url(file.path) for file in files):
            return list(map(cut_file, files)), notes
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(cut_file, files)), notes

    def _cut_file(self, file: DataFile, note: Callable[[str], object]) -> list[Shard]:
        shards = list(_make_shards(file, self.columns, note))
        if self.seeks_spans and shards and shards[0].kind == "whole" and _may_hold_spans(file.path):
            return [replace(shards[0], item=SPANS)]
        return shards


def _may_hold_spans(path: str) -> bool:
    """Whether a file holds spans. Of an object in a store, only the beginning is read, which may leave it open."""
    if not is_url(path):
        return large_file(Path(path), limit=-1) is not None
    try:
        with open_data_file(path) as stream:
            return not begins_otherwise(stream.read(_PEEK))
    except UNREADABLE:
        return False


def group_small_files(shards: Iterable[Shard]) -> Iterator[Shard]:
    """Yield shards in order. Small files that follow one another are one shard, because each shard has its own results.

    A million session files would otherwise give a million files of each table. A file that is cut is in no group.
    """
    number = size = 0
    members: list[Shard] = []
    for _, of_file in groupby(shards, key=lambda shard: shard.path):
        file_shards = list(of_file)
        file_size = sum(shard.size for shard in file_shards)
        size += file_size
        if members and (size > GROUP_BYTES or len(members) == _GROUP_FILES or len(file_shards) > 1):
            yield _join_members(number, members)
            number, members, size = number + 1, [], file_size
        if len(file_shards) == 1:
            members += file_shards
            continue
        for shard in file_shards:
            yield replace(shard, number=number)
            number += 1
        size = 0
    if members:
        yield _join_members(number, members)


def _join_members(number: int, members: Sequence[Shard]) -> Shard:
    if len(members) == 1:
        return replace(members[0], number=number)
    return replace(members[0], number=number, size=sum(member.size for member in members), members=tuple(members))


def _make_shards(file: DataFile, columns: Columns | None, note: Callable[[str], object]) -> Iterator[Shard]:
    whole = Shard(0, file.path, file.size)
    try:
        with open_data_file(file.path) as stream:
            head = stream.read(LONGEST_MAGIC)
            packing = packing_at(head)
            stream.seek(0)
            if is_parquet(head):
                yield from _row_shards(file, stream, columns, note)
                return
            item = _item_format(unpacked(stream, packing))
    except UNREADABLE:
        yield whole
        return
    if not item:
        yield replace(whole, packing=packing)
    elif packing:
        yield from _packed_shards(file, item, packing)
    else:
        count = -(-file.size // _shard_bytes(file.size))
        ends = [file.size * i // count for i in range(count + 1)]
        for start, end in pairwise(ends):
            yield Shard(0, file.path, end - start, "lines", item, "", start, end)


def _packed_shards(file: DataFile, item: str, packing: str) -> Iterator[Shard]:
    """Yield the shards of packed JSON lines. Their number is an estimate, and the last of them ends with the file.

    A worker unpacks what stands before its shard, which takes a hundredth of the time of scoring it.
    """
    unpacked_size = 0
    if file.size > _SMALLEST_CUT // _CUTS:
        with open_data_file(file.path) as stream:
            unpacked_size = estimate_unpacked_size(stream, file.size)
    count = max(1, min(_PACKED_CUTS, unpacked_size // _SMALLEST_PACKED_CUT))
    bounds = [unpacked_size * i // count for i in range(count)] + [0]
    for start, end in pairwise(bounds):
        yield Shard(0, file.path, file.size // count, "lines", item, packing, start, end)


def _shard_bytes(size: int) -> int:
    """Return the size of the shards of a file of some size."""
    smallest = GROUP_BYTES if size <= GROUP_BYTES else _SMALLEST_CUT
    return min(SHARD_BYTES, max(smallest, -(-size // _CUTS)))


def _item_format(stream: BinaryIO) -> str:
    """Return the format of JSON lines by the first line that is JSON, or an empty text for anything else."""
    for _ in range(_SNIFFED_LINES):
        line = stream.readline(_LONGEST_SNIFFED)
        if not line:
            break
        try:
            item_format = detect_item_format(decode(line.removeprefix(BOM)))
        except ValueError:
            continue
        return item_format.kind if item_format is not None else ""
    return ""


def _row_shards(
    file: DataFile, stream: BinaryIO, columns: Columns | None, note: Callable[[str], object]
) -> Iterator[Shard]:
    parquet = import_extra("pyarrow.parquet", "parquet")
    try:
        content = parquet.ParquetFile(stream)
    except (OSError, ValueError):
        yield Shard(0, file.path, file.size, "rows", columns=columns or Columns())
        return
    names = content.schema_arrow.names
    own_columns = columns or guess_columns(names)
    if own_columns is None:
        yield Shard(0, file.path, file.size)  # spans, for example
        return
    missing = [
        name for name in (own_columns.conversation, own_columns.messages, own_columns.id) if name not in ("", *names)
    ]
    if missing:
        raise UsageError(
            f"{spell('data_columns')}: {file.path}: has no column {missing[0]!r}; it has {', '.join(names)}",
            code="unknown-name",
        )
    if columns is None:
        id_note = f", and {own_columns.id!r} for its id" if own_columns.id else ""
        content_column = own_columns.conversation or own_columns.messages
        note(
            f"{file.path}: takes the column {content_column!r} for the conversation{id_note}; "
            f"{spell('data_columns')} says otherwise"
        )
    metadata, start, size = content.metadata, 0, 0
    enough = _shard_bytes(sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups)))
    for group in range(metadata.num_row_groups):
        size += metadata.row_group(group).total_byte_size
        if size >= enough or group == metadata.num_row_groups - 1:
            yield Shard(0, file.path, size, "rows", "", "", start, group + 1, own_columns)
            start, size = group + 1, 0


def guess_columns(names: Sequence[str]) -> Columns | None:
    """Return the columns by their usual names, or None if no column can be a conversation."""
    usual_columns = {
        member: next((name for usual in usual_names for name in names if name.lower() == usual), "")
        for member, usual_names in _GUESSES.items()
    }
    if usual_columns["messages"]:
        usual_columns["conversation"] = ""
    return Columns(**usual_columns) if usual_columns["messages"] or usual_columns["conversation"] else None
