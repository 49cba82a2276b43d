"""Between which values does the truth probably lie? 95 % intervals for means and for rates."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import lru_cache
from statistics import NormalDist

LEVEL = 0.95
_Z = NormalDist().inv_cdf(0.5 + LEVEL / 2)


class Clusters:
    """The sums that a mean with a cluster-robust standard error needs, one cluster (case) at a time.

    Cluster-robust variance of a mean with the small-sample factor G / (G - 1), as in Cameron and Miller (2015), "A
    Practitioner's Guide to Cluster-Robust Inference", J. Human Resources 50(2), eq. 11 applied to a constant. With one
    value a cluster it is the ordinary standard error of the mean.
    """

    def __init__(self) -> None:
        self.values = 0
        self.clusters = 0
        self._shift: float | None = None
        self._sum = 0.0
        self._squares = 0.0  # of cluster sums
        self._products = 0.0  # of cluster sums and sizes
        self._sizes = 0  # squared
        self._size = 0  # of the cluster that is open
        self._total = 0.0
        self._lost = 0.0  # digits that rounding took from that total

    def add(self, values: Iterable[float]) -> None:
        """Add the values of one cluster; an empty one does not count."""
        for value in values:
            self.put(value)
        self.close()

    def put(self, value: float) -> None:
        """Add a value to the cluster that is open.

        The total is a compensated sum (Neumaier 1974, DOI 10.1002/zamm.19740540106), so that no value need be kept.
        """
        if self._shift is None:
            self._shift = value  # sums of differences keep their digits where values are large and close
        difference = value - self._shift
        total = self._total + difference
        larger, smaller = sorted((self._total, difference), key=abs, reverse=True)
        self._lost += (larger - total) + smaller
        self._total = total
        self._size += 1

    def close(self) -> None:
        """End the cluster that is open; an empty one does not count."""
        if not self._size:
            return
        size, total = self._size, self._total + self._lost
        self._size, self._total, self._lost = 0, 0.0, 0.0
        self.values += size
        self.clusters += 1
        self._sum += total
        self._squares += total * total
        self._products += total * size
        self._sizes += size * size

    @property
    def mean(self) -> float | None:
        """The mean of all values; None without any."""
        return None if self._shift is None else self._shift + self._sum / self.values

    @property
    def standard_error(self) -> float | None:
        """The standard error of the mean; None below two clusters."""
        if self.clusters < 2:
            return None
        offset = self._sum / self.values
        residual = self._squares - 2 * offset * self._products + offset * offset * self._sizes
        return math.sqrt(max(0.0, residual) * self.clusters / (self.clusters - 1)) / self.values

    @property
    def interval(self) -> tuple[float, float] | None:
        """The t interval of the mean with G - 1 degrees of freedom; None below two clusters."""
        error, mean = self.standard_error, self.mean
        if error is None or mean is None:
            return None
        half = student_quantile(0.5 + LEVEL / 2, self.clusters - 1) * error
        return (mean - half, mean + half)


def wilson(rate: float, n: float) -> tuple[float, float]:
    """Return the Wilson score interval of a rate in 0..1 observed in n > 0 trials; n may be an effective number.

    Source: Wilson (1927), "Probable Inference", JASA 22(158).
    """
    z2 = _Z * _Z
    middle = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z * math.sqrt(rate * (1 - rate) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    # The ends of a rate of 0 or 1 are exactly 0 and 1; rounding must not move them.
    return (0.0 if rate <= 0 else max(0.0, middle - half), 1.0 if rate >= 1 else min(1.0, middle + half))


def effective_trials(rate: float, standard_error: float | None, *, cases: int, attempts: int) -> float:
    """Return the number of independent trials that are worth as much as clustered ones: p (1 - p) / SE^2.

    Kept within [cases, attempts]; cases where the rate is 0 or 1, or where there is no standard error.
    """
    if rate <= 0 or rate >= 1 or standard_error is None:
        return float(cases)
    if standard_error == 0:
        return float(attempts)
    return min(float(attempts), max(float(cases), rate * (1 - rate) / standard_error**2))


@lru_cache(maxsize=1024)
def student_quantile(p: float, df: int) -> float:
    """Return the quantile of Student's t for p in (0.5, 1) and whole degrees of freedom, to about 1e-12.

    Bisection on the closed form of the distribution for whole degrees of freedom (Abramowitz and Stegun 26.7.3-4);
    above 1,000 the expansion around the normal quantile (26.7.5), whose error falls with df^-5.
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
    while _student_cdf(high, df) < p:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _student_cdf(middle, df) < p else (low, middle)
    return (low + high) / 2


def _student_cdf(t: float, df: int) -> float:
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
