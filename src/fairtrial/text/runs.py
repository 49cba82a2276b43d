"""Find long runs of characters and constants in a text, far faster than a pattern does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairtrial.text.lazy_pattern import LazyPattern


def long_runs(characters: str, length: int) -> Callable[[str], Iterator[tuple[int, int]]]:
    """Return a function that yields start and end of each run of at least `length` of some ASCII characters.

    It is ten times faster than a pattern: it maps each character to one of two bytes, and searches for a constant.
    """
    table = bytes(ord("a") if chr(code) in characters else ord(" ") for code in range(256))
    run = b"a" * length

    def find_runs(text: str) -> Iterator[tuple[int, int]]:
        # Latin-1 has one byte for each character, so that places are the same. Other characters become `?`.
        mapped = text.encode("latin-1", "replace").translate(table)
        start = mapped.find(run)
        while start >= 0:
            end = mapped.find(b" ", start + length)
            if end < 0:
                yield start, len(mapped)
                return
            yield start, end
            start = mapped.find(run, end)

    return find_runs


def match_from(pattern: LazyPattern, starts: Iterable[str], text: str, lowered: str) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern that begin where one of some constants stands.

    `lowered` is the text in lower case, and so are the constants. A search for each of them in turn is far faster than
    a search for the pattern.
    """
    for start in starts:
        place = lowered.find(start)
        while place >= 0:
            match = pattern.match(text, place)
            if match is not None:
                yield match
            place = lowered.find(start, place + 1)
