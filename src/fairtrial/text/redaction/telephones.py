"""Find telephone numbers in a text, by the numbering plans of all countries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from fairtrial.text.number_names import TELEPHONE, is_identifier, is_named

if TYPE_CHECKING:
    from fairtrial.text.redaction import Span

REGIONS = ("US", "GB", "DE", "FR", "ES", "JP", "KR", "CN", "BR")
"""The countries whose national forms are found. Numbers that begin with + are found for every country."""

_PHONE = re.compile(
    r"(?<![\w.+-])(?:(?:\+|00[1-9])\d{1,3}[ .-]?(?:\(0?\d{0,4}\)[ .-]?)?\d(?:[ .-]?\d){5,12}"
    r"|(?:1[ .-])?\(\d{2,5}\)[ .-]?\d(?:[ .-]?\d){4,8}|0\d{1,4}[ .-]\d{1,4}(?:[ .-]\d{2,4}){1,3}"
    r"|0\d{1,3}\)[ ]?\d{3,4}-\d{4}|0\d{1,4}\(\d{1,4}\)\d{4}"
    r"|0\d{1,4}[ /-]\d{5,8}|0\d{9,10}|[1-9]\d 9\d{4}-\d{4}"
    r"|(?:1[ .-])?[2-9]\d{2}[ .-][2-9]\d{2}[ .-]\d{4}|1[3-9]\d(?:[ -]?\d{4}){2}"
    r"|(?P<bare>\d{7,12}))(?![\w-]|[.:]\d)",
    re.ASCII,
)
_OTHER_NUMBER = re.compile(
    r"(?:0?[1-9]|[12]\d|3[01])([./ -])(?:0?[1-9]|1[0-2])\1(?:19|20)\d\d(?!\d)|\d{3}\.\d{3}\.\d{3}$", re.ASCII
)
"""A date, or a number with points between its thousands."""


def find_phones(text: str) -> Iterator[Span]:
    """Yield the telephone numbers that are valid in a country's numbering plan.

    A number of digits and spaces may be an order number as well. It is not found after a word such as `order`. If it
    does not begin as telephone numbers do, it is found only after a word such as `phone`.
    """
    for match in _PHONE.finditer(text):
        number = match[0]
        is_unclear = match["bare"] or (number.replace(" ", "").isdigit() and is_identifier(text, match.start()))
        if is_unclear and not is_named(TELEPHONE, text, match.start()):
            continue
        if not _OTHER_NUMBER.match(number) and not _counts_up(number) and _is_valid(number):
            yield *match.span(), "telephone number"


def _counts_up(number: str) -> bool:
    """Return whether a number is a list such as `01 02 03 04 05`."""
    groups = re.split(r"\D+", number)
    numbers = [int(group) for group in groups if group]
    return len(numbers) > 3 and all(after - before == 1 for before, after in pairwise(numbers))


def _is_valid(number: str) -> bool:
    import phonenumbers

    if number.startswith("00"):
        number = f"+{number[2:]}"
    for region in (None,) if number.startswith("+") else REGIONS:
        try:
            parsed = phonenumbers.parse(number, region)
        except phonenumbers.NumberParseException:
            continue
        if phonenumbers.is_valid_number(parsed):
            return True
    return False
