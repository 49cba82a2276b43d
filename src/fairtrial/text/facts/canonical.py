"""Canonical text: half-width small letters, with every numeral in digits, and the place of each character."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fairtrial.text.facts.english_numerals import english_numerals
from fairtrial.text.facts.european_forms import european_forms
from fairtrial.text.facts.glued_words import split_glued, spread_words
from fairtrial.text.facts.han_numerals import han_numerals
from fairtrial.text.facts.korean_numerals import korean_numerals
from fairtrial.text.facts.memory import remember_short
from fairtrial.text.lazy_pattern import LazyPattern

if TYPE_CHECKING:
    import re

_HANGUL = LazyPattern(r"[\uac00-\ud7a3]")
_HAN = LazyPattern(r"[\u3007\u4e00-\u9fff\u3040-\u30ff]")
_LATIN = LazyPattern(r"[a-z]")
_EMPHASIS = LazyPattern(r"\*{2,3}|__(?=\w)|(?<=\w)__|`+|(?<![\w*])\*(?=\w)|(?<=\w)\*(?![\w*])")
_ESCAPE = LazyPattern(r"\\u([0-9a-f]{4})")
"""An escape of JSON in a text that nobody decoded: "6\\u20137" is 6–7."""
_SIGNS = str.maketrans(
    {"–": "-", "—": "-", "−": "-", "‐": "-", "‑": "-", "〜": "~", "∼": "~", "’": "'", "‘": "'", "“": '"', "”": '"',
     "⁄": "/", "\u00a0": " ", "\u3000": " ", "、": "、", "﹣": "-"}
)  # fmt: skip
_ZEROS = (
    "660 6f0 7c0 966 9e6 a66 ae6 b66 be6 c66 ce6 d66 de6 e50 ed0 f20 1040 1090 17e0 1810 1946 19d0 1a80 1a90 1b50 1bb0 1c40 "
    "1c50 a620 a8d0 a900 a9d0 a9f0 aa50 abf0 104a0 10d30 11066 110f0 11136 111d0 112f0 11450 114d0 11650 116c0 11730 118e0 "
    "11950 11c50 11d50 11da0 16a60 16ac0 16b50 1e140 1e2f0 1e950"
)
"""The zeros of other scripts, for example of Arabic, as code points. Nine more digits follow each of them."""
_SIGNS |= {int(zero, 16) + digit: str(digit) for zero in _ZEROS.split() for digit in range(10)}
_SIGN_SET = frozenset(map(chr, _SIGNS))
_STEPS: tuple[tuple[LazyPattern, tuple[Callable[[str], list[tuple[int, int, str]]], ...]], ...] = (
    (_HANGUL, (korean_numerals,)),
    (_HAN, (han_numerals,)),
    (_LATIN, (split_glued, spread_words, european_forms, english_numerals)),
)


_LATIN_STEPS = _STEPS[2:]


class Canonical(NamedTuple):
    """A canonical text, and the offset in the original text at which each of its characters begins.

    `starts` has one offset more than `text` has characters: the length of the original text.
    """

    text: str
    starts: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the offsets in the original text of a span of the canonical text."""
        if isinstance(self.starts, range):
            return start, end
        first = self.starts[start]
        # A numeral in words became several characters, all of which begin where it began.
        while end < len(self.text) and self.starts[end] == first:
            end += 1
        return first, self.starts[end]


@remember_short
def canonicalise(text: str) -> Canonical:
    """Return a text in small half-width letters, with the numerals of four languages in digits.

    Each digit is one of 0 to 9, which a search finds faster than the digits of all scripts. For example "Twelve hundred" becomes "1200", "３万５千円" becomes "35000円" and "두 개" becomes "2 개". The time is
    linear in the length of the text.
    """
    small, starts = _fold(text)
    if "\\u" in small:
        small, starts = _apply(small, starts, [(*match.span(), _unescape(match)) for match in _ESCAPE.finditer(small)])
    if "*" in small or "`" in small or "__" in small:
        edits = [(match.start(), match.end(), "") for match in _EMPHASIS.finditer(small)]
        small, starts = _apply(small, starts, edits)
    for script, steps in _LATIN_STEPS if small.isascii() else _STEPS:
        if not script.search(small):
            continue
        for step in steps:
            edits = step(small)
            if edits:
                small, starts = _apply(small, starts, edits)
    return Canonical(small, starts)


def _fold(text: str) -> tuple[str, Sequence[int]]:
    if text.isascii():
        return text.lower(), range(len(text) + 1)
    whole = _translate(unicodedata.normalize("NFKC", text).lower())
    if len(whole) == len(text) and unicodedata.is_normalized("NFC", text):
        # Each character became one character, unless one grew as another shrank.
        return whole, range(len(text) + 1)
    pieces: list[str] = []
    starts: list[int] = []
    for place, sign in enumerate(text):
        piece = _translate(unicodedata.normalize("NFKC", sign).lower())
        pieces.append(piece)
        starts.extend([place] * len(piece))
    starts.append(len(text))
    return "".join(pieces), starts


def _unescape(match: re.Match[str]) -> str:
    """Return the sign of an escape, of half a width. Half of a pair of surrogates is none."""
    code = int(match[1], 16)
    return "" if 0xD800 <= code < 0xE000 else _translate(unicodedata.normalize("NFKC", chr(code)).lower())


def _translate(text: str) -> str:
    # Most texts have none of the signs, and a translation looks at each character.
    return text if _SIGN_SET.isdisjoint(text) else text.translate(_SIGNS)


def _apply(text: str, starts: Sequence[int], edits: list[tuple[int, int, str]]) -> tuple[str, Sequence[int]]:
    pieces: list[str] = []
    places: list[int] = []
    copied_to = 0
    for start, end, new in edits:
        pieces += (text[copied_to:start], new)
        places.extend(starts[copied_to:start])
        places.extend([starts[start]] * len(new))
        copied_to = end
    pieces.append(text[copied_to:])
    places.extend(starts[copied_to:])
    return "".join(pieces), places
