"""Find numbers, dates and units in a text, and make other values for each."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import regex

from fairtrial.mutations.hangul import with_particle
from fairtrial.mutations.literals import address_spans, is_in_address
from fairtrial.mutations.times import clock_spans

_UNIT = r"(?:kg|g|km|m|cm|mm|ml|l|L|GB|MB|TB|KB|hrs?|mins?|ms|USD|EUR|KRW|JPY|CNY)(?![A-Za-z0-9])"
_NUMBER = regex.compile(
    r"(?<![A-Za-z_\p{Nd}])(?<!\p{Nd}[.,:/\-．，])(?<![A-Za-z][\-.])"
    r"(?P<number>\p{Nd}{1,3}(?:[,，]\p{Nd}{3})+(?:[.．]\p{Nd}+)?|\p{Nd}+(?:[.．]\p{Nd}+)?)"
    rf"(?![.,:/\-．，]?\p{{Nd}})(?=(?:{_UNIT})|[^A-Za-z_]|\Z)"
)
_DIGIT = regex.compile(r"\p{Nd}")
_MARKER = regex.compile(r"^[ \t*>-]*\(?\p{Nd}{1,3}[.)）](?=[\s\*])|\[\p{Nd}+\]", regex.M)
"""The number of a list item, and the number of a source."""

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november")
_MONTH_NAMES = (*_MONTHS, "december")
_MONTH_NAME = "|".join([*(f"{name}|{name[:3]}" for name in _MONTH_NAMES), "sept"])
_TH = "(?:st|nd|rd|th)"
_NUMBER_OF_MONTH = {name[:3]: number for number, name in enumerate(_MONTH_NAMES, 1)}
_EDGE = r"(?<![\p{Nd}A-Za-z])"
_MONTH, _DAY = r"(?P<month>\p{Nd}{1,2})", r"(?P<day>\p{Nd}{1,2})"
_DATES = tuple(
    regex.compile(pattern, regex.I)
    for pattern in (
        rf"{_EDGE}(?P<year>\p{{Nd}}{{4}})(?P<mark>[-/]){_MONTH}(?P=mark){_DAY}(?![\p{{Nd}}/-])",
        rf"{_EDGE}(?P<year>\p{{Nd}}{{4}})\. ?{_MONTH}\. ?{_DAY}(?!\p{{Nd}})",
        rf"{_EDGE}(?:(?P<year>\p{{Nd}}{{4}})[年년] ?)?{_MONTH}[月월] ?{_DAY}(?=[日일号號])",
        rf"\b(?P<name>{_MONTH_NAME})\.? (?P<day>\d{{1,2}}{_TH}?)(?:, ?(?P<year>\d{{4}}))?(?![\w,]\d|\w|[:/-]\d)",
        rf"{_EDGE}(?P<day>\d{{1,2}}{_TH}?) (?:of )?(?P<name>{_MONTH_NAME})\b(?: (?P<year>\d{{4}}))?",
        rf"{_EDGE}(?P<first>\d{{1,2}})/(?P<second>\d{{1,2}})/(?P<year>\d{{4}})(?![\d/])",
    )
)
_ORDINAL = regex.compile(rf"\b(?:{_MONTH_NAME})\.? \d{{1,2}}{_TH}\b", regex.I)
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Value(NamedTuple):
    """A number or a date in a text, in a form that can be compared: "12000" for "１２，０００"."""

    start: int
    end: int
    key: str


class Date(NamedTuple):
    """A date in a text. The year is 0 if the text does not name a year.

    `start` and `end` are the place of the day, and `month_start` and `month_end` the place of the month.
    """

    span: tuple[int, int]
    start: int
    end: int
    year: int
    month: int
    day: int
    month_start: int
    month_end: int

    def may_equal(self, replacement: Date) -> bool:
        """Whether both may be the same date. A date without a year may be in any year."""
        years = {self.year, replacement.year} - {0}
        return (self.month, self.day) == (replacement.month, replacement.day) and len(years) < 2


@lru_cache(maxsize=64)  # most operators look at the numbers of the same reply
def numbers(text: str) -> tuple[Value, ...]:
    """Return the numbers of a text without dates, times, list markers, addresses, and digits of names and phones."""
    if not _DIGIT.search(text):
        return ()
    blocked = [date.span for date in dates(text)]
    blocked += [*clock_spans(text), *address_spans(text)]
    blocked += [match.span() for pattern in (_MARKER, _ORDINAL) for match in pattern.finditer(text)]
    spans = (match.span("number") for match in _NUMBER.finditer(text))
    return tuple(
        Value(start, end, number_key(text[start:end]))
        for start, end in spans
        if not any(low < end and start < high for low, high in blocked)
    )


def number_key(number: str) -> str:
    """Return a number without separators and trailing zeros of decimals: "1000" for "１，０００.0"."""
    key = unicodedata.normalize("NFKC", number).replace(",", "")
    return key.rstrip("0").rstrip(".") if "." in key else key


def other_number(number: str) -> str:
    """Return a number whose first digit is another one. The form stays: "22,000" for "12,000", "２" for "１"."""
    zero = chr(ord(number[0]) - int(number[0]))
    return chr(ord(zero) + int(number[0]) % 9 + 1) + number[1:]


def replace_value(text: str, start: int, end: int, new: str) -> str:
    """Return a text with another value in the place of one. A Korean particle after the value is made to fit."""
    return text[:start] + new + with_particle(new, text[end:])


def dates(text: str) -> list[Date]:
    """Return the dates of a text that name a month and a day, in order.

    Dates in addresses, and dates that can be read in two ways, are left out.
    """
    if not _DIGIT.search(text):
        return []
    dates_by_span: dict[tuple[int, int], Date] = {}
    for pattern in _DATES:
        for match in pattern.finditer(text):
            date = None if is_in_address(text, *match.span()) else _date(match)
            if date and not any(date.span[0] < high and low < date.span[1] for low, high in dates_by_span):
                dates_by_span[date.span] = date
    return [dates_by_span[span] for span in sorted(dates_by_span)]


def _date(match: regex.Match[str]) -> Date | None:
    groups = match.groupdict()
    place, month_place = "day", "month"
    if groups.get("name"):
        month_place = "name"
        month, day = _NUMBER_OF_MONTH[groups["name"][:3].lower()], int(groups["day"].lower().rstrip("stndrh"))
    elif "first" in groups:
        first, second = int(groups["first"]), int(groups["second"])
        if (first > 12) == (second > 12):
            return None  # 3/4/2026 is in March in America, and in April elsewhere.
        month, day = (second, first) if first > 12 else (first, second)
        place, month_place = ("first", "second") if first > 12 else ("second", "first")
    else:
        month, day = int(groups["month"]), int(groups["day"])
    if not (1 <= month <= 12 and 1 <= day <= _DAYS[month - 1] + (month == 2)):
        return None
    year = int(groups["year"]) if groups.get("year") else 0
    (start, end), (month_start, month_end) = match.span(place), match.span(month_place)
    return Date(match.span(), start, end, year, month, day, month_start, month_end)


def other_day(text: str, date: Date) -> tuple[int, str]:
    """Return the next day, or the day before at the end of a month, and its text in the same form: "4th" for "3rd"."""
    day = date.day + 1 if date.day < _DAYS[date.month - 1] else date.day - 1
    day_text = text[date.start : date.end]
    if not day_text[-1].isalpha():
        return day, _write_like(day_text, day)
    return day, f"{day}{'th' if 10 < day < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"


def other_month(text: str, date: Date) -> tuple[int, str] | None:
    """Return the next month, or November in December, and its text in the same form: "08" for "07", "Aug" for "Jul".

    The result is None if that month does not have the day.
    """
    month = date.month + 1 if date.month < 12 else 11
    if date.day > _DAYS[month - 1]:
        return None
    written = text[date.month_start : date.month_end]
    if not written.isalpha():
        return month, _write_like(written, month)
    name = _MONTH_NAMES[month - 1]
    name = name[:3] if len(written) == 3 and written.lower() != "may" else name
    return month, name.upper() if written.isupper() else name.capitalize() if written[0].isupper() else name


def month_name(month: int) -> str:
    """Return the English name of a month, 1..12."""
    return _MONTH_NAMES[month - 1].capitalize()


def _write_like(digits: str, number: int) -> str:
    """Return a number in the digits of another one, with leading zeros if that has any."""
    zero = ord(digits[0]) - int(digits[0])
    width = len(digits) if digits[0] == chr(zero) else 1
    return "".join(chr(zero + int(digit)) for digit in str(number).zfill(width))


_UNITS: tuple[tuple[str, str], ...] = (
    (r"(?<=\p{Nd} ?)달러", "원"),
    (r"(?<=\p{Nd} ?)원(?=입|이|은|을|에|으|의|\W|\Z)", "달러"),
    (r"(?<=\p{Nd} ?)ドル", "円"),
    (r"(?<=\p{Nd} ?)円", "ドル"),
    (r"(?<=\p{Nd} ?)(?:美元|美金)", "日元"),
    (r"(?<=\p{Nd} ?)元", "美元"),
    (r"\$(?=\p{Nd})", "€"),
    (r"[€£₩¥￥](?=\p{Nd})", "$"),
    (r"(?<=\p{Nd} ?)USD\b", "EUR"),
    (r"(?<=\p{Nd} ?)(?:EUR|GBP|KRW|JPY|CNY)\b", "USD"),
    (r"(?<=\p{Nd} ?)dollars\b", "euros"),
    (r"(?<=\p{Nd} ?)euros\b", "dollars"),
    (r"(?<=\p{Nd} ?)kg(?![A-Za-z])", "g"),
    (r"(?<=\p{Nd} ?)km(?![A-Za-z])", "m"),
    (r"(?<=\p{Nd} ?)GB(?![A-Za-z])", "MB"),
    (r"(?<=\p{Nd} ?)°C\b", "°F"),
    (r"(?<=\p{Nd} ?)°F\b", "°C"),
    (r"(?<=\p{Nd} )minutes\b", "hours"),
    (r"(?<=\p{Nd} )hours\b", "days"),
    (r"(?<=\p{Nd} )days\b", "weeks"),
    (r"(?<=\p{Nd} )miles\b", "kilometers"),
    (r"(?<=\p{Nd} ?)시간", "일"),
    (r"(?<=\p{Nd} ?)(?:分間|時間)", "日間"),
    (r"(?<=\p{Nd} ?)日間", "時間"),
    (r"(?<=\p{Nd} ?)(?:小时|小時|分钟|分鐘)", "天"),
    (r"(?<=\p{Nd} ?)天", "小时"),
)
_UNIT_PATTERNS = tuple((regex.compile(pattern), replacement) for pattern, replacement in _UNITS)


def other_units(text: str) -> Iterator[tuple[Value, str]]:
    """Yield each unit or currency beside a number with another one, such as "dollars" with "euros".

    The key of the value is the key of the number that the unit belongs to. 0 changes with degrees only: 0 dollars are 0
    euros.
    """
    by_end = {value.end: value for value in numbers(text)}
    by_start = {value.start: value for value in by_end.values()}
    for pattern, replacement in _UNIT_PATTERNS:
        for match in pattern.finditer(text):
            number = by_start.get(match.end()) or by_end.get(match.start()) or by_end.get(match.start() - 1)
            if number is not None and (number.key != "0" or match[0].startswith("°")):
                yield Value(match.start(), match.end(), number.key), replacement
