"""google-adk: CASES x TURNS questions of ITEMS rubrics (0: final_response_match_v2), with its defaults.

Its service evaluates four cases at once, and the votes on one metric of a case one after the other.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

from google.adk.evaluation.base_eval_service import EvaluateConfig
from google.adk.evaluation.eval_case import Invocation
from google.adk.evaluation.eval_metrics import EvalMetric, LlmAsAJudgeCriterion, RubricsBasedCriterion
from google.adk.evaluation.final_response_match_v2 import FinalResponseMatchV2Evaluator
from google.adk.evaluation.rubric_based_final_response_quality_v1 import RubricBasedFinalResponseQualityV1Evaluator

cases, turns, items = (int(one) for one in sys.argv[1:4])


def turn(case: int, number: int) -> Invocation:
    """Return a distinct question that the agent repeats."""
    words = f"{case}.{number} " + "some more words " * 60
    said = {"role": "user", "parts": [{"text": f"question {words}"}]}
    return Invocation.model_validate({"user_content": said, "final_response": said})


def evaluator() -> FinalResponseMatchV2Evaluator | RubricBasedFinalResponseQualityV1Evaluator:
    """Return a metric for one case, made as the service makes it."""
    if not items:
        criterion = LlmAsAJudgeCriterion(threshold=0.5)
        return FinalResponseMatchV2Evaluator(EvalMetric(metric_name="final_response_match_v2", criterion=criterion))
    rubrics = [
        {"rubric_id": f"r{number}", "rubric_content": {"text_property": f"The reply has property {number}."}}
        for number in range(items)
    ]
    name = "rubric_based_final_response_quality_v1"
    metric = EvalMetric(metric_name=name, criterion=RubricsBasedCriterion(threshold=0.5, rubrics=rubrics))
    return RubricBasedFinalResponseQualityV1Evaluator(metric)


async def main() -> None:
    """Evaluate all cases."""
    places = asyncio.Semaphore(EvaluateConfig(eval_metrics=[]).parallelism)

    async def one(case: int) -> int:
        async with places:
            said = [turn(case, number) for number in range(turns)]
            result = await evaluator().evaluate_invocations(said, said)
            return sum(each.score is None for each in result.per_invocation_results)

    started, cpu = time.perf_counter(), time.process_time()
    unscored = sum(await asyncio.gather(*(one(case) for case in range(cases))))
    took = {"seconds": time.perf_counter() - started, "cpu": time.process_time() - cpu, "unscored": unscored}
    print(json.dumps(took))


asyncio.run(main())
