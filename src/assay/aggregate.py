"""Case results -> Summary: how good, and how sure?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from assay.data.outcome import CaseResult, Judging, Outcome, Range, Verdict
from assay.data.summary import CriterionSummary, Estimate, Summary
from assay.stats.interval import Clusters, effective_trials, wilson


def aggregate(results: Iterable[CaseResult]) -> Summary:
    """Return the numbers of a run from its results in file order, the attempts of a case one after another.

    Memory does not grow with the number of cases.
    """
    tallies: dict[str, _Tally] = {}
    cases: Counter[Verdict] = Counter()
    agent_errors = other_errors = 0
    for attempts in _by_case(results):
        for result in attempts:
            cases[result.verdict] += 1
            if result.verdict is Verdict.ERROR and result.failure is not None:
                agent_errors += result.failure.side == "agent"
                other_errors += result.failure.side != "agent"
        for name in dict.fromkeys(one.criterion for result in attempts for one in result.outcomes):
            tallies.setdefault(name, _Tally(name)).add(attempts)
    unapplied = [name for name, tally in tallies.items() if tally.gates and not tally.applied]
    verdict, reasons = _verdict(cases, agent_errors, other_errors, unapplied)
    criteria = tuple(tally.summary() for tally in tallies.values())
    return Summary(verdict, criteria, {one.value: cases[one] for one in Verdict if cases[one]}, tuple(reasons))


def _by_case(results: Iterable[CaseResult]) -> Iterator[list[CaseResult]]:
    for _, attempts in groupby(results, key=lambda result: result.position):
        yield list(attempts)


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
        unscored.append("no case passed")
    return (Verdict.UNSCORED, unscored) if unscored else (Verdict.PASSED, [])


class _Tally:
    """What is known of one criterion so far."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.gates = False
        self.applied = False
        self._verdicts: Counter[Verdict] = Counter()
        self._errors = 0
        self._values = Clusters()
        self._passes = Clusters()
        self._latest: Outcome | None = None
        self._judging = _Judging()

    def add(self, attempts: list[CaseResult]) -> None:
        """Count the outcomes of all attempts at one case."""
        values: list[float] = []
        passes: list[float] = []
        for result in attempts:
            for outcome in result.outcomes:
                if outcome.criterion == self.name:
                    self._count(result, outcome, values, passes)
        self._values.add(values)
        self._passes.add(passes)

    def _count(self, result: CaseResult, outcome: Outcome, values: list[float], passes: list[float]) -> None:
        verdict = outcome.verdict
        self._latest = outcome
        if outcome.judging is not None:
            self._judging.add(outcome.judging)
        self.gates = self.gates or outcome.threshold is not None
        self.applied = self.applied or verdict is not Verdict.NOT_APPLICABLE
        if verdict is not Verdict.NOT_APPLICABLE and outcome.score.value is not None:
            values.append(outcome.score.value)
        if verdict is Verdict.UNSCORED and result.failure is not None and result.failure.side == "agent":
            self._errors += 1
            passes.append(0.0)
            return
        self._verdicts[verdict] += 1
        if verdict in (Verdict.PASSED, Verdict.FAILED):
            passes.append(float(verdict is Verdict.PASSED))

    def summary(self) -> CriterionSummary:
        """Return the numbers."""
        latest = self._latest
        return CriterionSummary(
            self.name,
            _mean(self._values, latest.range if latest else Range()),
            _pass_rate(self._passes),
            self._verdicts[Verdict.PASSED],
            self._verdicts[Verdict.FAILED],
            self._verdicts[Verdict.UNSCORED],
            self._verdicts[Verdict.NOT_APPLICABLE],
            self._verdicts[Verdict.INFORMATIONAL],
            self._errors,
            threshold=latest.threshold if latest else None,
            lower_is_better=latest.lower_is_better if latest else False,
            **self._judging.summary(),
        )


class _Judging:
    """What asking judges took so far."""

    def __init__(self) -> None:
        self._sums: Counter[str] = Counter()
        self._cost: float | None = 0.0
        self._agreed: defaultdict[str, float] = defaultdict(float)
        self._agreements: Counter[str] = Counter()

    def add(self, one: Judging) -> None:
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


def _mean(values: Clusters, scale: Range) -> Estimate:
    """The mean with its t interval, cut at the ends of the range; no interval for fewer than two cases."""
    interval = values.interval
    if interval is None:
        return Estimate(values.mean)
    low, high = scale.bounds
    method = "t" if values.values == values.clusters else "t, clustered by case"
    return Estimate(values.mean, max(low, interval[0]), min(high, interval[1]), method)


def _pass_rate(passes: Clusters) -> Estimate:
    rate = passes.mean
    if rate is None:
        return Estimate()
    if passes.values == passes.clusters:
        low, high = wilson(rate, passes.values)
        return Estimate(rate, low, high, "Wilson")
    n = effective_trials(rate, passes.standard_error, cases=passes.clusters, attempts=passes.values)
    low, high = wilson(rate, n)
    return Estimate(rate, low, high, f"Wilson, {n:.1f} effective attempts")
