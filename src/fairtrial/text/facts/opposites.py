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
    by_letters: dict[str, tuple[str, ...]]
    """The English words and phrases by the Latin letters with which they begin."""


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
    by_letters: dict[str, list[str]] = {}
    for first, items in phrases.items():
        if match := _ENGLISH.match(first.split("-")[0]):
            by_letters.setdefault(match[0], []).extend(items)
    return _Table(
        words, {first: tuple(item) for first, item in phrases.items()},
        LazyPattern(alternatives(word for word in words if not word.isascii())), counts,
        {letters: tuple(item) for letters, item in by_letters.items()},
    )  # fmt: skip


_ENGLISH = LazyPattern(r"[a-z]+(?:-[a-z]+)*")
_GOES_ON = LazyPattern(r"[^\W_]|'t")
_BETWEEN_WINDS = LazyPattern(r"\b(north|south)(east|west)")
_WINDS = frozenset(
    f"{first}{last}{end}" for first in ("north", "south") for last in ("east", "west") for end in ("", "ern")
)
"""Directions that agree with both of their parts: "in the southeastern corner" does not deny "in the south"."""


def may_hold_values(text: str, words: frozenset[str]) -> bool:
    """Return whether a small-letter text with some Latin words may hold a value. Only a text in ASCII is looked at."""
    if not text.isascii() or not _WINDS.isdisjoint(words):
        return True
    by_letters = _table().by_letters
    return any(phrase in text for first in by_letters.keys() & words for phrase in by_letters[first])


def find_values(text: str, words: frozenset[str]) -> list[Value]:
    """Return the values of a clause in small letters with some Latin words."""
    if not may_hold_values(text, words):
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
