"""Find secrets in files that have their own form: .pgpass, .npmrc, the passwords of Docker, Redis, routers and users."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Set

from fairtrial.text.redaction.secret_values import is_mixed, is_placeholder

Span = tuple[int, int, str]

_PGPASS = re.compile(r"(?<![^\s\"'])[\w.*-]{1,100}:(?:54\d\d|\*):[^\s:]{1,60}:[^\s:]{1,60}:(?P<value>[^\s\"']{4,200})")
_HASH = re.compile(
    r"\$(?:apr1|[1567]|2[abxy]|y|gy|sha1|argon2(?:id|i|d)|scrypt|pbkdf2[\w-]{0,10}|bcrypt-sha256)"
    r"\$[A-Za-z0-9./$=,+-]{16,250}"
)
"""A hash of a password, as in .htpasswd and /etc/shadow."""
_BASIC = re.compile(
    r"(?:\b|_)auth[\"']?\s{0,3}[=:]\s{0,3}[\"']?(?P<value>[A-Za-z0-9+/]{8,400}={0,2})(?![A-Za-z0-9+/=])|"
    r"(?i:basic)\s{1,3}(?P<basic>[A-Za-z0-9+/]{8,400}={0,2})(?![A-Za-z0-9+/=])"
)
"""A user's name and password in base64: in .npmrc, in Docker's settings, in a header."""
_SETTING = re.compile(
    r"(?:\b(?:requirepass|masterauth|snmp-server[ \t]+community|psk|wpa_passphrase|rocommunity|rwcommunity|tls-auth-key)\b"
    r"[ \t]{0,3}[ \t=][ \t]{0,3})[\"']?(?P<value>[^\s\"']{5,200})",
    re.IGNORECASE,
)
_SETTING_MARKS = frozenset({"auth", "pass", "community", "psk"})
_HEX_KEY = re.compile(r"\b(?:0x)?(?P<value>[0-9a-fA-F]{64})(?=\W{1,3}(?:is\s)?(?:\w{2,4}\s)?private key)")
_WIREGUARD = re.compile(r"\b(?:PrivateKey|PresharedKey)\s{0,3}=\s{0,3}(?P<value>[A-Za-z0-9+/]{43}=)")
_JSON_KEY = re.compile(r"\"private_key_id\"\s{0,3}:\s{0,3}\"(?P<value>[0-9a-f]{40})\"")
"""The number of a key in a service account's file."""


def find(text: str, marks: Set[str]) -> Iterator[Span]:
    """Yield start, end and name of each secret. `marks` are the marks in the text."""
    if ":54" in text or ":*:" in text:
        for match in _PGPASS.finditer(text):
            if not is_placeholder(match["value"]):
                yield *match.span("value"), "password"
    if "$" in text:
        for match in _HASH.finditer(text):
            yield *match.span(), "password hash"
    if "auth" in marks:
        for match in _BASIC.finditer(text):
            group = "basic" if match["value"] is None else "value"
            if _holds_password(match[group]):
                yield *match.span(group), "password in base64"
    if not marks.isdisjoint(_SETTING_MARKS):
        for match in _SETTING.finditer(text):
            if not is_placeholder(match["value"]) and (is_mixed(match["value"]) or "pass" in match[0].lower()):
                yield *match.span("value"), "setting"
    if "key" in marks and "private" in text.lower():
        for match in (*_HEX_KEY.finditer(text), *_JSON_KEY.finditer(text)):
            yield *match.span("value"), "private key"
        for match in _WIREGUARD.finditer(text):
            yield *match.span("value"), "private key"


def _holds_password(raw: str) -> bool:
    """Return whether base64 holds a user's name, a colon and a password."""
    try:
        text = base64.b64decode(raw + "=" * (-len(raw) % 4)).decode()
    except (binascii.Error, ValueError):
        return False
    name, sign, password = text.partition(":")
    return (
        bool(sign) and len(password) >= 4 and text.isprintable() and not is_placeholder(password) and len(name) <= 200
    )
