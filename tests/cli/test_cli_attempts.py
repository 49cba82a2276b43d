"""Cases with several attempts have the same verdict in exit code, reports, gate and comparison."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import fairtrial as package
from commands import MATCH, enter, eval_set, fairtrial, write
from fairtrial import Trace

_TALK: dict[str, int] = {}


def moody(conversation: Trace) -> str:
    """Answer wrongly in every tenth conversation about a case, beginning with the third."""
    query = conversation.invocations[-1].query
    _TALK[query] = _TALK.get(query, 0) + 1
    return "no" if _TALK[query] % 10 == 3 else "ok"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an eval set of ADK."""
    enter(tmp_path, monkeypatch)
    _TALK.clear()
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set("a", "b"))


def run(*options: str, config: dict[str, Any] | None = None) -> tuple[int, dict[str, Any], ET.Element]:
    """Run the agent, and return the exit code, the JSON report and the JUnit file."""
    if config is not None:
        write("test_config.json", config)
    agent = ("trips.evalset.json", "--agent", "test_cli_attempts:moody", "--concurrency", "1")
    done = fairtrial("run", *agent, "--json", "r.json", "--junit", "r.xml", *options)
    assert done.code in (0, 1), done.err
    return done.code, json.loads(Path("r.json").read_bytes()), ET.parse("r.xml").getroot()  # noqa: S314


def test_one_wrong_attempt_of_ten_passes_an_eval_set_of_adk() -> None:
    """ADK's rule is the mean: 0.9 reaches 0.8. Every report says so, and so do a gate and a comparison."""
    code, report, junit = run("--attempts", "10")
    assert (code, report["run"]["verdict"]) == (0, "passed")
    assert {case["case_verdict"] for case in report["attempts"]} == {"passed"}
    assert [case["verdict"] for case in report["attempts"]].count("failed") == 2
    assert not junit.findall(".//failure")
    (decision,) = package.gate("r.json", [package.Claim("at_least", 0.1, "cases:pass")]).claims
    assert decision.estimate == 1.0
    shown = fairtrial("show", report["run"]["id"]).out
    assert "✓ a  passed  9 of 10 attempts passed, needed: the mean of each criterion reaches its threshold" in shown
    assert "pass^k" in shown


@pytest.mark.long
@pytest.mark.parametrize(
    ("option", "code"),
    [("10,all", 1), ("10,any", 0), ("10,at_least:9", 0), ("10,at_least:10", 1), ("10,rate:0.9", 0), ("10,mean", 0)],
)
def test_the_command_line_chooses_the_rule(option: str, code: int) -> None:
    """The exit code, the JSON and the JUnit file agree."""
    exit_code, report, junit = run("--attempts", option)
    assert exit_code == code
    assert {case["case_verdict"] for case in report["attempts"]} == {"failed" if code else "passed"}
    assert bool(junit.findall(".//failure")) == bool(code)


def test_the_configuration_has_options_for_eval_sets_and_cases() -> None:
    """The command line counts before the configuration, and a case before its eval set."""
    attempts = {"count": 3, "pass": "all", "cases": {"b": {"count": 2, "pass": {"rate": 0.5}}}}
    code, report, _ = run(config={**MATCH, "attempts": attempts})
    assert code == 1
    verdicts = [(case["case_id"], case["case_verdict"]) for case in report["attempts"]]
    assert verdicts == [("a", "failed")] * 3 + [("b", "passed")] * 2
    _TALK.clear()
    code, report, _ = run("--attempts", "trips:a=3,any")
    assert (code, len(report["attempts"])) == (0, 5)


@pytest.mark.parametrize(
    ("attempts", "problem"),
    [
        ({"count": 0}, "/attempts/count: must be a whole number of at least 1, got 0"),
        ({"pass": "most"}, '/attempts/pass: must be all, any, mean, {"at_least": N}'),
        ({"count": 3, "pass": {"at_least": 4}}, "/attempts/pass/at_least: must be at most the count 3, got 4"),
        ({"pass": {"rate": 1.5}}, "/attempts/pass: must be all, any"),
        ({"counts": 3}, "/attempts/counts: is not a known option; did you mean 'count'?"),
    ],
)
def test_a_wrong_option_is_refused_with_its_place(attempts: dict[str, Any], problem: str) -> None:
    """Before anything runs."""
    write("test_config.json", {**MATCH, "attempts": attempts})
    done = fairtrial("run", "trips.evalset.json", "--agent", "test_cli_attempts:moody")
    assert done.code == 2
    assert problem in done.err


@pytest.mark.parametrize("option", ["ten", "10,most", "nobody:a=3", "10,at_least:11"])
def test_a_wrong_argument_is_refused(option: str) -> None:
    """Also a case that no eval set holds."""
    assert fairtrial("run", "trips.evalset.json", "--agent", "test_cli_attempts:moody", "--attempts", option).code == 2


def test_an_eval_set_made_in_python_needs_all_attempts() -> None:
    """Only files of ADK have ADK's rule; `attempts` takes the options, too."""
    eval_set_of_files = package.load_eval_set("trips.evalset.json")
    assert package.evaluate(eval_set_of_files, moody, MATCH["criteria"], attempts=10).verdict == "failed"
    _TALK.clear()
    options = {"count": 10, "pass": "mean"}
    assert package.evaluate(eval_set_of_files, moody, MATCH["criteria"], attempts=options).verdict == "passed"


@pytest.mark.long
def test_a_case_is_broken_in_a_comparison_if_its_rule_says_so() -> None:
    """9 of 10 attempts pass by the mean, and not if all have to."""
    run("--attempts", "10,all", "--store", "none")
    strict = json.loads(Path("r.json").read_bytes())
    Path("strict.json").write_text(json.dumps(strict))
    _TALK.clear()
    run("--attempts", "10", "--store", "none")
    assert {move.flipped for move in package.compare("strict.json", "r.json").moved} == {"fixed"}


@pytest.mark.long
def test_markdown_leaves_out_attempts_of_a_case_that_passed() -> None:
    """One wrong attempt of ten is no reason to look, and the rule stands in the head."""
    run("--attempts", "10", "--markdown", "r.md")
    text = Path("r.md").read_text(encoding="utf-8")
    assert "<details>" not in text
    assert "more attempt" not in text
    assert "- 2 cases: 2 passed (needed: the mean of each criterion reaches its threshold)" in text
    _TALK.clear()
    run("--attempts", "10,all", "--markdown", "r.md")
    assert Path("r.md").read_text(encoding="utf-8").count("<details>") == 2


def test_record_takes_the_attempts_of_the_configuration() -> None:
    """Without --attempts, the number of conversations is the configuration's."""
    write("test_config.json", {**MATCH, "attempts": 3})
    arguments = ("record", "trips.evalset.json", "--agent", "test_cli_attempts:moody", "-q", "-o")
    fairtrial(*arguments, "a.jsonl")
    fairtrial(*arguments, "b.jsonl", "--attempts", "2,any")
    assert [len(Path(name).read_text().splitlines()) for name in ("a.jsonl", "b.jsonl")] == [6, 4]
