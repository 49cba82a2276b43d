"""Read and write text files line by line, plain or packed, in their own encoding."""

from __future__ import annotations

import codecs
import io
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from fairtrial.errors import FormatError, UsageError
from fairtrial.formats.packed import LONGEST_MAGIC, packing_at
from fairtrial.loading.data_files import open_data_file
from fairtrial.loading.packed_streams import UNREADABLE, packed, unpacked
from fairtrial.text.display import describe_error

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_HEAD = 4096


class TextFile(NamedTuple):
    """An open text file: its lines with their ends, and how it is packed and encoded.

    `packing` is empty, gzip or zstd. Bytes that are not text in the encoding survive reading and writing.
    """

    lines: Iterator[str]
    packing: str
    encoding: str


@contextmanager
def open_unpacked(path: str) -> Iterator[tuple[io.BufferedReader, str]]:
    """Open a file, an object of an object store, or `-` for standard input, and return how it is packed.

    Reading may raise any error of `UNREADABLE`.
    """
    with ExitStack() as stack:
        stream = unpacked(sys.stdin.buffer if path == "-" else stack.enter_context(open_data_file(path)), "")
        packing = packing_at(stream.peek(LONGEST_MAGIC))
        yield unpacked(stream, packing), packing


@contextmanager
def open_text(path: str) -> Iterator[TextFile]:
    """Open a file, an object of an object store, or `-` for standard input.

    Raises UsageError for a file that cannot be opened, and FormatError for a file that is binary or broken.
    """
    with ExitStack() as stack:
        try:
            content, packing = stack.enter_context(open_unpacked(path))
            head = content.peek(_HEAD)[:_HEAD]
        except UNREADABLE as error:
            raise UsageError(f"{path}: cannot be read: {describe_error(error)}", code="unreadable-file") from error
        encoding = "utf-16" if head.startswith(_UTF_16) else "utf-8"
        if encoding == "utf-8" and b"\0" in head:
            raise FormatError(path, ["is a binary file; only text, JSON and JSON lines are read"])
        errors = "surrogateescape" if encoding == "utf-8" else "strict"
        text = io.TextIOWrapper(content, encoding, errors, newline="\n")
        stack.callback(text.detach)
        yield TextFile(_yield_lines(text, path), packing, encoding)


@contextmanager
def create_text(target: Path | BinaryIO, packing: str, encoding: str) -> Iterator[io.TextIOWrapper]:
    """Open a file for writing lines with their ends, or write to an open stream, which stays open."""
    with ExitStack() as stack:
        raw = stack.enter_context(target.open("wb")) if isinstance(target, Path) else target
        stream = stack.enter_context(packed(raw, packing)) if packing else raw
        errors = "surrogateescape" if encoding == "utf-8" else "strict"
        text = io.TextIOWrapper(stream, encoding, errors, newline="\n")
        stack.callback(text.detach)  # detaching writes what is buffered, and leaves the stream open
        yield text


def _yield_lines(text: io.TextIOWrapper, path: str) -> Iterator[str]:
    try:
        yield from text
    except (*UNREADABLE, UnicodeDecodeError) as error:
        raise FormatError(path, [f"cannot be read: {describe_error(error)}"]) from error
