"""Parts of `facts_match_v1` and `facts_grounded_v1` name their fact, its state and its places in both replies."""

from __future__ import annotations

import asyncio

import pytest

from fairtrial.metrics.facts_grounded import FactsGrounded
from fairtrial.metrics.facts_match import FactsMatch
from fairtrial.records.case import EvalCase
from fairtrial.records.score import Score, StatedFact
from fairtrial.records.trace import Invocation, Message, Trace


def compare(expected: str, reply: str, **options: object) -> tuple[Score, ...]:
    """Return the parts of a reply beside its reference."""
    user = Message("?")
    case = EvalCase("c", (Invocation(user, final_response=Message(expected)),))
    trace = Trace((Invocation(user, final_response=Message(reply)),))
    return FactsMatch(**options)(trace, case).parts[0].parts  # type: ignore[arg-type]


def the_fact(part: Score) -> StatedFact:
    """Return the fact that a part is about."""
    assert part.fact is not None
    return part.fact


@pytest.mark.parametrize(
    ("expected", "reply"),
    [
        ("It costs 29.90 USD.", "You pay 39.90 USD."),
        ("🎉 총액은 29,900원입니다.", "🎉👍🏽 총액은 39,900원입니다."),
        ("😀 料金は1,200円です。", "料金は1,500円です。"),
    ],
)
def test_places_count_code_points(expected: str, reply: str) -> None:
    """They cut the words of the fact out of each text."""
    (part,) = compare(expected, reply)
    fact = the_fact(part)
    assert fact.state == "contradicted"
    assert fact.kind == "amount"
    assert fact.expected is not None
    assert fact.actual is not None
    words = {quote.source: quote.text for quote in part.quotes}
    assert expected[slice(*fact.expected)] == words["expected"]
    assert reply[slice(*fact.actual)] == words["actual"]


def test_a_missing_fact_has_no_place_in_the_reply() -> None:
    """Its place in the reference stays."""
    part, agreement = compare("Order A-17 ships on 2026-11-23.", "It ships soon. Order A-17.")
    assert the_fact(agreement).state == "found"
    fact = the_fact(part)
    assert (fact.state, fact.kind, fact.value, fact.actual) == ("missing", "date", "2026-11-23", None)


def test_values_are_normalised() -> None:
    """Each kind has a form of its own."""
    text = "3 items, 29.90 USD, 5 %, 2 km, Monday, 17:30."
    values = [the_fact(part).value for part in compare(text, text)]
    assert values == ["3", "29.9 USD", "5 %", "2000 m", "Mon", "17:30"]


def test_a_contradicted_clause_is_a_predicate() -> None:
    """It has no value, and a place in each text."""
    (part,) = compare("Your order is not shipped.", "Your order is shipped.")
    fact = the_fact(part)
    assert (fact.kind, fact.state, fact.value) == ("predicate", "contradicted", "")
    assert None not in (fact.expected, fact.actual)


def test_a_forbidden_fact_stands_in_the_reply_alone() -> None:
    """No reference states it."""
    parts = compare("It costs 5 USD.", "It costs 5 USD, or 0 USD.", must_not=("0 USD",))
    forbidden = next(the_fact(part) for part in parts if the_fact(part).state == "forbidden")
    assert forbidden.expected is None
    assert forbidden.actual == (19, 24)


def test_a_fact_without_evidence_is_ungrounded() -> None:
    """A fact that the user stated is found."""
    trace = Trace((Invocation(Message("I paid 5 USD."), (), Message("You paid 5 USD and get 9 USD.")),))
    score = asyncio.run(FactsGrounded()(trace, EvalCase("c", ())))
    assert [the_fact(part).state for part in score.parts[0].parts] == ["found", "ungrounded"]


def test_a_promise_has_its_place_in_the_reply() -> None:
    """It is ungrounded, and its value is its topic."""
    parts = compare("It costs 5 USD.", "It costs 5 USD. I will send you a coupon.")
    promise = next(the_fact(part) for part in parts if the_fact(part).kind == "promise")
    assert (promise.state, promise.value, promise.expected, promise.actual) == ("ungrounded", "voucher", None, (16, 41))


def test_members_of_a_list_have_their_places() -> None:
    """The missing member, and the one in its place."""
    parts = compare("It holds a saw, an axe and a drill.", "It holds a saw, an axe and a hammer.")
    (member,) = [the_fact(part) for part in parts]
    assert (member.kind, member.state, member.value) == ("list", "contradicted", "a drill")
    assert None not in (member.expected, member.actual)
