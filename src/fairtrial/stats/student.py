"""Student's t distribution: quantiles and probabilities without a library."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist


@lru_cache(maxsize=1024)
def student_quantile(p: float, df: int) -> float:
    """Return the quantile of Student's t for p in (0.5, 1) and whole degrees of freedom, to about 1e-12.

    Bisection on the closed distribution form for whole degrees of freedom (Abramowitz and Stegun 26.7.3-4). Above 1,000
    degrees: the expansion around the normal quantile (26.7.5), whose error falls with df^-5.
    """
    if df > 1000:
        z = NormalDist().inv_cdf(p)
        terms: tuple[float, ...] = (
            (z**3 + z) / 4,
            (5 * z**5 + 16 * z**3 + 3 * z) / 96,
            (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
            (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
        )
        return z + math.fsum(term / df**k for k, term in enumerate(terms, 1))
    low, high = 0.0, 2.0
    while student_cdf(high, df) < p:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if student_cdf(middle, df) < p else (low, middle)
    return (low + high) / 2


def student_cdf(t: float, df: int) -> float:
    """Return the probability that Student's t with whole degrees of freedom is at most t.

    The closed form (Abramowitz and Stegun 26.7.3-4) is a sum of df / 2 terms, exact to about 1e-13.
    """
    theta = math.atan(t / math.sqrt(df))
    cos2 = math.cos(theta) ** 2
    odd = df % 2
    term = math.cos(theta) if odd else 1.0
    total = 0.0 if df == 1 else term
    for k in range(3 if odd else 2, df - 1, 2):
        term *= cos2 * (k - 1) / k
        total += term
    tail = 2 / math.pi * (theta + math.sin(theta) * total) if odd else math.sin(theta) * total
    return 0.5 + tail / 2
