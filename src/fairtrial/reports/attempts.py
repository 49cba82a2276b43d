"""Group attempts by case, with the verdict of each case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from fairtrial.records.attempt_rule import (
    ALL,
    AttemptRule,
    AttemptRules,
    CaseEvidence,
    case_evidence,
    make_evidence,
)
from fairtrial.records.record import Record
from fairtrial.records.result import CaseResult, Verdict


def attempts(results: Iterable[CaseResult]) -> Iterator[tuple[CaseResult, bool]]:
    """Yield each result, with True if its case has several attempts.

    The results come in file order, so the attempts of a case follow each other.
    """
    previous: CaseResult | None = None
    several = False
    for result in results:
        # A result waits for its successor: only the successor shows that the first attempt of a case has company.
        if previous is not None:
            same_case = result.position == previous.position
            yield previous, several or same_case
            several = same_case
        previous = result
    if previous is not None:
        yield previous, several


class CaseAttempts(Record, frozen=True):
    """A case with all its attempts, and the rule that decides its verdict."""

    results: tuple[CaseResult, ...]
    rule: AttemptRule = ALL

    @property
    def verdict(self) -> Verdict:
        """The verdict of the case."""
        return self._evidence.verdict

    @property
    def criteria(self) -> dict[str, Verdict]:
        """The verdict on each criterion with a threshold, if the rule decides criterion by criterion, or empty."""
        if len(self.results) == 1:
            return {own.criterion: own.verdict for own in self.results[0].outcomes if own.threshold is not None}
        if self.rule.name == "mean":
            return self._evidence.criterion_verdicts
        verdicts: dict[str, list[Verdict]] = {}
        for result in self.results if self.rule.name == "all" else ():
            for outcome in result.outcomes:
                if outcome.threshold is not None:
                    verdicts.setdefault(outcome.criterion, []).append(outcome.verdict)
        return {name: _worst(own) for name, own in verdicts.items()}

    @property
    def passed(self) -> int:
        """The number of attempts that passed."""
        return sum(result.verdict is Verdict.PASSED for result in self.results)

    @property
    def _evidence(self) -> CaseEvidence:
        return case_evidence(self.rule, [make_evidence(result, result.verdict, self.rule) for result in self.results])


def by_case(results: Iterable[CaseResult], rules: AttemptRules) -> Iterator[CaseAttempts]:
    """Yield the attempts of each case. The results come in file order."""
    for _, group in groupby(results, key=lambda result: result.position):
        attempts_of_case = tuple(group)
        first = attempts_of_case[0]
        yield CaseAttempts(attempts_of_case, rules.find_rule(first.eval_set, first.case_id))


def _worst(verdicts: Sequence[Verdict]) -> Verdict:
    order = (Verdict.FAILED, Verdict.UNSCORED, Verdict.PASSED)
    return next((verdict for verdict in order if verdict in verdicts), Verdict.NOT_APPLICABLE)
