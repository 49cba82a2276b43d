"""Agreement of facts: which facts of a reference a reply states, which it misses and which it contradicts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from fairtrial.text.facts.derivations import find_sources
from fairtrial.text.facts.fact import KINDS, NUMBER, Fact, Kind
from fairtrial.text.facts.fact_equality import equal_facts
from fairtrial.text.facts.fact_reading import read_facts
from fairtrial.text.facts.finding import Agreement, Finding, new_finding
from fairtrial.text.facts.names import exchanged_names, replaced_names
from fairtrial.text.facts.own_units import with_own_units
from fairtrial.text.facts.polarity import Opposition, compare_polarity, is_negative
from fairtrial.text.facts.promises import Promise, find_promises
from fairtrial.text.facts.questions import soften_details
from fairtrial.text.facts.vagueness import IN_RANGE, find_vaguer, soften_ranges
from fairtrial.text.facts.word_facts import compare_words
from fairtrial.text.lazy_pattern import LazyPattern

if TYPE_CHECKING:
    from fairtrial.text.facts.units import Unit

_UPPER, _LOWER = {"most", "under"}, {"least", "over"}


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the facts of texts: of some kinds, with dates in one order, and without the facts inside some words.

    `units` are more units by their names in small letters.
    """

    kinds: frozenset[Kind] = frozenset(KINDS)
    locale: Literal["", "day_first", "month_first"] = ""
    ignore: tuple[str, ...] = ()
    units: Mapping[str, Unit] = field(default_factory=dict)

    def __call__(self, text: str) -> tuple[Fact, ...]:
        """Return the facts of a text."""
        facts = self.read(text)
        return facts if self is _ANY else self.select(facts, text)

    def read(self, text: str) -> tuple[Fact, ...]:
        """Return the facts of every kind."""
        facts = read_facts(text)
        return with_own_units(facts, text, self.units) if self.units else facts

    def select(self, facts: tuple[Fact, ...], text: str) -> tuple[Fact, ...]:
        """Return the facts of a text that are compared, with dates in one order."""
        if len(self.kinds) < len(KINDS):
            facts = tuple(fact for fact in facts if fact.kind in self.kinds)
        if self.locale:
            facts = tuple(_in_order(fact, self.locale) for fact in facts)
        for words in self.ignore:
            spans = [(item.start(), item.end()) for item in re.finditer(re.escape(words), text, re.IGNORECASE)]
            facts = tuple(fact for fact in facts if not any(start <= fact.start < end for start, end in spans))
        return facts


_ANY = Reader()
MOST_CHARACTERS = 200_000
"""The length of the longest text whose facts are compared. The time is linear, about 2 s in the worst text."""
_MOST_PAIRS = 400_000
"""The number of pairs of facts that are compared at most."""


def _in_order(fact: Fact, locale: str) -> Fact:
    """Return a date such as 3/4 with the reading of a locale alone."""
    dates = [reading for reading in fact.readings if reading.dimension == "date"]
    if fact.kind != "date" or len(dates) < 2:
        return fact
    chosen = dates[0] if locale == "month_first" else dates[1]
    return fact._replace(readings=(chosen, *(item for item in fact.readings if item not in dates)))


def compare_facts(
    reference: str,
    reply: str,
    *,
    tolerance: float = 0.0,
    reader: Reader = _ANY,
    polarity: bool = True,
    names: Sequence[frozenset[str]] = (),
    question: str = "",
) -> Agreement:
    """Compare a reply with its reference.

    A fact of the reference is found if the reply has a fact with an equal reading. It is contradicted if it is not
    found and the reply has a fact of the same dimension that is not in the reference. It is undecided if both texts
    have a date such as 3/4 and 4/3, which are equal in one order of month and day only, or if the reply has a vaguer
    value, such as the year of a date. `tolerance` is relative. `names` are groups of names that exclude one another. A
    promise of the reply is one of `promises` if neither the reference nor the `question` names what it promises.
    """
    longest = max(len(reference), len(reply))
    if longest > MOST_CHARACTERS:
        return Agreement((), (), (), unread=f"a text of {longest:,} characters is longer than {MOST_CHARACTERS:,}")
    expected, actual = map(read_facts if reader is _ANY else reader, (reference, reply))
    if len(expected) * len(actual) > _MOST_PAIRS:
        counts = f"{len(expected):,} facts of the reference and {len(actual):,} of the reply"
        return Agreement((), (), (), unread=f"{counts} are more than {_MOST_PAIRS:,} pairs")
    findings, extra = _findings(expected, actual, tolerance, reference, reply)
    findings = tuple(
        soften_details(compare_words(findings, reference, reply, reader.kinds, question), reference, reply, question)
    )
    promises = tuple(_find_invented(reply, reference, question, findings)) if "promise" in reader.kinds else ()
    if not polarity:
        return Agreement(findings, (), extra, promises=promises)
    oppositions, agreed = find_oppositions(reference, reply, findings, names)
    return Agreement(findings, oppositions, extra, agreed, promises=promises)


def _find_invented(reply: str, reference: str, question: str, findings: Sequence[Finding]) -> list[Promise]:
    """Return the promises of a reply, apart from a fee whose amount contradicts another already."""
    promises = find_promises(reply, (reference, question), prices=True)
    if not promises:
        return promises
    places = [item.counterpart.start for item in findings if item.state == "contradicted" and item.counterpart]
    return [
        item for item in promises if item.topic != "fee" or not any(item.start <= place < item.end for place in places)
    ]


def find_oppositions(
    reference: str, reply: str, findings: Sequence[Finding], names: Sequence[frozenset[str]] = ()
) -> tuple[tuple[Opposition, ...], bool]:
    """Return the clauses and the names that a reply turns round, and whether a clause of both agrees.

    `findings` are the facts of the reference; if it has any, whether a clause agrees may remain unknown. Clauses that
    say one limit from both sides are not opposed.
    """
    clauses = compare_polarity(reference, reply, repeats=not findings)
    certain = frozenset[str]().union(*names) if names else frozenset[str]()
    hits = replaced_names(reference, reply, certain) or exchanged_names(reference, reply, names)
    opposed = tuple(item for item in clauses.oppositions if not _is_complement(item, findings))
    return opposed + tuple(Opposition("name", *item) for item in hits), clauses.agreed


def _is_complement(item: Opposition, findings: Sequence[Finding]) -> bool:
    """Return whether two clauses say one limit from both sides: nobody under 18, and everybody from 18 on."""
    return item.name == "negation" and any(
        finding.counterpart is not None
        and item.start <= finding.fact.start < item.end
        and item.other_start <= finding.counterpart.start < item.other_end
        and _opposed_bounds(finding.fact, finding.counterpart)
        for finding in findings
    )


def _findings(
    expected: Sequence[Fact], actual: Sequence[Fact], tolerance: float, reference: str, reply: str
) -> tuple[tuple[Finding, ...], tuple[Fact, ...]]:
    if not expected:
        return (), tuple(actual)
    matches = [
        [place for place, counterpart in enumerate(actual) if equal_facts(fact, counterpart, tolerance)]
        for fact in expected
    ]
    matched = {place for places in matches for place in places}
    extra = [counterpart for place, counterpart in enumerate(actual) if place not in matched]
    assigned = _assign(matches)
    findings: list[Finding] = []
    for place, fact in enumerate(expected):
        if matches[place]:
            counterpart = actual[assigned.get(place, matches[place][0])]
            if fact.kind == "date" and all(_ambiguous(fact, actual[item]) for item in matches[place]):
                findings.append(Finding(fact, "undecided", counterpart, _AMBIGUOUS))
            elif (
                place not in assigned
                and extra
                and not fact.weak
                and (rival := _rival(fact, extra))
                and _same_kind_count(expected, actual, fact)
            ):
                findings.append(Finding(fact, "contradicted", rival))
            elif (
                fact.bound
                and all(_opposed_bounds(fact, actual[item]) for item in matches[place])
                and (is_negative(reference) == is_negative(reply))
            ):
                findings.append(Finding(fact, "contradicted", counterpart, "the other bound"))
            else:
                findings.append(new_finding((fact, "found", counterpart, "")))
            continue
        surplus = extra
        if fact.kind == "day" and _same_kind_count(expected, actual, fact):
            # "Today" became a second "tomorrow".
            surplus = [item for number, item in enumerate(actual) if number not in assigned.values()]
        finding = _find_unmatched(fact, expected, surplus, actual, (reference, reply))
        if finding is not None:
            findings.append(finding)
    if extra or len(findings) > 1:
        findings = soften_ranges(findings, expected, extra, reference)
    findings = _with_swaps(findings, expected, actual, reference, reply)
    return tuple(findings), tuple(extra)


def _find_unmatched(
    fact: Fact, expected: Sequence[Fact], extra: Sequence[Fact], actual: Sequence[Fact], texts: tuple[str, str]
) -> Finding | None:
    """Return the finding of a fact that no fact of the reply equals, or nothing if the fact is weak and has no rival."""
    if fact.kind == "number":
        # The "first" of a reply does not stand for the 4 of a reference.
        is_ordinal = bool(_ORDINAL.search(texts[0][fact.start : fact.end]))
        extra = [
            item
            for item in extra
            if item.kind != "number" or is_ordinal == bool(_ORDINAL.search(texts[1][item.start : item.end]))
        ]
    rival = _rival(fact, extra)
    vaguer = None if fact.weak else find_vaguer(fact, expected, extra, texts)
    if vaguer is not None and (
        rival is None or rival is vaguer[0] or fact.kind in {"date", "number"} or vaguer[1] == IN_RANGE
    ):
        return Finding(fact, "undecided", *vaguer)
    if not fact.weak and (sources := find_sources(fact, extra, actual)):
        first, last = (texts[1][item.start : item.end].strip() for item in sources)
        return Finding(fact, "undecided", sources[0], f"it may follow from {first!r} and {last!r}")
    if rival is not None:
        return Finding(fact, "contradicted", rival)
    day = next((item for item in extra if _needs_today(fact, item) or _needs_today(item, fact)), None)
    if day is not None:
        return Finding(fact, "undecided", day, "one text says a date and the other a relative day: today is not known")
    return None if fact.weak else Finding(fact, "missing")


_ORDINAL = LazyPattern(r"(?i)(?:\dst|\dnd|\drd|th|first|second|third|^[第제].*|^[qh]\d)$")


def _needs_today(day: Fact, date: Fact) -> bool:
    """Return whether one fact is a relative day, and the other a weekday or a date with its month."""
    if day.readings[0].dimension != "day":
        return False
    value = date.readings[0].value
    return date.kind == "weekday" or (date.kind == "date" and isinstance(value, tuple) and value[1] is not None)


_AMBIGUOUS = "the dates are equal in one order of month and day, and not in the other; the option locale decides"


def _ambiguous(fact: Fact, counterpart: Fact) -> bool:
    """Return whether two dates such as 3/4 and 4/3 are written in different orders, both of which may be meant."""
    if fact.kind != "date" or counterpart.kind != "date":
        return False
    dates = [[item.value for item in both.readings if item.dimension == "date"] for both in (fact, counterpart)]
    return min(map(len, dates)) > 1 and dates[0][0] != dates[1][0]


def _assign(matches: list[list[int]]) -> dict[int, int]:
    """Return for each fact of the reference the fact of the reply that is its own, fewest choices first."""
    if len(matches) == 1:
        return {0: matches[0][0]} if matches[0] else {}
    assigned: dict[int, int] = {}
    assigned_places: set[int] = set()
    for place in sorted(range(len(matches)), key=lambda place: len(matches[place])):
        for counterpart in matches[place]:
            if counterpart not in assigned_places:
                assigned[place] = counterpart
                assigned_places.add(counterpart)
                break
    return assigned


def _same_kind_count(expected: Sequence[Fact], actual: Sequence[Fact], fact: Fact) -> bool:
    """Return whether both texts have the same number of facts of a dimension, so that a repetition was replaced."""
    dimension = fact.readings[0].dimension
    former, latter = (
        sum(any(reading[0] == dimension for reading in item.readings) for item in facts) for facts in (expected, actual)
    )
    return former == latter


def _rival(fact: Fact, extra: Sequence[Fact]) -> Fact | None:
    """Return the fact of the reply that stands in the place of a fact that it does not state, or None.

    A vaguer date ("2010" for "8 September 2010") and a number that rounds to the expected one are no rivals: the reply
    misses the fact, and says nothing else.
    """
    first = fact.readings[0].dimension
    rivals = [counterpart for counterpart in extra if not _is_vaguer(counterpart, fact)]
    for counterpart in rivals:
        if counterpart.readings[0].dimension == first and (first != NUMBER or _shape(counterpart) == _shape(fact)):
            return counterpart
    for counterpart in rivals:
        alike = first != NUMBER and first in counterpart.dimensions and counterpart.kind == fact.kind
        if alike or (counterpart.kind == fact.kind and fact.kind in {"amount", "quantity"}):
            return counterpart
    return None


def _shape(fact: Fact) -> tuple[object, ...]:
    """Return the shape of a number: a year, a day of a month, or a number alone."""
    dates = [item.value for item in fact.readings if isinstance(item.value, tuple) and item.dimension == "date"]
    return tuple(tuple(part is not None for part in value) for value in dates[:1])


def _is_vaguer(counterpart: Fact, fact: Fact) -> bool:
    if equal_facts(counterpart, fact):
        return True
    former, latter = fact.readings[0], counterpart.readings[0]
    a, b = former.value, latter.value
    if former.dimension != latter.dimension or not (isinstance(a, (int, float)) and isinstance(b, (int, float))):
        return False
    return latter.step < former.step and abs(a - b) <= 0.5 * former.step


def _opposed_bounds(fact: Fact, counterpart: Fact) -> bool:
    if fact.bound == counterpart.bound:
        return False
    pair = {fact.bound, counterpart.bound}
    return bool(pair & _UPPER and pair & _LOWER) or pair in ({"least", "over"}, {"most", "under"})


# --- roles

_WORD = LazyPattern(r"[a-z0-9_]+|[\u30a0-\u30ff]+|[\u4e00-\u9fff]|[가-힣]+")
_STOP = frozenset(
    (
        "a i the and for with you your are is was were will be to of in on at it its by an or as from that "
        "this they our we can has have costs cost each per about only plus 的 了 是 在 有 为 為 和 与 與 个 個"
    ).split()
)
_REACH = 28


def _with_swaps(
    findings: list[Finding], expected: Sequence[Fact], actual: Sequence[Fact], reference: str, reply: str
) -> list[Finding]:
    """Mark two facts of one kind as contradicted if the reply gives the value of each to the words of the other."""
    hits = [item for item in findings if item.state == "found" and item.counterpart is not None][:_MOST_ROLES]
    if len(hits) < 2:
        return findings
    around: dict[int, tuple[_Sides, _Sides]] = {}

    def sides(item: Finding) -> tuple[_Sides, _Sides]:
        if id(item) not in around and item.counterpart is not None:
            around[id(item)] = _around(reference, expected, item.fact), _around(reply, actual, item.counterpart)
        return around[id(item)]

    swapped: set[int] = set()
    for place, former in enumerate(hits):
        for latter in hits[place + 1 :]:
            if (
                former.counterpart is latter.counterpart
                or former.fact.readings[0].dimension != latter.fact.readings[0].dimension
                or equal_facts(former.fact, latter.fact)
            ):
                continue
            if _is_swapped(*sides(former), *sides(latter)):
                swapped |= {id(former), id(latter)}
    if not swapped:
        return findings
    return [
        Finding(item.fact, "contradicted", item.counterpart, "the value of another") if id(item) in swapped else item
        for item in findings
    ]


_Sides = tuple[str, str]
"""The text before and behind a fact."""
_MOST_ROLES = 40
"""The number of facts whose roles are compared, so that the time stays linear."""


def _is_swapped(former: _Sides, former_sides: _Sides, latter: _Sides, latter_sides: _Sides) -> bool:
    if former == former_sides and latter == latter_sides:
        return False
    crossed, near, near_latter = False, [*map(_words, former_sides)], [*map(_words, latter_sides)]
    for side in (0, 1):
        words, latter_words = _words(former[side]), _words(latter[side])
        only_former, only_latter = words - latter_words, latter_words - words
        if only_former & (near[0] | near[1]) and only_latter & (near_latter[0] | near_latter[1]):
            return False
        crossed = crossed or bool(only_former & near_latter[side] and only_latter & near[side])
    return crossed


def _around(text: str, facts: Sequence[Fact], fact: Fact) -> _Sides:
    start, end = max(0, fact.start - _REACH), min(len(text), fact.end + _REACH)
    for item in facts:
        if start < item.end <= fact.start:
            start = item.end
        elif fact.end <= item.start < end:
            end = item.start
    return text[start : fact.start], text[fact.end : end]


@lru_cache(maxsize=4096)  # a word beside a number: at most 28 characters each
def _words(text: str) -> frozenset[str]:
    words: set[str] = set()
    for word in _WORD.findall(text.lower()):
        if "가" <= word[0] <= "힣":
            words.add(word[:2])
        elif word not in _STOP:
            words.add(word)
    return frozenset(words)
