"""Read the undamaged parts of a damaged file: the items of an array, lines and rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fairtrial.errors import FormatError
from fairtrial.formats.chats.dialects import is_message
from fairtrial.formats.datasets.delimited_rows import is_named_so
from fairtrial.formats.recognise import read
from fairtrial.loading.shard_reading import Refused, decode_item
from fairtrial.records.decoding import json_decoder

if TYPE_CHECKING:
    from fairtrial.formats.loaded import Loaded

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_ROUNDS = 20
"""A reader may name only the first problem of a file. After so many rounds the file is damaged as a whole."""
_PLACE = re.compile(r"/(?P<item>\d+)(?=[/:])|line (?P<line>\d+)\b")
"""The place of a part at the beginning of a problem, for example `/1/traj: must be an array` or `line 3: ...`."""


class DamagedPart(NamedTuple):
    """A part that cannot be read, the place of the first problem inside of it, and the problem."""

    place: str
    pointer: str
    reason: str


class UndamagedParts(NamedTuple):
    """The content of a file without its damaged parts, and these parts."""

    loaded: Loaded
    damaged: Sequence[DamagedPart]


class _Part(NamedTuple):
    place: str
    data: bytes


def read_undamaged(data: bytes, path: str) -> UndamagedParts | None:
    """Return the content of a file that cannot be read as a whole, or None if no part of it can be read alone.

    Parts are left out only if each part is a recording of its own, a row of a table, or has spans: a conversation
    without one of its messages would be another conversation. `data` is unpacked.
    """
    head, parts = _split_parts(data.removeprefix(_BYTE_ORDER_MARK), path)
    damaged: list[DamagedPart] = []
    for _ in range(_ROUNDS):
        try:
            loaded = read(_join_items(head, parts), path)
        except FormatError as error:
            found = _find_damaged(error.problems, head, parts)
            parts = [part for number, part in enumerate(parts) if number not in found]
            damaged += found.values()
            if not found or not parts:
                return None
        else:
            are_alone = is_named_so(path) or loaded.spans or len(loaded.recordings) == len(parts)
            return UndamagedParts(loaded, damaged) if are_alone else None
    return None


def _split_parts(data: bytes, path: str) -> tuple[bytes, list[_Part]]:
    """Return the head of a file and its parts. An array has the head `[`, and a table its row of names."""
    if data.lstrip()[:1] == b"[":
        try:
            items = json_decoder(list[msgspec.Raw]).decode(data)
        except (msgspec.DecodeError, RecursionError):
            return b"", []
        if any(map(_is_message, items)):
            return b"", []
        return b"[", [_Part(f"{path}/{number}", bytes(item)) for number, item in enumerate(items)]
    is_table = is_named_so(path)
    parts = [_Part(f"{path}:{line}", row) for line, row in _rows(data.splitlines(keepends=True), is_table=is_table)]
    return (parts[0].data, parts[1:]) if is_table and parts else (b"", parts)


def _is_message(item: msgspec.Raw) -> bool:
    try:
        return is_message(msgspec.json.decode(item))
    except (msgspec.DecodeError, RecursionError):
        return False


def _rows(lines: Iterable[bytes], *, is_table: bool) -> Iterator[tuple[int, bytes]]:
    """Yield each row with the number of its first line. A quoted cell of a table may go over several lines.

    A blank line belongs to the row before it.
    """
    row, start = b"", 1
    for number, line in enumerate(lines, start=1):
        is_open = is_table and row.count(b'"') % 2
        if row.strip() and line.strip() and not is_open:
            yield start, row
            row, start = b"", number
        row += line
    if row.strip():
        yield start, row


def _join_items(head: bytes, parts: Sequence[_Part]) -> bytes:
    if head == b"[":
        return b"[" + b",".join(part.data for part in parts) + b"]"
    return head + b"".join(part.data for part in parts)


def _find_damaged(problems: Sequence[str], head: bytes, parts: Sequence[_Part]) -> dict[int, DamagedPart]:
    """Return the parts that some problems name, by their numbers. Of several problems of a part the first counts."""
    found: dict[int, DamagedPart] = {}
    for problem in problems:
        match = _PLACE.match(problem)
        number = None if match is None else _find_number(match, head, parts)
        if match is not None and number is not None and number not in found:
            rest = problem[match.end() :].lstrip(":, ")
            pointer, _, reason = rest.partition(": ") if rest.startswith("/") else ("", "", rest)
            value = decode_item(parts[number].data) if match["line"] and "is not JSON" in reason else None
            found[number] = DamagedPart(
                parts[number].place, pointer, value.reason if isinstance(value, Refused) else reason
            )
    return found


def _find_number(match: re.Match[str], head: bytes, parts: Sequence[_Part]) -> int | None:
    """Return the number of the part at the place of a problem, or None if there is no such part."""
    if match["item"]:
        number = int(match["item"])
        return number if number < len(parts) else None
    line = int(match["line"]) - head.count(b"\n")
    for number, part in enumerate(parts):
        line -= part.data.count(b"\n")
        if line <= 0 and head != b"[":
            return number
    return len(parts) - 1 if parts and line == 1 and not parts[-1].data.endswith(b"\n") else None
