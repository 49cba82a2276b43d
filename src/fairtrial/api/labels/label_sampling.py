"""Sample outcomes for labels. Every draw states the probability with which it takes each outcome.

Estimates from labels need the probabilities: an outcome that was drawn with probability p stands for 1/p outcomes.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, TypeVar

from fairtrial.judge.ballot_costs import collect_ballot_ids

if TYPE_CHECKING:
    from fairtrial.records.ballot import Ballot, Decision
    from fairtrial.records.score import Score

RANDOM_SHARE = 0.2
"""The share of a sample of uncertain outcomes that is drawn at random from all others."""

T = TypeVar("T")
Sample = list[tuple[T, float]]
"""What was drawn, in random order, each with the probability with which it was drawn."""


@dataclass(frozen=True)
class Candidate:
    """An outcome, or a part of one, that people can label. `part` is the text of its key, "" for a whole outcome.

    `closeness` says how close the votes of the judge were: 0 if they were unanimous, 1 at a tie.
    """

    position: int
    attempt: int
    part: str = ""
    passed: bool = False
    closeness: float = 0.0


def draw_random(candidates: Sequence[T], number: int, source: random.Random) -> Sample[T]:
    """Draw candidates with equal probabilities."""
    size = min(number, len(candidates))
    return [(candidate, size / len(candidates)) for candidate in source.sample(candidates, size)]


def draw_strata(passed: Sequence[T], others: Sequence[T], number: int, source: random.Random) -> Sample[T]:
    """Draw half of the candidates from each verdict. A verdict with too few leaves its places to the other one."""
    of_passed = min(len(passed), max(number // 2, number - len(others)))
    sample = draw_random(passed, of_passed, source) + draw_random(others, number - of_passed, source)
    source.shuffle(sample)
    return sample


def draw_uncertain(candidates: Sequence[Candidate], number: int, source: random.Random) -> Sample[Candidate]:
    """Draw the candidates with the closest votes, and a share of all others at random.

    The random share keeps estimates possible, because every outcome then has a probability above 0. At the boundary,
    candidates with equal closeness are drawn at random, and their probability counts both ways to be drawn.
    """
    size = min(number, len(candidates))
    at_random = min(ceil(RANDOM_SHARE * size), size)
    ordered = source.sample(candidates, len(candidates))
    ordered.sort(key=lambda candidate: -candidate.closeness)  # stable, so that equal candidates stay in random order
    closest, others = ordered[: size - at_random], ordered[size - at_random :]
    by_chance = at_random / len(others) if others else 0.0
    boundary = closest[-1].closeness if closest else float("inf")
    equal = sum(candidate.closeness == boundary for candidate in candidates)
    certain = sum(candidate.closeness == boundary for candidate in closest)

    def probability(candidate: Candidate) -> float:
        if candidate.closeness > boundary:
            return 1.0
        if candidate.closeness < boundary:
            return by_chance
        return certain / equal + (1 - certain / equal) * by_chance

    sample = closest + source.sample(others, at_random)
    source.shuffle(sample)
    return [(candidate, probability(candidate)) for candidate in sample]


def draw_failures(modes: Sequence[Sequence[T]], alone: Sequence[T], number: int, source: random.Random) -> Sample[T]:
    """Draw half of the failures at random, a third spread over the modes, and the rest from those without a mode.

    The modes come first, the largest with the first place. A mode or the failures without one that have too few leave
    their places to the random half, which is drawn from all that is not drawn yet. Every failure has a probability
    above 0.
    """
    all_items = [item for own in (*modes, alone) for item in own]
    size = min(number, len(all_items))
    quotas = _spread(list(map(len, modes)), size // 3)
    quotas.append(min(len(alone), size - (size + 1) // 2 - size // 3))
    groups = [*modes, alone]
    picks = [source.sample(range(len(own)), quota) for own, quota in zip(groups, quotas, strict=True)]
    rest = [
        (group, place) for group, own in enumerate(groups) for place in set(range(len(own))).difference(picks[group])
    ]
    by_chance = source.sample(sorted(rest), size - sum(quotas))
    at_random = len(by_chance) / len(rest) if rest else 0.0
    sample = [(group, place) for group, places in enumerate(picks) for place in places] + by_chance
    source.shuffle(sample)
    shares = [quota / len(own) if own else 0.0 for own, quota in zip(groups, quotas, strict=True)]
    return [(groups[group][place], shares[group] + (1 - shares[group]) * at_random) for group, place in sample]


def _spread(sizes: Sequence[int], number: int) -> list[int]:
    """Return how many of each group are drawn if the groups take turns."""
    quotas = [0] * len(sizes)
    while number and any(quota < size for quota, size in zip(quotas, sizes, strict=True)):
        for place, size in enumerate(sizes):
            if number and quotas[place] < size:
                quotas[place] += 1
                number -= 1
    return quotas


def measure_closeness(score: Score, ballots: Mapping[str, Ballot]) -> float | None:
    """Return how close the closest decision behind a score was, or None if no decision has two votes."""
    decisions = (
        decision
        for name in collect_ballot_ids(score)
        if (ballot := ballots.get(name)) is not None
        for decision in ballot.decisions.values()
    )
    return max(_closeness(decisions), default=None)


def _closeness(decisions: Iterable[Decision]) -> Iterator[float]:
    for decision in decisions:
        counts = sorted((*decision.counted.values(), 0), reverse=True)
        if sum(counts) > 1:
            yield 1 - (counts[0] - counts[1]) / sum(counts)


def overlapping(numbers: Sequence[int], share: float, source: random.Random) -> set[int]:
    """Return the numbers of the items that several people label: a random share, at least one if there is a share."""
    size = min(len(numbers), ceil(share * len(numbers)))
    return set(source.sample(numbers, size))
