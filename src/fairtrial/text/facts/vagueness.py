"""Vaguer values: a year for a date, a decade for a year, a round number, a range. They neither state nor deny a fact."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from fairtrial.text.facts.decades import YEARS
from fairtrial.text.facts.fact import NUMBER, Fact, Reading
from fairtrial.text.facts.finding import Finding
from fairtrial.text.facts.units import CURRENCY
from fairtrial.text.lazy_pattern import LazyPattern

IN_RANGE = "the reply states a range that includes it"
_BETWEEN = LazyPattern(r"(?i)\s?(?:-|–|—|~|〜|to|and|until|till|through|から|至|到|에서)\s?")


_CALENDAR = frozenset({"date", YEARS, "clock", "weekday", "day"})


def find_vaguer(
    fact: Fact, expected: Sequence[Fact], actual: Sequence[Fact], texts: tuple[str, str]
) -> tuple[Fact, str] | None:
    """Return the first fact of a reply that is vaguer than a fact of the reference and includes it, and why.

    `texts` are the reference and the reply. A fact that has a bound or is an end of a range is exact:
    only a decade or a century includes it.
    """
    is_exact = bool(fact.bound) or any(fact in ends for ends in _ranges(expected, texts[0]))
    for counterpart in actual:
        if is_exact and counterpart.readings[0].dimension != YEARS:
            continue
        why = _why(fact, counterpart)
        if why:
            return counterpart, why
    if is_exact:
        return None
    for first, last in _ranges(actual, texts[1]):
        if _holds(first, last, fact):
            return first, IN_RANGE
    return None


def soften_ranges(
    findings: Sequence[Finding], expected: Sequence[Fact], extra: Sequence[Fact], reference: str
) -> list[Finding]:
    """Return the findings, those of a range undecided if the reply states one end of it, or a value inside it.

    The value is a year, or a number that the reply calls approximate: "around 60 million" for "50 to 90 million".
    """
    softened = list(findings)
    for first, last in _ranges(expected, reference):
        read: Callable[[Fact], float | None] = (
            _year if _year(first) is not None else _read_numbers(first.readings[0].dimension)
        )
        begin, end = read(first), read(last)
        if begin is None or end is None:
            continue
        values = [(fact, read(fact)) for fact in extra if read is _year or fact.about]
        inside = next((fact for fact, value in values if value is not None and begin <= value <= end), None)
        ends = [number for number, item in enumerate(softened) if item.fact in {first, last}]
        one_end = next((softened[number].counterpart for number in ends if softened[number].state == "found"), None)
        if one_end and read is not _year and not one_end.about:
            continue
        counterpart = one_end or inside
        for number in ends if counterpart else ():
            if softened[number].state in {"missing", "contradicted"}:
                why = (
                    "the reply states one end of the range" if one_end else "the reply states a value inside the range"
                )
                softened[number] = Finding(softened[number].fact, "undecided", counterpart, why)
    return softened


def _read_numbers(dimension: str) -> Callable[[Fact], float | None]:
    """Return a function that returns the value of a fact of a dimension: of an end of a range, or of "around 60"."""

    def read(fact: Fact) -> float | None:
        first = fact.readings[0]
        return first.value if first.dimension == dimension and isinstance(first.value, float) else None

    return read


def _year(fact: Fact) -> int | None:
    """Return the year of a fact that is a year alone, or the first of a decade."""
    for dimension, value, _, _ in fact.readings:
        if isinstance(value, tuple) and ((dimension == "date" and value[1:] == (None, None)) or dimension == YEARS):
            return value[0]
    return None


def _why(fact: Fact, counterpart: Fact) -> str:
    # The readings of an amount differ in their currency alone.
    for former in fact.readings[:1] if fact.kind == "amount" else fact.readings:
        for latter in counterpart.readings:
            if _is_vaguer_date(former, latter) or _is_vaguer_early_year(former, latter):
                return "the reply is less exact than the reference"
            if former.dimension == latter.dimension and (
                _is_round(former, latter, counterpart) or _is_rounded(former, latter) or _is_cut(former, latter)
            ):
                return "the reply states a round number that includes it"
            if former.dimension == NUMBER and latter.dimension not in _CALENDAR and _is_rounded(former, latter):
                # "247 million acres" for "247.3 million".
                return "the reply states a round number that includes it"
            if _is_year_with_footnote(former, latter):
                return "the reply may state the year and the mark of a footnote"
    return ""


def _is_vaguer_date(former: Reading, latter: Reading) -> bool:
    """Return whether a date lacks the finest part of another, and agrees with the rest, or spans its year."""
    a, b = former.value, latter.value
    if former.dimension not in {"date", YEARS} or not isinstance(a, tuple) or not isinstance(b, tuple):
        return False
    if latter.dimension == YEARS:
        begin, end = (a[0], a[1]) if former.dimension == YEARS else (a[0], a[0])
        first, last = b
        return None not in (begin, end, first, last) and (first or 0) <= (begin or 0) <= (end or 0) <= (last or 0)
    if former.dimension == YEARS:
        return False
    if latter.dimension != "date":
        return False
    shared = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    finest = max(place for place, part in enumerate(a) if part is not None)
    # A day alone names any month.
    return bool(shared) and all(x == y for x, y in shared) and b[finest] is None


def _is_vaguer_early_year(former: Reading, latter: Reading) -> bool:
    """Return whether a number alone is the year of a date before 1500, or lies in a century."""
    a, b = former.value, latter.value
    if latter.dimension == YEARS and former.dimension == NUMBER:
        return isinstance(a, float) and isinstance(b, tuple) and 100 < a < 1500 and (b[0] or 0) <= a <= (b[1] or 0)
    if former.dimension != "date" or latter.dimension != NUMBER or not isinstance(a, tuple):
        return False
    return a[0] is not None and a[0] < 1500 and a[1] is not None and a[0] == b


_MILLION = 1e6


def _is_rounded(former: Reading, latter: Reading) -> bool:
    """Return whether a number of millions has fewer digits than another, and rounds it: 2.19 billion for 2.187."""
    a, b = former.value, latter.value
    if not isinstance(a, float) or not isinstance(b, float) or abs(a) < _MILLION or abs(former.as_written) < _MILLION:
        return False
    zeros = _zeros(latter.as_written)
    return zeros > _zeros(former.as_written) and abs(former.as_written - latter.as_written) <= 0.5 * 10.0**zeros


def _is_cut(former: Reading, latter: Reading) -> bool:
    """Return whether a decimal number has fewer places than another, and rounds it: 26.2 miles for 26 miles 385 yards."""
    a, b = former.value, latter.value
    if not isinstance(a, float) or not isinstance(b, float) or not latter.as_written % 1:
        return False
    return (
        former.step < latter.step
        and not former.dimension.startswith(CURRENCY)
        and abs(a - b) <= 0.5 * latter.step * (1 + _EXACT)
    )


_EXACT = 1e-7


def _is_round(former: Reading, latter: Reading, counterpart: Fact) -> bool:
    a, b = former.value, latter.value
    if not isinstance(a, (int, float)) or not isinstance(b, (int, float)) or not b or not latter.as_written:
        return False
    unit = b / latter.as_written * 10.0 ** _zeros(latter.as_written)
    if counterpart.bound in {"over", "least"}:
        return unit > latter.step and 0 <= a - b < unit
    if counterpart.bound in {"under", "most"}:
        return unit > latter.step and 0 <= b - a < unit
    return counterpart.about and former.step <= latter.step and abs(a - b) <= 0.5 * abs(unit)


def _zeros(number: float) -> int:
    """Return the number of zeros at the end of a whole number."""
    digits = f"{abs(number):.0f}"
    return len(digits) - len(digits.rstrip("0")) if number == int(number) else 0


def _is_year_with_footnote(former: Reading, latter: Reading) -> bool:
    a, b = former.value, latter.value
    if former.dimension != "date" or latter.dimension != NUMBER or not isinstance(a, tuple) or not isinstance(b, float):
        return False
    # "in 18911." was "in 1891" with a raised 1 before its layout was lost, and "in 189112" with a 1 and a 2.
    if b != int(b) or a[0] is None or a[0] < 1000:
        return False
    return (int(b) // 10 == a[0] and b % 10 > 0) or (int(b) // 100 == a[0] and b % 100 > 11)


def _ranges(facts: Sequence[Fact], text: str) -> Iterator[tuple[Fact, Fact]]:
    for first, last in pairwise(facts):
        if first.end <= last.start <= first.end + 7 and _BETWEEN.fullmatch(text[first.end : last.start]):
            yield first, last


def _holds(first: Fact, last: Fact, fact: Fact) -> bool:
    for low, value, high in zip(first.readings[:1], fact.readings[:1], last.readings[:1], strict=True):
        numbers = [item.value for item in (low, value, high)]
        if low.dimension == value.dimension == high.dimension and all(
            isinstance(item, (int, float)) for item in numbers
        ):
            return numbers[0] < numbers[1] < numbers[2]  # type: ignore[operator]
    return False
