"""Calculations with at most two values that an agent was given, or that its reply names.

Any number is the sum or the quotient of some two of sixty values. A pair of values counts only in these cases: the reply
or the user names both, both stand in a text of few values, or one of them is a number of things in the sentence of the
result, as in "two tickets cost $284".
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import combinations, pairwise, permutations
from typing import TYPE_CHECKING

from fairtrial.text.facts.fact import NUMBER, Fact, Reading
from fairtrial.text.facts.units import CURRENCY
from fairtrial.text.lazy_pattern import LazyPattern

if TYPE_CHECKING:
    from fairtrial.text.facts.json_evidence import Value

_MOST_NAMED = 40
"""The number of values of a reply and of the user that are combined in pairs."""
_SMALL = 20
_SMALLEST = 10
MOST_IN_SHORT = 10
"""The number of values of a text whose pairs are combined."""
_DAY = 86400.0
_NEAR = 200
"""The number of characters between two clock times or dates of a text whose difference is a time span."""
_SENTENCE = LazyPattern(r"[.!?](?=\s|$)|[。!?！？\n]")
_BOTH = LazyPattern(r"(?i)\bboth\b|둘 다|두 |両方|两|兩")


class SortedNumbers:
    """Numbers in their order, each with a place, which is returned for the numbers of an interval."""

    def __init__(self, numbers: Iterable[tuple[float, int]]) -> None:
        self._pairs = sorted(numbers)
        self._numbers = [number for number, _ in self._pairs]

    def find_between(self, low: float, high: float) -> Iterator[int]:
        """Yield the places of the numbers from `low` to `high`, both included."""
        for place in range(bisect_left(self._numbers, low), bisect_right(self._numbers, high)):
            yield self._pairs[place][1]

    def find_near(self, number: float, apart: float) -> Iterator[int]:
        """Yield the places of the numbers that differ by at most `apart`."""
        return self.find_between(number - apart, number + apart)


@dataclass(frozen=True)
class Calculations:
    """The values of all texts, those that follow from lists, those that the reply or the user names, and short texts."""

    values: Sequence[Fact]
    lists: Sequence[Value]
    spans: Sequence[float]
    named: Sequence[Fact]
    short: Sequence[Sequence[Fact]]
    reply: str
    reply_facts: Sequence[Fact]

    def explain(self, fact: Fact) -> str:
        """Return a calculation whose result is a fact of the reply, or an empty text."""
        for reading in fact.readings:
            if isinstance(reading.value, (int, float)):
                calculation = next(self._results(fact, reading, float(reading.value)), "")
                if calculation:
                    return calculation
        return ""

    def _results(self, fact: Fact, reading: Reading, value: float) -> Iterator[str]:
        """Yield the calculations whose result is a value, in base units or in the unit in which it is written."""
        near = 0.5 * reading.step * (1 + 1e-9)
        written, rounding = reading.as_written, 0.5 * last_digit(reading)
        if reading.dimension == "time":
            yield from ("the time between two times" for span in self.spans if _is_span(span, value, reading.step))
        for item in self.lists:
            if abs(item.number - written) <= rounding or item.number == written:
                yield item.how
        if reading.dimension.startswith(CURRENCY):
            # "You are overdrawn by £45.20" if the balance is -45.20.
            yield from (f"{a:g} without its sign" for a in self._near((-written, 0.0)))
        if reading.dimension == "percent":
            shares = self._near((value / 100, 1.1e-8 * abs(value)))
            yield from (f"{a:g} in %" for a in shares if abs(100 * a - value) <= 1e-6 * abs(value))
            yield from _percentages(self._numbers(-1, NUMBER), value, near)
        if abs(written) < _SMALLEST and written == int(written):
            # A small result of two values that nobody names is mostly chance.
            yield from self._small_results(self._numbers(-1, NUMBER), written)
            return
        for place in range(-1, len(self.short)):
            yield from self._pairs(place, NUMBER).find(written, rounding)
            if reading.dimension not in {NUMBER, "percent"}:
                yield from self._pairs(place, reading.dimension).find(value, near)
        for count in self._counts(fact):
            # Those whose product or quotient with it may be the number.
            product = (written / count, 1.1e-6 * abs(written))
            quotient = (written * count, 1.01 * rounding * count + 1e-12)
            yield from _multiples([count], self._near(product, quotient), written, rounding)

    @cached_property
    def _given_values(self) -> tuple[list[float], SortedNumbers]:
        """All values as they are written, and their order by size."""
        values = numbers(self.values, NUMBER)
        return values, SortedNumbers((number, place) for place, number in enumerate(values))

    def _near(self, *intervals: tuple[float, float]) -> list[float]:
        """Return the values that are near one of some numbers, each with its largest difference."""
        values, order = self._given_values
        return [values[place] for place in sorted({place for item in intervals for place in order.find_near(*item)})]

    def _numbers(self, place: int, dimension: str) -> list[float]:
        """Return the values of a dimension that are named, or those of a short text."""
        key = (place, dimension)
        if key not in self._known:
            self._known[key] = numbers(self.short[place] if place >= 0 else self.named, dimension)
        return self._known[key]

    @cached_property
    def _known(self) -> dict[tuple[int, str], list[float]]:
        return {}

    def _pairs(self, place: int, dimension: str) -> PairResults:
        """Return the results of two values of a dimension that are named, or of a short text."""
        key = (place, dimension)
        if key not in self._results_by_key:
            self._results_by_key[key] = PairResults(self._numbers(*key))
        return self._results_by_key[key]

    @cached_property
    def _results_by_key(self) -> dict[tuple[int, str], PairResults]:
        return {}

    def _small_results(self, named: Sequence[float], written: float) -> Iterator[str]:
        yield from self._pairs(-1, NUMBER).find(written, 0.0)
        for values in (self._numbers(place, NUMBER) for place in range(len(self.short))):
            for a in (item for item in values if item in named):
                for b in values:
                    yield from PairResults((a, b)).find(written, 0.0)

    def _counts(self, fact: Fact) -> list[float]:
        """Return the small numbers of things that the sentence of a fact names, for example 2 for "both"."""
        start = max((match.end() for match in _SENTENCE.finditer(self.reply, 0, fact.start)), default=0)
        match = _SENTENCE.search(self.reply, fact.end)
        end = match.start() if match else len(self.reply)
        inside = [item for item in self.reply_facts if start <= item.start < end and item is not fact]
        counts = [number for number in numbers(inside, NUMBER) if 1 < number <= _SMALL and number == int(number)]
        return [2.0, *counts] if _BOTH.search(self.reply, start, end) else counts


def numbers(facts: Iterable[Fact], dimension: str) -> list[float]:
    """Return the different values of a dimension, at most 40. `number` is any value as it is written."""
    values: dict[float, None] = {}
    for fact in facts:
        for reading in fact.readings:
            if isinstance(reading.value, (int, float)) and dimension in {reading.dimension, NUMBER}:
                values[reading.as_written if dimension == NUMBER else float(reading.value)] = None
    return list(values)[:_MOST_NAMED] if dimension != NUMBER else list(values)


def find_spans(facts: Sequence[Fact]) -> Iterator[float]:
    """Yield the seconds between a clock time or a date and the next of its text, if they are near each other."""
    for dimension in ("clock", "date"):
        hits = [fact for fact in facts if fact.readings[0].dimension == dimension]
        for former, latter in pairwise(hits):
            a, b = former.readings[0].value, latter.readings[0].value
            if latter.start - former.end > _NEAR or not isinstance(a, tuple) or not isinstance(b, tuple):
                continue
            if dimension == "clock":
                # The keys of a result may be in any order, and an arrival on the next day.
                minutes = abs((b[0] or 0) - (a[0] or 0))
                yield from (60.0 * minutes, 60.0 * (1440 - minutes))
            elif (first := _ordinal(a)) and (last := _ordinal(b)):
                yield abs(last - first) * _DAY


def _is_span(span: float, seconds: float, step: float) -> bool:
    """Return whether a time span is written to its last digit. Days may count their first day, and need not."""
    return abs(span - seconds) <= (max(0.5 * step, 30) if step < _DAY else step if step == _DAY else 0.5 * step)


def last_digit(reading: Reading) -> float:
    """Return the value of one unit of the last digit, in the unit in which the number is written."""
    factor = (
        float(reading.value) / reading.as_written
        if reading.as_written and isinstance(reading.value, (int, float))
        else 1.0
    )
    return reading.step / abs(factor) if factor else reading.step


def _percentages(values: Sequence[float], value: float, near: float) -> Iterator[str]:
    for a in values:
        if abs(100 - a - value) <= near:
            yield f"100 - {a:g}"
    for a, b in permutations(values[:_MOST_NAMED], 2):
        if b and min(abs(100 * a / b - value), abs(abs(100 * a / b - 100) - value)) <= near:
            yield f"{a:g} of {b:g} in %"


class PairResults:
    """The sums, differences, products and quotients of two of some values, at most 40, in the order of their size."""

    def __init__(self, values: Sequence[float]) -> None:
        self._results = [item for a, b in combinations(values[:_MOST_NAMED], 2) for item in _combine(a, b)]
        self._order = SortedNumbers((result, place) for place, (_, result, _, _) in enumerate(self._results))

    def find(self, value: float, near: float) -> Iterator[str]:
        """Yield the calculations whose result is a value. Only a quotient is rounded, to the last digit of the value."""
        exact = min(1e-6 * abs(value), near)
        for place in sorted({*self._order.find_near(value, near), *self._order.find_near(abs(value), exact)}):
            sign, result, a, b = self._results[place]
            target = abs(value) if sign == "-" else value
            if abs(result - target) <= (near if sign == "/" else exact):
                yield f"{a:g} {sign} {b:g}"


def _combine(a: float, b: float) -> Iterator[tuple[str, float, float, float]]:
    """Yield the sign, the result and the values of each calculation.

    Two small whole numbers are not added: they are often no quantities of one kind, as 3 times a day and 7 days.
    """
    if not (_is_small(a) and _is_small(b)):
        yield "+", a + b, a, b
        yield "-", abs(a - b), max(a, b), min(a, b)
    if min(abs(a), abs(b)) > 1:
        yield "×", a * b, a, b
        if abs(a) != abs(b):
            large, small = (a, b) if abs(a) > abs(b) else (b, a)
            yield "/", large / small, large, small


def _multiples(counts: Sequence[float], values: Sequence[float], value: float, near: float) -> Iterator[str]:
    for count in counts:
        for a in values:
            if min(abs(a), abs(count)) <= 1:
                continue
            if abs(a * count - value) <= min(1e-6 * abs(value), near):
                yield f"{a:g} × {count:g}"
            if abs(a) > abs(count) and abs(a / count - value) <= near:
                yield f"{a:g} / {count:g}"


def _is_small(value: float) -> bool:
    return abs(value) < _SMALL and value == int(value)


def _ordinal(parts: tuple[int | None, ...]) -> int:
    year, month, day = parts
    if month is None or day is None:
        return 0
    try:
        return date(year or 2000, month, day).toordinal()
    except ValueError:
        return 0
