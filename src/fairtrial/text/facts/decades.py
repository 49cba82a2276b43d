"""Decades and centuries in a canonical text, as the years that they span."""

from __future__ import annotations

import re

from fairtrial.text.facts.fact import NUMBER, Fact, Kind, Reading
from fairtrial.text.facts.word_patterns import cue
from fairtrial.text.lazy_pattern import LazyPattern

YEARS = "years"
"""The dimension of a span of years. Its value is the first and the last year."""

DECADES_CUE = cue("s century", "代대世세")
DECADES = LazyPattern(
    r"(?:\b(?P<part>early|mid|late)[ -](?:the )?|(?<![\w.,/-]))"
    r"(?:(?P<decade>(?:1[0-9]|20)\d0)(?:'?s\b|年代|년대)"
    r"|(?<=the )'?(?P<short>[2-9]0)'?s\b|(?P<century>\d{1,2})(?:(?:st|nd|rd|th)[ -]century|[ ]?(?:世紀|世纪|세기)))(?P<before>[ ](?:bce?|b\.c\.))?"
)
YEAR_RANGES = LazyPattern(r"(?<![\w.,/-])(?P<first>(?:1[0-9]|20)\d\d)-(?P<last>\d\d)(?![\w-]|[.,]\d)")
_PARTS = {"early": (0.0, 0.4), "mid": (0.3, 0.7), "late": (0.5, 0.9)}


def find_year_ranges(match: re.Match[str]) -> list[Fact]:
    """Return both years of a range such as 1648-51. 2010-11 may be a month, and is none."""
    first, last = int(match["first"]), int(match["first"][:2] + match["last"])
    if last <= first or int(match["last"]) <= 12:
        return []
    ends = ((first, match.span("first")), (last, match.span("last")))
    return [
        Fact("number", (Reading(NUMBER, float(year), float(year), 1.0), Reading("date", (year, None, None))), *span)
        for year, span in ends
    ]


def find_decades(match: re.Match[str]) -> tuple[Kind, tuple[Reading, ...]] | None:
    """Return the years of a decade or a century. "Early" means its first half, "mid" and "late" its other parts."""
    decade = match["decade"] or (match["short"] and "19" + match["short"])
    length = 10 if decade else 100
    first = int(decade) if decade else 100 * (int(match["century"]) - 1)
    if not 0 <= first < 2100:
        return None
    low, high = _PARTS.get(match["part"] or "", (0.0, 0.9))
    last = first + length - 1 if high == 0.9 else first + int(high * length)
    if match["before"]:
        # Years before the era count down: its early part has the larger numbers.
        first, last = -first - length, -first - 1
        low, high = (1 - high, 1 - low) if match["part"] else (0.0, 1.0)
        return ("date", (Reading(YEARS, (first + int(low * length), first + int(high * length))),))
    years = Reading(YEARS, (first + int(low * length), last))
    if decade or match["part"]:
        return ("date", (years,))
    # "The 19th" answers a question for a century.
    return ("date", (years, Reading(NUMBER, float(match["century"]), float(match["century"]), 1.0)))
