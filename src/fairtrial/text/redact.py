"""Which secrets stand in a text or a JSON value, and what is left of it without them?

Claimed are provider keys, JWTs, private keys, passwords in connection strings, secrets in pairs of key and value, and
e-mail addresses; other personal data is not.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Literal

import msgspec

from fairtrial.records.record import Json, Record
from fairtrial.text import pairs, provider_keys
from fairtrial.text.pointer import escape

Kind = Literal["private_key", "connection_string", "provider_key", "jwt", "pair", "email"]
Span = tuple[int, int, str]


class Redaction(Record, frozen=True):
    """A secret that was taken out: its kind, what it is more exactly, and the JSON pointer of where it stood."""

    kind: Kind
    detail: str
    pointer: str = ""


def redact(text: str) -> tuple[str, tuple[Redaction, ...]]:
    """Return a text with `[REDACTED:kind]` in place of each secret, and what was taken out, kind by kind.

    Redacting the result again changes nothing.
    """
    found: list[Redaction] = []
    for kind, finder in _FINDERS:
        spans = _apart(finder(text))
        for start, end, detail in reversed(spans):
            text = f"{text[:start]}[REDACTED:{kind}]{text[end:]}"
            found.append(Redaction(kind=kind, detail=detail))
    return text, tuple(found)


def redact_json(value: Json, pointer: str = "") -> tuple[Json, tuple[Redaction, ...]]:
    """Return a JSON value without secrets, and what was taken out, each with the pointer of its place.

    Strings and keys are redacted as texts; a value whose key names a secret is one. Keys that become equal are
    numbered, so that nothing else is lost. The value must not be nested deeper than the stack allows.
    """
    if isinstance(value, str):
        text, found = redact(value)
        return text, tuple(msgspec.structs.replace(one, pointer=pointer) for one in found)
    if isinstance(value, list):
        parts = [redact_json(one, f"{pointer}/{place}") for place, one in enumerate(value)]
        return [part for part, _ in parts], tuple(one for _, found in parts for one in found)
    if isinstance(value, dict):
        return _redact_object(value, pointer)
    return value, ()


def _redact_object(value: dict[str, Json], pointer: str) -> tuple[dict[str, Json], tuple[Redaction, ...]]:
    result: dict[str, Json] = {}
    found: list[Redaction] = []
    for key, inner in value.items():
        place = f"{pointer}/{escape(key)}"
        clean_key, of_key = _redact_key(key)
        clean, of_value = _redact_member(key, inner, place)
        unique, number = clean_key, 2
        while unique in result or (unique != key and unique in value):
            unique, number = f"{clean_key}#{number}", number + 1
        result[unique] = clean
        found += [msgspec.structs.replace(one, pointer=place) for one in of_key]
        found += of_value
    return result, tuple(found)


_redact_key = lru_cache(maxsize=4096)(redact)  # keys are few and come again and again


def _redact_member(key: str, inner: Json, pointer: str) -> tuple[Json, tuple[Redaction, ...]]:
    clean, found = redact_json(inner, pointer)
    if isinstance(inner, list):
        members = [_redact_member(key, one, f"{pointer}/{place}") for place, one in enumerate(inner)]
        return [member for member, _ in members], tuple(one for _, more in members for one in more)
    if found or isinstance(inner, dict | bool) or inner is None or not pairs.secret_under(key, str(inner)):
        return clean, found
    return "[REDACTED:pair]", (Redaction(kind="pair", detail=key, pointer=pointer),)


def _apart(spans: Iterator[Span]) -> list[Span]:
    """Return spans in order without those that overlap an earlier or longer one."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda one: (one[0], -one[1])):
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept


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
    rf"(?:(?<![A-Za-z0-9._%+\\/-])|(?<=[^:]/)|{provider_keys.ESCAPED})"
    r"[A-Za-z0-9](?:[A-Za-z0-9._%+'-]{0,62}[A-Za-z0-9_+-])?"
    r"(?:@|%40)((?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8})((?:xn--[a-z0-9-]{2,59}|[A-Za-z]{2,24}))"
    r"(?![A-Za-z0-9@-])"
)
_FILES = frozenset({"png", "jpg", "jpeg", "gif", "webp", "svg", "ico", "js", "ts", "css", "json", "py", "md", "txt"})


def _private_keys(text: str) -> Iterator[Span]:
    if "PRIVATE KEY" in text:
        for match in _PEM.finditer(text):
            yield match.start(), match.end(), match["kind"].lower()


def _connection_strings(text: str) -> Iterator[Span]:
    if "@" in text and "/" in text:
        for match in _USERINFO.finditer(text):
            if not pairs.is_placeholder(match[1]):
                yield match.start(1), match.end(1), f"password in {match[0].partition(':')[0]}://"


def _jwts(text: str) -> Iterator[Span]:
    if "eyJ" in text:
        for match in _JWT.finditer(text):
            if _is_header(match[0].partition(".")[0]):
                yield match.start(), match.end(), "JSON web token"


def _is_header(part: str) -> bool:
    try:
        header = msgspec.json.decode(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (binascii.Error, msgspec.DecodeError, ValueError, RecursionError):
        return False
    return isinstance(header, dict) and "alg" in header


def _emails(text: str) -> Iterator[Span]:
    if "@" in text or "%40" in text:
        for match in _EMAIL.finditer(text):
            remote = text[match.end() : match.end() + 1] == ":" and match[0].startswith("git@")
            if match[2].lower() not in _FILES and not remote:
                yield match.start(), match.end(), "e-mail address"


_FINDERS: tuple[tuple[Kind, Callable[[str], Iterator[Span]]], ...] = (
    ("private_key", _private_keys),
    ("connection_string", _connection_strings),
    ("provider_key", provider_keys.find),
    ("jwt", _jwts),
    ("pair", pairs.find),
    ("email", _emails),
)
"""In this order: what contains the others comes first."""
