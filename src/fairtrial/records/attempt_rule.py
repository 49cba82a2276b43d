"""When does a case with several attempts pass?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

import msgspec

from fairtrial.records.average import mean
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
    """The rules of a run: by eval set, and for some cases by eval set and id. The rule of any other case is "all"."""

    eval_sets: Mapping[str, AttemptRule] = {}
    cases: Mapping[str, Mapping[str, AttemptRule]] = {}

    def of(self, eval_set: str, case_id: str) -> AttemptRule:
        """Return the rule of a case."""
        return self.cases.get(eval_set, {}).get(case_id) or self.eval_sets.get(eval_set, ALL)

    def to_json(self) -> Json:
        """Return the rules as they stand in the manifest of a run."""
        return msgspec.to_builtins(self)


def rules_in(config: Mapping[str, Any]) -> AttemptRules:
    """Return the rules in the manifest of a run. An older manifest does not have any."""
    return msgspec.convert(config.get("attempt_rules") or {}, AttemptRules)


class AttemptEvidence(NamedTuple):
    """One attempt, as far as a rule needs it. `agent_failed` says that the agent broke the attempt."""

    verdict: Verdict
    agent_failed: bool
    outcomes: Sequence[Outcome] = ()


def evidence_of(result: CaseResult, verdict: Verdict, rule: AttemptRule) -> AttemptEvidence:
    """Return the evidence of an attempt with its verdict. Only the rule "mean" needs the outcomes."""
    agent_failed = result.failure is not None and result.failure.side == "agent"
    if rule.name == "mean":
        return AttemptEvidence(verdict, agent_failed, result.outcomes)
    return _without_outcomes(verdict, agent_failed)


@cache
def _without_outcomes(verdict: Verdict, agent_failed: bool) -> AttemptEvidence:
    """Return the evidence without outcomes. All attempts share a few of these, so that a case of many is small."""
    return AttemptEvidence(verdict, agent_failed)


def case_verdict(rule: AttemptRule, attempts: Sequence[AttemptEvidence]) -> Verdict:
    """Return the verdict of a case. A case with a single attempt has the verdict of the attempt.

    Attempts without a verdict are counted twice, as passed and as failed. Only if both agree, the case has a verdict.
    """
    verdicts = [attempt.verdict for attempt in attempts]
    if rule.name == "all" or len(attempts) == 1:
        return _first(verdicts)
    if rule.name != "mean":
        return _by_count(rule, [attempt for attempt in attempts if attempt.verdict is not Verdict.INFORMATIONAL])
    by_criterion = criterion_verdicts(attempts)
    verdict = _first(by_criterion.values()) if by_criterion else _first(verdicts)
    # Without the attempts that the agent broke, no criterion has failed: the case is an error, and not a wrong answer.
    is_error = Verdict.FAILED not in verdicts and any(attempt.agent_failed for attempt in attempts)
    return Verdict.ERROR if verdict is Verdict.FAILED and is_error else verdict


def criterion_verdicts(attempts: Sequence[AttemptEvidence]) -> dict[str, Verdict]:
    """Return the verdict on the mean of each criterion over the attempts.

    An attempt that the agent broke counts as the worst value of the range.
    """
    by_criterion: dict[str, list[tuple[Outcome, bool]]] = {}
    for attempt in attempts:
        for outcome in attempt.outcomes:
            if outcome.threshold is not None:
                by_criterion.setdefault(outcome.criterion, []).append((outcome, attempt.agent_failed))
    verdicts = {name: _mean_verdict(outcomes) for name, outcomes in by_criterion.items()}
    return {name: verdict for name, verdict in verdicts.items() if verdict is not Verdict.NOT_APPLICABLE}


def _mean_verdict(outcomes: Sequence[tuple[Outcome, bool]]) -> Verdict:
    lows: list[float] = []
    highs: list[float] = []
    has_value = False
    for outcome, agent_failed in outcomes:
        ends = outcome.ends
        if ends is None:
            continue
        if agent_failed:
            worst = outcome.range.bounds[1 if outcome.lower_is_better else 0]
            ends = (worst, worst)
        has_value = has_value or agent_failed or outcome.score.value is not None
        lows.append(ends[0])
        highs.append(ends[1])
    if not lows:
        return Verdict.NOT_APPLICABLE
    threshold, lower_is_better = outcomes[0][0].threshold or 0.0, outcomes[0][0].lower_is_better
    passes = {end <= threshold if lower_is_better else end >= threshold for end in (mean(lows), mean(highs))}
    if not has_value or len(passes) > 1:
        return Verdict.UNSCORED
    return Verdict.PASSED if passes.pop() else Verdict.FAILED


def _first(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the first of failed, error, unscored and passed that occurs. If none does, the case only informs."""
    present = set(verdicts)
    order = (Verdict.FAILED, Verdict.ERROR, Verdict.UNSCORED, Verdict.PASSED)
    return next((verdict for verdict in order if verdict in present), Verdict.INFORMATIONAL)


def _by_count(rule: AttemptRule, attempts: Sequence[AttemptEvidence]) -> Verdict:
    if not attempts:
        return Verdict.INFORMATIONAL
    needed = rule.needed(len(attempts))
    passed = sum(attempt.verdict is Verdict.PASSED for attempt in attempts)
    failed = [attempt for attempt in attempts if attempt.verdict is Verdict.FAILED or _is_agent_error(attempt)]
    if passed >= needed:
        return Verdict.PASSED
    if len(attempts) - len(failed) >= needed:
        return Verdict.UNSCORED
    return _first(attempt.verdict for attempt in failed or attempts)


def _is_agent_error(attempt: AttemptEvidence) -> bool:
    return attempt.verdict is Verdict.ERROR and attempt.agent_failed
