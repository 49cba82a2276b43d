"""The option `--threshold` decides, and a configuration that cannot state thresholds informs."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from commands import MATCH, Done, enter, eval_set, fairtrial, session, write
from fairtrial import Judges, score
from fairtrial.api import ReadOptions, RunOptions, plan_score

CASE = {
    "eval_case_id": "a",
    "prompt": {"role": "user", "parts": [{"text": "hi"}]},
    "responses": [{"response": {"role": "model", "parts": [{"text": "one two"}]}}],
}
WORDS = """
def evaluate(instance):
    return len(instance["response"]["parts"][0]["text"].split())
"""
CONFIG = {"custom_metrics": [{"name": "words", "custom_function_file": "words.py"}]}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a dataset of agents-cli, and a metric that counts the words of a reply."""
    enter(tmp_path, monkeypatch)
    write("basic-dataset.json", {"eval_cases": [CASE]})
    Path("words.py").write_text(WORDS, encoding="utf-8")
    write("eval_config.json", CONFIG)


def scored(*options: str) -> Done:
    """Score the dataset with the results on stdout."""
    return fairtrial("score", "basic-dataset.json", "--json", "-", *options)


def thresholds(done: Done) -> dict[str, Any]:
    """The thresholds of the criteria of the first attempt that have one."""
    outcomes = done.json["attempts"][0]["outcomes"]
    return {each["criterion"]: each["threshold"] for each in outcomes if each["threshold"] is not None}


def test_a_run_without_thresholds_informs() -> None:
    """The exit code is 0, and every report says that nothing decided, and how to change that."""
    done = scored("--junit", "junit.xml")
    assert (done.code, done.json["run"]["verdict"]) == (0, "informational")
    assert "INFORMATIONAL: no thresholds" in done.err
    assert "`--threshold NAME=X`" in " ".join(done.err.split())
    (suite,) = ET.parse("junit.xml").getroot()  # noqa: S314  (our own file)
    assert (suite.get("tests"), suite.get("errors"), suite.get("failures")) == ("1", "0", "0")
    assert "informational" in (suite.findtext("system-out") or "")


def test_a_run_that_informs_does_not_stop_a_check_in_python() -> None:
    """`check()` agrees with the exit code."""
    run = score("basic-dataset.json")
    assert run.verdict == "informational"
    run.check()


def test_a_run_whose_metrics_have_no_value_is_unscored() -> None:
    """The exit code is 3 if the only metric raises an error in every case."""
    Path("words.py").write_text("def evaluate(instance):\n    raise OSError('gone')\n", encoding="utf-8")
    done = scored()
    assert (done.code, done.json["run"]["verdict"]) == (3, "unscored")


def test_a_configuration_of_adk_without_thresholds_stays_unscored() -> None:
    """Its author could have stated thresholds, so a build without any is not green."""
    write("test_config.json", {"criteria": {"response_match_score": {"threshold": None}}})
    Path("eval_config.json").unlink()
    assert scored().code == 3


@pytest.mark.parametrize(("threshold", "code"), [("2", 0), ("3", 1)])
def test_a_threshold_of_the_command_line_decides(threshold: str, code: int) -> None:
    """The verdict is that of the criterion."""
    done = scored("--threshold", f"words={threshold}")
    assert done.code == code
    assert thresholds(done) == {"words": float(threshold)}


def test_a_threshold_replaces_that_of_any_configuration() -> None:
    """Criteria that are always computed may have one, too."""
    write("trips.evalset.json", eval_set("a"))
    write("a.session.json", session("a", "a", "no"))
    write("test_config.json", MATCH)
    Path("eval_config.json").unlink()
    options = ("--against", "trips.evalset.json", "--config", "test_config.json", "--json", "-")
    assert fairtrial("score", "a.session.json", *options).code == 1
    others = ("--threshold", "response_match_score=0", "--threshold", "tool_call_count_v1=4")
    done = fairtrial("score", "a.session.json", *options, *others)
    assert done.code == 0
    assert thresholds(done) == {"response_match_score": 0.0, "tool_call_count_v1": 4.0}


def test_a_metric_may_be_named_as_its_configuration_names_it() -> None:
    """`final_response_match` of agents-cli is computed as `final_response_match_v2`."""
    write("eval_config.json", {"metrics_to_run": ["final_response_match"]})
    judges = Judges(model="ollama/judge")
    limits = {"final_response_match": 0.5}
    plan = plan_score(["basic-dataset.json"], reading=ReadOptions(thresholds=limits), run=RunOptions(judges=judges))
    criteria = {criterion.name: criterion.threshold for criterion in next(iter(plan.cases)).criteria}
    assert criteria["final_response_match_v2"] == 0.5


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("word=1", "'word' is not a criterion of this run; did you mean 'words'?"),
        ("words", "must be NAME=X with a number X, got 'words'"),
        ("words=much", "must be NAME=X with a number X, got 'words=much'"),
        ("words=nan", "threshold: words"),
        ("tool_call_count_v1=-1", "threshold: tool_call_count_v1"),
    ],
)
def test_a_threshold_that_cannot_be_used_is_refused(value: str, problem: str) -> None:
    """Before anything runs, with the nearest name or the range."""
    done = scored("--threshold", value)
    assert done.code == 2
    assert problem in done.err


def test_a_resumed_run_has_the_same_thresholds() -> None:
    """They are part of the run's arguments, and another one is refused."""
    write("trips.evalset.json", eval_set("a"))
    write("test_config.json", MATCH)
    Path("eval_config.json").unlink()
    options = ("--agent", "commands:obedient", "--threshold", "response_match_score=0.1", "--json", "-")
    run_id = fairtrial("run", "trips.evalset.json", *options).json["run"]["id"]
    assert fairtrial("run", "--resume", run_id).code == 0
    done = fairtrial("run", "--resume", run_id, "--threshold", "response_match_score=0.2")
    assert done.code == 2
    assert "thresholds must be {'response_match_score': 0.1} as in the run" in done.err
