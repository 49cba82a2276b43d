"""The criterion `facts_match_v1`: the reply states the facts of its reference, and contradicts none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from fairtrial.config.reader import OptionError, check_options
from fairtrial.metrics.expectations import blank_references
from fairtrial.metrics.pairing import compare_each, no_reference
from fairtrial.records.contents import not_recorded
from fairtrial.records.score import FactState, PartKey, Quote, Score, StatedFact, TextPlace, average_parts
from fairtrial.records.trace import Invocation, ToolCall, ToolResult
from fairtrial.text.facts.fact import KINDS, Fact, Kind
from fairtrial.text.facts.fact_value import fact_value

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase
    from fairtrial.records.record import Json
    from fairtrial.records.trace import Invocation, Trace
    from fairtrial.text.facts.fact_agreement import Reader
    from fairtrial.text.facts.finding import Agreement, Finding
    from fairtrial.text.facts.promises import Promise

_UNNAMED = "neither the reference nor the user names it"
_UNPRICED = "neither the reference nor the user states its amount"
_STATES = {"found": 1.0, "missing": 0.0, "contradicted": 0.0}
_ORDER = ("contradicted", "missing", "undecided", "found")
"""What is wrong comes first."""

Kinds = Annotated[tuple[Kind, ...], Meta(description="the kinds of facts to compare. Empty: all")]
Tolerance = Annotated[
    float, Meta(ge=0.0, le=1.0, description="the largest relative difference of two numbers that are equal")
]
Locale = Annotated[
    Literal["", "day_first", "month_first"],
    Meta(description="how to read 3/4: as the 3rd of April or as March 4. Empty: what both texts allow"),
]
Ignore = Annotated[tuple[str, ...], Meta(description="words or signs whose facts do not count, for example `Room 12`")]
Units = Annotated[
    tuple[str, ...], Meta(description="more units, each with its size in another unit, for example `sprint = 2 weeks`")
]


def check_units(units: tuple[str, ...]) -> None:
    """Raise OptionError if a text of the option `units` defines no unit."""
    if not units:
        return
    from fairtrial.text.facts.own_units import parse_units

    try:
        parse_units(units)
    except ValueError as error:
        problem = f"{str(error)!r} defines no unit; write, for example, 'sprint = 2 weeks'"
        raise OptionError([("units", problem)]) from None


@dataclass(frozen=True, slots=True)
class FactsMatch:
    """`facts_match_v1`: the share of the facts of the reference that the reply states, 0..1. A case is the mean.

    Facts are numbers, amounts, quantities, dates, times, weekdays, codes, and predicates with their negation. A reply
    that contradicts a fact is 0. A fact that is only in the reply does not count. A reference without facts is not
    applicable.
    """

    kinds: Kinds = ()
    tolerance: Tolerance = 0.0
    locale: Locale = ""
    ignore: Ignore = ()
    units: Units = ()
    must_not: Annotated[
        tuple[str, ...], Meta(description="texts whose facts a reply may not state, for example `$0` or `90 days`")
    ] = ()
    polarity: Annotated[bool, Meta(description="whether predicates and their negation are facts")] = True

    def __post_init__(self) -> None:
        check_options(self)
        check_units(self.units)

    def __call__(self, trace: Trace, case: EvalCase) -> Score:
        """Score each invocation that has a reference, and take the mean."""
        names = collect_names((*(case.conversation or ()), *trace.invocations)) if self.polarity else ()

        def compare(actual: Invocation, expected: Invocation, key: PartKey) -> Score:
            return self._compare(actual, expected, key, names)

        return compare_each(trace, case, compare, excluded=no_reference)

    def expectation_problems(self, trace: Trace, case: EvalCase) -> tuple[str, ...]:  # noqa: ARG002
        """Return a problem for each reference that is blank."""
        return tuple(blank_references(case))

    def _compare(
        self, actual: Invocation, expected: Invocation, key: PartKey, names: tuple[frozenset[str], ...]
    ) -> Score:
        # The patterns of facts take longer to import than the rest of the criterion.
        from fairtrial.text.facts.fact_agreement import Reader, compare_facts
        from fairtrial.text.facts.own_units import parse_units

        message = actual.final_response
        if message is not None and message.withheld:
            return Score(None, not_recorded(message, "reply"), side="infrastructure", key=key)
        reader = Reader(frozenset(self.kinds or KINDS), self.locale, self.ignore, parse_units(self.units))
        agreement = compare_facts(
            expected.reply,
            actual.reply,
            tolerance=self.tolerance,
            reader=reader,
            polarity=self.polarity,
            names=names,
            question=f"{actual.user.text}\n{expected.user.text}",
        )
        if agreement.unread:
            return Score(None, agreement.unread, side="infrastructure", key=key)
        places = count()
        parts = [
            *_contradictions(agreement, expected.reply, actual.reply, places),
            *_promise_scores(agreement, actual.reply, places),
            *self._forbidden(actual.reply, reader, places),
        ]
        by_contradiction = bool(parts)
        parts += [
            _part(finding, expected.reply, actual.reply, next(places), by_contradiction=by_contradiction)
            for finding in sorted(agreement.findings, key=lambda item: _ORDER.index(item.state))
            if finding.state != "contradicted"
        ]
        if not parts:
            reason = "the options leave no fact" if self.kinds or self.ignore else ""
            if agreement.agreed:
                reason = reason or "the reference states no number or date"
                return Score(1.0, f"{reason}; the reply agrees with its sentence", key=key)
            return Score(applicable=False, reason=reason or "the reference states no facts", key=key)
        score = average_parts(parts, key=key)
        undecided = next((part for part in parts if part.value is None), None)
        if undecided is not None and score.value in {1.0, None}:
            # What is not known makes no reply pass. A missing fact makes it fail without it.
            return Score(None, undecided.reason, parts=score.parts, side="expectation", key=key)
        return score

    def _forbidden(self, reply: str, reader: Reader, places: count[int]) -> list[Score]:
        from fairtrial.text.facts.fact_equality import equal_facts

        parts: list[Score] = []
        reply_facts = reader(reply) if self.must_not else ()
        for text in self.must_not:
            facts = reader(text)
            hits = [item for fact in facts for item in reply_facts if equal_facts(fact, item, self.tolerance)]
            if hits:
                actual = reply[hits[0].start : hits[0].end]
                reason = f"{text!r} is forbidden, and the reply says {actual!r}"
                quotes = (Quote(actual, "actual"),)
                fact = state_fact(hits[0], "forbidden", actual=hits[0])
                parts.append(
                    Score(0.0, reason, label=text, quotes=quotes, key=PartKey("fact", next(places)), fact=fact)
                )
        return parts


def state_fact(fact: Fact, state: FactState, *, expected: Fact | None = None, actual: Fact | None = None) -> StatedFact:
    """Return a fact with its state, and its places in the expected reply and in the reply."""
    return StatedFact(fact.kind, state, fact_value(fact), _place(expected), _place(actual))


def _place(fact: Fact | None) -> TextPlace | None:
    return None if fact is None else (fact.start, fact.end)


def _contradictions(agreement: Agreement, reference: str, reply: str, places: count[int]) -> list[Score]:
    parts = [
        _part(finding, reference, reply, next(places), by_contradiction=False)
        for finding in agreement.findings
        if finding.state == "contradicted"
    ]
    for item in agreement.oppositions:
        expected, actual = reference[item.start : item.end], reply[item.other_start : item.other_end]
        reason = f"contradicted: the reference says {expected!r}, the reply says {actual!r}"
        quotes = (Quote(expected, "expected"), Quote(actual, "actual"))
        kind = "name" if item.name == "name" else "predicate"
        both = ((item.start, item.end), (item.other_start, item.other_end))
        fact = StatedFact(kind, "contradicted", "", *both)
        parts.append(Score(0.0, reason, label=item.name, quotes=quotes, key=PartKey("fact", next(places)), fact=fact))
    return parts


def _promise_scores(agreement: Agreement, reply: str, places: count[int]) -> list[Score]:
    return [
        promise_score(
            item,
            Quote(reply[item.start : item.end].strip(), "actual"),
            next(places),
            _UNPRICED if item.is_known else _UNNAMED,
        )
        for item in agreement.promises
    ]


def promise_score(promise: Promise, quote: Quote, place: int, why: str) -> Score:
    """Return the part of a promise that no other text names, or whose amount none states."""
    verb = "stated" if promise.is_condition else "promised"
    reason = f"{verb}: {quote.text!r} is about {promise.topic!r}, and {why}"
    fact = StatedFact("promise", "ungrounded", promise.topic, None, (promise.start, promise.end))
    label = f"promise: {promise.topic}"
    return Score(0.0, reason, label=label, quotes=(quote,), key=PartKey("fact", place), fact=fact)


def _part(finding: Finding, reference: str, reply: str, place: int, *, by_contradiction: bool) -> Score:
    expected = _text(finding.fact, reference)
    key, quotes = PartKey("fact", place), [Quote(expected, "expected")]
    label = f"{finding.fact.kind}: {expected}"
    if finding.counterpart is not None:
        quotes.append(Quote(_text(finding.counterpart, reply), "actual"))
    fact = state_fact(finding.fact, finding.state, expected=finding.fact, actual=finding.counterpart)
    if finding.state == "undecided":
        return Score(None, finding.why, label=label, quotes=tuple(quotes), side="expectation", key=key, fact=fact)
    if by_contradiction:
        # A contradiction decides, and the mean of the parts is the score.
        reason = f"{finding.state}; a contradiction decides"
        return Score(applicable=False, reason=reason, label=label, quotes=tuple(quotes), key=key, fact=fact)
    reason = _reason(finding, expected, reply)
    return Score(_STATES[finding.state], reason, label=label, quotes=tuple(quotes), key=key, fact=fact)


def _reason(finding: Finding, expected: str, reply: str) -> str:
    if finding.state == "missing":
        return f"missing: {expected!r} is expected, and the reply does not say it"
    if finding.state == "contradicted" and finding.counterpart is not None:
        why = f" ({finding.why})" if finding.why else ""
        return f"contradicted: {expected!r} is expected, and the reply says {_text(finding.counterpart, reply)!r}{why}"
    return ""


def _text(fact: Fact, text: str) -> str:
    return text[fact.start : fact.end].strip()


_IDENTIFIER = re.compile(r"[a-z]+[a-z0-9]*(?:[_@.-][a-z0-9]+)+")
_LONGEST = 40
_MOST = 2000
"""The number of values that are read at most."""


def collect_names(invocations: Iterable[Invocation]) -> tuple[frozenset[str], ...]:
    """Return the names of calls and results in groups: those of one key exclude one another.

    A name begins with a capital letter, or with a letter of a script without capitals, or is an identifier such as
    `user_a`. It has at most 40 characters.
    """
    groups: dict[str, set[str]] = {}
    for number, (key, value) in enumerate(_values(invocations)):
        if number == _MOST:
            break
        text = value.strip()
        if 2 <= len(text) <= _LONGEST and text[0].isalpha() and (not text[0].islower() or _IDENTIFIER.fullmatch(text)):
            groups.setdefault(key, set()).add(text)
    return tuple(frozenset(names) for names in groups.values())


def _values(invocations: Iterable[Invocation]) -> Iterator[tuple[str, str]]:
    """Yield the texts of calls and results with their keys."""
    for invocation in invocations:
        for step in (*(invocation.steps or ()), *invocation.tool_calls):
            if isinstance(step, ToolCall):
                yield from _leaves(step.args)
            elif isinstance(step, ToolResult):
                yield from _leaves(step.response)


def _leaves(content: Json | Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    stack: list[tuple[str, Json | Mapping[str, Json]]] = [("", content)]
    while stack:
        key, item = stack.pop()
        if isinstance(item, str):
            yield key, item
        elif isinstance(item, Mapping):
            stack.extend((str(name), value) for name, value in reversed(tuple(item.items())))
        elif isinstance(item, Sequence):
            stack.extend((key, value) for value in reversed(item))
