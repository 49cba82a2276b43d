"""Which secrets does a text or a JSON value contain, and how does it read without them?

These are found: provider keys, JWTs, private keys, passwords in connection strings, secrets in pairs of key and value,
and e-mail addresses. Other personal data is not found.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Literal

import msgspec

from fairtrial.records.record import Json, Record
from fairtrial.text import pairs, provider_keys
from fairtrial.text.pointer import escape

Kind = Literal["private_key", "connection_string", "provider_key", "jwt", "pair", "email"]
Span = tuple[int, int, str]


class Redaction(Record, frozen=True):
    """A removed secret: its kind, a description, and the JSON pointer of its place."""

    kind: Kind
    detail: str
    pointer: str = ""


def redact(text: str, *, emails: bool = True) -> tuple[str, tuple[Redaction, ...]]:
    """Return a text with `[REDACTED:kind]` in place of each secret, and the removed secrets, kind by kind.

    Redacting the result again changes nothing. With `emails` false, e-mail addresses stay.
    """
    redactions: list[Redaction] = []
    for kind, finder in _FINDERS if emails else _FINDERS_OF_SECRETS:
        # Most texts hold no secret, so that there is nothing to sort.
        spans = _disjoint(found) if (found := list(finder(text))) else []
        for start, end, detail in reversed(spans):
            text = f"{text[:start]}[REDACTED:{kind}]{text[end:]}"
            redactions.append(Redaction(kind=kind, detail=detail))
    return text, tuple(redactions)


def may_hold_secrets(text: str) -> bool:
    """Return whether a text may hold a secret. False means that `redact` and `redact_json` find nothing in it.

    The text may be the JSON of a value: then the answer is about the value. E-mail addresses do not count.
    """
    return pairs.names_secret(text) or any(
        any(finder(text)) for kind, finder in _FINDERS_OF_SECRETS if kind not in ("pair", "email")
    )


def redact_json(value: Json, pointer: str = "", *, emails: bool = True) -> tuple[Json, tuple[Redaction, ...]]:
    """Return a JSON value without secrets, and the removed secrets, each with the pointer of its place.

    Strings and keys are redacted as texts. If a key names a secret, its value is removed. Keys that become equal are
    numbered, so that nothing else is lost. The value must not be nested deeper than the stack allows.
    With `emails` false, e-mail addresses stay.
    """
    if isinstance(value, str):
        text, redactions = redact(value, emails=emails)
        return text, tuple(msgspec.structs.replace(redaction, pointer=pointer) for redaction in redactions)
    if isinstance(value, list):
        return _joined(redact_json(item, f"{pointer}/{place}", emails=emails) for place, item in enumerate(value))
    if isinstance(value, dict):
        return _redact_object(value, pointer, emails=emails)
    return value, ()


def _redact_object(
    value: dict[str, Json], pointer: str, *, emails: bool
) -> tuple[dict[str, Json], tuple[Redaction, ...]]:
    result: dict[str, Json] = {}
    redactions: list[Redaction] = []
    for key, inner in value.items():
        place = f"{pointer}/{escape(key)}"
        clean_key, key_redactions = _redact_key(key, emails=emails)
        clean, value_redactions = _redact_member(key, inner, place, emails=emails)
        unique, number = clean_key, 2
        while unique in result or (unique != key and unique in value):
            unique, number = f"{clean_key}#{number}", number + 1
        result[unique] = clean
        redactions += [msgspec.structs.replace(redaction, pointer=place) for redaction in key_redactions]
        redactions += value_redactions
    return result, tuple(redactions)


_redact_key = lru_cache(maxsize=4096)(redact)  # few keys occur many times


def _redact_member(key: str, inner: Json, pointer: str, *, emails: bool) -> tuple[Json, tuple[Redaction, ...]]:
    if isinstance(inner, list):
        return _joined(
            _redact_member(key, item, f"{pointer}/{place}", emails=emails) for place, item in enumerate(inner)
        )
    clean, redactions = redact_json(inner, pointer, emails=emails)
    if redactions or isinstance(inner, dict | bool) or inner is None or not pairs.secret_under(key, str(inner)):
        return clean, redactions
    return "[REDACTED:pair]", (Redaction(kind="pair", detail=key, pointer=pointer),)


def _joined(items: Iterable[tuple[Json, tuple[Redaction, ...]]]) -> tuple[list[Json], tuple[Redaction, ...]]:
    """Return the redacted items of a list, and all their redactions in order."""
    redacted = list(items)
    return [item for item, _ in redacted], tuple(redaction for _, redactions in redacted for redaction in redactions)


def _disjoint(spans: list[Span]) -> list[Span]:
    """Return spans in order, without the spans that overlap an earlier or longer span."""
    disjoint: list[Span] = []
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not disjoint or span[0] >= disjoint[-1][1]:
            disjoint.append(span)
    return disjoint


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
"""The finders in their order. A kind of secret that contains other kinds comes before them."""

_FINDERS_OF_SECRETS = tuple((kind, finder) for kind, finder in _FINDERS if kind != "email")
