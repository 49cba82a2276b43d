"""Metrics that were written for google-adk run as they are, from the config that names them."""

from __future__ import annotations

from pathlib import Path

import both
import msgspec
import pytest

from fairtrial import Outcome, Verdict, api

pytestmark = both.PEER

METRICS = """
from google.adk.evaluation.eval_case import Invocation
from google.adk.evaluation.eval_metrics import EvalMetric
from google.adk.evaluation.evaluator import EvalStatus, EvaluationResult, PerInvocationResult


def share_that_says_done(eval_metric, actual_invocations, expected_invocations, conversation_scenario):
    assert isinstance(eval_metric, EvalMetric) and eval_metric.criterion.threshold == 0.5
    assert all(isinstance(one, Invocation) for one in actual_invocations + expected_invocations)
    assert conversation_scenario is None
    scores = [float("Done" in one.final_response.parts[0].text) for one in actual_invocations]
    results = [
        PerInvocationResult(actual_invocation=one, score=score, eval_status=EvalStatus.PASSED)
        for one, score in zip(actual_invocations, scores)
    ]
    return EvaluationResult(overall_score=sum(scores) / len(scores), per_invocation_results=results)


async def awaited(eval_metric, actual_invocations, expected_invocations, conversation_scenario):
    return share_that_says_done(eval_metric, actual_invocations, expected_invocations, conversation_scenario)


def without_score(eval_metric, actual_invocations, expected_invocations=None, conversation_scenario=None):
    return EvaluationResult()
"""


def _outcome(metric: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Outcome:
    (folder / "metrics_for_adk.py").write_text(METRICS)
    monkeypatch.syspath_prepend(folder)
    config = {
        "criteria": {"done": 0.5},
        "custom_metrics": {"done": {"code_config": {"name": f"metrics_for_adk.{metric}"}}},
    }
    (folder / "test_config.json").write_bytes(msgspec.json.encode(config))
    turns = [both.turn([{"name": "f", "args": {}}], events=True), both.turn([], reply="No.")]
    cases = {"eval_set_id": "shop", "eval_cases": [{"eval_id": "case", "conversation": turns}]}
    file = folder / "shop.evalset.json"
    file.write_bytes(msgspec.json.encode(cases))
    (result,) = api.score([file], [file]).cases
    return next(one for one in result.outcomes if one.criterion == "done")


@pytest.mark.parametrize("metric", ["share_that_says_done", "awaited"])
def test_a_metric_of_four_arguments_gets_its_own_objects(
    metric: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sync or async: its score counts, held against the threshold, with a part for each invocation."""
    outcome = _outcome(metric, tmp_path, monkeypatch)
    assert (outcome.score.value, outcome.verdict) == (0.5, Verdict.PASSED), outcome.score.reason
    assert [part.value for part in outcome.score.parts] == [1.0, 0.0]


def test_a_metric_without_score_is_unscored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In google-adk such a metric never blocks a pass; here it leaves the case unscored, and says why."""
    outcome = _outcome("without_score", tmp_path, monkeypatch)
    assert (outcome.score.value, outcome.verdict) == (None, Verdict.UNSCORED)
    assert outcome.score.reason
