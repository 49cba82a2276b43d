"""Cases whose result depends on the order of the cases, from attempts in random orders."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fairtrial.stats.several import fisher, holm

ALPHA = 0.05
"""The largest probability that any order effect is named although no result depends on the order."""


class OrderEffect(NamedTuple):
    """A case that passes more often before another case, the trigger, than after it, or the reverse.

    `after` and `before` are the failed attempts and all attempts in which the case came after the trigger, or before
    it. `p` is corrected for all pairs of cases that were looked at.
    """

    position: int
    trigger: int
    after: tuple[int, int]
    before: tuple[int, int]
    p: float

    @property
    def fails_after(self) -> bool:
        """Whether the case fails more often after the trigger."""
        return self.after[0] * self.before[1] > self.before[0] * self.after[1]


class OrderStudy(NamedTuple):
    """What the attempts of a run say about orders.

    `unstable` are the cases with different results. With fewer than the `smallest` number of
    attempts, no effect of one case on another can be named. It is None if there are enough.
    """

    effects: Sequence[OrderEffect]
    unstable: Sequence[int]
    smallest: int | None


def study_orders(orders: Mapping[int, Sequence[int]], outcomes: Mapping[tuple[int, int], bool]) -> OrderStudy:
    """Return the cases whose result depends on whether another case came before them.

    `orders` are the positions of the cases in the order of each attempt. `outcomes` say for a position and an attempt
    whether the attempt passed. Attempts without a verdict are absent. The orders are drawn at random, so that the exact
    test of Fisher holds for each pair of cases. Of several such cases, the one with the smallest p is named.
    """
    ranks = {attempt: {position: rank for rank, position in enumerate(order)} for attempt, order in orders.items()}
    positions = sorted(set(itertools.chain.from_iterable(orders.values())))
    results = {
        position: {attempt: outcomes[position, attempt] for attempt in orders if (position, attempt) in outcomes}
        for position in positions
    }
    unstable = [position for position in positions if len(set(results[position].values())) == 2]
    candidates: list[OrderEffect] = []
    for position in unstable:
        candidates += [
            _compare(position, trigger, results[position], ranks)
            for trigger in positions
            if trigger != position and any(trigger in ranks[attempt] for attempt in results[position])
        ]
    significant = [
        effect._replace(p=p)
        for effect, p in zip(candidates, holm([effect.p for effect in candidates]), strict=True)
        if p <= ALPHA
    ]
    best = [
        min((effect for effect in significant if effect.position == position), key=lambda effect: effect.p)
        for position in dict.fromkeys(effect.position for effect in significant)
    ]
    most = count_attempts(max(1, len(unstable)) * (len(positions) - 1)) if len(positions) > 1 else None
    return OrderStudy(best, unstable, most if most is not None and len(orders) < most else None)


def _compare(
    position: int, trigger: int, results: Mapping[int, bool], ranks: Mapping[int, Mapping[int, int]]
) -> OrderEffect:
    counts = {True: [0, 0], False: [0, 0]}
    for attempt, is_passed in results.items():
        rank = ranks[attempt]
        if trigger in rank:
            row = counts[rank[trigger] < rank[position]]
            row[0] += not is_passed
            row[1] += 1
    after, before = (counts[True][0], counts[True][1]), (counts[False][0], counts[False][1])
    p = fisher(*after, *before) if after[1] and before[1] else 1.0
    return OrderEffect(position, trigger, after, before, p)


def count_attempts(pairs: int) -> int:
    """Return the smallest number of attempts with which the clearest effect is named among a number of pairs.

    The clearest effect splits the attempts in two halves, of which one always passes and the other always fails.
    """
    return next(n for n in itertools.count(2, 2) if 2 * pairs / math.comb(n, n // 2) <= ALPHA)
