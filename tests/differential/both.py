"""The same conversation for both sides: making it, and loading and scoring it on each side."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import strategies as st

from fairtrial import EvalCase, Invocation, Score, Trace
from fairtrial.config.eval_config import ConfigPart, EvalConfig
from fairtrial.formats.adk.evalset import invocations
from fairtrial.formats.reading import Diagnostics
from fairtrial.metrics.catalog import build

pytest.importorskip("google.adk", reason="google-adk is not installed: make test-peer")
with warnings.catch_warnings():  # its imports warn; the tests import this module before they import more of it
    warnings.simplefilter("ignore")
    import google.adk.evaluation.eval_result  # noqa: F401  (warns)
    from google.adk.evaluation.eval_case import Invocation as PeerInvocation
    from google.adk.evaluation.eval_metrics import BaseCriterion, EvalMetric
    from google.adk.evaluation.evaluator import EvaluationResult
    from google.adk.evaluation.metric_evaluator_registry import DEFAULT_METRIC_EVALUATOR_REGISTRY

PEER = [pytest.mark.peer, pytest.mark.filterwarnings(r"ignore:.*EXPERIMENTAL.*:UserWarning")]
"""The marks of every test here: google-adk may say that its parts are experimental, any other warning is an error."""

Json = dict[str, Any]

NAMES = st.sampled_from(["get_order", "cancel_order", "GET_ORDER", "주문_조회"])
SCALARS = st.none() | st.integers(2, 5) | st.sampled_from([2.0, 0.5, 1e9]) | st.sampled_from(["", "2", "a", "é", "가"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=2)
)
ARGUMENTS = st.dictionaries(st.sampled_from(["id", "count", "tags"]), VALUES, max_size=2)
"""Arguments without true and false, where we differ on purpose."""

CALLS = st.lists(st.builds(lambda name, args: {"name": name, "args": args}, NAMES, ARGUMENTS), max_size=4)


def content(text: str, role: str) -> Json:
    """Return a message of one part."""
    return {"role": role, "parts": [{"text": text}]}


def turn(calls: list[Json], *, events: bool = False, reply: str = "Done.") -> Json:
    """Return an invocation with calls, as written by hand or as recorded."""
    by_hand = {"tool_uses": calls}
    recorded = {
        "invocation_events": [
            {"author": "shop", "content": {"role": "model", "parts": [{"function_call": call}]}} for call in calls
        ]
    }
    return {
        "user_content": content("Please.", "user"),
        "final_response": content(reply, "model"),
        "intermediate_data": recorded if events else by_hand,
    }


def ours(raw: list[Json]) -> tuple[Invocation, ...]:
    """Load invocations with our reader; it finds nothing wrong."""
    reading = Diagnostics("both")
    loaded = invocations(raw, (), reading)
    assert not reading.errors
    assert not reading.warnings
    return loaded


def our_score(criterion: str, actual: list[Json], expected: list[Json], **options: Any) -> Score:
    """Score with our criterion, built from a config; only its threshold may be left out."""
    spec = ConfigPart(criterion, {"threshold": None} | options)
    made, _ = build(EvalConfig((spec,)))
    score = made[0].metric(Trace(ours(actual)), EvalCase("case", ours(expected)))
    assert isinstance(score, Score)
    return score


def their_score(criterion: str, actual: list[Json], expected: list[Json], **options: Any) -> EvaluationResult:
    """Score with google-adk's evaluator, found as its own service finds it."""
    made = BaseCriterion.model_validate(options) if options else None
    evaluator = DEFAULT_METRIC_EVALUATOR_REGISTRY.get_evaluator(EvalMetric(metric_name=criterion, criterion=made))
    result: EvaluationResult = evaluator.evaluate_invocations(
        [PeerInvocation.model_validate(one) for one in actual], [PeerInvocation.model_validate(one) for one in expected]
    )
    return result


def parts(score: Score) -> list[float | None]:
    """Return the values of our score's invocations."""
    return [part.value for part in score.parts]


def their_parts(result: EvaluationResult) -> list[float | None]:
    """Return the values of their result's invocations."""
    return [one.score for one in result.per_invocation_results]
