"""Read the spans of a large file document by document."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

from fairtrial.errors import FormatError
from fairtrial.formats import columnar_rows, nearest_format, packed
from fairtrial.formats.jsontext import decode, decode_line
from fairtrial.formats.large_text import begins_with_cases
from fairtrial.formats.spans import otlp_protobuf
from fairtrial.formats.spans.otlp_batch import decode_batch
from fairtrial.formats.spans.readers import find_reader
from fairtrial.formats.values import BLOCK, JsonBuffer, NotStreamableError, array_items, chained, split_lines

if TYPE_CHECKING:
    from pathlib import Path

    from fairtrial.formats.spans.span import SpanItem

_LONGEST_LINE = 64 << 20
"""A first line that is longer is not a line of JSON lines, but a document without line ends."""
_PROTOBUF = "OTLP spans (protobuf)"
_ARRAYS = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs", "batches", "spans", "data")
_ARRAY = re.compile(rf'\{{\s*"(?:{"|".join(_ARRAYS)})"\s*:\s*\[')
_BEFORE_MEMBER = ("{", ",")


def iter_items(path: Path, kind: str) -> Iterator[SpanItem]:
    """Yield the spans and the log records in a file of a form. Raises FormatError if it is broken somewhere."""
    if kind == _PROTOBUF:
        for body in otlp_protobuf.iter_bodies(_blocks(path), str(path)):
            yield from otlp_protobuf.items_in_part(body, str(path))
        return
    for place, document in enumerate(_documents(path)):
        reader = find_reader(document)
        if reader is None:
            described = nearest_format.described(document)
            raise FormatError(str(path), [f"/{place}: must be {kind}, as the first is, got {described}"])
        yield from reader.items(document)


def find_kind(path: Path) -> str:
    """Return the form of the spans in a file, or an empty text for a file of something else."""
    start = next(_blocks(path), b"")
    if begins_with_cases(start):
        return ""  # only the beginning is read, because the first document may be the whole file
    if not columnar_rows.is_parquet(start) and _is_protobuf(path, start):
        return _PROTOBUF
    reader = find_reader(next(_documents(path), None))
    return "" if reader is None else reader.name


def begins_otherwise(start: bytes) -> bool:
    """Whether the first bytes of a file show that it holds no spans. If they do not suffice, it may hold some."""
    if packed.packing_at(start) or columnar_rows.is_parquet(start) or otlp_protobuf.may_begin_body(start):
        return False
    if begins_with_cases(start):
        return True
    text = start.removeprefix(codecs.BOM_UTF8).lstrip()
    with suppress(ValueError, NotStreamableError, FormatError):
        line = text.partition(b"\n")
        if line[1] and _is_line(line[0]):
            return find_reader(decode(line[0])) is None
        first = next(_parts(JsonBuffer(iter([text]))), None)
        return first is not None and find_reader(first) is None
    return False


def _is_protobuf(path: Path, start: bytes) -> bool:
    if not otlp_protobuf.may_begin_body(start):
        return False
    with suppress(FormatError, StopIteration):
        body = next(otlp_protobuf.iter_bodies(_blocks(path), str(path)))
        return next(otlp_protobuf.items_in_part(body, str(path)), None) is not None
    return False


def _blocks(path: Path) -> Iterator[bytes]:
    """Yield the content of a file, unpacked if it is packed."""
    try:
        with path.open("rb") as file:
            first = file.read(BLOCK)
            blocks = chain([first], iter(lambda: file.read(BLOCK), b""))
            yield from packed.unpack_blocks(blocks, str(path)) if packed.packing_at(first) else blocks
    except OSError as error:
        raise FormatError(str(path), [error.strerror or str(error)]) from None


def _documents(path: Path) -> Iterator[Any]:
    """Yield the documents of a file: rows, lines, items of an array, or documents of JSON one after the other."""
    with path.open("rb") as file:
        is_table = columnar_rows.is_parquet(file.read(packed.LONGEST_MAGIC))
    if is_table:
        yield from columnar_rows.iter_rows(path, str(path))
        return
    blocks = _blocks(path)
    start = b""
    for block in blocks:
        start += block
        if b"\n" in start.strip() or len(start) > _LONGEST_LINE:
            break
    start = start.removeprefix(codecs.BOM_UTF8).lstrip()
    if _is_line(start.partition(b"\n")[0]):
        yield from _lines(chained(start, blocks), str(path))
        return
    try:
        yield from _parts(JsonBuffer(chained(start, blocks)))
    except ValueError:
        problem = "is not strict JSON from some place on; read a smaller part of it to see where"
        raise FormatError(str(path), [problem]) from None


def _is_line(line: bytes) -> bool:
    try:
        return isinstance(decode(line), dict)
    except ValueError:
        return False


def _lines(blocks: Iterator[bytes], path: str) -> Iterator[Any]:
    for number, line in enumerate(split_lines(blocks), 1):
        if line.strip():
            try:
                yield decode_line(line, number, path, decode_batch)
            except UnicodeDecodeError as error:
                raise FormatError(path, [f"line {number}: is not UTF-8 text: {error.reason}"]) from None


def _parts(buffer: JsonBuffer) -> Iterator[Any]:
    """Yield the items of an array, or documents one after the other.

    An object that begins with an array of spans gives an object for each item of the array. For example,
    `{"resourceSpans": [A, B]}` gives `{"resourceSpans": [A]}` and `{"resourceSpans": [B]}`.
    """
    if buffer.next_character() == "[":
        yield from array_items(buffer)
    while buffer.next_character():
        if _ARRAY.match(buffer.text, buffer.position):
            yield from _members(buffer)
        else:
            yield decode(buffer.next_item().encode("utf-8", "surrogatepass"))


def _members(buffer: JsonBuffer) -> Iterator[Any]:
    """Yield the items of the arrays of spans in the object at the position. Other members are skipped."""
    while buffer.next_character() in _BEFORE_MEMBER:
        buffer.position += 1
        buffer.next_character()
        key = decode(buffer.next_item().encode())
        if buffer.next_character() != ":":
            raise NotStreamableError
        buffer.position += 1
        if buffer.next_character() == "[" and key in _ARRAYS:
            yield from ({key: [item]} for item in array_items(buffer))
        else:
            buffer.next_item()
    if buffer.next_character() != "}":
        raise NotStreamableError
    buffer.position += 1
