"""google-adk: trajectories of COUNT conversations of a SHAPE by MATCH_TYPE, of DIFFERING invocations one differs."""

from __future__ import annotations

import json
import sys
import time

from google.adk.evaluation.eval_case import Invocation
from google.adk.evaluation.eval_metrics import EvalMetric, ToolTrajectoryCriterion
from google.adk.evaluation.trajectory_evaluator import TrajectoryEvaluator
from material import conversations

count, match_type, differing, shape = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
loaded = Invocation.model_validate
material = [
    ([loaded(ours) for ours, _ in pairs], [loaded(theirs) for _, theirs in pairs])
    for pairs in conversations(count, differing, shape)
]
criterion = ToolTrajectoryCriterion(threshold=1.0, match_type=match_type)
evaluator = TrajectoryEvaluator(eval_metric=EvalMetric(metric_name="tool_trajectory_avg_score", criterion=criterion))
passes = []
for _ in range(max(5, 8000 // count)):
    start = time.process_time()
    total = sum(evaluator.evaluate_invocations(ours, theirs).overall_score for ours, theirs in material)
    passes.append(time.process_time() - start)
print(json.dumps({"invocations": sum(len(pair[0]) for pair in material), "passes": passes, "mean": total / count}))
