"""Evidence of facts: the texts that an agent received, and what follows from them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar

from fairtrial.text.facts.calculations import MOST_IN_SHORT, Calculations, SortedNumbers, find_spans
from fairtrial.text.facts.decades import YEARS
from fairtrial.text.facts.fact import NUMBER, Fact, Reading
from fairtrial.text.facts.fact_equality import MONTH_SECONDS, MOST_APART, TEMPERATURES, equal_facts
from fairtrial.text.facts.fact_reading import read_facts
from fairtrial.text.facts.json_evidence import Value, decode, list_values, quantities
from fairtrial.text.facts.names import places_in
from fairtrial.text.lazy_pattern import LazyPattern

_FEWEST_DIGITS = 4
_REACH = 60
_GAP = r"[ \t*_`\"'“‘「(:：#-]*"
_CARRIERS = LazyPattern("cards?|visa|mastercard|amex|account|phone|iban|certificate|voucher|number|id|code")
_LAST_BEFORE = LazyPattern(
    rf"(?i)(?:\b(?P<noun>[a-z]+)(?: that| which)?,? \(?end(?:s|ing)? (?:in|with)|\blast (?:four|4) digits(?:,| are| is| of)?"
    rf"|(?:끝자리|뒷자리|뒤 ?[4네] ?자리)[가는은]?|下[0-9]桁[がはの]?|末尾[がはの]?|尾[号號][为為是]?|末[四4][位码碼]?数?[为為是]?){_GAP}$"
)
_LAST_AFTER = LazyPattern(rf"(?i){_GAP}(?:\)? ?(?:are|as|is) the last (?:four|4) digits|(?:으|번으)?로 끝나)")
_NAMED_BEFORE = LazyPattern(
    rf"(?i)(?:\b(?:number|nr|id|code)(?: is| was)?|\bno\.|#|№|(?:번호|番号|号码|號碼|编号|編號)[는은가がは为為是]?){_GAP}$"
)
_WORDS_BEFORE = LazyPattern(rf"(?i)((?:[a-z]+[ _-]){{0,3}}[a-z]+){_GAP}$")
_LAST_ONES = LazyPattern(r"(?i)(?:\b(?:last|final)|下|末|后|後|最后|最後)[ ]?$")
_LAST_OF_KOREAN = LazyPattern("(?:번호|카드|계좌|전화)의? ?맨? ?[뒤끝] ?$")
_COUNTED = LazyPattern(
    r"(?i)[ -](?:times|people|persons|guests|passengers|customers|users|seats|tickets|copies|items|units|pieces|points|miles"
    r"|orders|bookings|vouchers|certificates|of (?:them|these|those))\b|[ ]?(?:명|개|장|매|회(?!원)|人|枚|個|个|回|次|张|張|份|位)"
)
"""Things that a number counts: the 2024 of "a ticket 2024 times" is no number of a ticket."""
_OF_DIGITS = LazyPattern(r"(?i)[ -]?(?:digits?\b|桁|(?P<korean>자리)|位[數数])")
_KOREAN_DIGITS = LazyPattern(r"자리[는가은]?:? ?\d{3,}")
_AIRPORT = LazyPattern(r"(?<![A-Za-z])[A-Z]{3}(?![A-Za-z])")


class Support(NamedTuple):
    """Why a fact holds: the name of the text that says so, or a calculation. Both are empty if nothing supports it."""

    source: str = ""
    calculation: str = ""

    def __bool__(self) -> bool:
        return bool(self.source or self.calculation)


class _TextFacts(NamedTuple):
    """The content of a text: its facts, the values that follow from its lists, and its places."""

    facts: tuple[Fact, ...]
    list_values: tuple[Value, ...]
    places: frozenset[int]
    names_airports: bool


class EvidenceTexts:
    """Reads each text of a conversation once, also if it is evidence of several replies."""

    def __init__(self, read: Callable[[str], Sequence[Fact]] = read_facts) -> None:
        self._read = read
        self._facts_by_text: dict[str, _TextFacts] = {}

    def __call__(self, texts: Mapping[str, str]) -> Evidence:
        """Return the evidence of texts by name, such as the user's messages and the results of tools."""
        return Evidence({name: self._read_text(text) for name, text in texts.items()})

    def _read_text(self, text: str) -> _TextFacts:
        if text not in self._facts_by_text:
            content = decode(text)
            facts = [*self._read(text)]
            if content is not None:
                facts += [fact for quantity in quantities(content) for fact in self._read(quantity)]
            places = frozenset(place for _, _, place in places_in(text))
            self._facts_by_text[text] = _TextFacts(
                tuple(dict.fromkeys(facts)), tuple(list_values(content)), places, bool(_AIRPORT.search(text))
            )
        return self._facts_by_text[text]


_FINE = MOST_APART
"""The last digit of a number is fine if it is at most this share of the number."""
_WIDE = MOST_APART / (1 - MOST_APART) * (1 + 1e-6)
"""The share of a number by which an equal number may be larger."""
_EXACT = 1e-9
_Key = TypeVar("_Key", bound=Hashable)


class Candidates:
    """Facts, of which few are candidates of equality with another fact.

    Two numbers are equal only if their values, or their numbers as they are written, are near each other. Sorted lists
    give these in logarithmic time. Numbers of few digits, such as 5, are compared with each: few of them differ.
    """

    def __init__(self, facts: Sequence[Fact]) -> None:
        self._readings = [(place, reading) for place, fact in enumerate(facts) for reading in fact.readings]

    def find(self, fact: Fact) -> list[int]:
        """Return the places of the facts that may equal a fact, in their order."""
        return sorted({place for reading in fact.readings for place in self._find(reading)})

    def find_written(self, fact: Fact) -> Sequence[int]:
        """Return the places of the facts whose first reading has the dimension and the number of a fact as written."""
        first = fact.readings[0]
        return self._written_in_dimension.get((first.dimension, first.as_written), ())

    def _find(self, reading: Reading) -> Iterator[int]:
        value = reading.value
        if isinstance(value, str):
            yield from self._texts.get(value, ())
            return
        if isinstance(value, tuple):
            yield from self._find_calendar(reading.dimension, value)
            return
        dimension = reading.dimension
        yield from self._coarse.get(dimension, ())
        yield from self._near(dimension, value, max(_WIDE * abs(value), reading.step * (1 + 1e-6)))
        yield from self._written.find_near(reading.as_written, _EXACT * abs(reading.as_written))
        if dimension == NUMBER:
            yield from self._near("percent", 100 * value, _EXACT * 1000)
            if value in _HOURS:
                yield from self._calendar.get("clock", ())
        elif dimension == "percent":
            yield from self._near(NUMBER, value / 100, _EXACT * 1000)
        elif dimension in TEMPERATURES:
            for scale in TEMPERATURES:
                yield from self._yield_all(scale)
        for dimensions, factor in _FACTORS:
            if dimensions[0] == dimension:
                yield from self._near(dimensions[1], value * factor, _EXACT * abs(value * factor) + _EXACT)
                yield from self._coarse.get(dimensions[1], ())

    def _find_calendar(self, dimension: str, value: tuple[int | None, ...]) -> Iterator[int]:
        if dimension == "date" and len(value) == 3 and value[1] is not None and value[2] is not None:
            yield from self._days.get(value[1:], ())
            yield from self._days.get((), ())
        else:
            yield from self._calendar.get(dimension, ())
        if dimension == YEARS:
            yield from self._calendar.get("date", ())
        elif dimension == "clock":
            for hour in _HOURS:
                yield from self._near(NUMBER, float(hour), 0.0)
                yield from self._coarse.get(NUMBER, ())

    def _near(self, dimension: str, value: float, apart: float) -> Iterator[int]:
        numbers = self._fine.get(dimension)
        return numbers.find_near(value, apart) if numbers else iter(())

    def _yield_all(self, dimension: str) -> Iterator[int]:
        yield from self._coarse.get(dimension, ())
        yield from self._near(dimension, 0.0, float("inf"))

    @cached_property
    def _texts(self) -> dict[str, list[int]]:
        return _group((reading.value, place) for place, reading in self._readings if isinstance(reading.value, str))

    @cached_property
    def _calendar(self) -> dict[str, list[int]]:
        return _group((item.dimension, place) for place, item in self._readings if isinstance(item.value, tuple))

    @cached_property
    def _days(self) -> dict[tuple[int | None, ...], list[int]]:
        """The places of dates by their month and day. Those without one of both stand below an empty key."""
        return _group(
            (item.value[1:] if None not in item.value[1:] else (), place)
            for place, item in self._readings
            if item.dimension == "date" and isinstance(item.value, tuple)
        )

    @cached_property
    def _coarse(self) -> dict[str, list[int]]:
        return _group((item.dimension, place) for place, item in self._readings if _is_coarse(item))

    @cached_property
    def _fine(self) -> dict[str, SortedNumbers]:
        numbers: dict[str, list[tuple[float, int]]] = defaultdict(list)
        for place, item in self._readings:
            if isinstance(item.value, (int, float)) and not _is_coarse(item):
                numbers[item.dimension].append((float(item.value), place))
        return {dimension: SortedNumbers(pairs) for dimension, pairs in numbers.items()}

    @cached_property
    def _written(self) -> SortedNumbers:
        return SortedNumbers(
            (item.as_written, place) for place, item in self._readings if isinstance(item.value, (int, float))
        )

    @cached_property
    def _written_in_dimension(self) -> dict[tuple[str, float], list[int]]:
        firsts: dict[int, Reading] = {}
        for place, item in self._readings:
            firsts.setdefault(place, item)
        return _group(((item.dimension, item.as_written), place) for place, item in firsts.items())


_HOURS = frozenset(range(25))
_FACTORS = (
    (("time", "month"), 1 / MONTH_SECONDS), (("month", "time"), MONTH_SECONDS),
    (("month", "age"), 1 / 12), (("age", "month"), 12.0),
)  # fmt: skip
"""The values of a dimension that equal those of another one, apart from numbers that are equal as they are written."""


def _is_coarse(reading: Reading) -> bool:
    value = reading.value
    return isinstance(value, (int, float)) and reading.step > _FINE * abs(value)


def _group(pairs: Iterable[tuple[_Key, int]]) -> dict[_Key, list[int]]:
    groups: dict[_Key, list[int]] = defaultdict(list)
    for key, place in pairs:
        groups[key].append(place)
    return dict(groups)


@dataclass(frozen=True)
class Evidence:
    """Texts by name, and the facts that follow from them."""

    texts: Mapping[str, _TextFacts]

    @cached_property
    def facts(self) -> tuple[tuple[str, Fact], ...]:
        """The facts that the texts state, with the names of their texts."""
        return tuple((name, fact) for name, content in self.texts.items() for fact in content.facts)

    @cached_property
    def _distinct(self) -> tuple[tuple[str, Fact], ...]:
        """The facts that differ in more than their place, each with the name of the first text that states it."""
        firsts: dict[object, tuple[str, Fact]] = {}
        for name, fact in self.facts:
            firsts.setdefault((fact.kind, fact.readings, fact.about), (name, fact))
        return tuple(firsts.values())

    @cached_property
    def _candidates(self) -> Candidates:
        return Candidates([fact for _, fact in self._distinct])

    @cached_property
    def _codes(self) -> dict[str, list[tuple[str, str]]]:
        """The codes by their last digits, each with the name of its text."""
        codes: dict[str, list[tuple[str, str]]] = {}
        for name, evidence in self.facts:
            value = evidence.readings[0].value
            if evidence.kind == "code" and isinstance(value, str):
                codes.setdefault(value[-_FEWEST_DIGITS:], []).append((name, value))
        return codes

    def supports(self, fact: Fact) -> str:
        """Return the name of a text that states a fact, or an empty text."""
        distinct = self._distinct
        other_unit = any(
            _same_number_other_unit(fact, distinct[place][1]) for place in self._candidates.find_written(fact)
        )
        for place in self._candidates.find(fact):
            name, evidence = distinct[place]
            if equal_facts(fact, evidence) and not (other_unit and evidence.readings[0].dimension == NUMBER):
                return name
        return ""

    def find_support(
        self, reply: str, facts: Sequence[Fact], reply_facts: Sequence[Fact], *, computed: bool = True
    ) -> list[Support]:
        """Return the support of each of the facts of a reply: a text that states it, or a calculation.

        `reply_facts` are all facts of the reply, of which the small numbers count things: "two tickets cost $284".
        The operands of a calculation are facts of the reply that the texts state, and facts of the user's messages.
        """
        stated = [self.supports(fact) or self._find_identifier(fact, reply) for fact in facts]
        if not computed or all(stated):
            return [Support(name) for name in stated]
        by_user = [fact for name, fact in self.facts if name.startswith("user")]
        named = [fact for fact, name in zip(facts, stated, strict=True) if name]
        calculations = Calculations(
            [fact for _, fact in self.facts],
            [value for content in self.texts.values() for value in content.list_values],
            [span for content in self.texts.values() for span in find_spans(content.facts)],
            [*named, *reversed(by_user)],
            [values for content in self.texts.values() if (values := _select_short(content.facts))],
            reply,
            reply_facts,
        )
        return [
            Support(name) if name else Support(calculation=calculations.explain(fact))
            for fact, name in zip(facts, stated, strict=True)
        ]

    def _find_identifier(self, fact: Fact, reply: str) -> str:
        """Return the name of a text with an identifier that ends in the digits of a fact, or an empty text.

        They are all of its digits behind its name, as in "certificate 7504069" or "number 7504069" for
        `certificate_7504069`, or the reply says that they are the last ones: "the card ending in 4069". The 2024 of
        "2024 seats" is not that of `ticket_2024`.
        """
        digits = reply[fact.start : fact.end].strip("# ")
        if fact.kind not in {"code", "number"} or len(digits) < _FEWEST_DIGITS or not digits.isdecimal():
            return ""
        if _COUNTED.match(reply, fact.end):
            return ""
        words = _read_words_before(fact, reply)
        for name, value in self._codes.get(digits[-_FEWEST_DIGITS:], ()):
            if value.endswith(digits):
                prefix = value[: -len(digits)]
                is_whole = bool(prefix) and not any(sign.isdigit() for sign in prefix)
                if _are_last(fact, reply, prefix) or (is_whole and (words is None or words.endswith(prefix))):
                    return name
        return ""

    def foreign_places(self, reply: str) -> list[tuple[int, int]]:
        """Return the cities and countries of a reply that no text names, with their offsets.

        If the texts name no place, or name airports by three letters, the list is empty.
        """
        places = frozenset[int]().union(*(content.places for content in self.texts.values()))
        if not places or any(content.names_airports for content in self.texts.values()):
            return []
        return [(start, end) for start, end, place in places_in(reply) if place not in places]


def _select_short(facts: Sequence[Fact]) -> Sequence[Fact]:
    """Return the values of a text, or none if it has many."""
    values = [fact for fact in facts if isinstance(fact.readings[0].value, (int, float))]
    return values if 1 < len(values) <= MOST_IN_SHORT else ()


def _same_number_other_unit(fact: Fact, evidence: Fact) -> bool:
    """Return whether two facts have the same number with two units of one dimension, as 250 g and 250 mg."""
    former, latter = fact.readings[0], evidence.readings[0]
    same = former.dimension == latter.dimension != NUMBER and former.as_written == latter.as_written
    return same and not equal_facts(fact, evidence)


def _read_words_before(fact: Fact, reply: str) -> str | None:
    """Return the letters of the words directly before a fact, or None if they announce any identifier: "number"."""
    before = reply[max(0, fact.start - _REACH) : fact.start]
    if reply[fact.start] == "#" or _NAMED_BEFORE.search(before):
        return None
    match = _WORDS_BEFORE.search(before)
    return "".join(sign for sign in match[1].casefold() if sign.isalpha()) if match else ""


def _are_last(fact: Fact, reply: str, prefix: str) -> bool:
    """Return whether a reply says that a fact is the last digits of an identifier: "ends in" may also name a year."""
    match = _LAST_BEFORE.search(reply[max(0, fact.start - _REACH) : fact.start])
    if match and match["noun"]:
        noun = match["noun"].casefold()
        return bool(_CARRIERS.fullmatch(noun)) or prefix.startswith(noun)
    return bool(match or _LAST_AFTER.match(reply, fact.end))


def _is_number_of_digits(reply: str, fact: Fact) -> bool:
    """Return whether a fact says how many of the last digits are meant: "the last 4 digits", unlike "50 digits".

    The Korean word is also that of seats, so that a number or a card precedes, or the digits follow.
    """
    match = _OF_DIGITS.match(reply, fact.end)
    before = reply[max(0, fact.start - _REACH) : fact.start]
    if match and match["korean"]:
        is_of_digits = _KOREAN_DIGITS.match(reply, match.start("korean")) and before.rstrip()[-1:] in {"뒤", "끝"}
        return bool(is_of_digits or _LAST_OF_KOREAN.search(before))
    return bool(match and _LAST_ONES.search(before))


def find_checkable(reply: str, facts: Iterable[Fact]) -> Sequence[Fact]:
    """Return the facts that a reply has to take from somewhere.

    Weak facts, relative days and periods, the number of last digits, and the English words for 0, 1 and 2 without a unit are no
    such facts.
    """
    return [
        fact for fact in facts if not fact.weak and fact.kind not in {"day", "period"} and not _is_prose(reply, fact)
    ]


def _is_prose(reply: str, fact: Fact) -> bool:
    text = reply[fact.start : fact.end]
    value = fact.readings[0].value
    in_words = not any(sign.isdigit() for sign in text)
    if fact.kind in {"number", "quantity"} and _is_number_of_digits(reply, fact):
        return True
    if fact.kind == "number" and isinstance(value, (int, float)):
        return in_words and text.isascii() and value in {0.0, 1.0, 2.0}
    return in_words and fact.kind == "quantity" and fact.readings[0].as_written == 1.0
