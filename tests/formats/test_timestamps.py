"""Times of other programs are read and written, and those that are no times are left out."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.formats.spans.span_values import nanoseconds
from fairtrial.formats.timestamps import read_seconds, time_text


@given(st.integers(-(2**80), 2**80) | st.floats())
def test_a_number_of_milliseconds_is_a_time_or_nothing(milliseconds: float) -> None:
    """Never an error, however far away it is. A time that is written is read as the same millisecond."""
    text = time_text(milliseconds)
    if text:
        assert datetime.fromisoformat(text).timestamp() == pytest.approx(milliseconds / 1000, abs=1e-3)


def test_a_time_of_this_century_has_its_zone() -> None:
    """As other programs want it."""
    moment = datetime.fromisoformat(time_text(1_766_000_000_123))
    assert (moment.tzinfo is None, moment.astimezone(UTC).isoformat()) == (False, "2025-12-17T19:33:20.123000+00:00")


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "9999-12-31 23:59:59 UTC"])
def test_a_date_beyond_64_bits_of_nanoseconds_is_no_time_of_a_span(text: str) -> None:
    """As a number of nanoseconds of that size is none. Databases write such dates for open ends."""
    assert nanoseconds(text) is None
    assert nanoseconds(str(2**64)) is None


@pytest.mark.long
@given(st.datetimes(timezones=st.timezones()))
def test_every_date_is_seconds_or_nothing(moment: datetime) -> None:
    """The first and the last day of the calendar included, in every zone."""
    read_seconds(moment.isoformat())
    nanoseconds(moment.isoformat())
