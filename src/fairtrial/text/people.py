"""Which personal data does a text hold: telephone numbers, cards, accounts, numbers of persons, IP addresses, folders?

Every number with a check digit is found only if the digit fits, so that an order number is hardly ever taken.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator

Span = tuple[int, int, str]

_ALONE = r"(?<![\w.+-])"
_END = r"(?![\w-]|\.\d)"
_CARD = re.compile(rf"{_ALONE}(?:\d{{4}}[ -]?){{3}}\d{{1,7}}{_END}|{_ALONE}3[47]\d{{2}}[ -]?\d{{6}}[ -]?\d{{5}}{_END}")
_CARD_STARTS = re.compile(r"4|5[1-5]|2[2-7]|3[47]|35|6(?:011|5|2)")
_IBAN = re.compile(rf"{_ALONE}[A-Z]{{2}}\d{{2}}(?: ?[A-Z0-9]{{4}}){{2,7}}(?: ?[A-Z0-9]{{1,3}})?{_END}")
_KOREAN_ID = re.compile(rf"{_ALONE}\d{{2}}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])[- ]?[1-8]\d{{6}}{_END}")
_CHINESE_ID = re.compile(
    rf"{_ALONE}[1-9]\d{{5}}(?:19|20)\d{{2}}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{{3}}[\dXx]{_END}"
)
_MY_NUMBER = re.compile(rf"{_ALONE}\d{{4}}[ -]?\d{{4}}[ -]?\d{{4}}{_END}")
_MY_NUMBER_NAME = re.compile(r"マイナンバー|個人番号|my[ -]?number", re.IGNORECASE)
_SSN = re.compile(rf"{_ALONE}(?!000|666|9\d\d)\d{{3}}-(?!00)\d{{2}}-(?!0000)\d{{4}}{_END}")
_IPV4 = re.compile(r"(?<![\w.+-])(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}(?![\w:])")
_VERSION = re.compile(r"(?:version|ver\.?|release|v)\s*[:=]?\s*$", re.IGNORECASE)
_HOME = re.compile(
    r"(?:(?<![\w.])/(?:home|Users)/|[A-Za-z]:\\{1,2}Users\\{1,2})(?!(?:Shared|Public)\b)([^\s/\\:\"'<>|]{1,64})"
)
_PHONE = re.compile(
    rf"(?<![\w.+-])(?:\+\d{{1,3}}[ .-]?(?:\(0?\d{{1,4}}\)[ .-]?)?\d(?:[ .-]?\d){{5,12}}"
    rf"|\(\d{{2,5}}\)[ .-]?\d(?:[ .-]?\d){{4,8}}|0\d{{1,4}}[ .-]\d{{1,4}}(?:[ .-]\d{{2,4}}){{1,3}}"
    rf"|0\d{{1,4}}[ /-]\d{{5,8}}|0\d{{9,10}}"
    rf"|[2-9]\d{{2}}[ .-][2-9]\d{{2}}[ .-]\d{{4}}|1[3-9]\d(?:[ -]?\d{{4}}){{2}}){_END}"
)


def find_phones(text: str) -> Iterator[Span]:
    """Yield telephone numbers that are valid in the numbering plan of a country, by the library phonenumbers."""
    import phonenumbers

    for match in _PHONE.finditer(text):
        regions = (None,) if match[0].startswith("+") else REGIONS
        for region in regions:
            try:
                number = phonenumbers.parse(match[0], region)
            except phonenumbers.NumberParseException:
                continue
            if phonenumbers.is_valid_number(number):
                yield *match.span(), "telephone number"
                break


REGIONS = ("US", "GB", "DE", "FR", "ES", "JP", "KR", "CN")
"""The countries whose national forms are found. Numbers that begin with + are found for every country."""


def find_cards(text: str) -> Iterator[Span]:
    """Yield numbers of payment cards whose Luhn digit fits."""
    for match in _CARD.finditer(text):
        digits = _digits(match[0])
        if 13 <= len(digits) <= 19 and _CARD_STARTS.match(digits) and _luhn(digits):
            yield *match.span(), "payment card"


def find_accounts(text: str) -> Iterator[Span]:
    """Yield IBANs whose remainder by 97 is 1 (ISO 13616)."""
    for match in _IBAN.finditer(text):
        compact = match[0].replace(" ", "")
        number = "".join(str(int(char, 36)) for char in compact[4:] + compact[:4])
        if 15 <= len(compact) <= 34 and int(number) % 97 == 1:
            yield *match.span(), "IBAN"


def find_persons(text: str) -> Iterator[Span]:
    """Yield the numbers of persons of Korea, China, Japan and the United States."""
    checks: tuple[tuple[re.Pattern[str], Callable[[str], bool], str], ...] = (
        (_KOREAN_ID, _fits_korea, "Korean resident registration number"),
        (_CHINESE_ID, _fits_china, "Chinese resident identity number"),
        (_SSN, bool, "US social security number"),
    )
    for pattern, fits, name in checks:
        for match in pattern.finditer(text):
            if fits(match[0]):
                yield *match.span(), name
    # One number of twelve digits in eleven fits by chance, so that the name of My Number must stand before it.
    for match in _MY_NUMBER.finditer(text):
        if _fits_japan(match[0]) and _MY_NUMBER_NAME.search(text, max(0, match.start() - 40), match.start()):
            yield *match.span(), "Japanese My Number"


def find_addresses(text: str) -> Iterator[Span]:
    """Yield IP addresses, but not those of the machine itself and not versions."""
    for pattern in (_IPV4, _IPV6):
        for match in pattern.finditer(text):
            try:
                address = ipaddress.ip_address(match[0])
            except ValueError:
                continue
            is_version = _VERSION.search(text, max(0, match.start() - 12), match.start())
            if not (address.is_loopback or address.is_unspecified or is_version):
                yield *match.span(), "IP address"


def find_homes(text: str) -> Iterator[Span]:
    """Yield the names of users in the paths of their home folders."""
    for match in _HOME.finditer(text):
        if match[1] != "[REDACTED":
            yield *match.span(1), "home folder"


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def _luhn(digits: str) -> bool:
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def _fits_korea(text: str) -> bool:
    digits = _digits(text)
    weights = (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)
    check = 11 - sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False)) % 11
    # Numbers given since October 2020 have no check digit, but the hyphen in its place.
    return check % 10 == int(digits[12]) or "-" in text


def _fits_china(text: str) -> bool:
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    total = sum(int(digit) * weight for digit, weight in zip(text, weights, strict=False))
    return "10X98765432"[total % 11] == text[17].upper()


def _fits_japan(text: str) -> bool:
    digits = [int(digit) for digit in reversed(_digits(text))]
    total = sum(digit * (place + 1 if place <= 6 else place - 5) for place, digit in enumerate(digits[1:], start=1))
    check = 0 if total % 11 <= 1 else 11 - total % 11
    return check == digits[0]
