"""Find quotes in a text, apart from differences in punctuation, case, escapes and typing errors.

Only letters and digits are compared. A quote may have typing errors, at most one in ten characters, but none in a
number, a negation or another character that turns the meaning around.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import regex

if TYPE_CHECKING:
    from fairtrial.records.record import Json

SHORTEST = 12
"""The shortest quote that proves anything by itself. A shorter quote must be a whole value or a whole line."""

SPACING = 10
"""Among this many characters, at most one may differ."""

SHORTEST_PIECE = 4
"""The shortest piece between two ellipses in a longer quote."""

_MOST_ANCHORS = 50
_MOST_STEPS = 500
"""How many places for one quote piece are looked at, and how many alignments at each of them. A hostile text may repeat
one character a million times."""

_ELLIPSIS = regex.compile(r"\[?(?:\.{3,}|…+|⋯+)\]?")
_JOINT = regex.compile(
    r"[;；、]|\n|,(?!\d)|，|\b(?:and|or)\b|&|\+|(?<=\s)(?:및|그리고|와|과)(?=\s)|および|並びに|以及|并且|和",
    regex.IGNORECASE,
)
_MOST_JOINTS = 12

_THOUSANDS = regex.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NUMBER_GAP = regex.compile(r"(?<=\d)[^\p{L}\p{M}\p{N}]+(?=\d)")
_OTHER = regex.compile(r"[^\p{L}\p{M}\p{N}. ]+|(?<!\d)[. ]|[. ](?!\d)")
_WIDE = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]")

_FIRM = regex.compile(r"[\d. 零〇一二三四五六七八九十百千万萬億亿半两兩不没沒无無未非否别勿莫안못않없]")
"""Characters that must not be missing in a quote: digits, numerals and negations."""

_SOFT = regex.compile(r"[^\d. \p{Han}\p{Hangul}]|[的了着过地得們们个个은는이가을를의에도로와과]")
"""Characters that may be superfluous or wrong. An ideograph or a syllable that is no particle carries a meaning."""

_TURNS = regex.compile(r"no|nt|never|without|except|unless|ない|なく|なかっ|ません|이상|이하|초과|미만")
"""Words that turn a meaning around. A quote must have as many of each as its place in the text."""

_TAIL = 4
"""So many characters ending a quote are free of errors. A sentence's end often negates it."""


def unescape(text: str) -> str:
    """Return a text with its JSON escapes decoded. If they are not valid, it stays as it is."""
    if "\\" not in text:
        return text
    try:
        return str(json.loads('"' + regex.sub(r'(?<!\\)"', r"\"", text.replace("\n", "\\n")) + '"'))
    except ValueError:
        return text


def letters(text: str) -> str:
    """Return a text's letters and digits, after NFKC and without regard to case.

    Numbers in a text stay apart. For example, "Ships in 3–5 days: 1,000.50 EUR" becomes "shipsin3 5days1000.50eur".
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    folded = _NUMBER_GAP.sub(lambda gap: "." if gap[0] == "." else " ", _THOUSANDS.sub("", folded))
    return str(_OTHER.sub("", folded))


class Haystack:
    """Texts that quotes are searched in."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = tuple(texts)

    @cached_property
    def _forms(self) -> tuple[str, ...]:
        forms = (letters(form) for text in self._texts for form in (text, unescape(text)))
        return tuple(dict.fromkeys(form for form in forms if form))

    @cached_property
    def _values(self) -> frozenset[str]:
        return frozenset(letters(value) for text in self._texts for value in _values(text))

    def holds(self, quote: str) -> bool:
        """Return whether every quote part is in some text.

        Quote parts are joined by an ellipsis, a semicolon, a comma, a line break, or a word such as "and".
        """
        sections = [section for section in _ELLIPSIS.split(quote) if letters(section)]
        shortest = SHORTEST if len(sections) < 2 or _length(letters(quote)) < SHORTEST else SHORTEST_PIECE
        return bool(sections) and all(self._has_joined(section, shortest) for section in sections)

    def _has_joined(self, section: str, shortest: int) -> bool:
        """Return whether a section is in a text, or can be cut at its joints into pieces that are."""
        if self._has(section, shortest):
            return True
        joints = list(_JOINT.finditer(section))[:_MOST_JOINTS]
        # The text itself may contain a joint, so each piece may reach over any number of them.
        starts = [0, *(joint.end() for joint in joints)]
        ends = [*(joint.start() for joint in joints), len(section)]
        reached = {0}
        for first, start in enumerate(starts):
            if first in reached:
                pieces = {last + 1: section[start : ends[last]] for last in range(first, len(ends))}
                reached |= {last for last, piece in pieces.items() if self._has(piece, SHORTEST)}
        return len(ends) in reached

    def _has(self, piece: str, shortest: int) -> bool:
        forms = dict.fromkeys((letters(piece), letters(unescape(piece))))
        return any(self._has_form(form, shortest) for form in forms if form)

    def _has_form(self, form: str, shortest: int) -> bool:
        if form in self._values:
            return True
        if _length(form) < shortest:
            return False
        return any(_contains(text, form) for text in self._forms) or any(_resembles(text, form) for text in self._forms)


def _values(text: str) -> Iterator[str]:
    """Yield the whole text, its lines, and the values of the JSON in it, also with their keys."""
    for line in dict.fromkeys((text, *text.splitlines())):
        yield line
        yield unescape(line)
        try:
            yield from _scalars(json.loads(line))
        except (ValueError, RecursionError):
            continue


def _scalars(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for key, member in value.items():
            if not isinstance(member, dict | list):
                yield f"{key} {_show_text(member)}"
            yield from _scalars(member)
    elif isinstance(value, list):
        for item in value:
            yield from _scalars(item)
    elif value is not None and not isinstance(value, bool):
        yield _show_text(value)


def _show_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _length(form: str) -> int:
    """Return a form's length. An ideograph, a kana or a syllable of Hangul says as much as two letters."""
    return len(form) + len(_WIDE.findall(form))


def _contains(text: str, form: str) -> bool:
    start = text.find(form)
    while start >= 0 and not _numbers_are_whole(text, start, start + len(form)):
        start = text.find(form, start + 1)
    return start >= 0


def _numbers_are_whole(text: str, start: int, end: int) -> bool:
    """Return whether a place in a text begins and ends outside numbers. For example, "500" is not in "1500"."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    cut_at_start = text[start : start + 1].isdigit() and (before[-1:].isdigit() or _is_fraction(before))
    cut_at_end = text[end - 1 : end].isdigit() and (after[:1].isdigit() or (after[:1] == "." and after[1:].isdigit()))
    return not cut_at_start and not cut_at_end


def _is_fraction(before: str) -> bool:
    return before[-1:] == "." and before[:1].isdigit()


def _resembles(text: str, form: str) -> bool:
    """Return whether a text contains a form with at most one typing error in ten characters."""
    most = len(form) // SPACING
    size = -(-len(form) // (most + 1))
    # Of more pieces than errors, one is free of errors, so the form can be near the places of its pieces only.
    starts: set[int] = set()
    for offset in range(0, len(form), size):
        for place in _places(text, form[offset : offset + size]):
            starts.update(range(max(0, place - offset - most), place - offset + most + 1))
    return any(_matches_at(text, form, start, most) for start in sorted(starts))


def _places(text: str, piece: str) -> Iterator[int]:
    place = text.find(piece)
    for _ in range(_MOST_ANCHORS):
        if place < 0:
            return
        yield place
        place = text.find(piece, place + 1)


def _matches_at(text: str, form: str, start: int, most: int) -> bool:
    """Return whether a form matches from some text place on, with at most so many errors."""
    pending = [(0, start, 0, SPACING)]
    for _ in range(_MOST_STEPS):
        if not pending:
            return False
        place, at, errors, since = pending.pop()
        # An error is tried only where characters differ: an alignment with an earlier error does not need fewer errors.
        while place < len(form) and at < len(text) and form[place] == text[at]:
            place, at, since = place + 1, at + 1, since + 1
        if place == len(form):
            ends_alike = since >= _TAIL or not errors
            if ends_alike and _numbers_are_whole(text, start, at) and _turns(form) == _turns(text[start:at]):
                return True
        elif errors < most and since >= SPACING - 1:
            pending += _errors(text, form, place, at, errors)
    return False


def _errors(text: str, form: str, place: int, at: int, errors: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield the states after an error at a place: a superfluous, a missing or a wrong character."""
    if _SOFT.match(form[place]):
        yield place + 1, at, errors + 1, 0
    if at == len(text) or _FIRM.match(text[at]):
        return
    yield place, at + 1, errors + 1, 0
    if (_SOFT.match(form[place]) and _SOFT.match(text[at])) or _differ_by_a_letter(form[place], text[at]):
        yield place + 1, at + 1, errors + 1, 0


def _differ_by_a_letter(first: str, second: str) -> bool:
    """Return whether two syllables of Hangul differ in one of their two or three letters, as 됬 and 됐."""
    letters_of_both = [unicodedata.normalize("NFD", syllable) for syllable in (first, second)]
    lengths = {len(syllable) for syllable in letters_of_both}
    return lengths in ({2}, {3}) and sum(map(str.__ne__, *letters_of_both)) == 1


def _turns(form: str) -> list[str]:
    return sorted(_TURNS.findall(form))
