"""Cut a data set into shards that workers read on their own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, BinaryIO, Literal, NamedTuple

from msgspec.structs import replace

from fairtrial.errors import FormatError, UsageError, spell
from fairtrial.formats import sampling
from fairtrial.formats.columnar_rows import is_parquet, plain
from fairtrial.formats.conversation.options import TraceOptions
from fairtrial.formats.items import ITEM_FORMATS, detect_item_format, iter_recordings
from fairtrial.formats.jsontext import decode
from fairtrial.formats.packed import LONGEST_MAGIC, bounded_blocks, check_size, joined, packing_at
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.recognise import read
from fairtrial.formats.values import BLOCK, NotStreamableError
from fairtrial.loading.data_files import DataFile, open_data_file
from fairtrial.loading.packed_streams import UNREADABLE, unpacked
from fairtrial.loading.span_files import with_conversations
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalSet
from fairtrial.records.record import Record
from fairtrial.system.importing import import_extra
from fairtrial.text.display import describe_error, shorten, without_surrogates

SHARD_BYTES = 16 << 20
"""The largest size of a shard of JSON lines, and the uncompressed size of the row groups in a shard of Parquet."""
LONGEST_LINE = 256 << 20
"""A longer line of JSON lines is refused, so that a worker does not run out of memory."""
_SNIFFED_LINES = 20
_LONGEST_SNIFFED = 16 << 20
_BOM = b"\xef\xbb\xbf"
_BATCH = 1000
FILE = "file"
"""The name of the field by which conversations are stratified by their files."""
_LONGEST_STRATUM = 200

Kind = Literal["lines", "rows", "whole"]


class Shard(Record, frozen=True):
    """A part of one file. `item` is the format of its items, and `packing` is empty, gzip or zstd.

    `start` and `end` are bytes for "lines" and row groups for "rows". A packed file and a "whole" file are one shard.
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


class Columns(Record, frozen=True):
    """The columns of Parquet files that hold conversations.

    `conversation` holds a whole conversation as JSON. Otherwise `messages` holds the messages of a conversation, as
    JSON or as a list, and `id` holds its id.
    """

    conversation: str = ""
    messages: str = ""
    id: str = ""


class Refused(Record, frozen=True):
    """Something that is no conversation, with the JSON pointer inside of it and the reason."""

    pointer: str
    reason: str
    id: str = ""


class Item(NamedTuple):
    """A conversation of a shard, or the reason why it cannot be read.

    `place` is the offset of its line in the unpacked file, or its number in the file, from 0. `eval_set` is the
    expectation, if the file holds it. `stratum` is the value of the field by which a sample is stratified.
    `carried` are the values of the fields that are carried into the results.
    """

    place: int
    content: Recording | Refused
    eval_set: EvalSet | None = None
    stratum: str = ""
    carried: tuple[str | None, ...] = ()


class Fields(NamedTuple):
    """The fields of a record that are read beside its conversation."""

    stratify: str = ""
    carry: tuple[str, ...] = ()

    def values(self, value: Any) -> tuple[str, tuple[str | None, ...]]:
        """Return the stratum of a record, and the values of the fields that are carried."""
        carried = tuple([field_text(value, field) or None for field in self.carry])
        return field_text(value, self.stratify) if self.stratify else "", carried


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
    allowed = "conversation=COLUMN, or messages=COLUMN,id=COLUMN"
    if not values.keys() <= set(_GUESSES) or not all(values.values()) or len(values) != len(pairs):
        raise UsageError(f"{spell('data_columns')}: must be {allowed}, got {text!r}")
    if ("conversation" in values) == ("messages" in values):
        raise UsageError(
            f"{spell('data_columns')}: must name either conversation or messages, as {allowed}, got {text!r}"
        )
    return Columns(**values)


def cut_into_shards(
    files: Iterable[DataFile], columns: Columns | None = None, note: Callable[[str], object] = str
) -> Iterator[Shard]:
    """Yield the shards of files in order. `note` receives the columns that are used for the content of a file.

    A file that cannot be read is a shard, too: its worker refuses it, because a million readable files may be beside
    it. Raises UsageError if a Parquet file does not have the columns.
    """
    number = 0
    for file in files:
        for shard in _make_shards(file, columns, note):
            yield replace(shard, number=number)
            number += 1


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
        yield Shard(0, file.path, file.size, "lines", item, packing)
    else:
        count = -(-file.size // SHARD_BYTES)
        ends = [file.size * i // count for i in range(count + 1)]
        for start, end in pairwise(ends):
            yield Shard(0, file.path, end - start, "lines", item, "", start, end)


def _item_format(stream: BinaryIO) -> str:
    """Return the format of JSON lines by the first line that is JSON, or an empty text for anything else."""
    for _ in range(_SNIFFED_LINES):
        line = stream.readline(_LONGEST_SNIFFED)
        if not line:
            break
        try:
            item_format = detect_item_format(decode(line.removeprefix(_BOM)))
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
    own_columns = columns or _guess_columns(names)
    if own_columns is None:
        yield Shard(0, file.path, file.size)  # spans, for example
        return
    missing = [
        name for name in (own_columns.conversation, own_columns.messages, own_columns.id) if name not in ("", *names)
    ]
    if missing:
        raise UsageError(
            f"{spell('data_columns')}: {file.path}: has no column {missing[0]!r}; it has {', '.join(names)}"
        )
    if columns is None:
        id_note = f", and {own_columns.id!r} for its id" if own_columns.id else ""
        content_column = own_columns.conversation or own_columns.messages
        note(
            f"{file.path}: takes the column {content_column!r} for the conversation{id_note}; "
            f"{spell('data_columns')} says otherwise"
        )
    metadata, start, size = content.metadata, 0, 0
    for group in range(metadata.num_row_groups):
        size += metadata.row_group(group).total_byte_size
        if size >= SHARD_BYTES or group == metadata.num_row_groups - 1:
            yield Shard(0, file.path, size, "rows", "", "", start, group + 1, own_columns)
            start, size = group + 1, 0


def _guess_columns(names: Sequence[str]) -> Columns | None:
    """Return the columns by their usual names, or None if no column can be a conversation."""
    usual_columns = {
        member: next((name for usual in usual_names for name in names if name.lower() == usual), "")
        for member, usual_names in _GUESSES.items()
    }
    if usual_columns["messages"]:
        usual_columns["conversation"] = ""
    return Columns(**usual_columns) if usual_columns["messages"] or usual_columns["conversation"] else None


def read_shard(
    shard: Shard, *, lenient: bool = False, stratify: str = "", carry: tuple[str, ...] = ()
) -> Iterator[Item]:
    """Yield the conversations of a shard, and what cannot be read of it. Memory does not grow with the shard.

    Only a file that is not a list of conversations, for example of spans, is held as a whole. `stratify` names the
    field whose value is the stratum: a field of JSON lines, a column of Parquet, or `file`. `carry` names
    further fields.
    """
    reading = Diagnostics(shard.path, lenient=lenient)
    readers = {"lines": _read_lines, "rows": _read_rows, "whole": _read_whole}
    place = shard.start if shard.kind == "lines" else 0
    try:
        with open_data_file(shard.path) as stream:
            for item in readers[shard.kind](shard, stream, reading, Fields(stratify, carry)):
                place = item.place
                yield item._replace(stratum=shard.path) if stratify == FILE else item
    except FormatError as error:
        yield Item(place, Refused("", "; ".join(error.problems)))
    except (*UNREADABLE, ValueError, MemoryError) as error:
        yield Item(place, Refused("", f"cannot be read: {shorten(describe_error(error), 500)}"))


def _read_lines(shard: Shard, stream: BinaryIO, reading: Diagnostics, fields: Fields) -> Iterator[Item]:
    place = shard.start
    if shard.start:
        # A line belongs to the shard in which it begins.
        stream.seek(shard.start - 1)
    lines = unpacked(stream, shard.packing)
    if shard.start:
        _, size = _next_line(lines)
        place += size - 1
    while shard.packing or place < shard.end:
        line, size = _next_line(lines)
        if not line:
            break
        if size > LONGEST_LINE:
            yield Item(place, Refused("", f"is a line of more than {LONGEST_LINE >> 20} MiB"))
        elif line.strip():
            value = decode_item(line.removeprefix(_BOM) if not place else line)
            content = value if isinstance(value, Refused) else read_item(value, place, shard.item, reading)
            yield Item(place, content, None, *fields.values(value))
        place += size


def _next_line(lines: BinaryIO) -> tuple[bytes, int]:
    """Return the next line and its size. Only the beginning of a line that is too long is returned."""
    line = lines.readline(LONGEST_LINE + 1)
    size = len(line)
    if size > LONGEST_LINE:
        part = line
        while part and not part.endswith(b"\n"):
            part = lines.readline(BLOCK)
            size += len(part)
    return line, size


def decode_item(data: bytes) -> Any:
    """Return the value of a text of JSON, or `Refused` with the reason why it is not JSON."""
    try:
        return decode(data)
    except ValueError as error:
        return Refused("", f"is not JSON: {error}")


def read_item(value: Any, place: int, item: str, reading: Diagnostics) -> Recording | Refused:
    """Return a value as a recording, or the reason why it is not one."""
    reading.errors.clear()
    reading.warnings.clear()
    try:
        recording = ITEM_FORMATS[item].read(value, ((), place), reading)
        reading.finish()
    except FormatError as error:
        pointer, reason = _split_problem(error.problems[0])
        more = f" (and {len(error.problems) - 1} more problems)" if len(error.problems) > 1 else ""
        return Refused(pointer.removeprefix(f"/{place}"), reason + more, _read_id(value))
    except (RecursionError, ValueError, TypeError) as error:  # a hostile item must not stop a million others
        return Refused("", shorten(describe_error(error), 500), _read_id(value))
    return Refused("", f"is not {item}", _read_id(value)) if recording is None else recording


def field_text(value: Any, field: str) -> str:
    """Return the value of a field as a text: empty if it is absent or null, JSON if it is not a text.

    A field such as `metadata.model` may be in an object of a record.
    """
    while isinstance(value, dict) and field not in value and "." in field:
        name, _, field = field.partition(".")
        value = value.get(name)
    value = value.get(field) if isinstance(value, dict) else None
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    return without_surrogates(shorten(text, _LONGEST_STRATUM))


def _read_id(value: Any) -> str:
    name = value.get("id", value.get("case_id")) if isinstance(value, dict) else None
    return name if isinstance(name, str) else ""


def _read_rows(shard: Shard, stream: BinaryIO, reading: Diagnostics, fields: Fields) -> Iterator[Item]:
    parquet = import_extra("pyarrow.parquet", "parquet")
    content = parquet.ParquetFile(stream)
    columns = shard.columns or Columns()
    names = [name for name in (columns.conversation, columns.messages, columns.id) if name]
    field_names = [
        name for field in (fields.stratify, *fields.carry) for name in (field, field.partition(".")[0]) if name
    ]
    extra_names = dict.fromkeys((*field_names, *sampling.COLUMNS))
    own_columns = [name for name in extra_names if name in content.schema_arrow.names]
    names = list(dict.fromkeys([*names, *own_columns]))
    place = sum(content.metadata.row_group(group).num_rows for group in range(shard.start))
    groups = list(range(shard.start, shard.end))
    for batch in content.iter_batches(batch_size=_BATCH, row_groups=groups, columns=names):
        for row in batch.to_pylist():
            value = _value_of_row(row, columns)
            content_of_row = value if isinstance(value, Refused) else _recording_of_value(value, place, reading)
            if isinstance(content_of_row, Recording):
                content_of_row = sampling.with_probability(content_of_row, row)
            record = {}
            if field_names:
                own_values = plain({name: row[name] for name in own_columns})
                record = {**(value if isinstance(value, dict) else {}), **own_values}
            yield Item(place, content_of_row, None, *fields.values(record))
            place += 1


def _value_of_row(row: dict[str, Any], columns: Columns) -> Any:
    """Return the conversation of a row as a value of JSON, or `Refused` with the reason why it is not JSON."""
    value = plain(row.get(columns.conversation or columns.messages))
    if isinstance(value, str | bytes):
        value = decode_item(value.encode() if isinstance(value, str) else value)
    if isinstance(value, Refused):
        return value
    if columns.messages:
        value = {"messages": value}
    if columns.id and row.get(columns.id) is not None and isinstance(value, dict):
        value = {**value, "id": str(row[columns.id])}
    return value


def _recording_of_value(value: Any, place: int, reading: Diagnostics) -> Recording | Refused:
    item_format = detect_item_format(value)
    if item_format is None:
        return Refused("", "is not a conversation: must be messages or a recording")
    return read_item(value, place, item_format.kind, reading)


def _read_whole(shard: Shard, stream: BinaryIO, reading: Diagnostics, fields: Fields) -> Iterator[Item]:
    """Yield the recordings of a file item by item if it is a list of them. Any other file is read as a whole."""
    count = 0
    try:
        for recording in iter_recordings(_blocks(shard, stream), reading):
            yield Item(count, recording, None, *fields.values(None))
            count += 1
        yield from (Item(count + i, Refused(*_split_problem(problem))) for i, problem in enumerate(reading.errors))
    except NotStreamableError:
        if count:
            raise FormatError(shard.path, ["is broken after this conversation"]) from None
        stream.seek(0)
        loaded = read(joined(_blocks(shard, stream), shard.path), shard.path, lenient=reading.lenient)
        if loaded.spans:
            loaded = with_conversations([loaded], TraceOptions())[0]
        if not loaded.recordings:
            raise FormatError(shard.path, [f"holds {loaded.kind} without conversations"]) from None
        yield from (
            Item(i, recording, loaded.eval_set, *fields.values(None)) for i, recording in enumerate(loaded.recordings)
        )


def _blocks(shard: Shard, stream: BinaryIO) -> Iterator[bytes]:
    """Yield the unpacked content of a file. Raises FormatError if a packed file is larger than 4 GiB, or a bomb."""
    content = unpacked(stream, shard.packing)
    blocks = iter(lambda: content.read(BLOCK), b"")
    if not shard.packing:
        yield from blocks
        return
    size = 0
    for block in bounded_blocks(blocks, shard.path):
        size += len(block)
        check_size(size, stream.tell(), shard.path)
        yield block


def _split_problem(problem: str) -> tuple[str, str]:
    pointer, _, reason = problem.partition(": ")
    return pointer, reason
