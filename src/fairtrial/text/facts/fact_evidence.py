"""Evidence of facts: the texts that an agent received, and calculations with two of their numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import combinations, permutations
from typing import NamedTuple

from fairtrial.text.facts.fact import NUMBER, Fact, Reading
from fairtrial.text.facts.fact_equality import equal_facts
from fairtrial.text.facts.fact_reading import read_facts
from fairtrial.text.facts.json_evidence import Value, decode, list_values, quantities
from fairtrial.text.facts.names import places_in
from fairtrial.text.facts.units import CURRENCY
from fairtrial.text.facts.word_patterns import LazyPattern

_MOST_OPERANDS = 60
"""The number of values that are combined in pairs, the last ones in the texts. More would yield nearly any number."""
_SMALL = 20
_DAY = 86400.0
_AIRPORT = LazyPattern(r"(?<![A-Za-z])[A-Z]{3}(?![A-Za-z])")
_COUNT_DIMENSIONS = {NUMBER, "percent"}


class Support(NamedTuple):
    """Why a fact holds: the name of the text that says so, or a calculation. Both are empty if nothing supports it."""

    source: str = ""
    calculation: str = ""

    def __bool__(self) -> bool:
        return bool(self.source or self.calculation)


class _TextFacts(NamedTuple):
    """The content of a text: its facts, the values that follow from its lists, and its places."""

    facts: tuple[Fact, ...]
    list_values: tuple[Value, ...]
    places: frozenset[int]
    names_airports: bool


class EvidenceTexts:
    """Reads each text of a conversation once, also if it is evidence of several replies."""

    def __init__(self, read: Callable[[str], Sequence[Fact]] = read_facts) -> None:
        self._read = read
        self._facts_by_text: dict[str, _TextFacts] = {}

    def __call__(self, texts: Mapping[str, str]) -> Evidence:
        """Return the evidence of texts by name, such as the user's messages and the results of tools."""
        return Evidence({name: self._read_text(text) for name, text in texts.items()})

    def _read_text(self, text: str) -> _TextFacts:
        if text not in self._facts_by_text:
            content = decode(text)
            facts = [*self._read(text)]
            if content is not None:
                facts += [fact for quantity in quantities(content) for fact in self._read(quantity)]
            places = frozenset(place for _, _, place in places_in(text))
            self._facts_by_text[text] = _TextFacts(
                tuple(dict.fromkeys(facts)), tuple(list_values(content)), places, bool(_AIRPORT.search(text))
            )
        return self._facts_by_text[text]


@dataclass(frozen=True)
class Evidence:
    """Texts by name, and the facts that follow from them."""

    texts: Mapping[str, _TextFacts]

    @cached_property
    def facts(self) -> tuple[tuple[str, Fact], ...]:
        """The facts that the texts state, with the names of their texts."""
        return tuple((name, fact) for name, content in self.texts.items() for fact in content.facts)

    @cached_property
    def _by_dimension(self) -> dict[str, list[tuple[str, Fact]]]:
        groups: dict[str, list[tuple[str, Fact]]] = {}
        for name, fact in self.facts:
            for dimension in fact.dimensions:
                groups.setdefault(dimension, []).append((name, fact))
        return groups

    def supports(self, fact: Fact, *, computed: bool = True) -> Support:
        """Return the support of a fact: a text that states it, or a calculation with at most two values of the texts."""
        other_unit = any(_same_number_other_unit(fact, evidence) for _, evidence in self.facts)
        for name, evidence in self.facts:
            if equal_facts(fact, evidence) and not (other_unit and evidence.readings[0].dimension == NUMBER):
                return Support(name)
        return Support(calculation=self._calculation(fact)) if computed else Support()

    def _calculation(self, fact: Fact) -> str:
        for reading in fact.readings:
            if isinstance(reading.value, (int, float)):
                calculation = next(self._results(reading, float(reading.value)), "")
                if calculation:
                    return calculation
        return ""

    def _results(self, reading: Reading, value: float) -> Iterator[str]:
        """Yield the calculations whose result is a value, in base units or in the unit in which it is written."""
        near = 0.5 * reading.step * (1 + 1e-9)
        if reading.dimension == "time":
            yield from self._spans(value, near)
        for item in (value for content in self.texts.values() for value in content.list_values):
            if abs(item.number - reading.as_written) <= max(1e-6 * abs(item.number), 0.5 * _last_digit(reading)):
                yield item.how
        as_written = self._operands(NUMBER)
        if reading.dimension.startswith(CURRENCY):
            # "You are overdrawn by £45.20" if the balance is -45.20.
            yield from (f"{a:g} without its sign" for a in as_written if a == -reading.as_written)
        if reading.dimension == "percent":
            yield from _percentages(as_written, value, near)
        yield from _pairs(as_written, reading.as_written, 0.5 * _last_digit(reading))
        if reading.dimension not in _COUNT_DIMENSIONS:
            yield from _pairs(self._operands(reading.dimension), value, near)

    def _operands(self, dimension: str) -> list[float]:
        """Return the last different values of a dimension, at most 60. `number` is any value as it is written."""
        values: dict[float, None] = {}
        for _, fact in reversed(self.facts):
            for reading in fact.readings:
                if isinstance(reading.value, (int, float)) and dimension in {reading.dimension, NUMBER}:
                    values[reading.as_written if dimension == NUMBER else float(reading.value)] = None
            if len(values) >= _MOST_OPERANDS:
                break
        return list(values)

    def _spans(self, seconds: float, near: float) -> Iterator[str]:
        """Yield the differences of two clock times or two dates that are a time span."""
        clocks = [minute for minute, _ in self._tuples("clock")]
        for a, b in combinations(dict.fromkeys(clocks[-_MOST_OPERANDS:]), 2):
            if a is not None and b is not None and abs((abs(a - b) % 1440) * 60 - seconds) <= max(near, 30):
                yield "the time between two clock times"
            if a is not None and b is not None and abs((1440 - abs(a - b)) * 60 - seconds) <= max(near, 30):
                yield "the time between two clock times"
        days = [_ordinal(parts) for parts in self._tuples("date")]
        for former, latter in combinations(dict.fromkeys(days[-_MOST_OPERANDS:]), 2):
            if former and latter and abs(abs(former - latter) - seconds / _DAY) <= 1:
                yield "the days between two dates"

    def _tuples(self, dimension: str) -> list[tuple[int | None, ...]]:
        return [
            reading.value
            for _, fact in self._by_dimension.get(dimension, ())
            for reading in fact.readings
            if reading.dimension == dimension and isinstance(reading.value, tuple)
        ]

    def foreign_places(self, reply: str) -> list[tuple[int, int]]:
        """Return the cities and countries of a reply that no text names, with their offsets.

        If the texts name no place, or name airports by three letters, the list is empty.
        """
        places = frozenset[int]().union(*(content.places for content in self.texts.values()))
        if not places or any(content.names_airports for content in self.texts.values()):
            return []
        return [(start, end) for start, end, place in places_in(reply) if place not in places]


def _last_digit(reading: Reading) -> float:
    """Return the value of one unit of the last digit, in the unit in which the number is written."""
    factor = (
        float(reading.value) / reading.as_written
        if reading.as_written and isinstance(reading.value, (int, float))
        else 1.0
    )
    return reading.step / abs(factor) if factor else reading.step


def _percentages(values: Sequence[float], value: float, near: float) -> Iterator[str]:
    for a in values:
        if abs(100 * a - value) <= 1e-6 * abs(value):
            yield f"{a:g} in %"
        if abs(100 - a - value) <= near:
            yield f"100 - {a:g}"
    for a, b in permutations(values, 2):
        if b and min(abs(100 * a / b - value), abs(abs(100 * a / b - 100) - value)) <= near:
            yield f"{a:g} of {b:g} in %"


def _pairs(values: Sequence[float], value: float, near: float) -> Iterator[str]:
    """Yield the sums, differences, products and quotients of two values that are a value.

    Only a quotient is rounded, to the last digit of the value. Two small whole numbers are not added: they are often
    no quantities of one kind, as 3 times a day and 7 days.
    """
    exact = 1e-6 * abs(value)
    for a, b in combinations(values, 2):
        if not (_is_small(a) and _is_small(b)):
            if abs(a + b - value) <= exact:
                yield f"{a:g} + {b:g}"
            if abs(abs(a - b) - abs(value)) <= exact:
                yield f"{max(a, b):g} - {min(a, b):g}"
        if abs(a * b - value) <= exact and min(abs(a), abs(b)) > 1:
            yield f"{a:g} × {b:g}"
        for above, below in ((a, b), (b, a)):
            if abs(below) > 1 and abs(above) > abs(below) and abs(above / below - value) <= near:
                yield f"{above:g} / {below:g}"


def _is_small(value: float) -> bool:
    return abs(value) < _SMALL and value == int(value)


def _same_number_other_unit(fact: Fact, evidence: Fact) -> bool:
    """Return whether two facts have the same number with two units of one dimension, as 250 g and 250 mg."""
    former, latter = fact.readings[0], evidence.readings[0]
    same = former.dimension == latter.dimension != NUMBER and former.as_written == latter.as_written
    return same and not equal_facts(fact, evidence)


def _ordinal(parts: tuple[int | None, ...]) -> int:
    year, month, day = parts
    if month is None or day is None:
        return 0
    try:
        return date(year or 2000, month, day).toordinal()
    except ValueError:
        return 0


def find_checkable(reply: str, facts: Iterable[Fact]) -> Sequence[Fact]:
    """Return the facts that a reply has to take from somewhere.

    Weak facts, relative days and periods, and the English words for 0, 1 and 2 without a unit are no such
    facts.
    """
    return [
        fact for fact in facts if not fact.weak and fact.kind not in {"day", "period"} and not _is_prose(reply, fact)
    ]


def _is_prose(reply: str, fact: Fact) -> bool:
    text = reply[fact.start : fact.end]
    value = fact.readings[0].value
    in_words = not any(sign.isdigit() for sign in text)
    if fact.kind == "number" and isinstance(value, (int, float)):
        return in_words and text.isascii() and value in {0.0, 1.0, 2.0}
    return in_words and fact.kind == "quantity" and fact.readings[0].as_written == 1.0
