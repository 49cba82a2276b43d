"""The p value for a mean of 0 if the values are skewed: Student's t with the skewness transformed away.

Source: Hall (1992), "On the removal of skewness by transformation", JRSS-B 54.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairtrial.stats.student import student_cdf


def skewed_p(values: Sequence[float]) -> float:
    """Return the two-sided p value for a mean of 0, 1 if the transformed mean lies beyond 0.

    If few values are far below 0 and many a little above it, then samples with too few of them have a mean above 0 and
    a small deviation at once. Hall's cubic transformation of t takes this dependence away.
    """
    count, largest = len(values), max(map(abs, values))
    if not largest:
        return 1.0
    shares = [value / largest for value in values]
    middle = math.fsum(shares) / count
    deviation = math.sqrt(math.fsum((share - middle) ** 2 for share in shares) / (count - 1))
    if not middle or not deviation:
        return 0.0 if middle else 1.0
    skewness = math.fsum(((share - middle) / deviation) ** 3 for share in shares) / count
    ratio = middle / deviation
    straight = ratio + skewness * ratio**2 / 3 + skewness**2 * ratio**3 / 27 + skewness / (6 * count)
    distance = straight if middle > 0 else -straight
    return min(1.0, 2 * (1 - student_cdf(math.sqrt(count) * distance, count - 1)))
