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
from fairtrial.reports.schemas import schema
from fairtrial.reports.views.attempt_shapes import OutcomeView, ReportedAttempt
from fairtrial.reports.views.view_shapes import CriterionView, RunView
from schema_checks import check_shape

SCHEMA = Path(__file__).parents[2] / "docs" / "schema.json"


@pytest.mark.long
def test_the_schema_in_the_documentation_is_the_generated_one() -> None:
    """`make docs` was run after the last change of a shape."""
    done = subprocess.run([sys.executable, "-m", "fairtrial.reports.schemas"], capture_output=True, check=True)
    assert done.stdout == SCHEMA.read_bytes()
    assert json.loads(done.stdout) == schema()


@pytest.mark.long
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
        check_shape(report, "ReportView")
    seen = {one["verdict"] for report in reports for each in report["attempts"] for one in each["outcomes"]}
    assert seen == {"passed", "failed", "unscored", "not_applicable", "informational"}


ONLY_ON_PAGES = {"limits"}
"""The keys with a sentence for people, which no program needs."""


def test_every_key_is_always_there(reports: list[Any]) -> None:
    """Keys without a value are null or empty, and their order is that of the documented shapes."""
    for report in reports:
        assert [*report] == ["attempts", "run"]
        assert [*report["run"]] == [key for key in RunView.__struct_encode_fields__ if key not in ONLY_ON_PAGES]
        assert {(*row,) for row in report["run"]["criteria"]} == {CriterionView.__struct_encode_fields__}
        assert [*report["run"]["spending"]] == ["agent", "judge", "simulator", "environment"]
        assert {(*own,) for own in report["attempts"]} == {ReportedAttempt.__struct_encode_fields__}
        outcomes = [outcome for own in report["attempts"] for outcome in own["outcomes"]]
        assert {(*outcome,) for outcome in outcomes} == {OutcomeView.__struct_encode_fields__}
    first = reports[1]["attempts"][0]
    part = first["outcomes"][0]["parts"][0]
    assert (part["value"], part["key"], part["quotes"]) == (1.0, {"kind": "invocation", "index": 0, "id": ""}, [])
    assert [first[name] for name in ("case_id", "verdict", "case_verdict")] == ["good", "unscored", "unscored"]


def test_an_error_tells_its_side_cause_and_traceback(reports: list[Any]) -> None:
    """A crashed agent is an error of the agent with its traceback; its outcomes are unscored, and counted as errors."""
    report = reports[1]
    crash = report["attempts"][-1]
    assert (crash["case_id"], crash["verdict"], crash["ended_by"]) == ("crash", "error", "failure")
    assert crash["failure"]["side"] == "agent"
    cause, _, line = crash["failure"]["cause"].rpartition(", line ")
    assert cause.startswith("RuntimeError: the agent fell over (")
    assert cause.endswith("commands.py")
    assert line[:-1].isdigit()
    assert crash["failure"]["traceback"].startswith("Traceback (most recent call last):")
    match = report["run"]["criteria"][0]
    counts = {name: match[name] for name in ("passed", "failed", "unscored", "errors")}
    assert counts == {"passed": 2, "failed": 2, "unscored": 0, "errors": 2}
    assert match["pass_rate"]["value"] == pytest.approx(2 / 6)


def test_faults_and_valid_numbers_are_there(reports: list[Any]) -> None:
    """A crash is the agent's; a metric that raises makes every attempt invalid, so that there are no valid numbers."""
    cases = {(one["case_id"], one["attempt"]): one for one in reports[1]["attempts"]}
    said = [f"mine: the metric failed: ValueError: cannot score 1 of {name}" for name in ("good", "fail")]
    assert [cases[name, 1]["fault"]["side"] for name in ("good", "fail", "crash")] == ["infrastructure"] * 2 + ["agent"]
    assert [cases[name, 1]["invalidations"][0]["evidence"] for name in ("good", "fail")] == [[one] for one in said]
    assert cases["crash", 1]["invalidations"] == []
    valid = reports[1]["run"]["criteria"][0]["valid"]
    assert (valid["n"], valid["mean"]["value"], valid["pass_rate"]["value"]) == (2, None, 0)


def test_the_parts_are_the_invocations_in_order(reports: list[Any]) -> None:
    """A criterion that is judged by invocation has a part for each."""
    assert [part["key"]["index"] for part in reports[0]["attempts"][0]["outcomes"][0]["parts"]] == [0]


def without_durations(report: Any) -> tuple[bytes, bytes]:
    """The bytes of the attempts and the criteria, without durations and the one criterion that measures time."""
    for each in report["attempts"]:
        for invocation in each["trace"]:
            invocation.pop("durations", None)
        each["outcomes"] = [one for one in each["outcomes"] if one["criterion"] != "invocation_duration_v1"]
    summary = [one for one in report["run"]["criteria"] if one["criterion"] != "invocation_duration_v1"]
    return json.dumps(report["attempts"]).encode(), json.dumps(summary).encode()


@pytest.mark.long
def test_two_identical_runs_are_equal_byte_by_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Attempts and criteria do not depend on concurrency, time or the order in which conversations end."""
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
    assert len(re.findall(r'^  \{"place":', done.out, re.MULTILINE)) == 2
