"""The criterion `facts_grounded_v1`: evidence, calculations, and what it leaves out."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from fairtrial import EvalCase, Invocation, Message, Score, ToolCall, ToolResult, Trace
from fairtrial.metrics.facts_grounded import FactsGrounded

CORPUS = Path(__file__).parent.parent / "facts" / "corpus"
FLIGHT = {"flight": "HAT136", "date": "2024-05-19", "departure": "06:15", "arrival": "09:45", "price": 142}


def score(reply: str, result: Any = FLIGHT, question: str = "What can you tell me?", **options: Any) -> Score:
    """The score of a conversation with one message, one call and its result."""
    invocation = Invocation(Message(question), (ToolCall("get", {}), ToolResult("get", result)), Message(reply))
    whole = asyncio.run(FactsGrounded(**options)(Trace((invocation,)), EvalCase("case", None)))
    return whole.parts[0]


@pytest.mark.parametrize(
    "reply",
    [
        "HAT136 leaves at 6:15 am on May 19 and costs $142.",
        "The flight takes three and a half hours.",
        "Two tickets cost $284.",
    ],
)
def test_given_or_computed_facts_are_grounded(reply: str) -> None:
    """The result states it, in another form, or it follows from two values of the result and the user's message."""
    assert score(reply, question="Two tickets, please: 2 persons.").value == 1.0


@pytest.mark.parametrize(
    ("reply", "fact"),
    [
        ("It costs $149.", "$149"),
        ("It is flight HAT316.", "HAT316"),
        ("It leaves at 7:15 am.", "7:15 am"),
        ("It leaves on May 20.", "May 20"),
        ("5월 20일에 출발합니다.", "5월 20일"),
        ("料金は149ドルです。", "149ドル"),
        ("航班号是HAT163。", "HAT163"),
    ],
)
def test_a_fact_without_evidence_is_named(reply: str, fact: str) -> None:
    """The part of the fact is 0, and its reason quotes the reply."""
    result = score(reply)
    assert result.value == 0.0
    assert [quote.text for part in result.parts if part.value == 0.0 for quote in part.quotes] == [fact]


_PAYMENT = {"payment_id": "certificate_7504069", "tracking": "ZX-88311"}


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("I used certificate 7504069.", 1.0),
        ("I used the certificate ending in 4069.", 1.0),
        ("4069로 끝나는 상품권을 썼습니다.", 1.0),
        ("下4桁が4069の商品券です。", 1.0),
        ("尾号4069的礼券。", 1.0),
        ("Its last 4 digits are 4069.", 1.0),
        ("The parcel has number 88311.", 1.0),
        ("I used certificate 7504068.", 0.0),
        ("I used the certificate ending in 4068.", 0.0),
        ("It weighs 4069 tonnes.", 0.0),
        ("The fee is $4069.", 0.0),
        ("The certificate ends in 069.", 0.0),
        ("There are 7504069 seats left.", 0.0),
        ("There are 88311 seats left.", 0.0),
        ("Here is the certificate. 7504069 seats are left.", 0.0),
        ("Your subscription ends in 4069.", 0.0),
        ("You used parcel ZX 88311 for it.", 1.0),
        ("I used `certificate: 7504069`.", 1.0),
        ("I used the certificate with the number 7504069.", 1.0),
    ],
)
def test_the_digits_of_an_identifier_are_given(reply: str, value: float) -> None:
    """All of them, or the last four or more if the reply calls them the last ones."""
    assert score(reply, _PAYMENT).value == value


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("There are 2024 seats left.", 0.0),
        ("You own 9000 shares.", 0.0),
        ("Your number is 9000.", 0.0),
        ("The ticket price is 2024.", 0.0),
        ("Your plan ends in 2024.", 0.0),
        ("You bought a ticket 2024 times.", 0.0),
        ("The ticket 2024 people want is sold out.", 0.0),
        ("We sold this ticket 2024 times last year.", 0.0),
        ("Your ticket 2024 expires soon.", 1.0),
        ("It is ticket 2024.", 1.0),
        ("It is ticket no. 2024.", 1.0),
        ("Your ticket (ending in 2024) is valid.", 1.0),
    ],
)
def test_a_number_that_equals_the_end_of_an_identifier_is_not_given(reply: str, value: float) -> None:
    """Only the number of an identifier is, behind its name, and if no other digit is left."""
    assert score(reply, {"booking": "ticket_2024", "call": "call_7f2k9000"}).value == value


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("남은 좌석은 50자리입니다.", 0.0),
        ("뒤 50자리가 남았습니다.", 0.0),
        ("It has 50 digits.", 0.0),
        ("50桁です。", 0.0),
        ("카드 번호 뒤 4자리를 알려 주세요.", None),
        ("뒤 4자리는 4069입니다.", 1.0),
        ("Please give me the last 4 digits.", None),
        ("下4桁を教えてください。", None),
    ],
)
def test_only_the_number_of_last_digits_needs_no_evidence(reply: str, value: float | None) -> None:
    """The Korean word for a digit is also that for a seat."""
    assert score(reply, {"seats": 3, "card": "visa_4069"}).value == value


@pytest.mark.parametrize("computed", [True, False])
def test_the_reason_of_an_absence_claims_no_more_than_was_tried(*, computed: bool) -> None:
    """The agent's own messages are no evidence, and without `computed` nobody looks for a calculation."""
    (part,) = score("It costs $149.", computed=computed).parts
    absent = "not found: '$149' stands in no user message, result or instruction"
    tried = ", and no calculation with their values was found"
    assert part.reason == (absent + tried if computed else absent)


def test_the_reason_names_the_evidence() -> None:
    """A reader can check the evidence."""
    parts = score("It costs $142, so $284 for both.", question="For 2 persons.").parts
    assert [part.reason for part in parts] == ["found in tool result 1.2", "follows: 142 × 2"]


@pytest.mark.parametrize(
    ("result", "reply", "value"),
    [
        ({"items": [{"price": 12, "quantity": 2}, {"price": 25, "quantity": 1}]}, "The total is $49.", 1.0),
        ({"grades": [71, 84, 90, 67]}, "The mean is 78.", 1.0),
        ({"grades": [71, 84, 90, 67]}, "There are 4 grades.", 1.0),
        ({"weight_kg": 12.5}, "It weighs 12,500 grams.", 1.0),
        ({"dose_mg": 250}, "The dose is 250 g.", 0.0),
        ({"times_per_day": 3, "days": 7}, "Take it for 10 days.", 0.0),
        ({"rain": 0.2}, "The chance of rain is 20%.", 1.0),
        ({"temperature": -3}, "It is 3 °C.", 0.0),
        ({"balance": -45.2}, "You are overdrawn by £45.20.", 1.0),
        ({"seats": []}, "There are 0 seats.", 1.0),
    ],
)
def test_values_follow_from_json(result: Any, reply: str, value: float) -> None:
    """Lists have sums, means, counts and sums of products. Keys may name units. Small counts are not added."""
    assert score(reply, result).value == value


def test_computed_values_can_be_refused() -> None:
    """Then only the given values are grounded."""
    assert score("Two tickets cost $284.", question="2 tickets", computed=False).value == 0.0


def test_a_place_that_no_text_names_is_not_grounded() -> None:
    """The user named Madrid, and the reply names Nairobi. In another language a place is the same."""
    result = {"weather": "sunny", "city": "Madrid"}
    assert score("It is 25 °C in Nairobi.", result | {"c": 25}).value == 0.5
    assert score("마드리드는 25도입니다.", result | {"c": 25}).value == 1.0
    assert score("It is 25 °C in Nairobi.", result | {"c": 25}, names=False).value == 1.0


def test_the_agents_own_words_are_no_evidence() -> None:
    """A number that only an earlier reply states has no evidence."""
    first = Invocation(Message("How much is it?"), (), Message("It costs $99."))
    second = Invocation(Message("Are you sure?"), (), Message("Yes, it costs $99."))
    whole = asyncio.run(FactsGrounded()(Trace((first, second)), EvalCase("case", None)))
    assert [part.value for part in whole.parts] == [0.0, 0.0]


def test_a_reply_without_facts_does_not_apply() -> None:
    """There is nothing to look for."""
    assert not score("You're welcome!").applicable


def test_a_result_that_was_not_recorded_leaves_the_reply_unscored() -> None:
    """The missing result might hold the number."""
    steps = (ToolCall("get", {}), ToolResult("get", None, withheld="the exporter left it out"))
    trace = Trace((Invocation(Message("?"), steps, Message("It costs $99.")),))
    assert asyncio.run(FactsGrounded()(trace, EvalCase("case", None))).value is None


@pytest.mark.parametrize(("context", "value"), [("", None), ("It costs $80.", 0.0)])
def test_texts_alone_do_not_prove_that_a_fact_is_invented(context: str, value: float | None) -> None:
    """A tool may have told the number, unless the case says what the agent had."""
    trace = Trace((Invocation(Message("?"), None, Message("It costs $99.")),))
    whole = asyncio.run(FactsGrounded()(trace, EvalCase("case", None, context=context)))
    assert [part.value for part in whole.parts[0].parts or whole.parts] == [value]


def test_calls_without_any_result_leave_the_reply_unscored() -> None:
    """The conversation of an eval set has calls, and no results that could tell a fact."""
    trace = Trace((Invocation(Message("?"), (ToolCall("get", {}),), Message("It costs $99.")),))
    assert asyncio.run(FactsGrounded()(trace, EvalCase("case", None))).value is None


@pytest.mark.parametrize(("language", "alarms"), [("en", 0), ("ko", 1), ("ja", 1), ("zh-Hans", 2), ("zh-Hant", 2)])
def test_the_replies_that_may_be_read(language: str, alarms: int) -> None:
    """Of the grounded replies that the criterion was written with, at most this many are not all grounded."""
    lines = (CORPUS / f"{language}.grounding.dev.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["grounded"] is not None]
    fails = [(row["grounded"], score(row["reply"], row["tool_results"]).value not in {None, 1.0}) for row in rows]
    assert fails.count((True, True)) <= alarms
    assert fails.count((False, True)) >= 7


def test_own_units_are_converted() -> None:
    """The result has weeks, and the reply sprints."""
    assert score("It takes 3 sprints.", {"duration": "6 weeks"}, units=("sprint = 2 weeks",)).value == 1.0


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ('The fare class is "light".', 1.0),
        ("The fare class is 'light'.", 1.0),
        ('The fare class is "premium".', 0.0),
        ("I will send you a voucher.", 0.0),
        ("The seat is by the window.", None),
    ],
)
def test_quotations_and_promises_need_evidence(reply: str, value: float | None) -> None:
    """A text must hold the words of a quotation, and name what is promised."""
    assert score(reply, result={"fare": "Light"}).value == value


def test_a_promise_that_the_instructions_or_the_user_name_is_grounded() -> None:
    """The user asked for it."""
    assert not score("I will send you a voucher.", result={}, question="May I have a voucher?").applicable
