"""Which recorded vectors no longer hold, and why? Every other vector of the same group holds."""

from __future__ import annotations

from collections.abc import Sequence

LIGHTER = "two light cases weigh 1/2, not 1/20: with 1/20, an interval of ten scores with rare failures covers 0.70"
EXACT_END = "the end beside 1 to 4 failures is exact: Wilson's covers 0.84 there"


def reason_of_mean(shares: Sequence[float]) -> str | None:
    """Why the interval of the mean of case values in 0..1 is another one, or None if it is the recorded one."""
    if any(0 < share < 1 for share in shares):
        return LIGHTER
    rarer = min(shares.count(0), shares.count(1))
    return EXACT_END if 0 < rarer < 5 and shares.count(0) != shares.count(1) else None
