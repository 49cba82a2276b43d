"""Mistakes that operators made once in texts of real agents: a frame that agrees to a refusal, a particle, a hint."""

from __future__ import annotations

import pytest

from fairtrial import api
from fairtrial.mutations.operator import Scene
from fairtrial.mutations.table import OPERATORS
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import Invocation, Message

AGREEING = ("Gladly.", "네, 안내해 드리겠습니다.", "はい、ご案内いたします。", "好的。")
REFUSING = [
    "No, do not combine them.",
    "Yes, breakfast is included.",
    "I'm sorry, the museum is closed.",
    "Unfortunately, seats are sold out.",
    "The ticket cannot be refunded.",
    "아니요, 환불은 불가합니다.",
    "죄송하지만 매진되었습니다.",
    "네, 조식이 포함되어 있습니다.",
    "이 요금제는 환불할 수 없습니다.",
    "いいえ、返品はできません。",
    "申し訳ございませんが、満席です。",
    "ペットはご入室いただけません。",
    "不，这两种药不能一起吃。",
    "抱歉，今天已经售完。",
    "這個房型不可以取消。",
]
INFORMING = {
    "The museum opens at nine.": "Gladly.",
    "박물관은 9시에 엽니다.": "네, 안내해 드리겠습니다.",
    "開館は9時です。": "はい、ご案内いたします。",
    "博物馆九点开门。": "好的。",
}


def replies(operator: str, text: str) -> set[str]:
    """What an operator makes of a reply that is expected as it stands, over some seeds."""
    conversation = (Invocation(Message("?"), (), Message(text)),)
    scene = Scene(EvalCase("one", conversation), conversation, 0)
    made = (OPERATORS[operator].mutate(scene, str(seed)) for seed in range(12))
    return {mutant[0].reply for mutant in made if mutant}


@pytest.mark.parametrize("text", REFUSING)
def test_no_frame_agrees_to_a_no_or_doubles_a_yes(text: str) -> None:
    """A judge would be right to object to a glad no."""
    framed = replies("polite_frame", text)
    assert framed
    assert not any(reply.startswith(frame) for reply in framed for frame in AGREEING)


@pytest.mark.parametrize(("text", "frame"), INFORMING.items())
def test_a_frame_may_agree_to_inform(text: str, frame: str) -> None:
    """Models begin so."""
    assert any(reply.startswith(frame) for reply in replies("polite_frame", text))


def test_a_korean_ending_fits_the_new_unit() -> None:
    """원 ends in a consonant, 달러 in a vowel."""
    assert replies("unit_changed", "합계는 490원이에요.") == {"합계는 490달러예요."}
    assert replies("unit_changed", "합계는 490달러예요.") == {"합계는 490원이에요."}


def test_a_swapped_currency_has_a_hint_of_its_own() -> None:
    """ROUGE counts no symbols, so that no threshold of it would notice the change."""
    cases = EvalSet("s", (EvalCase("a", (Invocation(Message("?"), (), Message("The room costs $95.")),)),))
    report = api.mutate(cases, {"response_match_score": 0.8}, operators=["unit_changed"])
    (survivor,) = report.survivors
    assert survivor.hint == "response_match_score does not count symbols such as $ and €. Add facts_match_v1."
