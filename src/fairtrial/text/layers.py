"""Which texts are encoded inside a text: with JSON's escapes, in a URL, in full-width letters, or in base64?"""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

_JSON_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([\"'\\/bfnrt]))")
_JSON_SIGNS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_URL_ESCAPE = re.compile(
    r"%[0-7][0-9A-Fa-f]|%[CDcd][0-9A-Fa-f]%[89ABab][0-9A-Fa-f]"
    r"|%[Ee][0-9A-Fa-f](?:%[89ABab][0-9A-Fa-f]){2}|%[Ff][0-7](?:%[89ABab][0-9A-Fa-f]){3}"
)
_WIDE = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
"""Full-width forms of ASCII, for example `ｐａｓｓ：` for `pass:`."""
SHORTEST_BASE64 = 16
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,200000}={0,2}(?![A-Za-z0-9+/_=-])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class Layer(NamedTuple):
    """A decoded text. `places` are its escapes: the place after each in the decoded text, and in the text itself."""

    text: str
    places: list[tuple[int, int]]

    def outer(self, place: int) -> int:
        """Return the place in the encoded text of a place in the decoded text."""
        number = bisect_right(self.places, place, key=lambda pair: pair[0])
        inner, outer = self.places[number - 1] if number else (0, 0)
        return outer + place - inner


class Base64Run(NamedTuple):
    """A text in base64: its start and end in the encoded text, and the text itself."""

    start: int
    end: int
    text: str
    raw: str

    def encode(self, text: str) -> str:
        """Return another text in the same alphabet, padded if this run is padded."""
        is_urlsafe = "-" in self.raw or "_" in self.raw
        encoder = base64.urlsafe_b64encode if is_urlsafe else base64.b64encode
        encoded = encoder(text.encode()).decode()
        return encoded if self.raw.endswith("=") or len(self.raw) % 4 == 0 else encoded.rstrip("=")


def decode_layers(text: str) -> Iterator[Layer]:
    """Yield the text without JSON's escapes, without a URL's escapes, and with narrow letters, if these differ.

    For example, `q=%22a%22` gives `q="a"`. Each layer may hold further layers.
    """
    if "\\" in text:
        yield from _decode(text, _JSON_ESCAPE, _json_sign)
    if "%" in text:
        yield from _decode(text, _URL_ESCAPE, _url_sign)
    if not text.isascii() and (narrow := text.translate(_WIDE)) != text:
        yield Layer(narrow, [])


def find_base64(text: str) -> Iterator[Base64Run]:
    """Yield the runs of base64 that hold readable text. Random keys and words hardly ever do."""
    for match in _BASE64.finditer(text):
        raw = match[0]
        try:
            decoded = base64.b64decode(raw.rstrip("=") + "=" * (-len(raw.rstrip("=")) % 4), altchars=_altchars(raw))
            inner = decoded.decode()
        except (binascii.Error, ValueError):
            continue
        if not _CONTROL.search(inner):
            yield Base64Run(match.start(), match.end(), inner, raw)


def _altchars(raw: str) -> bytes:
    return b"-_" if "-" in raw or "_" in raw else b"+/"


def _decode(text: str, escape: re.Pattern[str], sign: Callable[[re.Match[str]], str]) -> Iterator[Layer]:
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    end = length = 0
    for match in escape.finditer(text):
        char = sign(match)
        parts += [text[end : match.start()], char]
        length += match.start() - end + len(char)
        end = match.end()
        places.append((length, end))
    if places:
        yield Layer("".join([*parts, text[end:]]), places)


def _json_sign(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _JSON_SIGNS.get(match[3], match[3])


def _url_sign(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace")
