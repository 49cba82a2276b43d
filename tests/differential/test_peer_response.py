"""`response_match_score` is google-adk's, but for the differences that are named here."""

from __future__ import annotations

import both
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fairtrial.text.rouge import characters

pytestmark = both.PEER
NAME = "response_match_score"

WORDS = st.sampled_from(
    [
        "the",
        "order",
        "orders",
        "ordered",
        "is",
        "not",
        "shipping",
        "don't",
        "naïve",
        "café",
        "주문이",
        "완료되었습니다",
        "ㅋㅋ",
        "明日は雨です",
        "可以退款",
        "不可以",
        "สวัสดีครับ",
        "ＡＢＣ１２３",
        "x_y",
        "3.14",
        "🙂",
        "—",
        "。",
        "привет",
        "नमस्ते",
        "ภาษาลาว",
        "ພາສາ",
        "ភាសា",
        "မြန်မာ",
    ]
)
TEXTS = st.lists(WORDS, max_size=12).map(" ".join) | st.text(max_size=20)


def _pair(actual: str, expected: str) -> tuple[list[both.Json], list[both.Json]]:
    return [both.turn([], reply=actual)], [both.turn([], reply=expected)]


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4))
@example([("Hello, World!", "hello world")])
def test_random_texts_have_their_score(texts: list[tuple[str, str]]) -> None:
    """Texts of many scripts: the same value for each invocation and for the case."""
    assume(all(characters(ours) or characters(theirs) for ours, theirs in texts))
    actual = [both.turn([], reply=reply) for reply, _ in texts]
    expected = [both.turn([], reply=reference) for _, reference in texts]
    ours = both.our_score(NAME, actual, expected)
    theirs = both.their_score(NAME, actual, expected, threshold=0.8)
    assert both.parts(ours) == pytest.approx(both.their_parts(theirs), abs=1e-12)
    assert ours.value == pytest.approx(theirs.overall_score, abs=1e-12)


@pytest.mark.parametrize(("reply", "reference", "value"), [("", "", 1.0), ("🙂", " 🙂", 1.0), ("🙂", "🙁", 0.0)])
def test_texts_without_words_are_compared_as_they_are_here(reply: str, reference: str, value: float) -> None:
    """Two texts without a token are 0 in google-adk, even where both are blank; here they are equal or not."""
    assert both.our_score(NAME, *_pair(reply, reference)).value == value
    assert both.their_score(NAME, *_pair(reply, reference), threshold=0.8).overall_score == 0.0


def test_thoughts_are_no_part_of_a_reply_here() -> None:
    """In google-adk the parts that are thoughts count as reply; here they do not."""
    actual, expected = _pair("", "It is shipped.")
    actual[0]["final_response"]["parts"] = [{"text": "Let me think.", "thought": True}, {"text": "It is shipped."}]
    assert both.our_score(NAME, actual, expected).value == 1.0
    assert both.their_score(NAME, actual, expected, threshold=0.8).overall_score < 1.0


def test_without_a_reference_there_is_nothing_to_score_here() -> None:
    """An absent reference is 0 in google-adk; here it is not applicable."""
    actual, expected = _pair("It is shipped.", "")
    del expected[0]["final_response"]
    assert not both.our_score(NAME, actual, expected).applicable
    assert both.their_score(NAME, actual, expected, threshold=0.8).overall_score == 0.0
