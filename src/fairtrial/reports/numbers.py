"""Format numbers for people."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

from fairtrial.metrics.entries import CATALOG
from fairtrial.records.summary import Estimate
from fairtrial.stats.interval import LOGARITHMIC
from fairtrial.text.display import DASH

if TYPE_CHECKING:
    from fairtrial.records.result import Outcome

_MOST_DIGITS = 7
_UNITS = (1, 0.1, 0.01, 0.001, 0.0001, 0.00001, 0.000001, 0.0000001)
_NEARLY = 1 + 1e-9
_LARGEST = 1e15
_WIDEST = 100
"""The largest factor between the ends of an interval of an amount that is shown."""


def number(value: float | None, least: int = 0) -> str:
    """Return a value with as many decimals as its size needs, for example 0.95, 12.5 or 12,345, or a dash for None.

    `least` asks for more decimals. A number that is not zero is never written as 0.00.
    """
    if value is None:
        return DASH
    if not abs(value) < _LARGEST:
        return f"{_exact(value):.2e}" if math.isfinite(value) else str(value)
    exact = _exact(value)
    digits = _digits_unlike(exact, max(least, _decimals(value)), (0,))
    return _text(exact, digits) if _round_number(exact, digits) or not exact else f"{exact:.0e}"


def rate(value: float | None, least: int = 0) -> str:
    """Return a rate as a percentage. For example, 0.999 is 99.9 %: only the rate 1 is written as 100 %."""
    if value is None:
        return DASH
    percent = _exact(value, percent=True)
    digits = 0 if percent in (0, 100) else _digits_unlike(percent, least, (0, 100))
    shown = _round_number(percent, digits)
    if shown != percent and shown in (0, 100):
        return f"{'<' if percent < shown else '>'}{shown:.0f} %"
    return f"{_text(percent, digits)} %"


def _exact(value: float, *, percent: bool = False) -> Decimal:
    """Return the number that people read: 0.1 is a tenth, although the float is a little more."""
    return Decimal(repr(float(value))).scaleb(2 if percent else 0)


def _round_number(exact: Decimal, digits: int) -> Decimal:
    """Return a number with so many decimals. A half is rounded away from zero, as Intl does in browsers."""
    return exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def _text(exact: Decimal, digits: int) -> str:
    rounded = _round_number(exact, digits)
    return f"{rounded or abs(rounded):,f}"


def _digits_unlike(exact: Decimal, digits: int, others: tuple[int, ...]) -> int:
    """Return the fewest decimals with which a number does not read like another one, seven at most."""
    if exact in others:
        return digits
    return next(
        (more for more in range(digits, _MOST_DIGITS) if _round_number(exact, more) not in others), _MOST_DIGITS
    )


def quantity(criterion: str, value: float | None) -> str:
    """Return a value of a criterion with its unit, for example 1.25 s for a duration."""
    return with_unit(criterion, number(value)) if value is not None else DASH


def with_unit(criterion: str, text: str) -> str:
    """Return a number that is written already, with the unit of its criterion. Words do not get a unit."""
    return f"{text} {find_unit(criterion)}".rstrip() if text[-1:].isdigit() else text


def find_unit(criterion: str) -> str:
    """Return the symbol of the unit of a criterion, for example s, or an empty text if its values have no unit."""
    entry = CATALOG.get(criterion)
    return "" if entry is None else entry.measured_in


def _decimals(value: float) -> int:
    if abs(value) >= 1000:
        return 0
    return 1 if abs(value) >= 10 else 2


def against(value: float, threshold: float, least: int = 0, *, percent: bool = False) -> tuple[str, str]:
    """Return a value and a threshold with the fewest decimals that show which is larger.

    The threshold has all its decimals, up to seven. If seven decimals do not show which is larger, the value is written
    as `<0.80`. For example, 0.7999999999999999 is that. `least` asks for more decimals of the value.
    """
    if not max(abs(value), abs(threshold)) < _LARGEST:
        return number(value), number(threshold)
    exact, limit = _exact(value, percent=percent), _exact(threshold, percent=percent)
    own, usual = (0, 0) if percent else (_decimals(value), _decimals(threshold))
    whole = next(
        (digits for digits in range(usual, _MOST_DIGITS) if _round_number(limit, digits) == limit), _MOST_DIGITS
    )
    ending = " %" if percent else ""
    limit_text = f"{_text(limit, whole)}{ending}"
    if exact == limit:
        return limit_text, limit_text
    first = max(own, least)
    for digits in range(first, _MOST_DIGITS + 1):
        most = whole if digits == first else max(digits, whole)
        shown, shown_limit = _round_number(exact, digits), _round_number(limit, most)
        if shown != shown_limit and (shown < shown_limit) is (exact < limit):
            return f"{_text(exact, digits)}{ending}", f"{_text(limit, most)}{ending}"
    return f"{'<' if exact < limit else '>'}{limit_text}", limit_text


def beside(value: float | None, threshold: float | None) -> str:
    """Return a value with the digits that it needs to look as large as it is beside its threshold."""
    return number(value) if value is None or threshold is None else against(value, threshold)[0]


def describe_outcome(outcome: Outcome) -> str:
    """Return an outcome in a few words: `name 0.50 (needs at least 1.00)`."""
    value, threshold = outcome.score.value, outcome.threshold
    if threshold is None:
        return f"{outcome.criterion} {quantity(outcome.criterion, value)}"
    text, limit = (DASH, number(threshold)) if value is None else against(value, threshold)
    direction = "at most" if outcome.lower_is_better else "at least"
    return f"{outcome.criterion} {with_unit(outcome.criterion, text)} (needs {direction} {limit})"


def interval(estimate: Estimate, *, percent: bool = False) -> str:
    """Return the interval of an estimate, empty if there is none.

    The interval of an amount says nothing if its ends differ by a factor above 100. A narrow one has more decimals.
    """
    if estimate.low is None or estimate.high is None:
        return ""
    if _says_nothing(estimate):
        return "too few cases"
    least = _choose_digits(estimate, percent=percent)
    return f"{_end(estimate.low, least, percent=percent)} … {_end(estimate.high, least, percent=percent)}"


def _end(value: float, least: int, *, percent: bool) -> str:
    """Return an end of an interval. It has no more decimals than the width of the interval needs."""
    if not percent:
        return _text(_exact(value), max(least, _decimals(value))) if abs(value) < _LARGEST else number(value)
    return f"{_text(_exact(value, percent=True), 0 if value in (0, 1) else least)} %"


def format_estimate(estimate: Estimate, threshold: float | None = None, *, percent: bool = False) -> str:
    """Return the value of an estimate with the decimals of its interval, and with those that its threshold needs."""
    if estimate.value is None:
        return DASH
    least = _choose_digits(estimate, percent=percent)
    if threshold is not None:
        return against(estimate.value, threshold, least, percent=percent)[0]
    return (rate if percent else number)(estimate.value, least)


def _says_nothing(estimate: Estimate) -> bool:
    """Whether the interval of an amount is so wide that it says nothing."""
    return estimate.method == LOGARITHMIC and (estimate.high or 0) > _WIDEST * (estimate.low or 0)


def _choose_digits(estimate: Estimate, *, percent: bool) -> int:
    """Return the fewest decimals whose last one is at most as wide as the interval, seven at most."""
    if estimate.low is None or estimate.high is None or _says_nothing(estimate):
        return 0
    width = (estimate.high - estimate.low) * (100 if percent else 1)
    if not 0 < width < math.inf:
        return 0
    return next((digits for digits in range(_MOST_DIGITS) if _UNITS[digits] <= _NEARLY * width), _MOST_DIGITS)


def digits_of_change(base: float | None, candidate: float | None, difference: Estimate, *, percent: bool) -> int:
    """Return the decimals of a change: with them, the difference of two rates is that of the rates as they are written.

    For example, 0.5 % and 2 % differ by 1.5, although they round to 1 % and 2 %.
    """
    least = _choose_digits(difference, percent=percent)
    if not percent or base is None or candidate is None or difference.value is None:
        return least
    before, after, change = (
        _round_number(_exact(own, percent=True), least) for own in (base, candidate, difference.value)
    )
    return least if after - before == change else min(least + 1, _MOST_DIGITS)


def make_estimate(value: float | None, ends: tuple[float, float] | None) -> Estimate:
    """Return a value with its interval, if it has one, as an estimate."""
    return Estimate(value, *(ends or (None, None)))


def dollars(cost: float | None, unpriced_calls: int = 0, digits: int = 4) -> str:
    """Return a cost, or a dash. If some calls have no known price, it is "at least" the cost of the others."""
    return DASH if cost is None else f"{'at least ' if unpriced_calls else ''}${cost:.{digits}f}"
