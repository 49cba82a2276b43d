"""Is the JUnit file XML that a CI server reads, whatever stands in it?"""

from __future__ import annotations

import tempfile
from pathlib import Path
from xml.etree import ElementTree as ET

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

INFO = RunInfo("20260101-000000-aaaaaa", "2026-01-01T00:00:00.000+00:00", "0", "run", seconds=1.5)
PASSED = CaseResult("fine", 0, (Outcome("match", Score(1.0), 0.8),))
FAILED = CaseResult("bad", 1, (Outcome("match", Score(0.799, "two words differ"), 0.8),), attempt=2)
BROKEN = CaseResult("broken", 2, (Outcome("match", Score(None), 0.8),), failure=Failure("agent", "boom", "Traceback …"))
OPEN = CaseResult("open", 3, (Outcome("match", Score(None, "no judge"), 0.8),))
INFORMS = CaseResult("informs", 4, (Outcome("tokens", Score(3.0)),))


def suite(folder: Path, *results: CaseResult, allow_unscored: bool = False) -> ET.Element:
    """The test suite in the file that is written of these results."""
    file = folder / "junit.xml"
    with file.open("wb") as stream:
        junit.write(stream, FinishedRun(INFO, results), ReportOptions(allow_unscored))
    root = ET.parse(file).getroot()  # noqa: S314  (our own file)
    assert root.tag == "testsuites"
    (only,) = root
    return only


def test_the_counts_are_those_of_the_cases(tmp_path: Path) -> None:
    """Failures, errors and skipped are counted as CI servers count them."""
    found = suite(tmp_path, PASSED, FAILED, BROKEN, OPEN, INFORMS)
    counts = {name: found.get(name) for name in ("tests", "failures", "errors", "skipped", "time")}
    assert counts == {"tests": "5", "failures": "1", "errors": "2", "skipped": "0", "time": "1.500"}


def test_each_attempt_tells_what_became_of_it(tmp_path: Path) -> None:
    """A failure names the number and what it needed, an error its side and cause; what passed says nothing."""
    found = suite(tmp_path, PASSED, FAILED, BROKEN, OPEN, INFORMS)
    told = {
        one.get("name"): [(inner.tag, inner.get("message"), inner.text) for inner in one]
        for one in found.findall("testcase")
    }
    assert told == {
        "fine": [],
        "bad (attempt 2)": [("failure", "match 0.799 (needs at least 0.800)", "match: two words differ")],
        "broken": [("error", "agent: boom", "Traceback …")],
        "open": [("error", "unscored: match", "match: no judge")],
        "informs": [],
    }


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
    said = suite(tmp_path, replace(PASSED, invalidations=()), replace(FAILED, invalidations=spoiled)).findtext(
        "system-out"
    )
    assert (
        said == "failed\n1 failed\ninvalid attempts: judge 1\nmatch over 1 valid attempt: pass rate 100 %, of all 50 %"
    )


def test_allowed_unscored_attempts_are_skipped(tmp_path: Path) -> None:
    """With --allow-unscored an attempt without verdict does not break the build."""
    found = suite(tmp_path, PASSED, OPEN, allow_unscored=True)
    assert [inner.tag for one in found.findall("testcase") for inner in one] == ["skipped"]
    assert (found.get("errors"), found.get("skipped")) == ("0", "1")


def test_the_verdict_of_the_run_is_in_the_output(tmp_path: Path) -> None:
    """Why a run is what it is stands at its end."""
    assert suite(tmp_path, OPEN).findtext("system-out") == "unscored\n1 could not be scored\nno case passed"


hostile = st.text(st.characters(codec="utf-8", exclude_categories=())) | st.sampled_from(
    ["\x00\x1b[31m", "]]>", "<![CDATA[", "</testcase>", "&lt;\"'", "\ufffe\uffff", "\u202e", "a\r\nb"]
)


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
    names = [one.get("name") for one in found.findall("testcase")]
    assert names[:1] == [r"주문\x1b[31m \x9b1m \u202e\ufffe" + " \U0001f600"]


def test_a_run_without_a_verdict_has_a_test_of_its_own(tmp_path: Path) -> None:
    """A CI server reads the tests alone, and no tests, or tests that only inform, are green."""
    for results in ((), (CaseResult("a", 0, ()),)):
        found = suite(tmp_path, *results)
        (error,) = found.findall("testcase[@name='the run as a whole']/error")
        assert error.get("message", "").startswith("unscored; ")
        assert (found.get("tests"), found.get("errors")) == (str(len(results) + 1), "1")
