"""Numbers are written so that nobody is misled."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairtrial.records.result import Outcome
from fairtrial.records.score import Score
from fairtrial.records.summary import Estimate
from fairtrial.reports.numbers import (
    against,
    beside,
    describe_outcome,
    digits_of_change,
    format_estimate,
    interval,
    number,
    rate,
)
from fairtrial.stats.interval import LOGARITHMIC
from fairtrial.text.display import DASH, count

ROOT = Path(__file__).parents[2]
unit = st.floats(0, 1)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, DASH),
        (0.0, "0.00"),
        (0.954, "0.95"),
        (12.54, "12.5"),
        (12345.4, "12,345"),
        (-3.0, "-3.00"),
        (-5000.2, "-5,000"),
        (1e300, "1.00e+300"),
        (-0.075, "-0.08"),
        (0.125, "0.13"),
        (1.005, "1.01"),
        (12.25, "12.3"),
        (0.004, "0.004"),
        (1e-6, "0.000001"),
        (1e-9, "1e-9"),
        (-0.0, "0.00"),
    ],
)
def test_as_many_digits_as_help(value: float | None, shown: str) -> None:
    """Small numbers get two decimals, larger ones fewer; none is a dash."""
    assert number(value) == shown


@given(unit, unit)
def test_what_differs_looks_different(value: float, threshold: float) -> None:
    """A value that is not its threshold is never shown equal to it, and keeps its side."""
    assume(value != threshold)
    shown, limit = against(value, threshold)
    if shown[0] in "<>":
        assert (shown[0] == "<", shown[1:]) == (value < threshold, limit)
        assert abs(value - threshold) < 1e-6
    else:
        assert (float(shown) < float(limit)) is (value < threshold)
        assert float(shown) != float(limit)


@pytest.mark.parametrize("threshold", [0.0, 0.7, 0.8, 1.0, 5.0, 1000.0, 1e7])
def test_the_next_number_below_is_seen_to_be_below(threshold: float) -> None:
    """Even the largest number below a threshold is shown below it."""
    shown, limit = against(math.nextafter(threshold, -math.inf), threshold)
    assert shown == f"<{limit}"
    assert against(math.nextafter(threshold, math.inf), threshold)[0] == f">{limit}"


def test_a_value_just_under_its_threshold_is_readable() -> None:
    """Sixteen digits are not."""
    assert against(0.7999999999999999, 0.8) == ("<0.80", "0.80")
    assert against(0.799999, 0.8) == ("0.799999", "0.800000")


def test_equal_stays_short() -> None:
    """A value that is its threshold has two decimals."""
    assert against(0.7, 0.7) == ("0.70", "0.70")


@pytest.mark.parametrize(
    ("value", "threshold", "shown"),
    [(0.996, 1.0, "0.996"), (0.996, None, "1.00"), (None, 1.0, DASH), (0.5, 1.0, "0.50")],
)
def test_a_value_beside_its_threshold(value: float | None, threshold: float | None, shown: str) -> None:
    """Beside a threshold a value gets the digits that it needs, alone it does not."""
    assert beside(value, threshold) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, DASH),
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.666, "67 %"),
        (199 / 200, "99.5 %"),
        (999_999 / 1_000_000, "99.9999 %"),
        (1 / 1_000_000, "0.0001 %"),
        (math.nextafter(1, 0), "<100 %"),
        (1e-12, ">0 %"),
        (-0.004, "-0.4 %"),
        (0.125, "13 %"),
        (0.825, "83 %"),
        (0.575, "58 %"),
        (-0.075, "-8 %"),
        (0.004, "0.4 %"),
    ],
)
def test_only_all_is_hundred_percent(value: float | None, shown: str) -> None:
    """A rate below one is never shown as 100 %, one above zero never as 0 %."""
    assert rate(value) == shown


@pytest.mark.parametrize(
    ("value", "threshold", "percent", "shown"),
    [
        (0.7951, 0.8, False, ("0.795", "0.800")),
        (0.799, 0.8, False, ("0.799", "0.800")),
        (0.9, 0.985, False, ("0.90", "0.985")),
        (0.9858, 0.986, False, ("0.9858", "0.9860")),
        (1000.4, 1000.0, False, ("1,000.4", "1,000.0")),
        (0.9, 0.985, True, ("90 %", "98.5 %")),
        (0.984, 0.985, True, ("98 %", "98.5 %")),
        (0.7999, 0.8, True, ("79.99 %", "80.00 %")),
    ],
)
def test_a_limit_has_all_its_digits(value: float, threshold: float, percent: bool, shown: tuple[str, str]) -> None:
    """A value is on its side of the limit as both are written, whatever their digits are."""
    assert against(value, threshold, percent=percent) == shown


@pytest.mark.parametrize(
    ("estimate", "percent", "shown"),
    [
        (Estimate(0.36, 0.357, 0.363, "Wilson"), True, "36.0 % 35.7 % … 36.3 %"),
        (Estimate(0.36, 0.3598, 0.3602, "t"), False, "0.3600 0.3598 … 0.3602"),
        (Estimate(0.36, 0.1, 0.6, "t"), False, "0.36 0.10 … 0.60"),
        (Estimate(1.0, 1.0, 1.0, "t"), True, "100 % 100 % … 100 %"),
        (Estimate(5.0, 0.01, 200.0, LOGARITHMIC), False, "5.00 too few cases"),
    ],
)
def test_a_narrow_interval_has_more_digits(estimate: Estimate, percent: bool, shown: str) -> None:
    """With 100,000 cases, two decimals would show one number three times."""
    assert f"{format_estimate(estimate, percent=percent)} {interval(estimate, percent=percent)}" == shown


def test_the_difference_of_two_rates_is_that_of_the_rates_as_written() -> None:
    """0.5 % and 2 % differ by 1.5 points, although they round to 1 % and 2 %."""
    assert digits_of_change(0.005, 0.02, Estimate(0.015, -0.1, 0.2), percent=True) == 1
    assert digits_of_change(0.1, 0.2, Estimate(0.1, -0.1, 0.2), percent=True) == 0


def test_the_page_writes_numbers_as_python_does() -> None:
    """A test of the page reads this table. `make ui` writes it."""
    module: dict[str, Any] = {"__name__": "write_numbers", "__file__": str(ROOT / "ui" / "write_numbers.py")}
    exec((ROOT / "ui" / "write_numbers.py").read_text(encoding="utf-8"), module)  # noqa: S102
    assert (ROOT / "ui" / "test" / "numbers.json").read_text(encoding="utf-8") == module["text"]()


def test_outcomes_in_words() -> None:
    """An outcome names what it needed, in the direction of its criterion."""
    low = Outcome("tokens", Score(120.0), 100.0, lower_is_better=True)
    assert describe_outcome(low) == "tokens 120.0 (needs at most 100.0)"
    assert describe_outcome(Outcome("match", Score(0.999), 1.0)) == "match 0.999 (needs at least 1.000)"
    assert describe_outcome(Outcome("match", Score(None, "why"), 1.0)) == f"match {DASH} (needs at least 1.00)"
    assert describe_outcome(Outcome("match", Score(0.5))) == "match 0.50"


def test_intervals() -> None:
    """An interval is two numbers or two percentages, and nothing where there is none."""
    assert interval(Estimate(0.5, 0.25, 0.75, "t")) == "0.25 … 0.75"
    assert interval(Estimate(0.5, 0.25, 0.75, "Wilson"), percent=True) == "25 % … 75 %"
    assert not interval(Estimate(0.5))


@pytest.mark.parametrize(
    ("low", "high", "percent", "shown"),
    [
        (0.0012, 0.0019, False, "0.0012 … 0.0019"),
        (12.31, 12.33, False, "12.31 … 12.33"),
        (4000.2, 4000.3, False, "4,000.2 … 4,000.3"),
        (0.9991, 1.0, True, "99.91 % … 100 %"),
    ],
)
def test_no_interval_looks_as_if_it_had_no_width(low: float, high: float, percent: bool, shown: str) -> None:
    """Ends that would be written alike are rounded outwards."""
    assert interval(Estimate(low, low, high, "t"), percent=percent) == shown


def test_counts() -> None:
    """One is singular."""
    assert (count(1, "case"), count(2, "case"), count(12345, "case")) == ("1 case", "2 cases", "12,345 cases")


def test_an_interval_of_an_amount_that_says_nothing_is_not_shown() -> None:
    """Two cases may give 0.00 … 1,413 seconds. Means in a range keep their interval, however wide it is."""
    assert interval(Estimate(1.0, 0.001, 1413.0, "t on logarithms")) == "too few cases"
    assert interval(Estimate(1.0, 0.2, 5.0, "t on logarithms")) == "0.20 … 5.00"
    assert interval(Estimate(1.0, 0.001, 1.0, "Wilson with t")) == "0.00 … 1.00"
