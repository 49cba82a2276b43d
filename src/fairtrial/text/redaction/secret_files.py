"""Find secrets in files with forms of their own: .pgpass, .npmrc, settings of Docker, Redis and routers."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from fairtrial.text.lazy_pattern import LazyPattern
from fairtrial.text.redaction.secret_values import is_mixed, is_placeholder
from fairtrial.text.runs import match_from

if TYPE_CHECKING:
    from fairtrial.text.redaction import Span

_PGPASS = LazyPattern(
    r"[\w.*-]{1,100}:(?:54\d\d|\*):[^\s:]{1,60}:[^\s:]{1,60}:(?P<value>(?:\\:|[^\s\"':]){4,1000})(?![^\s\"'])"
)
_PORT = LazyPattern(r":(?:54|\*:)")
_WORD_BEFORE = LazyPattern(r"[^\s\"']{0,100}")
_HASH = LazyPattern(
    r"\$(?:apr1|[156789]|2[abxy]|y|gy|sha1|argon2(?:id|i|d)|scrypt|pbkdf2[\w-]{0,10}|bcrypt-sha256|krb5\w{2,6})"
    r"\$[A-Za-z0-9./$=,+@:*-]{16,4000}"
)
"""A hash of a password, as in .htpasswd and /etc/shadow."""
_BASIC = LazyPattern(
    r"auth(?:orization)?[\"']?\s{0,3}[=:]\s{0,3}[\"']?(?:basic\s{1,3})?(?P<value>[A-Za-z0-9+/]{8,400}={0,2})"
    r"(?![A-Za-z0-9+/=])",
    flags=re.IGNORECASE,
)
"""A user's name and password in base64: in .npmrc, in Docker's settings, in a header."""
_SETTING = LazyPattern(
    r"(?:requirepass|masterauth|snmp-server[ \t]{1,3}community|psk|wpa_passphrase|rocommunity|rwcommunity)\b"
    r"[ \t]{0,3}[ \t=][ \t]{0,3}[\"']?(?P<value>[^\s\"']{5,200})",
    flags=re.IGNORECASE,
)
_SETTING_STARTS = {
    "pass": ("requirepass", "wpa_passphrase"),
    "auth": ("masterauth",),
    "community": ("snmp-server", "rocommunity", "rwcommunity"),
    "psk": ("psk",),
}
"""The beginnings of settings by the mark that each of them contains, or that follows it."""
_HEX_BEFORE = LazyPattern(
    r"(?:\s\w{2,4}){0,2}\W{1,3}(?P<value>[0-9a-f]{64})(?:x0)?(?![0-9a-zA-Z])", flags=re.IGNORECASE
)
"""A key before the words `private key`, backwards: `0x... is my private key`."""
_WIREGUARD = LazyPattern(r"(?:PrivateKey|PresharedKey)\s{0,3}=\s{0,3}(?P<value>[A-Za-z0-9+/]{43}=)")
_UNSEAL = LazyPattern(
    r"unseal(?: key)?(?: \d{1,2})?:?[ \t]{1,3}(?P<value>[A-Za-z0-9+/]{43,44}={0,1})", flags=re.IGNORECASE
)
_SALESFORCE = LazyPattern(r"00D[A-Za-z0-9]{12,15}!(?P<value>[A-Za-z0-9._]{60,200})")
_JSON_KEY = LazyPattern(r"private_key_id\"\s{0,3}:\s{0,3}\"(?P<value>[0-9a-f]{40})\"")
"""The number of a key in a service account's file."""


def find(text: str, lowered: str, marks: AbstractSet[str]) -> Iterator[Span]:
    """Yield start, end and name of each secret. `lowered` is the text in lower case with these marks."""
    if _PORT.search(text):
        for sign in (":54", ":*:"):
            yield from _pgpass(text, sign)
    if "$" in text:
        yield from ((*match.span(), "password hash") for match in _HASH.finditer(text))
    if "!" in text and "00D" in text:
        yield from ((*match.span("value"), "session of salesforce") for match in _SALESFORCE.finditer(text))
    if "auth" in marks:
        yield from _basic(text, lowered)
    starts = [start for mark, starts in _SETTING_STARTS.items() if mark in marks for start in starts]
    if starts:
        yield from _settings(text, lowered, starts)
    if "unseal" in lowered or ("key" in marks and ("private" in lowered or "presharedkey" in lowered)):
        yield from _private_keys(text, lowered)


def _basic(text: str, lowered: str) -> Iterator[Span]:
    for match in match_from(_BASIC, ("auth",), text, lowered):
        if _holds_password(match["value"]):
            yield *match.span("value"), "password in base64"


def _settings(text: str, lowered: str, starts: Sequence[str]) -> Iterator[Span]:
    for match in match_from(_SETTING, starts, text, lowered):
        value = match["value"]
        if not is_placeholder(value) and (is_mixed(value) or "pass" in match[0].lower()):
            yield *match.span("value"), "setting"


def _pgpass(text: str, sign: str) -> Iterator[Span]:
    place = text.find(sign)
    while place >= 0:
        before = _WORD_BEFORE.match(text[max(0, place - 100) : place][::-1])
        match = _PGPASS.match(text, place - (before.end() if before is not None else 0))
        if match is not None and not is_placeholder(match["value"]):
            yield *match.span("value"), "password"
        place = text.find(sign, place + 1)


def _private_keys(text: str, lowered: str) -> Iterator[Span]:
    place = lowered.find("private key")
    while place >= 0:
        match = _HEX_BEFORE.match(text[max(0, place - 100) : place][::-1])
        if match is not None:
            yield place - match.end("value"), place - match.start("value"), "private key"
        place = lowered.find("private key", place + 1)
    for match in match_from(_WIREGUARD, ("privatekey", "presharedkey"), text, lowered):
        yield *match.span("value"), "private key"
    for match in match_from(_UNSEAL, ("unseal",), text, lowered):
        yield *match.span("value"), "unseal key"
    for match in match_from(_JSON_KEY, ("private_key_id",), text, lowered):
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
