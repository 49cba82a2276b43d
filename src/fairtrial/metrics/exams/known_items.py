"""Conversations with known verdicts as questions to a judge: canaries, items with labels, and probes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from fairtrial.llm.model_pool import HasPanel, find_models
from fairtrial.metrics.adaptive_quality import AdaptiveQuality
from fairtrial.metrics.entries import CATALOG
from fairtrial.metrics.exams.canaries import LANGUAGES, SIMULATED_USERS, canaries
from fairtrial.metrics.exams.known_answers import (
    FAILS,
    HOLDS,
    TYPICAL_TOKENS,
    KnownAnswer,
    describe_ballots,
    list_opinions,
)
from fairtrial.metrics.rubrics import RubricMetric
from fairtrial.records.ballot import Ballot
from fairtrial.records.judging.gold import GoldItem
from fairtrial.records.judging.judge_check import CheckResult
from fairtrial.records.result import Criterion, Outcome, Verdict

if TYPE_CHECKING:
    from fairtrial.judge.judge import Judge

_OUTCOMES = {Verdict.PASSED: HOLDS, Verdict.FAILED: FAILS}


class ItemAnswer(NamedTuple):
    """The outcome of an item, and the ballots behind it."""

    item: GoldItem
    outcome: Outcome
    ballots: tuple[Ballot, ...]

    def result(self, model: str, prompt: str) -> CheckResult:
        """Return the answer as the result of a question. The model and the prompt are named by the caller."""
        item, ballots = self.item, self.ballots
        score, outcome = self.outcome.score, _OUTCOMES.get(self.outcome.verdict, "")
        return CheckResult(
            model=model,
            id=f"{prompt}/{item.case.id}",
            prompt=prompt,
            rule=item.group,
            language=LANGUAGES.get(item.language, ""),
            expected=HOLDS if item.label else FAILS,
            outcome=outcome,
            problem="" if outcome else score.reason or _why_unscored(ballots),
            rationale=next((own.rationale for ballot in ballots for own in list_opinions(ballot)), score.reason),
            **describe_ballots(ballots),
        )


def _why_unscored(ballots: Iterable[Ballot]) -> str:
    """Return why the first item without a result has none, for a score whose parts alone have reasons."""
    open_items = ((ballot, item) for ballot in ballots for item, own in ballot.decisions.items() if own.abstained)
    return next((ballot.why_unscored(item) for ballot, item in open_items), "")


async def judge_item(criterion: Criterion, item: GoldItem, repetition: str = "") -> ItemAnswer:
    """Let a criterion judge an item. A `repetition` gets replies of its own."""
    own, ballots = criterion_for_items(criterion), list[Ballot]()
    metric: Any = own.metric
    judges: Any = {}
    for name, value in find_models(metric).items():
        judge: Any = value
        again: Any = {"repetition": repetition} if isinstance(judge, HasPanel) and repetition else {}
        judges[name] = dataclasses.replace(judge, keep=_KeptTwice(ballots, judge.keep), **again)
    score = await dataclasses.replace(metric, **judges)(item.trace, item.case)
    outcome = Outcome(own.name, score, own.threshold, own.lower_is_better, own.range)
    return ItemAnswer(item, outcome, tuple(ballots))


class _KeptTwice(NamedTuple):
    """Keeps each ballot in a list, and passes it on."""

    ballots: list[Ballot]
    keep: Any

    def __call__(self, ballot: Ballot) -> None:
        self.ballots.append(ballot)
        self.keep(ballot)


class Canary(KnownAnswer, frozen=True, kw_only=True):
    """A canary as a question of an exam: its criterion judges it with the default options, and it passes or fails."""

    item: GoldItem

    @property
    def token_estimate(self) -> int:
        """The estimated tokens of the prompt."""
        return TYPICAL_TOKENS

    async def ask(self, judge: Judge) -> CheckResult:
        """Let the criterion judge the canary, and return the result."""
        answer = await judge_item(default_criterion(self.item.criterion, judge), self.item)
        return answer.result(judge.panel[0].name, self.prompt)


@cache
def exam_canaries(prompt: str) -> tuple[Canary, ...]:
    """Return the canaries of a prompt for an exam: half of the bank, each kind in each language with both answers."""
    return tuple(
        Canary(
            rule=item.group,
            language=LANGUAGES[item.language],
            answer=HOLDS if item.label else FAILS,
            prompt=prompt,
            id=f"{prompt}/{item.case.id}",
            item=item,
        )
        for place, item in enumerate(canaries(_EXAMINED.get(prompt, "")))
        if place % 2 == place // 2 % 2
    )


def default_criterion(name: str, judge: Judge) -> Criterion:
    """Return a criterion with its default options, as it judges canaries."""
    entry = CATALOG[name]
    threshold = entry.sample["threshold"] if isinstance(entry.sample, dict) else entry.sample
    return criterion_for_items(Criterion(name, entry.metric(judge), threshold, range=entry.range))


def criterion_for_items(criterion: Criterion) -> Criterion:
    """Return a criterion as it judges canaries and gold items.

    Each item has its own rubrics. A simulated user passes only if each of its messages is valid, whatever the
    threshold, because the first message of each canary equals the starting prompt and is never judged.
    """
    metric: object = criterion.metric
    if isinstance(metric, AdaptiveQuality):
        return replace(criterion, metric=metric.by_own_rubrics)
    if isinstance(metric, RubricMetric):
        return replace(criterion, metric=dataclasses.replace(metric, rubrics=()))
    if criterion.name == SIMULATED_USERS and criterion.threshold is not None:
        return replace(criterion, threshold=1.0)
    return criterion


_EXAMINED = {
    "final_response_match": "final_response_match_v2",
    "rubric_final_response": "rubric_based_final_response_quality_v1",
    "rubric_tool_use": "rubric_based_tool_use_quality_v1",
    "rubric_trajectory": "rubric_based_multi_turn_trajectory_quality_v1",
    "hallucinations": "hallucinations_v1",
    "safety": "safety_v1",
    "conversation": "multi_turn_task_success_v1",
    "coherence": "response_evaluation_score",
    "simulated_message": SIMULATED_USERS,
}
"""The criterion whose canaries examine a judge on a prompt."""
