"""Collect verdicts of judges on items with known answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from fairtrial import loading
from fairtrial.analysis.judge_calibration import calibrate_criterion
from fairtrial.api.calibrations import name_judge
from fairtrial.api.execution import execute
from fairtrial.api.planning import Notes, Plan, run_info
from fairtrial.api.stored_runs import Run
from fairtrial.config.eval_config import ConfigPart, EvalConfig
from fairtrial.errors import ConfigError
from fairtrial.judge.judges import Judges
from fairtrial.metrics.entries import CATALOG
from fairtrial.metrics.exams.canaries import (
    canaries,
    canary_answers,
    canary_kinds,
    criterion_for_items,
    find_ballots,
    invents_quote,
)
from fairtrial.metrics.exams.probes import PROBES, probe_pairs
from fairtrial.metrics.exams.refusals import list_refusals
from fairtrial.records.attempt import Recording
from fairtrial.records.average import mean
from fairtrial.records.calibration import Calibration
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.gold import GoldItem
from fairtrial.records.keys import case_key
from fairtrial.records.label import Label
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.refusal import Refusal
from fairtrial.records.report_card import CanaryKind, GoldCheck, Probe, ReportCard
from fairtrial.records.result import Criterion, Outcome, Verdict
from fairtrial.records.summary import Estimate
from fairtrial.stats.difference import paired_difference


def judged_criteria(names: Sequence[str], config: Path | None, judges: Judges) -> list[Criterion]:
    """Return criteria that ask a judge: those of a config, or the names with their defaults.

    Rubrics of the config are left out, because each item has its own. Raises ConfigError.
    """
    if config is not None:
        criteria = loading.criteria_in(config, judges=judges).criteria
    else:
        parts = tuple(ConfigPart(name, _default_options(name), f"/criteria/{name}") for name in names)
        criteria = loading.join_criteria(EvalConfig(parts), origin="--criterion", judges=judges).criteria
    judged = [
        criterion_for_items(criterion)
        for criterion in criteria
        if criterion.name in CATALOG and CATALOG[criterion.name].judged and (not names or criterion.name in names)
    ]
    if not judged:
        raise ConfigError(f"{config or '--criterion'}: names no criterion that asks a judge")
    return judged


def _default_options(name: str) -> object:
    entry = CATALOG.get(name)
    if entry is None or not _asks_judge(name):
        judged = ", ".join(filter(_asks_judge, CATALOG))
        raise ConfigError(f"--criterion: must be a criterion that asks a judge ({judged}), got {name!r}")
    return entry.sample


def _asks_judge(name: str) -> bool:
    return CATALOG[name].judged


@dataclass(frozen=True)
class CheckedItems:
    """The items of one criterion: gold items, canaries, and the pairs of each probe."""

    criterion: Criterion
    gold: list[GoldItem]
    canaries: list[GoldItem]
    pairs: dict[str, list[tuple[GoldItem, GoldItem]]]

    @property
    def items(self) -> list[GoldItem]:
        """Every item, in the order in which the judge is asked."""
        of_probes = (item for pairs in self.pairs.values() for pair in pairs for item in pair)
        return [*self.gold, *self.canaries, *of_probes]


def items_to_check(criterion: Criterion, gold: Iterable[GoldItem], *, probes: bool) -> CheckedItems:
    """Return the items of a criterion. A probe needs two pairs."""
    own = [item for item in gold if item.criterion == criterion.name]
    canary_items = canaries(criterion.name)
    pairs = {probe: probe_pairs(criterion.name, [*canary_items, *own], probe) for probe in PROBES} if probes else {}
    return CheckedItems(
        criterion, own, canary_items, {name: own_pairs for name, own_pairs in pairs.items() if len(own_pairs) > 1}
    )


def check_judges(checks: Sequence[CheckedItems], judges: Judges) -> ReportCard:
    """Let the judges judge all items in one run that no store keeps, and return what the verdicts say."""
    loaded_sets = [
        loading.LoadedSet(
            EvalSet(check.criterion.name, tuple(_number_items(check.items))), (check.criterion,), (), None, None
        )
        for check in checks
    ]
    cases = loading.plan_cases(loaded_sets)
    items = [item for check in checks for item in check.items]
    recorded = [
        (case, Recording(case.case.id, item.trace, eval_set=item.criterion))
        for case, item in zip(cases, items, strict=True)
    ]
    info = run_info("score", {"paths": ["report card"], "judge": judges.arguments}, Notes(), loaded_sets, {})
    run = execute(Plan(info, tuple(cases), recorded, judges=judges))
    outcomes = iter([next(own for own in result.outcomes if own.criterion == result.eval_set) for result in run.cases])
    results = [_Results(check, list(islice(outcomes, len(check.items))), run) for check in checks]
    return ReportCard(
        (),
        tuple(own for result in results for own in result.gold()),
        tuple(own for result in results for own in result.canaries()),
        tuple(own for result in results for own in result.probes()),
        {result.check.criterion.name: result.refusals() for result in results},
    )


def _number_items(items: Iterable[GoldItem]) -> Iterator[EvalCase]:
    """Yield the cases of items with an id of their own, since a probe asks about an item again."""
    return (replace(item.case, id=f"{number} {item.case.id}") for number, item in enumerate(items, 1))


@dataclass(frozen=True)
class _Results:
    """The outcomes of the items of one criterion, in the order of the items."""

    check: CheckedItems
    outcomes: list[Outcome]
    run: Run

    def gold(self) -> Iterator[GoldCheck]:
        """Yield the agreement with the labels of the gold items: of all, and of each group."""
        if not self.check.gold:
            return
        groups: defaultdict[str, list[int]] = defaultdict(list)
        for number, item in enumerate(self.check.gold):
            if item.group:
                groups[item.group].append(number)
        numbers = range(len(self.check.gold))
        stats = [own for number in numbers if (own := self.outcomes[number].judge_stats) is not None]
        usage = sum((own.model_usage for own in stats), ModelUsage())
        agreements = [own.self_agreement for own in stats if own.self_agreement is not None]
        agreement = mean(agreements) if agreements else None
        yield GoldCheck(self._calibration(numbers), "", usage.calls, usage.cost, agreement)
        for group, own_numbers in groups.items():
            yield GoldCheck(self._calibration(own_numbers), group)

    def _calibration(self, numbers: Iterable[int]) -> Calibration:
        name = self.check.criterion.name
        items = {(number, 1): self.check.gold[number] for number in numbers}
        labels = {place: [Label(case_key(name, item.case), 1, name, value=item.label)] for place, item in items.items()}
        outcomes = {place: self.outcomes[place[0]] for place in items}
        rows = [(place[0], 1, outcome.score.value, outcome.verdict) for place, outcome in outcomes.items()]
        (summary,) = [own for own in self.run.summary.criteria if own.criterion == name]
        judge = name_judge(self.run.info.signatures.get(name), name)
        return calibrate_criterion(summary, judge, labels, rows, outcomes, self.run.ballots)

    def canaries(self) -> Iterator[CanaryKind]:
        """Return how often canaries get the verdict that is certainly right, by kind and language."""
        return canary_kinds(self.check.canaries, [outcome.verdict for outcome in self._canary_outcomes])

    def refusals(self) -> tuple[Refusal, ...]:
        """Return the reasons to refuse the judge that its verdicts on the canaries give."""
        outcomes = self._canary_outcomes
        invented = [invents_quote(find_ballots(outcome.score, self.run.ballots)) for outcome in outcomes]
        return list_refusals(canary_answers(self.check.canaries, [own.verdict for own in outcomes], invented))

    @property
    def _canary_outcomes(self) -> list[Outcome]:
        start = len(self.check.gold)
        return self.outcomes[start : start + len(self.check.canaries)]

    def probes(self) -> Iterator[Probe]:
        """Yield how much each change that must not matter changes the pass rate."""
        start = len(self.check.gold) + len(self.check.canaries)
        for probe, pairs in self.check.pairs.items():
            verdicts = [outcome.verdict for outcome in self.outcomes[start : start + 2 * len(pairs)]]
            start += 2 * len(pairs)
            differences = [
                float((after is Verdict.PASSED) - (before is Verdict.PASSED))
                for before, after in zip(verdicts[::2], verdicts[1::2], strict=True)
                if {before, after} <= {Verdict.PASSED, Verdict.FAILED}
            ]
            difference = paired_difference(differences)
            if difference is not None:
                effect = Estimate(difference.value, *difference.interval(), difference.method)
                yield Probe(self.check.criterion.name, probe, len(differences), effect)
