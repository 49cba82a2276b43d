"""Metrics that were written for agents-cli run from the file that their configuration names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fairtrial import api
from fairtrial.errors import UsageError
from fairtrial.records.result import CaseResult, Outcome

EVENTS = [
    {"author": "user", "content": {"role": "user", "parts": [{"text": "hi"}]}},
    {"author": "bot", "content": {"role": "model", "parts": [{"function_call": {"name": "f", "args": {}}}]}},
    {"author": "bot", "content": {"role": "model", "parts": [{"text": "hello"}]}},
]
CASE = {
    "eval_case_id": "a",
    "agent_data": {"turns": [{"events": EVENTS}]},
    "reference": {"response": {"role": "model", "parts": [{"text": "Hello!"}]}},
    "context": "It is late.",
    "tier": "gold",
}


def score(folder: Path, code: str, **config: Any) -> CaseResult:
    """The result of a dataset of one conversation under a custom metric."""
    (folder / "quality.py").write_text(code, encoding="utf-8")
    (folder / "basic-dataset.json").write_text(json.dumps({"eval_cases": [CASE]}), encoding="utf-8")
    metric = {"name": "quality", "custom_function_file": "quality.py"}
    (folder / "eval_config.json").write_text(json.dumps({"custom_metrics": [metric], **config}), encoding="utf-8")
    (result,) = api.execute(api.plan_score([folder / "basic-dataset.json"])).cases
    return result


def find_outcome(result: CaseResult) -> Outcome:
    """The outcome of the custom metric."""
    return next(outcome for outcome in result.outcomes if outcome.criterion == "quality")


def test_the_function_gets_the_case_and_the_conversation(tmp_path: Path) -> None:
    """Under the keys of the dataset, with the keys that only this user knows; the explanation is the reason."""
    code = """
def evaluate(instance):
    texts = [instance["prompt"]["parts"][0]["text"], instance["response"]["parts"][0]["text"], instance["context"],
             instance["reference"]["response"]["parts"][0]["text"], instance["tier"]]
    return {"score": len(instance["agent_data"]["turns"][0]["events"]), "explanation": "|".join(texts)}
"""
    outcome = find_outcome(score(tmp_path, code, metrics_to_run=["quality"]))
    assert (outcome.score.value, outcome.score.reason) == (3.0, "hi|hello|It is late.|Hello!|gold")
    assert outcome.threshold is None


@pytest.mark.parametrize(("returned", "value"), [("2", 2.0), ("0.25", 0.25), ("None", None), ('{"score": None}', None)])
def test_a_number_is_the_score(returned: str, value: float | None, tmp_path: Path) -> None:
    """Of any size; null is unscored. Without `metrics_to_run`, every custom metric runs."""
    assert find_outcome(score(tmp_path, f"def evaluate(instance): return {returned}")).score.value == value


def test_anything_else_is_unscored(tmp_path: Path) -> None:
    """With the type that it returned."""
    outcome = find_outcome(score(tmp_path, "def evaluate(instance): return 'good'"))
    assert outcome.score.value is None
    assert "must return a number or {'score': number}, got str" in outcome.score.reason


def test_a_threshold_decides(tmp_path: Path) -> None:
    """Our own key `thresholds` counts for custom metrics, too."""
    config = {"metrics_to_run": ["quality"], "thresholds": {"quality": 3}}
    assert find_outcome(score(tmp_path, "def evaluate(instance): return 2", **config)).verdict == "failed"


def test_a_file_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    """With the error, or with the function that it lacks, before anything is scored."""
    with pytest.raises(UsageError, match=r"/custom_metrics/0/custom_function_file: .*quality\.py: ZeroDivisionError"):
        score(tmp_path, "1 / 0")
    with pytest.raises(UsageError, match=r"quality\.py has no 'evaluate'; did you mean 'evaluated'"):
        score(tmp_path, "def evaluated(instance): return 1")
    with pytest.raises(UsageError, match=r"no_such\.py: no such file"):
        score(tmp_path, "", custom_metrics=[{"name": "quality", "custom_function_file": "no_such.py"}])


def test_a_function_of_a_file_is_refused_in_several_processes(tmp_path: Path) -> None:
    """Another process cannot import the file by a name, and the message says so."""
    score(tmp_path, "def evaluate(instance): return 1")
    with pytest.raises(UsageError, match=r"jobs: quality cannot be sent to another process: .*function of a file"):
        api.plan_score([tmp_path / "basic-dataset.json"], run=api.RunOptions(jobs=2))
