"""ADK's result file holds the right number of every criterion for every invocation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from catalogue import RECORDING, criterion, planned, result
from fairtrial.metrics.entries import CATALOG
from fairtrial.records.result import Criterion
from fairtrial.records.run import RunInfo
from fairtrial.records.score import Score
from fairtrial.reports import adk_results
from finished import FinishedRun

WHOLE = {
    "multi_turn_task_success_v1",
    "multi_turn_trajectory_quality_v1",
    "multi_turn_tool_use_quality_v1",
    "rubric_based_multi_turn_trajectory_quality_v1",
    "user_consent_v1",
    "trace_value_v1",
    "final_state_match_v1",
    "skill_trigger_v1",
    "workspace_checks_v1",
    "tool_rules_v1",
    "attack_success_v1",
    "attack_reported_v1",
}
"""The criteria that score a conversation as a whole."""
NOT_EVALUATED = (None, 3)
Result = tuple[float | None, int]
"""A score, and ADK's number for its status: 1 passed, 2 failed, 3 not evaluated."""


def exported(tmp_path: Path, one: Criterion) -> tuple[Result, list[Result]]:
    """The overall result of a criterion, and its result for each invocation."""
    info = RunInfo("run", "2026-01-01T00:00:00+00:00", "0", "score")
    (file,) = adk_results.write(tmp_path, FinishedRun(info, [result(one)], [planned(one).expected], [(0, RECORDING)]))
    (case,) = json.loads(file.read_bytes())["eval_case_results"]

    def read(entry: dict[str, Any]) -> Result:
        assert entry["metric_name"] == one.name
        return entry["score"], entry["eval_status"]

    (overall,) = case["overall_eval_metric_results"]
    pairs = [pair["eval_metric_results"] for pair in case["eval_metric_result_per_invocation"]]
    assert [len(results) for results in pairs] == [1, 1]
    return read(overall), [read(results[0]) for results in pairs]


def test_questions_are_not_taken_for_invocations(tmp_path: Path) -> None:
    """Of four questions the last is answered no: 0.75 passes, and no single answer is the result of an invocation."""
    found = exported(tmp_path, criterion("multi_turn_trajectory_quality_v1"))
    assert found == ((0.75, 1), [NOT_EVALUATED, (0.75, 1)])


@pytest.mark.parametrize("name", CATALOG)
def test_every_criterion_has_its_own_numbers(name: str, tmp_path: Path) -> None:
    """ADK writes the result of a whole conversation to its last invocation; the mean of all others is the overall."""
    overall, invocations = exported(tmp_path, criterion(name))
    if name in WHOLE:
        assert invocations == [NOT_EVALUATED, overall]
        return
    values = [value for value, _ in invocations]
    assert None not in values
    assert sum(filter(None, values)) / 2 == overall[0]
    parts = result(criterion(name)).outcomes[0].score.parts
    assert values == [part.value for part in parts]


def test_calls_of_a_whole_conversation_are_one_result(tmp_path: Path) -> None:
    """The scope of the criterion decides, not its name."""
    overall, invocations = exported(tmp_path, criterion("tool_trajectory_avg_score", scope="conversation"))
    assert (overall, invocations) == ((0.0, 2), [NOT_EVALUATED, (0.0, 2)])


def test_parts_without_a_key_are_not_taken_for_invocations(tmp_path: Path) -> None:
    """A user's metric may name its parts as it likes."""
    parts = (Score(0.0, label="tone"), Score(1.0, label="length"))
    mine = Criterion("mine", lambda _trace, _case: Score(0.5, parts=parts), 0.5)
    assert exported(tmp_path, mine) == ((0.5, 1), [NOT_EVALUATED, (0.5, 1)])
