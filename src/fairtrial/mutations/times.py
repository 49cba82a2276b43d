"""Find clock times, weekdays and relative days in a text, and write alternatives in the same form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import regex

from fairtrial.mutations.literals import is_in_address
from fairtrial.text.language import Language, is_traditional
from fairtrial.text.sentences import cut

_NO_DIGIT = r"(?<![\p{Nd}.:,/-])"
_COLON = regex.compile(
    _NO_DIGIT + r"(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?!\p{Nd}|[:.]\p{Nd}| ?[ap]\.?m)", regex.I
)
_PATTERNS: Mapping[Language, tuple[regex.Pattern[str], ...]] = {
    "en": (
        regex.compile(
            _NO_DIGIT + r"(?P<hour>1[0-2]|0?[1-9])(?::(?P<minute>[0-5]\d))?(?P<gap> ?)(?P<half>[ap]\.m\.|[ap]m\b)",
            regex.I,
        ),
        _COLON,
    ),
    "ko": (
        regex.compile(
            _NO_DIGIT + r"(?:(?P<half>오전|오후) ?)?(?P<hour>2[0-3]|1\d|\d)시(?!간|대)(?: ?(?P<minute>[0-5]?\d)분)?"
            r"(?P<half_hour> ?반(?=[\s에까부입이으은을.,]|\Z))?"
        ),
        _COLON,
    ),
    "ja": (
        regex.compile(
            _NO_DIGIT
            + r"(?P<half>午前|午後)?(?P<hour>2[0-3]|1\d|\d)時(?!間|代|点)(?:(?P<minute>[0-5]?\d)分)?(?P<half_hour>半)?"
        ),
        _COLON,
    ),
    "zh": (
        regex.compile(
            _NO_DIGIT + r"(?P<half>上午|下午)?(?P<hour>2[0-3]|1\d|\d)(?P<mark>[点點])"
            r"(?![数數評评]|[钟鐘]?[的之][后後])(?:(?P<minute>[0-5]?\d)分)?(?P<half_hour>半)?"
        ),
        _COLON,
    ),
}
_AFTERNOON = ("p", "오후", "午後", "下午")
_HALVES: Mapping[Language, tuple[str, str]] = {
    "en": ("am", "pm"),
    "ko": ("오전 ", "오후 "),
    "ja": ("午前", "午後"),
    "zh": ("上午", "下午"),
}


class Clock(NamedTuple):
    """A clock time in a text. `hour` is 0..23 if the half of the day is known, else as digits.

    `half` is the text that names the half of the day, or empty. `hour_place` is the place of the hour's digits.
    """

    start: int
    end: int
    hour: int
    minute: int | None
    half: str
    hour_place: tuple[int, int]
    mark: str

    @property
    def is_certain(self) -> bool:
        """Whether the text says which half of the day it means."""
        return bool(self.half) or self.hour > 12 or self.hour == 0

    def may_equal(self, time: Clock) -> bool:
        """Return whether both may be the same time. A time without a half of the day may be in either half."""
        certain = self.is_certain and time.is_certain
        hours = (self.hour, time.hour) if certain else (self.hour % 12, time.hour % 12)
        return hours[0] == hours[1] and (self.minute or 0) == (time.minute or 0)


def clocks(text: str, language: Language) -> list[Clock]:
    """Return the clock times of a text in order. Durations, scores and addresses are none: "3시간", "3:2"."""
    times: dict[tuple[int, int], Clock] = {}
    for pattern in _PATTERNS[language]:
        for match in pattern.finditer(text):
            clock = _clock(match)
            is_taken = any(clock.start < high and low < clock.end for low, high in times)
            if not is_taken and not is_in_address(text, clock.start, clock.end):
                times[clock.start, clock.end] = clock
    return [times[span] for span in sorted(times)]


def clock_spans(text: str) -> list[tuple[int, int]]:
    """Return the places of the clock times of a text, in any language."""
    patterns = dict.fromkeys(pattern for patterns in _PATTERNS.values() for pattern in patterns)
    return [match.span() for pattern in patterns for match in pattern.finditer(text)]


def _clock(match: regex.Match[str]) -> Clock:
    groups = match.groupdict()
    half, hour = groups.get("half") or "", int(match["hour"])
    if half and hour <= 12:
        hour = hour % 12 + 12 * half.lower().startswith(_AFTERNOON)
    minute = None if groups.get("minute") is None else int(match["minute"])
    if groups.get("half_hour"):
        minute = 30
    start, end = match.span()
    return Clock(start, end, hour, minute, half, match.span("hour"), groups.get("mark") or "")


def other_hour(text: str, clock: Clock) -> str:
    """Return a text with a clock time one hour later, or one earlier if the hour is the last of its half of the day."""
    start, end = clock.hour_place
    digits = text[start:end]
    last = 12 if clock.half else 23
    hour = int(digits)
    if clock.half:
        # 12 comes before 1: the next hour of "11 am" is in the other half of the day.
        hour = 1 if hour == 12 else hour - 1 if hour == 11 else hour + 1
    else:
        hour = hour - 1 if hour >= last else hour + 1
    return text[:start] + (f"{hour:02}" if digits.startswith("0") else str(hour)) + text[end:]


def other_form(text: str, clock: Clock, language: Language) -> str | None:
    """Return a text with a clock time in the other form, 12 or 24 hours. None if its half of the day is not known."""
    if not clock.is_certain:
        return None
    if clock.half and language != "en" and clock.hour <= 12:
        return None  # "3시" alone may be in either half of the day
    if language == "zh" and not clock.mark:
        clock = clock._replace(mark="點" if is_traditional(text) else "点")
    digits = _day_form(clock, language) if clock.half else _half_form(clock, language)
    return text[: clock.start] + digits + text[clock.end :]


def _day_form(clock: Clock, language: Language) -> str:
    """Return a time in 24 hours: "18:30", "18시 30분"."""
    if language == "en":
        return f"{clock.hour:02}:{clock.minute or 0:02}"
    return f"{clock.hour}{_rest(clock, language)}"


def _half_form(clock: Clock, language: Language) -> str:
    """Return a time in 12 hours: "6:30 pm", "오후 6시 30분"."""
    half, hour = _HALVES[language][clock.hour >= 12], clock.hour % 12 or 12
    if language == "en":
        return f"{hour}:{clock.minute:02} {half}" if clock.minute else f"{hour} {half}"
    return f"{half}{hour}{_rest(clock, language)}"


def _rest(clock: Clock, language: Language) -> str:
    hour_mark, minute_mark = {"ko": ("시", "분"), "ja": ("時", "分"), "zh": (clock.mark, "分")}[language]
    gap = " " if language == "ko" else ""
    return hour_mark if not clock.minute else f"{hour_mark}{gap}{clock.minute}{minute_mark}"


_DAYS_EN = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_WEEKDAYS: Mapping[Language, tuple[str, tuple[str, ...]]] = {
    "en": (rf"\b(?P<name>{'|'.join(_DAYS_EN)})(?=s?\b)", _DAYS_EN),
    "ko": (r"(?P<name>[월화수목금토일])(?P<after>요일)", tuple("월화수목금토일")),
    "ja": (r"(?P<name>[月火水木金土日])(?P<after>曜)", tuple("月火水木金土日")),
    "zh": (r"(?P<before>星期|[周週]|[礼禮]拜)(?P<name>[一二三四五六日天])(?![\p{Nd}期])", tuple("一二三四五六日")),
}
_WEEKDAY_PATTERNS = {language: regex.compile(pattern) for language, (pattern, _) in _WEEKDAYS.items()}


class Word(NamedTuple):
    """A word in a text with words that mean something else."""

    start: int
    end: int
    word: str
    alternatives: tuple[str, ...]


def weekdays(text: str, language: Language) -> Iterator[Word]:
    """Yield the weekdays of a text, each with the next one."""
    names = _WEEKDAYS[language][1]
    for match in _WEEKDAY_PATTERNS[language].finditer(text):
        if is_in_address(text, *match.span()):
            continue
        groups = match.groupdict()
        name = "日" if match["name"] == "天" else match["name"]
        following = names[(names.index(name) + 1) % 7]
        yield Word(
            match.start(), match.end(), match[0], (f"{groups.get('before', '')}{following}{groups.get('after', '')}",)
        )


_RELATIVE: Mapping[Language, Mapping[str, tuple[str, ...]]] = {
    "en": {
        "tomorrow": ("today", "the day after tomorrow"),
        "yesterday": ("today",),
        "today": ("tomorrow",),
        "next week": ("this week",),
        "this week": ("next week",),
    },
    "ko": {
        "내일": ("오늘", "모레"),
        "어제": ("오늘",),
        "모레": ("내일",),
        "오늘": ("내일",),
        "다음 주": ("이번 주",),
        "이번 주": ("다음 주",),
    },
    "ja": {
        "明日": ("今日", "明後日"),
        "昨日": ("今日",),
        "明後日": ("明日",),
        "今日": ("明日",),
        "本日": ("明日",),
        "来週": ("今週",),
        "今週": ("来週",),
    },
    "zh": {
        "明天": ("今天", "后天"),
        "昨天": ("今天",),
        "后天": ("明天",),
        "後天": ("明天",),
        "今天": ("明天",),
        "下周": ("本周",),
        "下週": ("本週",),
        "本周": ("下周",),
        "本週": ("下週",),
    },
}
_PRESENT = frozenset(["today", "this week", "오늘", "이번 주", "今日", "本日", "今週", "今天", "本周", "本週"])
"""Days whose sentence must not be about the past, so that its tense still fits."""
_RELATIVE_PATTERNS: Mapping[Language, regex.Pattern[str]] = {
    "en": regex.compile(
        r"(?<!after )(?<!before )(?<!as of )\b(tomorrow|yesterday|today|next week|this week)\b"
        r"(?! (?:morning|afternoon|evening|night))(?!['’]s)"
    ),
    "ko": regex.compile(r"(?<!\p{Hangul})(내일|어제|모레|오늘|다음 주|이번 주)(?=[\s,은는이가도에부까의입예]|\Z)"),
    "ja": regex.compile(r"(?<!一)(明日|昨日|明後日|今日|本日|来週|今週)(?!中)"),
    "zh": regex.compile(r"(?<!大)(明天|昨天|后天|後天|今天|[下本][周週])(?![年末])"),
}
_PAST: Mapping[Language, regex.Pattern[str]] = {
    "en": regex.compile(r"\b(?:was|were|did|has|have|had|been|just|since|\w+ed)\b(?! to\b)", regex.I),
    "ko": regex.compile(r"[았었했됐렸졌갔왔냈였켰겼쳤셨렀](?:습니다|어요|다|으며|고|지만)|현재|지금"),
    "ja": regex.compile(r"(?:ました|でした|[っんい]た|れた|した|中です|現在|ております|ています)"),
    "zh": regex.compile(r"[了已过過]|正在|[刚剛]|现在|現在|目前"),
}
"""The past, and what lasts."""
_BE_CLOSED = regex.compile(
    r"\b(?:is|are|'s|'re) (?:closed|booked|scheduled|expected|reserved|needed|required)\b", regex.I
)


def relative_days(text: str, language: Language) -> Iterator[Word]:
    """Yield words such as "tomorrow", each with words for other days that fit the tense of the sentence."""
    for match in _RELATIVE_PATTERNS[language].finditer(text):
        if is_in_address(text, *match.span()):
            continue
        if match[1] in _PRESENT and _PAST[language].search(_BE_CLOSED.sub("", _sentence_at(text, match.start()))):
            continue
        alternatives = _RELATIVE[language][match[1]]
        if language == "zh" and is_traditional(text):
            alternatives = tuple(day.replace("后", "後") for day in alternatives)
        yield Word(match.start(1), match.end(1), match[1], alternatives)


def _sentence_at(text: str, place: int) -> str:
    start = 0
    for piece in cut(text):
        start += len(piece.text)
        if start > place:
            return piece.text
    return text
