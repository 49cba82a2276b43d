"""trace_value_v1: the value of a trace as a criterion."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairtrial.config.eval_config import ConfigPart, EvalConfig
from fairtrial.errors import ConfigError
from fairtrial.formats import knowledgepulse
from fairtrial.metrics.catalog import build
from fairtrial.metrics.reasoning_value import ReasoningValue
from fairtrial.records.case import EvalCase
from fairtrial.records.score import Score
from fairtrial.records.trace import Invocation, Message, ToolCall, ToolResult, Trace
from fairtrial.valuation import embed

CASE = EvalCase("c")
TRACE = Trace((Invocation(Message("q"), (ToolCall("t"), ToolResult("t", "seen")), Message("a")),))


def _value(metric: ReasoningValue, trace: Trace = TRACE) -> Score:
    found = metric(trace, CASE)
    assert found.applicable
    return found


def test_a_trace_is_scored_when_confidence_and_success_are_given() -> None:
    """Three steps of two types, one tool, failed: C = 0.28, D = 1, O = 0.24, novelty 0.5; 0.1 less for few tools."""
    score = _value(ReasoningValue(confidence=0.8, success=False))
    assert score.value == pytest.approx(0.25 * 0.28 + 0.175 + 0.15 + 0.25 * 0.24 - 0.1)
    assert "few_tools" in score.reason


def test_without_them_it_is_unscored_with_the_reason() -> None:
    """None, never a guess."""
    score = _value(ReasoningValue(confidence=0.8))
    assert score.value is None
    assert "does not state its success" in score.reason


def test_a_trace_that_says_them_itself_needs_no_options() -> None:
    """A conversation that was loaded from a ReasoningTrace."""
    raw = {
        "@context": knowledgepulse.CONTEXT,
        "@type": "ReasoningTrace",
        "id": "kp:trace:1",
        "metadata": {
            "created_at": "2026-01-01T00:00:00Z",
            "task_domain": "d",
            "success": True,
            "quality_score": 0,
            "visibility": "private",
            "privacy_level": "private",
        },
        "task": {"objective": "o"},
        "steps": [{"step_id": 0, "type": "thought", "content": "x"}],
        "outcome": {"result_summary": "r", "confidence": 1},
    }
    trace = knowledgepulse.to_trace(knowledgepulse.loads(json.dumps(raw)))
    assert _value(ReasoningValue(), trace).value == 0.1


def test_the_order_of_cases_does_not_matter() -> None:
    """The same trace twice is worth the same: nothing is remembered between cases."""
    metric = ReasoningValue(confidence=1.0, success=True)
    assert _value(metric) == _value(metric)


def test_novelty_comes_from_the_index(tmp_path: Path) -> None:
    """A trace whose text is in the index has novelty 0; its nearest stands in the reason."""
    model = embed.installed_embedder()
    if model is None:
        pytest.skip("the model is not installed")
    from fairtrial.valuation.novelty import VectorCache

    cache = VectorCache()
    cache.add("kp:trace:seen", model(["q  seen a"])[0])
    cache.save(tmp_path / "index", embedder="minilm")
    score = _value(ReasoningValue(confidence=1.0, success=True, index=str(tmp_path / "index")))
    assert "novelty 0.000" in score.reason
    assert "nearest kp:trace:seen (1.000)" in score.reason


def test_an_index_that_is_not_there_leaves_it_unscored() -> None:
    """A missing file is no novelty of one half, and not the agent's doing."""
    score = _value(ReasoningValue(confidence=1.0, success=True, index="/nowhere/index"))
    assert score.value is None
    assert "no such index" in score.reason
    assert score.side == "infrastructure"


def test_it_is_a_criterion_of_a_configuration() -> None:
    """With threshold and options, and the options in its signature."""
    spec = ConfigPart(
        "trace_value_v1", {"threshold": 0.75, "confidence": 0.9, "success": True}, "/criteria/trace_value_v1"
    )
    criterion = build(EvalConfig((spec,)))[0][0]
    assert criterion.metric == ReasoningValue(confidence=0.9, success=True)
    assert criterion.threshold == 0.75
    assert "0.9" in json.dumps(criterion.signature)


@pytest.mark.parametrize("options", [{"confidence": 2}, {"confidence": True}, {"success": "yes"}, {"confidense": 1}])
def test_wrong_options_are_refused_with_their_pointer(options: dict[str, object]) -> None:
    """Before anything runs."""
    spec = ConfigPart("trace_value_v1", {"threshold": 0.75, **options}, "/criteria/trace_value_v1")
    with pytest.raises(ConfigError, match=f"/criteria/trace_value_v1/{next(iter(options))}"):
        build(EvalConfig((spec,)))
