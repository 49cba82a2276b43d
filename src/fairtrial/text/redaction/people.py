"""Find personal data without persons' numbers: cards, accounts, IP addresses, e-mail and home folders."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fairtrial.text.number_names import CARD, is_identifier, is_named, is_version
from fairtrial.text.redaction.person_numbers import ALONE, END

if TYPE_CHECKING:
    from fairtrial.text.redaction import Span

_CARD = re.compile(
    rf"{ALONE}(?:(?:\d{{4}}[ -]?){{3}}\d{{1,7}}|(?:\d{{4}} ){{4}}\d{{1,3}}|(?:\d{{4}}-){{4}}\d{{1,3}}"
    rf"|3\d{{3}}[ -]?\d{{6}}[ -]?\d{{4,5}}){END}",
    re.ASCII,
)
_CARD_STARTS = (
    (re.compile(r"4|5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720|6011|64[4-9]|65|35(?:2[89]|[3-8])"), range(16, 17)),
    (re.compile(r"3[47]"), range(15, 16)),
    (re.compile(r"30[0-5]|3[689]"), range(14, 15)),
    (re.compile(r"62"), range(16, 20)),
)
"""The first digits on cards by Visa, Mastercard, Discover and JCB, American Express, Diners Club and UnionPay, and
their digit counts."""
_IBAN = re.compile(rf"{ALONE}([A-Z]{{2}})\d{{2}}(?: ?[A-Z0-9]){{11,30}}", re.ASCII)
_IBAN_COUNTRIES = {
    15: "NO",
    16: "BE",
    18: "DK FI FO GL NL SD",
    19: "MK SI",
    20: "AT BA EE KZ LT LU MN XK",
    21: "CH CR HR LI LV",
    22: "BG BH DE GB GE IE ME RS",
    23: "AE GI IL IQ OM SO TL",
    24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST",
    26: "IS TR",
    27: "BI DJ FR GR IT MC MR SM",
    28: "AL AZ BY CY DO GT HU LB NI PL SV",
    29: "BR EG PS QA UA",
    30: "JO KW MU",
    31: "MT SC",
    32: "LC",
    33: "RU",
}
_IBAN_LENGTHS = {country: length for length, names in _IBAN_COUNTRIES.items() for country in names.split()}
"""The IBAN length in each country (ISO 13616 registry)."""
_IPV4 = re.compile(r"(?<![\w.+-])(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)", re.ASCII)
_IPV6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f]{3,4}:(?:[0-9A-Fa-f]{0,4}:){1,6}[0-9A-Fa-f]{0,4}(?![\w:])", re.ASCII)
_EAST_ASIAN = r"\u3005\u3041-\u3096\u30a1-\u30fc\u3400-\u9fff\uac00-\ud7a3"
_EAST_ASIAN_EMAIL = re.compile(
    # The letters of one script, because the words before an address are often written in another one.
    r"(?:(?:[\uac00-\ud7a3]{1,20}|[\u3041-\u3096]{1,20}|[\u30a1-\u30fc]{1,20}|[\u3005\u3400-\u9fff]{1,20})"
    r"[0-9._+-]{0,20}@(?:\w[\w-]{0,61}\.){1,8}"
    rf"|[A-Za-z0-9][A-Za-z0-9._+-]{{0,60}}@(?:\w[\w-]{{0,61}}\.){{0,7}}[{_EAST_ASIAN}][\w-]{{0,61}}\.)"
    rf"(?:xn--[a-z0-9-]{{2,59}}|[A-Za-z]{{2,24}}|[{_EAST_ASIAN}]{{2,4}})"
)
"""An address with Korean, Japanese or Chinese letters before or after its sign."""
_DOMAIN_START = re.compile(r"@\w[\w-]{0,61}\.")
_WINDOWS_NAME = r"[^\s/\\:\"'<>|;{}$%*?]{1,64}"
_HOME = re.compile(
    r"(?:(?:(?<![\w.])(?:/var|/export|/mnt/[a-z])?)/(?:home|Users)/(?P<unix>[^\s/\\:\"'<>|(),;{}$%*?]{1,64})"
    r"|[A-Za-z]:\\{1,2}(?:Users|Documents and Settings)\\{1,2}"
    rf"(?P<windows>{_WINDOWS_NAME}(?: {_WINDOWS_NAME}){{0,3}}(?=\\)|{_WINDOWS_NAME}))",
    re.ASCII,
)
_REQUEST = re.compile(r"(?:GET|POST|PUT|HEAD|PATCH|DELETE|OPTIONS)\s+$")
_SHARED_FOLDERS = frozenset(
    {"user", "username", "users", "you", "me", "name", "shared", "public", "default", "all", "guest", "admin", "root"}
    | {"administrator", "containeradministrator", "ubuntu", "debian", "ec2-user", "runner", "runneradmin", "node"}
    | {"app", "appuser", "pi", "vagrant", "vscode", "coder", "codespace", "jovyan", "circleci", "gitpod", "jenkins"}
    | {"git", "www-data", "nobody", "nonroot", "site"}
)
"""The names of home folders that belong to machines, services and examples, in lower case."""


def find_cards(text: str) -> Iterator[Span]:
    """Yield the numbers of payment cards whose first digits, length and Luhn digit fit."""
    for match in _CARD.finditer(text):
        number = re.sub(r"\D", "", match[0])
        is_order = number == match[0] and is_identifier(text, match.start())
        is_form = any(start.match(number) and len(number) in sizes for start, sizes in _CARD_STARTS)
        is_card = (is_form and not is_order) or is_named(CARD, text, match.start())
        if is_card and len(set(number)) > 1 and _luhn(number):
            yield *match.span(), "payment card"


def find_accounts(text: str) -> Iterator[Span]:
    """Yield the IBANs whose length is that of their country, and whose remainder by 97 is 1 (ISO 13616)."""
    for match in _IBAN.finditer(text):
        length = _IBAN_LENGTHS.get(match[1], 0)
        places = [place for place in range(*match.span()) if text[place] != " "][:length]
        if not length or len(places) < length:
            continue
        end = places[-1] + 1
        account = "".join(text[place] for place in places)
        number = "".join(str(int(char, 36)) for char in account[4:] + account[:4])
        if int(number) % 97 == 1 and not re.match(r"[A-Za-z0-9]", text[end : end + 1]):
            yield match.start(), end, "IBAN"


def find_addresses(text: str) -> Iterator[Span]:
    """Yield IP addresses, but no versions, no masks, and no addresses that every machine has."""
    for pattern in (_IPV4, _IPV6):
        for match in pattern.finditer(text):
            try:
                address = ipaddress.ip_address(match[0])
            except ValueError:
                continue
            is_common = address.is_loopback or address.is_unspecified or address.is_multicast or address.is_reserved
            is_local = address.version == 4 and address.is_link_local
            if not (is_common or is_local or is_version(text, match.start())):
                yield *match.span(), "IP address"


def find_east_asian_emails(text: str) -> Iterator[Span]:
    """Yield the e-mail addresses with Korean, Japanese or Chinese letters."""
    end = 0
    for sign in [match.start() for match in _DOMAIN_START.finditer(text)]:
        start = max(end, sign - 61)
        if sign < end or text[start : sign + 257].isascii():  # a search takes 50 times as long as this look
            continue
        match = _EAST_ASIAN_EMAIL.search(text, start, sign + 257)
        if match is not None and match.start() < sign:
            end = match.end()
            yield *match.span(), "e-mail address"


def find_homes(text: str) -> Iterator[Span]:
    """Yield the names of users in the paths of their home folders."""
    for match in _HOME.finditer(text):
        group = "unix" if match["unix"] is not None else "windows"
        name = match[group].rstrip(".")
        is_path = _REQUEST.search(text, max(0, match.start() - 9), match.start()) is None
        if name and is_path and name.lower() not in _SHARED_FOLDERS and not name.startswith("["):
            yield match.start(group), match.start(group) + len(name), "home folder"


def _luhn(digits: str) -> bool:
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0
