"""Aggregate case results into a summary with estimates and intervals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, get_args

from msgspec.structs import replace

from fairtrial.analysis.weight_classes import Tallies, WeightClasses, add_outcomes, merge_tallies
from fairtrial.errors import spell
from fairtrial.metrics.entries import CATALOG
from fairtrial.records.attempt_rule import AttemptRule, AttemptRules, CaseEvidence, make_evidence
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.result import CaseResult, Verdict
from fairtrial.records.score import FaultSide
from fairtrial.records.summary import Cascade, CriterionSummary, Estimate, RunUsage, Summary
from fairtrial.stats.pass_k import pass_k_table

if TYPE_CHECKING:
    from fairtrial.analysis.criterion_tally import CriterionNumbers
    from fairtrial.records.ballot import Ballot

_ALWAYS_COMPUTED = frozenset(entry.name for entry in CATALOG.values() if entry.always_computed)
_UNAPPLIED = (
    "{name} has a threshold, and applied to no case; state in a case what it compares, or remove it from the criteria"
)
_UNAPPLIED_ALONE = (
    "{name} has a threshold, and applied to no case; no conversation holds what it checks: add a case with one that "
    "does, or remove it from the criteria"
)
_READ_CONVERSATIONS = frozenset(
    entry.name
    for entry in CATALOG.values()
    if entry.needs in {"results", "rules in the configuration", "judge", "judge or Vertex"}
)
"""The criteria that compare nothing that a case states."""
_IGNORED_DEFAULT = (
    "{name} is a default criterion that applied to no case, so that it does not count; state in a case what it "
    "compares, or name the criteria with {criteria}"
)
_NO_THRESHOLDS = (
    "no thresholds: configurations of this kind state none; add `thresholds: {{name: x}}` or `{thresholds} NAME=X`"
)

_MOST_OPEN = 64
"""The number of cases that are closed at once. To close each by itself takes a tenth of the time of scoring."""


def aggregate(
    results: Iterable[CaseResult],
    ballots: Iterable[Ballot] = (),
    *,
    informs: bool = False,
    defaults: Collection[str] = (),
    rules: AttemptRules = AttemptRules(),  # noqa: B008  (a frozen record)
) -> Summary:
    """Return the numbers of a run from its results in file order, with the attempts of a case one after another.

    `ballots` are all ballots of the run. Several outcomes may use the same ballot, whose calls were made only once.
    `informs` is true if the configuration is of a kind that cannot state thresholds. The run is then informational if
    no criterion has one, and a criterion that was asked for has a value. Otherwise it is unscored, because its author
    may have meant to state thresholds, or because it informs about nothing. `defaults` are the criteria that nobody
    asked for: those of them that applied to no case do not count if another criterion decides. `rules` make the
    verdict of a case from its attempts, and the verdict of the run follows from the verdicts of its cases.

    Memory does not grow with the cases, of which a few are open at a time.
    """
    builder = SummaryBuilder(rules)
    for result in results:
        builder.add(result)
    return builder.summary(ballots, informs=informs, defaults=defaults)


class SummaryBuilder:
    """The numbers of a run so far.

    `add` takes results in file order, with the attempts of a case one after another, and holds a few cases.
    `is_in_file_order` is false as soon as a result comes too late. The numbers then say nothing about the run.
    `count` takes results in any order, and `close_cases` ends the cases. Until then, memory grows with the cases, but
    not with their attempts.
    """

    def __init__(self, rules: AttemptRules) -> None:
        self.is_in_file_order = True
        self._rules = rules
        self._run = _RunTally()
        self._tallies: Tallies = {}
        # Most runs are no sample. Until the first result with a probability, there are no classes.
        self._classes: WeightClasses | None = None
        self._place = (-1, 0)

    def add(self, result: CaseResult, verdicts: Sequence[Verdict] | None = None) -> None:
        """Count the result of one attempt. The verdicts of its outcomes are computed if they are not given."""
        if result.eval_set in self._rules.baselines:
            return
        place = (result.position, result.attempt)
        self.is_in_file_order = self.is_in_file_order and place > self._place
        if result.position != self._place[0] and len(self._run.open_cases) >= _MOST_OPEN:
            self.close_cases()
        self._place = place
        self.count(result, result.verdicts if verdicts is None else verdicts)

    def count(self, result: CaseResult, verdicts: Sequence[Verdict]) -> None:
        """Count the result of one attempt at a case that is not closed."""
        verdict = result.combine_verdicts(verdicts)
        self._run.add(result, verdict, self._rules.find_rule(result.eval_set, result.case_id))
        if result.probability is not None and self._classes is None:
            self._classes = WeightClasses(self._tallies)
        add_outcomes(self._tallies, result, verdicts)
        if self._classes is not None:
            self._classes.add(result, verdicts)

    @property
    def case_count(self) -> int:
        """The number of cases that are closed."""
        return self._run.by_case.total()

    def criterion_numbers(self) -> dict[str, CriterionNumbers]:
        """Return the numbers of the cases by criterion. After this call, no result can be added."""
        self.close_cases()
        return {name: tally.numbers for name, tally in self._tallies.items()}

    def merge(self, builder: SummaryBuilder) -> None:
        """Add the numbers of more attempts, also at cases that are open. They must not be added to the other again."""
        if self._classes is not None or builder._classes is not None:
            self._classes = self._classes or WeightClasses(self._tallies)
            self._classes.merge(builder._classes or WeightClasses(builder._tallies))
        self._run.merge(builder._run)
        merge_tallies(self._tallies, builder._tallies)

    def close_cases(self) -> None:
        """End the open cases. No attempt at them can follow."""
        if not self._run.open_cases:
            return
        self._run.close_cases()
        for tally in self._tallies.values():
            tally.close_cases()
        if self._classes is not None:
            self._classes.close_cases()

    def summary(
        self, ballots: Iterable[Ballot] = (), *, informs: bool = False, defaults: Collection[str] = ()
    ) -> Summary:
        """Return the numbers of all results. After this call, no result can be added."""
        self.close_cases()
        run, tallies = self._run, self._tallies
        unapplied = [name for name, tally in tallies.items() if tally.gates and not tally.applicable]
        decides = any(tally.gates and tally.applicable for tally in tallies.values()) or run.cases[Verdict.PASSED] > 0
        ignored_names = [name for name in unapplied if name in defaults and decides]
        unapplied = [name for name in unapplied if name not in ignored_names]
        # The always computed criteria have values without being asked for, so that their values do not count here.
        has_value = any(tally.has_value and name not in _ALWAYS_COMPUTED for name, tally in tallies.items())
        verdict, reasons = run.verdict(unapplied, informs=informs, has_value=has_value)
        criteria = tuple(tally.summary() for tally in tallies.values())
        judge = reduce(_sum, (ballot.model_usage for ballot in ballots), None)
        summary = Summary(
            verdict,
            criteria,
            {verdict.value: run.cases[verdict] for verdict in Verdict if run.cases[verdict]},
            {side: run.invalid[side] for side in get_args(FaultSide) if run.invalid[side]},
            tuple(reasons),
            RunUsage(run.agent, judge, run.simulator, run.environment),
            pass_k_table(run.passes),
            case_verdicts={verdict.value: run.by_case[verdict] for verdict in Verdict if run.by_case[verdict]},
            attempt_rules=tuple(run.rules),
            notes=(
                *(_IGNORED_DEFAULT.format(name=name, criteria=spell("criteria")) for name in ignored_names),
                *(describe_cascade(criterion) for criterion in criteria if criterion.cascade is not None),
            ),
        )
        return summary if self._classes is None else self._classes.weigh(summary)


def scaled_to_population(summary: Summary, sample_size: int, population: int) -> Summary:
    """Return the numbers of a random sample with intervals about a finite population from which it was drawn.

    Both ends of an interval come closer to the estimate by the factor sqrt(1 - sample_size / population): a sample of
    all would leave no doubt about them. Source: Cochran (1977), "Sampling Techniques", section 2.6.
    """
    factor = math.sqrt(1 - sample_size / population)

    def scaled(estimate: Estimate) -> Estimate:
        value, low, high = estimate.value, estimate.low, estimate.high
        if value is None or low is None or high is None:
            return estimate
        return replace(estimate, low=value - (value - low) * factor, high=value + (high - value) * factor)

    def scaled_criterion(criterion: CriterionSummary) -> CriterionSummary:
        valid = criterion.valid
        if valid is not None:
            valid = replace(valid, mean=scaled(valid.mean), pass_rate=scaled(valid.pass_rate))
        return replace(criterion, mean=scaled(criterion.mean), pass_rate=scaled(criterion.pass_rate), valid=valid)

    return replace(summary, criteria=tuple(map(scaled_criterion, summary.criteria)))


class _RunTally:
    """The counts over all attempts of a run: verdicts, invalid attempts, errors, and the usage of models by side."""

    def __init__(self) -> None:
        self.cases: Counter[Verdict] = Counter()
        self.invalid: Counter[str] = Counter()
        self.by_case: Counter[Verdict] = Counter()
        self.rules: dict[str, None] = {}
        self.passes: Counter[tuple[int, int]] = Counter()
        self.open_cases: dict[int, CaseEvidence] = {}
        self.agent: ModelUsage | None = None
        self.simulator: ModelUsage | None = None
        self.environment: ModelUsage | None = None
        self._valid_passes = 0
        self._agent_errors = 0
        self._other_errors = 0

    def close_cases(self) -> None:
        """End the open cases: count how many attempts at each of them passed, and its verdict."""
        for evidence in self.open_cases.values():
            verdict = evidence.verdict
            self.by_case[verdict] += 1
            if evidence.count > 1:
                self.rules[str(evidence.rule)] = None
            if verdict is Verdict.ERROR:
                self._agent_errors += evidence.agent_failed
                self._other_errors += not evidence.agent_failed
            self.passes[evidence.pass_count, evidence.deciding_count] += 1
        self.open_cases.clear()

    def add(self, result: CaseResult, verdict: Verdict, rule: AttemptRule) -> None:
        """Count one attempt."""
        attempt = make_evidence(result, verdict, rule)
        evidence = self.open_cases.get(result.position)
        if evidence is None:
            self.open_cases[result.position] = CaseEvidence(rule, attempt)
        else:
            evidence.add(attempt)
        self.cases[verdict] += 1
        self._valid_passes += verdict is Verdict.PASSED and not result.invalidations
        if result.invalidations:
            self.invalid[result.invalidations[0].side] += 1
        if result.usage is not None:
            self.agent = _sum(self.agent, _agent_usage(result.usage))
        if result.simulator is not None:
            self.simulator = _sum(self.simulator, result.simulator)
        if result.environment is not None:
            self.environment = _sum(self.environment, result.environment)

    def merge(self, tally: _RunTally) -> None:
        """Add the counts of more attempts, also at the cases that are open."""
        for position, evidence in tally.open_cases.items():
            if position in self.open_cases:
                self.open_cases[position].merge(evidence)
            else:
                self.open_cases[position] = evidence
        self.cases.update(tally.cases)
        self.invalid.update(tally.invalid)
        self.by_case.update(tally.by_case)
        self.passes.update(tally.passes)
        self.rules.update(tally.rules)
        self.agent = _sum(self.agent, tally.agent)
        self.simulator = _sum(self.simulator, tally.simulator)
        self.environment = _sum(self.environment, tally.environment)
        self._valid_passes += tally._valid_passes
        self._agent_errors += tally._agent_errors
        self._other_errors += tally._other_errors

    def verdict(self, unapplied: list[str], *, informs: bool, has_value: bool) -> tuple[Verdict, list[str]]:
        """Return the verdict of the run and its reasons: failed before unscored before passed.

        `unapplied` are the criteria with a threshold that applied to no case. `has_value` is true if a criterion that
        was asked for has a value.
        """
        failed = _counts(
            (self.by_case[Verdict.FAILED], "failed"), (self._agent_errors, "ended with an error of the agent")
        )
        if failed:
            return Verdict.FAILED, failed
        unscored = _counts(
            (self.by_case[Verdict.UNSCORED], "could not be scored"),
            (self._other_errors, "ended with an error that is not the agent's"),
        )
        unscored += [
            (_UNAPPLIED_ALONE if name in _READ_CONVERSATIONS else _UNAPPLIED).format(name=name) for name in unapplied
        ]
        only_informs = set(self.by_case) == {Verdict.INFORMATIONAL}
        if only_informs and informs and not unscored and has_value:
            return Verdict.INFORMATIONAL, [_NO_THRESHOLDS.format(thresholds=spell("thresholds"))]
        if only_informs and informs:
            unscored.append("no metric has a value, so that the run informs about nothing")
        elif only_informs:
            unscored += [] if unapplied else ["no criterion has a threshold, so that nothing decides"]
        elif not self.by_case[Verdict.PASSED]:
            unscored.append("no case passed" if self.by_case else "there are no cases")
        elif not self._valid_passes:
            unscored.append("every attempt that passed is invalid, so that nothing is known about the agent")
        return (Verdict.UNSCORED, unscored) if unscored else (Verdict.PASSED, [])


def _counts(*counts: tuple[int, str]) -> list[str]:
    return [f"{number} {'case' if number == 1 else 'cases'} {event}" for number, event in counts if number]


def _agent_usage(usage: Mapping[str, int]) -> ModelUsage:
    counts = (usage["inference_calls"], usage["input_tokens"], usage["output_tokens"])
    return ModelUsage(*counts, None, usage.get("unreported_calls", 0))


def _sum(left: ModelUsage | None, right: ModelUsage | None) -> ModelUsage | None:
    return left + right if left is not None and right is not None else left or right


def describe_cascade(summary: CriterionSummary) -> str:
    """Return the number of decisions of the first criterion, and the share that the judge would decide otherwise."""
    cascade = summary.cascade or Cascade("")
    total = cascade.decisions + cascade.questions
    start = f"{summary.criterion}: {cascade.criterion} decided {cascade.decisions:,} of {total:,} invocations"
    if not cascade.decisions:
        return f"{start}, and the judge was asked about all of them"
    start += " without the judge"
    if not cascade.audited:
        advice = "a higher `audit` asks about more"
        return f"{start}; the judge was asked about none of these, so their error is not known: {advice}"
    error = cascade.error
    ends = "" if error.low is None or error.high is None else f", 95 % interval {error.low:.0%} to {error.high:.0%}"
    share = "" if error.value is None else f" ({error.value:.0%}{ends})"
    checked = f"the judge, asked about {cascade.audited:,} of these, decided {cascade.overruled:,} otherwise{share}"
    return f"{start}; {checked}"
