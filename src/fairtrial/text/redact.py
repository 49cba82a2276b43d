"""Which secrets does a text or a JSON value contain, and how does it read without them?

These are found: provider keys, JWTs, private keys, passwords in connection strings, secrets beside their names, and
e-mail addresses. They are found in JSON inside JSON, in URLs and in base64, too.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Literal, NamedTuple

import msgspec

from fairtrial.errors import UsageError, lacks_extra
from fairtrial.records.record import Record
from fairtrial.text import pairs, provider_keys, secret_names, secret_shapes
from fairtrial.text import people as people_data
from fairtrial.text.layers import SHORTEST_BASE64, decode_layers, find_base64, may_hold_layers
from fairtrial.text.person_numbers import find_persons
from fairtrial.text.secret_values import is_placeholder
from fairtrial.text.telephones import find_phones

SecretKind = Literal["private_key", "connection_string", "provider_key", "jwt", "pair", "email"]
PersonalKind = Literal["person", "card", "account", "phone", "ip_address", "home"]
Kind = SecretKind | PersonalKind
Span = tuple[int, int, str]

KINDS_BY_NAME: frozenset[Kind] = frozenset({"person", "card", "phone", "ip_address"})
"""The kinds of numbers for which the word before them counts, for example `phone` or `version`."""
LAYERS = 4
"""Secrets are found inside this many encodings, for example in base64 in a URL in JSON in JSON."""


class Redaction(Record, frozen=True):
    """A removed secret: its kind, a description, and the JSON pointer of its place."""

    kind: Kind
    detail: str
    pointer: str = ""


class Finder(NamedTuple):
    """A kind of secret. `may_find` is fast, and false only if `find` would yield nothing."""

    kind: Kind
    may_find: Callable[[str], bool]
    find: Callable[[str], Iterator[Span]]


class Removal(NamedTuple):
    """A part of a text that is replaced: by `[REDACTED:kind]`, or by base64 that was cleaned inside."""

    start: int
    end: int
    redactions: tuple[Redaction, ...]
    replacement: str


def redact(text: str, *, emails: bool = True, people: bool = False) -> tuple[str, tuple[Redaction, ...]]:
    """Return a text with `[REDACTED:kind]` in place of each secret, and the removed secrets in their order.

    Redacting the result again changes nothing. With `emails` false, e-mail addresses stay. With `people`, telephone
    numbers, payment cards, IBANs, numbers of persons, IP addresses and names of home folders go, too.
    """
    return redact_with(finders_of(emails=emails, people=people), text)


def may_hold_secrets(text: str) -> bool:
    """Return whether a text may hold a secret. False means that `redact` and `redact_json` find nothing in it.

    The text may be the JSON of a value: then the answer is about the value. E-mail addresses do not count.
    """
    return bool(select_finders(_FINDERS_OF_SECRETS, [text]))


@cache
def finders_of(*, emails: bool = True, people: bool = False) -> tuple[Finder, ...]:
    """Return the finders of the kinds of secrets, in the order in which they search.

    Raises UsageError for `people` without the library that knows telephone numbers.
    """
    finders = _FINDERS if emails else _FINDERS_OF_SECRETS
    if people and find_spec("phonenumbers") is None:
        raise UsageError(lacks_extra("the redaction of people", "people"))
    return finders + _FINDERS_OF_PEOPLE if people else finders


def redact_with(
    finders: Sequence[Finder], text: str, layers: int = LAYERS, *, before: str = ""
) -> tuple[str, tuple[Redaction, ...]]:
    """Return a text without the secrets that some finders find, and the removed secrets in their order.

    `before` stands before the text, for example `phone: `. It tells which numbers are personal, and is not redacted.
    """
    return replace_removals(text, find_removals(text, finders, layers, before))


def replace_removals(text: str, removals: Sequence[Removal]) -> tuple[str, tuple[Redaction, ...]]:
    """Return a text without some removals, which are in order and do not overlap, and their redactions."""
    if not removals:
        return text, ()
    parts: list[str] = []
    end = 0
    for removal in removals:
        parts += [text[end : removal.start], removal.replacement]
        end = removal.end
    return "".join([*parts, text[end:]]), tuple(redaction for removal in removals for redaction in removal.redactions)


def select_finders(finders: Sequence[Finder], texts: Sequence[str], layers: int = LAYERS) -> tuple[Finder, ...]:
    """Return the finders that may find something in any of some texts. For most texts there are none.

    One search through all texts together is far faster than a search through each.
    """
    text = "\n".join(texts)
    kinds = {finder.kind for finder in finders if finder.may_find(text)}
    if layers and len(kinds) < len(finders):
        inner = [layer.text for part in texts for layer in decode_layers(part)] if may_hold_layers(text) else []
        inner += [run.text for run in find_base64(text)]
        if inner:
            kinds |= {finder.kind for finder in select_finders(finders, inner, layers - 1)}
    return tuple(finder for finder in finders if finder.kind in kinds)


def find_removals(text: str, finders: Sequence[Finder], layers: int = LAYERS, before: str = "") -> list[Removal]:
    """Return the removals in a text and in its layers, in order and without overlaps."""
    removals = _find_plain(text, finders, before)
    if layers:
        for layer in decode_layers(text):
            removals += [
                removal._replace(start=layer.outer(removal.start), end=layer.outer(removal.end))
                for removal in find_removals(layer.text, finders, layers - 1, before)
            ]
        removed = [(removal.start, removal.end) for removal in removals]
        for run in find_base64(text, removed) if len(text) >= SHORTEST_BASE64 else ():
            clean, redactions = redact_with(finders, run.text, layers - 1)
            if redactions:
                removals.append(Removal(run.start, run.end, redactions, run.encode(clean)))
    return _merge(removals) if len(removals) > 1 else removals


def _find_plain(text: str, finders: Sequence[Finder], before: str) -> list[Removal]:
    """Return the removals in a text as it stands. A later finder does not see the finds of earlier finders."""
    removals: list[Removal] = []
    for kind, may_find, find in finders:
        if not may_find(text):
            continue
        if before and kind in KINDS_BY_NAME:
            size = len(before)
            spans = [(start - size, end - size, detail) for start, end, detail in find(before + text) if start >= size]
        else:
            spans = list(find(text))
        for start, end, detail in spans:
            redaction = Redaction(kind=kind, detail=detail)
            removals.append(Removal(start, end, (redaction,), f"[REDACTED:{kind}]"))
        for start, end, _ in spans:
            # Brackets keep the places of all other characters, and count as a placeholder.
            text = f"{text[:start]}{'[' * (end - start)}{text[end:]}"
    return removals


def _merge(removals: list[Removal]) -> list[Removal]:
    """Return removals in order. Of removals that overlap, the first remains, and reaches to the end of the last."""
    merged: list[Removal] = []
    for removal in sorted(removals, key=lambda removal: (removal.start, -removal.end)):
        if not merged or removal.start >= merged[-1].end:
            merged.append(removal)
        elif removal.end > merged[-1].end:
            first = merged[-1]
            merged[-1] = Removal(first.start, removal.end, first.redactions, f"[REDACTED:{first.redactions[0].kind}]")
    return merged


_PEM = re.compile(
    r"-----BEGIN (?P<kind>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:(?:(?!-----(?:BEGIN|END)).){0,20000}-----END [A-Z0-9 ]{0,40}-----|[A-Za-z0-9+/=\s\\]{0,20000})",
    re.DOTALL,
)
_USERINFO = re.compile(
    provider_keys.LEFT + r"[A-Za-z][A-Za-z0-9+.-]{1,30}:\\{0,2}/\\{0,2}/[^\s:/\"'<>\\]{0,100}:([^\s/\"'<>\\]{1,200})@"
)
_JWT = re.compile(
    provider_keys.LEFT + r"eyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{2,20000}(?:\.[A-Za-z0-9_-]{0,20000}){1,3}"
)
_EMAIL = re.compile(
    r"(?:(?<![A-Za-z0-9._%+\\/-])|(?<=[^:]/))"
    r"[A-Za-z0-9](?:[A-Za-z0-9._%+'-]{0,62}[A-Za-z0-9_+-])?"
    r"@((?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8})((?:xn--[a-z0-9-]{2,59}|[A-Za-z]{2,24}))"
    r"(?![A-Za-z0-9@-])"
)
_AT = re.compile(r"@(?<=\S@)[A-Za-z0-9\[]")
_DIGITS = re.compile(r"\d[\d .:()/-]{4}|[0-9A-Fa-f]{3}:[0-9A-Fa-f]{0,4}:|\d [A-D]\b")
_FILES = frozenset({"png", "jpg", "jpeg", "gif", "webp", "svg", "ico", "js", "ts", "css", "json", "py", "md", "txt"})


def _private_keys(text: str) -> Iterator[Span]:
    for match in _PEM.finditer(text):
        yield match.start(), match.end(), match["kind"].lower()


def _connection_strings(text: str) -> Iterator[Span]:
    for match in _USERINFO.finditer(text):
        if not is_placeholder(match[1]):
            yield match.start(1), match.end(1), f"password in {match[0].partition(':')[0]}://"


def _jwts(text: str) -> Iterator[Span]:
    for match in _JWT.finditer(text):
        if _is_header(match[0].partition(".")[0]):
            yield match.start(), match.end(), "JSON web token"


def _is_header(part: str) -> bool:
    try:
        header = msgspec.json.decode(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (binascii.Error, msgspec.DecodeError, ValueError, RecursionError):
        return False
    return isinstance(header, dict) and "alg" in header


def _pairs(text: str) -> Iterator[Span]:
    """Yield the secrets beside their names and in shapes, longer spans first, without overlaps."""
    end = 0
    spans = list(secret_shapes.find_in_commands(text))
    lowered = secret_names.lower(text)
    if secret_names.has_mark(lowered):
        spans += secret_shapes.find_named(text, lowered)
        spans += pairs.find(text, lowered)
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        if span[1] > end:
            yield max(end, span[0]), span[1], span[2]
            end = span[1]


def _may_hold_pairs(text: str) -> bool:
    return secret_names.has_mark(secret_names.lower(text)) or secret_shapes.may_hold_command(text)


def _may_hold_address(text: str) -> bool:
    return "@" in text and _AT.search(text) is not None


def may_hold_number(text: str) -> bool:
    """Return whether a text may hold the number of a person, a card, an account, a telephone or a machine."""
    return _DIGITS.search(text) is not None


def _may_hold_home(text: str) -> bool:
    return "/home/" in text or "Users" in text or "Documents and Settings" in text


def _emails(text: str) -> Iterator[Span]:
    end = 0
    while (sign := text.find("@", end)) >= 0:
        # An address begins in the word of its sign, and is at most 320 characters long.
        match = _EMAIL.search(text, max(end, sign - 64, text.rfind(" ", 0, sign) + 1), sign + 257)
        end = sign + 1
        if match is not None:
            end = max(end, match.end())
            remote = text[match.end() : match.end() + 1] == ":" and match[0].startswith("git@")
            if match[2].lower() not in _FILES and not remote:
                yield match.start(), match.end(), "e-mail address"


_FINDERS = (
    Finder("private_key", lambda text: "PRIVATE KEY" in text, _private_keys),
    Finder("connection_string", lambda text: _may_hold_address(text) and ":" in text, _connection_strings),
    # Before provider keys, because a long web token often holds the short beginnings of such keys.
    Finder("jwt", lambda text: "eyJ" in text, _jwts),
    Finder("provider_key", provider_keys.may_find, provider_keys.find),
    Finder("pair", _may_hold_pairs, _pairs),
    Finder("email", _may_hold_address, _emails),
)
"""The finders in their order. A kind of secret that contains other kinds comes before them."""

_FINDERS_OF_PEOPLE = (
    Finder("account", may_hold_number, people_data.find_accounts),
    Finder("person", may_hold_number, find_persons),
    Finder("card", may_hold_number, people_data.find_cards),
    Finder("ip_address", may_hold_number, people_data.find_addresses),
    Finder("phone", may_hold_number, find_phones),
    Finder("home", _may_hold_home, people_data.find_homes),
)

_FINDERS_OF_SECRETS = tuple(finder for finder in _FINDERS if finder.kind != "email")
