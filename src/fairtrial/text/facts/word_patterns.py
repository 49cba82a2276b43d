"""Patterns of many words, grouped by their first letter, so that a search tries few of them at a place."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NewType

from fairtrial.text.lazy_pattern import LazyPattern


class StartPattern(LazyPattern):
    """A pattern whose matches begin with one of few characters, or at a match of another pattern.

    A search that is fast goes to these places, and the pattern itself is tried there alone.
    """

    def __init__(self, starts: str, source: str | Callable[[], str]) -> None:
        super().__init__(source)
        self._starts = LazyPattern(starts)

    def finditer(self, text: str, start: int = 0, end: int = sys.maxsize) -> Iterator[re.Match[str]]:
        """Yield the matches that do not overlap, from left to right."""
        match_at, read_to = self.match, start
        for place in self._starts.finditer(text, start, end):
            if place.start() >= read_to and (match := match_at(text, place.start(), end)):
                read_to = match.end()
                yield match

    def search(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """Return the first match, or None."""
        match_at = self.match
        for place in self._starts.finditer(text, start, end):
            if match := match_at(text, place.start(), end):
                return match
        return None


Cue = NewType("Cue", int)
"""What a text must hold before a pattern can match it: one of some Latin words, or one of some signs.

Each cue has a bit. Cues are joined with `|`.
"""
_BITS: dict[str, dict[str, int]] = {"words": {}, "signs": {}}
"""The bits of the cues that each word and each sign belongs to. A table is replaced, and does not change while it is read."""
_known: dict[tuple[frozenset[str], frozenset[str]], Cue] = {}
_lock = threading.Lock()


def cue(words: str | Iterable[str] = "", signs: Iterable[str] = "") -> Cue:
    """Return the cue of words, which may stand between spaces, and of signs.

    The same words and signs have the same cue, also if two threads ask for it at once.
    """
    parts = (frozenset(words.split() if isinstance(words, str) else words), frozenset(signs))
    with _lock:
        if parts not in _known:
            bit = 1 << len(_known)
            for name, items in zip(_BITS, parts, strict=True):
                table = _BITS[name]
                _BITS[name] = table | {item: table.get(item, 0) | bit for item in items}
            _known[parts] = Cue(bit)
        return _known[parts]


def find_cues(words: frozenset[str], signs: frozenset[str]) -> int:
    """Return the bits of all cues that a text with some Latin words and signs holds."""
    bits, table, sign_table = 0, _BITS["words"], _BITS["signs"]
    for item in table.keys() & words:
        bits |= table[item]
    for item in sign_table.keys() & signs:
        bits |= sign_table[item]
    return bits


_LATIN = re.compile("[a-z]+")


class Cues:
    """The runs of Latin letters and the signs of a text."""

    def __init__(self, text: str) -> None:
        self.ascii = text.isascii()
        self.words = frozenset(_LATIN.findall(text))
        self.signs = frozenset(text)


@lru_cache(maxsize=32)
def read_cues(text: str) -> Cues:
    """Return the cues of a text. Those of the last texts are remembered, because several passes ask for them."""
    return Cues(text)


_SENTENCE_END = LazyPattern(r"(?<=[.!?])\s+|(?<=[。!?！？])|\n+")
_SENTENCE_END_AT_SPACE = LazyPattern(r"\s(?:(?<=[.!?]\s)\s*|(?<=\n)\n*)")
_CLOSING = frozenset("!?。！？")


def split_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of the sentences of a text, without the white space between them."""
    # Without these marks, a sentence ends at white space alone, which a search finds faster.
    pattern = _SENTENCE_END_AT_SPACE if _CLOSING.isdisjoint(text) else _SENTENCE_END
    start = 0
    for match in pattern.finditer(text):
        yield start, match.start()
        start = match.end()
    yield start, len(text)


def alternatives(words: Iterable[str], *, starts: bool = False, ends: bool = False) -> str:
    """Return a pattern of words, longest first. A space in a word stands for a space or a hyphen.

    If `starts` or `ends`, a word with a Latin letter at that end begins or ends at the edge of a word.
    """
    groups: dict[str, list[str]] = {}
    for word in sorted(set(words), key=lambda word: (-len(word), word)):
        groups.setdefault(word[0], []).append(word)
    return "|".join(_group(first, item, starts=starts, ends=ends) for first, item in groups.items())


def _group(first: str, words: list[str], *, starts: bool, ends: bool) -> str:
    rest = "|".join(
        re.escape(word[1:]).replace(r"\ ", "[ -]")
        + ("(?![a-z0-9])" if ends and word[-1].isascii() and word[-1].isalnum() else "")
        for word in words
    )
    # Behind the letter, the search meets the edge only where the letter stands.
    edge = "(?<![a-z0-9].)" if starts and first.isascii() and first.isalnum() else ""
    return f"{re.escape(first)}{edge}(?:{rest})"
