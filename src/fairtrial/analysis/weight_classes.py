"""Tally results by the probability with which their conversations were sampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.analysis.criterion_tally import CriterionTally
from fairtrial.analysis.stratification import WeightedResults, with_strata

if TYPE_CHECKING:
    from fairtrial.records.result import CaseResult, Verdict
    from fairtrial.records.summary import Summary

Tallies = dict[str, CriterionTally]
_CERTAIN = 1.0
_NOTE = (
    "the conversations were sampled with {number} probabilities from {low:.3g} to {high:.3g}; means, pass rates and "
    "intervals weigh each by its inverse, and counts are those of the sample"
)


def add_outcomes(tallies: Tallies, result: CaseResult, verdicts: Sequence[Verdict]) -> None:
    """Count the outcomes of one attempt."""
    for outcome, verdict in zip(result.outcomes, verdicts, strict=True):
        tally = tallies.get(outcome.criterion)
        if tally is None:
            tally = tallies[outcome.criterion] = CriterionTally(outcome.criterion)
        tally.add(result, outcome, verdict)


def merge_tallies(tallies: Tallies, others: Mapping[str, CriterionTally]) -> None:
    """Add the numbers of other tallies, which must not be changed afterwards."""
    for name, tally in others.items():
        if name in tallies:
            tallies[name].merge(tally)
        else:
            tallies[name] = tally


class WeightClasses:
    """The tallies of results by their probability, of which three digits count: there are few classes then.

    A result without a probability is certain: its source does not say that it is a sample.
    """

    def __init__(self, certain: Tallies) -> None:
        """Begin with results that have no probability."""
        self._tallies: dict[float, Tallies] = {_CERTAIN: deepcopy(certain)} if certain else {}

    def add(self, result: CaseResult, verdicts: Sequence[Verdict]) -> None:
        """Count the outcomes of one attempt."""
        add_outcomes(self._tallies.setdefault(_round(result.probability), {}), result, verdicts)

    def merge(self, classes: WeightClasses) -> None:
        """Add the numbers of other classes."""
        for probability, tallies in classes._tallies.items():
            merge_tallies(self._tallies.setdefault(probability, {}), tallies)

    def close_cases(self) -> None:
        """End the open cases."""
        for tallies in self._tallies.values():
            for tally in tallies.values():
                tally.close_cases()

    def weigh(self, summary: Summary) -> Summary:
        """Return the numbers with estimates that weigh each case by the inverse of its probability.

        If all probabilities are equal, nothing changes: then the sample is like the whole.
        """
        if len(self._tallies) < 2:
            return summary
        results = [
            WeightedResults(probability, {name: tally.numbers for name, tally in self._tallies[probability].items()})
            for probability in sorted(self._tallies)
        ]
        note = _NOTE.format(number=len(results), low=min(self._tallies), high=max(self._tallies))
        return replace(with_strata(summary, results), notes=(*summary.notes, note))


@lru_cache(maxsize=4096)
def _round(probability: float | None) -> float:
    return _CERTAIN if probability is None else float(f"{probability:.3g}")
