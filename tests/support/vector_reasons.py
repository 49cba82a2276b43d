"""Recorded vectors that no longer hold, with reasons. Every other vector of the same group holds."""

from __future__ import annotations

import math
from collections.abc import Sequence

LIGHTER = "two light cases weigh 1/2, not 1/20: with 1/20, an interval of ten scores with rare failures covers 0.70"
EXACT_END = "the end beside 1 to 4 failures is exact: Wilson's covers 0.84 there"


def reason_of_mean(shares: Sequence[float]) -> str | None:
    """Why the interval of the mean of case values in 0..1 is another one, or None if it is the recorded one."""
    if any(0 < share < 1 for share in shares):
        return LIGHTER
    rarer = min(shares.count(0), shares.count(1))
    return EXACT_END if 0 < rarer < 5 and shares.count(0) != shares.count(1) else None


SIGNS = "below 100 cases, p counts choices of signs: 14 scores show what Student's t showed with 23"
WHOLE_MOVES = (
    "the extra cases are at least 0.87 of the width from 0: if no case of 10 dropped, an interval covered 0.41"
)


def reason_of_difference(differences: Sequence[float], width: float) -> str | None:
    """Why the p value, or also the interval, of differences is another one, or None if both are the recorded ones."""
    largest = max(map(abs, differences))
    if width < math.inf and 0 < largest < width * math.sqrt(3 / 4):
        return WHOLE_MOVES
    return SIGNS if len(differences) < 100 and largest else None
