"""Read rows of delimited text files: CSV with commas, semicolons, tabs or bars, row by row."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import PurePath

from fairtrial.errors import FormatError
from fairtrial.formats import packed
from fairtrial.formats.datasets.column_roles import holds_cases
from fairtrial.formats.jsontext import BYTE_ORDER_MARKS
from fairtrial.formats.reading import Diagnostics, Line, Place

SUFFIXES = (".csv", ".tsv", ".tab")
Row = tuple[Place, dict[str, object]]
"""The place of a row, and its cells by the names of their columns. An empty cell is absent."""
_DELIMITERS = ",;\t|"
_LONGEST_CELL = 16_000_000
_HEAD = 1 << 16
_END_OF_LINE = re.compile(r"\r\n|\n|\r(?!\Z)")
_HINT = re.compile(r"\Asep=(.)\s*\Z", re.IGNORECASE)


def is_named_so(path: str) -> bool:
    """Whether a file has the name of a table, for example `qa.csv` or `qa.tsv.gz`."""
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    return bool(suffixes) and (suffixes[-2:][0] if suffixes[-1] in packed.SUFFIXES else suffixes[-1]) in SUFFIXES


def looks_so(data: bytes) -> bool:
    """Whether text without a name, for example standard input, begins with the names of columns of cases."""
    try:
        head = data[:_HEAD].decode("utf-8-sig", "ignore")
        names = _header(head.splitlines(keepends=True))
    except (UnicodeDecodeError, csv.Error):
        return False
    return len(names) > 1 and holds_cases(dict.fromkeys(names))


def yield_rows(blocks: Iterable[bytes], reading: Diagnostics) -> Iterator[Row]:
    """Yield the rows of a file that is read block by block. Problems of a row are noted with its line.

    The first line holds the names of the columns. Raises FormatError if the file is not a table at all.
    """
    lines = _lines(_texts(blocks, reading.path))
    head = _until_header_ends(lines)
    delimiter, skipped = _delimiter(head)
    reader = csv.reader(chain(head[skipped:], lines), delimiter=delimiter, strict=True)
    names = [name.strip() for name in _next(reader, reading.path, skipped) or []]
    _check_names(names, reading.path)
    start = reader.line_num + skipped + 1
    while (cells := _next(reader, reading.path, skipped)) is not None:
        place: Place = ((), Line(start))
        start = reader.line_num + skipped + 1
        if len(cells) > len(names) and any(cells[len(names) :]):
            reading.error(place, f"has {len(cells)} cells, and the first line has {len(names)} names")
        elif any(cells):
            yield place, {name: cell for name, cell in zip(names, cells, strict=False) if name and cell != ""}


def _texts(blocks: Iterable[bytes], path: str) -> Iterator[str]:
    """Yield the text of blocks. The byte order mark decides the encoding, and without it the text is UTF-8."""
    remaining = iter(blocks)
    first = next(remaining, b"")
    encoding = next((encoding for bom, encoding in BYTE_ORDER_MARKS if first.startswith(bom)), "utf-8")
    decoder = codecs.getincrementaldecoder(encoding)()
    lines = 1
    try:
        for block in chain([first], remaining):
            text = decoder.decode(block)
            if "\0" in text:
                raise FormatError(path, ["holds the character NUL; save the table as CSV UTF-8"])
            yield text
            lines += text.count("\n")
        yield decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        lines += error.object[: error.start].count(b"\n")
        problem = f"line {lines}: is not {encoding.upper()} text (byte 0x{error.object[error.start]:02x})"
        raise FormatError(path, [f"{problem}; save the table as CSV UTF-8"]) from None


def _lines(texts: Iterable[str]) -> Iterator[str]:
    """Yield lines with their ends: a line feed, a carriage return, or both."""
    parts: list[str] = []
    for text in texts:
        if not text:
            continue
        # A carriage return at the end of a block may belong to a line feed, so that it waits for the next block.
        whole = "".join((*parts, text)) if parts and (parts[-1].endswith("\r") or _ends_line(text)) else text
        if whole is text and parts and not _ends_line(text):
            parts.append(text)
            continue
        end = 0
        for match in _END_OF_LINE.finditer(whole):
            yield whole[end : match.end()]
            end = match.end()
        parts = [whole[end:]]
    rest = "".join(parts)
    if rest:
        yield rest


def _ends_line(text: str) -> bool:
    return "\n" in text or "\r" in text


def _until_header_ends(lines: Iterator[str]) -> list[str]:
    """Return the first lines: as many as the header may have. A quoted name may hold the end of a line."""
    head: list[str] = []
    size = quotes = 0
    for line in lines:
        head.append(line)
        size += len(line)
        quotes += line.count('"')
        if (line.strip() and not quotes % 2 and not _HINT.match(line)) or size > _HEAD:
            break
    return head


def _delimiter(head: list[str]) -> tuple[str, int]:
    """Return the delimiter, and the number of lines before the header: a hint such as `sep=;`, and empty lines."""
    skipped = 0
    hint = ""
    for line in head[:-1]:
        match = _HINT.match(line)
        if not match and line.strip():
            break
        hint = match.group(1) if match else hint
        skipped += 1
    if hint:
        return hint, skipped
    return max(_DELIMITERS, key=lambda delimiter: len(_header(head[skipped:], delimiter))), skipped


def _header(lines: Iterable[str], delimiter: str = "") -> list[str]:
    """Return the names of the columns. Without a delimiter, the one that gives the most names counts."""
    if not delimiter:
        texts = list(lines)
        return max((_header(texts, each) for each in _DELIMITERS), key=len)
    try:
        return next(csv.reader(lines, delimiter=delimiter), [])
    except csv.Error:
        return []


def _check_names(names: list[str], path: str) -> None:
    if not any(names):
        raise FormatError(path, ["is empty; the first line must hold the names of the columns"])
    for name, times in Counter(names).items():
        if name and times > 1:
            raise FormatError(path, [f"line 1: the column {name!r} stands there twice; rename one"])


def _next(reader: Iterator[list[str]], path: str, skipped: int) -> list[str] | None:
    """Return the next row, or None at the end. The limit of a cell is global in Python, and is put back."""
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        return next(reader, None)
    except csv.Error as error:
        line = getattr(reader, "line_num", 0) + skipped
        problem = f"line {line}: is not CSV: {error}"
        if "field larger" in str(error) or "unexpected end" in str(error):
            problem += "; a quote may have no end"
        raise FormatError(path, [problem]) from None
    finally:
        csv.field_size_limit(limit)


def yield_blocks(data: bytes) -> Iterator[bytes]:
    """Yield the bytes of a table that is in memory."""
    stream = io.BytesIO(data)
    while block := stream.read(_HEAD):
        yield block
