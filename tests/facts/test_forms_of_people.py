"""Forms in which people write one fact: dates of other languages, spaced hyphens, escapes, hours of service.

The pairs were written before the rules, after a reading of answers that people call equal (SQuAD, GermanQuAD and
NQ-open of the Semantic Answer Similarity data).
"""

import pytest

from fairtrial.text.facts.fact_agreement import compare_facts

SAME = [
    ("am 7. Juli 1837", "7. Juli 1837"),
    ("1. Januar 2008", "Am 1. Januar 2008"),
    ("16. März 1861", "16 March 1861"),
    ("am 23. April 1810", "23 April 1810"),
    ("le 14 juillet 1789", "14 July 1789"),
    ("14 juillet 1789", "July 14, 1789"),
    ("1er février 2020", "1 February 2020"),
    ("12 de octubre de 1492", "12 October 1492"),
    ("the Twenty - sixth Amendment", "the Twenty-sixth Amendment"),
    ("twenty - four letters", "24 letters"),
    ("mar\\u00eda came on 3 May", "María came on 3 May"),
    ("seasons 6\\u20137", "seasons 6-7"),
    ("Support is open 24/7.", "Support is open around the clock."),
    ("The hotline is staffed round-the-clock.", "The hotline is staffed 24/7."),
    ("The desk is open 24 hours a day.", "The desk is open around the clock."),
    ("客服24小时在线。", "客服全天候在线。"),
    ("The model has a 1:43 scale.", "The model has a scale of 1 to 43."),
    ("over half of all birds", "over half"),
    ("More than half of the seats are taken.", "Of the seats, more than half."),
    ("storage conditions, compulsory texts, equipment, etc.", "storage conditions, compulsory texts, equipment"),
    ("The box holds a mug, a kettle, a lamp, and so on.", "The box holds a mug, a kettle and a lamp."),
    ("The bag has 3 pens, 2 rulers, etc.", "The bag has 3 pens and 2 rulers."),
    # A name at the beginning of a sentence, and a word of English, are no months.
    ("Juan is 25. Julio is 30.", "Juan, 25, and Julio, 30."),
    ("We sold 12 mayo sandwiches.", "We sold 12 sandwiches with mayo."),
]
LESS_EXACT = [("February 1082", "1082"), ("in November 1347", "in 1347"), ("on 3 May 1204", "in May 1204")]
OTHER = [
    ("over half of all birds", "over a third"),
    ("more than half of the seats", "more than 40%"),
    ("February 1082", "1083"),
    ("in November 1347", "in 1247"),
    ("storage conditions, compulsory texts, equipment, etc.", "storage conditions, compulsory texts, batteries, etc."),
    ("am 7. Juli 1837", "8. Juli 1837"),
    ("am 7. Juli 1837", "7. Juni 1837"),
    ("14 juillet 1789", "14 juin 1789"),
    ("am 23. April 1810", "am 24. April 1810"),
    ("12 de octubre de 1492", "13 de octubre de 1492"),
    ("the Twenty - sixth Amendment", "the Twenty - seventh Amendment"),
    ("twenty - four letters", "twenty - five letters"),
    ("seasons 6\\u20137", "seasons 6\\u20138"),
    ("Support is open around the clock.", "Support is open 24/5."),
    ("Support is open around the clock.", "Support is open 12 hours a day."),
    ("The desk is open 12 hours a day.", "The desk is open around the clock."),
    ("The model has a 1:43 scale.", "The model has a scale of 1 to 18."),
]
WITHOUT = [
    # An idiom states no hours of service.
    "We worked around the clock to fix it.",
    "He ran around the clock tower.",
]


@pytest.mark.parametrize(("reference", "reply"), SAME)
def test_one_fact_in_another_form_agrees(reference: str, reply: str) -> None:
    """Neither is a fact missing, nor is one contradicted."""
    agreement = compare_facts(reference, reply)
    assert not agreement.contradicted
    assert {item.state for item in agreement.findings} <= {"found"}


@pytest.mark.parametrize(("reference", "reply"), OTHER)
def test_another_fact_in_the_same_form_fails(reference: str, reply: str) -> None:
    """A changed number passes in none of these forms."""
    agreement = compare_facts(reference, reply)
    assert agreement.contradicted or "missing" in {item.state for item in agreement.findings}


@pytest.mark.parametrize(("reference", "reply"), LESS_EXACT)
def test_a_less_exact_date_is_undecided(reference: str, reply: str) -> None:
    """The year of a date neither states nor denies it, also before 1500."""
    agreement = compare_facts(reference, reply)
    assert not agreement.contradicted
    assert "undecided" in {item.state for item in agreement.findings}


@pytest.mark.parametrize("text", WITHOUT)
def test_an_idiom_states_no_hours(text: str) -> None:
    """Nobody offers a service in it."""
    assert not compare_facts(text, text).findings


def test_a_number_before_a_month_of_two_languages_stays_a_number() -> None:
    """The room of "in room 7. August 2019 was hot" is no day."""
    (room, month) = compare_facts(
        "He is in room 7. August 2019 was hot.", "It was room 7. August 2019 was hot."
    ).findings
    assert (room.fact.kind, month.fact.kind) == ("number", "date")
