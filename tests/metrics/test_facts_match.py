"""The criterion `facts_match_v1` on conversations: its parts, reasons and options."""

from __future__ import annotations

from typing import Any

import pytest

from fairtrial import EvalCase, Invocation, Message, Score, Trace
from fairtrial.errors import ConfigError
from fairtrial.metrics.facts_match import FactsMatch


def score(reply: str | Message, reference: str, **options: Any) -> Score:
    """The score of a conversation with one message."""
    expected = Invocation(Message("?"), None, Message(reference))
    actual = Invocation(Message("?"), (), reply if isinstance(reply, Message) else Message(reply))
    (part,) = FactsMatch(**options)(Trace((actual,)), EvalCase("case", (expected,))).parts
    return part


def test_the_score_is_the_share_of_facts_that_the_reply_states() -> None:
    """One of two facts is told, and the reason names the other."""
    result = score("It costs $5.", "It costs $5 and takes 3 days.")
    assert result.value == 0.5
    assert [part.reason for part in result.parts] == [
        "",
        "missing: '3 days' is expected, and the reply does not say it",
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
