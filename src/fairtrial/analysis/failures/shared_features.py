"""Find properties that the failures of a mode share and passes do not, with a bound on false claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fairtrial.analysis.failures.attempt_features import is_defining
from fairtrial.records.failure_mode import SharedFeature, Signature
from fairtrial.stats.agreement import NORMAL
from fairtrial.stats.interval import wilson
from fairtrial.stats.several import benjamini_hochberg, fisher

LARGEST_Q = 0.1
"""Nothing is claimed above this q value: of the claims, at most 10 % are false in the long run."""
_MOST_SHARED = 5
_MOST_FEATURES = 300
"""The most properties that are tried for a mode, the most frequent first."""

CaseFeatures = Mapping[int, frozenset[str]]
"""The properties of the attempts at a case, by the position of the case: those of at least half of its attempts."""


class Contrast(NamedTuple):
    """The cases of a mode that have a property, and the cases that passed."""

    feature: str
    ours: int
    our_total: int
    theirs: int
    their_total: int


def majority(attempts: Sequence[frozenset[str]]) -> frozenset[str]:
    """Return the properties that at least half of the attempts have."""
    counts = Counter(name for own in attempts for name in own)
    return frozenset(name for name, number in counts.items() if 2 * number >= len(attempts))


def shared_features(
    modes: Sequence[tuple[Sequence[Signature], CaseFeatures]], passes: CaseFeatures
) -> tuple[list[tuple[SharedFeature, ...]], int]:
    """Return the properties that tell each mode from the cases that passed, and how many were tried together.

    A case is one unit. Cases with attempts of both kinds count among the failures only, so that both groups differ.
    """
    contrasts = [list(_contrasts(signatures, own, passes)) for signatures, own in modes]
    all_contrasts = [contrast for own in contrasts for contrast in own]
    q_values = iter(benjamini_hochberg([fisher(*contrast[1:]) for contrast in all_contrasts]))
    claims: list[tuple[SharedFeature, ...]] = []
    for own in contrasts:
        shared = [_make(contrast, q) for contrast in own if (q := next(q_values)) <= LARGEST_Q]
        shared.sort(key=lambda entry: (entry.q, -abs(entry.difference), entry.feature))
        claims.append(tuple(shared[:_MOST_SHARED]))
    return claims, len(all_contrasts)


def _contrasts(signatures: Sequence[Signature], own: CaseFeatures, passes: CaseFeatures) -> list[Contrast]:
    others = [names for position, names in passes.items() if position not in own]
    if len(own) < 2 or len(others) < 2:
        return []
    ours = Counter(name for names in own.values() for name in names)
    theirs = Counter(name for names in others for name in names)
    tools = frozenset(entry.tool for entry in signatures if entry.tool)
    kinds = frozenset(entry.kind for entry in signatures)
    names = sorted({*ours, *theirs}, key=lambda name: (-ours[name] - theirs[name], name))
    return [
        Contrast(name, ours[name], len(own), theirs[name], len(others))
        for name in names[:_MOST_FEATURES]
        if not is_defining(name, tools, kinds) and 0 < ours[name] + theirs[name] < len(own) + len(others)
    ]


def _make(contrast: Contrast, q: float) -> SharedFeature:
    ours, theirs = contrast.ours / contrast.our_total, contrast.theirs / contrast.their_total
    return SharedFeature(contrast.feature, ours, theirs, ours - theirs, *share_difference(*contrast[1:]), q)


def share_difference(ours: int, our_total: int, theirs: int, their_total: int) -> tuple[float, float]:
    """Return the interval of the difference of two shares (Newcombe 1998, Statistics in Medicine 17, method 10)."""
    if not our_total or not their_total:
        return -1.0, 1.0
    our_share, their_share = ours / our_total, theirs / their_total
    our_low, our_high = wilson(our_share, our_total, NORMAL)
    their_low, their_high = wilson(their_share, their_total, NORMAL)
    gap = our_share - their_share
    low = gap - ((our_share - our_low) ** 2 + (their_high - their_share) ** 2) ** 0.5
    high = gap + ((our_high - our_share) ** 2 + (their_share - their_low) ** 2) ** 0.5
    return max(-1.0, low), min(1.0, high)
