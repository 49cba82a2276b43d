"""Calculations with at most two values that an agent was given, or that its reply names.

Any number is the sum or the quotient of some two of sixty values. A pair of values counts only in these cases: the reply
or the user names both, both stand in a text of few values, or one of them is a number of things in the sentence of the
result, as in "two tickets cost $284".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
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
        given = numbers(self.values, NUMBER)
        if reading.dimension.startswith(CURRENCY):
            # "You are overdrawn by £45.20" if the balance is -45.20.
            yield from (f"{a:g} without its sign" for a in given if a == -written)
        named = [item for item in self.named if item is not fact]
        if reading.dimension == "percent":
            yield from (f"{a:g} in %" for a in given if abs(100 * a - value) <= 1e-6 * abs(value))
            yield from _percentages(numbers(named, NUMBER), value, near)
        if abs(written) < _SMALLEST and written == int(written):
            # A small result of two values that nobody names is mostly chance.
            yield from self._small_results(numbers(named, NUMBER), written)
            return
        for facts in (named, *self.short):
            yield from _pairs(numbers(facts, NUMBER), written, rounding)
            if reading.dimension not in {NUMBER, "percent"}:
                yield from _pairs(numbers(facts, reading.dimension), value, near)
        yield from _multiples(self._counts(fact), given, written, rounding)

    def _small_results(self, named: Sequence[float], written: float) -> Iterator[str]:
        yield from _pairs(named, written, 0.0)
        for values in (numbers(facts, NUMBER) for facts in self.short):
            for a in (item for item in values if item in named):
                for b in values:
                    yield from _pairs((a, b), written, 0.0)

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


def _pairs(values: Sequence[float], value: float, near: float) -> Iterator[str]:
    """Yield the sums, differences, products and quotients of two values that are a value.

    Only a quotient is rounded, to the last digit of the value. Two small whole numbers are not added: they are often
    no quantities of one kind, as 3 times a day and 7 days.
    """
    exact = min(1e-6 * abs(value), near)
    for a, b in combinations(values[:_MOST_NAMED], 2):
        if not (_is_small(a) and _is_small(b)):
            if abs(a + b - value) <= exact:
                yield f"{a:g} + {b:g}"
            if abs(abs(a - b) - abs(value)) <= exact:
                yield f"{max(a, b):g} - {min(a, b):g}"
        yield from _multiples([b], [a], value, near)
        yield from _multiples([a], [b], value, near)


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
