"""Read the conversations of a shard in a worker, with the reason for each that cannot be read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from io import SEEK_END
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from msgspec.structs import replace

from fairtrial.errors import FormatError
from fairtrial.formats import sampling
from fairtrial.formats.columnar_rows import bounded_rows, plain, text_columns
from fairtrial.formats.conversation.options import TraceOptions
from fairtrial.formats.items import ITEM_FORMATS, detect_item_format, iter_recordings
from fairtrial.formats.jsontext import decode
from fairtrial.formats.packed import bounded_blocks, check_size, joined
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.recognise import read
from fairtrial.formats.values import BLOCK, NotStreamableError
from fairtrial.loading.data_files import open_data_file
from fairtrial.loading.packed_streams import UNREADABLE, unpacked
from fairtrial.loading.shards import BOM, Columns, Shard
from fairtrial.loading.span_files import with_conversations
from fairtrial.records.attempt import Recording
from fairtrial.records.record import Record
from fairtrial.system.importing import import_extra
from fairtrial.text.display import describe_error, shorten, without_surrogates

if TYPE_CHECKING:
    from fairtrial.records.case import EvalSet

LONGEST_LINE = 256 << 20
"""A longer line of JSON lines is refused, so that a worker does not run out of memory."""
_BATCH = 1000
FILE = "file"
"""The name of the field by which conversations are stratified by their files."""
_LONGEST_STRATUM = 200


class Refused(Record, frozen=True):
    """Something that is no conversation, with the JSON pointer inside of it and the reason."""

    pointer: str
    reason: str
    id: str = ""


class Item(NamedTuple):
    """A conversation of a shard, or the reason why it cannot be read.

    `place` is the offset of its line in the unpacked file, or its number in the file, from 0. `eval_set` is the
    expectation, if the file holds it. `stratum` is the value of the field by which a sample is stratified.
    `carried` are the values of the fields that are carried into the results. `member` is the shard of its file, if the
    shard has several files.
    """

    place: int
    content: Recording | Refused
    eval_set: EvalSet | None = None
    stratum: str = ""
    carried: tuple[str | None, ...] = ()
    member: Shard | None = None


class Fields(NamedTuple):
    """The fields of a record that are read beside its conversation."""

    stratify: str = ""
    carry: tuple[str, ...] = ()

    def values(self, value: Any) -> tuple[str, tuple[str | None, ...]]:
        """Return the stratum of a record, and the values of the fields that are carried."""
        carried = tuple([field_text(value, field) or None for field in self.carry])
        return field_text(value, self.stratify) if self.stratify else "", carried


def read_shard(
    shard: Shard, *, lenient: bool = False, stratify: str = "", carry: tuple[str, ...] = ()
) -> Iterator[Item]:
    """Yield the conversations of a shard, and what cannot be read of it. Memory does not grow with the shard.

    Only a file that is not a list of conversations, for example of spans, is held as a whole. `stratify` names the
    field whose value is the stratum: a field of JSON lines, a column of Parquet, or `file`. `carry` names
    further fields.
    """
    if shard.members:
        for member in shard.members:
            for item in read_shard(member, lenient=lenient, stratify=stratify, carry=carry):
                yield item._replace(member=member)
        return
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
    """Yield the items of a shard. A line belongs to the shard in which it begins."""
    place = shard.start
    if shard.start and not shard.packing:
        stream.seek(shard.start - 1)
    lines = unpacked(stream, shard.packing)
    if shard.start:
        try:
            if shard.packing and not _skip(lines, shard.start - 1):
                return
            _, size = _next_line(lines)
        except UNREADABLE:
            if not shard.packing:
                raise
            return  # the damage is in a line of an earlier shard, which refuses it
        place += size - 1
    while place < shard.end or (shard.packing and not shard.end):
        line, size = _next_line(lines)
        if not line:
            break
        if size > LONGEST_LINE:
            yield Item(place, Refused("", f"is a line of more than {LONGEST_LINE >> 20} MiB"))
        elif line.strip():
            value = decode_item(line.removeprefix(BOM) if not place else line)
            content = value if isinstance(value, Refused) else read_item(value, place, shard.item, reading)
            yield Item(place, content, None, *fields.values(value))
        place += size


def _skip(lines: BinaryIO, size: int) -> bool:
    """Read over bytes. Whether the stream has so many."""
    while size and (block := lines.read(min(size, BLOCK))):
        size -= len(block)
    return not size


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


class RowReader:
    """Reads rows of a table as conversations. `names` are the columns that it needs of those that are `available`."""

    def __init__(self, columns: Columns, fields: Fields, available: Sequence[str]) -> None:
        self._columns = columns
        self._fields = fields
        named = [
            name for field in (fields.stratify, *fields.carry) for name in (field, field.partition(".")[0]) if name
        ]
        self._has_fields = bool(named)
        self._field_columns = [name for name in dict.fromkeys((*named, *sampling.COLUMNS)) if name in available]
        content = [name for name in (columns.conversation, columns.messages, columns.id) if name]
        self.names = list(dict.fromkeys([*content, *self._field_columns]))

    def item(self, row: Mapping[str, Any], place: int, reading: Diagnostics) -> Item:
        """Return the conversation of a row, or the reason why it cannot be read."""
        value = _value_of_row(row, self._columns)
        content = value if isinstance(value, Refused) else _recording_of_value(value, place, reading)
        if isinstance(content, Recording):
            content = sampling.with_probability(content, row)
        elif not content.id and self._columns.id and row.get(self._columns.id) is not None:
            content = replace(content, id=str(row[self._columns.id]))
        record: dict[str, Any] = {}
        if self._has_fields:
            own_values = plain({name: row[name] for name in self._field_columns})
            record = {**(value if isinstance(value, dict) else {}), **own_values}
        return Item(place, content, None, *self._fields.values(record))


def _read_rows(shard: Shard, stream: BinaryIO, reading: Diagnostics, fields: Fields) -> Iterator[Item]:
    parquet = import_extra("pyarrow.parquet", "parquet")
    content = parquet.ParquetFile(stream)
    packed_size = stream.seek(0, SEEK_END)
    content = parquet.ParquetFile(stream, read_dictionary=text_columns(content.schema_arrow))
    rows = RowReader(shard.columns or Columns(), fields, content.schema_arrow.names)
    first = sum(content.metadata.row_group(group).num_rows for group in range(shard.start))
    groups = list(range(shard.start, shard.end))
    batches = content.iter_batches(batch_size=_BATCH, row_groups=groups, columns=rows.names)
    for place, row in enumerate(bounded_rows(batches, packed_size, shard.path), first):
        yield rows.item(row, place, reading)


def _value_of_row(row: Mapping[str, Any], columns: Columns) -> Any:
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
