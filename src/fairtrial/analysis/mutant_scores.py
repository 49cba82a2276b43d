"""Mutation scores: the share of mutants that an evaluation and each criterion detect."""

from __future__ import annotations

import difflib
import math
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

from fairtrial.analysis.separation import Separation
from fairtrial.mutations.hints import hint
from fairtrial.records.mutation import (
    BestThreshold,
    CatchRate,
    CriterionRole,
    Direction,
    Family,
    Kind,
    MutantFinding,
    MutantScore,
    Mutation,
    OperatorRate,
    Redundancy,
)
from fairtrial.records.result import CaseResult, Verdict
from fairtrial.records.trace import Message, Thought, ToolCall, Trace
from fairtrial.stats.clustered import mean_of_rates
from fairtrial.text.display import compact

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording

_VERDICTS = {Verdict.PASSED: False, Verdict.FAILED: True}
MOST_FINDINGS = 50
"""The largest number of survivors, and of false alarms, that a report shows."""


_ALIKE, _ENOUGH = 0.9, 20
"""The correlation from which on two criteria judge alike, and the smallest number of mutants that can show it."""

_Wrong = tuple[int, CaseResult, Trace, Trace, Mutation]
"""A mutant that was judged wrongly: its weight, its result, the baseline, the mutant and its mutation."""


@dataclass
class _Tally:
    """Caught and applied mutants by cluster (the case), and by the rate that they belong to."""

    clusters: dict[int, dict[Hashable, list[int]]] = field(default_factory=dict)
    unscored: int = 0

    def add(self, position: int, name: Hashable, caught: bool | None) -> None:
        if caught is None:
            self.unscored += 1
            return
        counts = self.clusters.setdefault(position, {}).setdefault(name, [0, 0])
        counts[0] += caught
        counts[1] += 1

    def rate(self, name: str) -> CatchRate:
        clusters = list(self.clusters.values())
        caught = sum(pair[0] for counts in clusters for pair in counts.values())
        applied = sum(pair[1] for counts in clusters for pair in counts.values())
        estimate = mean_of_rates(clusters)
        if estimate is None:
            return CatchRate(name, caught, applied, self.unscored)
        value, ends = estimate
        return CatchRate(name, caught, applied, self.unscored, value, *(ends or (None, None)))


@dataclass
class MutantScores:
    """Collects the results of mutants one by one, so that memory does not grow with their traces."""

    judged: Collection[str] = ()
    _families: dict[Family, _Tally] = field(default_factory=lambda: defaultdict(_Tally))
    _separations: dict[str, Separation] = field(default_factory=lambda: defaultdict(Separation))
    _agreements: dict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0, 0]))
    _overall: dict[Direction, _Tally] = field(default_factory=lambda: defaultdict(_Tally))
    _operators: dict[tuple[str, Direction], _Tally] = field(default_factory=lambda: defaultdict(_Tally))
    _by_criterion: dict[tuple[str, str], _Tally] = field(default_factory=lambda: defaultdict(_Tally))
    _by_language: dict[tuple[str, str], _Tally] = field(default_factory=lambda: defaultdict(_Tally))
    _by_judge: dict[tuple[str, str, str], _Tally] = field(default_factory=lambda: defaultdict(_Tally))
    _roles: dict[tuple[str, Direction], _Tally] = field(default_factory=lambda: defaultdict(_Tally))
    _baseline_values: dict[int, dict[str, float | None]] = field(default_factory=dict)
    _alone: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    _findings: dict[Direction, list[_Wrong]] = field(default_factory=lambda: defaultdict(list))

    def add_baseline(self, result: CaseResult) -> None:
        """Add the result of a conversation that passes as it is."""
        self._baseline_values[result.position] = _values(result)
        for outcome in result.outcomes:
            if outcome.threshold is not None and outcome.score.value is not None:
                self._separations[outcome.criterion].add(result.position, outcome, is_harmful=False)

    def add(self, result: CaseResult, baseline: Trace, mutant: Recording) -> None:
        """Add the result of one mutant. The result of its baseline was added before."""
        mutation = mutant.mutation
        if mutation is None:
            return
        place, operator, direction = result.position, mutation.operator, mutation.direction
        verdicts = [outcome.verdict for outcome in result.outcomes]
        caught = _VERDICTS.get(result.combine_verdicts(verdicts))
        if result.failure is not None and result.failure.side == "agent":
            caught = True  # a conversation that the agent breaks never passes
        self._overall[direction].add(place, operator, caught)
        if direction == "harmful":
            self._families[mutation.family].add(place, operator, caught)
        self._operators[operator, direction].add(place, operator, caught)
        if mutation.language:
            self._by_language[operator, mutation.language].add(place, operator, caught)
        for outcome, verdict in zip(result.outcomes, verdicts, strict=True):
            if outcome.threshold is not None and verdict is not Verdict.NOT_APPLICABLE:
                self._add_outcome(place, mutation, outcome.criterion, _VERDICTS.get(verdict))
                if outcome.score.value is not None:
                    self._separations[outcome.criterion].add(place, outcome, is_harmful=direction == "harmful")
        self._compare_criteria(result, verdicts)
        failed = [
            o.criterion for o, verdict in zip(result.outcomes, verdicts, strict=True) if verdict is Verdict.FAILED
        ]
        if direction == "harmful" and len(failed) == 1:
            self._alone[failed[0]] += 1
        if caught is (direction == "harmless"):
            self._find(result, baseline, mutant, mutation)

    def _compare_criteria(self, result: CaseResult, verdicts: Sequence[Verdict]) -> None:
        """Count how the verdicts of each two criteria agree."""
        decided = [
            (outcome.criterion, _VERDICTS[verdict])
            for outcome, verdict in zip(result.outcomes, verdicts, strict=True)
            if outcome.threshold is not None and verdict in _VERDICTS
        ]
        for (first, caught), (second, also) in combinations(decided, 2):
            self._agreements[first, second][2 * caught + also] += 1

    def _add_outcome(self, place: int, mutation: Mutation, criterion: str, caught: bool | None) -> None:
        self._by_criterion[mutation.operator, criterion].add(place, mutation.operator, caught)
        self._roles[criterion, mutation.direction].add(place, mutation.operator, caught)
        if mutation.language and criterion in self.judged:
            self._by_judge[criterion, mutation.operator, mutation.language].add(place, mutation.operator, caught)

    def _find(self, result: CaseResult, baseline: Trace, mutant: Recording, mutation: Mutation) -> None:
        """Keep a mutant that was judged wrongly, unless enough worse ones are kept already."""
        wrong = self._findings[mutation.direction]
        wrong.append((mutation.weight, result, baseline, mutant.trace, mutation))
        if len(wrong) > 2 * MOST_FINDINGS:
            wrong.sort(key=_weight)
            del wrong[MOST_FINDINGS:]

    def overall(self, direction: Direction) -> CatchRate:
        """Return the mean of the rates of all operators of a direction, each with equal weight."""
        return self._overall[direction].rate(direction)

    @property
    def families(self) -> tuple[CatchRate, ...]:
        """The scores of calls, facts and form, the worst first. Each operator of a family has equal weight."""
        rates = [tally.rate(family) for family, tally in self._families.items()]
        return tuple(sorted(rates, key=lambda rate: (rate.rate is None, rate.rate or 0.0)))

    @property
    def thresholds(self) -> tuple[BestThreshold, ...]:
        """The threshold of each criterion that separates best, if it is better than the configured one."""
        candidates = (separation.best(name) for name, separation in self._separations.items())
        return tuple(best for best in candidates if best is not None)

    @property
    def redundant(self) -> tuple[Redundancy, ...]:
        """The pairs of criteria whose verdicts on the mutants nearly agree."""
        pairs = (Redundancy(*names, _phi(*counts), sum(counts)) for names, counts in self._agreements.items())
        return tuple(pair for pair in pairs if pair.phi >= _ALIKE and pair.mutants >= _ENOUGH)

    @property
    def operators(self) -> tuple[OperatorRate, ...]:
        """The rates of each operator, in the order in which the operators first applied, harmful ones first."""
        rows = [
            OperatorRate(
                operator,
                direction,
                tally.rate(operator),
                tuple(t.rate(name) for (of, name), t in self._by_criterion.items() if of == operator),
                tuple(t.rate(language) for (of, language), t in self._by_language.items() if of == operator),
            )
            for (operator, direction), tally in self._operators.items()
        ]
        return tuple(sorted(rows, key=lambda row: row.direction == "harmless"))

    @property
    def criteria(self) -> tuple[CriterionRole, ...]:
        """The part of each criterion."""
        names = dict.fromkeys(criterion for criterion, _ in self._roles)
        return tuple(
            CriterionRole(
                name,
                name in self.judged,
                self._roles[name, "harmful"].rate("sensitivity"),
                self._roles[name, "harmless"].rate("false alarms"),
                self._alone[name],
                tuple(self._rates_of_judge(name)) if name in self.judged else (),
            )
            for name in names
        )

    def _rates_of_judge(self, name: str) -> Iterator[OperatorRate]:
        for row in self.operators:
            tally = self._by_criterion.get((row.operator, name))
            if tally is not None:
                languages = tuple(
                    tally_of_language.rate(language)
                    for (criterion, operator, language), tally_of_language in self._by_judge.items()
                    if (criterion, operator) == (name, row.operator)
                )
                yield OperatorRate(row.operator, row.direction, tally.rate(row.operator), (), languages)

    def findings(self, direction: Direction) -> tuple[MutantFinding, ...]:
        """Return the mutants that were judged wrongly, the most harmful first."""
        wrong = sorted(self._findings[direction], key=_weight)[:MOST_FINDINGS]
        return tuple(self._finding(*finding[1:]) for finding in wrong)

    def _finding(self, result: CaseResult, baseline: Trace, mutant: Trace, mutation: Mutation) -> MutantFinding:
        outcomes = [outcome for outcome in result.outcomes if outcome.threshold is not None]
        names = [outcome.criterion for outcome in outcomes]
        scores = [
            MutantScore(outcome.criterion, outcome.score.value, outcome.threshold, outcome.verdict)
            for outcome in outcomes
            if outcome.verdict is not Verdict.NOT_APPLICABLE
        ]
        advice, kind = "", self._kind(result, mutation)
        if mutation.direction == "harmful":
            judged = any(name in self.judged for name in names)
            averaged = kind == "blind" and len(baseline.invocations) > 1
            advice = hint(mutation, names, judged=judged, averaged=averaged)
        return MutantFinding(result.title, mutation, tuple(difference(baseline, mutant)), tuple(scores), advice, kind)

    def _kind(self, result: CaseResult, mutation: Mutation) -> Kind:
        if mutation.direction == "harmless":
            return "brittle"
        return "vacuous" if _values(result) == self._baseline_values.get(result.position) else "blind"


def _values(result: CaseResult) -> dict[str, float | None]:
    return {o.criterion: o.score.value for o in result.outcomes if o.threshold is not None}


def _phi(neither: int, second: int, first: int, both: int) -> float:
    """Return the correlation of two yes-no variables, and 0 if one of them never changes (Yule 1912, section 8)."""
    margins = (neither + second) * (first + both) * (neither + first) * (second + both)
    return (both * neither - first * second) / math.sqrt(margins) if margins else 0.0


def _weight(wrong: _Wrong) -> int:
    return -wrong[0]


def difference(baseline: Trace, mutant: Trace) -> Iterator[str]:
    """Yield the lines that differ between two conversations, with "-" and "+" before them."""
    before, after = list(_lines(baseline)), list(_lines(mutant))
    for line in difflib.unified_diff(before, after, n=0, lineterm=""):
        if line.startswith(("-", "+")) and not line.startswith(("---", "+++")):
            yield f"{line[0]} {line[1:]}"


def _lines(trace: Trace) -> Iterator[str]:
    for number, invocation in enumerate(trace.invocations, 1):
        for step in invocation.steps or ():
            yield f"{number} {_step(step)}"
        if invocation.final_response is not None:
            yield from (f"{number} {line}" for line in (invocation.reply.splitlines() or ["(empty reply)"]))


def _step(step: object) -> str:
    if isinstance(step, ToolCall):
        return f"call {step.name}({compact(step.args)})"
    if isinstance(step, Message | Thought):
        return step.text
    return compact(getattr(step, "response", None))
