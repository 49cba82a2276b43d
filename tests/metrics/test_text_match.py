"""Replies that are the reference, or that contain it, in several languages."""

from __future__ import annotations

import unicodedata

import pytest

from fairtrial import Contains, EvalCase, ExactMatch, Invocation, Message, Trace


def value(metric: ExactMatch | Contains, reply: str | None, reference: str | None) -> float | None:
    """The value of a conversation with one message."""
    expected = Invocation(Message("?"), None, None if reference is None else Message(reference))
    actual = Invocation(Message("?"), (), None if reply is None else Message(reply))
    return metric(Trace((actual,)), EvalCase("case", (expected,))).value


@pytest.mark.parametrize(
    ("reply", "reference", "equal", "contained"),
    [
        ("Paris", "Paris", 1, 1),
        (" Paris\n", "Paris", 1, 1),
        ("It is Paris.", "Paris", 0, 1),
        ("paris", "Paris", 0, 0),
        ("Par is", "Paris", 0, 0),
        ("파리입니다", unicodedata.normalize("NFD", "파리"), 0, 1),
        ("파리", unicodedata.normalize("NFD", "파리"), 1, 1),
        ("東京です。", "東京", 0, 1),
        ("ｶﾞ", "ガ", 0, 0),
        ("首都是巴黎。", "巴黎", 0, 1),
        ("", "Paris", 0, 0),
    ],
)
def test_characters_are_compared_after_normalisation(reply: str, reference: str, equal: int, contained: int) -> None:
    """Composed and decomposed letters are the same. Case and width count."""
    assert value(ExactMatch(), reply, reference) == equal
    assert value(Contains(), reply, reference) == contained


@pytest.mark.parametrize(
    ("reply", "reference"), [("PARIS", "paris"), ("ＰＡＲＩＳ", "Paris"), ("ｶﾞ", "ガ"), ("STRASSE", "Straße")]
)
def test_case_and_width_are_ignored_on_request(reply: str, reference: str) -> None:
    """Full and half width are the same then, too."""
    assert value(ExactMatch(ignore_case=True), reply, reference) == 1
    assert value(Contains(ignore_case=True), f"«{reply}»", reference) == 1


def test_a_turn_without_a_reference_does_not_apply() -> None:
    """A blank reference is contained in any reply, so that it says nothing either."""
    assert value(ExactMatch(), "Paris", None) is None
    assert value(Contains(), "Paris", None) is None
    assert value(Contains(), "Paris", "  ") is None


def test_a_reply_that_was_not_recorded_is_unscored() -> None:
    """Nobody knows then whether it is the reference."""
    withheld = Trace((Invocation(Message("?"), (), Message("", withheld="the exporter left it out")),))
    case = EvalCase("case", (Invocation(Message("?"), None, Message("Paris")),))
    for metric in (ExactMatch(), Contains()):
        (part,) = metric(withheld, case).parts
        assert (part.value, part.side) == (None, "infrastructure")
