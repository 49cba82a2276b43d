"""Answers in free forms: other units, ranges, copied pages and remarks that are no claim against the reference."""

from __future__ import annotations

import pytest

from fairtrial.text.facts.fact_agreement import compare_facts


def verdict(reference: str, reply: str) -> str:
    """Return "same", or what is wrong with the reply first."""
    agreement = compare_facts(reference, reply)
    if agreement.contradicted:
        return "contradicted"
    states = {finding.state for finding in agreement.findings}
    return "missing" if "missing" in states else "undecided" if "undecided" in states else "same"


@pytest.mark.parametrize(
    ("reference", "paraphrase", "error"),
    [
        ("The door is 6ft 8in high.", "It is 6-feet 8-inches high.", "It is 6 ft 9 in high."),
        ("She is 5'4\" tall.", "She is 163 cm tall.", "She is 5'5\" tall."),
        ("The bar is at 2.29 m (7 ft 6 in).", "The bar is at 2.29 m.", "The bar is at 2.39 m."),
        ("It melts at 0 °C.", "It melts at 273.15 kelvin.", "It melts at 283.15 kelvin."),
        ("The yield was 85 %.", "The yield was 0.85.", "The yield was 0.75."),
        ("It takes 27.3 days.", "It takes 27. 3 days .", "It takes 28. 3 days ."),
        ("It has 12 segments.", "It is divided into12 segments.", "It is divided into13 segments."),
        ("It ranks 4.", "It is ranked 4in the world list.", "It is ranked 6in the world list."),
        ("It runs 6–14 July.", "It runs from July 6th to July 14th.", "It runs from July 7th to July 14th."),
        ("See Article Two.", "See Article II of the text.", "See Article III of the text."),
        ("It has a V8-engine.", "It has a 5-litre V8.", "It has a 5-litre V6."),
        ("36 months", "It is 3 years old.", "It is 2 years old."),
        ("10-15 million", "It has 10 million to 15 million users.", "It has 10 million to 27 million users."),
    ],
)
def test_other_forms_of_a_value(reference: str, paraphrase: str, error: str) -> None:
    """A value in another form is the same, and another value in that form is not."""
    assert verdict(reference, paraphrase) == "same"
    assert verdict(reference, error) in {"contradicted", "missing"}


@pytest.mark.parametrize(
    ("reference", "reply"),
    [
        ("8 June 845", "It was in 845."),
        ("from 1952 until 1957", "1952"),
        ("1187", "It was in the 12th century, before 1260."),
        ("It cost $3.141 billion.", "It cost $3.14 billion."),
        ("20 to 40 million", "There were around 30 million."),
    ],
)
def test_a_vaguer_value_is_undecided(reference: str, reply: str) -> None:
    """A value that includes that of the reference neither states nor denies it."""
    assert verdict(reference, reply) == "undecided"


@pytest.mark.parametrize(
    ("reference", "reply"),
    [
        ("It cost $3.141 billion.", "It cost $3.15 billion."),
        ("1187", "It was in the 13th century."),
        ("20 to 40 million", "There were around 50 million."),
    ],
)
def test_a_vaguer_value_that_excludes_it(reference: str, reply: str) -> None:
    """A round number, a century or a guess that does not include the value is wrong."""
    assert verdict(reference, reply) in {"contradicted", "missing"}


@pytest.mark.parametrize(
    ("reference", "reply"),
    [
        ("The lake is in northern Ruritania.", "The lake is in the northwestern corner, just west of Strelsau."),
        ("Easy Move", "The Easy Move tool was offered for this. However, Easy Move is not available in version 10."),
        ("The Oak club", "The Oak club fights against false advertising."),
        ('A "full" moon', 'It is called "night lamp" here, a full moon.'),
        ("Norway, Sweden and Finland", "It borders Norway to the north and west, Sweden and Finland."),
        ("USA, Chad and Peru", "They are the United States, Chad and Peru."),
        ("the post office", "At the post office. Some shops charge a fee for it."),
        ("tapir", "The tapir. These are the only surviving members of the family."),
    ],
)
def test_a_remark_is_no_contradiction(reference: str, reply: str) -> None:
    """A direction between two others, a limit elsewhere, a title and third parties deny nothing."""
    assert not compare_facts(reference, reply, question='What do people call "night lamp"?').contradicted


@pytest.mark.parametrize(
    ("reference", "reply"),
    [
        ("The lake is in northern Ruritania.", "The lake is in southern Ruritania."),
        ("Easy Move works here.", "Easy Move does not work here."),
        ("The Oak club won the cup.", "It is false that the Oak club won the cup."),
        ("The Oak club won the cup.", "The Oak club won the cup: that is wrong."),
        ("Norway, Sweden and Finland", "It borders Norway, Sweden, Finland and Russia."),
        ("USA, Chad and Peru", "They are the United Kingdom, Chad and Peru."),
        ("Come to the desk.", "Come to the desk. We charge a fee for it."),
        ("The hall is open.", "The hall is open to members only."),
    ],
)
def test_a_claim_in_the_same_form_is_one(reference: str, reply: str) -> None:
    """The same words against the reference contradict it, or invent a condition."""
    assert verdict(reference, reply) == "contradicted"
