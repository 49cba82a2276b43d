"""Eval set results are read as expectations and recordings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from builders import load, said
from fairtrial.records.attempt import Recording

PAIR = {
    "actual_invocation": {"user_content": said("hi"), "final_response": said("hallo", "model")},
    "expected_invocation": {"user_content": said("hi"), "final_response": said("hello", "model")},
    "eval_metric_results": [],
}


def result(*cases: dict[str, Any]) -> dict[str, Any]:
    """An eval set result."""
    return {"eval_set_result_id": "r", "eval_set_id": "trips", "eval_case_results": list(cases)}


def one(name: str, *pairs: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The result of one case."""
    return {
        "eval_id": name,
        "final_eval_status": 2,
        "eval_metric_result_per_invocation": list(pairs),
        "overall_eval_metric_results": [{"metric_name": "m"}] if pairs else [],
        "session_id": "s",
        **more,
    }


def test_expected_and_actual() -> None:
    """One file holds what was expected and what happened."""
    found = load(result(one("a", PAIR)), "r.evalset_result.json")
    assert found.kind == "eval set result"
    assert found.eval_set is not None
    assert (found.eval_set.cases[0].conversation or ())[0].reply == "hello"
    (recording,) = found.recordings
    assert (recording.case_id, recording.trace.session_id) == ("a", "s")
    assert recording.trace.invocations[0].reply == "hallo"


def test_camel_case() -> None:
    """tRPC-Agent-Go and ADK's REST interface write it in camelCase."""
    text = json.dumps({"evalSetId": "t", "evalCaseResults": [{"evalId": "a", "evalMetricResultPerInvocation": [PAIR]}]})
    assert load(text).recordings[0].trace.invocations[0].reply == "hallo"


def test_several_results_of_a_case_are_its_attempts() -> None:
    """Results of one case are its attempts, in order."""
    found = load(result(one("a", PAIR), one("b", PAIR), one("a", PAIR)))
    assert [(each.case_id, each.attempt) for each in found.recordings] == [("a", 1), ("b", 1), ("a", 2)]
    assert found.eval_set is not None
    assert [case.id for case in found.eval_set.cases] == ["a", "b"]


def test_a_silent_crash_is_the_agents_failure() -> None:
    """A failed case without any invocation or metric is what ADK leaves of an agent that crashed."""
    (found,) = load(result(one("a"))).recordings
    assert found.failure is not None
    assert (found.failure.side, found.ended_by) == ("agent", "failure")


@pytest.mark.parametrize("status", [1, 3])
def test_an_empty_case_that_did_not_fail_is_no_crash(status: int) -> None:
    """Without the status FAILED nothing says that the agent crashed."""
    found: Recording = load(result({**one("a"), "final_eval_status": status})).recordings[0]
    assert found.failure is None


def test_a_result_in_a_string() -> None:
    """Earlier versions of ADK wrote the result as a JSON string that holds the JSON."""
    found = load(json.dumps(json.dumps(result(one("a", PAIR)))), "r.evalset_result.json")
    assert found.recordings[0].case_id == "a"
