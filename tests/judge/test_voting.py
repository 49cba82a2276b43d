"""Stopping is exact: for every sequence of votes, the result is that of counting all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations_with_replacement, product

import pytest

from fairtrial.judge.voting import NOT_APPLICABLE, UNSCORED, Rule, count, fewest, find_settled, majority, middle
from fairtrial.records.ballot import VoteResult, agreement

VALID = majority(yes=["valid"], no=["invalid"])
RUBRIC = majority(yes=["yes"], no=["no"], not_applicable=["not_applicable"])
MEDIAN = middle({"1": 1, "2": 2, "3": 3, "4": 4, "5": 5})
RULES: list[tuple[Rule, tuple[str, ...], int]] = [
    (VALID, ("valid", "invalid"), 9),
    (RUBRIC, ("yes", "no", "not_applicable"), 7),
    (MEDIAN, ("1", "2", "3", "4", "5"), 4),
]


def tallies(answers: Sequence[str], number: int) -> list[Counter[str | None]]:
    """Every multiset of that many votes."""
    return [Counter(votes) for votes in combinations_with_replacement((*answers, None), number)]


@pytest.mark.parametrize(("rule", "answers", "most"), RULES)
def test_settled_is_exactly_that_all_completions_agree(rule: Rule, answers: tuple[str, ...], most: int) -> None:
    """An item is settled if and only if every multiset of outstanding votes leads to the same result."""
    for k in range(1, most + 1):
        for cast in range(k + 1):
            for tally in tallies(answers, cast):
                results = {count(tally + rest, rule, k) for rest in tallies(answers, k - cast)}
                expected = results.pop() if len(results) == 1 else None
                assert find_settled(tally, rule, answers, k) == expected, (k, tally)


@pytest.mark.parametrize(("rule", "answers", "most"), RULES)
def test_fewest_is_the_smallest_number_that_could_settle(rule: Rule, answers: tuple[str, ...], most: int) -> None:
    """Some continuation of that length settles the item, and none that is shorter."""
    for k in range(1, min(most, 6) + 1):
        for cast in range(k + 1):
            for tally in tallies(answers, cast):
                number = fewest(tally, rule, answers, k)
                could = [
                    any(find_settled(tally + rest, rule, answers, k) is not None for rest in tallies(answers, more))
                    for more in range(k - cast + 1)
                ]
                assert could.index(True) == number, (k, tally)


@pytest.mark.long
@pytest.mark.parametrize("k", range(1, 10))
def test_one_item_stops_exactly(k: int) -> None:
    """Every sequence of valid, invalid and abstention up to nine votes: the count of all, and no call too many."""
    for votes in product(("valid", "invalid", None), repeat=k):
        whole = count(Counter(votes), VALID, k)
        asked = 0
        while find_settled(Counter(votes[:asked]), VALID, ("valid", "invalid"), k) is None:
            wave = fewest(Counter(votes[:asked]), VALID, ("valid", "invalid"), k)
            for inside in range(1, wave):
                assert find_settled(Counter(votes[: asked + inside]), VALID, ("valid", "invalid"), k) is None
            asked += wave
        assert find_settled(Counter(votes[:asked]), VALID, ("valid", "invalid"), k) == whole


def test_a_tie_is_zero() -> None:
    """More valid than invalid is needed for 1.0."""
    assert count({"valid": 2, "invalid": 2}, VALID, 4) == VoteResult(0.0)


def test_abstentions_are_not_votes() -> None:
    """Half of the votes, rounded up, must be cast."""
    assert count(Counter({"valid": 2, None: 3}), VALID, 5) == UNSCORED
    assert count(Counter({"valid": 3, None: 2}), VALID, 5) == VoteResult(1.0)


def test_not_applicable_is_a_vote_cast() -> None:
    """Votes for "not applicable" count for the quorum, and win where they outnumber yes and no together."""
    assert count({"not_applicable": 2, "yes": 1}, RUBRIC, 5) == NOT_APPLICABLE
    assert count({"not_applicable": 2, "yes": 1, "no": 1}, RUBRIC, 5) == VoteResult(0.0)


def test_the_median_of_an_even_number_is_the_mean_of_the_middle_two() -> None:
    """Votes 2, 3, 4, 5 have the median 3.5."""
    assert count(Counter({"2": 1, "3": 1, "4": 1, "5": 1}), MEDIAN, 4) == VoteResult(3.5)


def test_agreement_counts_pairs_by_voter() -> None:
    """a: yes yes no has 1 of 3 pairs; with b: yes there are 3 mixed pairs, 2 of them equal."""
    votes = [("a", "yes"), ("a", "yes"), ("a", "no"), ("b", "yes")]
    assert agreement(votes) == (1, 3, 2, 3)


@pytest.mark.parametrize(
    ("answers", "rule"), [(("valid", "invalid"), VALID), (("yes", "no", "not_applicable"), RUBRIC)]
)
def test_five_unanimous_votes_take_three(answers: tuple[str, ...], rule: Rule) -> None:
    """Of five votes three can decide."""
    assert fewest({}, rule, answers, 5) == 3
