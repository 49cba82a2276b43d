"""Cases whose result depends on the order of the cases, from attempts in random orders."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fairtrial.stats.several import fisher, holm

ALPHA = 0.05
"""The largest probability that an effect of one case on another is named although no result depends on the order."""
PLACE_ALPHA = 0.01
"""The largest probability that an effect of the place is named, beside `ALPHA`, which pairs of cases need whole."""

_MOST_CASES = 400
"""Up to so many cases, the halves of the orders are compared. The exact test of more would take seconds."""
_NEGLIGIBLE, _LEAST = 1e-36, 1e-30
"""Sums of a negligible probability are left out. A tail is at least `_LEAST`, which exceeds all of them together."""


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


class PlaceEffect(NamedTuple):
    """The failed attempts and all attempts of cases at early places of their orders, and at later places.

    With `only_first`, the early place is the first one. Otherwise, it is each place in the first half of an order.
    `p` is corrected for both kinds of places.
    """

    only_first: bool
    early: tuple[int, int]
    late: tuple[int, int]
    p: float


class OrderStudy(NamedTuple):
    """What the attempts of a run say about orders.

    `unstable` are the cases with different results. With fewer than the `smallest` number of attempts, no effect of
    one case on another can be named. It is None if there are enough. `place` is the clearest effect of the place in an
    order on the result of whatever case is there.
    """

    effects: Sequence[OrderEffect]
    unstable: Sequence[int]
    smallest: int | None
    place: PlaceEffect | None = None


def study_orders(orders: Mapping[int, Sequence[int]], outcomes: Mapping[tuple[int, int], bool]) -> OrderStudy:
    """Return the cases whose result depends on whether another case came before them.

    `orders` are the positions of the cases in the order of each attempt. `outcomes` say for a position and an attempt
    whether the attempt passed. Attempts without a verdict are absent. The orders are drawn at random, so that the exact
    test of Fisher holds for each pair of cases. Of several such cases, the one with the smallest p is named. Two exact
    tests are about places instead of cases: of the first place, and of the first half.
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
    kinds = (True, False) if len(positions) <= _MOST_CASES else (True,)
    places = [_compare_places(orders, outcomes, only_first=only_first) for only_first in kinds]
    significant = [
        effect._replace(p=p)
        for effect, p in zip(candidates, holm([effect.p for effect in candidates]), strict=True)
        if p <= ALPHA
    ]
    clearest = min(places, key=lambda effect: effect.p)
    place = clearest._replace(p=min(1.0, len(places) * clearest.p))
    best = [
        min((effect for effect in significant if effect.position == position), key=lambda effect: effect.p)
        for position in dict.fromkeys(effect.position for effect in significant)
    ]
    most = count_attempts(max(1, len(unstable)) * (len(positions) - 1)) if len(positions) > 1 else None
    return OrderStudy(
        best,
        unstable,
        most if most is not None and len(orders) < most else None,
        place if place.p <= PLACE_ALPHA else None,
    )


def _compare_places(
    orders: Mapping[int, Sequence[int]], outcomes: Mapping[tuple[int, int], bool], *, only_first: bool
) -> PlaceEffect:
    """Return the failures at early places and at later places, with the exact p of both sides.

    Every order of an attempt is equally likely. If results do not depend on it, the failures at its early places are
    hypergeometric, given all failures of the attempt. The statistic is their sum over all attempts.
    """
    counts = {True: [0, 0], False: [0, 0]}
    start, chances = 0, [1.0]
    for attempt, order in orders.items():
        early_places = 1 if only_first else len(order) // 2
        sizes, failures = {True: 0, False: 0}, {True: 0, False: 0}
        for place, position in enumerate(order):
            if (position, attempt) in outcomes:
                sizes[place < early_places] += 1
                failures[place < early_places] += not outcomes[position, attempt]
        for is_early, row in counts.items():
            row[0] += failures[is_early]
            row[1] += sizes[is_early]
        first, own = _trim(0, _hypergeometric(sizes[True], sizes[False], sum(failures.values())))
        start, chances = _trim(start + first, _convolve(chances, own))
    (failed, total), (late_failed, late_total) = counts[True], counts[False]
    middle = max(0, failed - start)
    tails = (math.fsum(chances[: max(0, failed + 1 - start)]), math.fsum(chances[middle:]))
    p = min(1.0, 2 * max(_LEAST, min(tails)))
    return PlaceEffect(only_first, (failed, total), (late_failed, late_total), p)


def _hypergeometric(early: int, late: int, failed: int) -> list[float]:
    """Return the probabilities of 0, 1, ... failures at the early places, of `failed` at all places."""
    total = math.comb(early + late, failed)
    return [
        math.comb(early, number) * math.comb(late, failed - number) / total for number in range(min(early, failed) + 1)
    ]


def _convolve(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """Return the probabilities of the sum of two numbers, from those of each."""
    sums = [0.0] * (len(first) + len(second) - 1)
    for right, q in enumerate(second):
        for place, p in enumerate(first, right):
            sums[place] += p * q
    return sums


def _trim(start: int, chances: list[float]) -> tuple[int, list[float]]:
    """Return the first number and the probabilities from it on, without negligible ones at both ends."""
    places = [place for place, chance in enumerate(chances) if chance >= _NEGLIGIBLE]
    return start + places[0], chances[places[0] : places[-1] + 1]


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
