"""Case results -> Summary: how good, and how sure?"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import reduce
from itertools import groupby
from typing import Any, get_args

from fairtrial.records.average import mean
from fairtrial.records.ballot import Ballot
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.result import CaseResult, JudgeStats, Outcome, Verdict
from fairtrial.records.score import FaultSide, Range
from fairtrial.records.summary import CriterionSummary, Estimate, RunUsage, Summary, Valid
from fairtrial.stats.interval import (
    LOGARITHMIC,
    STUDENT,
    WILSON,
    bounded_interval,
    logarithmic_interval,
    student_interval,
)


def aggregate(results: Iterable[CaseResult], ballots: Iterable[Ballot] = ()) -> Summary:
    """Return the numbers of a run from its results in file order, the attempts of a case one after another.

    `ballots` are all that were held: several outcomes may rest on one, whose calls were made once.
    Memory grows with the number of cases, by 32 bytes a case and criterion at most, but not with that of attempts.
    """
    tallies: dict[str, _Tally] = {}
    cases: Counter[Verdict] = Counter()
    invalid: Counter[str] = Counter()
    agent_errors = other_errors = 0
    agent = simulator = environment = None
    for _, attempts in groupby(results, key=lambda result: result.position):
        for result in attempts:
            verdicts = [outcome.verdict for outcome in result.outcomes]
            of_case = result.verdict_of(verdicts)
            cases[of_case] += 1
            invalid.update(fault.side for fault in (result.invalidations or ())[:1])
            if of_case is Verdict.ERROR and result.failure is not None:
                agent_errors += result.failure.side == "agent"
                other_errors += result.failure.side != "agent"
            for outcome, judged in zip(result.outcomes, verdicts, strict=True):
                if outcome.criterion not in tallies:
                    tallies[outcome.criterion] = _Tally(outcome.criterion)
                tallies[outcome.criterion].add(result, outcome, judged)
            agent = _sum(agent, _of_agent(result))
            simulator = _sum(simulator, result.simulator)
            environment = _sum(environment, result.environment)
        for tally in tallies.values():
            tally.close_case()
    unapplied = [name for name, tally in tallies.items() if tally.gates and not tally.applied]
    verdict, reasons = _verdict(cases, agent_errors, other_errors, unapplied)
    criteria = tuple(tally.summary() for tally in tallies.values())
    counts = {one.value: cases[one] for one in Verdict if cases[one]}
    spoiled = {side: invalid[side] for side in get_args(FaultSide) if invalid[side]}
    judge = reduce(_sum, (ballot.spent for ballot in ballots), None)
    spending = RunUsage(agent, judge, simulator, environment)
    return Summary(verdict, criteria, counts, spoiled, tuple(reasons), spending)


def _of_agent(result: CaseResult) -> ModelUsage | None:
    usage = result.usage
    if usage is None:
        return None
    return ModelUsage(usage["inference_calls"], usage["input_tokens"], usage["output_tokens"], None)


def _sum(one: ModelUsage | None, other: ModelUsage | None) -> ModelUsage | None:
    return one + other if one is not None and other is not None else one or other


def _verdict(
    cases: Counter[Verdict], agent_errors: int, other_errors: int, unapplied: list[str]
) -> tuple[Verdict, list[str]]:
    """The verdict of a run and why: failed before unscored before passed."""
    failed = [
        f"{count} {what}"
        for count, what in ((cases[Verdict.FAILED], "failed"), (agent_errors, "ended with an error of the agent"))
        if count
    ]
    if failed:
        return Verdict.FAILED, failed
    unscored = [
        f"{count} {what}"
        for count, what in (
            (cases[Verdict.UNSCORED], "could not be scored"),
            (other_errors, "ended with an error that is not the agent's"),
        )
        if count
    ]
    unscored += [f"{name} has a threshold, and applied to no case" for name in unapplied]
    if not cases[Verdict.PASSED]:
        unscored.append("no case passed" if cases else "there are no cases")
    return (Verdict.UNSCORED, unscored) if unscored else (Verdict.PASSED, [])


class _Tally:
    """What is known of one criterion so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.gates = False
        self.applied = False
        self._verdicts: Counter[Verdict] = Counter()
        self._errors = 0
        self._all = _Numbers()
        self._valid: _Numbers | None = _Numbers()
        self._latest: Outcome | None = None
        self._judging = _JudgeTally()

    def close_case(self) -> None:
        """End a case: its attempts make one value."""
        for numbers in (self._all, self._valid):
            if numbers is not None:
                numbers.close()

    def add(self, result: CaseResult, outcome: Outcome, verdict: Verdict) -> None:
        """Count the outcome of one attempt."""
        broken = result.failure is not None and result.failure.side == "agent" and verdict is Verdict.UNSCORED
        self._latest = outcome
        if outcome.judge_stats is not None:
            self._judging.add(outcome.judge_stats)
        self.gates = self.gates or outcome.threshold is not None
        if broken:
            self._errors += 1
        else:
            self._verdicts[verdict] += 1
        if result.invalidations is None:
            self._valid = None
        if verdict is Verdict.NOT_APPLICABLE:
            return
        self.applied = True
        passed = False if broken else _passed(verdict)
        self._all.put(outcome.score.value, passed=passed)
        if self._valid is not None and not result.invalidations:
            self._valid.put(outcome.score.value, passed=passed)

    def summary(self) -> CriterionSummary:
        """Return the numbers."""
        latest = self._latest
        scale = latest.range if latest else Range()
        valid = self._valid
        return CriterionSummary(
            self.name,
            _mean(self._all.values, scale),
            _pass_rate(self._all.passes),
            self._verdicts[Verdict.PASSED],
            self._verdicts[Verdict.FAILED],
            self._verdicts[Verdict.UNSCORED],
            self._verdicts[Verdict.NOT_APPLICABLE],
            self._verdicts[Verdict.INFORMATIONAL],
            self._errors,
            threshold=latest.threshold if latest else None,
            lower_is_better=latest.lower_is_better if latest else False,
            **self._judging.summary(),
            valid=None if valid is None else Valid(valid.n, _mean(valid.values, scale), _pass_rate(valid.passes)),
        )


def _passed(verdict: Verdict) -> bool | None:
    """Whether a verdict counts for or against the pass rate; None: neither."""
    return verdict is Verdict.PASSED if verdict in (Verdict.PASSED, Verdict.FAILED) else None


class _Numbers:
    """The values and the passes of one criterion over some of the attempts, one number a case of each."""

    def __init__(self) -> None:
        self.n = 0
        self.values = _CaseMeans()
        self.passes = _CaseMeans()

    def put(self, value: float | None, *, passed: bool | None) -> None:
        """Count an outcome that applies."""
        self.n += 1
        if value is not None:
            self.values.put(value)
        if passed is not None:
            self.passes.put(float(passed))

    def close(self) -> None:
        """End a case."""
        self.values.close()
        self.passes.close()


class _CaseMeans:
    """The mean of each case over its attempts: 8 bytes a case."""

    def __init__(self) -> None:
        self.means = array("d")
        self.attempts = 0
        self._open = array("d")

    def put(self, value: float) -> None:
        """Add the value of an attempt at the case that is open."""
        self._open.append(value)

    def close(self) -> None:
        """End a case; a case without a value does not count."""
        if self._open:
            self.means.append(mean(self._open))
            self.attempts += len(self._open)
            self._open = array("d")


class _JudgeTally:
    """What asking judges took so far."""

    def __init__(self) -> None:
        self._sums: Counter[str] = Counter()
        self._cost: float | None = 0.0
        self._agreed: defaultdict[str, float] = defaultdict(float)
        self._agreements: Counter[str] = Counter()

    def add(self, one: JudgeStats) -> None:
        """Count one outcome's."""
        self._sums.update(outcomes=1, calls=one.calls, calls_saved=one.calls_saved, abstentions=one.abstentions)
        self._cost = None if self._cost is None or one.cost is None else self._cost + one.cost
        for name, rate in (("self_agreement", one.self_agreement), ("panel_agreement", one.panel_agreement)):
            if rate is not None:
                self._agreed[name] += rate
                self._agreements[name] += 1

    def summary(self) -> dict[str, Any]:
        """Return the fields of a criterion's summary; nothing where no judge was asked. Agreement is the mean."""
        if not self._sums["outcomes"]:
            return {}
        return {
            "calls": self._sums["calls"],
            "calls_saved": self._sums["calls_saved"],
            "abstentions": self._sums["abstentions"],
            "cost": self._cost,
            **{name: self._agreed[name] / number for name, number in self._agreements.items()},
        }


def _mean(values: _CaseMeans, scale: Range) -> Estimate:
    """The mean over cases with its interval, in the form that fits the range of the criterion."""
    if not values.means:
        return Estimate()
    low, high = scale.bounds
    if math.isfinite(low) and math.isfinite(high):
        interval, method = bounded_interval(values.means, low=low, high=high), WILSON
    elif scale.logarithmic and min(values.means) > 0:
        interval, method = logarithmic_interval(values.means), LOGARITHMIC
    else:
        interval, method = student_interval(values.means), STUDENT
    middle = mean(values.means)
    if interval is None:
        return Estimate(middle)
    return Estimate(middle, max(low, interval[0]), min(high, interval[1]), method)


def _pass_rate(passes: _CaseMeans) -> Estimate:
    if not passes.means:
        return Estimate()
    interval = bounded_interval(passes.means, attempts=passes.attempts)
    if interval is None:
        return Estimate(mean(passes.means))
    return Estimate(mean(passes.means), *interval, WILSON)
