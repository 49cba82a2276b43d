"""The items of a criterion with known verdicts: canaries, items with labels, and probes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial import loading
from fairtrial.analysis.criterion_tally import CaseNumbers, mean_estimate, rate_estimate
from fairtrial.analysis.judge_calibration import calibrate_criterion, disagreeing_outcomes
from fairtrial.api.calibrations import name_judge
from fairtrial.config.eval_config import ConfigPart, EvalConfig
from fairtrial.errors import ConfigError
from fairtrial.judge.ballot_costs import judge_stats
from fairtrial.llm.model_pool import find_models
from fairtrial.metrics.entries import CATALOG
from fairtrial.metrics.exams.canaries import canaries
from fairtrial.metrics.exams.known_answers import FAILS, HOLDS, TYPICAL_TOKENS
from fairtrial.metrics.exams.known_items import ItemAnswer, criterion_for_items
from fairtrial.metrics.exams.probes import PROBES, probe_pairs
from fairtrial.records.average import mean
from fairtrial.records.judging.report_card import GoldCheck, Probe
from fairtrial.records.keys import case_key
from fairtrial.records.label import Label
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.result import Criterion, Verdict
from fairtrial.records.summary import CriterionSummary, Estimate
from fairtrial.stats.difference import paired_difference

if TYPE_CHECKING:
    from fairtrial.judge.judges import Judges
    from fairtrial.llm.model import NamedModel
    from fairtrial.records.ballot import Ballot
    from fairtrial.records.judging.calibration import Calibration
    from fairtrial.records.judging.gold import GoldItem
    from fairtrial.records.judging.judge_check import CheckResult

_OUTCOMES = {True: HOLDS, False: FAILS}
Answers = Mapping[int, ItemAnswer]
"""The answers so far, by the places of their items."""


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
class ItemExam:
    """The items of one criterion: gold items, canaries, and the pairs of each probe."""

    criterion: Criterion
    gold: Sequence[GoldItem]
    canaries: Sequence[GoldItem]
    pairs: Mapping[str, Sequence[tuple[GoldItem, GoldItem]]]

    @property
    def name(self) -> str:
        """The name of the criterion."""
        return self.criterion.name

    @property
    def judge(self) -> str:
        """The name of the judge."""
        return name_judge(self.criterion.signature, self.name)

    @cached_property
    def items(self) -> list[GoldItem]:
        """Every item, in the order in which the judge is asked."""
        of_probes = (item for pairs in self.pairs.values() for pair in pairs for item in pair)
        return [*self.gold, *self.canaries, *of_probes]

    @property
    def loads(self) -> Iterator[tuple[NamedModel, int, int]]:
        """Each model with the estimated number of its calls, and of the tokens of their prompts.

        Probes ask about canaries and gold items again, whose replies are used again.
        """
        number = len({id(item) for item in self.items})
        for judge in find_models(self.criterion.metric).values():
            own: Any = judge
            panel = getattr(own, "panel", None) or (own.model,)
            calls = number * getattr(own, "votes", 1) // len(panel)
            yield from ((voter, calls, calls * TYPICAL_TOKENS) for voter in panel)

    def results(self, answers: Answers) -> Iterator[CheckResult]:
        """Yield the answers to the canaries."""
        for place in range(len(self.gold), len(self.gold) + len(self.canaries)):
            if place in answers:
                yield answers[place].result(self.judge, self.name)

    def gold_checks(self, answers: Answers) -> Iterator[GoldCheck]:
        """Yield the agreement with the labels of the gold items: of all, and of each group."""
        own = {place: answers[place] for place in range(len(self.gold)) if place in answers}
        if not own:
            return
        groups: defaultdict[str, dict[int, ItemAnswer]] = defaultdict(dict)
        for place, answer in own.items():
            if answer.item.group:
                groups[answer.item.group][place] = answer
        ballots = _ballots(own)
        stats = [judge_stats(answer.outcome.score, ballots) for answer in own.values()]
        usage = sum((costs.model_usage for costs in stats if costs is not None), ModelUsage())
        agreements = [costs.self_agreement for costs in stats if costs and costs.self_agreement is not None]
        agreement = mean(agreements) if agreements else None
        whole, misses = self._compare(own)
        yield GoldCheck(whole, "", usage.calls, usage.cost, agreement, misses)
        for group, of_group in groups.items():
            yield GoldCheck(self._compare(of_group)[0], group)

    def _compare(self, answers: Answers) -> tuple[Calibration, tuple[CheckResult, ...]]:
        """Return the agreement of some answers with the labels of their items, and the answers that are not right."""
        numbers, name = CaseNumbers(), self.name
        for place, (_, outcome, _) in answers.items():
            verdict = {Verdict.PASSED: True, Verdict.FAILED: False}.get(outcome.verdict)
            numbers.add(place, outcome.score.value, passes=verdict)
        numbers.close()
        passes = rate_estimate(numbers.passes.moments, numbers.passes.attempts)
        summary = CriterionSummary(name, mean_estimate(numbers.values.moments, self.criterion.range), passes)
        labels = {
            (place, 1): [Label(case_key(name, answer.item.case), 1, name, value=answer.item.label)]
            for place, answer in answers.items()
        }
        outcomes = {(place, 1): answer.outcome for place, answer in answers.items()}
        rows = [(place, 1, outcome.score.value, outcome.verdict) for (place, _), outcome in outcomes.items()]
        calibration = calibrate_criterion(summary, self.judge, labels, rows, outcomes, _ballots(answers))
        people = {place: passed for (place, _), passed in disagreeing_outcomes(labels, rows, outcomes)}
        misses: list[CheckResult] = []
        for place, answer in answers.items():
            if place in people or answer.outcome.score.value is None:
                result = answer.result(self.judge, name)
                misses.append(replace(result, expected=_OUTCOMES[people[place]]) if place in people else result)
        return calibration, tuple(misses)

    def find_effects(self, answers: Answers) -> Iterator[Probe]:
        """Yield how much each change that must not matter changes the pass rate."""
        start = len(self.gold) + len(self.canaries)
        for probe, pairs in self.pairs.items():
            places = range(start, start + 2 * len(pairs))
            start = places.stop
            verdicts = [answers[place].outcome.verdict if place in answers else None for place in places]
            differences = [
                float((after is Verdict.PASSED) - (before is Verdict.PASSED))
                for before, after in zip(verdicts[::2], verdicts[1::2], strict=True)
                if {before, after} <= {Verdict.PASSED, Verdict.FAILED}
            ]
            difference = paired_difference(differences)
            if difference is not None:
                effect = Estimate(difference.value, *difference.interval(), difference.method)
                yield Probe(self.name, probe, len(differences), effect)


def _ballots(answers: Answers) -> dict[str, Ballot]:
    return {ballot.id: ballot for answer in answers.values() for ballot in answer.ballots}


def items_to_check(criterion: Criterion, gold: Iterable[GoldItem], *, probes: bool) -> ItemExam:
    """Return the items of a criterion. A probe needs two pairs."""
    own, canary_items = [item for item in gold if item.criterion == criterion.name], canaries(criterion.name)
    pairs = {probe: probe_pairs(criterion.name, [*canary_items, *own], probe) for probe in PROBES} if probes else {}
    return ItemExam(criterion, own, canary_items, {name: items for name, items in pairs.items() if len(items) > 1})
