"""Find personal identification numbers of eight countries.

A number is found only if its check digits fit. If these are weak, the number's name must stand before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from fairtrial.text.number_names import PERSONS, is_identifier, is_named

if TYPE_CHECKING:
    from fairtrial.text.redaction import Span

ALONE = r"(?<![\w.+-])"
END = r"(?![\w-]|\.\d)"
_MONTH = r"(?:0[1-9]|1[0-2])"
_DAY = r"(?:0[1-9]|[12]\d|3[01])"


class _Form(NamedTuple):
    """A form for personal numbers. `is_clear` says of a number that it needs no name before it."""

    country: str
    detail: str
    pattern: re.Pattern[str]
    fits: Callable[[str], bool]
    is_clear: Callable[[str], bool]


def find_persons(text: str) -> Iterator[Span]:
    """Yield the numbers of persons of eight countries."""
    for form in _FORMS:
        for match in form.pattern.finditer(text):
            number = match[0]
            if form.fits(number) and (_is_named(form, text, match.start()) or _is_clear(form, text, match)):
                yield *match.span(), form.detail


def _is_named(form: _Form, text: str, start: int) -> bool:
    return form.country in PERSONS and is_named(PERSONS[form.country], text, start)


def _is_clear(form: _Form, text: str, match: re.Match[str]) -> bool:
    return form.is_clear(match[0]) and not (match[0].isdigit() and is_identifier(text, match.start()))


def _digits(text: str) -> list[int]:
    return [int(char) for char in text if char.isdigit()]


def _is_grouped(number: str) -> bool:
    return not number.isalnum()


def _always(_: str) -> bool:
    return True


def _never(_: str) -> bool:
    return False


def _fits_us(number: str) -> bool:
    area, group, serial = number[:3], number[-6:-4].strip("- "), number[-4:]
    return area not in {"000", "666"} and area[0] != "9" and group != "00" and serial != "0000"


def _fits_korea(number: str) -> bool:
    digits = _digits(number)
    weights = (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)
    check = 11 - sum(digit * weight for digit, weight in zip(digits, weights, strict=False)) % 11
    # Numbers given since October 2020 have no check digit, but the hyphen in its place.
    return check % 10 == digits[12] or "-" in number


def _is_clear_korea(number: str) -> bool:
    """Return whether a number of Korea is neither a barcode nor a time in milliseconds."""
    if not number.isdigit():
        return True
    digits = _digits(number)
    is_barcode = sum(digit * (1, 3)[place % 2] for place, digit in enumerate(digits)) % 10 == 0
    return not is_barcode and not "1000000000000" < number < "2000000000000"


def _fits_china(number: str) -> bool:
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    total = sum(int(digit) * weight for digit, weight in zip(number, weights, strict=False))
    return "10X98765432"[total % 11] == number[17].upper()


def _fits_japan(number: str) -> bool:
    check, *digits = reversed(_digits(number))
    total = sum(digit * (place + 1 if place <= 6 else place - 5) for place, digit in enumerate(digits, start=1))
    return check == (0 if total % 11 <= 1 else 11 - total % 11)


def _fits_germany(number: str) -> bool:
    """Return whether the last digit fits (ISO 7064 MOD 11,10)."""
    *digits, check = _digits(number)
    product = 10
    for digit in digits:
        product = ((digit + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == check


def _fits_france(number: str) -> bool:
    digits = "".join(filter(str.isdigit, number))
    return 97 - int(digits[:13]) % 97 == int(digits[13:])


def _fits_brazil(number: str) -> bool:
    digits = _digits(number)
    for size in (9, 10):
        total = sum(digit * weight for digit, weight in zip(digits[:size], range(size + 1, 1, -1), strict=True))
        if digits[size] != (0 if total % 11 < 2 else 11 - total % 11):
            return False
    return len(set(digits)) > 1


def _pattern(body: str) -> re.Pattern[str]:
    return re.compile(ALONE + body + END, re.ASCII)


_FORMS = (
    _Form(
        "Korea",
        "Korean resident registration number",
        _pattern(rf"\d{{2}}{_MONTH}{_DAY}[- ]?[1-8]\d{{6}}"),
        _fits_korea,
        _is_clear_korea,
    ),
    _Form(
        "China",
        "Chinese resident identity number",
        _pattern(rf"(?:[1-6]\d|[789][12])\d{{4}}(?:19|20)\d{{2}}{_MONTH}{_DAY}\d{{3}}[\dXx]"),
        _fits_china,
        _always,
    ),
    _Form("Japan", "Japanese My Number", _pattern(r"\d{4}[ -]?\d{4}[ -]?\d{4}"), _fits_japan, _never),
    _Form(
        "United States",
        "US social security number",
        _pattern(r"\d{3}([ -]?)\d{2}\1\d{4}"),
        _fits_us,
        lambda number: "-" in number,
    ),
    _Form(
        "United Kingdom",
        "UK National Insurance number",
        _pattern(r"(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]"),
        _always,
        lambda number: number.count(" ") == 4,
    ),
    _Form("Germany", "German tax number", _pattern(r"[1-9]\d(?: ?\d{3}){3}"), _fits_germany, _never),
    _Form(
        "France",
        "French social security number",
        _pattern(r"[12] ?\d{2} ?(?:0[1-9]|1[0-2]|[2-9]\d) ?\d{2} ?\d{3} ?\d{3} ?\d{2}"),
        _fits_france,
        _is_grouped,
    ),
    _Form("Brazil", "Brazilian CPF", _pattern(r"\d{3}\.?\d{3}\.?\d{3}-?\d{2}"), _fits_brazil, _is_grouped),
)
