"""Stream JSON values of a large file, from JSON lines or a JSON array, block by block."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator
from typing import Any

from fairtrial.formats.jsontext import decode

BLOCK = 1 << 18
"""The number of bytes that are read at once."""
_SPACE = " \t\r\n"
_OPENING = "{["
_parse = json.JSONDecoder().raw_decode


class NotStreamableError(ValueError):
    """The file must be read as a whole: it is neither JSON lines nor an array of objects or arrays, or it is broken."""


def iter_values(blocks: Iterable[bytes]) -> Iterator[Any]:
    """Yield the values of JSON lines, or the items of a JSON array.

    Only strict JSON is read here. Raises NotStreamableError for everything else, for example a comment in the tenth
    line: a reader of the whole file can then repair the file, or say what is wrong with it.
    """
    remaining = iter(blocks)
    start = b""
    while len(start.strip()) < len(codecs.BOM_UTF8) + 1:
        block = next(remaining, None)
        if block is None:
            raise NotStreamableError
        start += block
    start = start.removeprefix(codecs.BOM_UTF8)
    if start.lstrip().startswith(b"["):
        return _items(JsonBuffer(chained(start, remaining)))
    return _lines(chained(start, remaining))


def chained(start: bytes, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the bytes that were read already, and then the rest."""
    yield start
    yield from blocks


def _lines(blocks: Iterator[bytes]) -> Iterator[Any]:
    """Yield the values of JSON lines. The first two lines decide, as they do when the file is read as a whole."""
    lines = (line for line in split_lines(blocks) if line.strip())
    first, second = next(lines, b""), next(lines, b"")
    if not all(line.startswith(b"{") and line.rstrip().endswith(b"}") for line in (first, second)):
        raise NotStreamableError
    yield _strict(first)
    yield _strict(second)
    yield from map(_strict, lines)


def split_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the lines of a file, without their ends."""
    rest: list[bytes] = []
    for block in blocks:
        first, *more_lines = block.split(b"\n")
        rest.append(first)
        if more_lines:
            yield b"".join(rest)
            yield from more_lines[:-1]
            rest = [more_lines[-1]]
    yield b"".join(rest)


def _strict(data: bytes) -> Any:
    try:
        return decode(data)
    except ValueError as error:
        raise NotStreamableError from error


class JsonBuffer:
    """The text of a file from a position on. It grows block by block, and drops the text before the position."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._texts = codecs.iterdecode(blocks, "utf-8")
        self.text = ""
        self.position = 0

    def grow(self) -> bool:
        """Read as much text again as there is, at least a block. Return False at the end of the file.

        The text doubles, so that an item that fits into no block is parsed only a few times.
        """
        parts = [self.text[self.position :]]
        size, target_size = 0, max(1, len(parts[0]))
        try:
            while size < target_size and (text := next(self._texts, None)) is not None:
                parts.append(text)
                size += len(text)
        except UnicodeDecodeError as error:
            raise NotStreamableError from error
        self.text, self.position = "".join(parts), 0
        return size > 0

    def next_character(self) -> str:
        """Skip space and return the character at the position, or an empty string at the end of the file."""
        while True:
            while self.position < len(self.text) and self.text[self.position] in _SPACE:
                self.position += 1
            if self.position < len(self.text):
                return self.text[self.position]
            if not self.grow():
                return ""

    def next_item(self) -> str:
        """Return the text of the object or array at the position, and move behind it."""
        while True:
            try:
                _, end = _parse(self.text, self.position)
            except (ValueError, RecursionError) as error:
                # The item may be cut off at the end of the text, or it may be broken: more text will tell.
                if not self.grow():
                    raise NotStreamableError from error
            else:
                item = self.text[self.position : end]
                self.position = end
                return item


def _items(buffer: JsonBuffer) -> Iterator[Any]:
    """Yield the items of an array that is the whole file."""
    yield from array_items(buffer)
    if buffer.next_character():
        raise NotStreamableError


def array_items(buffer: JsonBuffer) -> Iterator[Any]:
    """Yield the items of the array at the position, and move behind it."""
    separator = buffer.next_character()
    while separator in ("[", ","):
        buffer.position += 1
        if buffer.next_character() not in _OPENING:
            raise NotStreamableError
        yield _strict(buffer.next_item().encode("utf-8", "surrogatepass"))
        separator = buffer.next_character()
    if separator != "]":
        raise NotStreamableError
    buffer.position += 1
