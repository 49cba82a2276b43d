"""Dates, clock times, weekdays and relative days in a canonical text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fairtrial.text.facts.compounds import RATIO_CUE, RATIOS, find_ratios, may_hold_ratios
from fairtrial.text.facts.fact import NUMBER, Fact, Kind, Reading
from fairtrial.text.facts.weekday_lists import WEEKDAYS_CUE, take_weekdays
from fairtrial.text.facts.word_patterns import StartPattern, alternatives, cue
from fairtrial.text.lazy_pattern import LazyPattern

if TYPE_CHECKING:
    from fairtrial.text.facts.claims import Claims

_MONTHS = {
    name: place
    for place, names in enumerate(
        (
            "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|"
            "september sept sep|october oct|november nov|december dec"
        ).split("|"),
        start=1,
    )
    for name in names.split()
}
_SHORT_MONTHS = frozenset("jan feb mar apr jun jul aug sept sep oct nov dec".split())
_MONTH = "(?:{}|(?:{})\\.?)".format(
    *(
        "|".join(sorted(sorted(names), key=len, reverse=True))
        for names in (_MONTHS.keys() - _SHORT_MONTHS, _SHORT_MONTHS)
    )
)
"""A month. The full stop behind a full name ends the sentence."""
_CLEAR_MONTH = r"(?:january|february|april|june|july|august|september|october|november|december)"
_ERAS = {
    "令和": 2018,
    "平成": 1988,
    "昭和": 1925,
    "大正": 1911,
    "民國": 1911,
    "民国": 1911,
}
_DATES = StartPattern(
    r"[0-9]+|['令平昭大民]|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|(?:ad|the) (?=\d))",
    r"(?:(?<![\d.])(?P<y1>\d{4})(?:(?P<s1>[-/])(?P<m1>\d{1,2})(?:(?P=s1)(?P<d1>\d{1,2}))?(?![\d-])|\.[ ]?(?P<m13>\d{1,2})\.[ ]?(?P<d13>\d{1,2})\.?(?!\d))"
    r"|(?<![\w.])(?P<d16>0?[1-9]|[12]\d|3[01])\.(?P<m16>0?[1-9]|1[0-2])\.(?P<y16>(?:19|20)\d\d)(?!\w|\.\d)"
    r"|(?P<era>令和|平成|昭和|大正|民國|民国)(?P<ey>\d{1,3}|元)年(?:(?P<em>\d{1,2})月(?:(?P<ed>\d{1,2})[日号號])?)?"
    r"|(?<![\d.])(?:(?P<y2>\d{4}|1[01]\d|'?\d{2})[ ]?[年년][ ]?(?:の)?)?(?P<m2>\d{1,2})[ ]?[月월](?![間间光])(?:[ ]?(?P<d2>\d{1,2})[ ]?[日号號일](?![間间간]))?"
    r"|(?<![\d.])(?P<y3>(?:1[89]|20|21)\d\d)[ ]?[年년](?![間间간])"
    rf"|\b(?P<mn4>{_MONTH})[ ](?:the[ ])?(?P<d4>\d{{1,2}})(?:st|nd|rd|th)?(?!\d|:\d|[ ]?[ap]\.?m\b)(?:,?[ ](?P<y4>\d{{4}}|\d{{3}}(?=[.;)]|$)))?"
    rf"|\b(?P<d5>\d{{1,2}})(?:st|nd|rd|th)?(?:[ ](?:of[ ])?|-(?!{_MONTH}[ ]\d{{1,2}}(?!\d)))(?P<mn5>{_MONTH})(?![a-z])(?:[ ,-]{{1,2}}(?P<y5>\d{{4}}|\d{{3}}(?=[.;)]|$)))?"
    rf"|\b(?P<mn6>{_MONTH})(?:[ ]of)?,?[ ](?P<y6>\d{{4}})"
    r"|(?<![\d./])(?P<a8>\d{1,3})/(?P<b8>\d{1,2})(?:/(?P<c8>\d{4}|\d{1,2}))?(?![\d/])"
    r"|(?<![\d.,/-])(?P<y14>\d{1,4})[ ]?(?P<era14>bce|b\.c\.e?|bc|ce|a\.d\.|ad)(?![a-z])"
    r"|\bad[ ](?P<y15>\d{1,4})(?!\d)"
    r"|(?<![\d./])(?P<m11>0?[1-9]|1[0-2])/(?P<y11>(?:19|20)\d\d)(?!\d)|(?<![\d.])(?P<y12>(?:19|20)\d\d)\.(?P<m12>0[1-9]|1[0-2])(?![\d.])"
    r"|\bthe[ ](?P<d9>\d{1,2})(?:st|nd|rd|th)(?=[ ]?[.,;!?)]|$|[ ](?:and|to|at|but|or|if|so|because|as|in|by)\b)"
    r"|(?<![\d.])(?P<d10>\d{1,2})[日号號](?![間间内目以]))",
)
_MAY_BE_DATE = LazyPattern("[0-9][./-][ ]?[0-9]")
_CHINESE_HOUR = LazyPattern("[点點]")
_MAY_BE_TIME = LazyPattern("[0-9] (?:past|to|after|before) [0-9nm]")
_HALVES = (
    (LazyPattern(r"오전|새벽|아침|午前|朝|上午|凌晨|早上|清晨|早晨|清早|明け方|早|a\.?m\.?|morning"), 0),
    (
        LazyPattern(
            r"오후|저녁|밤|낮|午後|午后|夕方|夜|晩|下午|晚上|傍晚|中午|夜里|夜裡|晚|昼|p\.?m\.?|afternoon|evening|night"
        ),
        1,
    ),
)
_BEFORE = "오전|오후|새벽|아침|저녁|밤|낮|午前|午後|午后|明け方|朝|夕方|深夜|夜|晩|昼|上午|下午|晚上|傍晚|凌晨|早上|清晨|早晨|中午|夜里|夜裡|今晚|明早|明晚|晚|早"
_AFTER = r"(?:[ap]\.m\.?|[ap]m\b)|in the (?:morning|afternoon|evening)|at night"
_TIMES = StartPattern(
    rf"[0-9]+|[差{''.join(sorted({word[0] for word in _BEFORE.split('|')}))}]|\b(?:half|(?:a )?quarter)",
    r"(?:\b(?P<word>half|(?:a )?quarter|\d{1,2} minutes?|(?:(?<=at )|(?<=by )|(?<=is ))(?:5|10|20|25)) (?P<side>past|to|after|before) (?P<h1>\d{1,2}|noon|midnight)(?!\d|:)"
    rf"(?:[ ](?P<p1>{_AFTER}))?"
    rf"|(?P<b2>(?:{_BEFORE})[ の]?)?(?<![\d:.])(?P<h2>\d{{1,2}}):(?P<m2>\d{{2}})(?::\d{{2}}(?:\.\d+)?)?(?:[ ]?(?P<p2>{_AFTER}))?(?!\d|:\d)"
    rf"|(?<![\d:.])(?P<h3>\d{{1,2}})(?:\.(?P<m3>\d{{2}}))?[ ]?(?P<p3>(?:[ap]\.m\.?|[ap]m\b)|o'clock(?: {_AFTER})?)"
    rf"|(?P<b4>(?:{_BEFORE})[ の]?)?(?<![\d.])(?P<h4>\d{{1,2}})[ ]?(?:시|時|时|点钟|點鐘|点|點)(?!간|間|间)"
    r"(?:[ ]?(?P<m4>\d{1,2})[ ]?(?:분|分)?(?![個个名人枚개명%\d])|[ ]?(?P<half4>반|半)|(?P<q4>[13一三])刻|(?P<to4>差\d{1,2}分))?(?P<before4>(?<=\d分)前|(?<=\d분) 전)?"
    r"|差(?P<m5>\d{1,2})分(?P<h5>\d{1,2})[点點])",
)
_DATES_CUE = cue((*_MONTHS, "st", "nd", "rd", "th", "bc", "bce", "ce", "ad", "c", "d"), "年년月월日号號일")
_TIMES_CUE = cue("am pm m clock quarter half minute minutes", ":시時时点點")
_HALF_CUE = cue("am pm m")
_RANGE_HOURS = StartPattern(
    "[0-9]+",
    r"(?<![\d:.])(\d{1,2})(?::(\d{2}))?[ ]?(?:-|~|to|and|until|till)[ ]?(?=(\d{1,2})(?::\d{2})?[ ]?([ap])\.?m\b)",
)
_WEEKDAYS = tuple(
    tuple(names.split())
    for names in (
        "monday mondays mon 월요일 月曜日 月曜 星期一 周一 週一 礼拜一 禮拜一",
        "tuesday tuesdays tue tues 화요일 火曜日 火曜 星期二 周二 週二 礼拜二 禮拜二",
        "wednesday wednesdays wed 수요일 水曜日 水曜 星期三 周三 週三 礼拜三 禮拜三",
        "thursday thursdays thu thurs 목요일 木曜日 木曜 星期四 周四 週四 礼拜四 禮拜四",
        "friday fridays fri 금요일 金曜日 金曜 星期五 周五 週五 礼拜五 禮拜五",
        "saturday saturdays sat 토요일 土曜日 土曜 星期六 周六 週六 礼拜六 禮拜六",
        "sunday sundays sun 일요일 日曜日 日曜 星期日 星期天 周日 週日 周天 礼拜天 禮拜天 礼拜日 禮拜日",
    )
)
_WEEKDAY = {name: day for day, names in enumerate(_WEEKDAYS) for name in names}
_SHORT_NEEDS_CARE = {"sat", "sun", "mon", "wed", "fri", "thu", "tue"}
_RELATIVE = {
    -2: "그저께 그제 一昨日 おととい 前天 day-before-yesterday",
    -1: "yesterday 어제 어젯밤 昨日 昨天 前日 きのう 昨晚 昨晩 昨夜 last-night",
    0: "today tonight 오늘 금일 今日 今天 本日 今晚 今晩 今夜 今朝 今早 きょう",
    1: "tomorrow 내일 익일 明日 明天 翌日 次日 あした 明早 明晚 明晩 明朝 隔天 翌朝 다음날",
    2: "모레 明後日 后天 後天 あさって 翌々日 day-after-tomorrow",
    3: "글피 大后天 大後天 しあさって",
}
_DAY = {name.replace("-", " "): ("day", day) for day, names in _RELATIVE.items() for name in names.split()}
# The relative weeks, months and years of CLDR. The Chinese and Korean forms with a space or 个 have patterns below.
_SPANS = {
    "week": {-2: "先々週", -1: "last-week 지난주 先週 前の週", 0: "this-week 今週", 1: "next-week 来週", 2: "再来週"},
    "month": {-2: "先々月", -1: "last-month 지난달 先月", 0: "this-month 今月 本月", 1: "next-month 来月", 2: "再来月"},
    "year": {-2: "재작년 一昨年", -1: "last-year 작년 지난해 昨年 去年", 0: "this-year 올해 今年 本年", 1: "next-year 내년 来年 明年",
             2: "내후년 再来年"},
}  # fmt: skip
_DAY |= {
    name.replace("-", " "): (f"calendar {span}", place)
    for span, rows in _SPANS.items()
    for place, names in rows.items()
    for name in names.split()
}
_CHINESE_SPANS = "上本这這下"
_KOREAN_SPANS = ("지난", "이번", "다음")
_RELATIVE_SPANS_CUE = cue("", "지이다" + _CHINESE_SPANS)
_RELATIVE_SPANS = LazyPattern(
    r"(?P<ko>지난|이번|다음)[ ]?(?:주(?=말|까지|부터|에|는|도|중|후|[^가-힣]|$)|달(?![라력성]))"
    # The day of 下周五 is a fact of its own.
    r"|(?<![以之身马馬路线線加晚早])(?P<zh>上上|下下|[上本这這下])(?:[个個]?(?:(?P<zh_month>月)(?![0-9一二三四五六七八九十])|(?=(?:周|週|星期|礼拜|禮拜)(?![期年]))))"
)
_RELATIVE_SIGNS = {
    "지난": -1,
    "이번": 0,
    "다음": 1,
    "上上": -2,
    "上": -1,
    "本": 0,
    "这": 0,
    "這": 0,
    "下": 1,
    "下下": 2,
}
_DAY_NAMES_CUE = cue(
    [name.split()[0] for name in (*_WEEKDAY, *_DAY) if name.isascii()],
    [name[0] for name in (*_WEEKDAY, *_DAY) if not name.isascii()],
)
_NAMES = LazyPattern(lambda: alternatives({*_WEEKDAY, *_DAY}, starts=True, ends=True))


def _find_dates(match: re.Match[str]) -> tuple[Kind, tuple[Reading, ...]] | None:  # noqa: C901, PLR0911  (one line a form)
    """Return the date of a match of the pattern of dates."""
    get = match.group
    if get("m11") or get("m12"):
        return _date(int(get("y11") or get("y12")), get("m11") or get("m12"), None)
    if get("y14") or get("y15"):
        year = int(get("y14") or get("y15"))
        signed = -year if (get("era14") or "").startswith("b") else year
        return ("date", (_day(signed, None, None), Reading(NUMBER, float(year), float(year), 1.0)))
    if get("y16"):
        # It may also be the number of a version.
        whole = _day(int(get("y16")), int(get("m16")), int(get("d16")))
        return ("date", (whole, Reading("code", match[0])))
    if get("a8"):
        return _date_with_slashes(get("a8"), get("b8"), get("c8"))
    if get("era"):
        year = _ERAS[get("era")] + (1 if get("ey") == "元" else int(get("ey")))
        return _date(year, get("em"), get("ed"))
    if get("m2"):
        part = None if get("d2") else _MONTH_PART.match(match.string, match.end())
        return _date(_full_year(get("y2")), get("m2"), _part_day(part, get("m2")) if part else get("d2"))
    for suffix in ("4", "5", "6"):
        if name := match.group(f"mn{suffix}"):
            groups = match.groupdict()
            month = str(_MONTHS[name.rstrip(".")])
            day = groups.get(f"d{suffix}") or _day_of_part(match, month)
            return _date(_full_year(groups.get(f"y{suffix}")), month, day)
    if get("y1"):
        return _date(int(get("y1")), get("m1") or get("m13"), get("d1") or get("d13"))
    if get("y3"):
        return _date(int(get("y3")), None, None)
    if get("d9"):
        day = int(get("d9"))
        return ("date", (_day(None, None, day), Reading(NUMBER, day, day, 1.0)))
    day = int(get("d10"))
    if not 1 <= day <= 31:
        return None
    return (
        "date",
        (_day(None, None, day), Reading("time", day * 86400.0, day, 86400.0), Reading(NUMBER, day, day, 1.0)),
    )


_MONTH_PART = LazyPattern(
    r"[ ]?(?:の)?(?:(?P<end>말일?|末|底|晦日)|(?P<late>하순|下旬)|(?P<mid>중순|中旬|半ば)|(?P<early>초순?|상순|初め?|上旬|头))"
)
_MONTH_PART_BEFORE = LazyPattern(
    r"\b(?:(?P<end>(?:the )?end of)|(?P<late>late)|(?P<mid>mid|the middle of)|(?P<early>early|(?:the )?(?:beginning|start) of))"
    r"[ -](?:in )?$"
)


def _find_months(match: re.Match[str]) -> tuple[Kind, tuple[Reading, ...]] | None:
    """Return the month of a match of the pattern of months without a day or a year."""
    month = str(_MONTHS[match["mn7"]])
    return _date(None, month, _day_of_part(match, month))


def _day_of_part(match: re.Match[str], month: str) -> str | None:
    part = _MONTH_PART_BEFORE.search(match.string[max(0, match.start() - 18) : match.start()])
    return _part_day(part, month) if part else None


def _part_day(part: re.Match[str], month: str) -> str:
    """Return the day that stands for a part of a month: its last, or a day in its middle."""
    if part["end"]:
        return {"2": "28", "4": "30", "6": "30", "9": "30", "11": "30"}.get(month.lstrip("0"), "31")
    return "25" if part["late"] else "15" if part["mid"] else "5"


def _full_year(text: str | None) -> int | None:
    if not text:
        return None
    year = int(text.lstrip("'"))
    if year < 100:
        return year + (2000 if year < 70 else 1900)
    return year + 1911 if year < 120 else year


def _day(year: int | None, month: int | None, day: int | None) -> Reading:
    return Reading("date", (year, month, day))


def _date(year: int | None, month: str | None, day: str | None) -> tuple[Kind, tuple[Reading, ...]] | None:
    months, days = int(month or 1), int(day or 1)
    if not (1 <= months <= 12 and 1 <= days <= 31):
        return None
    return ("date", (_day(year, int(month) if month else None, int(day) if day else None),))


def _date_with_slashes(first: str, second: str, third: str | None) -> tuple[Kind, tuple[Reading, ...]] | None:
    former, latter = int(first), int(second)
    if third and len(third) == 1 and former < 32:
        return None
    if third and former > 31:
        return _date(former + 1911, second, third)
    readings: list[Reading] = []
    year = _full_year(third)
    if 1 <= former <= 12 and 1 <= latter <= 31:
        readings.append(_day(year, former, latter))
    if 1 <= latter <= 12 and 1 <= former <= 31 and former != latter:
        readings.append(_day(year, latter, former))
    if not third and latter and readings:
        readings += [
            Reading("percent", 100 * former / latter, 100 * former / latter, 1.0),
            Reading(NUMBER, former, former, 1.0),
        ]
    return ("date" if readings[0].dimension == "date" else "number", tuple(readings)) if readings else None


def _find_times(match: re.Match[str]) -> tuple[Kind, tuple[Reading, ...]] | None:
    """Return the clock time of a match of the pattern of times."""
    get = match.group
    if get("h1"):
        minutes = {"half": 30, "quarter": 15, "a quarter": 15}.get(get("word")) or int(get("word").split()[0])
        late = get("side") in {"past", "after"}
        hour = {"noon": 12, "midnight": 24}.get(get("h1")) or int(get("h1"))
        return _make_clock(hour, minutes if late else -minutes, get("p1"))
    if get("h2"):
        return _make_clock(int(get("h2")), int(get("m2")), get("b2") or get("p2"), two_digits=get("h2").startswith("0"))
    if get("h3"):
        return _make_clock(int(get("h3")), int(get("m3") or 0), get("p3"))
    if get("h5"):
        return _make_clock(int(get("h5")), -int(get("m5")), None)
    minutes = int(get("m4") or 0) + (30 if get("half4") else 0)
    minutes += {"1": 15, "一": 15, "3": 45, "三": 45}.get(get("q4") or "", 0)
    if get("to4"):
        minutes = -int(get("to4")[1:-1])
    # 10時5分前 is five minutes to ten. In Chinese, 11点59分前 is a time before 11:59.
    to_hour = get("before4") and minutes <= 30 and not _CHINESE_HOUR.search(match[0])
    hits = _make_clock(int(get("h4")), -minutes if to_hour else minutes, get("b4"))
    if hits and not (get("b4") or minutes):
        hour = int(get("h4"))
        return (hits[0], (*hits[1], Reading(NUMBER, hour, hour, 1.0)))
    return hits


def _find_noons(match: re.Match[str]) -> tuple[Kind, tuple[Reading, ...]]:
    """Return the clock time of noon or midnight."""
    return _clock(12 if match[0] in {"noon", "midday", "正午", "정오"} else 0, 0, certain=True)


def _make_clock(
    hour: int, minutes: int, mark: str | None, *, two_digits: bool = False
) -> tuple[Kind, tuple[Reading, ...]] | None:
    # 25時 is one in the morning.
    if hour > 29 or abs(minutes) > 59:
        return None
    for pattern, half in _HALVES if mark else ():
        if pattern.search(mark or ""):
            if hour < 12 and half and not (mark or "").startswith(("深夜", "夜里", "夜裡")):
                hour += 12
            elif hour == 12 and (
                not half or (mark or "").strip() in {"밤", "夜", "深夜", "晚上", "晚", "今晚", "at night"}
            ):
                hour = 0
            return _clock(hour, minutes, certain=True)
    return _clock(hour, minutes, certain=hour > 12 or hour == 0 or two_digits)


def _clock(hour: int, minutes: int, *, certain: bool) -> tuple[Kind, tuple[Reading, ...]]:
    return ("time", (Reading("clock", ((60 * hour + minutes) % 1440, int(certain))),))


def _find_first_hours(match: re.Match[str]) -> tuple[Kind, tuple[Reading, ...]]:
    """Return the first time of a range that says the half of the day once, for example the 1 of "1 to 3 pm"."""
    hour, last, half = int(match[1]), int(match[3]), match[4]
    # "11-1 pm" begins in the morning.
    late = (half == "p") == (hour % 12 <= last % 12)
    return _clock(hour % 12 + (12 if late else 0), int(match[2] or 0), certain=True)


def _find_names(match: re.Match[str]) -> tuple[Kind, tuple[Reading, ...]] | None:
    """Return the weekday or the relative day of a match of the pattern of their names."""
    name = match[0]
    if name in _DAY:
        dimension, place = _DAY[name]
        return ("day", (Reading(dimension, float(place)),))
    if name in {"weekdays", "weekday", "평일", "平日"}:
        return ("weekday", (Reading("weekday", 0.0), Reading("weekday", 4.0)))
    if name in _SHORT_NEEDS_CARE and match.string[match.end() : match.end() + 1] not in {".", ",", " ", "-", "", ")"}:
        return None
    if name in {"sat", "sun"} and not re.search(
        r"(?:on |, ?|\(|[-/&]|& |until |fri[a-z]*[ -])$", match.string[: match.start()][-8:]
    ):
        return None
    return ("weekday", (Reading("weekday", float(_WEEKDAY[name])),))


def _find_relative_spans(match: re.Match[str]) -> tuple[Kind, tuple[Reading, ...]]:
    """Return the relative week, month or year of a match, for example of 다음 주 and of the first sign of 下周."""
    span = "month" if match["zh_month"] or match[0][-1] == "달" else "week"
    return ("day", (Reading(f"calendar {span}", float(_RELATIVE_SIGNS[match["ko"] or match["zh"]])),))


_MONTH_NAMES = LazyPattern(rf"(?P<mn7>\b{_CLEAR_MONTH})\b")
_MONTHS_CUE = cue("january february april june july august september october november december")
_NOONS_CUE = cue("noon midday midnight", "正정자零午半")
_NOONS = LazyPattern(r"(?P<noon>\b(?:noon|midday|midnight))\b|(?P<noon_cjk>正午|정오|자정|零時|零时|午夜|半夜12点)")


_FIRST_NAME = LazyPattern(r"(?:June|April|August|May)[ ][A-Z][a-z]+(?![a-z ]*[A-Z])")


def is_person(fact: Fact, text: str) -> bool:
    """Return whether a month is a given name before a surname, as in "June Gable"."""
    value = fact.readings[0].value
    return isinstance(value, tuple) and value[0] is value[-1] is None and bool(_FIRST_NAME.match(text, fact.start))


_DAYS_CUE = WEEKDAYS_CUE | _RELATIVE_SPANS_CUE | _DAY_NAMES_CUE
_NAMES_CUE = _MONTHS_CUE | _NOONS_CUE


def take_days(work: Claims) -> None:
    """Take the weekdays and the relative days, weeks, months and years of a text."""
    if work.cue_bits & _DAYS_CUE:
        take_weekdays(work)
        if not work.cues.signs.isdisjoint(_CHINESE_SPANS) or any(word in work.text for word in _KOREAN_SPANS):
            work.take(_RELATIVE_SPANS, _find_relative_spans)
        work.take(_NAMES, _find_names, _DAY_NAMES_CUE)


def take_dates(work: Claims) -> None:
    """Take the dates and the times of a canonical text that hold a digit."""
    text = work.text
    if "24/" in text or (work.cue_bits & RATIO_CUE and may_hold_ratios(text)):
        work.take_many(RATIOS, find_ratios)
    text = work.text
    if work.cue_bits & _DATES_CUE or _MAY_BE_DATE.search(text):
        work.take(_DATES, _find_dates)
    if work.cue_bits & _TIMES_CUE or _MAY_BE_TIME.search(text):
        work.take(_RANGE_HOURS, _find_first_hours, _HALF_CUE)
        work.take(_TIMES, _find_times)


def take_names(work: Claims) -> None:
    """Take the months, noons and midnights that stand without a digit."""
    if work.cue_bits & _NAMES_CUE:
        work.take(_MONTH_NAMES, _find_months, _MONTHS_CUE)
        work.take(_NOONS, _find_noons, _NOONS_CUE)
