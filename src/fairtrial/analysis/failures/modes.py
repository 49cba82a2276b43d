"""Group failures into modes: equal signatures are one mode, and rare signatures join the nearest one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairtrial.records.failure_mode import Signature

LARGEST_DISTANCE = 0.5
"""The largest distance, from 0 to 1, at which a rare signature joins a mode."""
_RARE_CASES = 1
"""A signature of so many cases is rare."""
_MOST = 200
"""The most signatures that are compared with each other, the most frequent first."""


@dataclass
class Group:
    """Signatures that are one mode, with the numbers of their attempts and of their cases."""

    signatures: list[Signature]
    attempts: int
    cases: int

    @property
    def is_rare(self) -> bool:
        """Whether few cases have it."""
        return self.cases <= _RARE_CASES


def features(signature: Signature) -> frozenset[str]:
    """Return the properties by which signatures are compared."""
    parts = [f"kind {signature.kind}"]
    parts += [f"tool {signature.tool}"] if signature.tool else []
    parts += [f"field {name}" for name in signature.field.split(", ") if name]
    parts += [f"criterion {name}" for name in signature.criterion.split(", ") if name]
    parts += [f"word {word}" for word in signature.template.split()[:30]]
    return frozenset(parts)


def group(groups: Iterable[Group], *, largest_distance: float = LARGEST_DISTANCE) -> list[Group]:
    """Return the groups of one signature each, of which rare ones joined others.

    They join by average linkage on the weighted Jaccard distance, the nearest pair first. A feature weighs
    log(1 + n / m) if m of n signatures have it, so that rare features weigh more. The result does not depend on the
    order of the groups.
    """
    ordered = sorted(groups, key=_order)
    return sorted([*_join_rare(ordered[:_MOST], largest_distance), *ordered[_MOST:]], key=_order)


def _order(own: Group) -> tuple[int, int, tuple[str, ...]]:
    first = own.signatures[0]
    return -own.cases, -own.attempts, (first.kind, first.tool, first.field, first.criterion, first.template)


def _join_rare(groups: list[Group], largest_distance: float) -> list[Group]:
    """Join the nearest pair of which one is rare, until no pair is near enough.

    The distance to a joined group is the mean over its signatures (Lance and Williams 1967, the average linkage).
    """
    weights = feature_weights(own.signatures[0] for own in groups)
    sets = [features(own.signatures[0]) for own in groups]
    away = [[jaccard_distance(ours, theirs, weights) for theirs in sets] for ours in sets]
    alive = list(range(len(groups)))
    groups = list(groups)
    while (pair := _nearest_pair(groups, alive, away, largest_distance)) is not None:
        i, j = pair
        ours, theirs = len(groups[i].signatures), len(groups[j].signatures)
        for k in alive:
            away[i][k] = away[k][i] = (ours * away[i][k] + theirs * away[j][k]) / (ours + theirs)
        groups[i] = _join(groups[i], groups[j])
        alive.remove(j)
    return [groups[i] for i in alive]


def _nearest_pair(
    groups: Sequence[Group], alive: Sequence[int], away: Sequence[Sequence[float]], largest_distance: float
) -> tuple[int, int] | None:
    nearest: tuple[float, int, int] | None = None
    for j in alive:
        if groups[j].is_rare:
            for i in alive:
                if i != j and away[i][j] <= largest_distance and (nearest is None or (away[i][j], i, j) < nearest):
                    nearest = (away[i][j], i, j)
    return None if nearest is None else nearest[1:]


def _join(ours: Group, theirs: Group) -> Group:
    return Group(ours.signatures + theirs.signatures, ours.attempts + theirs.attempts, ours.cases + theirs.cases)


def feature_weights(signatures: Iterable[Signature]) -> Mapping[str, float]:
    """Return the weight of each feature: log(1 + n / m) if m of n signatures have it."""
    all_signatures = list(signatures)
    counts = Counter(name for own in all_signatures for name in features(own))
    return {name: math.log(1 + len(all_signatures) / number) for name, number in counts.items()}


def jaccard_distance(ours: frozenset[str], theirs: frozenset[str], weights: Mapping[str, float]) -> float:
    """Return 1 - weight of the shared features / weight of all features, from 0 to 1. Unknown features weigh 1."""
    total_weight = math.fsum(weights.get(name, 1.0) for name in sorted(ours | theirs))
    shared = math.fsum(weights.get(name, 1.0) for name in sorted(ours & theirs))
    return 1 - shared / total_weight if total_weight else 0.0


def assign(
    signature: Signature, modes: Sequence[Sequence[Signature]], *, largest_distance: float = LARGEST_DISTANCE
) -> int | None:
    """Return the index of the mode to which a signature of another run belongs, or None.

    It is the mode that has the signature. Modes of several signatures also take signatures whose mean distance from
    all of theirs is at most `largest_distance`.
    """
    for index, own in enumerate(modes):
        if signature in own:
            return index
    weights = feature_weights([*[entry for own in modes for entry in own], signature])
    mine = features(signature)
    best: tuple[float, int] | None = None
    for index, own in enumerate(modes):
        if len(own) > 1:
            away = math.fsum(jaccard_distance(mine, features(entry), weights) for entry in own) / len(own)
            if away <= largest_distance and (best is None or (away, index) < best):
                best = (away, index)
    return None if best is None else best[1]
