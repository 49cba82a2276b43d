"""Periods of a rate, for example "per hour", 매월 and 每天, in a canonical text."""

from __future__ import annotations

import re

from fairtrial.text.facts.fact import Kind, Reading
from fairtrial.text.facts.word_patterns import StartPattern, alternatives, cue

_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800, "month": 2592000, "quarter": 7776000,
            "year": 31536000, "fortnight": 1209600, "night": 86400}  # fmt: skip
_WORDS = {
    "second": "초당 매초 每秒 每秒钟 1秒あたり 毎秒 per-second a-second each-second /s",
    "minute": "분당 매분 每分钟 每分鐘 每分 毎分 1分あたり per-minute a-minute each-minute every-minute /min",
    "hour": "시간당 매시간 每小时 每小時 每个小时 每個小時 毎時 1時間あたり per-hour an-hour each-hour every-hour hourly /h /hr /hour",
    "day": "일당 매일 每天 每日 天天 毎日 日額 1日あたり 日租 日间 per-day a-day each-day every-day daily /day",
    "week": "매주 주간 每周 每週 每星期 每个星期 每個星期 每個禮拜 毎週 1週間あたり per-week a-week each-week every-week weekly /week",
    "fortnight": "격주 隔週 隔周 每两周 每兩週 biweekly every-other-week",
    "month": "매월 매달 월간 每月 每个月 每個月 毎月 月額 月租 月费 月費 月薪 月利 1か月あたり per-month a-month each-month every-month monthly /mo /month",
    "quarter": "분기별 분기마다 매분기 每季 每季度 四半期ごと 季增 per-quarter a-quarter quarterly every-quarter",
    "year": "매년 연간 해마다 每年 毎年 年額 年利 年率 年费 年費 年薪 年增 年減 年间 per-year a-year each-year every-year per-annum yearly annually annual /yr /year",
}
_NAMES = {name.replace("-", " "): span for span, names in _WORDS.items() for name in names.split()}
PERIODS = StartPattern(
    "[/1abdehmpqwy周四天季年日月毎每週隔격년매분시연월일주초해]",
    lambda: alternatives((name for name in _NAMES if not name.startswith("/")), starts=True, ends=True)
    + r"|/(?:s|min|h|hr|hour|day|week|mo|month|yr|year)(?![a-z])"
    # One unit of time beside an amount or a limit: 1일 최대 5회, 1小時20元, 1日2回, 週45時間, 월 4%.
    + r"|1(?<![\d.]1)[ ]?(?P<one>시간|일|주일|주|개월|달|년|時間|日|週間|か月|ヶ月|年|小时|小時|天|个月|個月|周|週|分|분|初|초|秒|晚|分钟|分鐘)"
    r"(?=에[ ]|[ ]?최대|[ ]?최소|に|最大|最多|最少|至少|最高|上限|あたり|封顶|不|[一-龥]{1,3}不|[ ]?\d[\d,]*[ ]?(?:元|잔|장|만|块|塊|円|원|回|次|번|회|錠|片|杯|mg))"
    r"|(?P<short>[월연주년月年週周])(?=[ ]?\d+(?:\.\d+)?[ ]?(?:%|時間|시간|회|번|回|次|원|円|元))"
)  # fmt: skip
_UNITS = {"초": "second", "秒": "second", "분": "minute", "分": "minute", "分钟": "minute", "分鐘": "minute", "시간": "hour",
          "時間": "hour", "小时": "hour", "小時": "hour", "일": "day", "日": "day", "天": "day", "晚": "day", "주일": "week",
          "주": "week", "週間": "week", "周": "week", "週": "week", "개월": "month", "달": "month", "か月": "month",
          "ヶ月": "month", "个月": "month", "個月": "month", "월": "month", "月": "month", "년": "year", "年": "year",
          "연": "year", "初": "second"}  # fmt: skip


PERIODS_CUE = cue(
    [name.split()[-1] for name in _NAMES if name.isascii() and name[0] != "/"],
    {name.lstrip("1")[0] for name in _NAMES if not name.isascii()} | {*"/시일주개달년時週か小天周分분초秒月연"},
)


def find_periods(match: re.Match[str]) -> tuple[Kind, tuple[Reading, ...]] | None:
    """Return the period of a match, in seconds. A month has 30 days and a year 365."""
    if match["short"] and match.string[max(0, match.start() - 1) : match.start()].isdigit():
        return None
    span = _NAMES.get(match[0]) or _UNITS[match["one"] or match["short"]]
    return ("period", (Reading("period", float(_SECONDS[span])),))
