"""Summarize the folder of a scored data set without holding it in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.analysis.aggregation import SummaryBuilder
from fairtrial.analysis.stratification import StratumResults, with_strata
from fairtrial.api.datasets.dataset_strata import describe_strata
from fairtrial.api.result_folders.dataset_cases import CaseGroup, runs_of_parts
from fairtrial.api.result_folders.dataset_tables import ResultReader, make_terms

if TYPE_CHECKING:
    from fairtrial.records.attempt_rule import AttemptRules
    from fairtrial.records.ballot import Ballot
    from fairtrial.records.result import Criterion, Outcome
    from fairtrial.records.summary import Summary

NO_STRATA: Mapping[str, int] = {}


def summarize(
    folder: Path,
    criteria: Sequence[Criterion],
    ballots: Iterable[Ballot] = (),
    each: Callable[..., Iterable[GroupNumbers]] = map,
    *,
    answers_cases: bool,
    informs: bool,
    defaults: Collection[str],
    rules: AttemptRules,
    population: Mapping[str, int] = NO_STRATA,
) -> Summary:
    """Return the numbers of the results in a folder, as an ordinary run computes them. `ballots` are all of the run.

    Conversations of the same case are its attempts: of the same case of an eval set if the conversations answer cases,
    otherwise with the same id in the same file. `population` counts the conversations of each stratum, sampled or
    not, if the sample is stratified. Its numbers are then estimates of the whole. `each` applies a function to groups
    of results, in this process or in several that see the same folder. The groups do not depend on it.
    """
    terms = {criterion.name: make_terms(criterion) for criterion in criteria}
    counter = GroupCounter(terms, rules, stratified=bool(population))
    total = GroupNumbers(SummaryBuilder(rules), {name: SummaryBuilder(rules) for name in population}, Counter())
    for numbers in each(counter, runs_of_parts(folder, answers_cases=answers_cases)):
        total.add(numbers)
    summary = total.builder.summary(ballots, informs=informs, defaults=defaults)
    if not population:
        return summary
    sizes = total.sample_sizes
    by_stratum = [
        StratumResults(population[name], sizes[name], results.criterion_numbers(), results.case_count)
        for name, results in total.strata.items()
        if sizes[name]
    ]
    note = describe_strata(population, sizes)
    return replace(with_strata(summary, by_stratum), notes=(*summary.notes, note))


@dataclass(frozen=True)
class GroupNumbers:
    """The numbers of a group of results, also of each stratum, and the number of its conversations by stratum."""

    builder: SummaryBuilder
    strata: dict[str, SummaryBuilder]
    sample_sizes: Counter[str]

    def add(self, group: GroupNumbers) -> None:
        """Add the numbers of another group."""
        self.builder.merge(group.builder)
        for name, builder in group.strata.items():
            self.strata[name].merge(builder)
        self.sample_sizes.update(group.sample_sizes)

    def close_cases(self) -> None:
        """End the open cases. No attempt at them can follow."""
        for builder in (self.builder, *self.strata.values()):
            builder.close_cases()


@dataclass(frozen=True)
class GroupCounter:
    """Counts the results of a group. It is picklable, so that any worker can do it."""

    terms: Mapping[str, Outcome]
    rules: AttemptRules
    stratified: bool

    def __call__(self, group: CaseGroup) -> GroupNumbers:
        """Return the numbers of a group. Cases of eval sets stay open, because other groups may have attempts."""
        reader = ResultReader(self.terms)
        numbers = GroupNumbers(SummaryBuilder(self.rules), {}, Counter())
        positions: dict[Any, int] = {}
        file = ""
        for row, outcomes in group.conversations(stratified=self.stratified):
            if row.file != file and not group.answers_cases:
                numbers.close_cases()
                positions.clear()
                file = row.file
            position = row.position if row.position is not None else positions.setdefault(row.case_id, len(positions))
            result, verdicts = reader.result(row, outcomes, position)
            numbers.builder.count(result, verdicts)
            if self.stratified:
                stratum = row.stratum or ""
                numbers.sample_sizes[stratum] += 1
                if stratum not in numbers.strata:
                    numbers.strata[stratum] = SummaryBuilder(self.rules)
                numbers.strata[stratum].count(result, verdicts)
        if not group.answers_cases:
            numbers.close_cases()
        return numbers
