"""How is a number written for people?"""

from __future__ import annotations

import math

from fairtrial.metrics.entries import CATALOG
from fairtrial.records.result import Outcome
from fairtrial.records.summary import Estimate
from fairtrial.stats.interval import LOGARITHMIC

DASH = "–"
_WIDEST = 100
"""The largest factor between the ends of an interval of an amount that is shown."""


def number(value: float | None) -> str:
    """Return a value with two decimals at most, for example 0.95, 12.5 or 12,345. If it is None, return a dash."""
    if value is None:
        return DASH
    return f"{value:,.{_decimals(value)}f}" if abs(value) < 1e15 else f"{value:.2e}"


def quantity(criterion: str, value: float | None) -> str:
    """Return a value of a criterion with its unit, for example 1.25 s for a duration."""
    return with_unit(criterion, number(value)) if value is not None else DASH


def with_unit(criterion: str, text: str) -> str:
    """Return a number that is written already, with the unit of its criterion. Words do not get a unit."""
    return f"{text} {unit_of(criterion)}".rstrip() if text[-1:].isdigit() else text


def unit_of(criterion: str) -> str:
    """Return the symbol of the unit of a criterion, for example s, or an empty text if its values have no unit."""
    entry = CATALOG.get(criterion)
    return "" if entry is None else entry.measured_in


def _decimals(value: float) -> int:
    if abs(value) >= 1000:
        return 0
    return 1 if abs(value) >= 10 else 2


def against(value: float, threshold: float) -> tuple[str, str]:
    """Return a value and a threshold with the fewest digits, two at least, that show which is larger.

    If seven digits do not show it, the value is written as `<0.80`. For example, a mean of 0.7999999999999999 is that.
    """
    if value == threshold or _differ(number(value), number(threshold)):
        return number(value), number(threshold)
    for digits in range(3, 8):
        text, limit = f"{value:.{digits}f}", f"{threshold:.{digits}f}"
        if _differ(text, limit):
            return text, limit
    limit = number(threshold) if float(number(threshold).replace(",", "")) == threshold else f"{threshold:g}"
    return f"{'<' if value < threshold else '>'}{limit}", limit


def _differ(text: str, limit: str) -> bool:
    """Whether two numbers as written are different numbers: 1000.0 and 1,000 are not."""
    return float(text.replace(",", "")) != float(limit.replace(",", ""))


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

    The interval of an amount says nothing if its ends differ by a factor above 100. Ends that would look equal are
    rounded outwards: 0.0012 … 0.0019 is written as 0.00 … 0.01.
    """
    if estimate.low is None or estimate.high is None:
        return ""
    if estimate.method == LOGARITHMIC and estimate.high > _WIDEST * estimate.low:
        return "too few cases"
    low, high = (100 * estimate.low, 100 * estimate.high) if percent else (estimate.low, estimate.high)
    decimals = 0 if percent else _decimals(high)
    if round(low, decimals) == round(high, decimals):
        unit = 10**decimals
        low, high = math.floor(low * unit) / unit, math.ceil(high * unit) / unit
    return f"{low:.0f} % … {high:.0f} %" if percent else f"{number(low)} … {number(high)}"


def estimate_of(value: float | None, ends: tuple[float, float] | None) -> Estimate:
    """Return a value with its interval, if it has one, as an estimate."""
    return Estimate(value, *(ends or (None, None)))


def rate(value: float | None) -> str:
    """Return a rate in 0..1 as a percentage. For example, 0.999 is 99.9 %: only the rate 1 is written as 100 %."""
    if value is None:
        return DASH
    percent = 100 * value
    if round(percent) in (0, 100) and percent not in (0, 100):
        return f"{min(max(percent, 0.1), 99.9):.1f} %"
    return f"{percent:.0f} %"


def dollars(cost: float | None, unpriced_calls: int = 0, digits: int = 4) -> str:
    """Return a cost, or a dash. If some calls have no known price, it is "at least" the cost of the others."""
    return DASH if cost is None else f"{'at least ' if unpriced_calls else ''}${cost:.{digits}f}"
