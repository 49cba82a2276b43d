"""google-adk reads what we write, and we read what it writes."""

from __future__ import annotations

from pathlib import Path

import both
import msgspec
import pytest
from google.adk.evaluation.eval_config import EvalConfig as PeerEvalConfig
from google.adk.evaluation.eval_metrics import EvalMetricResultPerInvocation
from google.adk.evaluation.eval_result import EvalCaseResult, EvalSetResult
from google.adk.evaluation.eval_set import EvalSet as PeerEvalSet
from google.adk.evaluation.evaluator import EvalStatus
from google.adk.evaluation.local_eval_set_results_manager import LocalEvalSetResultsManager
from hypothesis import given
from hypothesis import strategies as st

from fairtrial import api
from fairtrial.errors import UsageError
from fairtrial.formats.adk.write import dumps
from fairtrial.formats.recognise import read
from fairtrial.metrics.entries import CATALOG
from fairtrial.reports import adk_results

pytestmark = both.PEER

TURNS = st.lists(st.builds(both.turn, both.CALLS, events=st.booleans(), reply=st.text(max_size=9)), max_size=3)
SETS = st.lists(TURNS, max_size=3)


def _set(conversations: list[list[both.Json]]) -> both.Json:
    cases = [
        {
            "eval_id": f"case_{i}",
            "conversation": turns,
            "session_input": {"app_name": "shop", "user_id": "user", "state": {"visits": i}},
            "rubrics": [{"rubric_id": "short", "rubric_content": {"text_property": "It is short."}}],
        }
        for i, turns in enumerate(conversations)
    ]
    scenario = {"starting_prompt": "Hi", "conversation_plan": "Ask for A-17.", "user_persona": "EXPERT"}
    return {"eval_set_id": "shop", "eval_cases": [*cases, {"eval_id": "s", "conversation_scenario": scenario}]}


@given(SETS)
def test_an_eval_set_that_we_write_says_the_same_to_google_adk(conversations: list[list[both.Json]]) -> None:
    """What its model makes of our file equals what it makes of the original."""
    raw = msgspec.json.encode(_set(conversations))
    loaded = read(raw, "shop.evalset.json").eval_set
    assert loaded is not None
    assert PeerEvalSet.model_validate_json(dumps(loaded)) == PeerEvalSet.model_validate_json(raw)


@given(SETS, st.booleans())
def test_an_eval_set_that_google_adk_writes_says_the_same_to_us(
    conversations: list[list[both.Json]], defaults: bool
) -> None:
    """Written with and without its nulls and defaults: no warning, and the same cases."""
    theirs = PeerEvalSet.model_validate(_set(conversations))
    brief = {} if defaults else {"exclude_unset": True, "exclude_defaults": True, "exclude_none": True}
    loaded = read(theirs.model_dump_json(indent=2, **brief).encode(), "shop.evalset.json")
    ours = read(msgspec.json.encode(_set(conversations)), "shop.evalset.json")
    assert loaded.warnings == ()
    assert loaded.eval_set is not None
    assert ours.eval_set is not None
    assert [one.id for one in loaded.eval_set.cases] == [one.id for one in ours.eval_set.cases]
    for one, other in zip(loaded.eval_set.cases, ours.eval_set.cases, strict=True):
        assert [(turn.query, turn.reply) for turn in one.conversation or ()] == [
            (turn.query, turn.reply) for turn in other.conversation or ()
        ]
        assert [[(call.name, call.args) for call in turn.tool_calls] for turn in one.conversation or ()] == [
            [(call.name, call.args) for call in turn.tool_calls] for turn in other.conversation or ()
        ]


def test_results_that_google_adk_writes_are_recordings() -> None:
    """A result file as it writes it, all its nulls included, loads without a warning: case, reply and calls."""
    turn = both.turn([{"id": "1", "name": "get_order", "args": {"order_id": "A-17"}}], events=True)
    pair = EvalMetricResultPerInvocation.model_validate(
        {"actual_invocation": turn, "expected_invocation": turn, "eval_metric_results": []}
    )
    case = EvalCaseResult(
        eval_set_id="shop",
        eval_id="order",
        final_eval_status=EvalStatus.PASSED,
        overall_eval_metric_results=[],
        eval_metric_result_per_invocation=[pair],
        session_id="s-1",
        user_id="user",
    )
    written = EvalSetResult(eval_set_result_id="r", eval_set_id="shop", eval_case_results=[case])
    loaded = read(written.model_dump_json(indent=2).encode(), "r.evalset_result.json")
    assert loaded.warnings == ()
    assert [(one.case_id, one.trace.session_id) for one in loaded.recordings] == [("order", "s-1")]
    heard = loaded.recordings[0].trace.invocations[0]
    assert heard.reply == "Done."
    assert [(call.name, call.args) for call in heard.tool_calls] == [("get_order", {"order_id": "A-17"})]


def test_results_that_we_write_for_google_adk_are_its_results(tmp_path: Path) -> None:
    """The file of `--adk-results` is a result to its model, with our verdict, score and both invocations."""
    file = tmp_path / "shop.evalset.json"
    file.write_bytes(msgspec.json.encode(_set([[both.turn([{"name": "f", "args": {}}])]])))
    plan = api.plan_score([file], [file])
    run = api.execute(plan)
    (written,) = adk_results.write(tmp_path / "results", run)
    result = EvalSetResult.model_validate_json(written.read_bytes())
    case = next(one for one in result.eval_case_results if one.eval_id == "case_0")
    assert case.final_eval_status is EvalStatus.PASSED
    scores = {one.metric_name: one.score for one in case.overall_eval_metric_results}
    assert scores["tool_trajectory_avg_score"] == 1.0
    (pair,) = case.eval_metric_result_per_invocation
    assert pair.actual_invocation == pair.expected_invocation


UNKNOWN: both.Json = {
    "note": "ours",
    "user_content": {"role": "user", "parts": [{"text": "hi", "tone": "calm"}], "lang": "en"},
    "final_response": {
        "role": "model",
        "parts": [{"inline_data": {"data": "<base64>", "mime_type": "image/png", "width": 3}}],
    },
    "intermediate_data": {
        "tool_uses": [{"name": "f", "args": {}, "cost": 1}],
        "tool_responses": [{"name": "f", "response": ["not an object"], "cost": 1}],
        "intermediate_responses": [["shop", [{"text": "wait", "tone": "calm"}]]],
        "note": 1,
    },
    "rubrics": [{"rubric_id": "r", "rubric_content": {"text_property": "short", "html": ""}, "weight": 2}],
    "app_details": {"agent_details": {"shop": {"name": "shop", "agent_type": "llm"}}, "version": 2},
}


@pytest.mark.parametrize("name", ["shop", "a/../b", "주문" * 90])
def test_google_adk_reads_results_with_keys_that_it_does_not_know(name: str, tmp_path: Path) -> None:
    """Its own store of results opens the file under the id that the file has; its reader forbids unknown keys."""
    file = tmp_path / "shop.evalset.json"
    eval_set = {"eval_set_id": name, "eval_cases": [{"eval_id": "a\n/b", "conversation": [UNKNOWN]}]}
    file.write_bytes(msgspec.json.encode(eval_set))
    run = api.execute(
        api.plan_score([file], None, {"tool_call_count_v1": {"threshold": None}}, api.ReadOptions(lenient=True))
    )
    folder = tmp_path / "app" / ".adk" / "eval_history"
    (written,) = adk_results.write(folder, run)
    result_id = written.name.removesuffix(".evalset_result.json")
    result = LocalEvalSetResultsManager(str(tmp_path)).get_eval_set_result("app", result_id)
    assert (result.eval_set_id, result.eval_case_results[0].eval_id) == (name, "a\n/b")


@pytest.mark.shared
def test_google_adk_reads_the_results_of_every_real_file(shared: Path, tmp_path: Path) -> None:
    """Eval sets, datasets and results of ADK, tRPC-Agent-Go and agents-cli, with all keys that they hold."""
    count = 0
    for file in sorted((shared / "data").rglob("*.json")):
        if not {"adk-python", "adk-samples", "trpc-agent-go", "agents-cli"} & set(file.parts):
            continue
        try:
            plan = api.plan_score(
                [file], None, {"tool_call_count_v1": {"threshold": None}}, api.ReadOptions(lenient=True)
            )
        except UsageError:
            continue
        for written in adk_results.write(tmp_path / str(count), api.execute(plan)):
            EvalSetResult.model_validate_json(written.read_bytes())
            count += 1
    assert count >= 31


@pytest.mark.parametrize("name", [name for name in CATALOG if name != "trace_value_v1"])
def test_our_sample_configs_are_its_configs(name: str) -> None:
    """The sample of every criterion that both have is a config to its model, the threshold kept."""
    sample = CATALOG[name].sample
    config = PeerEvalConfig.model_validate({"criteria": {name: sample}})
    criterion = config.criteria[name]
    threshold = criterion if isinstance(criterion, float) else criterion.threshold
    assert threshold == (sample["threshold"] if isinstance(sample, dict) else sample)
