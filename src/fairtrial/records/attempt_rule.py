"""Attempt rules: when a case with several attempts passes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

import msgspec

from fairtrial.records.average import RunningMean
from fairtrial.records.decoding import convert
from fairtrial.records.record import Json, Record
from fairtrial.records.result import CaseResult, Outcome, Verdict

RuleName = Literal["all", "any", "mean", "at_least", "rate"]


class AttemptRule(Record, frozen=True):
    """The rule by which the attempts at a case decide its verdict. `number` belongs to "at_least" and "rate".

    With "all" every attempt has to pass, with "any" one attempt, with "at_least" so many attempts, and with "rate" such
    a share of the attempts. With "mean" the mean of each criterion over the attempts has to reach its threshold.
    """

    name: RuleName = "all"
    number: float = 0.0

    def __str__(self) -> str:
        if self.name == "at_least":
            return f"at least {self.number:g} attempts pass"
        if self.name == "rate":
            return f"{100 * self.number:g} % of the attempts pass"
        words = {"all": "all attempts pass", "any": "any attempt passes"}
        return words.get(self.name, "the mean of each criterion reaches its threshold")

    def needed(self, attempts: int) -> int:
        """Return how many of the attempts have to pass."""
        if self.name == "any":
            return 1
        if self.name == "at_least":
            return int(self.number)
        # A product such as 0.7 * 10 may be larger than 7 by a rounding error.
        return math.ceil(round(self.number * attempts, 9)) if self.name == "rate" else attempts


ALL = AttemptRule()
MEAN = AttemptRule("mean")


class AttemptRules(Record, frozen=True):
    """The rules of a run: by eval set, and for some cases by eval set and id. The rule of any other case is "all".

    `baselines` are eval sets that only serve a comparison, for example the cases without the skill. Their attempts are
    stored, and do not count for the numbers and the verdict of the run.
    """

    eval_sets: Mapping[str, AttemptRule] = {}
    cases: Mapping[str, Mapping[str, AttemptRule]] = {}
    baselines: tuple[str, ...] = ()

    def find_rule(self, eval_set: str, case_id: str) -> AttemptRule:
        """Return the rule of a case."""
        return self.cases.get(eval_set, {}).get(case_id) or self.eval_sets.get(eval_set, ALL)

    def to_json(self) -> Json:
        """Return the rules as they stand in the manifest of a run. Only runs with baselines name them."""
        rules: dict[str, Json] = msgspec.to_builtins(self)
        baselines = rules.pop("baselines")
        return {**rules, "baselines": list(baselines)} if baselines else rules


def rules_in(config: Mapping[str, Any]) -> AttemptRules:
    """Return the rules in the manifest of a run. An older manifest does not have any."""
    return convert(config.get("attempt_rules") or {}, AttemptRules)


class AttemptEvidence(NamedTuple):
    """One attempt, as far as a rule needs it. `agent_failed` says that the agent broke the attempt."""

    verdict: Verdict
    agent_failed: bool
    outcomes: Sequence[Outcome] = ()

    @property
    def kind(self) -> _Kind:
        """The verdict, and whether the agent broke the attempt."""
        return self.verdict, self.agent_failed


def make_evidence(result: CaseResult, verdict: Verdict, rule: AttemptRule) -> AttemptEvidence:
    """Return the evidence of an attempt with its verdict. Only the rule "mean" needs the outcomes."""
    agent_failed = result.failure is not None and result.failure.side == "agent"
    if rule.name == "mean":
        return AttemptEvidence(verdict, agent_failed, result.outcomes)
    return _without_outcomes(verdict, agent_failed)


@cache
def _without_outcomes(verdict: Verdict, agent_failed: bool) -> AttemptEvidence:
    """Return the evidence without outcomes. All attempts share a few of these, so that a case of many is small."""
    return AttemptEvidence(verdict, agent_failed)


_Kind = tuple[Verdict, bool]
"""The verdict of attempts, and whether the agent broke them."""
_DECIDING_KINDS = {
    *((verdict, agent_failed) for verdict in (Verdict.PASSED, Verdict.FAILED) for agent_failed in (False, True)),
    (Verdict.ERROR, True),
}


class CaseEvidence:
    """The attempts at a case so far, in any order, as far as a rule needs them. Memory does not grow with them."""

    __slots__ = ("_counts", "_criteria", "_first", "rule")

    def __init__(self, rule: AttemptRule, first: AttemptEvidence) -> None:
        self.rule = rule
        # Most cases have one attempt, whose verdict is that of the case.
        self._first = first
        self._counts: dict[_Kind, int] | None = None
        self._criteria: dict[str, _CriterionEvidence] = {}

    def add(self, attempt: AttemptEvidence) -> None:
        """Add an attempt."""
        self._add(attempt, self._several())

    def _several(self) -> dict[_Kind, int]:
        """Return the counts of the attempts, to which others can be added."""
        if self._counts is None:
            self._counts = {}
            self._add(self._first, self._counts)
        return self._counts

    def _add(self, attempt: AttemptEvidence, counts: dict[_Kind, int]) -> None:
        kind = attempt.kind
        counts[kind] = counts.get(kind, 0) + 1
        for outcome in attempt.outcomes:
            if outcome.threshold is not None:
                criterion = self._criteria.get(outcome.criterion)
                if criterion is None:
                    criterion = self._criteria[outcome.criterion] = _CriterionEvidence(outcome)
                criterion.add(outcome, agent_failed=attempt.agent_failed)

    def merge(self, evidence: CaseEvidence) -> None:
        """Add more attempts at the same case."""
        if evidence._counts is None:
            self.add(evidence._first)
            return
        counts = self._several()
        for kind, number in evidence._counts.items():
            counts[kind] = counts.get(kind, 0) + number
        for name, criterion in evidence._criteria.items():
            if name in self._criteria:
                self._criteria[name].merge(criterion)
            else:
                self._criteria[name] = criterion

    @property
    def count(self) -> int:
        """The number of attempts."""
        return 1 if self._counts is None else sum(self._counts.values())

    @property
    def pass_count(self) -> int:
        """The number of attempts that passed."""
        if self._counts is None:
            return int(self._first.verdict is Verdict.PASSED)
        return sum(number for (verdict, _), number in self._counts.items() if verdict is Verdict.PASSED)

    @property
    def deciding_count(self) -> int:
        """The number of attempts that passed, failed, or were broken by the agent."""
        if self._counts is None:
            return int(self._first.kind in _DECIDING_KINDS)
        return sum(number for kind, number in self._counts.items() if kind in _DECIDING_KINDS)

    @property
    def agent_failed(self) -> bool:
        """Whether the agent broke an attempt."""
        if self._counts is None:
            return self._first.agent_failed
        return any(agent_failed for _, agent_failed in self._counts)

    @property
    def criterion_verdicts(self) -> dict[str, Verdict]:
        """The verdict on the mean of each criterion over the attempts.

        An attempt that the agent broke counts as the worst value of the range.
        """
        verdicts = {name: criterion.verdict for name, criterion in self._criteria.items()}
        return {name: verdict for name, verdict in verdicts.items() if verdict is not Verdict.NOT_APPLICABLE}

    @property
    def verdict(self) -> Verdict:
        """The verdict of the case. A case with a single attempt has the verdict of the attempt.

        Attempts without a verdict are counted twice, as passed and as failed. Only if both agree, the case has a
        verdict.
        """
        if self._counts is None:
            return self._first.verdict
        verdicts = {verdict for verdict, _ in self._counts}
        if self.rule.name == "all":
            return _first(verdicts)
        if self.rule.name != "mean":
            return _by_count(self.rule, self._counts)
        by_criterion = self.criterion_verdicts
        verdict = _first(by_criterion.values()) if by_criterion else _first(verdicts)
        # Without the attempts that the agent broke, no criterion has failed: the case is an error, and not a wrong
        # answer.
        is_error = Verdict.FAILED not in verdicts and self.agent_failed
        return Verdict.ERROR if verdict is Verdict.FAILED and is_error else verdict


class _CriterionEvidence:
    """The lowest and the highest mean of a criterion that the attempts at a case could have."""

    __slots__ = ("_ends", "_has_value", "_lower_is_better", "_threshold")

    def __init__(self, outcome: Outcome) -> None:
        self._threshold, self._lower_is_better = outcome.threshold or 0.0, outcome.lower_is_better
        self._ends: tuple[RunningMean, RunningMean] | None = None
        self._has_value = False

    def add(self, outcome: Outcome, *, agent_failed: bool) -> None:
        """Add the outcome of an attempt."""
        ends = outcome.ends
        if ends is None:
            return
        if agent_failed:
            worst = outcome.range.bounds[1 if outcome.lower_is_better else 0]
            ends = (worst, worst)
        self._has_value = self._has_value or agent_failed or outcome.score.value is not None
        low, high = ends
        if self._ends is None:
            mean = RunningMean(low)
            self._ends = mean, mean if low == high else RunningMean(high)
            return
        self._divide(low == high)
        self._ends[0].add(low)
        if self._ends[1] is not self._ends[0]:
            self._ends[1].add(high)

    def _divide(self, stay_equal: bool) -> None:
        """Hold a mean for each end unless both were and stay equal, as in nearly every run."""
        if self._ends is not None and self._ends[0] is self._ends[1] and not stay_equal:
            self._ends = self._ends[0], self._ends[0].copy()

    def merge(self, criterion: _CriterionEvidence) -> None:
        """Add the outcomes of more attempts."""
        self._has_value = self._has_value or criterion._has_value
        if self._ends is None or criterion._ends is None:
            self._ends = self._ends or criterion._ends
            return
        low, high = criterion._ends
        self._divide(low is high)
        self._ends[0].merge(low)
        if self._ends[1] is not self._ends[0]:
            self._ends[1].merge(high)

    @property
    def verdict(self) -> Verdict:
        """The verdict on the mean."""
        if self._ends is None:
            return Verdict.NOT_APPLICABLE
        means = [end.value for end in self._ends]
        passes = {value <= self._threshold if self._lower_is_better else value >= self._threshold for value in means}
        if not self._has_value or len(passes) > 1:
            return Verdict.UNSCORED
        return Verdict.PASSED if passes.pop() else Verdict.FAILED


def case_evidence(rule: AttemptRule, attempts: Sequence[AttemptEvidence]) -> CaseEvidence:
    """Return the evidence of all attempts at a case, of which there is at least one."""
    evidence = CaseEvidence(rule, attempts[0])
    for attempt in attempts[1:]:
        evidence.add(attempt)
    return evidence


def _first(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the first of failed, error, unscored and passed that occurs. If none does, the case only informs."""
    present = set(verdicts)
    order = (Verdict.FAILED, Verdict.ERROR, Verdict.UNSCORED, Verdict.PASSED)
    return next((verdict for verdict in order if verdict in present), Verdict.INFORMATIONAL)


def _by_count(rule: AttemptRule, attempts: Mapping[_Kind, int]) -> Verdict:
    """Return the verdict of a case by the number of its attempts of each verdict that the agent broke, or did not."""
    counts = {key: number for key, number in attempts.items() if key[0] is not Verdict.INFORMATIONAL}
    if not counts:
        return Verdict.INFORMATIONAL
    total = sum(counts.values())
    needed = rule.needed(total)
    passed = sum(number for (verdict, _), number in counts.items() if verdict is Verdict.PASSED)
    failed = {key: number for key, number in counts.items() if key[0] is Verdict.FAILED or key == (Verdict.ERROR, True)}
    if passed >= needed:
        return Verdict.PASSED
    if total - sum(failed.values()) >= needed:
        return Verdict.UNSCORED
    return _first(verdict for verdict, _ in failed or counts)
