"""The JSON report keeps its contract."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from commands import MATCH, case, enter, eval_set, fairtrial, session, write
from fairtrial.reports.json_report import schema

SCHEMA = Path(__file__).parents[2] / "docs" / "report.schema.json"


def test_the_schema_in_the_documentation_is_the_generated_one() -> None:
    """`make docs` was run after the last change of the report."""
    done = subprocess.run([sys.executable, "-m", "fairtrial.reports.json_report"], capture_output=True, check=True)
    assert done.stdout == SCHEMA.read_bytes()
    assert json.loads(done.stdout) == schema()


def test_the_schema_is_a_schema() -> None:
    """The schema itself is valid JSON Schema of 2020-12."""
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Reports of runs with everything that can become of a case."""
    enter(tmp_path, monkeypatch)
    broken = {"code_config": {"name": "commands.broken_metric"}}
    config = {"criteria": {**MATCH["criteria"], "mine": 0.5, "tool_trajectory_avg_score": {"threshold": None}}}
    write("test_config.json", {**config, "custom_metrics": {"mine": broken}})
    write("a.evalset.json", eval_set("good", "fail", "crash"))
    silent = case("silent")
    del silent["conversation"][0]["final_response"]
    write("c.evalset.json", eval_set("good", silent))
    write("b.session.json", session("good", "good", "ok"))
    write("match.json", MATCH)
    return [
        fairtrial("run", "c.evalset.json", "--agent", "commands:hostile", "--json", "-", "--store", "none").json,
        fairtrial("run", "a.evalset.json", "--agent", "commands:obedient", "--json", "-", "--attempts", "2").json,
        fairtrial(
            "score", "b.session.json", "--against", "a.evalset.json", "--config", "match.json", "--json", "-"
        ).json,
    ]


def test_reports_fit_the_schema(reports: list[Any]) -> None:
    """Reports of runs and of scored recordings validate, with errors, unscored and informational outcomes in them."""
    for report in reports:
        jsonschema.Draft202012Validator(schema()).validate(report)
    seen = {one["verdict"] for report in reports for each in report["cases"] for one in each["outcomes"]}
    assert seen == {"passed", "failed", "unscored", "not_applicable", "informational"}


def test_the_keys_are_those_of_the_contract(reports: list[Any]) -> None:
    """The documented keys are all there, in their order, filled or null."""
    report = reports[1]
    first = report["cases"][0]
    outcome = first["outcomes"][0]
    own = "run verdict cases summary spending finished pass_k decision notes ballots"
    assert [*report] == own.split()
    assert [*report["run"]][:5] == ["id", "started", "version", "config", "signatures"]
    case = "id attempt verdict error fault invalid ended_by usage outcomes judge simulator environment injected"
    assert [*first] == [*case.split(), "eval_set", "digest", "transcript", "missing", "case_verdict", "needed"]
    asked = "calls calls_saved abstentions cost self_agreement panel_agreement"
    given = "criterion value threshold verdict reason"
    rest = "parts input_tokens output_tokens unpriced_calls ballots"
    assert [*outcome] == [*given.split(), *asked.split(), *rest.split()]
    assert [*report["spending"]] == ["agent", "judge", "simulator", "environment"]
    assert [*outcome["parts"][0]] == ["label", "key", "value", "applicable", "reason", "quotes", "parts"]
    counts = "passed failed unscored not_applicable informational errors self_agreement panel_agreement valid"
    terms = "threshold lower_is_better range judge_state corrected cost unpriced_calls pair_agreements"
    ends = "self_agreement_interval panel_agreement_interval"
    keys = f"criterion mean low high method pass_rate {counts} {terms} {ends}"
    summary = report["summary"][0]
    assert [*summary] == keys.split()
    assert [*summary["pass_rate"]] == ["value", "low", "high", "method"]


def test_an_error_tells_its_side_cause_and_traceback(reports: list[Any]) -> None:
    """A crashed agent is an error of the agent with its traceback; its outcomes are unscored, and counted as errors."""
    report = reports[1]
    crash = report["cases"][-1]
    assert (crash["id"], crash["verdict"], crash["ended_by"]) == ("crash", "error", "failure")
    assert crash["error"]["side"] == "agent"
    cause, _, line = crash["error"]["cause"].rpartition(", line ")
    assert cause.startswith("RuntimeError: the agent fell over (")
    assert cause.endswith("commands.py")
    assert line[:-1].isdigit()
    assert crash["error"]["traceback"].startswith("Traceback (most recent call last):")
    match = report["summary"][0]
    counts = {name: match[name] for name in ("passed", "failed", "unscored", "errors")}
    assert counts == {"passed": 2, "failed": 2, "unscored": 0, "errors": 2}
    assert match["pass_rate"]["value"] == pytest.approx(2 / 6)


def test_faults_and_valid_numbers_are_there(reports: list[Any]) -> None:
    """A crash is the agent's; a metric that raises makes every attempt invalid, so that there are no valid numbers."""
    cases = {(one["id"], one["attempt"]): one for one in reports[1]["cases"]}
    said = [f"mine: the metric failed: ValueError: cannot score 1 of {name}" for name in ("good", "fail")]
    assert [cases[name, 1]["fault"]["side"] for name in ("good", "fail", "crash")] == ["infrastructure"] * 2 + ["agent"]
    assert [cases[name, 1]["invalid"][0]["evidence"] for name in ("good", "fail")] == [[one] for one in said]
    assert cases["crash", 1]["invalid"] == []
    valid = reports[1]["summary"][0]["valid"]
    assert [*valid] == ["n", "mean", "low", "high", "pass_rate"]
    assert (valid["n"], valid["mean"], valid["pass_rate"]["value"]) == (2, None, 0)


def test_the_parts_are_the_invocations_in_order(reports: list[Any]) -> None:
    """A criterion that is judged by invocation has a part for each."""
    assert [part["label"] for part in reports[0]["cases"][0]["outcomes"][0]["parts"]] == ["invocation 1"]


def without_durations(report: Any) -> tuple[bytes, bytes]:
    """The bytes of `cases` and `summary`, without the one criterion that measures time."""
    for each in report["cases"]:
        each["outcomes"] = [one for one in each["outcomes"] if one["criterion"] != "invocation_duration_v1"]
    summary = [one for one in report["summary"] if one["criterion"] != "invocation_duration_v1"]
    return json.dumps(report["cases"]).encode(), json.dumps(summary).encode()


def test_two_identical_runs_are_equal_byte_by_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`cases` and `summary` do not depend on concurrency, time or the order in which conversations end."""
    enter(tmp_path, monkeypatch)
    write("a.evalset.json", eval_set(*(f"{word}_{i}" for i in range(9) for word in ("good", "fail", "crash"))))
    common = ("run", "a.evalset.json", "--agent", "commands:obedient", "--attempts", "2", "--json", "-")
    first = without_durations(fairtrial(*common, "--concurrency", "1").json)
    second = without_durations(fairtrial(*common, "--concurrency", "16", "--store", "none").json)
    assert first == second


def test_the_report_is_written_case_by_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each case is a line of its own, so that a difference between two reports can be read."""
    enter(tmp_path, monkeypatch)
    write("a.evalset.json", eval_set("good", "fail"))
    done = fairtrial("run", "a.evalset.json", "--agent", "commands:obedient", "--json", "-", "--store", "none")
    assert len(re.findall(r'^  \{"id":', done.out, re.MULTILINE)) == 2
