"""The JUnit file is XML that a CI server reads, whatever stands in it."""

from __future__ import annotations

import tempfile
from collections import Counter
from itertools import cycle
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairtrial.records.attempt import Failure
from fairtrial.records.result import CaseResult, Fault, Outcome
from fairtrial.records.run import RunInfo
from fairtrial.records.score import Score
from fairtrial.reports import junit
from fairtrial.reports.report_table import ReportOptions
from finished import FinishedRun
from hostile_corpus import HOSTILE, filled
from reported import RICH

INFO = RunInfo("20260101-000000-aaaaaa", "2026-01-01T00:00:00.000+00:00", "0", "run", seconds=1.5)
PASSED = CaseResult("fine", 0, (Outcome("match", Score(1.0), 0.8),))
FAILED = CaseResult("bad", 1, (Outcome("match", Score(0.799, "two words differ"), 0.8),), attempt=2)
BROKEN = CaseResult("broken", 2, (Outcome("match", Score(None), 0.8),), failure=Failure("agent", "boom", "Traceback …"))
OPEN = CaseResult("open", 3, (Outcome("match", Score(None, "no judge"), 0.8),))
INFORMS = CaseResult("informs", 4, (Outcome("tokens", Score(3.0)),))


def suites(folder: Path, *results: CaseResult, allow_unscored: bool = False, info: RunInfo = INFO) -> list[ET.Element]:
    """The test suites in the file that is written of these results. The last suite has the output of the run."""
    file = folder / "junit.xml"
    with file.open("wb") as stream:
        junit.write(stream, FinishedRun(info, results), ReportOptions(allow_unscored))
    root = ET.parse(file).getroot()  # noqa: S314  (our own file)
    assert root.tag == "testsuites"
    return list(root)


def suite(folder: Path, *results: CaseResult, allow_unscored: bool = False) -> ET.Element:
    """The suite of the only eval set."""
    first, *_ = suites(folder, *results, allow_unscored=allow_unscored)
    return first


def output(folder: Path, *results: CaseResult) -> str | None:
    """The output of the run as a whole."""
    return suites(folder, *results)[-1].findtext("system-out")


def test_the_counts_are_those_of_the_tests(tmp_path: Path) -> None:
    """Failures, errors and skipped are counted as CI servers count them."""
    found = suite(tmp_path, PASSED, FAILED, BROKEN, OPEN, INFORMS)
    counts = {name: found.get(name) for name in ("tests", "failures", "errors", "skipped", "time")}
    assert counts == {"tests": "5", "failures": "1", "errors": "2", "skipped": "0", "time": "0.000"}


def test_each_criterion_of_a_case_is_a_test(tmp_path: Path) -> None:
    """A failure names the number and the threshold, an error its side and cause. A test that passed has no message."""
    found = suite(tmp_path, PASSED, FAILED, BROKEN, OPEN, INFORMS)
    told = {
        (one.get("classname"), one.get("name")): [(inner.tag, inner.get("message"), inner.text) for inner in one]
        for one in found.findall("testcase")
    }
    assert told == {
        ("fine", "match"): [],
        ("bad", "match"): [("failure", "match 0.799 (needs at least 0.800)", "match: two words differ")],
        ("broken", "match"): [("error", "agent: boom", "Traceback …")],
        ("open", "match"): [("error", "unscored: match", "match: no judge")],
        ("informs", "conversation"): [],
    }


def test_the_names_are_the_same_in_every_run(tmp_path: Path) -> None:
    """A suite has the name and the file of its eval set. No name holds the id of the run."""
    config = {"eval_sets": [["evals/shop.evalset.json", "0"]], "eval_set_ids": ["shop"]}
    info = replace(INFO, config=config)
    (first,) = suites(tmp_path, replace(PASSED, eval_set="shop"), info=info)
    assert (first.get("name"), first.get("file")) == ("shop", "evals/shop.evalset.json")
    assert [sorted(one.keys()) for one in first.findall("testcase")] == [["classname", "name", "time"]], (
        "what Jenkins' schema allows"
    )
    assert INFO.id not in (tmp_path / "junit.xml").read_text()


def test_a_set_in_memory_has_no_file(tmp_path: Path) -> None:
    """Its name is no path."""
    info = replace(INFO, config={"eval_sets": [["shop", "0"]], "eval_set_ids": ["shop"]})
    (first,) = suites(tmp_path, replace(PASSED, eval_set="shop"), info=info)
    assert first.get("file") is None


def test_attempts_are_one_test_for_each_criterion(tmp_path: Path) -> None:
    """The rule of the run decides: the mean of 1.0 and 0.799 reaches 0.8, but not all attempts pass."""
    attempts = [replace(PASSED, position=1), replace(FAILED, case_id="fine")]
    rules = {"attempt_rules": {"eval_sets": {"": {"name": "mean", "number": 0}}, "cases": {}}}
    by_mean = suites(tmp_path, *attempts, info=replace(INFO, config=rules))[0]
    assert (by_mean.get("tests"), by_mean.get("failures")) == ("1", "0")
    (failure,) = suite(tmp_path, *attempts).findall("testcase/failure")
    assert failure.get("message") == (
        "match 0.799 (needs at least 0.800); 1 of 2 attempts passed, needed: all attempts pass"
    )


def test_a_rule_about_whole_attempts_has_a_test_of_its_own(tmp_path: Path) -> None:
    """With "at least 2", two criteria may fail in different attempts: no criterion alone decides."""
    rules = {"attempt_rules": {"eval_sets": {"": {"name": "at_least", "number": 2}}, "cases": {}}}
    attempts = [replace(PASSED, position=1), replace(FAILED, case_id="fine")]
    (test,) = suites(tmp_path, *attempts, info=replace(INFO, config=rules))[0].findall("testcase")
    assert (test.get("classname"), test.get("name")) == ("fine", "attempts")
    assert test[0].get("message") == "1 of 2 attempts passed, needed: at least 2 attempts pass"


def test_a_fault_that_is_not_the_agents_is_named(tmp_path: Path) -> None:
    """In the message of a failure; what makes an attempt invalid stands in its output, passed or not."""
    spoiled = (Fault("judge", ("no quorum",)), Fault("environment", ("timeout",)))
    found = suite(tmp_path, *(replace(one, invalidations=spoiled) for one in (PASSED, FAILED, OPEN)))
    messages = [inner.get("message") for one in found.findall("testcase") for inner in one if inner.get("message")]
    assert messages == ["match 0.799 (needs at least 0.800); fault: judge", "unscored: match; fault: judge"]
    said = [one.findtext("system-out") for one in found.findall("testcase")]
    assert said == ["invalid\njudge: no quorum\nenvironment: timeout"] * 3


def test_the_numbers_over_valid_attempts_are_in_the_output(tmp_path: Path) -> None:
    """Where some are invalid: how many on which side, and the pass rate with and without them."""
    spoiled = (Fault("judge", ("no quorum",)),)
    said = output(tmp_path, replace(PASSED, invalidations=()), replace(FAILED, invalidations=spoiled))
    assert (
        said
        == "failed\n1 case failed\ninvalid attempts: judge 1\nmatch over 1 valid attempt: pass rate 100 %, of all 50 %"
    )


def test_allowed_unscored_attempts_are_skipped(tmp_path: Path) -> None:
    """With --allow-unscored an attempt without verdict does not break the build."""
    found = suite(tmp_path, PASSED, OPEN, allow_unscored=True)
    assert [inner.tag for one in found.findall("testcase") for inner in one] == ["skipped"]
    assert (found.get("errors"), found.get("skipped")) == ("0", "1")


def test_the_verdict_of_the_run_is_in_the_output(tmp_path: Path) -> None:
    """Why a run is what it is stands at its end."""
    assert output(tmp_path, OPEN) == "unscored\n1 case could not be scored\nno case passed"


hostile = st.text(st.characters(codec="utf-8", exclude_categories=())) | st.sampled_from(
    ["\x00\x1b[31m", "]]>", "<![CDATA[", "</testcase>", "&lt;\"'", "\ufffe\uffff", "\u202e", "a\r\nb"]
)


@pytest.mark.long
@given(name=hostile, reason=hostile, cause=hostile, criterion=hostile)
def test_hostile_text_is_still_xml(name: str, reason: str, cause: str, criterion: str) -> None:
    """Whatever stands in ids, reasons, causes and names of criteria, the file can be parsed and holds every case."""
    failed = CaseResult(name, 0, (Outcome(criterion, Score(0.0, reason), 0.8),))
    broken = CaseResult(name, 1, (), failure=Failure("agent", cause, cause))
    with tempfile.TemporaryDirectory() as folder:
        assert len(suite(Path(folder), failed, broken).findall("testcase")) == 2


def test_control_characters_are_spelt_out(tmp_path: Path) -> None:
    """What XML cannot hold, or what controls terminals and the direction of writing; text of any language stays."""
    found = suite(tmp_path, CaseResult("주문\x1b[31m \x9b1m \u202e\ufffe \U0001f600", 0, ()))
    names = [one.get("classname") for one in found.findall("testcase")]
    assert names[:1] == [r"주문\x1b[31m \x9b1m \u202e\ufffe" + " \U0001f600"]


def test_a_run_without_a_verdict_has_a_test_of_its_own(tmp_path: Path) -> None:
    """A CI server reads the tests alone, and no tests, or tests that only inform, are green."""
    for results in ((), (CaseResult("a", 0, ()),)):
        run = suites(tmp_path, *results)[-1]
        (error,) = run.findall("testcase[@name='the run as a whole']/error")
        assert error.get("message", "").startswith("unscored; ")
        assert (run.get("tests"), run.get("errors")) == ("1", "1")


@pytest.mark.long
def test_the_hostile_corpus_is_text_in_xml(tmp_path: Path) -> None:
    """In every field of a result: the file has the elements that it has without hostile text, and no other."""
    texts = cycle(HOSTILE)
    plain = [PASSED, FAILED, BROKEN, *[RICH] * 30]
    tags = []
    for name, results in (("plain", plain), ("hostile", [filled(result, texts.__next__) for result in plain])):
        with (tmp_path / name).open("wb") as stream:
            junit.write(stream, FinishedRun(INFO, results), ReportOptions())
        tags.append(Counter(element.tag for element in ET.parse(tmp_path / name).iter()))  # noqa: S314  (our own file)
    assert tags[0].keys() == tags[1].keys()


def test_no_suite_is_empty(tmp_path: Path) -> None:
    """CI servers show an empty suite as one without results. The last suite has the verdict of the run."""
    first, last = suites(tmp_path, replace(PASSED, eval_set="a"), replace(FAILED, eval_set="b"))
    assert [one.get("tests") for one in (first, last)] == ["1", "1"]
    assert first.find("system-out") is None
    assert str(last.findtext("system-out")).splitlines()[:2] == ["failed", "1 case failed"]


def test_an_error_of_many_cases_is_told_once(tmp_path: Path) -> None:
    """Every test keeps its message. The text stands at the first of them, and the number in the output."""
    outcomes = (*BROKEN.outcomes, replace(BROKEN.outcomes[0], criterion="other"))
    broken = [
        replace(
            BROKEN, case_id=f"c{n}", position=n, outcomes=outcomes, failure=Failure("agent", "boom", f"Traceback {n}")
        )
        for n in range(3)
    ]
    found = suite(tmp_path, *broken, replace(BROKEN, position=3, failure=Failure("agent", "bang", "Traceback x")))
    errors = found.findall("testcase/error")
    assert [error.get("message") for error in errors] == ["agent: boom"] * 6 + ["agent: bang"]
    assert [error.text for error in errors] == ["Traceback 0", *["the same error as above"] * 5, "Traceback x"]
    assert "3 attempts ended with the same error: agent: boom" in str(found.findtext("system-out"))


def test_secrets_are_replaced_everywhere(tmp_path: Path) -> None:
    """In messages, reasons and tracebacks, because CI servers show the file to others."""
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    failure = Failure("agent", f"no access with {key}", f"Traceback: {key}")
    told = CaseResult("told", 1, (Outcome("match", Score(0.1, f"said {key}"), 0.8),))
    suites(tmp_path, replace(BROKEN, failure=failure), told)
    text = (tmp_path / "junit.xml").read_text("utf-8")
    assert key not in text
    assert text.count("[REDACTED:provider_key]") == 3
    cut = replace(BROKEN, failure=Failure("agent", "." * 170 + f" {key}"))
    assert "sk-proj" not in str(output(tmp_path, cut, replace(cut, case_id="again", position=5)))
