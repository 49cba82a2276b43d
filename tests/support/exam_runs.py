"""Exams of planted judges: the questions of `judge check`, and the canaries of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from random import Random
from typing import Any

from fairtrial.api.judges.check_planning import plan_judge_check
from fairtrial.api.judges.check_runner import JudgeCheck
from fairtrial.api.run_canaries import PARTS, RunCanaries, describe_change
from fairtrial.judge.judge import Judge
from fairtrial.judge.judges import Judges
from fairtrial.llm.model import NamedModel
from fairtrial.metrics.exams.canaries import canaries, canary_sample
from fairtrial.metrics.exams.known_answers import KnownAnswer
from fairtrial.metrics.exams.known_items import default_criterion
from fairtrial.metrics.exams.known_questions import JUDGED_PROMPTS
from fairtrial.metrics.exams.refusals import is_in_doubt, list_refusals
from fairtrial.planned_case import PlannedCase
from fairtrial.records.case import EvalCase
from fairtrial.records.judging.gold import GoldItem
from fairtrial.records.judging.judge_check import CheckResult
from fairtrial.records.refusal import Refusal
from fairtrial.records.reply import Prompt, Reply
from fairtrial.testing import ScriptedModel
from judged import fenced
from planted_judges import Known, Planted, PlantedModel, known, known_item

MATCH = "final_response_match_v2"


async def check_refusals(planted: Planted, seed: int, *prompts: str) -> tuple[tuple[Refusal, ...], int]:
    """The reasons to refuse a judge after all questions of `judge check`, and the number of calls."""
    check = _plan(prompts or JUDGED_PROMPTS)
    model = PlantedModel(planted, lambda _: ("", "", ""), seed)
    results = [await _ask(case, model) for case in check.cases]
    return check.report(results).refusals["planted"], sum(result.calls for result in results)


@cache
def _plan(prompts: tuple[str, ...]) -> JudgeCheck:
    return plan_judge_check(Judges(model="openai/planted"), prompts=prompts)


_prompts: dict[str, list[Prompt]] = {}
"""The prompts of each question. They do not depend on the judge, so each is made once."""
_results: dict[tuple[str, str], CheckResult] = {}
"""The results of questions with one prompt by the reply of a judge."""


async def _ask(case: KnownAnswer, model: PlantedModel) -> CheckResult:
    """The result of a question. An equal reply to the same prompt is read once."""
    model.lookup = lambda _: known(case)
    prompts = _prompts.get(case.id, [])
    if len(prompts) != 1:
        asked = _Asked(model)
        result = await case.ask(Judge((NamedModel("planted", asked),), 1))
        _prompts[case.id] = asked.prompts
        return result
    reply = model.answer(prompts[0])
    if (case.id, reply) not in _results:
        judge = Judge((NamedModel("planted", ScriptedModel([reply])),), 1)
        _results[case.id, reply] = await case.ask(judge)
    return _results[case.id, reply]


@dataclass
class _Asked:
    """A model that keeps the prompts that another model gets."""

    model: PlantedModel
    prompts: list[Prompt] = field(default_factory=list)

    async def __call__(self, prompt: Prompt) -> Reply:
        self.prompts.append(prompt)
        return await self.model(prompt)


@cache
def _items() -> Mapping[tuple[str, str], Known]:
    found: dict[tuple[str, str], Known] = {}
    for item in canaries(MATCH):
        assert item.case.conversation is not None
        pair = item.trace.invocations[0].reply.strip(), item.case.conversation[0].reply
        found.setdefault(pair, known_item(item))
    return found


def lookup(prompt: Prompt) -> Known:
    """What is known of a canary of the criterion that compares a reply with its reference."""
    texts = [fenced(prompt, name) for name in ("reply", "reference")]
    return next(
        own for (reply, ref), own in _items().items() if [reply.strip(), ref.strip()] == [t.strip() for t in texts]
    )


async def canary_alarm(planted: Planted, seed: int, number: int, questions: int = 150) -> tuple[str, int]:
    """The alarm of the canaries of a run in which a judge gets some questions, and the number of calls for canaries."""
    notes: list[str] = []
    model = PlantedModel(planted, lookup, seed)
    criterion = default_criterion(MATCH, Judge((NamedModel("planted", model),), 1))
    case = PlannedCase(0, "", EvalCase("case"), (criterion,))
    own = RunCanaries(number, notes.append)
    connect = await own.before(lambda planned: planned, [case])
    metric: Any = connect(case).criteria[0].metric
    item = canaries(MATCH)[Random(seed).randrange(len(canaries(MATCH)))]
    score = metric(item.trace, item.case)
    if hasattr(score, "value"):
        return score.reason, model.before
    await score
    for _ in range(questions - 1):
        await metric(item.trace, item.case)
    return "; ".join(await own.after()), model.before - questions


@cache
def check_answers() -> list[CheckResult]:
    """The right answers to all questions of `judge check` about prompts that judge."""
    cases = [(case, *known(case)) for case in _plan(JUDGED_PROMPTS).cases]
    return [CheckResult("m", case.id, case.prompt, kind, lang, right, right) for case, kind, lang, right in cases]


def is_alarm_by_chance(number: int, answer: Callable[[list[CheckResult]], list[CheckResult]]) -> bool:
    """Whether the canaries of a run refuse a judge or find a change, if `answer` gives its answers in each part."""
    items = [_right_answer(item) for item in canary_sample(MATCH, number)]
    asked = {item.id for item in items}
    others = [own for item in canaries(MATCH) if (own := _right_answer(item)).id not in asked]

    def examine() -> list[CheckResult]:
        answers = answer(items)
        return answers + answer(others) if is_in_doubt(answers) else answers

    before = examine()
    parts = (answer(items[:15]), examine())
    return bool(list_refusals(before, PARTS)) or any(describe_change(before, part) for part in parts)


def _right_answer(item: GoldItem) -> CheckResult:
    kind, language, right = known_item(item)
    return CheckResult("m", item.case.id, MATCH, kind, language, right, right)
