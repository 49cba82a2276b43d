"""Summarize the folder of a scored data set without holding it in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.analysis.aggregation import SummaryBuilder
from fairtrial.analysis.stratification import StratumResults, with_strata
from fairtrial.api.datasets.dataset_strata import describe_strata
from fairtrial.api.result_folders.dataset_tables import ConversationRow, OutcomeColumns, ResultReader, make_terms
from fairtrial.batch.spilled_rows import group_by_key

if TYPE_CHECKING:
    from fairtrial.api.result_folders.dataset_cases import CaseGroup
    from fairtrial.records.attempt_rule import AttemptRules
    from fairtrial.records.ballot import Ballot
    from fairtrial.records.result import CaseResult, Criterion, Outcome, Verdict
    from fairtrial.records.summary import Summary

NO_STRATA: Mapping[str, int] = {}


def summarize(
    groups: Iterable[CaseGroup],
    criteria: Sequence[Criterion],
    ballots: Iterable[Ballot],
    each: Callable[..., Iterable[GroupNumbers]],
    *,
    informs: bool,
    defaults: Collection[str],
    rules: AttemptRules,
    population: Mapping[str, int] = NO_STRATA,
) -> Summary:
    """Return the numbers of groups of results, as an ordinary run computes them. `ballots` are all of the run.

    Conversations of the same case are its attempts: of the same case of an eval set if the conversations answer cases,
    otherwise with the same id in the same file. `population` counts the conversations of each stratum, sampled or
    not, if the sample is stratified. Its numbers are then estimates of the whole. `each` applies a function to groups
    of results, in this process or in others, on this machine or in a cluster. The groups do not depend on it.
    """
    terms = {criterion.name: make_terms(criterion) for criterion in criteria}
    counter = GroupCounter(terms, rules, stratified=bool(population))
    total = GroupNumbers(SummaryBuilder(rules), {name: SummaryBuilder(rules) for name in population}, Counter())
    for numbers in each(counter, groups):
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
        conversations = group.conversations(stratified=self.stratified)
        if group.answers_cases:
            for row, outcomes in conversations:
                self._count(numbers, row, *reader.result(row, outcomes, row.position or 0))
            return numbers
        for _, of_file in groupby(conversations, key=lambda conversation: conversation[0].file):
            for of_cases in group_by_key((pair[0].case_id, pair) for pair in of_file):
                for position, (values, columns) in of_cases:
                    row = ConversationRow._make(values)
                    outcomes = [OutcomeColumns._make(outcome) for outcome in columns]
                    self._count(numbers, row, *reader.result(row, outcomes, position))
                numbers.close_cases()
        return numbers

    def _count(
        self, numbers: GroupNumbers, row: ConversationRow, result: CaseResult, verdicts: Sequence[Verdict]
    ) -> None:
        numbers.builder.count(result, verdicts)
        if self.stratified:
            stratum = row.stratum or ""
            numbers.sample_sizes[stratum] += 1
            if stratum not in numbers.strata:
                numbers.strata[stratum] = SummaryBuilder(self.rules)
            numbers.strata[stratum].count(result, verdicts)
