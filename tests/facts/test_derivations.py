"""Values of a reference that follow from two values of the reply, and ranges of years: neither stated nor denied."""

import pytest

from fairtrial.text.facts.fact_agreement import compare_facts


def states(reference: str, reply: str) -> set[str]:
    """Return the states of the facts of the reference."""
    return {finding.state for finding in compare_facts(reference, reply).findings}


@pytest.mark.parametrize(
    ("reference", "reply"),
    [
        ("3 of the 8 tests failed.", "Of 8 tests, 5 passed."),
        ("The class ends at 4:20 pm.", "It starts at 3 pm and takes 80 minutes."),
        ("The class ends at 4:20.", "It starts at 3 pm and takes 80 minutes."),
        ("You save 10%.", "You pay 28.80 USD instead of 32 USD."),
        ("The total is $24.", "It is 3 tickets at $8."),
        ("The wait is 10 minutes.", "It opens at 8:50, and you come at 9:00."),
        ("税抜きは3,000円です。", "お支払いは3,300円、うち税が300円です。"),
    ],
)
def test_a_value_that_follows_from_the_reply_is_undecided(reference: str, reply: str) -> None:
    """Whether the reply means the value is not known, so that it neither passes nor fails."""
    assert "undecided" in states(reference, reply)
    assert not states(reference, reply) & {"missing", "contradicted"}


@pytest.mark.parametrize(
    ("reference", "reply"),
    [
        ("The class ends at 4:20 pm.", "It starts at 3 pm and takes 70 minutes."),
        ("It takes 5 days.", "It takes 6 days, or 1 day by express."),
        ("The total is $24.", "It is 3 tickets at $9."),
    ],
)
def test_a_value_that_does_not_follow_is_contradicted_or_missing(reference: str, reply: str) -> None:
    """Another sum is a mistake, and nothing follows from a number and one."""
    assert states(reference, reply) & {"missing", "contradicted"}


@pytest.mark.parametrize(
    ("reference", "reply", "state"),
    [
        ("He played from 1985 to 1993.", "He played in 1985.", "undecided"),
        ("The style lasted from 1910 to 1939.", "It was popular in the 1920s.", "undecided"),
        ("He played from 1985 to 1993.", "He played in 1979.", "contradicted"),
        ("It takes 3 to 5 days.", "It takes 3 days.", "missing"),
    ],
)
def test_one_end_of_a_range_of_years_is_undecided(reference: str, reply: str, state: str) -> None:
    """Years inside a range do not deny it. A range of days has to be stated."""
    assert state in states(reference, reply)
