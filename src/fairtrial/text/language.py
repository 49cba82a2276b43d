"""Detect a text's language: English, Korean, Japanese or Chinese."""

from __future__ import annotations

from typing import Literal

import regex

from fairtrial.text.lazy_pattern import LazyPattern

Language = Literal["en", "ko", "ja", "zh"]

_HANGUL = LazyPattern(r"\p{Hangul}+", regex.compile)
_KANA = LazyPattern(r"[\p{Hiragana}\p{Katakana}]+", regex.compile)
_HAN = LazyPattern(r"\p{Han}+", regex.compile)
_LETTER = LazyPattern(r"\p{L}+", regex.compile)
_SHARE = 0.2
"""The smallest share of East Asian letters. A name in an English text has fewer, and a Korean text with English has
more, because one Korean letter is a syllable."""

_ENOUGH = 2000
"""The number of characters that decide. Scanning a long text takes longer than everything else in a prompt."""


def detect_language(text: str) -> Language:
    """Return the language by script. Every other language counts as English.

    For example, "서울은 맑습니다." is Korean, and "The name of the city is 서울 in Korean." is English. Han characters
    are Japanese if kana stand beside them, else Chinese.
    """
    beginning = text[:_ENOUGH]
    if beginning.isascii():
        return "en"
    hangul, kana, han, letters = (_count(script, beginning) for script in (_HANGUL, _KANA, _HAN, _LETTER))
    if hangul + kana + han <= _SHARE * letters:
        return "en"
    if hangul > kana + han:
        return "ko"
    # Chinese may name a Japanese product, but a Japanese sentence has kana in every phrase.
    return "ja" if kana > 0.1 * (kana + han) else "zh"


def _count(script: regex.Pattern[str], text: str) -> int:
    """Return how many characters of a text are in runs of a script."""
    return sum(map(len, script.findall(text)))


def is_traditional(text: str) -> bool:
    """Return whether a Chinese text is written in traditional characters. A text without a sign of it is not.

    The encoding GB 2312 holds the simplified characters, and Big5 the traditional ones. Most characters are in both.
    """
    characters = "".join(set("".join(_HAN.findall(text[:_ENOUGH]))))
    return _lacking(characters, "gb2312") > _lacking(characters, "big5")


def has_script(text: str) -> bool:
    """Return whether a Chinese text has a character that is only simplified, or only traditional."""
    characters = "".join(set("".join(_HAN.findall(text[:_ENOUGH]))))
    return bool(_lacking(characters, "gb2312") or _lacking(characters, "big5"))


def _lacking(characters: str, encoding: str) -> int:
    """Return how many characters an encoding lacks. Each that it holds takes two bytes."""
    return len(characters) - len(characters.encode(encoding, "ignore")) // 2
