"""Redact files of any size. Lines of JSON are read as JSON, and all other lines as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from io import StringIO
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from fairtrial.text.json_layout import replace_leaves
from fairtrial.text.redaction.redact import Redaction, find_removals, make_finders, replace_removals
from fairtrial.text.redaction.redact_json import redact_json
from fairtrial.text.redaction.secret_search import Search

if TYPE_CHECKING:
    from fairtrial.records.record import Json

WINDOW = 1 << 20
"""The number of characters of text that are searched at once."""
OVERLAP = 1 << 15
"""A secret of at most this many characters is found wherever a window ends."""
_BEFORE = 1 << 12
"""The number of characters before a window that are searched again, because names stand before secrets."""
_OPENING = ("{", "[")


class Finding(NamedTuple):
    """A removed secret, and the line in which it began. Of JSON over several lines the line is 0."""

    line: int
    redaction: Redaction


class LineRedactor:
    """Removes secrets from the lines of one file, and hands each finding to `note`. Memory does not grow with the file.

    Only a file that is one JSON value over several lines is held as a whole.
    """

    def __init__(self, note: Callable[[Finding], object], *, emails: bool = True, people: bool = False) -> None:
        self._redact_value = partial(redact_json, emails=emails, people=people)
        self._finders = make_finders(emails=emails, people=people)
        self._note = note
        self._line = 0
        self._before = ""
        self._text: list[str] = []
        self._size = 0

    def redact(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines without their secrets, in larger parts. Each line has its end."""
        remaining = iter(lines)
        first = next(remaining, "")
        if first.lstrip("\ufeff \t").startswith(_OPENING) and _decode_json(first) is None:
            whole = "".join([first, *remaining])
            value = _decode_json(whole)
            if value is not None:
                yield self._redact_json(whole, value, 0)
                return
            first, remaining = "", iter(StringIO(whole, newline="\n"))
        for line in chain([first], remaining):
            yield from self._redact_line(line)
        yield from self._flush()

    def _redact_line(self, line: str) -> Iterator[str]:
        value = _decode_json(line) if line.startswith(_OPENING) else None
        if value is None:
            self._text.append(line)
            self._size += len(line)
            if self._size >= WINDOW:
                yield self._redact_window()
            return
        yield from self._flush()
        self._line += 1
        yield self._redact_json(line, value, self._line)

    def _redact_json(self, text: str, value: Json, line: int) -> str:
        clean, redactions = self._redact_value(value)
        for redaction in redactions:
            self._note(Finding(line, redaction))
        return replace_leaves(text, value, clean) if redactions else text

    def _flush(self) -> Iterator[str]:
        """Yield the remaining text before a JSON line, or before the file ends."""
        if self._text:
            yield self._redact_window(is_last=True)
        self._before = ""

    def _redact_window(self, *, is_last: bool = False) -> str:
        """Return the redacted text up to a place that no secret crosses. The rest waits for the next lines."""
        text = "".join(self._text)
        start = len(self._before)
        searched = self._before + text
        removals = [
            removal._replace(start=removal.start - start, end=removal.end - start)
            for removal in find_removals(searched, Search(self._finders, searched))
            if removal.start >= start
        ]
        cut = len(text)
        if not is_last:
            limit = len(text) - OVERLAP
            cut = text.rfind("\n", 0, limit) + 1 or text.rfind(" ", 0, limit) + 1 or limit
        for removal in reversed(removals):
            if removal.start < cut < removal.end:
                cut = removal.start
        removals = [removal for removal in removals if removal.end <= cut]
        for removal in removals:
            line = self._line + text.count("\n", 0, removal.start) + 1
            for redaction in removal.redactions:
                self._note(Finding(line, redaction))
        self._line += text.count("\n", 0, cut)
        self._before = (self._before + text[:cut])[-_BEFORE:]
        self._text = [text[cut:]] if cut < len(text) else []
        self._size = len(text) - cut
        return replace_removals(text[:cut], removals)[0]


def _decode_json(text: str) -> Json:
    """Return the object or the array that a text is, or None."""
    try:
        value = msgspec.json.decode(text.removeprefix("\ufeff"))
    except (msgspec.DecodeError, RecursionError, ValueError):
        return None
    return value if isinstance(value, dict | list) else None
