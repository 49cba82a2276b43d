"""Case results -> Summary: how good, and how sure?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple, get_args

from assay.data.outcome import CaseResult, FaultSide, Judging, Outcome, Range, Verdict
from assay.data.summary import CriterionSummary, Estimate, Summary, Valid
from assay.stats.interval import Clusters, effective_trials, wilson


def aggregate(results: Iterable[CaseResult]) -> Summary:
    """Return the numbers of a run from its results in file order, the attempts of a case one after another.

    Memory does not grow with the number of cases.
    """
    tallies: dict[str, _Tally] = {}
    cases: Counter[Verdict] = Counter()
    invalid: Counter[str] = Counter()
    agent_errors = other_errors = 0
    for attempts in _by_case(results):
        for result in attempts:
            cases[result.verdict] += 1
            invalid.update(fault.side for fault in (result.evidence or ())[:1])
            if result.verdict is Verdict.ERROR and result.failure is not None:
                agent_errors += result.failure.side == "agent"
                other_errors += result.failure.side != "agent"
        for name in dict.fromkeys(one.criterion for result in attempts for one in result.outcomes):
            tallies.setdefault(name, _Tally(name)).add(attempts)
    unapplied = [name for name, tally in tallies.items() if tally.gates and not tally.applied]
    verdict, reasons = _verdict(cases, agent_errors, other_errors, unapplied)
    criteria = tuple(tally.summary() for tally in tallies.values())
    counts = {one.value: cases[one] for one in Verdict if cases[one]}
    spoiled = {side: invalid[side] for side in get_args(FaultSide) if invalid[side]}
    return Summary(verdict, criteria, counts, spoiled, tuple(reasons))


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
        self._judging = _Judging()

    def add(self, attempts: list[CaseResult]) -> None:
        """Count the outcomes of all attempts at one case."""
        counted = [
            _Counted(result, outcome, outcome.verdict)
            for result in attempts
            for outcome in result.outcomes
            if outcome.criterion == self.name
        ]
        for one in counted:
            self._count(one)
        self._all.add(counted)
        if any(result.evidence is None for result in attempts):
            self._valid = None
        if self._valid is not None:
            self._valid.add([one for one in counted if not one.result.evidence])

    def _count(self, one: _Counted) -> None:
        self._latest = one.outcome
        if one.outcome.judging is not None:
            self._judging.add(one.outcome.judging)
        self.gates = self.gates or one.outcome.threshold is not None
        self.applied = self.applied or one.applies
        if one.agent_failed:
            self._errors += 1
        else:
            self._verdicts[one.verdict] += 1

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


class _Counted(NamedTuple):
    """One outcome of one attempt, with its verdict."""

    result: CaseResult
    outcome: Outcome
    verdict: Verdict

    @property
    def applies(self) -> bool:
        return self.verdict is not Verdict.NOT_APPLICABLE

    @property
    def agent_failed(self) -> bool:
        """Whether the agent broke the conversation before this could be scored: it did not pass."""
        failure = self.result.failure
        return self.verdict is Verdict.UNSCORED and failure is not None and failure.side == "agent"

    @property
    def passed(self) -> bool | None:
        """Whether it counts for or against the pass rate; None: neither."""
        if self.agent_failed:
            return False
        return self.verdict is Verdict.PASSED if self.verdict in (Verdict.PASSED, Verdict.FAILED) else None


class _Numbers:
    """The values of one criterion and what passed, over some of the attempts, clustered by case."""

    def __init__(self) -> None:
        self.n = 0
        self.values = Clusters()
        self.passes = Clusters()

    def add(self, counted: list[_Counted]) -> None:
        """Count outcomes of one case."""
        applied = [one for one in counted if one.applies]
        self.n += len(applied)
        self.values.add(one.outcome.score.value for one in applied if one.outcome.score.value is not None)
        self.passes.add(float(one.passed) for one in applied if one.passed is not None)


class _Judging:
    """What asking judges took so far."""

    def __init__(self) -> None:
        self._sums: Counter[str] = Counter()
        self._cost: float | None = 0.0
        self._agreement: list[float] = [0.0, 0.0]

    def add(self, one: Judging) -> None:
        """Count one outcome's."""
        self._sums.update(outcomes=1, calls=one.calls, calls_saved=one.calls_saved, abstentions=one.abstentions)
        self._cost = None if self._cost is None or one.cost is None else self._cost + one.cost
        if one.self_agreement is not None:
            self._agreement = [self._agreement[0] + one.self_agreement, self._agreement[1] + 1]

    def summary(self) -> dict[str, Any]:
        """Return the fields of a criterion's summary; nothing where no judge was asked. Agreement is the mean."""
        if not self._sums["outcomes"]:
            return {}
        agreed, outcomes = self._agreement
        return {
            "calls": self._sums["calls"],
            "calls_saved": self._sums["calls_saved"],
            "abstentions": self._sums["abstentions"],
            "cost": self._cost,
            "self_agreement": agreed / outcomes if outcomes else None,
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
