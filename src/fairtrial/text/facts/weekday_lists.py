"""Lists and parts of a week: 월·수·금, 火・木, 周一至周五, "weekdays" and 주말."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fairtrial.text.facts.fact import Fact, Reading
from fairtrial.text.facts.word_patterns import cue
from fairtrial.text.lazy_pattern import LazyPattern

if TYPE_CHECKING:
    from fairtrial.text.facts.claims import Claims

_DAY_LIST = LazyPattern(
    r"(?<![가-힣])[월화수목금토일](?:[·~/,-][월화수목금토일]){1,6}(?=요일|[ 에은는 (]|입|$)"
    r"|(?:(?<![一-龠])|(?<=[毎每]週))[月火水木金土日](?:[・~/、·-][月火水木金土日]){1,6}(?=曜|[のには (]|$)"
    r"|(?:周|週|星期|礼拜|禮拜)[一二三四五六日天](?:[、至到~和與及-](?:周|週|星期|礼拜|禮拜)?[一二三四五六日天]){1,6}(?![点點个個小])"
)
_DAY_SIGNS = {
    sign: day for signs in ("월화수목금토일", "月火水木金土日", "一二三四五六日") for day, sign in enumerate(signs)
} | {"天": 6}
_BETWEEN_DAYS = "·・~/,-、至到和與及"
_DAY_LIST_CUE = cue("", "월화수목금토일月火水木金土周週星礼禮")
_WEEK_PARTS_CUE = cue("weekday weekdays weekend weekends", "평平工주週周")
WEEKDAYS_CUE = _DAY_LIST_CUE | _WEEK_PARTS_CUE
_WEEK_PARTS = LazyPattern(r"\bweekdays?\b|평일|平日|工作日(?![內内])|\bweekends?\b|주말|週末|周末")


def take_weekdays(work: Claims) -> None:
    """Take the weekdays of lists and of parts of a week."""

    def days(match: re.Match[str]) -> list[Fact]:
        facts = [
            Fact(
                "weekday",
                (Reading("weekday", float(_DAY_SIGNS[sign])),),
                match.start() + place,
                match.start() + place + 1,
            )
            for place, sign in enumerate(match[0])
            if sign in _DAY_SIGNS
        ]
        # A range of days may be told in another way, for example "on weekdays".
        return [fact._replace(weak=True) for fact in facts] if re.search("[~至到-]", match[0]) else facts

    def part(match: re.Match[str]) -> list[Fact]:
        end = match[0] in {"주말", "週末", "周末"} or match[0].startswith("weekend")
        readings = tuple(Reading("weekday", float(day)) for day in ((5, 6) if end else range(5)))
        return [Fact("weekday", readings, match.start(), match.end(), weak=True)]

    if not work.cues.signs.isdisjoint(_BETWEEN_DAYS):
        work.take_many(_DAY_LIST, days, _DAY_LIST_CUE)
    work.take_many(_WEEK_PARTS, part, _WEEK_PARTS_CUE)
