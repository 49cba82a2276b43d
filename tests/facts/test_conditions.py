"""Fees and conditions that only a reply states."""

import pytest

from fairtrial.text.facts.fact_agreement import compare_facts


@pytest.mark.parametrize(
    ("reference", "reply", "topic"),
    [
        ("The hall is open.", "The hall is open. A booking fee applies.", "fee"),
        ("The hall is open.", "The hall is open. You must show a photo ID.", "identity"),
        ("The hall is open.", "The hall is open, but only for members.", "membership"),
        ("Tickets are sold here.", "Tickets are sold here and are non-refundable.", "final sale"),
        ("The talk is at 9:00.", "The talk is at 9:00. Attendance is mandatory.", "mandatory"),
        ("전시는 2층입니다.", "전시는 2층입니다. 별도의 수수료가 발생합니다.", "fee"),
        ("展示は2階です。", "展示は2階です。別途手数料が必要です。", "fee"),
        ("展厅在二楼。", "展厅在二楼。须另付押金。", "fee"),
    ],
)
def test_a_condition_that_no_other_text_names(reference: str, reply: str, topic: str) -> None:
    """The agent invents a rule of the house."""
    assert [(item.topic, item.is_condition) for item in compare_facts(reference, reply).promises] == [(topic, True)]


@pytest.mark.parametrize(
    ("reference", "reply", "question"),
    [
        ("A change costs $15.", "A fee of $15 applies to changes.", ""),
        ("Bring your driving licence.", "An identification is required.", ""),
        ("The hall is open.", "The hall is open. No fee applies.", ""),
        ("The hall is open.", "The hall is open. Is a fee charged elsewhere?", ""),
        ("The hall is open.", "A fee of $5 applies in the hall.", "What does the hall charge?"),
        ("It was reinstated in 1984.", "The death penalty was reinstated in 1984.", ""),
        ("수수료는 없습니다.", "수수료 없이 이용하실 수 있습니다.", ""),
    ],
)
def test_a_condition_that_another_text_names(reference: str, reply: str, question: str) -> None:
    """Neither a paraphrase, a negation, a question nor a word outside its frame is an invention."""
    assert compare_facts(reference, reply, question=question).promises == ()
