"""Relative weeks, months and years, years of an era, and the words that a page glued to a number."""

import pytest

from fairtrial.text.facts.fact_agreement import compare_facts
from fairtrial.text.facts.fact_reading import read_facts


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("next week", "calendar week", 1.0),
        ("다음 주 수요일", "calendar week", 1.0),
        ("지난달에", "calendar month", -1.0),
        ("작년", "calendar year", -1.0),
        ("今週の金曜", "calendar week", 0.0),
        ("再来週", "calendar week", 2.0),
        ("来年", "calendar year", 1.0),
        ("下周五", "calendar week", 1.0),
        ("上個月", "calendar month", -1.0),
        ("這週", "calendar week", 0.0),
        ("大后天", "day", 3.0),
    ],
)
def test_a_relative_span_has_its_place(text: str, dimension: str, value: float) -> None:
    """The forms are those of CLDR's relative weeks, months and years."""
    reading = read_facts(text)[0].readings[0]
    assert (reading.dimension, reading.value) == (dimension, value)


@pytest.mark.parametrize("text", ["다음 주문", "다음 주소", "이번 주제", "以下周知", "路上周围"])
def test_other_words_are_no_relative_weeks(text: str) -> None:
    """An order and an address begin with the sign of a week."""
    assert read_facts(text) == ()


@pytest.mark.parametrize(
    ("reference", "reply"),
    [
        ("점검은 이번 주 금요일입니다.", "점검은 다음 주 금요일입니다."),
        ("今日は休みで、明朝6時に開きます。", "明日は休みで、明朝6時に開きます。"),
        ("本周检修。", "下周检修。"),
    ],
)
def test_another_relative_week_or_day_contradicts(reference: str, reply: str) -> None:
    """Also if the reply has the day of the other clause twice."""
    assert compare_facts(reference, reply).contradicted


@pytest.mark.parametrize(
    ("reference", "reply"),
    [
        ("957 BC", "It was built in 957 BCE."),
        ("336", "It was in 336 AD."),
        ("the 7th century", "It was in AD 628."),
        ("the mid-10th century BCE", "It was finished in 957 BCE."),
        ("the 90s", "It was in 1994."),
    ],
)
def test_years_before_and_after_christ(reference: str, reply: str) -> None:
    """A year lies in its century, which counts down before Christ."""
    assert {item.state for item in compare_facts(reference, reply).findings} == {"found"}


@pytest.mark.parametrize(
    ("reference", "reply"),
    [
        ("2013", "They moved in2013after 51 seasons."),
        ("March 2, 2016", "It came out onMarch 2, 2016by surprise."),
        ("24 hours", "It takes about24 hours."),
        ("the 1890s", "It is set in the gold rush of the1890s."),
    ],
)
def test_a_number_that_is_glued_to_a_small_word(reference: str, reply: str) -> None:
    """Copied web pages lose spaces."""
    assert {item.state for item in compare_facts(reference, reply).findings} == {"found"}


@pytest.mark.parametrize("code", ["mp3", "order4you", "in-2013-a", "of2x"])
def test_codes_stay_codes(code: str) -> None:
    """Nothing is split inside a code."""
    assert read_facts(code)[0].kind == "code"


def test_a_large_numeral_is_no_code() -> None:
    """2.45 billion is a number that can be rounded."""
    assert read_facts("2.45 billion users")[0].kind == "number"
