"""Every criterion applies to recorded conversations, also with a simulated user, in every framework."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from kinds import KINDS, every_kind, reached
from shop import CRITERIA, EVAL_SET

import fairtrial
from commands import fairtrial as command
from fairtrial import api
from fairtrial.api import Run
from fairtrial.formats.adk.write import dumps
from fairtrial.judge.judges import Judges
from fairtrial.llm.model_options import ModelOptions
from fairtrial.records.case import EvalCase, EvalSet, Scenario
from fairtrial.records.reply import Prompt
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import ToolCall
from fairtrial.testing import ScriptedModel
from judged import reply as judged

pytest.importorskip("jinja2")
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

RUBRICS = (
    Rubric("polite", "The reply is polite.", type="FINAL_RESPONSE_QUALITY"),
    Rubric("looks", "The order is looked up.", type="TOOL_USE_QUALITY"),
)
CALLS = (
    ToolCall("get_order", {"order_id": "A-17"}),
    ToolCall("get_order", {"order_id": "B-42"}),
    ToolCall("cancel_order", {"order_id": "B-42"}),
)
SCENARIO = EvalCase(
    "scenario",
    scenario=Scenario("Where is A-17?", "Ask where A-17 is, then have B-42 cancelled.", "NOVICE"),
    rubrics=RUBRICS,
    expected_calls=CALLS,
)
FIXED = msgspec.structs.replace(EVAL_SET.cases[0], rubrics=RUBRICS)
ON_BOTH = (
    "rubric_based_final_response_quality_v1",
    "rubric_based_tool_use_quality_v1",
    "rubric_based_multi_turn_trajectory_quality_v1",
    "hallucinations_v1",
    "safety_v1",
    "multi_turn_task_success_v1",
    "multi_turn_trajectory_quality_v1",
    "multi_turn_tool_use_quality_v1",
    "tool_trajectory_avg_score",
)
ON_FIXED = ("response_match_score", "final_response_match_v2", "response_evaluation_score")
ON_SCENARIO = ("per_turn_user_simulator_quality_v1",)
OWN_RUBRIC = [{"rubric_id": "whole", "rubric_content": {"text_property": "Both orders are dealt with."}}]
ALL: dict[str, Any] = {
    **dict.fromkeys((*ON_BOTH, *ON_FIXED, *ON_SCENARIO), 1.0),
    "tool_trajectory_avg_score": {"threshold": 1.0, "scope": "conversation"},
    "rubric_based_multi_turn_trajectory_quality_v1": {"threshold": 1.0, "rubrics": OWN_RUBRIC},
}


def models(prompt: Prompt) -> str:
    """Play the user by the plan, and find everything good."""
    if prompt.schema is None:
        return "</finished>" if "B-42, please" in prompt.text else "Cancel B-42, please."
    return judged(prompt, lambda item, asked: {"answer": _best(item, asked), "quote": "A-17"})


def _best(_item: str, prompt: Prompt) -> str:
    assert prompt.schema is not None
    answers: list[str] = prompt.schema["properties"]["answers"]["items"]["properties"]["answer"]["enum"]
    return answers[-1] if answers[-1] == "5" else answers[0]


def judges() -> Judges:
    """Judges and users that one scripted model plays, under the name that both have by default."""
    return Judges(models=ModelOptions(custom_models={"gemini-2.5-flash": ScriptedModel(models)}), votes=1)


def verdicts(run: Run) -> dict[tuple[str, str], tuple[str, float | None]]:
    """Verdict and value of each case and criterion but for the time it took."""
    return {
        (case.case_id, one.criterion): (one.verdict.value, one.score.value)
        for case in run.cases
        for one in case.outcomes
        if one.criterion != "invocation_duration_v1"
    }


@pytest.mark.long
@every_kind
def test_what_is_recorded_can_be_held_against_every_criterion(kind: str, tmp_path: Path) -> None:
    """A two-turn scenario with tool calls and a fixed conversation, from a file, pass all that applies to them."""
    eval_set = EvalSet("both", (FIXED, SCENARIO))
    file = tmp_path / "recorded.jsonl"
    with reached(kind) as target:
        at_once = fairtrial.evaluate(eval_set, target, ALL, judges=judges())
        assert api.write_recordings(api.plan_run(eval_set, target, ALL, run=api.RunOptions(judges=judges())), file) == 2
    scored = fairtrial.score(file, eval_set, ALL, judges=judges())
    found = verdicts(scored)
    assert found == verdicts(at_once)
    assert scored.verdict == "passed"
    for case_id, own, others in ((FIXED.id, ON_FIXED, ON_SCENARIO), ("scenario", ON_SCENARIO, ON_FIXED)):
        assert {found[case_id, name][0] for name in (*ON_BOTH, *own)} == {"passed"}
        assert {found[case_id, name][0] for name in others} == {"not_applicable"}
        assert found[case_id, "tool_call_count_v1"] == ("informational", 1.5)
        tokens = None if "usages" in KINDS[kind].untold else pytest.approx(15.0 if kind == "http" else 37.5)
        assert found[case_id, "token_usage_v1"][1] == tokens


@every_kind
def test_the_command_line_records_what_it_can_score(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`fairtrial record`, then `fairtrial score`: the same verdicts as `fairtrial run`."""
    monkeypatch.chdir(tmp_path)
    Path("shop.evalset.json").write_bytes(dumps(EVAL_SET))
    Path("test_config.json").write_text(json.dumps({"criteria": CRITERIA}))
    with reached(kind) as target:
        done = command("record", "shop.evalset.json", "--agent", target, "-o", "shop.jsonl")
        assert done.code == 0, done.err
        run = command("run", "shop.evalset.json", "--agent", target, "--json", "-")
    scored = command("score", "shop.jsonl", "--against", "shop.evalset.json", "--json", "-")
    assert (run.code, scored.code) == (0, 0), scored.err
    assert _values(scored.json) == _values(run.json)


def _values(report: Any) -> list[Any]:
    return [
        [(one["criterion"], one["value"]) for one in case["outcomes"] if one["criterion"] != "invocation_duration_v1"]
        for case in report["attempts"]
    ]
