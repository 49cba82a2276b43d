"""google-adk: `tool_trajectory_avg_score` of CONVERSATIONS by MATCH_TYPE, of DIFFERING invocations one differs."""

from __future__ import annotations

import json
import sys
import time

from google.adk.evaluation.eval_case import IntermediateData, Invocation
from google.adk.evaluation.eval_metrics import EvalMetric, ToolTrajectoryCriterion
from google.adk.evaluation.trajectory_evaluator import TrajectoryEvaluator
from google.genai.types import Content, FunctionCall, Part
from material import call_lists

conversations, match_type, differing = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
user = Content(parts=[Part(text="?")])


def invocation(calls: list[dict]) -> Invocation:
    uses = [FunctionCall(name=one["name"], args=one["args"]) for one in calls]
    return Invocation(user_content=user, intermediate_data=IntermediateData(tool_uses=uses))


pairs = [(invocation(ours), invocation(theirs)) for ours, theirs in call_lists(4 * conversations, differing)]
fours = [pairs[i : i + 4] for i in range(0, len(pairs), 4)]
material = [([ours for ours, _ in four], [theirs for _, theirs in four]) for four in fours]
criterion = ToolTrajectoryCriterion(threshold=1.0, match_type=match_type)
evaluator = TrajectoryEvaluator(eval_metric=EvalMetric(metric_name="tool_trajectory_avg_score", criterion=criterion))
start = time.process_time()
total = sum(evaluator.evaluate_invocations(ours, theirs).overall_score for ours, theirs in material)
cpu = time.process_time() - start
print(json.dumps({"invocations": 4 * conversations, "cpu": cpu, "mean": total / conversations}))
