"""The commands `fairtrial plan`, `flaky` and `show` print plans, flaky cases and pass^k."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import enter, fairtrial
from fairtrial.store import DEFAULT_URL
from graded_runs import graded_run


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder."""
    enter(tmp_path, monkeypatch)


def stored() -> str:
    """The id of a run in the store with a flaky case."""
    values = {"steady": [1.0, 1.0], "bad": [0.0, 0.0], "wavering": [1.0, 0.0]}
    return graded_run(values, store=DEFAULT_URL).info.id


def test_flaky_names_the_cases_and_their_cause() -> None:
    """The cause comes from the stored traces."""
    done = fairtrial("flaky", stored())
    assert done.code == 0
    (line,) = [line for line in done.out.splitlines() if line.startswith(" wavering")]
    assert line.split() == ["wavering", "1", "2", "50", "%", "9", "%", "…", "91", "%", "agent"]
    assert "1 always passed, 1 never passed, 1 is flaky." in done.out


def test_flaky_foretells_nothing_of_cases_with_one_attempt() -> None:
    """Nothing shows how often a case that was tried once would change."""
    once = graded_run({"a": [1.0], "b": [0.0]}, store=DEFAULT_URL).info.id
    assert "verdicts would differ" not in fairtrial("flaky", once).out
    assert "verdicts would differ" in fairtrial("flaky", stored()).out


def test_a_report_does_not_show_the_cause() -> None:
    """It holds no traces."""
    fairtrial("show", stored(), "--json", "run.json")
    assert fairtrial("flaky", "run.json", "--json", "-").json["cases"][0]["cause"] is None


def test_plan_prints_a_design_for_each_number_of_attempts() -> None:
    """And the guess that it rests on."""
    done = fairtrial("plan", stored(), "--detect", "0.3")
    assert done.code == 0
    assert "To show a difference of 30 points in cases with a power of 80 %" in done.out
    assert "cheapest" in done.out
    assert "a second run as BASE shows it" in done.out
    assert fairtrial("plan", stored(), "--detect", "0.3", "--json", "-").json["kind"] == "plan"


def test_plan_needs_one_question() -> None:
    """The message names the options."""
    for options in ([], ["--detect", "0.1", "--half-width", "0.1"]):
        done = fairtrial("plan", stored(), *options)
        assert done.code == 2
        assert "needs exactly one question: --detect D" in done.err


def test_show_has_pass_k() -> None:
    """Three cases with two attempts: pass^2 is 1/3, pass@2 is 2/3."""
    done = fairtrial("show", stored())
    assert "all pass (pass^k)" in done.out
    (line,) = [line for line in done.out.splitlines() if line.startswith(" 2 ")]
    assert line.split()[:3] == ["2", "33", "%"]


@pytest.mark.parametrize(("cases", "is_said"), [(3, True), (29, True), (30, False)])
def test_a_plan_from_few_cases_says_how_rough_it_is(cases: int, is_said: bool) -> None:
    """From 30 cases on, the variance is known well enough for a plan."""
    run = graded_run({f"c{number}": [float(number % 2)] for number in range(cases)}, store=DEFAULT_URL).info.id
    said = f"With {cases} cases, the variance is known roughly: these sizes show an order of magnitude."
    assert (said in fairtrial("plan", run, "--half-width", "0.1").out) is is_said


def test_slices_of_few_cases_say_what_they_show() -> None:
    """Below their table, about the pass rate that is known least."""
    run = graded_run({"a": [1.0], "b": [1.0]}, store=DEFAULT_URL).info.id
    sentence = "can be anywhere from 1 to 100 %: this is too little to say more."
    assert sentence in " ".join(fairtrial("show", run, "--by", "language").out.split())
