"""Display foreign text safely, and values briefly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from fairtrial.text.lazy_pattern import LazyPattern

DASH = "–"
"""It stands in place of a number that is unknown."""

_CONTROLS = LazyPattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff"
    "\U000e0000-\U000e0fff]"
)

_SINGLE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
WORD = rf"(?:(?:[^\W{_SINGLE}]+(?:(?:[-'’._@]|(?<=\d)[,:/](?=\d))[^\W{_SINGLE}]+)*))"
"""A pattern of a word or a number as a whole, for example 39.90, A-17 and don't.

Japanese and Chinese characters do not belong to it: their words have no spaces between them.
"""
_WORD = LazyPattern(WORD)
_LONGEST_WORD = 100
_COMMIT = 8
"""The number of characters of a commit that people read."""
_encode = msgspec.json.Encoder(order="sorted").encode
_format = msgspec.json.format
_SCALARS = (str, int, float, bool)


def shorten_commit(commit: str, *, dirty: bool = False) -> str:
    """Return the beginning of a commit, with a plus if files differed from it."""
    return f"{visible_line(commit)[:_COMMIT]}{'+' if dirty else ''}"


def visible(text: str) -> str:
    r"""Return a text with its control characters spelt out, for example as \x1b or \u202e.

    Newlines and tabs stay. The result can neither move a terminal cursor, nor colour, reorder or hide its text.
    """
    if text.isprintable():  # Nearly every name is. This takes a third of the time of the search.
        return text
    return _CONTROLS.sub(_escape, text.replace("\r\n", "\n"))


def visible_line(text: str) -> str:
    r"""Return a text on one line, with its control characters and its line breaks spelt out.

    For example, an id with a newline cannot print a line that looks like a report line.
    """
    return visible(text).replace("\n", r"\n")


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code > 0xFFFF:
        return rf"\U{code:08x}"
    return rf"\x{code:02x}" if code < 0x100 else rf"\u{code:04x}"


def without_surrogates(text: str) -> str:
    """Return text that UTF-8 can hold: a lone surrogate, which is not Unicode text, is spelt out."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


_MOST_ERRORS = 3
"""So many errors of a group are named."""
_MOST_INNER_ERRORS = 40
"""So many errors of groups inside groups are named in all."""


def describe_error(error: BaseException) -> str:
    """Return an exception as `Type: message`, even if its message cannot be read or is not valid Unicode.

    Up to three errors of a group follow, for example `ExceptionGroup: two (2 sub-exceptions): KeyError: 1; OSError`. Of
    groups inside groups, up to 40 errors are named.
    """
    return _describe_group(error, iter(range(_MOST_INNER_ERRORS))).encode("utf-8", "replace").decode()


def _describe_group(error: BaseException, places: Iterator[int]) -> str:
    """Return an exception with the errors of its group, each of which takes a place."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001  (the message of a user's exception is code of the user)
        message = "<its message cannot be read>"
    text = f"{type(error).__name__}: {message}".rstrip(": ")
    if isinstance(error, BaseExceptionGroup):
        named_errors = zip(error.exceptions[:_MOST_ERRORS], places, strict=False)
        text = ": ".join(filter(None, [text, "; ".join(_describe_group(inner, places) for inner, _ in named_errors)]))
    return text


def call(name: str, args: dict[str, Any], *, limit: int = 0) -> str:
    """Return a tool call as `name(key="value")`, with its arguments sorted, in at most `limit` characters if not 0.

    The text is one line: a newline in a name is spelt out.
    """
    inner = ", ".join([f"{key}={compact(args[key])}" for key in sorted(args)])
    text = f"{name}({inner})".replace("\n", r"\n")
    return shorten(text, limit) if limit else text


def compact(value: Any) -> str:
    """Return a JSON value on one line. Text of any language is not escaped."""
    try:
        text = _encode(value)
    except (RecursionError, TypeError, ValueError):
        return f"<{type(value).__name__}>"
    if type(value) not in _SCALARS and isinstance(value, (dict, list)):
        text = _format(text, indent=0)
    return text.decode()


def fold(text: str, limit: int) -> str:
    """Return a text, or a longer text's beginning with its length. It is cut between words.

    For example, `folded("one two three", 8)` is "one two … (13 characters)". A text without spaces is cut anywhere.
    """
    if len(text) <= limit:
        return text
    words = (word.span() for word in _WORD.finditer(text[: limit + _LONGEST_WORD]))
    fold = next((start for start, end in words if start < limit < end), limit)
    return f"{text[: fold or limit].rstrip()} … ({len(text):,} characters)"


def count(n: int, noun: str) -> str:
    """Return a number of things: 1 case, 2 cases."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def shorten(text: str, limit: int) -> str:
    """Return a text, cut to at most `limit` characters with an ellipsis. A limit of 0 keeps the whole text."""
    return text if not limit or len(text) <= limit else text[: limit - 1] + "…"
