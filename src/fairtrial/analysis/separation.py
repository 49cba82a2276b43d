"""The threshold of a criterion that separates harmful changes from harmless ones best."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

from fairtrial.records.mutation import FEWEST_SCORES, BestThreshold

if TYPE_CHECKING:
    from fairtrial.records.result import Outcome

_RESAMPLES = 200
_BETTER = 0.02
"""The smallest gain in Youden's J for which another threshold is proposed."""


@dataclass
class Separation:
    """The scores of one criterion on harmful mutants, and on harmless ones with the baselines, by case."""

    threshold: float = 0.0
    lower_is_better: bool = False
    _values: dict[int, tuple[list[float], list[float]]] = field(default_factory=dict)

    def add(self, position: int, outcome: Outcome, *, is_harmful: bool) -> None:
        """Add one score. Equal scores on both sides cannot be separated."""
        value = outcome.score.value
        if value is None or outcome.threshold is None:
            return
        self.threshold, self.lower_is_better = outcome.threshold, outcome.lower_is_better
        sign = -1 if self.lower_is_better else 1
        self._values.setdefault(position, ([], []))[is_harmful].append(sign * value)

    def best(self, name: str) -> BestThreshold | None:
        """Return the threshold with the largest Youden's J (Youden 1950), with a percentile interval over cases.

        The result is None if there are too few values, or if the configured threshold is as good.
        """
        cases = list(self._values.values())
        if len(cases) < FEWEST_SCORES or any(sum(len(case[side]) for case in cases) < FEWEST_SCORES for side in (0, 1)):
            return None
        sign = -1 if self.lower_is_better else 1
        threshold, youden = _best(cases)
        now = _youden(*_sides(cases), sign * self.threshold)
        if youden < now + _BETTER:
            return None
        random = Random(0)  # noqa: S311  (resampling that can be repeated, no secret)
        resampled = sorted(_best(random.choices(cases, k=len(cases)))[0] for _ in range(_RESAMPLES))
        tail = _RESAMPLES // 40
        low, high = sorted((sign * resampled[tail], sign * resampled[-1 - tail]))
        return BestThreshold(name, sign * threshold, low, high, youden, now)


def _sides(cases: Sequence[tuple[list[float], list[float]]]) -> tuple[list[float], list[float]]:
    """Return the sorted scores of good and of bad conversations."""
    return (
        sorted(value for good, _ in cases for value in good),
        sorted(value for _, bad in cases for value in bad),
    )


def _youden(good: Sequence[float], bad: Sequence[float], threshold: float) -> float:
    """Return sensitivity plus specificity minus 1. A score below the threshold fails."""
    if not good or not bad:
        return 0.0
    return bisect_left(bad, threshold) / len(bad) - bisect_left(good, threshold) / len(good)


def _best(cases: Sequence[tuple[list[float], list[float]]]) -> tuple[float, float]:
    """Return the threshold with the largest Youden's J, in the middle of the gap between two scores, and its J."""
    good, bad = _sides(cases)
    best = (good[0] if good else 0.0, 0.0)
    for value in dict.fromkeys(good):
        youden = _youden(good, bad, value)
        if youden > best[1]:
            lower = [scores[place - 1] for scores in (good, bad) if (place := bisect_left(scores, value))]
            best = ((value + max(lower)) / 2 if lower else value, youden)
    return best
