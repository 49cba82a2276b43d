"""Quantities in two units, such as "2 hours 30 minutes", as one fact."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fairtrial.text.facts.fact import NUMBER, Fact, Reading
from fairtrial.text.facts.word_patterns import StartPattern, cue
from fairtrial.text.lazy_pattern import LazyPattern

if TYPE_CHECKING:
    from fairtrial.text.facts.claims import Claims

FEET_AND_INCHES = LazyPattern(
    r"(?<![\d.,])(?:(?P<feet>\d{1,3})(?:[ -]?(?:ft\.?|feet|foot)[ ,-]{0,2}(?:and )?(?=\d{1,2}(?:\.\d{1,2})?[ -]?in(?:ch(?:es)?)?(?![a-z])(?! \d| the\b| an?\b))|'(?=\d{1,2}\"))"
    r"(?P<inches>\d{1,2}(?:\.\d{1,2})?)(?:[ -]?in(?:ch(?:es)?)?\.?|\"))"
)
"""6 ft 1 in, 6-feet 1-inch and 6'1\". A single "in" is a preposition more often than an inch."""
FEET_CUE = cue("ft feet foot", '"')
_FOOT, _INCH = 0.3048, 0.0254


def find_feet_and_inches(match: re.Match[str]) -> list[Fact]:
    """Return the length of a match of the pattern of feet and inches."""
    inches = float(match["inches"])
    length = int(match["feet"]) * _FOOT + inches * _INCH
    if inches >= 12:
        return []
    return [Fact("quantity", (Reading("length", length, length / _FOOT, _INCH),), *match.span())]


RATIOS = LazyPattern(
    r"(?<![a-z0-9_:.,/-])(?:(?<!\w)(?<!\bon )(?<!\bby )(?<!\bof )(?<!until )(?<!since )(?<!from )(?P<always>24/(?P<days>[5-7]))(?![\d/-])|(?P<first>\d{1,2}):(?P<last>\d{1,2})(?![\d:]|[ ]?[ap]\.?m))"
)
"""24/7 is 24 hours a day and 7 days a week, unlike the date in "on 24/7". The 16:10 of a screen is no time of the day."""
_SERVICE = r"(?:support|help ?desk|service desk|customer service|customer care|help ?line|hotline|live chat|coverage)"
_OPEN = r"is|are|was|runs?|there|open|available|staffed|online|reachable|operates?|operating|works?|only"
_EAST_ASIAN_SERVICE = "상담|고객센터|고객 센터|지원|운영|サポート|対応|営業|窓口|客服|服务|服務|支持|营业|營業"
_SERVICE_BEFORE = LazyPattern(
    rf"(?:\b{_SERVICE}(?:[ ](?:{_OPEN})){{0,4}}|(?:{_EAST_ASIAN_SERVICE})[은는이가はが]?):?[ ]?$"
)
_SERVICE_AFTER = LazyPattern(rf"[ ](?:{_SERVICE})\b|[ ]?(?:로|で|の)?[ ]?(?:{_EAST_ASIAN_SERVICE})")
"""Words for a service directly beside 24/5, which is a date elsewhere, as in "your service is booked for 24/5"."""
_OTHER_DATE = LazyPattern(r"(?<![\d/])(?!24/[567](?!\d))\d{1,2}/\d{1,2}(?![\d/])")
_NEAR = 60
_RATIO_WORDS = LazyPattern(
    r"\b(?:ratios?|scales?|aspect|screens?|displays?|monitors?)\b|비율|화면|アスペクト|画面|比率|縦横|屏幕|螢幕|比例|[宽寬]高"
)
_RATIO_BEFORE = LazyPattern(
    r"(?:\b(?:ratios?|scales?)(?: (?:of|is|was|to|equals))?|(?:비율|アスペクト比?|比率|縦横比|比例|[宽寬]高比?)(?:은|는|이|가|が|は|の|为|為|是)?)[: ]{0,2}$"
)
_RATIO_AFTER = LazyPattern(
    r"[ -](?:aspect|ratios?|scales?)\b|[ ]?(?:의[ ]?|の|的)?(?:비율|アスペクト|比率|縦横|比例|[宽寬]高)"
)
_SCREEN_BEFORE = LazyPattern(
    r"(?:\b(?:screens?|displays?|monitors?)(?: (?:is|of|has|with))?|(?:화면|画面|屏幕|螢幕)(?:은|는|이|가|が|は|の|为|為|是)?)[: ]{0,2}$"
)
_SCREEN_AFTER = LazyPattern(r"[ -](?:screens?|displays?|monitors?)\b|[ ]?(?:의[ ]?|の|的)?(?:화면|画面|屏幕|螢幕)")
_SCREEN_RATIO = LazyPattern(r"(?:4:3|5:4|3:2|(?:16|17|18|19|20|21|32):(?:9|10))(?![ ]?(?:에|부터|까지|に|から|まで))")
"""A screen may open at 7:30 and is 16:10, so that only the usual ratios of screens are read beside this word."""
_CLOCK_BEFORE = LazyPattern(r"\b(?:at|from|until|till|by|before|after|since|about|around) $")


RATIO_CUE = cue(
    "ratio ratios scale scales aspect screen screens display displays monitor monitors", "비화ア画比縦屏螢宽寬"
)


def may_hold_ratios(text: str) -> bool:
    """Return whether a text may hold a ratio beside one of its words."""
    return ":" in text and bool(_RATIO_WORDS.search(text))


def _is_of_service(match: re.Match[str]) -> bool:
    """Return whether the 24/5 of a match are the hours of a service: it stands beside one, and no other date is near."""
    text, start, end = match.string, match.start(), match.end()
    before = max(0, start - _NEAR)
    is_beside = _SERVICE_BEFORE.search(text, before, start) or _SERVICE_AFTER.match(text, end, end + _NEAR)
    return bool(is_beside) and not _OTHER_DATE.search(text, before, end + _NEAR)


def find_ratios(match: re.Match[str]) -> list[Fact]:
    """Return the hours and days of 24/7, or both numbers of a ratio directly beside a word such as "ratio"."""
    if match["always"]:
        days = float(match["days"])
        if days < 7 and not _is_of_service(match):
            return []
        hours = Reading("time", 86400.0, 24.0, 3600.0)
        of_week = Reading("days of a week", days, days, 1.0), Reading("time", 86400.0 * days, days, 86400.0)
        # Who says "24 hours a day" need not name the days, and may not name fewer.
        return [
            Fact("quantity", (hours,), match.start(), match.start("days") - 1),
            Fact("number", of_week, *match.span("days"), weak=True),
        ]
    text, start, end = match.string, match.start(), match.end()
    before = max(0, start - 20)
    is_ratio = _RATIO_BEFORE.search(text, before, start) or _RATIO_AFTER.match(text, end)
    if not is_ratio and _SCREEN_RATIO.match(text, start):
        is_ratio = _SCREEN_BEFORE.search(text, before, start) or _SCREEN_AFTER.match(text, end)
    if not is_ratio or _CLOCK_BEFORE.search(text, before, start):
        return []
    return [
        Fact("number", (Reading(NUMBER, float(match[name]), float(match[name]), 1.0),), *match.span(name))
        for name in ("first", "last")
    ]


OUT_OF = StartPattern(
    "[0-9]+",
    r"(?<![\d.,$])(?P<a>\d{1,6})[ ](?:out of|of|in)[ ](?:every |all |the )?(?P<b>\d{1,6})(?![\d.,:/%]|[ ](?:second|minute|hour|day|week|month|year|decade))"
    r"|(?P<b2>\d{1,6})[ ]?(?:개|명|사람|건|번|곳|팀|個|人|件|回|个|人次)[ ]?(?:중에?서?|中有?|のうち|に|里面?有?|裡面?有?|当中有?|之中有?|有)[ ]?(?P<a2>\d{1,6})",
)
OUT_OF_CUE = cue("of in", "개명사건번곳팀個人件回个次")


def find_shares(match: re.Match[str]) -> list[Fact]:
    """Return both numbers of a match such as "7 out of 10", of which the first is also a percentage."""
    groups = match.groupdict()
    a, b = ("a", "b") if groups["a"] else ("a2", "b2")
    part, whole = float(groups[a]), float(groups[b])
    if not whole or part > whole:
        return []
    share = Reading("percent", 100 * part / whole, 100 * part / whole, 1.0)
    return [
        Fact("number", (Reading(NUMBER, part, part, 1.0), share), match.start(a), match.end(a)),
        Fact("number", (Reading(NUMBER, whole, whole, 1.0),), match.start(b), match.end(b), weak=True),
    ]


def join_compounds(work: Claims, text: str) -> None:
    """Join "2 hours 30 minutes", "1.5 m 20 cm" and "5 dollars 20 cents", whose last unit is smaller."""
    facts = sorted(work.facts, key=lambda fact: fact.start)
    joined: list[Fact] = []
    for fact in facts:
        before = joined[-1] if joined else None
        between = text[before.end : fact.start] if before and fact.start - before.end < 6 else None
        if before and between is not None and re.fullmatch(r"(?:[ ,]|and|又|と)*", between):
            sums = _sums(before, fact)
            if sums:
                joined[-1] = before._replace(readings=sums, end=fact.end)
                continue
        joined.append(fact)
    work.facts = joined


def _sums(large: Fact, small: Fact) -> tuple[Reading, ...]:
    if large.kind not in {"quantity", "amount"} or small.kind not in {"quantity", "amount"}:
        return ()
    sums: list[Reading] = []
    for former in large.readings:
        for latter in small.readings:
            if (
                former.dimension == latter.dimension
                and isinstance(former.value, float)
                and isinstance(latter.value, float)
            ):
                large_unit, small_unit = (
                    former.value / (former.as_written or 1),
                    latter.value / (latter.as_written or 1),
                )
                if small_unit < abs(large_unit) and 0 < latter.value < abs(large_unit):
                    total = former.value + (latter.value if former.value >= 0 else -latter.value)
                    sums.append(Reading(former.dimension, total, total / large_unit, min(former.step, latter.step)))
    return tuple(sums)
