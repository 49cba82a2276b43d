"""The facts of a text: numbers, amounts, quantities, percentages, dates, times and codes, each with its place."""

from __future__ import annotations

import re
from operator import attrgetter

from fairtrial.text.facts.bounds import BOUNDS_CUE, LEADING_CUE, bound_at
from fairtrial.text.facts.calendar_facts import is_person, take_dates, take_days, take_names
from fairtrial.text.facts.canonical import Canonical, canonicalise
from fairtrial.text.facts.claims import Claims
from fairtrial.text.facts.codes import (
    ADDRESSES,
    CODES,
    MAY_BE_CODE,
    VERSES,
    VERSES_CUE,
    VERSIONS_CUE,
    find_code,
    find_verses,
)
from fairtrial.text.facts.compounds import (
    FEET_AND_INCHES,
    FEET_CUE,
    OUT_OF,
    OUT_OF_CUE,
    find_feet_and_inches,
    find_shares,
    join_compounds,
)
from fairtrial.text.facts.decades import DECADES, DECADES_CUE, YEAR_RANGES, find_decades, find_year_ranges
from fairtrial.text.facts.fact import NUMBER, Fact, Kind, Reading, new_fact, new_reading
from fairtrial.text.facts.memory import remember_short
from fairtrial.text.facts.periods import PERIODS, PERIODS_CUE, find_periods
from fairtrial.text.facts.units import (
    CURRENCY,
    Unit,
    currency_names,
    first_signs,
    sign_cue,
    sign_pattern,
    unit_cue,
    unit_names,
    unit_pattern,
)
from fairtrial.text.facts.word_patterns import StartPattern, cue
from fairtrial.text.lazy_pattern import LazyPattern

_NUM = r"(?:[0-9]{1,3}(?:,[0-9]{3}){1,7}(?:\.[0-9]{1,18})?(?![0-9])|[0-9]{1,18}(?:\.[0-9]{1,18})?(?![0-9])|(?<![0-9])\.[0-9]{1,18})"
_SIGN = r"(?:(?<![a-z0-9)])[-+]|(?<![a-z])minus[ ]|零下|負|负|영하[ ]?|マイナス|氷点下)?"
_TO = r"[ ]?(?:-|~|to|or|and|から|至|到|에서|または|或|或者|、|내지)[ ]?"
_RANGE_END = r"(?:(?<=[-~ord至到或者、 +下負负하ス.])|(?<=から)|(?<=または)|(?<=에서)|(?<=내지))"
"""What stands before the second number of a range: the end of one of the words above, a sign or a space."""
# A search for one set of signs goes to its places at once.
_ASCII_NUMBER_START = r"[0-9+.m-](?:(?<=[0-9])|(?<=[-+])(?=\.?[0-9])|(?<=\.)(?=[0-9])|(?<=m)(?=inus))"
_NUMBER_START = (
    r"[0-9+.m零負负マ氷영-](?:(?<=[0-9零負负マ氷])|(?<=[-+])(?=\.?[0-9])|(?<=\.)(?=[0-9])|(?<=m)(?=inus)|(?<=영)(?=하))"
)
_PERCENT = StartPattern(
    _NUMBER_START,
    rf"(?=[-+.\dm零負负영マ氷])(?:(?P<from>{_NUM})[ ]?%?{_TO})?(?P<number>{_SIGN}{_NUM})[ ]?(?:%|percent(?:age points?)?\b|per cent\b|퍼센트|프로(?![가-힣])|パーセント|per mille\b|‰|포인트(?=[ ]?(?:상승|하락))|趴)",
)
_OFF = LazyPattern(r"[ ]?(?:off\b|discount|할인|저렴|우대|引き?|オフ|off|优惠|優惠|折扣|\0)")
_ORDINAL = LazyPattern(r"(?<![\d.])(\d{1,6})(?:st|nd|rd|th)\b|第[ ]?(\d{1,6})|제[ ]?(\d{1,6})(?=[가-힣 ])")
_PLAIN = StartPattern(_NUMBER_START, rf"(?=[-+.\dm零負负영マ氷])(?P<number>{_SIGN}{_NUM})")
_LIST_MARK = LazyPattern(r"(?m)^[ \t>*-]{0,8}(?:\(?\d{1,2}[.)](?=[ \t])|step \d{1,2}[:.)])")
_FOOTNOTE = LazyPattern(r"\[\d{1,3}\]")
_INLINE_LIST = LazyPattern(r"(?s)(?<![\w.])1[.)][ ].{1,400}?(?<![\w.])2[.)][ ]")
_INLINE_MARK = LazyPattern(r"(?<![\w.])\d{1,2}[.)](?=[ ])")


_FRACTION = LazyPattern(
    lambda: (
        rf"(?<![\d/.])(?:(?P<whole>\d{{1,3}})[ ])?(?P<above>\d{{1,2}})/(?P<below>\d{{1,3}})[ -]?(?P<unit>{unit_pattern()})"
    )
)
_TEMPERATURE = LazyPattern(
    rf"(?P<scale>섭씨|화씨|摂氏|華氏|华氏|摄氏|攝氏)(?:로는|なら|温度)?[ ]?(?P<number>{_SIGN}{_NUM})[ ]?(?:도|度)"
    rf"|(?P<spoon>大さじ|小さじ)(?P<spoons>(?:\d{{1,2}}/\d{{1,2}}|{_NUM}))(?:杯)?"
)


def _quantity_source(*, ascii_only: bool) -> str:
    unit = unit_pattern(ascii_only=ascii_only)
    return (
        rf"(?=[-+.\dm零負负영マ氷])(?=[-+]?\.?\d|minus|[零負负영マ氷])"
        # A range has a second number close behind the first.
        rf"(?:(?=[^\d]{{0,9}}[\d.,]{{1,52}}[^\d]{{1,40}}{_RANGE_END}\d)(?P<first>{_SIGN}{_NUM})[ -]?(?P<first_unit>{unit})?{_TO})?"
        rf"(?P<number>{_SIGN}{_NUM})[ -]{{0,2}}(?:more |additional |full |whole |consecutive )?(?P<unit>{unit})(?:(?<=[块塊元圓])(?P<rest>\d(?!\d|[.,]\d|[个個年月天日次])))?"
    )


def _money_source(*, ascii_only: bool) -> str:
    unit, sign = unit_pattern(ascii_only=ascii_only), sign_pattern(ascii_only=ascii_only)
    return (
        rf"(?=[-+{first_signs()}])(?P<minus>[-+])?(?P<sign>{sign})[ ]?(?P<number>{_NUM})(?P<scale>[ ]?(?:million|m|bn|b|k|thousand|mn)(?![a-z]))?"
        rf"(?:{_TO}(?P<last>{_NUM})(?!\d|[ ]?(?:{unit})))?(?:[ ](?P<code>usd|cad|aud|twd|hkd|sgd))?"
    )


# Of a text in ASCII alone, the short patterns find the same.
_QUANTITY = (
    StartPattern(_NUMBER_START, lambda: _quantity_source(ascii_only=False)),
    StartPattern(_ASCII_NUMBER_START, lambda: _quantity_source(ascii_only=True)),
)
_MONEY = (LazyPattern(lambda: _money_source(ascii_only=False)), LazyPattern(lambda: _money_source(ascii_only=True)))


_SCALES = {"million": 1e6, "m": 1e6, "mn": 1e6, "bn": 1e9, "b": 1e9, "k": 1e3, "thousand": 1e3}
_DOLLARS = ("USD", "TWD", "HKD", "CAD", "AUD", "SGD")
_SHARED = {"$": _DOLLARS, "dollar": _DOLLARS, "dollars": _DOLLARS, "¥": ("JPY", "CNY"), "元": ("CNY", "TWD", "HKD"),
           "块": ("CNY",), "塊": ("TWD", "CNY"), "圓": ("TWD", "JPY"), "圆": ("CNY", "JPY"), "塊錢": ("TWD", "CNY"),
           "달러": _DOLLARS, "ドル": _DOLLARS, "毛": ("CNY", "TWD"), "角": ("CNY", "TWD")}  # fmt: skip


@remember_short
def read_facts(text: str) -> tuple[Fact, ...]:
    """Return the facts of a text in their order, with their offsets in the text.

    The time is linear in the length of the text. Facts with a bound, such as "at most 5", have it in `bound`.
    """
    whole = canonicalise(text)
    # A text is asked for the cues that are known by now.
    unit_cue()
    sign_cue()
    work = Claims(whole.text)
    _take_facts(work)
    if len(work.facts) > 1:
        work.facts.sort(key=_START)
    bits = work.cue_bits
    may_be_bound, may_lead = bool(not work.cues.ascii or bits & BOUNDS_CUE), bool(bits & LEADING_CUE)
    placed = [_place_in_original(fact, whole, text, may_be_bound, may_lead) for fact in work.facts]
    return tuple([fact for fact in placed if fact.kind != "date" or not is_person(fact, text)])


_START = attrgetter("start")


def _place_in_original(fact: Fact, whole: Canonical, original: str, may_be_bound: bool, may_lead: bool) -> Fact:
    """Return a fact of a canonical text with its bound and its place in the original text."""
    kind, readings, first, last, bound, about, weak = fact
    text = whole.text
    start, end = whole.span(first, last)
    if original[end - 1 : end] in _ENDS:
        end = start + len(original[start:end].rstrip("*`_ "))
    if may_be_bound and kind not in _WITHOUT_BOUND:
        bound, about = bound_at(text, first, last, calendar=kind in _CALENDAR, may_lead=may_lead)
    if kind == "number":
        # "One" and 一 are often no number: "the one", 没有一个.
        weak = weak or (
            text[first:last] == "1"
            and not original[start:end].strip().isdigit()
            and not _SCORE.search(text, max(0, first - 2), last + 2)
        )
        if len(readings) > 1 and original[start : start + 1].isalpha() and _ORDINAL.fullmatch(text, first, last):
            # "First" is no day of a month, unlike "the 1st".
            readings = readings[:1]
    elif kind == "quantity" and original[start + 1 : end] == "G" and original[start] in _GENERATIONS:
        return Fact("code", (Reading("code", f"{original[start]}g"), *readings), start, end)
    if start == first and end == last and not bound and not about and weak is fact[6] and readings is fact[1]:
        return fact
    return new_fact((kind, readings, start, end, bound, about, weak))


_GENERATIONS = frozenset("23456")
"""5G is a generation of mobile networks, and 5 g are grams."""
_SCORE = LazyPattern(r"\d-1|1-\d")
_CALENDAR = frozenset({"date", "time"})
_ENDS = frozenset("*`_ ")
_WITHOUT_BOUND = frozenset({"code", "weekday", "day", "period"})


def _take_facts(work: Claims) -> None:
    """Take the facts of a canonical text, with their offsets in it."""
    text = work.text
    take_days(work)
    if not work.cues.signs.isdisjoint("@/") or "www." in text:
        work.take(ADDRESSES, find_code)
    has_numbers = work.near_digits()
    # Near digits, periods are taken before the other numbers.
    is_near = work.windows is not None
    if has_numbers:
        _take_numbers(work, text)
    take_names(work)
    if is_near or not has_numbers:
        work.take(PERIODS, find_periods, PERIODS_CUE)


_HYPHEN = cue("", "-")
_BRACKET, _SLASH = cue("", "["), cue("", "/")
_MARK = LazyPattern(r"[0-9][.)][ \t]")
_DEGREES_CUE = cue("", "섭화摂華华摄攝大小")
_RARE_CUE = _BRACKET | VERSES_CUE | _SLASH | FEET_CUE | _DEGREES_CUE | _HYPHEN | DECADES_CUE
_PERCENT_CUE = cue("percent per", "%‰퍼프パ포趴")
_ORDINAL_CUE = cue("st nd rd th", "第제")


def _take_numbers(work: Claims, text: str) -> None:
    """Take the facts that hold a digit, those with the clearest form first."""
    cues = work.cues
    marked = bool(_MARK.search(text))
    if marked or "step" in cues.words:
        work.drop(_LIST_MARK)
    if marked and _INLINE_LIST.search(text):
        work.drop(_INLINE_MARK)
    if work.cue_bits & _RARE_CUE:
        work.drop(_FOOTNOTE, _BRACKET)
        if ":" in text:
            work.take_many(VERSES, find_verses, VERSES_CUE)
        work.take_many(_FRACTION, _fractions, _SLASH)
        work.take_many(FEET_AND_INCHES, find_feet_and_inches, FEET_CUE)
        work.take_many(_TEMPERATURE, _temperatures, _DEGREES_CUE)
        work.take_many(YEAR_RANGES, find_year_ranges, _HYPHEN)
        work.take(DECADES, find_decades, DECADES_CUE)
    if work.cue_bits & VERSIONS_CUE or MAY_BE_CODE.search(text):
        work.take(CODES, find_code)
    take_dates(work)
    work.take(PERIODS, find_periods, PERIODS_CUE)
    _take_values(work, text)
    work.windows = None


def _take_values(work: Claims, text: str) -> None:
    """Take the amounts, percentages, quantities and other numbers. When no digit is left, no pattern is tried."""
    cues = work.cues
    if work.has_digits:
        work.take_many(_MONEY[cues.ascii], _amounts, sign_cue())
    if work.has_digits:
        work.take_many(_PERCENT, _percents, _PERCENT_CUE)
        work.take_many(OUT_OF, find_shares, OUT_OF_CUE)
    if work.has_digits:
        work.take_many(_QUANTITY[cues.ascii], _quantities, unit_cue())
    if len(work.facts) > 1:
        join_compounds(work, text)
    if work.has_digits:
        work.take(_ORDINAL, _ordinal, _ORDINAL_CUE)
        work.take(_PLAIN, _plain_number)


_SPLIT_DECIMAL = LazyPattern(r"(?<![\d.,])(\d{1,4})\. $")
_NOT_DIGITS = LazyPattern(r"[^\d.]")
_MINUS = LazyPattern(r"-|minus|零下|負|负|영하|マイナス|氷点下")
_MOST_DIGITS = 15
_YEAR = LazyPattern(r"(?:1[5-9]|20|21)\d\d")


def _measure(number: str, unit: Unit | None = None, scale: float = 1.0) -> Reading:
    if number.isdecimal():
        value, step = float(number) * scale, scale
    else:
        digits = _NOT_DIGITS.sub("", number)
        value = float(digits) * scale * (-1 if _MINUS.match(number) else 1)
        _, _, places = digits.partition(".")
        step = 10.0 ** -len(places) * scale
    if unit is None:
        return new_reading((NUMBER, value, value, step))
    return new_reading((unit.dimension, value * unit.factor, value, step * unit.factor))


def _unit_readings(number: str, name: str, scale: float = 1.0) -> tuple[Reading, ...]:
    name = name.replace("-", " ")
    readings: list[Reading] = []
    currency = currency_names().get(name)
    if currency:
        codes = _SHARED.get(name) or (currency.dimension.removeprefix(CURRENCY),)
        measure = _measure(number, currency, scale)
        readings = [new_reading((CURRENCY + code, *measure[1:])) for code in codes]
    unit = unit_names().get(name)
    if unit:
        readings.append(_measure(number, unit, scale))
    if name in {"年", "년"} and len(number) == 2 and number.isdigit():
        readings.append(Reading("date", (2000 + int(number), None, None)))
    if name == "일" and number.isdigit() and 1 <= int(number) <= 31:
        readings.append(Reading("date", (None, None, int(number))))
    return tuple(readings)


def _fractions(match: re.Match[str]) -> list[Fact]:
    below = int(match["below"])
    if not below:
        return []
    value = int(match["whole"] or 0) + int(match["above"]) / below
    readings = _unit_readings(f"{value:.12f}", match["unit"])
    return [_fact(readings, match.start(), match.end())]


def _temperatures(match: re.Match[str]) -> list[Fact]:
    if match["spoon"]:
        above, _, below = match["spoons"].partition("/")
        number = f"{int(above) / int(below):.12f}" if below and int(below) else above
        return [_fact(_unit_readings(number, match["spoon"]), match.start(), match.end())]
    name = "°f" if match["scale"] in {"화씨", "華氏", "华氏"} else "°c"
    return [_fact(_unit_readings(match["number"], name), match.start(), match.end())]


def _amounts(match: re.Match[str]) -> list[Fact]:
    get = match.group
    name = get("sign")
    if get("code"):
        name = get("code")
    scale = _SCALES[get("scale").strip()] if get("scale") else 1.0
    minus = get("minus") if get("minus") == "-" else ""
    kind: Kind = "amount"
    end = match.end("last") if get("last") else match.end()
    first = Fact(
        kind,
        _unit_readings(minus + get("number"), name, scale),
        match.start(),
        match.end("number") if get("last") else end,
    )
    if not get("last"):
        return [first]
    return [first, Fact(kind, _unit_readings(get("last"), name, scale), match.start("last"), match.end("last"))]


def _percents(match: re.Match[str]) -> list[Fact]:
    numbers = [name for name in ("from", "number") if match.group(name)]
    mille = match[0].endswith(("‰", "mille"))
    percent = Unit("%", "percent", 0.1 if mille else 1.0)
    off = _OFF.match(match.string, match.end())
    return [
        Fact(
            "percent",
            _with_complement(_measure(match[name], percent)) if off else (_measure(match[name], percent),),
            match.start(name),
            match.end() if name == "number" else match.end(name),
        )
        for name in numbers
    ]


def _with_complement(share: Reading) -> tuple[Reading, ...]:
    """Return the readings of a discount: "20 % off" and "for 80 % of the price" are one fact."""
    rest = 100.0 - float(share.as_written)
    return (share, Reading("percent", rest, rest, share.step))


def _quantities(match: re.Match[str]) -> list[Fact]:
    get = match.group
    readings = _unit_readings(get("number"), get("unit"))
    rest = get("rest")
    if rest and get("unit") in {"块", "塊", "元"}:
        readings = _unit_readings(f"{get('number')}.{rest}", get("unit"))
    elif whole := _find_whole_part(match):
        readings += _unit_readings(f"{whole}.{get('number')}", get("unit"))
    facts: list[Fact] = []
    if get("first"):
        name = get("first_unit") or get("unit")
        facts.append(
            _fact(
                _unit_readings(get("first"), name),
                match.start("first"),
                match.end("first_unit" if get("first_unit") else "first"),
            )
        )
    end = match.end() if rest else match.end("unit")
    facts.append(_fact(readings, match.start("number"), end))
    return facts


def _find_whole_part(match: re.Match[str]) -> str:
    """Return the whole part of a decimal that lost its form in a copied page, as in "224. 7 days"."""
    start = match.start("number")
    if not match.string.startswith(". ", start - 2) or not match["number"].isdecimal():
        return ""
    whole = _SPLIT_DECIMAL.search(match.string, max(0, start - 8), start)
    return whole[1] if whole else ""


def _fact(readings: tuple[Reading, ...], start: int, end: int) -> Fact:
    first = readings[0].dimension
    return new_fact(("amount" if first.startswith(CURRENCY) else "quantity", readings, start, end, "", False, False))


def _ordinal(match: re.Match[str]) -> tuple[Kind, tuple[Reading, ...]] | None:
    value = int(match[1] or match[2] or match[3])
    readings = [Reading(NUMBER, float(value), float(value), 1.0)]
    if 1 <= value <= 31 and match[1]:
        readings.append(Reading("date", (None, None, value)))
    return ("number", tuple(readings))


def _plain_number(match: re.Match[str]) -> tuple[Kind, tuple[Reading, ...]]:
    if len(match["number"]) > _MOST_DIGITS:
        digits = _NOT_DIGITS.sub("", match["number"])
        if digits.isdecimal() and len(digits) > _MOST_DIGITS:
            # As a number, it would lose its last digits.
            return ("code", (Reading("code", f"-{digits}" if _MINUS.match(match["number"]) else digits),))
    number = _measure(match["number"])
    readings = [number]
    if whole := _find_whole_part(match):
        readings.append(_measure(f"{whole}.{match['number']}"))
    if _YEAR.fullmatch(match["number"]):
        readings.append(Reading("date", (int(match["number"]), None, None)))
    return ("number", tuple(readings))
