"""Rules that turn votes into a result, and that say when enough votes are in.

A vote on an item is one of a closed set of answers, or None: an abstention. A rule turns the votes into a result. The
result depends only on how often each answer was given among all `k` votes. Voting may therefore stop when every
completion of the missing votes gives the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from statistics import median

from fairtrial.records.ballot import Answer, VoteResult

Tally = Mapping[Answer | None, int]
"""The number of votes for each answer. None counts the abstentions."""


UNSCORED = VoteResult()
NOT_APPLICABLE = VoteResult(applicable=False)

Rule = Callable[[Tally], VoteResult]
"""Returns the result of the votes, if there are enough of them. A rule ignores abstentions."""


def majority(yes: Iterable[Answer], no: Iterable[Answer], not_applicable: Iterable[Answer] = ()) -> Rule:
    """Return the rule "more yes than no": 1.0 if so, else 0.0. A tie is 0.0.

    If the votes for "not applicable" outnumber yes and no together, the item does not apply.
    """
    positive, negative, absent = tuple(yes), tuple(no), tuple(not_applicable)

    def rule(tally: Tally) -> VoteResult:
        for_it = sum(tally.get(answer, 0) for answer in positive)
        against = sum(tally.get(answer, 0) for answer in negative)
        if sum(tally.get(answer, 0) for answer in absent) > for_it + against:
            return NOT_APPLICABLE
        return VoteResult(1.0 if for_it > against else 0.0)

    return rule


def middle(numbers: Mapping[Answer, float]) -> Rule:
    """Return the rule "the median", or the mean of the middle two if their number is even."""

    def rule(tally: Tally) -> VoteResult:
        return VoteResult(float(median(numbers[answer] for answer in numbers for _ in range(tally.get(answer, 0)))))

    return rule


def median_number(tally: Tally) -> VoteResult:
    """Return the median of answers that are numbers, for a question whose answers are not a closed set."""
    numbers = [float(answer) for answer, number in tally.items() if answer is not None for _ in range(number)]
    return VoteResult(float(median(numbers)))


def quorum(k: int) -> int:
    """Return how many of `k` votes must be cast for a result: half of them, rounded up."""
    return (k + 1) // 2


def count(tally: Tally, rule: Rule, k: int) -> VoteResult:
    """Return the result of `k` votes: unscored below the quorum, and the result of the rule otherwise."""
    cast = sum(number for answer, number in tally.items() if answer is not None)
    return rule(tally) if cast >= quorum(k) else UNSCORED


def find_settled(tally: Tally, rule: Rule, answers: Sequence[Answer], k: int) -> VoteResult | None:
    """Return the result that all completions of the outstanding votes share, or None if they differ.

    Only the completions that give all outstanding votes to one answer, or to abstentions, are computed. Rules are
    monotone in each answer, so every mixture lies between these completions.
    """
    return _try_settle(frozenset(tally.items()), rule, tuple(answers), k)


@lru_cache(maxsize=4096)
def _try_settle(
    votes: frozenset[tuple[Answer | None, int]], rule: Rule, answers: tuple[Answer, ...], k: int
) -> VoteResult | None:
    tally = dict(votes)
    outstanding = k - sum(tally.values())
    results = {count(_add(tally, answer, outstanding), rule, k) for answer in (*answers, None)}
    return results.pop() if len(results) == 1 else None


def fewest(tally: Tally, rule: Rule, answers: Sequence[Answer], k: int) -> int:
    """Return the smallest number of further votes that could settle the item, or 0 if it is settled."""
    return _fewest(frozenset(tally.items()), rule, tuple(answers), k)


@lru_cache(maxsize=4096)
def _fewest(votes: frozenset[tuple[Answer | None, int]], rule: Rule, answers: tuple[Answer, ...], k: int) -> int:
    tally = dict(votes)
    kinds = (*answers, None)
    outstanding = k - sum(tally.values())
    for number in range(outstanding):
        if any(find_settled(_add(tally, answer, number), rule, answers, k) is not None for answer in kinds):
            return number
    return outstanding


def _add(tally: Tally, answer: Answer | None, number: int) -> dict[Answer | None, int]:
    more = dict(tally)
    more[answer] = more.get(answer, 0) + number
    return more
