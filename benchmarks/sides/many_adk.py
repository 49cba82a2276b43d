"""google-adk: EVAL_SET AT_ONCE: the conversations of an eval set, and their scores, by its own service."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from google.adk.evaluation.base_eval_service import EvaluateConfig, EvaluateRequest, InferenceConfig, InferenceRequest
from google.adk.evaluation.eval_metrics import EvalMetric
from google.adk.evaluation.eval_set import EvalSet
from google.adk.evaluation.in_memory_eval_sets_manager import InMemoryEvalSetsManager
from google.adk.evaluation.local_eval_service import LocalEvalService

sys.path.insert(0, str(Path(__file__).parent))
from many_shop.agent import root_agent

eval_set = EvalSet.model_validate_json(Path(sys.argv[1]).read_text(encoding="utf-8"))
at_once = int(sys.argv[2])


async def main() -> None:
    """Hold the conversations, score them, and print how many passed."""
    manager = InMemoryEvalSetsManager()
    manager.create_eval_set("shop", eval_set.eval_set_id)
    for case in eval_set.eval_cases:
        manager.add_eval_case("shop", eval_set.eval_set_id, case)
    service = LocalEvalService(root_agent, manager)
    asked = InferenceRequest(
        app_name="shop", eval_set_id=eval_set.eval_set_id, inference_config=InferenceConfig(parallelism=at_once)
    )
    held = [one async for one in service.perform_inference(asked)]
    metrics = [
        EvalMetric(metric_name="response_match_score", threshold=0.99),
        EvalMetric(metric_name="tool_trajectory_avg_score", threshold=1.0),
    ]
    config = EvaluateConfig(eval_metrics=metrics, parallelism=at_once)
    results = [one async for one in service.evaluate(EvaluateRequest(inference_results=held, evaluate_config=config))]
    print(json.dumps({"passed": sum(one.final_eval_status.name == "PASSED" for one in results)}))


asyncio.run(main())
