"""Operators that say the same in other words: other forms of times, dates and numbers, another order of sentences."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import regex

from fairtrial.mutations import phrases
from fairtrial.mutations.courtesy import is_courtesy, states_nothing
from fairtrial.mutations.operator import Invocations, Plant, Scene, shuffle
from fairtrial.mutations.text_values import Date, dates, month_name
from fairtrial.mutations.times import clocks, other_form
from fairtrial.text.language import Language, is_traditional
from fairtrial.text.sentences import Piece, cut


def time_format(scene: Scene, random: Random) -> Invocations | None:  # noqa: ARG001
    """Write a clock time in 12 hours instead of 24, or in 24 instead of 12, if the half of the day is known."""
    times = clocks(scene.reply, scene.language)
    # In "between 1 and 3 pm", the last time also says which half of the day the first one means.
    if len(times) != 1 or _RANGE.search(scene.reply[: times[0].start]):
        return None
    changed = other_form(scene.reply, times[0], scene.language)
    return None if changed is None else scene.with_reply(changed)


_RANGE = regex.compile(r"\p{Nd}\s*(?:and|or|to|until|[-–—~〜/])\s*\Z", regex.I)


def date_format(scene: Scene, random: Random) -> Invocations | None:
    """Write a date in another form: "13 July" for "July 13", "7/3" for "7월 3일", words for "2026-07-13"."""
    for date in shuffle(dates(scene.reply), random):
        changed = _other_date(scene.reply, date, scene.language)
        if changed is not None:
            return scene.with_reply(changed)
    return None


def _other_date(text: str, date: Date, language: Language) -> str | None:
    start, end = date.span
    date_text = text[start:end]
    if language == "en":
        new = _english_date(date_text, date)
    elif "-" in date_text and date.year and date_text[:4].isascii():
        marks = "년월일" if language == "ko" else "年月日"
        gap = " " if language == "ko" else ""
        new = f"{date.year}{marks[0]}{gap}{date.month}{marks[1]}{gap}{date.day}{marks[2]}"
    elif regex.search(r"[年년] ?\Z", text[:start]):
        new = None  # the year of an era stands before it
    elif regex.match("[日일]", text, pos=end) and not date.year and not date_text.isascii():
        new, end = f"{date.month}/{date.day}", end + 1
    else:
        new = None
    return None if new is None else text[:start] + new + text[end:]


def _english_date(date_text: str, date: Date) -> str | None:
    name = month_name(date.month)
    if regex.match(r"\d{4}-", date_text):
        return f"{name} {date.day}, {date.year}"
    if name.lower() not in date_text.lower():
        return None
    if regex.match(r"\d+[a-z]", date_text, regex.I):
        return None  # "the" may stand before "13th July"
    if date_text[0].isdigit():
        return f"{name} {date.day}, {date.year}" if date.year else f"{name} {date.day}"
    return f"{date.day} {name} {date.year}" if date.year else f"{date.day} {name}"


_CONTRACTIONS = (
    ("do not", "don't"),
    ("does not", "doesn't"),
    ("did not", "didn't"),
    ("is not", "isn't"),
    ("are not", "aren't"),
    ("will not", "won't"),
    ("cannot", "can't"),
    ("it is", "it's"),
    ("you are", "you're"),
    ("we are", "we're"),
    ("you will", "you'll"),
    ("we will", "we'll"),
)
_ENDS_HERE = r"(?= \w)"
"""Before the end of a sentence, "it's" cannot stand for "it is": "Here it is.\""""

_CONTRACTION_PATTERNS = [
    (regex.compile(rf"\b{regex.escape(first)}{_ENDS_HERE}", regex.I), second)
    for pair in _CONTRACTIONS
    for first, second in (pair, pair[::-1])
]
_HAS = regex.compile(r" (?:been|got|had)\b")


def contraction(scene: Scene, random: Random) -> Invocations | None:
    """Write "do not" as "don't", or "it's" as "it is"."""
    reply = scene.reply
    for pattern, long in shuffle(_CONTRACTION_PATTERNS, random):
        # "It's been" is "it has been".
        matches = [m for m in pattern.finditer(reply.replace("’", "'")) if not _HAS.match(reply, pos=m.end())]
        if matches:
            match = random.choice(matches)
            new = long.capitalize() if match[0][0].isupper() else long
            return scene.with_reply(reply[: match.start()] + new + reply[match.end() :])
    return None


_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_COUNTABLE = (
    r"(?= (?:\w+ )?(?:orders?|items?|days?|nights?|weeks?|months?|years?|hours?|minutes?|people|persons"
    r"|guests?|adults|tickets?"
    r"|rooms|seats|bags|books|boxes|pieces|flights|results|options|stops|times|messages|files|products|questions|cases"
    r"|reservations|passengers|children|business days)\b)"
)
_DIGIT = regex.compile(rf"(?<![\w.,:/$€£#-])(?<!\b[A-Z][a-z]+ )([2-9]|1[0-2]){_COUNTABLE}")
_WORD = regex.compile(rf"\b({'|'.join(_WORDS)}){_COUNTABLE}", regex.I)
_MYRIAD = regex.compile(r"(?<![\p{Nd}.,:/-])([1-9]\d{1,3}),?000(?= ?(?:원|円|元))")
"""A whole number of thousands from 10,000 to 9,999,000 before a currency."""
_MYRIAD_WORDS = regex.compile(
    r"(?<![\p{Nd}一二三四五六七八九十百千億亿천백억.,])(?<![천백억億亿] )"
    r"([1-9]\d{0,2})[만万萬] ?(?:([1-9])[천千])? ?(?=원|円|元)"
)


def number_spelled(scene: Scene, random: Random) -> Invocations | None:
    """Write a small count in words, or in digits: "three nights". In Korean, 15,000 is 1만 5천, or the other way."""
    reply = scene.reply
    if scene.language != "en":
        return _with_myriads(scene, random) or _with_count(scene, random)
    matches = [*_DIGIT.finditer(reply), *_WORD.finditer(reply)]
    if not matches:
        return None
    match = random.choice(matches)
    new = _WORDS[int(match[1]) - 2] if match[1].isdigit() else str(_WORDS.index(match[1].lower()) + 2)
    if match.start() == 0:
        new = new.capitalize()
    return scene.with_reply(reply[: match.start()] + new + reply[match.end() :])


def _with_myriads(scene: Scene, random: Random) -> Invocations | None:
    reply = scene.reply
    matches = [*_MYRIAD.finditer(reply), *_MYRIAD_WORDS.finditer(reply)]
    if not matches:
        return None
    match = random.choice(matches)
    if match.re is _MYRIAD_WORDS:
        thousands = 10 * int(match[1]) + int(match[2] or 0)
        return scene.with_reply(f"{reply[: match.start()]}{1000 * thousands:,}{reply[match.end() :]}")
    myriads, rest = divmod(int(match[1]), 10)
    myriad_word, thousand, gap = ("만", "천", " ") if scene.language == "ko" else ("万", "千", "")
    if scene.language == "zh" and is_traditional(reply):
        myriad_word = "萬"
    new = f"{myriads}{myriad_word}" + (f"{gap}{rest}{thousand}" if rest else "")
    return scene.with_reply(f"{reply[: match.start()]}{new}{gap}{reply[match.end() :].lstrip(' ')}")


_COUNTS = {
    "ko": regex.compile(r"(?<![\d.,:만천백십월일년제])([2-9]) ?(?=(?:명|개(?!월)|마리|권|잔|대|장|시간)(?!\d))"),
    "ja": regex.compile(r"(?<![\d.,:万千百第])([2-9])(?=(?:つ|名|泊)(?!\d))"),
    "zh": regex.compile(r"(?<![\d.,:万千百萬第])([2-9])(?=(?:[个個位晚件次]|小时|小時)(?![月\d]))"),
}
_COUNT_WORDS = {
    "ko": ("두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉"),
    "ja": tuple("二三四五六七八九"),
    "zh": ("两", *"三四五六七八九"),
}


def _with_count(scene: Scene, random: Random) -> Invocations | None:
    """Write a small count before its counter in words: "세 명" for "3명", "两晚" for "2晚"."""
    reply = scene.reply
    matches = list(_COUNTS[scene.language].finditer(reply))
    if not matches:
        return None
    match = random.choice(matches)
    word = _COUNT_WORDS[scene.language][int(match[1]) - 2]
    if scene.variety == "zh-Hant":
        word = word.replace("两", "兩")
    gap = " " if scene.language == "ko" else ""
    return scene.with_reply(f"{reply[: match.start()]}{word}{gap}{reply[match.end() :]}")


def courtesy_added(scene: Scene, random: Random) -> Invocations | None:
    """Put a polite sentence after the reply."""
    if not scene.reply.strip() or scene.reply.rstrip()[-1:] not in ".!?。！？":
        return None
    sentences = [piece.text for piece in cut(scene.reply) if piece.is_sentence]
    if sentences and is_courtesy(sentences[-1], scene.language):
        return None
    closing = random.choice(phrases.CLOSINGS[scene.variety])
    space = "" if scene.language in ("ja", "zh") else " "
    return None if closing in scene.reply else scene.with_reply(f"{scene.reply.rstrip()}{space}{closing}")


def courtesy_dropped(scene: Scene, random: Random) -> Invocations | None:
    """Leave out a sentence that is only polite. Another sentence remains."""
    pieces = cut(scene.reply)
    polite = [n for n, piece in enumerate(pieces) if piece.is_sentence and is_courtesy(piece.text, scene.language)]
    if not polite or len(polite) == sum(piece.is_sentence for piece in pieces):
        return None
    place = random.choice(polite)
    return scene.with_reply("".join(piece.text for n, piece in enumerate(pieces) if n != place).strip())


def together(plants: Sequence[Plant]) -> Plant:
    """Return an operator that makes several harmless changes one after the other. At least two must apply."""

    def plant(scene: Scene, random: Random) -> Invocations | None:
        current, changes = scene, 0
        for change in plants:
            mutant = change(current, random)
            if mutant is not None and mutant != current.invocations:
                current, changes = replace(current, invocations=mutant), changes + 1
        return current.invocations if changes > 1 else None

    return plant


_LISTED = regex.compile(r"(?:\A|\s)\(?[1１][.)]\s|[:：]\s|\*\*")
"""The marks of lists and of headings, whose order is the author's."""
_TOPIC = {"ko": regex.compile(r"\p{Hangul}[은는이가] "), "ja": regex.compile(r"[はが]")}
"""A sentence without a topic of its own takes that of the sentence before."""
_BOUND = regex.compile(
    r"\A\W*(?:(?:however|but|and|or|so|then|also|therefore|thus|instead|otherwise|first|second|third|next|finally"
    r"|in addition"
    r"|for example|yes|no|after|before|once|because|this|that|these|those|it|its|they|their|he|she|both|such|there|here"
    r"|all|none|each|either|neither|any|some|only|unfortunately|sorry|please|i|we|to)\b"
    r"|그|이|저|또|하지만|다만|단|따라서|그래서|그런데|먼저|다음|네|예|아니|마지막|우선|둘째|첫째|이후|반면"
    r"|しかし|ただ|また|そして|その|それ|この|これ|次|まず|はい|いいえ|なお|さらに|ですが|そのため|最後|以上"
    r"|但|不过|不過|而|然后|然後|接着|首先|其次|最后|最後|另外|此外|因此|所以|这|這|那|它|其|是的|不是|同时|同時|并|並)",
    regex.I,
)
"""The beginnings of sentences that depend on the sentence before, or that must come first."""
_POINTS_BACK = regex.compile(
    r"\b(?:it|its|they|them|their|this|that|these|those|he|she|him|her|one|which|above)\b", regex.I
)


def sentences_reordered(scene: Scene, random: Random) -> Invocations | None:
    """Exchange two neighbouring statements, if neither begins with a word that binds it to its place."""
    pieces = cut(scene.reply)
    places = [n for n, piece in enumerate(pieces) if piece.is_sentence]
    if "\n" in scene.reply.strip() or _LISTED.search(scene.reply):
        return None
    pairs = [
        (first, second)
        for first, second in itertools.pairwise(places)
        if _is_free(pieces[first], scene) and _is_free(pieces[second], scene)
    ]
    if not pairs:
        return None
    first, second = random.choice(pairs)
    exchanged = [piece.text for piece in pieces]
    exchanged[first], exchanged[second] = exchanged[second], exchanged[first]
    return scene.with_reply("".join(exchanged))


def _is_free(piece: Piece, scene: Scene) -> bool:
    """Return whether a sentence states something without a word that points to another sentence."""
    text = piece.text.strip()
    if not regex.search(r"[.。!！]\W*\Z", text) or states_nothing(text, scene.language):
        return False
    if _BOUND.match(text) or (scene.language == "en" and _POINTS_BACK.search(text)):
        return False
    return scene.language not in _TOPIC or _TOPIC[scene.language].search(text) is not None
