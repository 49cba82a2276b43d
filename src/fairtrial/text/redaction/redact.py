"""Redact secrets in texts and JSON values.

These are found: provider keys, JWTs, private keys, passwords in connection strings, secrets beside their names, and
e-mail addresses. They are found in JSON inside JSON, in URLs and in base64, too.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

import msgspec

from fairtrial.errors import UsageError, lacks_extra
from fairtrial.records.record import Record
from fairtrial.text.layers import decode_layers, find_base64
from fairtrial.text.lazy_pattern import LazyPattern
from fairtrial.text.redaction import (
    Span,
    pairs,
    provider_keys,
    secret_code,
    secret_commands,
    secret_files,
    secret_names,
    secret_sentences,
    secret_shapes,
)
from fairtrial.text.redaction.secret_search import (
    LAYERS,
    Finder,
    Kind,
    Search,
    find_literals,
    has_signs,
    signs_of_addresses,
)
from fairtrial.text.redaction.secret_values import is_placeholder

KINDS_BY_NAME: frozenset[Kind] = frozenset({"person", "card", "phone", "ip_address"})
"""The kinds of numbers for which the word before them counts, for example `phone` or `version`."""


class Redaction(Record, frozen=True):
    """A removed secret: its kind, a description, and the JSON pointer to its place."""

    kind: Kind
    detail: str
    pointer: str = ""


class Removal(NamedTuple):
    """A replaced text part: by `[REDACTED:kind]`, or by base64 that was cleaned inside."""

    start: int
    end: int
    redactions: tuple[Redaction, ...]
    replacement: str


def redact(text: str, *, emails: bool = True, people: bool = False) -> tuple[str, tuple[Redaction, ...]]:
    """Return a text with `[REDACTED:kind]` in place of each secret, and the removed secrets in their order.

    Redacting the result again changes nothing. With `emails` false, e-mail addresses stay. With `people`, telephone
    numbers, payment cards, IBANs, numbers of persons, IP addresses and names of home folders go, too.
    """
    return redact_with(Search(make_finders(emails=emails, people=people), text), text)


def without_secrets(text: str) -> str:
    """Return a text for others, with `[REDACTED:kind]` in place of each secret. E-mail addresses stay."""
    return redact(text, emails=False)[0]


def may_hold_secrets(text: str) -> bool:
    """Return whether a text may hold a secret. False means that `redact` and `redact_json` find nothing in it.

    The text may be a value's JSON: then the answer is about the value. E-mail addresses do not count.
    """
    return has_signs(_FINDERS_OF_SECRETS, text)


@cache
def make_finders(*, emails: bool = True, people: bool = False) -> tuple[Finder, ...]:
    """Return the finders for all secret kinds, in the order in which they search.

    Raises UsageError for `people` without the library that knows telephone numbers.
    """
    finders = _FINDERS if emails else _FINDERS_OF_SECRETS
    if not people:
        return finders
    if find_spec("phonenumbers") is None:
        raise UsageError(lacks_extra("the redaction of people", "people"), code="missing-package")
    from fairtrial.text.redaction.people_finders import (  # their patterns take time to compile
        FINDERS,
        FINDERS_OF_EMAILS,
    )

    return (*FINDERS_OF_EMAILS, *finders, *FINDERS) if emails else finders + FINDERS


def redact_with(
    search: Search, text: str, layers: int = LAYERS, *, before: str = ""
) -> tuple[str, tuple[Redaction, ...]]:
    """Return a text without the secrets that a search finds, and the removed secrets in their order.

    `before` stands before the text, for example `phone: `. It tells which numbers are personal, and is not redacted.
    """
    return replace_removals(text, find_removals(text, search, layers, before))


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


def find_removals(text: str, search: Search, layers: int = LAYERS, before: str = "") -> list[Removal]:
    """Return the removals in a text and in its layers, in order and without overlaps."""
    removals = _find_plain(text, search, before)
    if layers and search.has_layers:
        for layer in decode_layers(text):
            removals += [
                removal._replace(start=layer.outer(removal.start), end=layer.outer(removal.end))
                for removal in find_removals(layer.text, search, layers - 1, before)
            ]
        removed = [(removal.start, removal.end) for removal in removals]
        for run in find_base64(text, removed):
            clean, redactions = redact_with(search, run.text, layers - 1)
            if redactions:
                removals.append(Removal(run.start, run.end, redactions, run.encode(clean)))
    return _merge(removals) if len(removals) > 1 else removals


def _find_plain(text: str, search: Search, before: str) -> list[Removal]:
    """Return the removals in a text as it stands. A later finder does not see the finds of earlier finders."""
    removals: list[Removal] = []
    for (kind, _, find, _), signs in search.finders:
        if before and kind in KINDS_BY_NAME:
            size = len(before)
            found = find(before + text, signs)
            spans = [(start - size, end - size, detail) for start, end, detail in found if start >= size]
        else:
            spans = list(find(text, signs))
        for start, end, detail in spans:
            redaction = Redaction(kind=kind, detail=detail)
            removals.append(Removal(start, end, (redaction,), f"[REDACTED:{kind}]"))
        for start, end, _ in spans:
            # Brackets keep the places of all other characters, and count as a placeholder.
            text = f"{text[:start]}{'[' * (end - start)}{text[end:]}"
    return removals


def _merge(removals: list[Removal]) -> list[Removal]:
    """Return removals in order. Of removals that overlap, the first remains, and reaches to the last one's end."""
    merged: list[Removal] = []
    for removal in sorted(removals, key=lambda removal: (removal.start, -removal.end)):
        if not merged or removal.start >= merged[-1].end:
            merged.append(removal)
        elif removal.end > merged[-1].end:
            first = merged[-1]
            merged[-1] = Removal(first.start, removal.end, first.redactions, f"[REDACTED:{first.redactions[0].kind}]")
    return merged


_PEM = LazyPattern(
    r"-----BEGIN (?P<kind>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:(?:(?!-----(?:BEGIN|END)).){0,20000}-----END [A-Z0-9 ]{0,40}-----|[A-Za-z0-9+/=\s\\]{0,20000})",
    flags=re.DOTALL,
)
_SCHEME_END = LazyPattern(r":\\{0,2}/\\{0,2}/")
_USERINFO = LazyPattern(
    provider_keys.LEFT + r"[A-Za-z][A-Za-z0-9+.-]{1,30}:\\{0,2}/\\{0,2}/[^\s:/\"'<>\\]{0,100}:([^\s/\"'<>\\]{1,200})@"
)
_LONGEST_USERINFO = 340
_LONGEST_SIGN = 40
_JWT = LazyPattern(
    r"eyJ(?<![A-Za-z0-9]eyJ)[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{2,20000}(?:\.[A-Za-z0-9_-]{0,20000}){1,3}"
)
_LETTERS = r"A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u03ff\u0400-\u052f\u1e00-\u1fff"
"""The Latin, Greek and Cyrillic letters. Between these words there are spaces, so that an address has a beginning."""
_LOCAL = LazyPattern(
    rf"(?:(?<![{_LETTERS}0-9._%+\\/-])|(?<=[^:]/))"
    rf"[{_LETTERS}0-9](?:[{_LETTERS}0-9._%+'-]{{0,62}}[{_LETTERS}0-9_+-])?\Z"
)
"""An e-mail address before its sign, ending a text."""
_DOMAIN = LazyPattern(
    rf"@((?:[{_LETTERS}0-9](?:[{_LETTERS}0-9-]{{0,61}}[{_LETTERS}0-9])?\.){{1,8}})"
    rf"((?:xn--[a-z0-9-]{{2,59}}|[{_LETTERS}]{{2,24}}))(?![{_LETTERS}0-9@-])"
)
_EMAIL_SIGN = LazyPattern(rf"@(?<=[{_LETTERS}0-9_+-]@)[{_LETTERS}0-9]")
_FILES = frozenset({"png", "jpg", "jpeg", "gif", "webp", "svg", "ico", "js", "ts", "css", "json", "py", "md", "txt"})


def _private_keys(text: str, _: Collection[str]) -> Iterator[Span]:
    for match in _PEM.finditer(text):
        yield match.start(), match.end(), match["kind"].lower()


def _connection_strings(text: str, _: Collection[str]) -> Iterator[Span]:
    end = 0
    while (sign := text.find("@", end)) >= 0:
        # The scheme, the user and the password are in the word of their sign. The last sign ends the password.
        start = max(end, sign - _LONGEST_USERINFO, text.rfind(" ", end, sign) + 1)
        has_scheme = text.find("/", start, sign) > 0
        match = _USERINFO.search(text, start, sign + _LONGEST_USERINFO) if has_scheme else None
        end = sign + 1
        if match is not None and match.start() < sign:
            end = match.end()
            if not is_placeholder(match[1]):
                yield match.start(1), end - 1, f"password in {match[0].partition(':')[0]}://"


def _jwts(text: str, _: Collection[str]) -> Iterator[Span]:
    for match in _JWT.finditer(text):
        if _is_header(match[0].partition(".")[0]):
            yield match.start(), match.end(), "JSON web token"


def _is_header(part: str) -> bool:
    try:
        header = msgspec.json.decode(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (binascii.Error, msgspec.DecodeError, ValueError, RecursionError):
        return False
    return isinstance(header, dict) and "alg" in header


def _pairs(text: str, _: Collection[str]) -> Iterator[Span]:
    """Yield the secrets beside their names and in shapes, longer spans first, without overlaps."""
    end = 0
    lowered = secret_names.lower(text)
    marks = secret_names.find_marks(lowered)
    spans = [*secret_commands.find_in_commands(text), *_find_apart(text, lowered, marks)]
    spans += secret_sentences.find(text, lowered, marks)
    if marks:
        spans += secret_shapes.find_named(text, lowered)
        spans += pairs.find(text, lowered, marks)
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        if span[1] > end:
            yield max(end, span[0]), span[1], span[2]
            end = span[1]


def _find_apart(text: str, lowered: str, marks: AbstractSet[str]) -> Iterator[Span]:
    """Yield the secrets whose names stand in no key of an object, so that a whole text shows all of them."""
    yield from secret_commands.find_lines(text, lowered, marks)
    yield from secret_files.find(text, lowered, marks)
    yield from secret_code.find(text, lowered)


def _signs_of_pairs(text: str, lowered: str) -> set[str]:
    marks = secret_names.find_marks(lowered)
    signs = secret_names.find_signs(lowered, marks) | secret_commands.find_flags(text)
    signs |= secret_sentences.find_names(text, lowered, marks)
    for start, end, _ in _find_apart(text, lowered, marks):
        signs.add(lowered[start:end][:_LONGEST_SIGN])
    return signs


def _signs_of_connections(text: str, lowered: str) -> list[str]:
    signs = signs_of_addresses(text, lowered)
    return signs if signs and _SCHEME_END.search(text) else []


def _emails(text: str, _: Collection[str]) -> Iterator[Span]:
    end = 0
    for sign in [match.start() for match in _EMAIL_SIGN.finditer(text)]:
        if sign < end:
            continue
        domain = _DOMAIN.match(text, sign)
        local = domain and _LOCAL.search(text, max(end, sign - 64), sign)
        if domain is None or local is None:
            continue
        end = domain.end()
        remote = text[end : end + 1] == ":" and local[0] == "git"
        if domain[2].lower() not in _FILES and not remote:
            yield local.start(), end, "e-mail address"


_FINDERS = (
    Finder("private_key", find_literals("PRIVATE KEY"), _private_keys),
    Finder("connection_string", _signs_of_connections, _connection_strings),
    # Before provider keys, because a long web token often holds the short beginnings of such keys.
    Finder("jwt", find_literals("eyJ"), _jwts, in_long_words=True),
    Finder(
        "provider_key",
        lambda text, _: provider_keys.find_signs(text),
        lambda text, _: provider_keys.find(text),
        in_long_words=True,
    ),
    Finder("pair", _signs_of_pairs, _pairs),
    Finder("email", signs_of_addresses, _emails),
)
"""The finders in their order. A kind of secret that contains other kinds comes before them."""

_FINDERS_OF_SECRETS = tuple(finder for finder in _FINDERS if finder.kind != "email")
