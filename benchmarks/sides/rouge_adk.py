"""google-adk: `response_match_score` of PAIRS replies of WORDS words of a KIND."""

from __future__ import annotations

import json
import sys
import time

from google.adk.evaluation.eval_case import Invocation
from google.adk.evaluation.eval_metrics import BaseCriterion, EvalMetric
from google.adk.evaluation.final_response_match_v1 import RougeEvaluator
from google.genai.types import Content, Part
from material import text_pairs

pairs, size = map(int, sys.argv[1:3])
user = Content(parts=[Part(text="?")])


def invocation(text: str) -> Invocation:
    return Invocation(user_content=user, final_response=Content(parts=[Part(text=text)]))


material = [(invocation(reply), invocation(reference)) for reply, reference in text_pairs(pairs, size, sys.argv[3])]
evaluator = RougeEvaluator(EvalMetric(metric_name="response_match_score", criterion=BaseCriterion(threshold=0.8)))
start = time.process_time()
total = sum(evaluator.evaluate_invocations([ours], [theirs]).overall_score for ours, theirs in material)
cpu = time.process_time() - start
print(json.dumps({"pairs": pairs, "cpu": cpu, "mean": total / pairs}))
