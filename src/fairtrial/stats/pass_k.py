"""How often do k attempts all pass, and how often does at least one of them pass?"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairtrial.stats.interval import Interval, bounded_interval


def all_pass(passed: int, attempts: int, k: int) -> float:
    """Return the share of the choices of k of these attempts in which all attempts passed: C(c, k) / C(m, k).

    It is the unbiased estimate of pass^k (Yao et al. 2024, arXiv 2406.12045). The power (c / m) ** k is too high.
    """
    return math.comb(passed, k) / math.comb(attempts, k)


def any_passes(passed: int, attempts: int, k: int) -> float:
    """Return the share of the choices of k of these attempts in which at least one attempt passed.

    It is the unbiased estimate of pass@k (Chen et al. 2021, arXiv 2107.03374).
    """
    return 1 - math.comb(attempts - passed, k) / math.comb(attempts, k)


def pass_k_interval(shares: Sequence[float], attempts: int, k: int) -> Interval | None:
    """Return the interval of pass^k or pass@k from the shares of the cases, with this number of attempts in all.

    The attempts hold attempts / k choices that share no attempt, so the shares are worth no more trials.
    """
    return bounded_interval(shares, attempts=max(attempts / k, len(shares)))
