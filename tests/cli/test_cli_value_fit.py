"""The command `fairtrial value fit`, and `fairtrial value --model`."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from commands import fairtrial
from reasonings import reasoning

pytestmark = pytest.mark.skipif(find_spec("sklearn") is None, reason="needs the extra fit")


def _runs(folder: Path) -> str:
    """A store with one run of 36 recordings: a conversation with more calls fails."""
    recordings, cases = [], []
    for number in range(36):
        calls = 1 + number % 6
        steps = [{"name": f"tool_{place}", "args": {"q": place}} for place in range(calls)]
        content = {"parts": [{"text": f"question {number}"}]}
        reply = {"parts": [{"text": "yes" if calls < 3 + number % 2 else "no"}]}
        invocation = {"invocation_id": "i", "user_content": content, "final_response": reply}
        recorded = invocation | {"intermediate_data": {"tool_uses": steps}}
        expected = invocation | {"final_response": {"parts": [{"text": "yes"}]}}
        cases.append({"eval_id": f"case {number}", "conversation": [expected]})
        recordings.append({"eval_id": f"case {number}", "conversation": [recorded]})
    for name, documents in (("cases", cases), ("recorded", recordings)):
        document = {"eval_set_id": "set", "eval_cases": documents}
        (folder / f"{name}.evalset.json").write_text(json.dumps(document))
    (folder / "config.json").write_text(json.dumps({"criteria": {"response_match_score": 0.5}}))
    store = f"sqlite:///{folder}/runs.db"
    against = ("--against", folder / "cases.evalset.json", "--config", folder / "config.json")
    run = fairtrial("score", folder / "recorded.evalset.json", *against, "--store", store, "--quiet")
    assert run.code == 1, run.err + run.out
    return store


def test_a_fitted_model_scores_traces_beside_the_rule(tmp_path: Path) -> None:
    """The report shows the quality for other tasks, and a row has the fitted value beside the score."""
    store, model = _runs(tmp_path), tmp_path / "model.json"
    run = fairtrial("value", "fit", "2", "--store", store, "-o", model)
    assert run.code == 0, run.err
    assert "36 traces of 36 tasks" in run.out
    assert "area under the curve" in run.out
    assert "expected calibration error" in run.out
    traces = tmp_path / "traces.jsonl"
    traces.write_text(json.dumps(reasoning()) + "\n")
    plain, fitted = (
        fairtrial("value", traces, "--embedder", "none", "--json", *options) for options in ((), ("--model", model))
    )
    row = fitted.json
    assert 0 < row.pop("fitted") < 1
    assert row == plain.json
    assert "fitted on 36 traces of 36 tasks" in fitted.err
    assert "fitted" in fairtrial("value", traces, "--embedder", "none", "--model", model).out


def test_a_run_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    """Nothing is written."""
    store, model = _runs(tmp_path), tmp_path / "model.json"
    run = fairtrial("value", "fit", "nope", "--store", store, "-o", model)
    assert run.code == 2
    assert "nope" in run.err
    assert not model.exists()
