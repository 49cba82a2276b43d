"""English numerals in words, for example "two and a half" and "twelve hundred", as digits."""

from __future__ import annotations

import re

from fairtrial.text.facts.word_patterns import StartPattern, read_cues
from fairtrial.text.lazy_pattern import LazyPattern

_UNITS = {
    word: value
    for value, word in enumerate(
        (
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
            "sixteen seventeen eighteen nineteen"
        ).split()
    )
}
_TENS = {
    word: 10 * value
    for value, word in enumerate(("twenty thirty forty fifty sixty seventy eighty ninety").split(), start=2)
}
_SCALES = {
    "hundred": 100,
    "thousand": 1000,
    "lakh": 10**5,
    "crore": 10**7,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
}
_ORDINALS = {
    word: value
    for value, word in enumerate(
        (
            "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
            "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
        ).split(),
        start=1,
    )
} | {f"{word[:-1]}ieth": value for word, value in _TENS.items()}
_FRACTIONS = {
    "half": "0.5", "halves": "0.5", "third": "0.333333", "thirds": "0.333333", "quarter": "0.25", "quarters": "0.25",
    "fifth": "0.2", "fifths": "0.2", "tenth": "0.1", "tenths": "0.1",
}  # fmt: skip
_CARDINAL = "|".join((*_UNITS, *_TENS))
_SCALE = "|".join(_SCALES)
_RUN = rf"(?:{_CARDINAL}|{_SCALE})(?:[ -](?:and[ ])?(?:{_CARDINAL}|{_SCALE})){{0,16}}"
_SPAN = r"(?:second|minute|hour|day|week|fortnight|month|year|decade|night|mile|pound|cup|spoon|teaspoon|tablespoon)"
_CUES = frozenset((*_UNITS, *_TENS, *_SCALES, *_ORDINALS, *_FRACTIONS)) | frozenset(
    "k bn mn m dozen dozens couple once twice thrice".split()
)
_DIGIT_CUES = frozenset(_SCALES) | frozenset("half quarter quarters dozen dozens k bn mn m".split())
"""One of these stands behind the digits of each numeral that begins with digits."""


def _group_cues() -> str:
    """Return a pattern of the cues with the edge of a word behind each first letter, where a search goes at once."""
    rests: dict[str, list[str]] = {}
    for word in sorted(_CUES):
        rests.setdefault(word[0], []).append(word[1:])
    return "|".join(rf"{first}(?<![a-z].)(?:{'|'.join(rest)})" for first, rest in rests.items())


_MANY = (
    "people|users|customers|views|viewers|copies|inhabitants|residents|downloads|followers|subscribers|members|players|visitors|passengers"
    "|fans|listeners|streams|voters|jobs|homes|households|workers|records|rows|tokens|units|dollars|euros|pounds|yen"
)
"""Nouns behind the m of a million."""
_WORD_START = rf"(?:{_group_cues()}|a(?<![a-z].)n?(?=[ -](?:single|dozen|couple|{_SCALE}|{'|'.join(_FRACTIONS)}|{_SPAN})))(?![a-z])"
_SOURCE = (
    r"(?<![\w-])(?=[a-fhlm-qs-w.\dz])(?:"
    # "two and a half hours", "2 and a half"
    rf"(?P<mixed>{_RUN}|\d+)[ ]and[ ](?:a[ ]half|(?P<mixed_part>a[ ]quarter|three[ -]quarters))"
    # "an hour and a half", "a year and a half"
    rf"|(?P<unit_half>an?|one|{_RUN}|\d+)[ ](?P<half_unit>{_SPAN}s?)[ ]and[ ](?:a[ ]half)"
    rf"|(?P<part>(?:three[ -]quarters|two[ -]thirds|(?:a|one)[ -](?:quarter|third|half)|quarter)(?:[ ](?:of[ ])?an?)?(?=[ ](?:{_SPAN}|kilo|litre|liter|pint)))"
    rf"|(?P<share>(?:an?|one|two|three|four)[ -](?:half|halves|thirds?|quarters?|fifths?|tenths?))"
    rf"(?=[ ](?:of|the)\b|[ ]?[.,;)]|$)(?![ ]of[ ]an?[ ])"
    rf"|half[ ]an?[ ](?P<half_scale>million|billion|thousand)"
    rf"|(?P<half>(?:a[ ])?half(?:[ ]an?)?)(?=[ -](?:{_SPAN}|kilo|litre|liter|pint|mile))"
    r"|(?P<half_of>half(?:(?=[ ](?:of|the|price|off|as|your|my|their|its|our|full)\b)"
    r"|(?=[ ]?[.,;!?)]|$)(?:(?<=\bover half)|(?<=\bthan half)|(?<=\babout half)|(?<=\bnearly half)|(?<=\balmost half)|(?<=\bexactly half))))"
    rf"|(?P<dozen>half[ ]a[ ]|an?[ ]|(?:{_RUN}|\d+)[ ])?(?P<dozen_word>dozens?)\b(?![ ]of\b)"
    rf"|(?P<range_first>\d[\d,]{{0,12}}(?:\.\d{{1,6}})?)(?P<range_to>[ ]?-[ ]?|[ ]to[ ])(?P<range_last>\d[\d,]{{0,12}}(?:\.\d{{1,6}})?)[ -]?(?P<range_scale>{_SCALE})(?![a-z])"
    rf"|(?P<scaled>\d[\d,]*(?:\.\d+)?|\.\d+)(?:[ -]?(?P<scale>{_SCALE})|(?P<letter>k|bn|mn|m(?=[ ](?:{_MANY}))))(?![a-z])"
    rf"|(?P<an_scale>an?)[ ](?={_SCALE})(?P<an_run>{_RUN})"
    rf"|(?P<tens>{'|'.join(_TENS)})-(?P<ordinal_unit>{'|'.join(list(_ORDINALS)[:9])})"
    rf"|(?P<decimal>{_CARDINAL})[ ]point[ ](?P<places>(?:{_CARDINAL})(?:[ ](?:{_CARDINAL})){{0,12}})"
    rf"|(?P<run>{_RUN})"
    rf"|(?P<ordinal>{'|'.join(_ORDINALS)})"
    rf"|(?P<article>an?)(?=[ ](?:single[ ])?{_SPAN}\b)"
    r"|(?P<times>once|twice|thrice)"
    r"|(?P<couple>(?:a[ ])?couple(?:[ ]of)?)"
    r")(?![\w]|-(?:off|on|size|time\b|way|to-one|sided))"
)
_NUMERAL = StartPattern(_WORD_START, _SOURCE)
_NUMERAL_WITH_DIGITS = StartPattern(rf"{_WORD_START}|\d+|\.\d", _SOURCE)
_ARTICLES = frozenset({"a", "an"})
_SPANS = frozenset(re.findall("[a-z]+", _SPAN))
_RUN_AFTER = LazyPattern(r"[ ](?:run|race|marathon|fun run|charity run|walk|jog|parkrun|trail)\b")
_RUN_BEFORE = LazyPattern(
    r"\b(?:(?:ran|(?:i|you) run|s?he runs|jogg(?:ed|ing)|jogs?|raced|racing|marathon(?: of)?) (?:(?:a|an|the|my|his|her|their|your|our) )?"
    r"|(?:runs?|running|finish(?:ed|es)?|complete[ds]?|enter(?:s|ed)?|did) (?:a|an|the|my|his|her|their|your|our) )$"
)
_MACHINE_RAN = LazyPattern(
    r"\b(?:it|that|which|(?:cluster|server|system|machine|model|script|service|job|task|test|bench|benchmark|suite|pipeline|program|worker|node|agent)s?) ran $"
)
_RUN_ENDS = LazyPattern(
    r"[ ]?(?:[.,;:!?)]|$)|[ ](?:in|on|at|for|every|each|twice|and|or|with|last|next|this|yesterday|today)\b"
)
"""Words beside the k of a run over kilometres: "a 10k race", "she ran 10k in an hour". A cluster runs 10k jobs."""
_PER = LazyPattern(
    r"(?:\d|once|twice|times|time|miles?|kilomet(?:er|re)s?|km|dollars?|cents?|euros?|pounds?|yen|won|per cent|percent|%|free|hours?|days?|nights?|weeks?)[ ]*$"
)
_SECOND_IS_UNIT = LazyPattern(r"(?:\d|\bper|\ba|\bone|\beach|\bevery|\bsplit)[ -]$")
_PRONOUN_BEFORE = LazyPattern(
    r"\b(?:this|that|which|each|every|any|no|the|some|another|other|new|only|correct|right|wrong|last|next|good|better"
    r"|best|cheaper|cheapest|big|small|first|second|old|same|blue|red|green|black|white|either)[ -]$"
)
_PRONOUN_AFTER = LazyPattern(r"[ ](?:of\b|another\b|can\b|should\b|must\b|may\b|is\b|who\b|that\b|moment|more thing)")


_ONCE = LazyPattern(r"[.,;]|[ ]in[ ]\d{4}")


def english_numerals(text: str) -> list[tuple[int, int, str]]:
    """Return the numerals of a small-letter text: their spans, and their digits.

    "one" that stands for a noun ("this one", "one of them") stays a word.
    """
    edits: list[tuple[int, int, str]] = []
    words = read_cues(text).words
    if words.isdisjoint(_CUES) and (words.isdisjoint(_ARTICLES) or words.isdisjoint(_SPANS)):
        return edits
    numeral = _NUMERAL if words.isdisjoint(_DIGIT_CUES) else _NUMERAL_WITH_DIGITS
    for match in numeral.finditer(text):
        if match["range_scale"]:
            edits += _scale_range(match)
            continue
        new = _digits(text, match)
        if new is not None:
            edits.append((match.start(), match.end(), new))
    return edits


def _scale_range(match: re.Match[str]) -> list[tuple[int, int, str]]:
    """Return the edits of "55-60 million", whose scale is that of both ends."""
    ends = [float(match[end].replace(",", "")) for end in ("range_first", "range_last")]
    first, last = (_plain(end * _SCALES[match["range_scale"]]) for end in ends)
    if ends[0] >= ends[1]:
        return [(match.start("range_last"), match.end(), last)]
    return [(*match.span("range_first"), first), (match.start("range_last"), match.end(), last)]


def _digits(text: str, match: re.Match[str]) -> str | None:  # noqa: C901, PLR0911, PLR0912  (one line a form)
    get = match.group
    kind = match.lastgroup
    if kind == "run":
        return _cardinal(text, match)
    if get("mixed"):
        return f"{_value(get('mixed'))}{ {'a quarter': '.25', None: '.5'}.get(get('mixed_part'), '.75') }"
    if get("unit_half"):
        return f"{_value(get('unit_half'))}.5 {get('half_unit')}"
    if get("share"):
        numerator, part = re.split(r"[ -]", get("share"))
        share = _value(numerator) * float(_FRACTIONS[part]) * 100
        return f"{share:.4f}".rstrip("0").rstrip(".") + "%"
    if get("part"):
        words = get("part")
        if words.startswith(("three", "two")):
            return "0.75" if words.startswith("three") else "0.66666666667"
        return "0.33333333333" if "third" in words else "0.5" if "half" in words else "0.25"
    if get("half"):
        return "0.5"
    if get("half_scale"):
        return str(_SCALES[get("half_scale")] // 2)
    if kind == "half_of":
        return "50%"
    if get("dozen_word"):
        before = (get("dozen") or "").strip()
        return str(6 if before.startswith("half") else 12 * _value(before or "1"))
    if get("scaled"):
        if get("letter") == "k" and _is_run(text, match):
            return f"{get('scaled')} km"
        scale = (
            _SCALES[get("scale")] if get("scale") else {"k": 1000, "bn": 10**9, "mn": 10**6, "m": 10**6}[get("letter")]
        )
        return _plain(float(get("scaled").replace(",", "")) * scale)
    if get("an_scale"):
        return _plain(_value("one " + get("an_run")))
    if get("tens"):
        return _th(_TENS[get("tens")] + _ORDINALS[get("ordinal_unit")])
    if get("decimal"):
        places = "".join(str(_UNITS.get(word, word)) for word in get("places").split())
        return f"{_value(get('decimal'))}.{places}"
    if get("ordinal"):
        if get("ordinal") == "second" and _SECOND_IS_UNIT.search(text, max(0, match.start() - 8), match.start()):
            return None
        return _th(_ORDINALS[get("ordinal")])
    if kind == "article":
        return "per" if _PER.search(text, max(0, match.start() - 12), match.start()) else "1"
    if kind == "times":
        if get("times") == "once":
            is_count = _ONCE.match(text, match.end()) and not text.endswith("at ", 0, match.start())
            return "1 times" if is_count else None
        return {"twice": "2 times", "thrice": "3 times"}[get("times")]
    return "2" if get("couple") and text[match.end() : match.end() + 1] == " " else None


def _is_run(text: str, match: re.Match[str]) -> bool:
    """Return whether the k of a match stands for the kilometres of a run."""
    start, end = match.span()
    if _RUN_AFTER.match(text, end):
        return True
    before = max(0, start - 24)
    return bool(
        _RUN_ENDS.match(text, end)
        and _RUN_BEFORE.search(text, before, start)
        and not _MACHINE_RAN.search(text, before, start)
    )


_BEFORE_DIGITS = LazyPattern(r"\b(?:room|gate|flight|suite|unit|bus|route|platform|extension|number|code|pin) \Z")
"""What stands before digits that are read one by one: gate five-two is gate 52."""


def _cardinal(text: str, match: re.Match[str]) -> str | None:
    run = match.group("run")
    if run == "one" and (
        _PRONOUN_BEFORE.search(text, max(0, match.start() - 12), match.start())
        or _PRONOUN_AFTER.match(text, match.end())
    ):
        return None
    words = re.split(r"[ -]", run)
    if (
        "-" in run
        and len(words) == 2
        and words != ["nine", "nine"]
        and all(_UNITS.get(word, 10) < 10 for word in words)
        and not _BEFORE_DIGITS.search(text, max(0, match.start() - 12), match.start())
    ):
        # "Two-one" is a score, unlike the 99 of a title.
        return f"{_UNITS[words[0]]}-{_UNITS[words[1]]}"
    if len(words) > 1 and all(word in _UNITS for word in words):
        # Digits that are read one by one ("one two three"), or two numbers ("nineteen eighty").
        if all(_UNITS[word] < 10 for word in words) and text[match.end() : match.end() + 1] != "-":
            return "".join(str(_UNITS[word]) for word in words)
        return " ".join(str(_UNITS[word]) for word in words)
    if len(words) > 1 and words[0] in _UNITS and _UNITS[words[0]] > 9 and words[1] in _TENS:
        return str(_UNITS[words[0]] * 100 + _value(" ".join(words[1:])))
    return _plain(_value(run)) if _value(run) else "0"


def _value(run: str) -> int:
    if run.isdigit():
        return int(run[:15])
    total = part = 0
    for word in re.split(r"[ -]", run):
        if word in {"a", "an"}:
            part = 1
        elif word in _UNITS or word in _TENS:
            part += _UNITS.get(word, 0) + _TENS.get(word, 0)
        elif word == "hundred":
            part = max(part, 1) * 100
        elif word in _SCALES:
            total += max(part, 1) * _SCALES[word]
            part = 0
    return total + part


def _th(value: int) -> str:
    ending = "th" if value in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return f"{value}{ending}"


def _plain(value: float) -> str:
    # Seven digits without a comma would be a code.
    return (f"{value:,.6f}" if value >= 1e6 else f"{value:.6f}").rstrip("0").rstrip(".")
