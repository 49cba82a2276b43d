"""Codes: order numbers, versions, telephones, addresses of the web and of mail, and paths of files."""

from __future__ import annotations

import re

from fairtrial.text.facts.fact import NUMBER, Fact, Kind, Reading
from fairtrial.text.facts.units import unit_pattern
from fairtrial.text.facts.word_patterns import StartPattern, cue
from fairtrial.text.lazy_pattern import LazyPattern

_NUM = r"(?:\d{1,3}(?:,\d{3}){1,7}|\d{1,18})(?:\.\d{1,18})?"
_SOFTWARE = "android django firefox http ios java kotlin kubernetes linux macos node postgres postgresql pydantic python pytorch scala tls typescript ubuntu usb"
"""What a version stands behind without the word "version": Python 3.10 is not Python 3.1.

PHP, Ruby, Rust and Swift also name pesos, a stone, a colour and a bank's code: they need the word "version".
"""
_BEHIND_SOFTWARE = "|".join(rf"(?<=\b{name} )" for name in _SOFTWARE.split())
ADDRESSES = LazyPattern(
    r"https?://[^\s\"'<>()、。，]+|www\.[^\s\"'<>()、。，]+|[\w.+-]{1,64}@[a-z0-9-]+(?:\.[a-z0-9-]+)+"
    r"|(?<![\w/.:])~?/[a-z0-9_.-]+(?:/[a-z0-9_.*-]+)+"
)
CODES = StartPattern(
    r"(?<![a-z0-9])(?=[a-z0-9_-]{0,40}[0-9])[a-z0-9]|[+#(]",
    r"(?<![a-z0-9])(?:19|20)?\d0s\b"
    # Version 2.10 is a code: it is not version 2.1.
    rf"|(?:(?<![a-z0-9.])v|(?<=version )|(?<=release )|(?P<software>{_BEHIND_SOFTWARE})|(?<=버전 )|(?<=バージョン)|(?<=バージョン )|(?<=版本)|(?<=版本 ))\d{{1,9}}\.\d{{1,9}}(?![a-z0-9]|\.\d)"
    r"|(?<![\d.,])\d{1,9}\.\d{1,9}(?=[ ]?버전|版(?![权權面]))"
    r"|(?<![a-z0-9.])v?\d{1,9}(?:\.\d{1,9}){2,5}(?:-[a-z0-9]+)?(?![a-z0-9])"
    # Books, with their groups apart.
    r"|(?<![a-z0-9.,/-])97[89](?:[ -]\d{1,7}){3}[ -]\d(?![\w-]|[.,]\d)"
    r"|(?<![a-z0-9.,/-])\+?(?:\(\d{1,4}\)[ ]?)?\d{1,4}(?:-\d{2,6}){2,5}(?![\d,])(?!-)|(?<![\w.,-])\+\d{1,3}(?:[ -]\d{1,6}){2,5}(?![\d,])"
    r"|\#[a-z]{0,9}-?\d[a-z0-9-]*"
    r"|(?<![a-z0-9])(?=[a-z0-9_-]{0,40}\d)(?=[a-z0-9_-]{0,40}[a-z])[a-z0-9]{1,40}(?:[_-][a-z0-9]{1,40}){0,8}(?![a-z0-9])"
    r"|(?<![\w.,:/$€£¥₩-])(?:(?:0\d{2,}|\d{7,})(?![\w,.:%]|\.\d)|\d{19,}(?:[.,]\d+)*(?![\w%]))",
)
_NO_CODE = LazyPattern(
    r"\d+(?:st|nd|rd|th)(?:-[a-z]+){0,3}|(?:in|on|of|for|by|was|the|and|than|it)\d+|\d{1,2}[ap]m|\d+x|x\d+|\d+s|(?:19|20)\d{2}-\d{1,2}-\d{1,2}t?|[a-z]{2,}-\d{1,3}|\d+-[a-z-]+|\d{3,4}p"
    r"|(?:us|nt|hk|au|ca|s|a|c)|(?:usd|eur|gbp|krw|jpy|cny|rmb|twd|ntd|hkd)\d[\d,.]*|\d+(?:to|or|and)\d+"
)


_DIMENSIONS = frozenset({"2d", "3d", "4d"})
_DATE = LazyPattern(
    r"\d{4}-\d{1,2}(?:-\d{1,2})?|\d{2}-\d{2}-\d{4}|(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?:19|20)\d\d"
)
_NOUN_OR_VERSION = LazyPattern(r"(?<=^[a-z]\d)-[a-z]{4,}$|^v(?=\d+\.\d)")
_SIGNS = LazyPattern(r"[ _()#+-]")
_NUMBER_WITH_UNIT = LazyPattern(lambda: rf"{_NUM}-?(?:{unit_pattern()})(?:{_NUM}(?:{unit_pattern()}))?")
_MEASURE = LazyPattern(
    lambda: (
        rf"[ -]?(?:%|％|‰|/[ ]?(?:5|10|100)\b|percent|per cent|pct|points?\b|stars?\b|out of|(?:thousand|million|billion|trillion)\b|(?:{unit_pattern()}))"
    )
)
"""A share, a score or a unit, before which a number is an amount and no version: Android has 70.50%."""
_BOOKS = (
    "genesis exodus leviticus numbers deuteronomy joshua judges ruth samuel kings chronicles ezra nehemiah esther job "
    "psalm psalms proverbs ecclesiastes isaiah jeremiah lamentations ezekiel daniel hosea joel amos obadiah jonah micah "
    "nahum habakkuk zephaniah haggai zechariah malachi matthew mark luke john acts romans corinthians galatians "
    "ephesians philippians colossians thessalonians timothy titus philemon hebrews james peter jude revelation"
)
VERSES_CUE = cue(_BOOKS)
VERSES = LazyPattern(
    rf"\b(?:{_BOOKS.replace(' ', '|')}) (?P<verse>\d{{1,3}}:\d{{1,3}})(?:-(?P<last>\d{{1,3}}))?(?![\d:]|[ ]?[ap]\.?m)"
)
VERSIONS_CUE = cue(f"version release {_SOFTWARE}", "버バ版")
_MOST_VERSES = 50
MAY_BE_CODE = LazyPattern(
    r"[#+0-9](?:(?<=[#+])|(?<=[a-z].)|(?<=[a-z][_-].)|(?<=[0-9])(?:[_-]?[a-z]|-[0-9]|\.[0-9]{1,9}\.[0-9]|[0-9]{6})|(?<=0)[0-9][0-9])"
)
"""A part that each match of the pattern of codes has."""


def find_verses(match: re.Match[str]) -> list[Fact]:
    """Return the chapter and verse behind the name of a book, which need not be repeated, and may not be another.

    A range such as 5:1-4 has a reading for each of its verses, 50 at most.
    """
    chapter, first = match["verse"].split(":")
    last = min(int(match["last"] or first), int(first) + _MOST_VERSES)
    verses = range(int(first), max(last, int(first)) + 1)
    readings = tuple(Reading("code", f"{chapter}:{verse}") for verse in verses)
    return [Fact("code", readings, match.start("verse"), match.end(), weak=True)]


def find_code(match: re.Match[str]) -> tuple[Kind, tuple[Reading, ...]] | None:
    """Return the code of a match, or `None` if it is a number with a unit, a share, an ordinal or a date."""
    token = match[0].rstrip(".,;:!?")
    if _NO_CODE.fullmatch(token) or _NUMBER_WITH_UNIT.fullmatch(token):
        return None
    if _DATE.fullmatch(token) or (match.lastgroup == "software" and _MEASURE.match(match.string, match.end())):
        return None
    # A noun behind a short code, as in "V8-engine", is none of it.
    token = _NOUN_OR_VERSION.sub("", token)
    plain = token if token.startswith(("http", "www", "/", "~")) or "@" in token else _SIGNS.sub("", token)
    readings = [Reading("code", plain.rstrip("/"))]
    # "3D" is three-dimensional, and "v2" is version 2.
    number = plain[:-1] if plain in _DIMENSIONS else plain[1:] if plain[0] == "v" and len(plain) < 4 else plain
    if number.replace(".", "", 1).isdigit() and len(number) < 16:
        readings.append(Reading(NUMBER, float(number), float(number), 1.0))
    return ("code", tuple(readings))
