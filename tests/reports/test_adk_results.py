"""ADK's own tools, and the package itself, read the ADK result files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands import MATCH, case, enter, eval_set, fairtrial, write


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with ADK's defaults."""
    enter(tmp_path, monkeypatch)
    write("test_config.json", MATCH)


def results(*paths: str, agent: str = "commands:obedient") -> list[Any]:
    """The result files of a run, in the order of their names."""
    fairtrial("run", *paths, "--agent", agent, "--adk-results", "out", "--store", "none", "--quiet")
    return [json.loads(file.read_bytes()) for file in sorted(Path("out").iterdir())]


def test_the_layout_is_adks() -> None:
    """A file holds the keys of ADK's EvalSetResult, and its name is the id of the result."""
    write("a.evalset.json", eval_set("good", "fail", "crash"))
    (result,) = results("a.evalset.json")
    (file,) = Path("out").iterdir()
    assert file.name == f"{result['eval_set_result_id']}.evalset_result.json"
    assert result["eval_set_id"] == "trips"
    assert [one["eval_id"] for one in result["eval_case_results"]] == ["good", "fail", "crash"]
    # ADK's EvalStatus: 1 passed, 2 failed, 3 not evaluated
    assert [one["final_eval_status"] for one in result["eval_case_results"]] == [1, 2, 2]
    (metric, *_) = result["eval_case_results"][0]["overall_eval_metric_results"]
    assert (metric["metric_name"], metric["score"], metric["eval_status"]) == ("response_match_score", 1.0, 1)
    (pair,) = result["eval_case_results"][1]["eval_metric_result_per_invocation"]
    assert pair["actual_invocation"]["final_response"]["parts"] == [{"text": "no"}]
    assert pair["expected_invocation"]["final_response"]["parts"] == [{"text": "ok"}]


def test_the_file_is_indented_as_adk_indents() -> None:
    """By two at each level, text of any language as itself, so that the files of two runs can be compared by line."""
    write("a.evalset.json", eval_set("good", "fail", case("주문")))
    results("a.evalset.json")
    (file,) = Path("out").iterdir()
    text = file.read_text(encoding="utf-8")
    assert text == json.dumps(json.loads(text), indent=2, ensure_ascii=False)


def test_each_eval_set_has_a_file() -> None:
    """Eval sets with the same id, with ids that are no file names, and with very long ones: no file is overwritten."""
    names = ["x", "y", "x", "../../up", ".._.._up", "주문" * 100, "🛒" * 100]
    for i, name in enumerate(names):
        write(f"{i}.evalset.json", eval_set(case(f"case{i}"), name=name))
    found = results(*(f"{i}.evalset.json" for i in range(len(names))))
    assert sorted(one["eval_set_id"] for one in found) == sorted(names)
    assert {case["eval_id"] for one in found for case in one["eval_case_results"]} == {f"case{i}" for i in range(7)}
    assert not Path("up").exists()


def test_hostile_replies_survive() -> None:
    """What an agent said comes back as it was, control characters and all."""
    write("a.evalset.json", eval_set("good"))
    results("a.evalset.json", agent="commands:hostile")
    assert fairtrial("check", "out").code == 0


def test_the_name_of_a_file_is_short_enough_for_a_file_system() -> None:
    """The name of the app, which is a part of it, may be long and may hold slashes."""
    one = case("a") | {"session_input": {"app_name": "../주문/" * 90, "user_id": "u", "state": {}}}
    write("a.evalset.json", eval_set(one, name="주문" * 90))
    assert len(results("a.evalset.json")) == 1
    (file,) = Path("out").iterdir()
    assert len(file.name.encode()) <= 255
