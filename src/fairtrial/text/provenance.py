"""Trace a value of a call to its sources: the messages of the user, the results of tools, or none of them."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import TYPE_CHECKING, NamedTuple

from fairtrial.text.facts.fact import NUMBER, Fact, Reading
from fairtrial.text.facts.fact_equality import equal_facts
from fairtrial.text.facts.fact_reading import read_facts
from fairtrial.text.facts.json_evidence import list_values

if TYPE_CHECKING:
    from fairtrial.records.record import Json

MADE_UP = "made up"
"""The source of a value that stands in no source."""
_LONGEST_VALUE = 400
_LONGEST_SOURCE = 100_000
_LONGEST_CODE = 60
_MOST_LEAVES = 40
_MOST_NUMBERS = 40
_MOST_WORDS = 8
_SHORT = 6
"""A text of at least this length may stand anywhere in a source. A shorter text must be a word of its own."""
_SEPARATORS = r"[\s\-_.()#/+]"
_SPLIT = re.compile(r"[\s<>\"'“”„()\[\]{};|、，,：]+|(?<=\w):(?=\s)")
_CODE = re.compile(r"(?=[^\d]*\d)[^\W_]+")
_NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d{1,18})(?:\.\d{1,18})?")
_DIGITS = re.compile(r"[\d\s()+.-]{7,}")
_LATIN = re.compile(r"[a-z]")
_OTHER_SCRIPT = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
_CALENDAR = ("date", "time")
_RELATIVE = ("day", "weekday", "period")


class Piece(NamedTuple):
    """A part of a value, and the sources that hold it. No sources: nobody can tell where it comes from.

    A piece that certainly stands in no source has the source `made up`.
    """

    text: str
    sources: frozenset[str]


@dataclass
class SourceTexts:
    """The texts of one source, in the forms in which values are looked up. They are made when they are needed."""

    name: str
    contents: tuple[Json, ...]
    text: str = ""
    leaves: frozenset[str] = frozenset()
    _facts: tuple[Fact, ...] | None = field(default=None, repr=False)
    _numbers: frozenset[float] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        leaves = [text for content in self.contents for text in _leaf_texts(content)]
        self.leaves = frozenset(map(fold, leaves))
        self.text = fold("\n".join(leaves))[:_LONGEST_SOURCE]

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The numbers, dates and codes of the texts."""
        if self._facts is None:
            self._facts = read_facts(self.text)
        return self._facts

    @property
    def numbers(self) -> frozenset[float]:
        """Every number of the texts, as written and in base units."""
        if self._numbers is None:
            readings = [reading for fact in self.facts for reading in fact.readings]
            numbers = {_round(reading.as_written) for reading in readings if reading.as_written}
            numbers |= {_round(reading.value) for reading in readings if isinstance(reading.value, (int, float))}
            numbers |= {_round(value) for leaf in self.leaves if (value := _as_number(leaf)) is not None}
            self._numbers = frozenset(numbers)
        return self._numbers

    def derives(self, number: float) -> bool:
        """Return whether a number follows from lists of a result, for example as the sum of its prices."""
        lists = (value.number for content in self.contents for value in islice(list_values(content), 400))
        return any(math.isclose(number, value, rel_tol=1e-9) for value in lists)


def trace_value(value: Json, sources: Sequence[SourceTexts]) -> tuple[Piece, ...]:
    """Return the pieces of a value with their sources.

    Texts are compared after normalisation: width and case of letters, white space, separators in ids, numerals in words
    and in groups, and forms of dates. Names that were joined are traced word by word. Prose, small numbers, truth
    values and words that may be a translation have no sources if none holds them, because they prove nothing.
    """
    pieces: dict[Piece, None] = {}
    for leaf in islice(_leaves(value), _MOST_LEAVES):
        pieces |= dict.fromkeys(_trace_leaf(leaf, sources))
    return tuple(pieces)


def fold(text: str) -> str:
    """Return a text in small half-width letters, with single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _leaves(value: Json) -> Iterator[str | float]:
    """Yield the texts and numbers of a value. Truth values and nulls say nothing about their source."""
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, Mapping):
            rest += reversed(list(item.values()))
        elif isinstance(item, list | tuple):
            rest += reversed(item)
        elif isinstance(item, str):
            if item.strip():
                yield item
        elif isinstance(item, int | float) and not isinstance(item, bool):
            yield item


def _leaf_texts(content: Json) -> Iterator[str]:
    if isinstance(content, str):
        yield content
        # Many tools answer with JSON in a text.
        if content.lstrip()[:1] in ("{", "[") and len(content) <= _LONGEST_SOURCE:
            try:
                content = json.loads(content)
            except (ValueError, RecursionError):
                return
        else:
            return
    for leaf in _leaves(content):
        yield leaf if isinstance(leaf, str) else _plain(leaf)


def _plain(number: float) -> str:
    return str(int(number)) if float(number).is_integer() and abs(number) < 1e15 else repr(number)


def _round(number: float) -> float:
    return float(f"{number:.12g}")


def _as_number(text: str) -> float | None:
    return float(text.replace(",", "")) if len(text) <= 40 and _NUMBER.fullmatch(text) else None


def _trace_leaf(leaf: str | float, sources: Sequence[SourceTexts]) -> Iterator[Piece]:
    text = fold(leaf if isinstance(leaf, str) else _plain(leaf))[:_LONGEST_VALUE]
    whole = _find(text, sources)
    if whole:
        yield Piece(text, whole)
        return
    number = leaf if not isinstance(leaf, str) else _as_number(text)
    if number is not None:
        yield Piece(text, _without_number(float(number), sources, is_id=isinstance(leaf, str)))
        return
    facts = _calendar_facts(text)
    if facts:
        relative = any(fact.kind in _RELATIVE for source in sources for fact in source.facts)
        yield Piece(text, frozenset() if relative else frozenset({MADE_UP}))
        return
    if _DIGITS.fullmatch(text):
        yield Piece(text, frozenset({MADE_UP}))  # the groups of a telephone or an account are no words
        return
    yield from _trace_words(text, sources)


def _without_number(number: float, sources: Sequence[SourceTexts], *, is_id: bool) -> frozenset[str]:
    """Return the sources of a number that stands nowhere: those that it follows from, none, or `made up`."""
    derived = frozenset(source.name for source in sources if source.derives(number))
    if derived:
        return derived
    if abs(number) < 10 and not is_id:
        return frozenset()  # a count or a page is rarely written down
    everywhere = islice((value for source in sources for value in source.numbers), _MOST_NUMBERS)
    for former, latter in combinations(everywhere, 2):
        results = (former + latter, former - latter, latter - former, former * latter)
        if any(math.isclose(number, result, rel_tol=1e-9) for result in results):
            return frozenset()
    return frozenset({MADE_UP})


def _trace_words(text: str, sources: Sequence[SourceTexts]) -> Iterator[Piece]:
    """Yield the words of a joined text with their sources. A text of many words is prose, whose source is not known."""
    words = [word for part in _SPLIT.split(text) if _is_word(word := part.strip(".!?"))]
    if len(words) > _MOST_WORDS or not words:
        yield Piece(text, frozenset())
        return
    found = [(word, _find(word, sources)) for word in words]
    common = frozenset.intersection(*(names for _, names in found))
    if common:
        yield Piece(text, common)
        return
    if not any(names for _, names in found):
        yield Piece(text, _nowhere(text, sources))
        return
    # Of a name and an address, each has sources of its own, and neighbours with a common source are one piece.
    pieces: list[Piece] = []
    for word, names in found:
        shared = pieces[-1].sources & names if pieces else frozenset()
        if pieces and (shared or pieces[-1].sources == names):
            pieces[-1] = Piece(f"{pieces[-1].text} {word}", shared or names)
        else:
            pieces.append(Piece(word, names or _nowhere(word, sources)))
    yield from pieces


def _is_word(text: str) -> bool:
    """Return whether a text is more than a letter. A Chinese name may have one character."""
    return len(text) > 1 or text.isdigit() or _OTHER_SCRIPT.match(text) is not None


def _nowhere(text: str, sources: Iterable[SourceTexts]) -> frozenset[str]:
    """Return `made up` for a text that stands in no source, or nothing if it may be a translation."""
    if _CODE.search(text) is None and "@" not in text:
        is_latin = _LATIN.search(text) is not None
        other = (_OTHER_SCRIPT if is_latin else _LATIN).search
        if any(other(source.text) for source in sources if source.text):
            return frozenset()
    return frozenset({MADE_UP})


def _find(text: str, sources: Sequence[SourceTexts]) -> frozenset[str]:
    """Return the sources that hold a text, in any of its forms."""
    pattern, number, dates = _pattern(text), _as_number(text), _calendar_facts(text)

    def holds(source: SourceTexts) -> bool:
        if text in source.leaves or pattern.search(source.text) is not None:
            return True
        if number is not None and _round(number) in source.numbers:
            return True
        return any(
            equal_facts(date, fact) or equal_facts(fact, date)
            for date in dates
            for fact in source.facts
            if fact.kind in _CALENDAR
        )

    return frozenset(source.name for source in sources if holds(source))


def _pattern(text: str) -> re.Pattern[str]:
    """Return a pattern for a text with any separators, if it is a code, or for the text as it stands.

    Each character stands for itself, and at most one separator follows it, so that the time is linear.
    """
    plain = re.sub(_SEPARATORS, "", text)
    is_code = any(sign.isdigit() for sign in plain) and len(plain) <= _LONGEST_CODE
    if is_code and "@" not in text and "://" not in text and len(plain) >= _SHORT - 1:
        body = rf"{_SEPARATORS}{{0,2}}".join(map(re.escape, plain))
    else:
        body = re.escape(text)
    # Letters and digits of other scripts have no spaces around them, so that only ASCII has edges.
    before = r"(?<![a-z0-9])" if text[:1].isascii() and text[:1].isalnum() else ""
    after = r"(?![a-z0-9])" if text[-1:].isascii() and text[-1:].isalnum() else ""
    return re.compile(before + body + after)


def _calendar_facts(text: str) -> tuple[Fact, ...]:
    """Return the date or time that a value is, or nothing if it is more than that."""
    if len(text) > _LONGEST_CODE or not any(sign.isdigit() for sign in text):
        return ()
    facts = [fact for fact in read_facts(text) if fact.kind in _CALENDAR]
    covered = sum(fact.end - fact.start for fact in facts)
    if not facts or covered < len(text.replace("t", " ").strip()) - 4:
        return ()
    return tuple(Fact(fact.kind, _calendar_readings(fact), fact.start, fact.end) for fact in facts[:1])


def _calendar_readings(fact: Fact) -> tuple[Reading, ...]:
    return tuple(reading for reading in fact.readings if reading.dimension != NUMBER)
