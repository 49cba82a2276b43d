"""Labels are split once: those that choose a judge have no part in its test."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fairtrial.analysis.alignment.label_split import LabelledOutcome, count_verdicts, split_labels

OUTCOMES = st.lists(
    st.tuples(st.integers(0, 30), st.booleans(), st.sampled_from(["en", "ko", "ja"])), min_size=1, max_size=120
).map(
    lambda rows: [
        LabelledOutcome(str(number), case, passed, language) for number, (case, passed, language) in enumerate(rows)
    ]
)


@given(OUTCOMES, st.integers(0, 5))
def test_each_outcome_is_in_one_half(outcomes: list[LabelledOutcome], seed: int) -> None:
    """None is lost, and none is in both."""
    first, second = split_labels(outcomes, seed)
    assert sorted(own.key for own in (*first, *second)) == sorted(own.key for own in outcomes)


@given(OUTCOMES, st.integers(0, 5))
def test_a_case_is_in_one_half(outcomes: list[LabelledOutcome], seed: int) -> None:
    """The attempts of a case resemble each other, so that they would tell the test what it is about."""
    first, second = split_labels(outcomes, seed)
    assert not {own.case for own in first} & {own.case for own in second}


def test_the_halves_have_equal_shares() -> None:
    """By verdict and by language, up to one case."""
    rows = [LabelledOutcome(str(n), n, n % 3 > 0, "ko" if n % 5 == 0 else "en") for n in range(300)]
    halves = split_labels(rows, 1)
    counts = [
        {(own.passed, own.language): 0 for own in rows}
        | {
            kind: sum((own.passed, own.language) == kind for own in half)
            for kind in {(own.passed, own.language) for own in half}
        }
        for half in halves
    ]
    assert all(abs(counts[0][kind] - counts[1][kind]) <= 1 for kind in counts[0])


def test_the_seed_decides() -> None:
    """The same seed gives the same halves, and another seed gives others."""
    rows = [LabelledOutcome(str(n), n, n % 2 > 0) for n in range(60)]
    assert split_labels(rows, 1) == split_labels(list(rows), 1)
    assert split_labels(rows, 1) != split_labels(rows, 2)


def test_cases_of_each_verdict_are_counted() -> None:
    """The attempts of a case stay in one half, so that three failed attempts of a case tell about one case."""
    rows = [LabelledOutcome(str(n), n // 3, n > 3) for n in range(12)]
    assert count_verdicts(rows) == (3, 2)
