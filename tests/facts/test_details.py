"""Details of a reference that nobody asked for, and forms of answers that lost their layout."""

from __future__ import annotations

import pytest

from fairtrial.text.facts.fact_agreement import compare_facts


def states(reference: str, reply: str, question: str = "") -> list[str]:
    """Return the states of the facts of a reference."""
    agreement = compare_facts(reference, reply, question=question)
    return ["contradicted"] if agreement.contradicted else [item.state for item in agreement.findings]


@pytest.mark.parametrize(
    ("question", "reference", "reply"),
    [
        ("Who painted the hall?", "Mara Lind, in 1911", "It was painted by Mara Lind."),
        ("Where is the mill?", "Port Ellis (3 miles from Oak)", "The mill is in Port Ellis."),
        ("Which treaty ended it?", "Treaty of Lund in 1679", "the Treaty of Lund"),
        ("", "network layer or layer 3", "It is the network layer."),
    ],
)
def test_a_detail_that_nobody_asked_for_is_undecided(question: str, reference: str, reply: str) -> None:
    """The reply states the name that answers the question. Whether it must state the rest is not known."""
    assert states(reference, reply, question) == ["undecided"]


@pytest.mark.parametrize(
    ("question", "reference", "reply", "state"),
    [
        ("When did Mara Lind paint the hall?", "Mara Lind, in 1911", "Mara Lind painted it.", "missing"),
        ("Who painted the hall, and when?", "Mara Lind, in 1911", "Mara Lind painted it.", "missing"),
        ("Who painted the hall?", "Mara Lind, in 1911", "It was Ada Holm.", "missing"),
        ("Who painted the hall?", "Mara Lind, in 1911", "Mara Lind, in 1912", "contradicted"),
        ("What about my parcel?", "It left, and takes 3 days", "It left.", "missing"),
        ("", "Mara Lind, in 1911", "It was painted by Mara Lind.", "missing"),
    ],
)
def test_what_is_asked_for_is_no_detail(question: str, reference: str, reply: str, state: str) -> None:
    """A question about a date, another answer, another value, and a reply without the name."""
    assert states(reference, reply, question) == [state]


@pytest.mark.parametrize(
    ("reference", "reply", "error"),
    [
        ("$40,000", "The bail was $40,0002.", "The bail was $50,0002."),
        ("the 1870s", "It was built in the 1870s3.", "It was built in the 1850s3."),
        ("3 May 1724", "It sank on 3 May 17241.", "It sank on 3 May 17341."),
        ("₹ 12.75 lakh", "It earned ₹12. 75 lakh.", "It earned ₹13. 75 lakh."),
        ("48 months", "A colt is one until age 4.", "A colt is one until age 5."),
        ("They have four-year terms.", "They havefour-year terms.", "They havefive-year terms."),
        ("two four-year terms", "There are two four-year terms.", "There are two five-year terms."),
        ("1", "They have won it once, in 1988.", "They have won it twice, in 1988 and 1990."),
    ],
)
def test_forms_that_lost_their_layout(reference: str, reply: str, error: str) -> None:
    """A footnote's mark, a space, an age and "once" hide no value, and another value still shows."""
    assert set(states(reference, reply)) == {"found"}
    assert not {"found", "undecided"} & set(states(reference, error))


def test_a_verse_need_not_be_repeated() -> None:
    """The place of a quotation in a book is no time of the day, and another verse contradicts it."""
    assert states("It is from Joel 2:28.", "It is from the book of Joel.") == []
    assert states("It is from Joel 2:28.", "It is from Joel 3:28.") == ["contradicted"]


def test_a_nickname_inside_a_name_is_no_quotation() -> None:
    """Its marks are no title."""
    assert states('Ada "Dot" Holm', 'Ada Holm wrote "The Lake".') == []
    assert states('It is called "Dot".', 'It is called "Fen".') == ["contradicted"]


def test_a_member_of_a_list_that_the_question_names_need_not_be_repeated() -> None:
    """A place that the user named already."""
    reference = "Ellis Quay, Lund, Sweden"
    assert states(reference, "It is in Lund, Sweden.", "Where is Ellis Quay?") == []


@pytest.mark.parametrize(
    ("reference", "reply"),
    [("247.3 million", "It has over 247 million acres."), ("5 liters", "It holds 4.5 to 6 liters.")],
)
def test_a_rounded_number_with_a_unit_and_a_range_with_one_are_vaguer(reference: str, reply: str) -> None:
    """Both include the value of the reference."""
    assert states(reference, reply) == ["undecided"]
