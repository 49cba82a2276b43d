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
        ("The club was founded in 1936.", "The club was founded in 1936. It offered books to members only.", ""),
        ("It was reinstated in 1984.", "The death penalty was reinstated in 1984.", ""),
        ("수수료는 없습니다.", "수수료 없이 이용하실 수 있습니다.", ""),
    ],
)
def test_a_condition_that_another_text_names(reference: str, reply: str, question: str) -> None:
    """Neither a paraphrase, a negation, a question nor a word outside its frame is an invention."""
    assert compare_facts(reference, reply, question=question).promises == ()


@pytest.mark.parametrize(
    ("reference", "reply"),
    [
        ("The ticket is $80.", "The ticket is $80. A booking fee of $9 will be added."),
        ("You pay a 10% cancellation fee.", "You pay a 10% cancellation fee. We also charge a deposit of $70."),
        ("입장권은 8,000원입니다.", "입장권은 8,000원입니다. 수수료 900원이 추가됩니다."),
        ("상담원을 불렀습니다.", "상담원을 불렀습니다. 수수료 900원이 추가됩니다."),
        ("入場料は800円です。", "入場料は800円です。手数料90円が加算されます。"),
        ("已经付款。", "已经付款。另收手续费9元。"),
        ("已經付款。", "已經付款。另收手續費9元。"),
    ],
)
def test_a_fee_beside_a_known_price(reference: str, reply: str) -> None:
    """An amount that the reference does not state is an invention, although the reference names a price."""
    assert [item.topic for item in compare_facts(reference, reply).promises] == ["fee"]


@pytest.mark.parametrize(
    ("reference", "reply"),
    [
        ("The ticket is $80, with the fee $89.", "The ticket is $80. A fee of $9 will be added."),
        ("The ticket is $80 plus 10%.", "The ticket is $80. A fee of $8 will be added."),
        ("The ticket is $80.", "The ticket is $80. A booking fee may apply."),
        ("A change costs $15.", "A fee of $25 applies to changes."),
    ],
)
def test_a_fee_that_follows_from_a_price(reference: str, reply: str) -> None:
    """A fee that follows from the values, has no amount, or contradicts one already, is no second error."""
    assert compare_facts(reference, reply).promises == ()
