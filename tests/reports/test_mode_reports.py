"""The failure modes of a run stand in its reports: JSON, JUnit XML, Markdown, and the page."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET

import pytest

from fairtrial.records.failure_mode import Failures
from fairtrial.reports import html, json_report, junit, markdown
from fairtrial.reports.html_summary import LANGUAGES, texts
from fairtrial.reports.report_table import ReportOptions
from finished import FinishedRun
from mode_runs import BASE, EXTRA, NOW, mode_run


@pytest.fixture(scope="module")
def now() -> FinishedRun:
    """A run with a new mode of nine cases and an old one of five."""
    return mode_run(NOW, extra=EXTRA)


@pytest.fixture(scope="module")
def against() -> ReportOptions:
    """Options with a base run."""
    return ReportOptions(base_run=mode_run(BASE))


def parsed(text: str) -> ET.Element:
    """Return the root of our own XML."""
    return ET.fromstring(text)  # noqa: S314  (this test wrote it)


def written(module: object, run: FinishedRun, options: ReportOptions) -> str:
    """Return a report as text."""
    stream = io.BytesIO()
    module.write(stream, run, options)  # type: ignore[attr-defined]
    return stream.getvalue().decode()


def test_json_has_the_modes_with_an_example(now: FinishedRun, against: ReportOptions) -> None:
    """The mode that wins most comes first, with counts, shares and the decisive step of an attempt."""
    failures = json.loads(written(json_report, now, against))["run"]["failures"]
    first, second = failures["modes"]
    assert (first["name"], first["cases"], first["repaired"]) == (f"{EXTRA} is called and was not expected", 9, 9)
    assert first["change"] == "new"
    assert "change" not in second
    assert first["of_failures"]["value"] == pytest.approx(9 / 14)
    assert first["of_failures"]["low"] < 9 / 14 < first["of_failures"]["high"]
    step = first["example"]["decisive"]["step"]
    assert (step["invocation"], step["step"], step["kind"]) == (1, 3, "call")
    assert failures["largest"] == [1, 2]


def test_json_names_the_decisive_step_of_each_failed_attempt(now: FinishedRun) -> None:
    """Other attempts have none."""
    attempts = json.loads(written(json_report, now, ReportOptions()))["attempts"]
    assert [own["decisive"] is not None for own in attempts] == [own["verdict"] == "failed" for own in attempts]
    assert attempts[10]["decisive"]["mode"] == 1


def test_junit_names_the_decisive_step_in_the_message(now: FinishedRun) -> None:
    """Behind what the criterion says."""
    messages = [own.attrib["message"] for own in parsed(written(junit, now, ReportOptions())).iter("failure")]
    assert len(messages) == 14
    assert sum(f"invocation 1, step 3: {EXTRA}" in message for message in messages) == 9


def test_markdown_names_new_modes_before_the_largest(now: FinishedRun, against: ReportOptions) -> None:
    """As a reviewer reads it in a pull request."""
    text = written(markdown, now, against)
    new = text.index(f"- new: `{EXTRA} is called and was not expected`, 9 of 50 cases")
    assert new < text.index("`get_reservation is not called`, 5 of 50 cases")
    assert "5 cases would pass without it" in text


def test_markdown_without_a_baseline_has_no_new_mode(now: FinishedRun) -> None:
    """Nothing says what is new."""
    text = written(markdown, now, ReportOptions())
    assert "**Failure modes**" in text
    assert "- new:" not in text


def test_a_run_that_passed_has_no_section() -> None:
    """Neither in Markdown nor in JSON."""
    run = mode_run(NOW)
    passed = FinishedRun(run.info, run.results[20:], run.expectations[20:], run.recorded[20:])
    assert "Failure modes" not in written(markdown, passed, ReportOptions())
    assert json.loads(written(json_report, passed, ReportOptions()))["run"]["failures"] is None


def test_a_hostile_tool_stays_text() -> None:
    """In Markdown it is code, and in XML it is escaped."""
    run = mode_run(NOW, extra="<img src=x> ![a](http://evil.example) @team \u202e")
    text = written(markdown, run, ReportOptions())
    assert "\u202e" not in text
    assert "- `<img" in text
    parsed(written(junit, run, ReportOptions()))


@pytest.mark.parametrize("language", LANGUAGES)
def test_readers_without_scripts_see_the_modes(now: FinishedRun, language: str) -> None:
    """In the language of the page."""
    page = written(html, now, ReportOptions(language=language))
    assert f"<h2>{texts(language)['failureModes']}</h2><ul><li>{EXTRA}" in page


def test_a_report_is_the_same_each_time(now: FinishedRun, against: ReportOptions) -> None:
    """Names, numbers and order."""
    assert written(json_report, now, against) == written(json_report, mode_run(NOW, extra=EXTRA), against)


def test_too_many_failures_are_left_out(now: FinishedRun) -> None:
    """The report holds the rest."""

    class Large(FinishedRun):
        @property
        def failure_modes(self) -> Failures | None:
            return None

    run = Large(now.info, now.results, now.expectations, now.recorded)
    assert json.loads(written(json_report, run, ReportOptions()))["run"]["failures"] is None
    assert len(parsed(written(junit, run, ReportOptions())).findall(".//failure")) == 14
