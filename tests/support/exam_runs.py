"""Exams of planted judges: the questions of `judge check`, and the canaries of a run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from random import Random
from typing import Any

from fairtrial.api.judges.judge_checking import plan_judge_check
from fairtrial.api.run_canaries import RunCanaries
from fairtrial.judge.judge import Judge
from fairtrial.judge.judges import Judges
from fairtrial.llm.model import NamedModel
from fairtrial.metrics.exams.canaries import canaries, default_criterion
from fairtrial.metrics.exams.known_questions import JUDGED_PROMPTS
from fairtrial.planned_case import PlannedCase
from fairtrial.records.ballot import Ballot
from fairtrial.records.case import EvalCase
from fairtrial.records.judge_check import CheckResult
from fairtrial.records.refusal import Refusal
from fairtrial.records.reply import Prompt
from judged import fenced
from planted_judges import Known, Planted, PlantedModel, known, known_item

MATCH = "final_response_match_v2"


async def check_refusals(planted: Planted, seed: int, *prompts: str) -> tuple[tuple[Refusal, ...], int]:
    """The reasons to refuse a judge after all questions of `judge check`, and the number of calls."""
    check = plan_judge_check(Judges(model="openai/planted"), prompts=prompts or JUDGED_PROMPTS)
    model = PlantedModel(planted, lambda _: ("", "", ""), seed)
    results: list[CheckResult] = []
    for case in check.cases:
        model.lookup = lambda _, case=case: known(case)  # type: ignore[misc]
        results.append(await case.ask(Judge((NamedModel("planted", model),), 1)))
    return check.report(results).refusals["planted"], sum(result.calls for result in results)


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
    ballots: dict[str, Ballot] = {}
    model = PlantedModel(planted, lookup, seed)
    criterion = default_criterion(
        MATCH, Judge((NamedModel("planted", model),), 1, keep=lambda ballot: ballots.__setitem__(ballot.id, ballot))
    )
    case = PlannedCase(0, "", EvalCase("case"), (criterion,))
    own = RunCanaries(number, ballots, notes.append)
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
