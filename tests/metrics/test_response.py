"""The criterion `response_match_score` is as criteria.md describes it."""

from __future__ import annotations

from typing import Any

import pytest

from builders import case, trace, turn, values
from fairtrial.errors import ConfigError
from fairtrial.metrics.response import ResponseMatch
from fairtrial.records.case import EvalCase, Scenario


def score(reply: str | None, reference: str | None) -> float | None:
    """The value of one invocation."""
    return ResponseMatch()(trace(turn(reply=reply)), case(turn(reply=reference))).value


@pytest.mark.parametrize(("reply", "reference"), [("", ""), (None, ""), (" \n", "\t"), (None, " ")])
def test_both_blank_is_1(reply: str | None, reference: str) -> None:
    """Nothing was expected to be said, and nothing was; the peer gives 0."""
    assert score(reply, reference) == 1


@pytest.mark.parametrize(
    ("reply", "reference", "value"),
    [("🙂", "🙂", 1), (" 🙂 ", "🙂", 1), ("！", "!", 1), ("🙂", "🙁", 0), ("!!!", "", 0), ("", "???", 0)],
)
def test_without_tokens_the_texts_are_compared(reply: str, reference: str, value: int) -> None:
    """Emoji and punctuation are equal after NFKC and strip, or they are not."""
    assert score(reply, reference) == value


@pytest.mark.parametrize(("reply", "reference"), [("hello", ""), ("", "hello"), ("hello", "!"), (None, "hello")])
def test_only_one_side_with_tokens_is_0(reply: str | None, reference: str) -> None:
    """An absent reply in an existing invocation is a blank one."""
    assert score(reply, reference) == 0


def test_no_reference_is_not_applicable() -> None:
    """It leaves the mean, and is counted."""
    found = ResponseMatch()(trace(turn(reply="a"), turn(reply="b")), case(turn(), turn(reply="b")))
    assert (found.value, values(found)) == (1, [None, 1])
    assert not ResponseMatch()(trace(turn(reply="a")), case(turn())).applicable


def test_a_scenario_is_not_applicable() -> None:
    """There is no reference in a conversation that was made up on the way."""
    assert not ResponseMatch()(trace(turn(reply="a")), EvalCase("c", scenario=Scenario("hi", "buy"))).applicable


def test_a_case_is_the_mean() -> None:
    """1 and 2/3: one of two tokens shared with a reference of one."""
    found = ResponseMatch()(trace(turn(reply="a"), turn(reply="a b")), case(turn(reply="a"), turn(reply="a")))
    assert found.value == pytest.approx((1 + 2 / 3) / 2)


def test_other_types_of_rouge() -> None:
    """Reversed words share every unigram, no bigram, and one word in order."""
    happened, expected = trace(turn(reply="two one")), case(turn(reply="one two"))
    assert ResponseMatch()(happened, expected).value == 1
    assert ResponseMatch(rouge_type="rouge2")(happened, expected).value == 0
    assert ResponseMatch(rouge_type="rougeL")(happened, expected).value == 0.5


def test_words_are_another_number_than_characters() -> None:
    """可以退款 / 不可以退款: 8/9 by characters; by words 不 or its word is another token."""
    happened, expected = trace(turn(reply="可以退款")), case(turn(reply="不可以退款"))
    by_characters = ResponseMatch()(happened, expected).value
    by_words = ResponseMatch(tokens="words")(happened, expected).value
    assert by_characters == pytest.approx(8 / 9)
    assert by_words is not None
    assert 0 < by_words < 8 / 9


def test_a_difference_is_evidence() -> None:
    """What was expected and what was said stand beside the number."""
    (part,) = ResponseMatch()(trace(turn(reply="hallo")), case(turn(reply="hello"))).parts
    assert [(quote.source, quote.text) for quote in part.quotes] == [("expected", "hello"), ("actual", "hallo")]


@pytest.mark.parametrize("options", [{"rouge_type": "rouge3"}, {"tokens": "letters"}])
def test_options_are_checked_where_it_is_made_in_python_too(options: dict[str, Any]) -> None:
    """An unknown value would silently be another one."""
    with pytest.raises(ConfigError, match="must be one of"):
        ResponseMatch(**options)
