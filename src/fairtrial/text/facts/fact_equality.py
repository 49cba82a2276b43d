"""Equality of facts: numbers after conversion, partial dates and times, and codes."""

from __future__ import annotations

from fairtrial.text.facts.fact import NUMBER, Fact, Reading
from fairtrial.text.facts.units import CURRENCY

_CUSTOMARY = 0.02
"""The relative error that people accept when they convert units of another system, for example 5 km to 3 miles."""
MOST_APART = 1.5 * _CUSTOMARY
"""No rule makes numbers equal that differ by a larger share, and by more than one unit of their last digits."""
_CUSTOMARY_FACTORS = (0.0254, 0.3048, 0.9144, 1609.344, 28.349523125, 453.59237, 3.785411784, 0.2365882365, 0.473176473)
_EXACT = 1e-7
"""The relative error of a conversion between units."""
_SAME = 1e-10
"""The relative error of a number in one unit, for example of a third with ten digits. Whole numbers have none."""
MONTH_SECONDS = 30 * 86400.0
_DEGREES = {"celsius", "fahrenheit", "degree"}
TEMPERATURES = frozenset({"celsius", "fahrenheit", "kelvin"})
_SAME_COUNTS = ({"night", "time"},)
"""Dimensions with the same numbers: two nights that are two days."""


_WITHOUT_NUMBER = frozenset(
    {"days of a week", "weekday", "day", "calendar week", "calendar month", "calendar year", "period"}
)
_IRREGULAR = _WITHOUT_NUMBER | {"percent", "clock", "date", "years", "code", "quote"}
"""The dimensions whose values a number does not equal as it is written."""
_COMPARABLE = frozenset(
    pair
    for former, latter in (
        ("celsius", "fahrenheit"), ("celsius", "kelvin"), ("fahrenheit", "kelvin"), ("celsius", "degree"), ("fahrenheit", "degree"), ("time", "month"), ("month", "age"),
        ("night", "time"), ("years", "date"),
    )
    for pair in ((former, latter), (latter, former))
)  # fmt: skip
"""The pairs of different dimensions whose values may be equal, beside a number and any other."""
_Parts = tuple[int | None, ...]


def equal_facts(fact: Fact, counterpart: Fact, tolerance: float = 0.0) -> bool:  # noqa: C901, PLR0911, PLR0912  (it leaves as early as it can)
    """Return whether two facts have an equal reading. The first is the reference, whose last digit counts.

    For example, 5 km equals 5,000 m, 41 °F equals 5 °C, 3 March 2025 equals "the 3rd", and 3:00 pm equals 15:00.
    `tolerance` is the largest relative difference of two numbers.
    """
    kind, readings, _, _, _, about, _ = fact
    latter_kind, latter_readings, _, _, _, latter_about, _ = counterpart
    if readings == latter_readings:
        return True
    about = about or latter_about
    if kind == latter_kind and kind in _COMPARE:
        return _COMPARE[kind](fact, counterpart, tolerance, about)
    if latter_kind == "amount":
        latter_readings = _distinct(latter_readings)
    apart = max(tolerance, MOST_APART)
    for former in _distinct(readings) if kind == "amount" else readings:
        dimension, value, size_as_written, step = former
        for latter in latter_readings:
            latter_dimension, latter_value, latter_size, latter_step = latter
            if dimension == latter_dimension:
                if value == latter_value:
                    return True
                if type(value) is float and type(latter_value) is float:
                    difference = abs(value - latter_value)
                    if step < difference > latter_step and abs(value) * apart < difference > abs(latter_value) * apart:
                        # Most numbers are far apart: no rule makes them equal.
                        continue
                if _equal(former, latter, tolerance, about=about):
                    return True
            elif dimension == NUMBER and not tolerance and latter_dimension not in _IRREGULAR:
                if _is_same(size_as_written, latter_size):
                    return True
            elif (NUMBER in (dimension, latter_dimension) or (dimension, latter_dimension) in _COMPARABLE) and _equal(
                former, latter, tolerance, about=about
            ):
                return True
    return False


def _distinct(readings: tuple[Reading, ...]) -> tuple[Reading, ...]:
    """Return the readings of an amount that differ beside a fact of another kind: those of $ have one number."""
    first, last = readings[0], readings[-1]
    if first[1:] == last[1:] and last.dimension.startswith(CURRENCY):
        return readings[:1]
    return readings


def _equal_codes(fact: Fact, counterpart: Fact, tolerance: float, about: bool) -> bool:  # noqa: ARG001  (as amounts)
    """Return whether two codes are equal: version 2.10 is not 2.1, although the number 2.1 may be either.

    A range of verses has a code for each, and equals a part of it.
    """
    former, latter = (
        {reading.value for reading in item.readings if reading.dimension == "code"} for item in (fact, counterpart)
    )
    return former <= latter or latter <= former


def _equal_amounts(fact: Fact, counterpart: Fact, tolerance: float, about: bool) -> bool:
    """Return whether two amounts have an equal reading in one currency. A sign such as $ has a reading for each of its."""
    first, latter_first = fact.readings[0], counterpart.readings[0]
    if first[0] == latter_first[0] and len(_distinct(fact.readings)) == len(_distinct(counterpart.readings)) == 1:
        return _equal(first, latter_first, tolerance, about=about)
    compared = None
    for former in fact.readings:
        for latter in counterpart.readings:
            if former.dimension == latter.dimension and (former[1:], latter[1:]) != compared:
                compared = former[1:], latter[1:]
                if _equal(former, latter, tolerance, about=about):
                    return True
    return False


def _equal(former: Reading, latter: Reading, tolerance: float, *, about: bool) -> bool:
    a, b = former.value, latter.value
    if isinstance(a, float) and isinstance(b, float) and former.dimension == latter.dimension:
        return _close(former, a, latter, b, tolerance, about=about)
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    if isinstance(a, tuple) or isinstance(b, tuple):
        return _equal_calendar(former, latter)
    if former.dimension == latter.dimension:
        return _close(former, a, latter, b, tolerance, about=about)
    return _equal_across(former, a, latter, b, tolerance)


def _equal_calendar(former: Reading, latter: Reading) -> bool:
    """Return whether two dates, times or spans of years are equal, or a time and the number of its hour."""
    a, b = former.value, latter.value
    if isinstance(a, tuple) and isinstance(b, tuple):
        equal = _CALENDAR.get((former.dimension, latter.dimension))
        return equal is not None and equal(a, b)
    if isinstance(a, tuple) and isinstance(b, (int, float)):
        return (former.dimension, latter.dimension) == ("clock", NUMBER) and _is_hour(a, b)
    if isinstance(b, tuple) and isinstance(a, (int, float)):
        return (latter.dimension, former.dimension) == ("clock", NUMBER) and _is_hour(b, a)
    return False


def _is_same(a: float, b: float, tolerance: float = 0.0) -> bool:
    """Return whether two numbers as they are written are equal: 010-1234-5678 is not 010-1234-5679."""
    if a == b:
        return True
    exact = _SAME if a % 1 or b % 1 else 0.0
    return abs(a - b) <= max(tolerance, exact) * max(abs(a), abs(b))


def _close(former: Reading, a: float, latter: Reading, b: float, tolerance: float, *, about: bool) -> bool:
    size, difference = max(abs(a), abs(b)), abs(a - b)
    if difference > max(tolerance, MOST_APART) * size and difference > max(former.step, latter.step):
        # No rule below makes them equal.
        return False
    # 3.14159 is 3.14, as exact as the reference is.
    near = 0.5 * former.step * (1 + _EXACT) if latter.step < former.step and _is_decimal(former) else 0.0
    if difference <= max(tolerance * size, near):
        return True
    if former.dimension == NUMBER and not about:
        return _is_same(a, b)
    if former.dimension == "percent" and (former.step == 1.0) != (latter.step == 1.0):
        # A third is 33 %.
        return abs(a - b) <= 0.5 * max(former.step, latter.step)
    factor, counterpart = (
        value / as_written if as_written else 1.0
        for value, as_written in ((a, former.as_written), (b, latter.as_written))
    )
    if abs(factor - counterpart) <= _EXACT * factor:
        return _is_same(a, b) or (about and latter.step < former.step and abs(a - b) <= 0.5 * latter.step)
    rounded = max(0.5 * former.step * (1 - _EXACT), _EXACT * size)
    return abs(a - b) <= max(rounded, _CUSTOMARY * size if about or _is_customary(factor, counterpart) else 0.0)


def _is_decimal(reading: Reading) -> bool:
    """Return whether a number has decimal places, unlike an amount of money, whose cents count."""
    return reading.as_written % 1 != 0 and not reading.dimension.startswith(CURRENCY)


def _is_customary(*factors: float) -> bool:
    return any(abs(factor - item) < 1e-6 * item for factor in factors for item in _CUSTOMARY_FACTORS)


def _equal_across(former: Reading, a: float, latter: Reading, b: float, tolerance: float) -> bool:
    if NUMBER in (former.dimension, latter.dimension):
        # A number without a unit may be the number of any unit.
        other = latter.dimension if former.dimension == NUMBER else former.dimension
        if other == "percent":
            number, share = (a, b) if former.dimension == NUMBER else (b, a)
            if 0 < number < 1 and abs(100 * number - share) <= _EXACT * share:
                # 0.9 is 90 %.
                return True
        return other not in _WITHOUT_NUMBER and _is_same(former.as_written, latter.as_written, tolerance)
    dimensions = {former.dimension, latter.dimension}
    if dimensions <= TEMPERATURES:
        first, second = (_as_celsius(item.dimension, value) for item, value in ((former, a), (latter, b)))
        return abs(first - second) <= max(0.6, 0.01 * min(abs(first), abs(second)))
    if dimensions == {"time", "month"}:
        seconds, months = (a, b) if former.dimension == "time" else (b, a)
        return bool(seconds) and seconds == months * MONTH_SECONDS
    if dimensions == {"month", "age"}:
        months, years = (a, b) if former.dimension == "month" else (b, a)
        return months == 12 * years
    return (dimensions <= _DEGREES or dimensions in _SAME_COUNTS) and former.as_written == latter.as_written


def _as_celsius(scale: str, value: float) -> float:
    if scale == "kelvin":
        return value - 273.15
    return (value - 32) / 1.8 if scale == "fahrenheit" else value


def _is_hour(clock: _Parts, number: float) -> bool:
    """Return whether a number is the hour of a clock time, for example in "at 5"."""
    minute = clock[0] or 0
    return 0 <= number <= 24 and minute % 60 == 0 and minute // 60 % 12 == number % 12


def _equal_dates(former: _Parts, latter: _Parts) -> bool:
    year, month, day = former
    other_year, other_month, other_day = latter
    if (
        (year != other_year and year is not None and other_year is not None)
        or (month != other_month and month is not None and other_month is not None)
        or (day != other_day and day is not None and other_day is not None)
    ):
        return False
    # The reply may leave out the year, but not the day.
    return (other_day if day is not None else other_month if month is not None else other_year) is not None


def _within(years: _Parts, date: _Parts) -> bool:
    """Return whether a date, or a span of years, lies in a span of years."""
    first, last = years
    begin, end = date[0], date[1] if len(date) == 2 else date[0]
    return None not in (first, last, begin, end) and (first or 0) <= (begin or 0) <= (end or 0) <= (last or 0)


def _equal_clocks(former: _Parts, latter: _Parts) -> bool:
    (a, certain), (b, also) = former, latter
    if a is None or b is None:
        return False
    return a == b if certain and also else a % 720 == b % 720


_CALENDAR = {
    ("date", "date"): _equal_dates,
    ("clock", "clock"): _equal_clocks,
    ("years", "years"): _within,
    ("years", "date"): _within,
}
_COMPARE = {"amount": _equal_amounts, "code": _equal_codes}
"""How two facts of one kind are compared. Those of other kinds have equal readings."""
