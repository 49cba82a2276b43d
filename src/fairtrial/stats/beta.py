"""The Beta distribution: probabilities and quantiles without a library.

The probability of at least k successes of n trials of chance x is `beta_cdf(x, k, n - k + 1)`, and k and n need not
be whole. So the limits of Clopper and Pearson (1934, Biometrika 26) are quantiles of Beta variables.
"""

from __future__ import annotations

import math

_TINY = 1e-300
_STEPS = 60
_TERMS = 100_000
"""No continued fraction needs as many terms: it needs about as many steps as the larger parameter's square root."""


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the probability that a Beta variable with parameters above 0 is at most x, to about 1e-10.

    The continued fraction for the regularized incomplete beta function (DLMF 8.17.22), by the method of Lentz.
    """
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_cdf(1 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_front) * _fraction(x, a, b) / a


def _fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1 / _apart(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _apart(1 + term * d)
            c = _apart(1 + term / c)
            value *= d * c
        if abs(d * c - 1) < 1e-16:
            break
    return value


def _apart(number: float) -> float:
    return number if abs(number) > _TINY else _TINY


def beta_quantile(p: float, a: float, b: float) -> float:
    """Return a Beta quantile for p in (0, 1), to about 1e-10.

    Newton's method, with bisection if it leaves the values that are still possible. A parameter of 0 stands for the
    limit: all probability is at 0 if a is 0, and at 1 if b is 0.
    """
    if a <= 0:
        return 0.0
    if b <= 0:
        return 1.0
    low, high, x = 0.0, 1.0, a / (a + b)
    log_constant = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    for _ in range(_STEPS):
        excess = beta_cdf(x, a, b) - p
        low, high = (low, x) if excess >= 0 else (x, high)
        density = math.exp(log_constant + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x)) if 0 < x < 1 else 0.0
        following = x - excess / density if density else low
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - x) <= 1e-14 * x or following in (low, high):
            break
        x = following
    return x


def probability_larger(successes: int, trials: int, other_successes: int, other_trials: int) -> float:
    """Return the probability that a chance of success is larger than another, given trials of both.

    Before the trials, all chances from 0 to 1 count as equally probable (Beta(1, 1) for both). The sum is exact.
    """
    a, b = 1 + successes, 1 + trials - successes
    c, d = 1 + other_successes, 1 + other_trials - other_successes

    def log_beta(x: float, y: float) -> float:
        return math.lgamma(x) + math.lgamma(y) - math.lgamma(x + y)

    return sum(
        math.exp(log_beta(c + i, b + d) - math.log(b + i) - log_beta(1 + i, b) - log_beta(c, d)) for i in range(a)
    )
