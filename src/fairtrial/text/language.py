"""Detect a text's language: English, Korean, Japanese or Chinese."""

from __future__ import annotations

from typing import Literal

from fairtrial.text.lazy_pattern import LazyPattern

Language = Literal["en", "ko", "ja", "zh"]

LATIN = (
    r"A-Za-z\u00AA\u00BA\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u02B8\u02E0-\u02E4\u1D00-\u1D25\u1D2C-\u1D5C"
    r"\u1D62-\u1D65\u1D6B-\u1D77\u1D79-\u1DBE\u1E00-\u1EFF\u2071\u207F\u2090-\u209F\u212A-\u212B\u2132\u214E"
    r"\u2160-\u2188\u2C60-\u2C7F\uA722-\uA787\uA78B-\uA7DD\uA7E2\uA7F1-\uA7FF\uAB30-\uAB5A\uAB5C-\uAB64"
    r"\uAB66-\uAB69\uAB6C-\uAB6D\uFB00-\uFB06\uFF21-\uFF3A\uFF41-\uFF5A\U00010780-\U00010785"
    r"\U00010787-\U000107B0\U000107B2-\U000107BF\U0001DF00-\U0001DF81\U0001DF90-\U0001DF96"
    r"\U0001DFCD-\U0001DFF2\U0001DFF5-\U0001DFFF"
)
"""The characters of a script as ranges of a class for `re`. Those of `regex` take an import that few texts need."""

HANGUL = (
    r"\u1100-\u11FF\u302E-\u302F\u3131-\u318E\u3200-\u321E\u3260-\u327E\uA960-\uA97C\uAC00-\uD7A3\uD7B0-\uD7C6"
    r"\uD7CB-\uD7FB\uFFA0-\uFFBE\uFFC2-\uFFC7\uFFCA-\uFFCF\uFFD2-\uFFD7\uFFDA-\uFFDC"
)
KANA = (
    r"\u3041-\u3096\u309D-\u309F\U0001B001-\U0001B11F\U0001B123\U0001B132\U0001B150-\U0001B152\U0001F200"
    r"\u30A1-\u30FA\u30FD-\u30FF\u31F0-\u31FF\u32D0-\u32FE\u3300-\u3357\uFF66-\uFF6F\uFF71-\uFF9D"
    r"\U0001AFF0-\U0001AFF3\U0001AFF5-\U0001AFFB\U0001AFFD-\U0001AFFE\U0001B000\U0001B120-\U0001B122"
    r"\U0001B124-\U0001B128\U0001B155\U0001B164-\U0001B168"
)
HAN = (
    r"\u2E80-\u2E99\u2E9B-\u2EF3\u2F00-\u2FD5\u3005\u3007\u3021-\u3029\u3038-\u303B\u3400-\u4DBF\u4E00-\u9FFF"
    r"\uF900-\uFA6D\uFA70-\uFAD9\U00016FE2-\U00016FE3\U00016FF0-\U00016FF6\U00020000-\U0002A6DF"
    r"\U0002A700-\U0002B81E\U0002B820-\U0002CEAD\U0002CEB0-\U0002EBE0\U0002EBF0-\U0002EE5D"
    r"\U0002F800-\U0002FA1D\U00030000-\U0003134A\U00031350-\U00033479"
)

_HANGUL = LazyPattern(f"[{HANGUL}]+")
_KANA = LazyPattern(f"[{KANA}]+")
_HAN = LazyPattern(f"[{HAN}]+")
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
    hangul, kana, han = (_count(script, beginning) for script in (_HANGUL, _KANA, _HAN))
    if hangul + kana + han <= _SHARE * sum(map(str.isalpha, beginning)):
        return "en"
    if hangul > kana + han:
        return "ko"
    # Chinese may name a Japanese product, but a Japanese sentence has kana in every phrase.
    return "ja" if kana > 0.1 * (kana + han) else "zh"


def _count(script: LazyPattern, text: str) -> int:
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
