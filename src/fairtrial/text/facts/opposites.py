"""Words whose values exclude one another, such as "open" and "closed", and the places where a clause has them."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from fairtrial.text.facts.word_patterns import alternatives
from fairtrial.text.lazy_pattern import LazyPattern


class Value(NamedTuple):
    """A value of a clause: the question that it answers, its number, and its place."""

    axis: str
    number: int
    start: int
    end: int


class _Table(NamedTuple):
    """The words of the values: single English words, English phrases by their first word, and a pattern of the others."""

    words: dict[str, tuple[str, int]]
    phrases: dict[str, tuple[str, ...]]
    counterparts: LazyPattern
    counts: dict[str, int]
    beginnings: dict[str, tuple[str, ...]]
    """The English words and phrases by the Latin letters with which they begin, the others by their first sign."""


@cache
def _table() -> _Table:
    from importlib import resources  # takes longer than the rest of the import

    text = (resources.files("fairtrial.text.facts") / "opposites.txt").read_text(encoding="utf-8")
    counts: dict[str, int] = {}
    words: dict[str, tuple[str, int]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            axis, *poles = line.split("|")
            counts[axis.strip()] = len(poles)
            for value, pole in enumerate(poles):
                words |= {word.strip(): (axis.strip(), value) for word in pole.split(",") if word.strip()}
    phrases: dict[str, list[str]] = {}
    for word in sorted((word for word in words if word.isascii()), key=len, reverse=True):
        phrases.setdefault(word.split()[0], []).append(word)
    beginnings: dict[str, list[str]] = {}
    for first, items in phrases.items():
        if match := _ENGLISH.match(first.split("-")[0]):
            beginnings.setdefault(match[0], []).extend(items)
    for word in words:
        if not word.isascii():
            beginnings.setdefault(word[0], []).append(word)
    return _Table(
        words, {first: tuple(item) for first, item in phrases.items()},
        LazyPattern(alternatives(word for word in words if not word.isascii())), counts,
        {beginning: tuple(item) for beginning, item in beginnings.items()},
    )  # fmt: skip


_ENGLISH = LazyPattern(r"[a-z]+(?:-[a-z]+)*")
_GOES_ON = LazyPattern(r"[^\W_]|'t")
_BETWEEN_WINDS = LazyPattern(r"\b(north|south)(east|west)")
_WINDS = frozenset(
    f"{first}{last}{end}" for first in ("north", "south") for last in ("east", "west") for end in ("", "ern")
)
"""Directions that agree with both of their parts: "in the southeastern corner" does not deny "in the south"."""


def may_hold_values(text: str, words: frozenset[str], signs: frozenset[str] = frozenset()) -> bool:
    """Return whether a text in small letters may hold a value. It has some Latin words and, unless in ASCII, signs."""
    if not _WINDS.isdisjoint(words):
        return True
    beginnings = _table().beginnings
    for first in (beginnings.keys() & words) if text.isascii() else (beginnings.keys() & (words | signs)):
        for phrase in beginnings[first]:
            if phrase in text:
                return True
    return False


def find_values(text: str, words: frozenset[str]) -> list[Value]:
    """Return the values of a clause in small letters with some Latin words."""
    if not may_hold_values(text, words, frozenset() if text.isascii() else frozenset(text)):
        return []
    table = _table()
    values: list[Value] = []
    copied_to = 0
    for match in _ENGLISH.finditer(text):
        if match.start() < copied_to:
            continue
        for phrase in table.phrases.get(match[0], ()):
            end = match.start() + len(phrase)
            # "Won't" does not mean a victory.
            if text.startswith(phrase, match.start()) and not _GOES_ON.match(text, end):
                values.append(Value(*table.words[phrase], match.start(), end))
                copied_to = end
                break
    if not text.isascii():
        values += [Value(*table.words[match[0]], *match.span()) for match in table.counterparts.finditer(text)]
    if not _WINDS.isdisjoint(words):
        for match in _BETWEEN_WINDS.finditer(text):
            values += [Value(*table.words[word], *match.span()) for word in match.groups()]
    return values


def has_two_values(axis: str) -> bool:
    """Return whether a question has two values alone, so that a negated value is the other one."""
    return _table().counts[axis] == 2
