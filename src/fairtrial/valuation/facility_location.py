"""Facility location: choose k items that cover a set best, with a bound on any other choice.

The objective is monotone and submodular: the mean similarity of each client to its nearest selected item (facility
location), and the mean worth of the selected items. The greedy algorithm then reaches at least 1 - 1/e of the best
possible (Nemhauser, Wolsey and Fisher 1978, doi:10.1007/BF01588971), and 1/2 with quotas (Fisher et al. 1978,
doi:10.1007/BFb0121195). Stale gains are upper bounds, which saves most evaluations (Minoux 1978,
doi:10.1007/BFb0006528). In a large set, each step looks at a random sample of the items only, which keeps the guarantee
up to a chosen loss (Mirzasoleiman et al. 2015, arXiv 1409.7938).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

MOST_CLIENTS = 10_000
"""Above this number of items, a random sample of this size stands for all of them in the objective."""
BLOCK = 4096
"""Candidates that are evaluated at once in a pass over all candidates."""
BATCH = 256
"""Candidates that are evaluated at once while the next item is looked for."""
LOSS = 0.1
"""The expected share of the objective that random samples of candidates may cost in a large set."""
CONFIDENCE = 0.99
"""The confidence of a bound that rests on a sample of clients."""
_SEED = 20260102
_SMALLEST = 1e-12
"""Gains that differ by less count as equal, so that ties do not depend on rounding. The earlier item then wins."""


class Objective(NamedTuple):
    """The shares of coverage and worth in the objective, which add up to 1, and the worth of each item, 0..1."""

    coverage: float
    worths: NDArray[np.float64]


class Placement(NamedTuple):
    """The places of the selected items in the order of their selection, and the gain of each when it was selected.

    `objective` is their objective over the clients, and `bound` is at least the objective of every other selection of
    the same size. If the clients are a sample, `bound` holds with a confidence of 99 %.
    """

    places: list[int]
    gains: list[float]
    objective: float
    bound: float
    client_count: int


def mean_cosine(vectors: Floats) -> float:
    """Return the mean cosine of all pairs of different vectors of unit length, at least 0."""
    import numpy as np

    count = len(vectors)
    if count < 2:
        return 0.0
    total = np.sum([vectors[low : low + BLOCK].sum(axis=0, dtype=np.float64) for low in range(0, count, BLOCK)], axis=0)
    return float(min(0.99, max(0.0, (total @ total - count) / (count * (count - 1)))))


def choose(
    vectors: Floats, objective: Objective, quotas: Sequence[int], groups: NDArray[np.int64], baseline: float
) -> Placement:
    """Return as many items as the quotas of the groups add up to.

    `vectors` are n rows of unit length, and `groups` holds the group of each item. A similarity is
    (cosine - baseline) / (1 - baseline), at least 0. The result depends on the order of the items in ties only.
    """
    search = _LazySearch(vectors, objective, sum(quotas), baseline)
    room = list(quotas)
    places: list[int] = []
    gains: list[float] = []
    for group, free in enumerate(room):
        if free == 0:
            search.close(groups == group)
    bound = math.inf
    while len(places) < sum(quotas):
        # Each prefix gives a bound. Passes over all items are cheap only if their similarities are in memory.
        if search.is_small and len(places).bit_count() == 1:
            bound = min(bound, search.bound(quotas, groups))
        place, gain = search.next_item()
        places.append(place)
        gains.append(gain)
        room[groups[place]] -= 1
        if room[groups[place]] == 0:
            search.close(groups == groups[place])
    reached = math.fsum(gains)
    margin = objective.coverage * search.margin
    bound = min(bound, search.bound(quotas, groups, margin))
    return Placement(places, gains, reached, max(reached, bound), search.count)


class _LazySearch:
    """The state of the greedy algorithm: the similarity of each client to its nearest selected item, and bounds."""

    def __init__(self, vectors: Floats, objective: Objective, budget: int, baseline: float) -> None:
        import numpy as np

        self._vectors, self._baseline = vectors, np.float32(baseline)
        self._share, self._worths = objective.coverage, (1 - objective.coverage) * objective.worths / budget
        count = len(vectors)
        if count > MOST_CLIENTS and self._share:
            sample = np.sort(np.random.default_rng(_SEED).choice(count, MOST_CLIENTS, replace=False))
            self._clients = np.ascontiguousarray(vectors[sample])
        else:
            self._clients = vectors
        self.count = len(self._clients)
        # Hoeffding's inequality for the best selection, which does not depend on the sample.
        self.margin = math.sqrt(-math.log(1 - CONFIDENCE) / (2 * self.count)) if self.count < count else 0.0
        self._covered = np.zeros(self.count, dtype=np.float32)
        self.is_small = count <= MOST_CLIENTS
        self._matrix: Floats | None = None
        if self.is_small and self._share:
            self._matrix = self._similarities(np.arange(count))
        self._bounds = np.full(count, np.inf)
        self._open = np.ones(count, dtype=bool)
        self._budget, self._rng = budget, np.random.default_rng(_SEED)

    def close(self, mask: NDArray[np.bool_]) -> None:
        """Exclude items from the selection."""
        self._open[mask] = False

    def next_item(self) -> tuple[int, float]:
        """Select the open item with the largest gain, and return its place and its gain.

        In a large set, it is the largest gain of a random sample of the open items.
        """
        import numpy as np

        places = np.flatnonzero(self._open)
        if not self.is_small and self._share:
            size = min(len(places), math.ceil(len(self._open) / self._budget * math.log(1 / LOSS)))
            places = np.sort(self._rng.choice(places, size, replace=False, shuffle=False))
        fresh = self._largest_gains(places)
        best = max(fresh.values())
        place = min(place for place, gain in fresh.items() if gain >= best - _SMALLEST)
        self._select(place)
        return place, fresh[place]

    def _largest_gains(self, places: NDArray[np.int64]) -> dict[int, float]:
        """Return the gains of some of these items. No other item of them has a larger gain.

        The items with the largest bounds are evaluated until no other bound is larger than the largest gain.
        """
        import numpy as np

        bounds = self._bounds[places]
        fresh: dict[int, float] = {}
        best = -np.inf
        while len(places) and bounds.max() >= best - _SMALLEST:
            batch = np.argpartition(-bounds, min(BATCH, len(bounds)) - 1)[:BATCH]
            gains = self._gains(places[batch])
            self._bounds[places[batch]] = gains
            fresh |= dict(zip(places[batch].tolist(), gains.tolist(), strict=True))
            best = max(best, float(gains.max()))
            places, bounds = np.delete(places, batch), np.delete(bounds, batch)
        return fresh

    def _select(self, place: int) -> None:
        import numpy as np

        self._open[place] = False
        if self._share:
            np.maximum(self._covered, self._similarities(np.array([place]))[0], out=self._covered)

    def bound(self, quotas: Sequence[int], groups: NDArray[np.int64], margin: float = 0.0) -> float:
        """Return a bound on the objective of every selection within the quotas, over the clients.

        `margin` is the error of a sample of clients. The coverage of another selection is at most the coverage so far
        and the gains of its items together.
        """
        import numpy as np

        gains = self._all_gains()
        total = self._share * float(self._covered.mean(dtype=np.float64))
        most = self._share
        for group, quota in enumerate(quotas):
            total += float(np.sort(gains[groups == group])[::-1][:quota].sum())
            most += float(np.sort(self._worths[groups == group])[::-1][:quota].sum())
        return min(total + margin, most)

    def _all_gains(self) -> NDArray[np.float64]:
        import numpy as np

        count = len(self._vectors)
        if not self._share:
            return self._worths.copy()
        return np.concatenate([self._gains(np.arange(low, min(count, low + BLOCK))) for low in range(0, count, BLOCK)])

    def _gains(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        import numpy as np

        worths: NDArray[np.float64] = self._worths[places]
        if not self._share:
            return worths
        rows = self._similarities(places)
        increases = rows - self._covered
        np.maximum(increases, 0.0, out=increases)
        gains: NDArray[np.float64] = worths + self._share * increases.mean(axis=1, dtype=np.float64)
        return gains

    def _similarities(self, places: NDArray[np.int64]) -> Floats:
        """Return the similarity of items to all clients, shape (items, clients)."""
        import numpy as np

        if self._matrix is not None:
            return self._matrix[places]
        rows: Floats = self._vectors[places] @ self._clients.T
        rows -= self._baseline
        rows *= np.float32(1 / (1 - float(self._baseline)))
        return np.clip(rows, 0.0, 1.0, out=rows)
