"""The attempts of each case of a run by one measure, as a few numbers a case."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache

from fairtrial.stats.fixed_cases import CaseSample, case_sample


class CaseColumn:
    """The attempts of each case by one measure: mean, variance, and how many are scored and missing.

    The columns take 24 bytes a case, however many attempts there are.
    """

    def __init__(self) -> None:
        self._means = array("d")
        self._variances = array("d")
        self._counts = array("I")
        self._missing = array("I")

    def add(self, values: Sequence[float], missing: int) -> None:
        """Add the next case."""
        sample = case_sample(values) if values else CaseSample(0.0, 0.0, 0)
        self._means.append(sample.mean)
        self._variances.append(sample.variance)
        self._counts.append(sample.attempts)
        self._missing.append(missing)

    @classmethod
    def from_passes(cls, passed: Iterable[int], trials: Iterable[int], missing: Iterable[int]) -> CaseColumn:
        """Return the column of cases with so many attempts that passed, that passed or failed, and that have no value.

        It is the same as if `add` had got 1 for each attempt that passed, and 0 for each that failed.
        """
        column, samples = cls(), list(map(_sample_passes, passed, trials))
        column._means.extend([sample.mean for sample in samples])
        column._variances.extend([sample.variance for sample in samples])
        column._counts.extend([sample.attempts for sample in samples])
        column._missing.extend(missing)
        return column

    def means(self) -> Iterable[tuple[float, int]]:
        """Return the mean of each case, and the number of its scored attempts, in their order."""
        return zip(self._means, self._counts, strict=True)

    def counts(self) -> Iterable[tuple[int, int]]:
        """Return how many attempts at each case passed, and how many there were, if their values are 0 or 1."""
        return ((round(mean * attempts), attempts) for mean, attempts in self.means())

    def sample(self, case: int) -> CaseSample | None:
        """Return the scored attempts of a case, or None if there are none."""
        if case >= len(self._means) or not self._counts[case]:
            return None
        return CaseSample(self._means[case], self._variances[case], self._counts[case])

    def filled(self, case: int, value: float) -> CaseSample | None:
        """Return all attempts of a case, with a value in place of each missing attempt."""
        sample, missing = self.sample(case), self.missing(case)
        if not missing:
            return sample
        mean, variance, valued = sample or CaseSample(value, 0.0, 0)
        count = valued + missing
        squares = max(0, valued - 1) * variance + valued * missing / count * (mean - value) ** 2
        return CaseSample((valued * mean + missing * value) / count, squares / (count - 1) if count > 1 else 0.0, count)

    def select(self, cases: Sequence[int]) -> CaseColumn:
        """Return the column of some of the cases, in the given order."""
        column = CaseColumn()
        known = [case for case in cases if case < len(self._means)]
        column._means.extend([self._means[case] for case in known])
        column._variances.extend([self._variances[case] for case in known])
        column._counts.extend([self._counts[case] for case in known])
        column._missing.extend([self._missing[case] for case in known])
        return column

    def missing(self, case: int) -> int:
        """Return the number of attempts of a case that have no value, and should have one."""
        return self._missing[case] if case < len(self._missing) else 0


@lru_cache(maxsize=1 << 12)
def _sample_passes(passed: int, trials: int) -> CaseSample:
    return case_sample([1.0] * passed + [0.0] * (trials - passed)) if trials else CaseSample(0.0, 0.0, 0)
