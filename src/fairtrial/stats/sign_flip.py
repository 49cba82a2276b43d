"""The exact sign-flip test of paired differences.

If both runs were made alike, each difference is as probable as its negative. The p value counts the choices of signs
whose sum is at least as far from 0 as the sum that was seen. Source: Fisher (1935), "The Design of Experiments", 21.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from fairtrial.stats.beta import beta_cdf
from fairtrial.stats.several import mcnemar
from fairtrial.stats.skewness import skewed_p

MOST_CASES = 99
"""Above this number of cases, Student's t tells the same."""
_GRID = 1 << 14
"""The sum of all differences in grid units."""
_LARGEST_DENOMINATOR = 1000
_ROUNDING = 1e-9
_STEPS = 12


def sign_flip_p(differences: Sequence[float], width: float) -> float:
    """Return the two-sided p value of differences in plus or minus `width`.

    If every case passes or fails, it is the mid-p value of McNemar's test (Fagerland et al. 2013). In runs that were
    made alike, at most half of such cases differ, and this p value is then below 0.05 in at most 5 % of runs. Otherwise
    the p value is exact, or too large by rounding differences to a grid.
    """
    moves = [difference for difference in differences if difference]
    if _are_whole(moves, width):
        better = sum(move > 0 for move in moves)
        return mcnemar(better, len(moves) - better)[1]
    return min(1.0, 2 * _tail(moves))


def least_shift(differences: Sequence[float], width: float, error: float) -> float:
    """Return the smallest mean difference that the test does not refute, if the mean is above 0 and p below `error`.

    It is above 0. For passes and failures, it follows from the limit for the share of better cases among those that
    differ. Otherwise every case is thought to differ by as much, and the skewness is thought of as in the test.
    """
    moves = [difference for difference in differences if difference]
    if _are_whole(moves, width):
        better, changed = sum(move > 0 for move in moves), len(moves)
        share = _bisect(0.5, better / changed, lambda chance: _mid_tail(better, changed, chance) < error / 2)
        return (2 * share - 1) * changed / len(differences) * width
    middle = math.fsum(differences) / len(differences)

    def is_refuted(shift: float) -> bool:
        shifted = [move - shift for move in differences]
        return skewed_p(shifted) < error and 2 * _tail(shifted) < error

    return _bisect(0.0, middle, is_refuted)


def _are_whole(moves: Sequence[float], width: float) -> bool:
    return all(abs(move) == width for move in moves)


def _bisect(low: float, high: float, is_refuted: Callable[[float], bool]) -> float:
    """Return a value above `low`, next to the largest that is refuted."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_refuted(middle) else (low, middle)
    return (low + high) / 2


def _mid_tail(better: int, changed: int, chance: float) -> float:
    """Return the probability of more better cases than these, and half of that of as many."""
    at_least = beta_cdf(chance, better, changed - better + 1)
    more = beta_cdf(chance, better + 1, changed - better) if better < changed else 0.0
    return (at_least + more) / 2


def _tail(moves: Sequence[float]) -> float:
    """Return the share of sign choices whose sum is at least as far above 0 as the moves' own sum.

    The number of choices with each sum is a polynomial coefficient, the product of 1 + x^size. One large integer holds
    all coefficients, so that a factor costs one shift and one addition.
    """
    sizes, least_sum = _on_grid(moves)
    total, bits = sum(sizes), len(sizes) + 1
    if least_sum <= 0:
        return 1.0
    coefficients = 1
    for size in sizes:
        coefficients += coefficients << (size * bits)
    positive = (least_sum + total + 1) // 2
    # In base 2^bits - 1, a number is congruent to the sum of its digits, of which the sum is at most 2^len(sizes).
    ways = (coefficients >> (positive * bits)) % ((1 << bits) - 1)
    return ways / (1 << len(sizes))


def _on_grid(moves: Sequence[float]) -> tuple[list[int], int]:
    """Return the absolute moves as whole numbers, and the least sum that is as far above 0 as the one that was seen.

    Moves that are multiples of one unit are exact. Otherwise the sum is lowered by all that was rounded, so that no
    choice of signs is missed.
    """
    largest = max(map(abs, moves), default=0.0)
    if not largest:
        return [], 0
    unit = _common_unit([abs(move) / largest for move in moves])
    if unit:
        sizes = [round(abs(move) / largest * unit) for move in moves]
        if sum(sizes) <= _GRID:
            return sizes, abs(sum(size if move > 0 else -size for size, move in zip(sizes, moves, strict=True)))
    scale = _GRID / math.fsum(map(abs, moves))
    sizes = [round(abs(move) * scale) for move in moves]
    rounded = math.fsum(abs(abs(move) * scale - size) for move, size in zip(moves, sizes, strict=True))
    return sizes, math.ceil(abs(math.fsum(moves)) * scale - rounded - _ROUNDING)


def _common_unit(shares: Sequence[float]) -> int | None:
    """Return a number whose product with every share is whole, or None above the grid."""
    unit = 1
    for share in shares:
        near = Fraction(share).limit_denominator(_LARGEST_DENOMINATOR)
        unit = math.lcm(unit, near.denominator)
        if unit > _GRID or abs(near - share) > _ROUNDING / unit:
            return None
    return unit
