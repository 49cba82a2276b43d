"""Skills with a planted effect: an agent succeeds with one chance with the skill, and with another without it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import NamedTuple

from fairtrial.stats.difference import paired_difference

CHANCES = (
    (0.1, 0.1), (0.5, 0.5), (0.9, 0.9), (0.98, 0.98), (0.02, 0.02),
    (0.6, 0.5), (0.55, 0.45), (0.3, 0.2), (0.95, 0.9), (0.1, 0.02),
    (0.8, 0.5), (0.5, 0.2), (0.7, 0.4), (0.9, 0.6), (0.4, 0.1),
    (1.0, 0.5), (0.9, 0.1), (0.5, 0.9), (0.2, 0.4), (0.95, 0.05),
)  # fmt: skip
"""The chances of success with the skill, and without it: five without an effect, and two that harm."""


class Throws(NamedTuple):
    """Whether the attempts at a case succeed, with the skill and without it."""

    with_skill: tuple[bool, ...]
    without: tuple[bool, ...]

    @property
    def difference(self) -> float:
        """The difference of the shares of successes."""
        return (sum(self.with_skill) - sum(self.without)) / len(self.without)


class SkillEffect(NamedTuple):
    """The chances with and without a skill, the number of cases, and the attempts at each.

    With a `spread`, each case has chances of its own. They come from Beta distributions with these means.
    """

    with_skill: float
    without: float
    cases: int
    attempts: int
    spread: bool = False

    @property
    def truth(self) -> float:
        """The true difference."""
        return self.with_skill - self.without

    def shares(self, repetitions: int, *, seed: int) -> tuple[float, float]:
        """Return how often the interval holds the true difference, and how often the verdict is "better"."""
        source = random.Random(f"{seed} {self}")
        held = better = 0
        for _ in range(repetitions):
            found = paired_difference([throws.difference for throws in self.throw(source)])
            assert found is not None
            low, high = found.interval()
            held += low - 1e-9 <= self.truth <= high + 1e-9
            better += found.p < 0.05 and found.centre > 0
        return held / repetitions, better / repetitions

    def throw(self, source: random.Random) -> list[Throws]:
        """Return the successes of each case, drawn with the chances."""
        return [Throws(*(self._throw_side(source, mean) for mean in self[:2])) for _ in range(self.cases)]

    def _throw_side(self, source: random.Random, mean: float) -> tuple[bool, ...]:
        chance = source.betavariate(2 * mean, 2 * (1 - mean)) if self.spread and 0 < mean < 1 else mean
        return tuple(source.random() < chance for _ in range(self.attempts))


def skill_effects(cases: tuple[int, ...], attempts: tuple[int, ...]) -> Iterator[SkillEffect]:
    """Every pair of chances at every size, alike for all cases, and different from case to case."""
    for with_skill, without in CHANCES:
        for number in cases:
            for tries in attempts:
                for spread in (False, True):
                    yield SkillEffect(with_skill, without, number, tries, spread)
