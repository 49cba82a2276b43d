"""google-adk: the conversations of FILE against EXPECTED, by trajectory and ROUGE. The second pass counts."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from google.adk.evaluation.eval_case import Invocation
from google.adk.evaluation.eval_metrics import BaseCriterion, EvalMetric, ToolTrajectoryCriterion
from google.adk.evaluation.eval_set import EvalSet
from google.adk.evaluation.final_response_match_v1 import RougeEvaluator
from google.adk.evaluation.trajectory_evaluator import TrajectoryEvaluator


def invocations(messages: list[dict[str, Any]]) -> list[Invocation]:
    """Return a list of messages as invocations, which google-adk does not read by itself."""
    found: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "user":
            found.append({"user_content": {"parts": [{"text": message["content"]}]}})
        elif message["role"] == "assistant" and message.get("tool_calls"):
            uses = found[-1].setdefault("intermediate_data", {"tool_uses": []})["tool_uses"]
            functions = (call["function"] for call in message["tool_calls"])
            uses += [{"name": each["name"], "args": json.loads(each["arguments"])} for each in functions]
        elif message["role"] == "assistant":
            found[-1]["final_response"] = {"parts": [{"text": message["content"]}]}
    return list(map(Invocation.model_validate, found))


file, expected = map(Path, sys.argv[1:])
trajectory = TrajectoryEvaluator(
    eval_metric=EvalMetric(metric_name="tool_trajectory_avg_score", criterion=ToolTrajectoryCriterion(threshold=1.0))
)
rouge = RougeEvaluator(EvalMetric(metric_name="response_match_score", criterion=BaseCriterion(threshold=0.8)))
for _ in range(2):
    start = time.process_time()
    cases = {case.eval_id: case.conversation for case in EvalSet.model_validate_json(expected.read_text()).eval_cases}
    totals = [0.0, 0.0]
    lines = file.read_text().splitlines()
    for line in lines:
        conversation = json.loads(line)
        ours, theirs = invocations(conversation["messages"]), cases[conversation["id"]]
        for number, evaluator in enumerate((trajectory, rouge)):
            totals[number] += evaluator.evaluate_invocations(ours, theirs).overall_score
    cpu = time.process_time() - start
print(json.dumps({"cpu": cpu, "means": [total / len(lines) for total in totals]}))
