"""How often do k attempts all pass, and how often does at least one of them pass?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from fairtrial.records.average import mean
from fairtrial.records.run_comparison import IntervalEstimate, PassK
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


def pass_k_table(counts: Mapping[tuple[int, int], int]) -> tuple[PassK, ...]:
    """Return pass^k and pass@k for k from 1 to the smallest number of attempts, or nothing if that is 1.

    `counts` says how many cases passed c of m attempts, by (c, m). Cases without attempts are not counted.
    """
    fewest = min((attempts for _, attempts in counts if attempts), default=0)
    if fewest < 2:
        return ()
    total = sum(attempts * cases for (_, attempts), cases in counts.items())
    return tuple(
        PassK(
            k,
            sum(cases for (_, attempts), cases in counts.items() if attempts),
            _estimate(counts, all_pass, total, k),
            _estimate(counts, any_passes, total, k),
        )
        for k in range(1, fewest + 1)
    )


def _estimate(
    counts: Mapping[tuple[int, int], int], share: Callable[[int, int, int], float], attempts: int, k: int
) -> IntervalEstimate:
    shares = [share(c, m, k) for (c, m), cases in counts.items() if m for _ in range(cases)]
    low, high = pass_k_interval(shares, attempts, k) or (None, None)
    return IntervalEstimate(mean(shares), low, high)
