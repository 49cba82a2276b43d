"""Agreement of facts: which facts of a reference a reply states, which it misses and which it contradicts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fairtrial.text.facts.equality import equal_facts
from fairtrial.text.facts.fact import KINDS, NUMBER, Fact, Kind
from fairtrial.text.facts.names import replaced_names
from fairtrial.text.facts.polarity import Opposition, compare_polarity, is_negative
from fairtrial.text.facts.reading import read_facts

State = Literal["found", "missing", "contradicted", "undecided"]
"""What a reply does with a fact of its reference."""

_UPPER, _LOWER = {"most", "under"}, {"least", "over"}


@dataclass(frozen=True, slots=True)
class Finding:
    """A fact of the reference, what the reply does with it, and the fact of the reply that states or contradicts it."""

    fact: Fact
    state: State
    other: Fact | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Agreement:
    """What a reply does with each fact of its reference, and the predicates that it turns round."""

    findings: tuple[Finding, ...]
    oppositions: tuple[Opposition, ...]
    extra: tuple[Fact, ...]
    agreed: bool = False
    """Whether the reply repeats a clause of the reference with the same polarity."""

    @property
    def contradicted(self) -> bool:
        """Whether the reply contradicts the reference."""
        return bool(self.oppositions) or any(each.state == "contradicted" for each in self.findings)


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the facts of texts: of some kinds, with dates in one order, and without the facts inside some words."""

    kinds: frozenset[Kind] = frozenset(KINDS)
    locale: Literal["", "day_first", "month_first"] = ""
    ignore: tuple[str, ...] = ()

    def __call__(self, text: str) -> tuple[Fact, ...]:
        """Return the facts of a text."""
        facts = read_facts(text)
        if len(self.kinds) < len(KINDS):
            facts = tuple(fact for fact in facts if fact.kind in self.kinds)
        if self.locale:
            facts = tuple(_in_order(fact, self.locale) for fact in facts)
        for words in self.ignore:
            spans = [(each.start(), each.end()) for each in re.finditer(re.escape(words), text, re.IGNORECASE)]
            facts = tuple(fact for fact in facts if not any(start <= fact.start < end for start, end in spans))
        return facts

    def equal(self, fact: Fact, other: Fact, tolerance: float = 0.0) -> bool:
        """Return whether two facts have an equal reading."""
        return equal_facts(fact, other, tolerance)


_ANY = Reader()


def _in_order(fact: Fact, locale: str) -> Fact:
    """Return a date such as 3/4 with the reading of a locale alone."""
    dates = [reading for reading in fact.readings if reading.dimension == "date"]
    if fact.kind != "date" or len(dates) < 2:
        return fact
    kept = dates[0] if locale == "month_first" else dates[1]
    return replace(fact, readings=(kept, *(each for each in fact.readings if each not in dates)))


def compare_facts(
    reference: str,
    reply: str,
    *,
    tolerance: float = 0.0,
    reader: Reader = _ANY,
    polarity: bool = True,
    names: Iterable[str] = (),
) -> Agreement:
    """Compare a reply with its reference.

    A fact of the reference is found if the reply has a fact with an equal reading. It is contradicted if it is not
    found and the reply has a fact of the same dimension that is not in the reference. It is undecided if both texts
    have a date such as 3/4 and 4/3, which are equal in one order of month and day only. `tolerance` is relative.
    """
    told, said = reader(reference), reader(reply)
    findings, extra = _findings(told, said, tolerance, reference, reply)
    if not polarity:
        return Agreement(findings, (), extra)
    clauses = compare_polarity(reference, reply)
    replaced = tuple(Opposition("name", *each) for each in replaced_names(reference, reply, names))
    return Agreement(findings, clauses.oppositions + replaced, extra, clauses.agreed)


def _findings(
    told: Sequence[Fact], said: Sequence[Fact], tolerance: float, reference: str, reply: str
) -> tuple[tuple[Finding, ...], tuple[Fact, ...]]:
    matches = [[place for place, other in enumerate(said) if equal_facts(fact, other, tolerance)] for fact in told]
    matched = {place for places in matches for place in places}
    extra = [other for place, other in enumerate(said) if place not in matched]
    taken = _assign(matches)
    findings: list[Finding] = []
    same_sense = is_negative(reference) == is_negative(reply)
    for place, fact in enumerate(told):
        if matches[place]:
            other = said[taken.get(place, matches[place][0])]
            if all(_ambiguous(fact, said[each]) for each in matches[place]):
                findings.append(Finding(fact, "undecided", other, _AMBIGUOUS))
            elif (
                place not in taken
                and not fact.weak
                and (rival := _rival(fact, extra))
                and _same_kind_count(told, said, fact)
            ):
                findings.append(Finding(fact, "contradicted", rival))
            elif same_sense and all(_opposed_bounds(fact, said[each]) for each in matches[place]):
                findings.append(Finding(fact, "contradicted", other, "the other bound"))
            else:
                findings.append(Finding(fact, "found", other))
            continue
        rival = _rival(fact, extra)
        if rival is not None:
            findings.append(Finding(fact, "contradicted", rival))
        elif not fact.weak:
            findings.append(Finding(fact, "missing"))
    findings = _with_swaps(findings, told, said, reference, reply)
    return tuple(findings), tuple(extra)


_AMBIGUOUS = "the dates are equal in one order of month and day, and not in the other; the option locale decides"


def _ambiguous(fact: Fact, other: Fact) -> bool:
    """Return whether two dates such as 3/4 and 4/3 are written in different orders, both of which may be meant."""
    dates = [[each.value for each in both.readings if each.dimension == "date"] for both in (fact, other)]
    return fact.kind == other.kind == "date" and min(map(len, dates)) > 1 and dates[0][0] != dates[1][0]


def _assign(matches: list[list[int]]) -> dict[int, int]:
    """Return for each fact of the reference the fact of the reply that is its own, fewest choices first."""
    taken: dict[int, int] = {}
    used: set[int] = set()
    for place in sorted(range(len(matches)), key=lambda place: len(matches[place])):
        for other in matches[place]:
            if other not in used:
                taken[place] = other
                used.add(other)
                break
    return taken


def _same_kind_count(told: Sequence[Fact], said: Sequence[Fact], fact: Fact) -> bool:
    """Return whether both texts have the same number of facts of a dimension, so that a repetition was replaced."""
    dimension = fact.readings[0].dimension
    return sum(dimension in each.dimensions for each in told) == sum(dimension in each.dimensions for each in said)


def _rival(fact: Fact, extra: Sequence[Fact]) -> Fact | None:
    """Return the fact of the reply that stands in the place of a fact that it does not state, or None.

    A vaguer date ("2010" for "8 September 2010") and a number that rounds to the expected one are no rivals: the reply
    misses the fact, and says nothing else.
    """
    first = fact.readings[0].dimension
    rivals = [other for other in extra if not _is_vaguer(other, fact)]
    for other in rivals:
        if other.readings[0].dimension == first and (first != NUMBER or _shape(other) == _shape(fact)):
            return other
    for other in rivals:
        alike = first != NUMBER and first in other.dimensions and other.kind == fact.kind
        if alike or (other.kind == fact.kind and fact.kind in {"amount", "quantity"}):
            return other
    return None


def _shape(fact: Fact) -> tuple[object, ...]:
    """Return what a number may be: a year, a day of a month, a number alone."""
    dates = [each.value for each in fact.readings if isinstance(each.value, tuple) and each.dimension == "date"]
    return tuple(tuple(part is not None for part in value) for value in dates[:1])


def _is_vaguer(other: Fact, fact: Fact) -> bool:
    if equal_facts(other, fact):
        return True
    one, two = fact.readings[0], other.readings[0]
    if (
        one.dimension != two.dimension
        or not isinstance(one.value, (int, float))
        or not isinstance(two.value, (int, float))
    ):
        return False
    return two.step < one.step and abs(one.value - two.value) <= 0.5 * one.step


def _opposed_bounds(fact: Fact, other: Fact) -> bool:
    pair = {fact.bound, other.bound}
    return bool(pair & _UPPER and pair & _LOWER) or pair in ({"least", "over"}, {"most", "under"})


# --- roles

_WORD = re.compile(r"[a-z0-9_]+|[\u30a0-\u30ff]+|[\u4e00-\u9fff]|[가-힣]+", re.IGNORECASE)
_STOP = frozenset(
    (
        "a i the and for with you your are is was were will be to of in on at it its by an or as from that "
        "this they our we can has have costs cost each per about only plus 的 了 是 在 有 为 為 和 与 與 个 個"
    ).split()
)
_REACH = 28


def _with_swaps(
    findings: list[Finding], told: Sequence[Fact], said: Sequence[Fact], reference: str, reply: str
) -> list[Finding]:
    """Mark two facts of one kind as contradicted if the reply gives the value of each to the words of the other."""
    found = [each for each in findings if each.state == "found" and each.other is not None][:_MOST_ROLES]
    around = {
        id(each): (_around(reference, told, each.fact), _around(reply, said, each.other))
        for each in found
        if each.other
    }
    swapped: set[int] = set()
    for place, one in enumerate(found):
        for two in found[place + 1 :]:
            if one.other is two.other or one.fact.readings[0].dimension != two.fact.readings[0].dimension:
                continue
            if not equal_facts(one.fact, two.fact) and _is_swapped(*around[id(one)], *around[id(two)]):
                swapped |= {id(one), id(two)}
    return [
        Finding(each.fact, "contradicted", each.other, "the value of another") if id(each) in swapped else each
        for each in findings
    ]


_Sides = tuple[set[str], set[str]]
"""The words before and behind a fact."""
_MOST_ROLES = 40
"""The number of facts whose roles are compared, so that the time stays linear."""


def _is_swapped(one: _Sides, other_one: _Sides, two: _Sides, other_two: _Sides) -> bool:
    crossed = False
    for side in (0, 1):
        only_one, only_two = one[side] - two[side], two[side] - one[side]
        if only_one & (other_one[0] | other_one[1]) and only_two & (other_two[0] | other_two[1]):
            return False
        crossed = crossed or bool(only_one & other_two[side] and only_two & other_one[side])
    return crossed


def _around(text: str, facts: Sequence[Fact], fact: Fact) -> _Sides:
    start = max([0, fact.start - _REACH, *(each.end for each in facts if each.end <= fact.start)])
    end = min([len(text), fact.end + _REACH, *(each.start for each in facts if each.start >= fact.end)])
    return _words(text[start : fact.start]), _words(text[fact.end : end])


def _words(text: str) -> set[str]:
    words: set[str] = set()
    for word in _WORD.findall(text.lower()):
        if "가" <= word[0] <= "힣":
            words.add(word[:2])
        elif word not in _STOP:
            words.add(word)
    return words
