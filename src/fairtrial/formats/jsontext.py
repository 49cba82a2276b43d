"""Decode JSON text. Strict JSON is decoded fast; other JSON is repaired, with a warning for each repair."""

from __future__ import annotations

import bisect
import codecs
import io
import json
import math
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any

import msgspec

from fairtrial.errors import FormatError
from fairtrial.records.decoding import json_decoder
from fairtrial.text.display import shorten
from fairtrial.text.pointer import escape

# Every match consumes the text that it looked at: a string without an end runs to the end of its line, and no
# repetition gives back a character. So each pattern passes over a text once, however hostile the text is.
_STRING = r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?'
_COMMENT = re.compile(_STRING + r"|(//[^\n]*+|/\*.*?(?:\*/|\Z))", re.DOTALL)
_FENCE = re.compile(r"\A\s*+((?:`{3,}+|~{3,}+)[^\n`]*+)(?=\n)|(?<=\n)([ \t]*+(?:`{3,}+|~{3,}+)\s*+\Z)")
_COMMA = re.compile(_STRING + r"|(,)(?=\s*+[}\]])", re.DOTALL)
_ANY_COMMENT = re.compile(r"/[/*]")
_ANY_FENCE = re.compile(r"```|~~~")
_ANY_COMMA = re.compile(r",\s*+[}\]]")
ESCAPED_QUOTE = rb"\u0022"
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MOST_WARNINGS = 20
"""So many repairs of a kind have a warning each."""
_MOST_REPAIRS = 100_000
"""A file with more repairs of a kind is refused, since nobody wrote it by hand."""
_TOO_DEEP = "is nested too deeply to be a file that anyone wrote"
_CONTAINERS = (dict, list)
MOST_DEPTH = 100
"""The deepest nesting of a value inside a trace."""
_DECODER = msgspec.json.Decoder()
_ENCODER = msgspec.json.Encoder()


def decode(data: bytes | memoryview | msgspec.Raw) -> Any:
    """Decode strict JSON.

    Raises ValueError for anything that is not strict JSON. The caller can then try `repaired`, which also finds the
    place of the problem.
    """
    try:
        return _DECODER.decode(data)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def decode_text(text: str) -> Any:
    """Decode strict JSON in a text of a stranger, for example in an attribute of a span.

    Raises ValueError also for JSON that is nested deeper than anyone writes. Whoever compares or copies such a value
    needs more stack than there is.
    """
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    is_long = len(text) > 2 * MOST_DEPTH  # a shorter text cannot be nested so deeply
    if is_long and text.count("{") + text.count("[") > MOST_DEPTH and is_too_deep(value):
        raise ValueError(_TOO_DEEP)
    return value


def is_too_deep(value: Any, most_depth: int = MOST_DEPTH) -> bool:
    """Return whether objects and arrays are nested deeper than `most_depth`."""
    nested = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(most_depth):
        if not nested:
            return False
        nested = [
            item
            for inner in nested
            for item in (inner.values() if isinstance(inner, dict) else inner)
            if isinstance(item, _CONTAINERS)
        ]
    return bool(nested)


def members(data: bytes | memoryview) -> dict[str, msgspec.Raw] | list[msgspec.Raw]:
    """Split strict JSON at its top level without decoding the members.

    Raises ValueError if the text is not strict JSON, or if its top level is neither an object nor an array.
    """
    kind: Any = list[msgspec.Raw] if bytes(data[:100]).lstrip()[:1] == b"[" else dict[str, msgspec.Raw]
    try:
        return json_decoder(kind).decode(data)  # type: ignore[no-any-return]
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def strict_utf8(data: bytes, path: str) -> tuple[bytes, list[str]]:
    """Return the text as UTF-8 without a byte order mark, and a warning if it had another encoding.

    Raises FormatError if the bytes do not have the encoding of their byte order mark.
    """
    for bom, encoding in BYTE_ORDER_MARKS:
        if data.startswith(bom):
            try:
                text = data.decode(encoding)
            except UnicodeDecodeError as error:
                raise FormatError(path, [f"starts like {encoding.upper()}, but is not: {error.reason}"]) from None
            warnings = [] if bom == codecs.BOM_UTF8 else [f"{path}: is {encoding.upper()}; JSON files are UTF-8"]
            return text.encode("utf-8", "surrogatepass"), warnings
    return data, []


def repaired(data: bytes, path: str) -> tuple[Any, list[str]]:
    """Decode JSON in a code fence, with comments, trailing commas, or surplus closing brackets at its end.

    Returns the value and a warning for each repair, with line and column. Raises FormatError with the line and column,
    or the JSON pointer, of a problem that cannot be repaired.
    """
    clean, warnings = _clean(data, path)
    try:
        return decode(clean.encode()), warnings
    except ValueError as error:
        raise FormatError(path, [_diagnosis(clean, error)]) from None


def quote_count(text: bytes) -> int:
    """Return the number of quotes in a JSON text.

    If it equals the count of the decoded value, the text has no duplicate key: a decoder drops the key and its quotes.
    If it differs, `duplicate_keys` finds the key, which takes much longer. The counts can also differ without a
    duplicate key, for example if a text holds a backslash in front of `u0022`.
    """
    return text.count(b'"') + (text.count(ESCAPED_QUOTE) if b"\\" in text else 0)


def count_quotes(value: Any) -> int:
    """Return the number of quotes in the JSON text of a decoded value."""
    return _ENCODER.encode(value).count(b'"')


def decode_lines(data: bytes, path: str, decode_value: Callable[[bytes], Any] = decode) -> Iterator[Any] | None:
    """Return the values of JSON lines, or None if the first two lines do not each look like an object, or an array.

    A line is decoded when the iterator reaches it, so that the values need not be in memory together. `decode_value`
    decodes a line of strict JSON. The iterator raises FormatError with the line and the column of a line that is not
    JSON, or UnicodeDecodeError.
    """
    first_lines = [*islice(_number_lines(data), 2)]
    ends = {(line[:1], line.rstrip()[-1:]) for _, line in first_lines}
    if len(first_lines) < 2 or ends not in ({(b"{", b"}")}, {(b"[", b"]")}):
        return None
    return (decode_line(line, number, path, decode_value) for number, line in _number_lines(data))


def _number_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers from 1."""
    lines = data.splitlines() if b"\n" not in data else io.BytesIO(data)
    return ((number, line.rstrip(b"\r\n")) for number, line in enumerate(lines, 1) if line.strip())


def decode_line(line: bytes, number: int, path: str, decode_value: Callable[[bytes], Any] = decode) -> Any:
    """Decode a line of JSON lines. Raises FormatError with its place, or UnicodeDecodeError if it is not UTF-8."""
    try:
        return decode_value(line)
    except ValueError as error:
        raise FormatError(path, [_diagnosis(line.decode(), error, line=number)]) from None


def decode_documents(data: bytes) -> list[Any] | None:
    """Return the values of JSON documents that stand one after the other, each over several lines.

    Returns None for a single document, and for everything else.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    parse = json.JSONDecoder(parse_int=_whole).raw_decode
    values: list[Any] = []
    position = len(text) - len(text.lstrip())
    while position < len(text):
        if text[position] != "{":
            return None
        try:
            value, position = parse(text, position)
        except (ValueError, RecursionError):
            return None
        values.append(value)
        while position < len(text) and text[position] in " \t\r\n":
            position += 1
    return values if len(values) > 1 else None


def duplicate_keys(data: bytes, path: str) -> list[str]:
    """Return the JSON pointer of every key that occurs twice in an object of a readable document."""
    text, _ = _clean(data, path)
    try:
        todo = [("", json.loads(text, object_pairs_hook=_Members, parse_int=_whole))]
    except RecursionError:
        raise FormatError(path, [_TOO_DEEP]) from None
    duplicates: list[str] = []
    while todo:
        pointer, value = todo.pop()
        keys: set[str] = set()
        for key, inner in value if isinstance(value, _Members) else _number_items(value):
            at = f"{pointer}/{escape(key)}"
            if key in keys:
                duplicates.append(at)
            keys.add(key)
            todo.append((at, inner))
    return duplicates


class _Members(list[tuple[str, Any]]):
    """The pairs of an object, with duplicate keys."""


def _number_items(value: Any) -> list[tuple[str, Any]]:
    return [(str(i), inner) for i, inner in enumerate(value)] if isinstance(value, list) else []


def _clean(data: bytes, path: str) -> tuple[str, list[str]]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        place = _Places(before)(len(before))
        raise FormatError(
            path, [f"{place}: is not UTF-8 text (byte 0x{data[error.start]:02x}); save the file as UTF-8"]
        ) from None
    if not text.strip():
        raise FormatError(path, ["is empty"])
    warnings: list[str] = []
    places = _Places(text)
    clean = text
    for indication, pattern, repair in (
        (_ANY_FENCE, _FENCE, "a code fence"),
        (_ANY_COMMENT, _COMMENT, "a comment"),
        (_ANY_COMMA, _COMMA, "a trailing comma"),
    ):
        if indication.search(clean):
            clean = _without(pattern, repair, clean, path, places, warnings)
    return _without_surplus(clean, path, places, warnings), warnings


class _Places:
    """Lines and columns of a text, from 1."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __call__(self, position: int) -> str:
        line = bisect.bisect_right(self._starts, position)
        return f"line {line}, column {position - self._starts[line - 1] + 1}"

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(newline.end() for newline in re.finditer("\n", self._text))]


def _without(pattern: re.Pattern[str], repair: str, text: str, path: str, places: _Places, warnings: list[str]) -> str:
    """Replace each match outside of strings by spaces, so that lines and columns stay the same."""
    pieces: list[str] = []
    repairs = end = 0
    for match in pattern.finditer(text):
        if match.lastindex is None:  # a string
            continue
        repairs += 1
        if repairs > _MOST_REPAIRS:
            raise FormatError(path, [f"is not JSON: {repair} stands in more than {_MOST_REPAIRS:,} places; write JSON"])
        start = match.start(match.lastindex)
        if repairs <= _MOST_WARNINGS:
            warnings.append(f"{path}: {places(start)}: {repair} is not JSON; read without it")
        pieces += text[end:start], _blank(match.group(match.lastindex))
        end = match.end(match.lastindex)
    if repairs > _MOST_WARNINGS:
        warnings.append(f"{path}: {repair} is not JSON; {repairs - _MOST_WARNINGS:,} more are read without")
    return "".join((*pieces, text[end:]))


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text) if "\n" in text else " " * len(text)


def _without_surplus(text: str, path: str, places: _Places, warnings: list[str]) -> str:
    try:
        _, end = json.JSONDecoder().raw_decode(text, len(text) - len(text.lstrip()))
    except (ValueError, RecursionError):
        return text
    rest = text[end:]
    if not rest.strip() or rest.strip("}] \t\r\n"):
        return text
    place = places(end + len(rest) - len(rest.lstrip()))
    warnings.append(f"{path}: {place}: a surplus {shorten(rest.strip(), 20)!r}; read without it")
    return text[:end]


def _diagnosis(text: str, error: ValueError, *, line: int | None = None) -> str:
    try:
        value = json.loads(text, parse_int=_whole)
    except json.JSONDecodeError as problem:
        got = repr(text[problem.pos : problem.pos + 20]) if problem.pos < len(text) else "the end of the file"
        return f"line {(line or 1) - 1 + problem.lineno}, column {problem.colno}: is not JSON: {problem.msg}, got {got}"
    except (RecursionError, ValueError):
        return _TOO_DEEP if _TOO_DEEP in str(error) else f"is not JSON: {error}"
    try:
        for pointer, problem_text in _unreadable(value, ""):
            place = "" if line is None else f"line {line}, "
            return f"{place}{pointer or '/'}: {problem_text}"
    except RecursionError:
        return _TOO_DEEP
    return f"is not JSON: {error}"


class _Digits(str):
    """A whole number of more digits than Python reads."""

    __slots__ = ()


def _whole(digits: str) -> int | _Digits:
    try:
        return int(digits)
    except ValueError:
        return _Digits(digits)


def _unreadable(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    """Yield the values that the parser of the standard library accepts, but JSON does not, for example NaN."""
    if isinstance(value, float) and not math.isfinite(value):
        yield pointer, f"must be a finite number, got {value}"
    elif isinstance(value, _Digits):
        yield pointer, f"must be a number of at most 4,300 digits, got one of {len(value)}"
    elif isinstance(value, str) and re.search("[\ud800-\udfff]", value):
        yield pointer, "must be Unicode text, got half of a surrogate pair"
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _unreadable(key, f"{pointer}/{escape(key)}")
            yield from _unreadable(inner, f"{pointer}/{escape(key)}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _unreadable(inner, f"{pointer}/{index}")
