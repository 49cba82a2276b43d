"""Decode text layers: JSON escapes, URLs, full-width letters and base64."""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from string import ascii_letters, digits
from typing import NamedTuple

from fairtrial.text.lazy_pattern import LazyPattern
from fairtrial.text.runs import long_runs

_JSON_ESCAPE = LazyPattern(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([\"'\\/bfnrt]))")
_JSON_SIGNS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LONG_ESCAPE = LazyPattern(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2}))")
_SHORT_ESCAPES = [
    ("\\" + name, sign) for name, sign in {'"': '"', "n": "\n", **_JSON_SIGNS, "'": "'", "/": "/"}.items()
]
"""The escapes and their signs, frequent escapes first."""
_URL_ESCAPE = LazyPattern(
    r"%[0-7][0-9A-Fa-f]|%[CDcd][0-9A-Fa-f]%[89ABab][0-9A-Fa-f]"
    r"|%[Ee][0-9A-Fa-f](?:%[89ABab][0-9A-Fa-f]){2}|%[Ff][0-7](?:%[89ABab][0-9A-Fa-f]){3}"
)
_WIDE = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
"""Full-width forms of ASCII, for example `ｐａｓｓ：` for `pass:`."""
_NO_ESCAPE = LazyPattern(r"(?!)")
"""A narrow letter stands in place of its wide letter."""
_WIDE_STARTS = (b"\xef\xbc", b"\xef\xbd", b"\xe3\x80\x80")
"""The first bytes of these forms in UTF-8."""
_INVISIBLE = LazyPattern("[\u00ad\u200b-\u200d\u2060\ufeff]+")
"""Characters without width, which may stand in a key. Emoji hold the joiner."""
_INVISIBLE_STARTS = (b"\xc2\xad", b"\xe2\x80\x8b", b"\xe2\x80\x8c", b"\xe2\x80\x8d", b"\xe2\x81\xa0", b"\xef\xbb\xbf")
SHORTEST_BASE64 = 16
_SHORT = 48
"""The length of runs whose text is remembered."""
_BASE64 = LazyPattern(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{16,200000}={0,2}(?![A-Za-z0-9+/_=-])")
WORD_SIGNS = "_.~+/=:%-"
"""The signs beside letters and digits in long words."""
find_long_words = long_runs(f"{ascii_letters}{digits}{WORD_SIGNS}", SHORTEST_BASE64)
"""Every key of a provider, and every run of base64, stands in such a word."""
_base64_runs = long_runs(f"{ascii_letters}{digits}+/_-", SHORTEST_BASE64)
_CONTROL = LazyPattern(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class Layer:
    """A decoded text. Its escape places are computed when the first place is asked for."""

    def __init__(self, text: str, encoded: str, escape: LazyPattern, sign: Callable[[re.Match[str]], str]) -> None:
        self.text = text
        self._encode_line = encoded
        self._escape = escape
        self._sign = sign

    def outer(self, place: int) -> int:
        """Return the place in the encoded text for a place in the decoded text."""
        number = bisect_right(self._places, place, key=lambda pair: pair[0])
        inner, outer = self._places[number - 1] if number else (0, 0)
        return outer + place - inner

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        """The place after each escape in the decoded text, and in the encoded text."""
        places: list[tuple[int, int]] = []
        shift = 0
        for match in self._escape.finditer(self._encode_line):
            shift += match.end() - match.start() - len(self._sign(match))
            places.append((match.end() - shift, match.end()))
        return places


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


def has_long_word(text: str) -> bool:
    """Return whether a text has a word of `find_long_words`. Other texts hold neither provider keys nor base64."""
    return next(find_long_words(text), None) is not None


def signs_of_layers(text: str) -> Iterator[str]:
    """Yield text parts in lower case. Every text with a layer that is in this text contains one of them."""
    yield from (sign for sign in "\\%" if sign in text)
    if _may_be_wide(text):
        yield from {sign.lower() for sign in text if ord(sign) in _WIDE}
    if _holds(text, _INVISIBLE_STARTS):
        yield from {sign for match in _INVISIBLE.finditer(text) for sign in match[0]}
    yield from (run.raw[:_SHORT].lower() for run in find_base64(text))


def decode_layers(text: str) -> Iterator[Layer]:
    """Yield the text without escapes of JSON or URLs, with narrow letters, or without invisible ones, if it differs.

    For example, `q=%22a%22` gives `q="a"`. Each layer may hold further layers.
    """
    if "\\" in text and (plain := unescape_json(text)) != text:
        yield Layer(plain, text, _JSON_ESCAPE, _json_sign)
    if "%" in text and (plain := _URL_ESCAPE.sub(_url_sign, text)) != text:
        yield Layer(plain, text, _URL_ESCAPE, _url_sign)
    if _may_be_wide(text) and (narrow := text.translate(_WIDE)) != text:
        yield Layer(narrow, text, _NO_ESCAPE, _json_sign)
    if _holds(text, _INVISIBLE_STARTS) and (visible := _INVISIBLE.sub("", text)) != text:
        yield Layer(visible, text, _INVISIBLE, _drop_sign)


def unescape_json(text: str) -> str:
    """Return a text without JSON's escapes. A null character in a text with escapes becomes a backslash."""
    if "\\" not in text:
        return text
    # Pairs of backslashes come first, so that the others stand alone.
    text = text.replace("\\\\", "\0")
    for escape, sign in _SHORT_ESCAPES:
        if "\\" not in text:
            break
        text = text.replace(escape, sign)
    # The sign of a longer escape may be a backslash, so that these come last.
    if "\\" in text:
        text = _LONG_ESCAPE.sub(_json_sign, text)
    return text.replace("\0", "\\")


def _may_be_wide(text: str) -> bool:
    return _holds(text, _WIDE_STARTS)


def _holds(text: str, starts: Sequence[bytes]) -> bool:
    """Return whether a text in UTF-8 contains some bytes. A search for bytes is far faster than one for characters."""
    if text.isascii():
        return False
    data = text.encode("utf-8", "surrogatepass")
    return any(start in data for start in starts)


def _drop_sign(_: re.Match[str]) -> str:
    return ""


def find_base64(text: str, removed: Sequence[tuple[int, int]] = ()) -> Iterator[Base64Run]:
    """Yield the runs of base64 that hold readable text. Random keys and words hardly ever do.

    A run inside a span in `removed` is left out.
    """
    for place, run_end in _base64_runs(text):
        if removed and any(start <= place and run_end <= end for start, end in removed):
            continue
        match = _BASE64.match(text, place)
        if match is None:
            continue
        raw = match[0]
        inner = _read_short_base64(raw) if len(raw) <= _SHORT else _read_base64(raw)
        if inner is not None:
            yield Base64Run(match.start(), match.end(), inner, raw)


def _read_base64(raw: str) -> str | None:
    """Return the readable text in a run of base64, or None."""
    try:
        decoded = base64.b64decode(raw.rstrip("=") + "=" * (-len(raw.rstrip("=")) % 4), altchars=_altchars(raw))
        inner = decoded.decode()
    except (binascii.Error, ValueError):
        return None
    return None if _CONTROL.search(inner) else inner


# Most runs are names, for example of the fields of a provider, and very many texts repeat them.
_read_short_base64 = lru_cache(maxsize=4096)(_read_base64)


def _altchars(raw: str) -> bytes:
    return b"-_" if "-" in raw or "_" in raw else b"+/"


def _json_sign(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _JSON_SIGNS.get(match[3], match[3])


def _url_sign(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace")
