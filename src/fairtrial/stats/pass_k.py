"""The rates pass^k and pass@k: all of k attempts pass, or at least one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from fairtrial.records.run_comparison import IntervalEstimate, PassK
from fairtrial.stats.interval import Interval, bounded_interval
from fairtrial.stats.moments import Moments, Numbers, compute_moments

NO_INTERVALS = "pass^k and pass@k have no intervals, because the cases come in clusters"


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


def pass_k_interval(shares: Numbers, attempts: int, k: int) -> Interval | None:
    """Return the interval of pass^k or pass@k from the shares of the cases, with this number of attempts in all.

    The attempts hold attempts / k choices that share no attempt, so the shares are worth no more trials.
    """
    moments = compute_moments(shares)
    return bounded_interval(moments, attempts=max(attempts / k, moments.count))


def pass_k_table(counts: Mapping[tuple[int, int], int]) -> tuple[PassK, ...]:
    """Return pass^k and pass@k for k = 1, 2, 4, 8 and so on, and the smallest number of attempts. Nothing if that is 1.

    `counts` says how many cases passed c of m attempts, by (c, m). Cases without attempts are not counted.
    """
    fewest = min((attempts for _, attempts in counts if attempts), default=0)
    if fewest < 2:
        return ()
    cases = sum(number for (_, attempts), number in counts.items() if attempts)
    total = sum(attempts * number for (_, attempts), number in counts.items())
    rows: list[PassK] = []
    # The numbers of choices of k are those of k - 1 times a fraction, because new ones would take long for large k.
    choices = {size: 1 for passed, attempts in counts for size in (passed, attempts - passed, attempts)}
    for k in range(1, fewest + 1):
        choices = {size: number * (size - k + 1) // k for size, number in choices.items()}
        is_power_of_two = k & (k - 1) == 0
        if not is_power_of_two and k < fewest:
            continue
        all_pass_shares, any_passes_shares = [], []
        for (passed, attempts), number in counts.items():
            if attempts:
                all_pass_shares.append((choices[passed] / choices[attempts], number))
                any_passes_shares.append((1 - choices[attempts - passed] / choices[attempts], number))
        rows.append(PassK(k, cases, _estimate(all_pass_shares, total, k), _estimate(any_passes_shares, total, k)))
    return tuple(rows)


def without_intervals(table: Iterable[PassK]) -> tuple[PassK, ...]:
    """Return the same numbers for cases that come in clusters, whose intervals would be too narrow."""
    return tuple(
        replace(row, pass_hat=IntervalEstimate(row.pass_hat.value), pass_at=IntervalEstimate(row.pass_at.value))
        for row in table
    )


def _estimate(shares: Iterable[tuple[float, int]], attempts: int, k: int) -> IntervalEstimate:
    moments = Moments.from_counts(shares)
    low, high = pass_k_interval(moments, attempts, k) or (None, None)
    return IntervalEstimate(moments.mean, low, high)
