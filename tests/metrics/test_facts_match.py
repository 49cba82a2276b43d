"""The criterion `facts_match_v1` on conversations: its parts, reasons and options."""

from __future__ import annotations

from typing import Any

import pytest

from fairtrial import EvalCase, Invocation, Message, Score, ToolCall, ToolResult, Trace
from fairtrial.errors import ConfigError
from fairtrial.metrics.facts_match import FactsMatch


def score(reply: str | Message, reference: str, **options: Any) -> Score:
    """The score of a conversation with one message."""
    expected = Invocation(Message("?"), None, Message(reference))
    actual = Invocation(Message("?"), (), reply if isinstance(reply, Message) else Message(reply))
    (part,) = FactsMatch(**options)(Trace((actual,)), EvalCase("case", (expected,))).parts
    return part


def test_the_score_is_the_share_of_facts_that_the_reply_states() -> None:
    """One of two facts is told, and the reason names the other, which comes first."""
    result = score("It costs $5.", "It costs $5 and takes 3 days.")
    assert result.value == 0.5
    assert [part.reason for part in result.parts] == [
        "missing: '3 days' is expected, and the reply does not say it",
        "",
    ]


def test_a_contradiction_decides() -> None:
    """A reply with a wrong amount is 0 though its other fact is right. The reason gives both texts."""
    result = score("It costs $39.90 and takes 3 days.", "It costs $29.90 and takes 3 days.")
    assert result.value == 0.0
    assert result.parts[0].reason == "contradicted: '$29.90' is expected, and the reply says '$39.90'"
    assert [quote.text for quote in result.parts[0].quotes] == ["$29.90", "$39.90"]
    assert not result.parts[1].applicable


def test_a_negation_names_both_clauses() -> None:
    """The report can show where the reply turns the reference round."""
    result = score("Your order is not shipped.", "Your order is shipped.")
    assert result.value == 0.0
    assert result.parts[0].reason == (
        "contradicted: the reference says 'Your order is shipped', the reply says 'Your order is not shipped'"
    )


def test_a_reference_without_facts_does_not_apply() -> None:
    """There is nothing to compare, and the score says so."""
    result = score("Hello!", "Good morning to you.")
    assert not result.applicable
    assert result.reason == "the reference states no facts"


def test_options_that_leave_no_fact_say_so() -> None:
    """The reference does state a fact, of a kind that is not compared."""
    result = score("It is 5 dollars.", "Come at 3 pm, it costs $5.", kinds=("date",))
    assert not result.applicable
    assert result.reason == "the options leave no fact"


@pytest.mark.parametrize(
    ("reference", "fee", "why"),
    [
        ("It is ready.", "A fee of $9 will be charged.", "neither the reference nor the user names it"),
        ("The ticket is $80.", "A fee of $9 will be charged.", "neither the reference nor the user states its amount"),
        ("입장료는 8만원입니다.", "수수료 9천원이 부과됩니다.", "neither the reference nor the user states its amount"),
        ("料金は8000円です。", "手数料900円がかかります。", "neither the reference nor the user states its amount"),
        ("票价是800元。", "另收手续费90元。", "neither the reference nor the user states its amount"),
        ("票價是800元。", "另收手續費90元。", "neither the reference nor the user states its amount"),
    ],
)
def test_the_reason_of_an_invented_fee_is_true(reference: str, fee: str, why: str) -> None:
    """A reference that names a price does name what the reply charges, and not its amount."""
    (part,) = [part for part in score(f"{reference} {fee}", reference).parts if part.value == 0.0]
    assert part.reason == f"stated: {fee!r} is about 'fee', and {why}"


def test_a_reply_that_was_not_recorded_is_unscored() -> None:
    """Nobody knows then what it states."""
    assert score(Message("", withheld="the exporter left it out"), "It costs $5.").value is None


@pytest.mark.parametrize(
    ("options", "reply", "reference", "value"),
    [
        ({"kinds": ("amount",)}, "It costs $5 and takes 9 days.", "It costs $5 and takes 3 days.", 1.0),
        ({"tolerance": 0.01}, "It weighs 10.05 kg.", "It weighs 10 kg.", 1.0),
        ({}, "It weighs 10.05 kg.", "It weighs 10 kg.", 0.0),
        ({"ignore": ("Room 12",)}, "It costs $5.", "It costs $5, see Room 12.", 1.0),
        ({"must_not": ("90 days",)}, "It costs $5, within 90 days.", "It costs $5.", 0.0),
        ({"must_not": ("90 days",)}, "It costs $5, within 30 days.", "It costs $5.", 1.0),
        ({"polarity": False}, "It does not cost $5.", "It costs $5.", 1.0),
        ({"locale": "day_first"}, "Due on 3 April.", "Due on 3/4.", 1.0),
        ({"locale": "month_first"}, "Due on 3 April.", "Due on 3/4.", 0.0),
    ],
)
def test_options(options: dict[str, Any], reply: str, reference: str, value: float) -> None:
    """Each option changes what is compared."""
    assert score(reply, reference, **options).value == value


def test_an_ambiguous_date_is_unscored() -> None:
    """The reason names the option that decides."""
    result = score("Due on 4/3/2026.", "Due on 3/4/2026.")
    assert result.value is None
    assert "locale" in result.parts[0].reason


def test_an_unknown_kind_is_refused() -> None:
    """The message of a mistake names the allowed kinds."""
    with pytest.raises(ConfigError, match="amount"):
        FactsMatch(kinds=("price",))  # type: ignore[arg-type]


def score_with_result(reference: str, reply: str, result: Any) -> float | None:
    """The score of a reply, of a case whose expected conversation has a tool result."""
    steps = (ToolCall("list", {}), ToolResult("list", result))
    case = EvalCase("case", (Invocation(Message("Who?"), steps, Message(reference)),))
    return FactsMatch()(Trace((Invocation(Message("Who?"), (), Message(reply)),)), case).value


GUESTS = {"guests": [{"name": "Anna Müller", "id": "user_a"}, {"name": "Bo Chen", "id": "user_b"}]}


@pytest.mark.parametrize(
    ("reference", "reply", "value"),
    [
        ("Room 7 is booked for Anna Müller.", "Bo Chen has room 7.", 0.0),
        ("Room 7 is booked for Anna Müller.", "Anna Muller has room 7.", 1.0),
        ("Room 7 is booked for Anna Müller.", "The guest has room 7.", 1.0),
        ("user_a has room 7.", "Room 7 is of user_b.", 0.0),
        ("Anna Müller has room 7, Bo Chen room 8.", "Room 8 is Bo Chen's, room 7 is Anna Müller's.", 1.0),
    ],
)
def test_names_of_results_exclude_one_another(reference: str, reply: str, value: float) -> None:
    """A reply may leave a name out, or write it without accents, and may not put another in its place."""
    assert score_with_result(reference, reply, GUESTS) == value


@pytest.mark.parametrize(
    ("reference", "reply"),
    [
        ("Due 3 May 2026, $5.", "It is due in 2026 and costs $5."),
        ("It was founded in 1931.", "It was founded in the early 1930s."),
        ("1931年に設立されました。", "1930年代に設立されました。"),
        ("It has 1,234 rooms.", "It has about 1,200 rooms."),
        ("It has 1,250 rooms.", "It has 1,200 to 1,300 rooms."),
    ],
)
def test_a_vaguer_reply_is_unscored(reference: str, reply: str) -> None:
    """A value that includes the expected value neither states nor contradicts it."""
    result = score(reply, reference)
    assert result.value is None
    assert result.side == "expectation"


@pytest.mark.parametrize(
    ("reference", "reply"),
    [
        ("Due 3 May 2026, $5.", "It is due in 2027 and costs $5."),
        ("It was founded in 1931.", "It was founded in the late 1930s."),
        ("It takes 5 to 7 days.", "It takes 5 to 10 days."),
        ("It has 1,234 rooms.", "It has about 1,300 rooms."),
        ("Due 3 May 2026, $5.", "It is due in 2026."),
    ],
)
def test_a_vaguer_reply_that_misses_the_value_fails(reference: str, reply: str) -> None:
    """Another year, another part of a decade, another end of a range, another round number, and a fact left out."""
    value = score(reply, reference).value
    assert value is not None
    assert value < 1.0


def test_a_text_of_more_than_200_000_characters_is_unscored() -> None:
    """The reason names the length."""
    result = score("1" * 200_001, "It costs $5.")
    assert (result.value, result.reason) == (None, "a text of 200,001 characters is longer than 200,000")


def test_more_than_400_000_pairs_of_facts_are_not_compared() -> None:
    """A text of many numbers against itself would take minutes."""
    text = "$1 " * 700
    assert score(text, text).reason == "700 facts of the reference and 700 of the reply are more than 400,000 pairs"


@pytest.mark.parametrize(
    ("reference", "reply", "value"),
    [
        ("It takes 3 sprints.", "It takes 6 weeks.", 1.0),
        ("It takes 3 sprints.", "It takes 6 sprints.", 0.0),
        ("It takes 3 sprints.", "It takes 3 weeks.", 0.0),
        ("You get 2 pallets.", "You get 96 boxes.", 1.0),
        ("You get 2 pallets.", "You get 2 boxes.", 0.0),
        ("2팔레트가 옵니다.", "96상자가 옵니다.", 1.0),
    ],
)
def test_own_units_are_converted(reference: str, reply: str, value: float) -> None:
    """A unit of the user stands for a number of known units, or of another unit of the user."""
    units = ("sprint = 2 weeks", "pallet = 48 boxes", "팔레트 = 48 상자")
    assert score(reply, reference, units=units).value == value


def test_a_text_that_defines_no_unit_is_refused() -> None:
    """The message shows a definition."""
    with pytest.raises(ConfigError, match="sprint = 2 weeks"):
        FactsMatch(units=("sprint",))
