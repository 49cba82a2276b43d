"""The `Run` that `evaluate` and `score` return gives access to results, views and exports."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest
from rich.console import Console

import commands
import fairtrial
from builders import call, recording, turn
from fairtrial.records.case import EvalCase, EvalSet

CASES = EvalSet("shop", tuple(EvalCase(name, (turn(reply="yes"),)) for name in ("first", "second", "third")))
CRITERIA = {"response_match_score": 0.5}


def obedient(trace: fairtrial.Trace) -> str:
    """Answer as expected, except for the second case."""
    return "no" if trace.session_id == "second" else "yes"


@pytest.fixture(scope="module")
def run() -> fairtrial.Run:
    """A run of three cases, of which the second failed."""
    return fairtrial.evaluate(CASES, obedient, CRITERIA)


def test_a_store_may_be_a_path(tmp_path: Path) -> None:
    """Of a file, for a run and for its reader."""
    path = tmp_path / "my runs.db"
    run_id = fairtrial.evaluate(CASES, obedient, CRITERIA, store=path).info.id
    assert path.exists()
    assert fairtrial.open_run(run_id, store=path).verdict == "failed"
    assert fairtrial.open_run(run_id, store=f"sqlite:///{path}").info.id == run_id
    recorded = [own for _, own in fairtrial.open_run(run_id, store=path).recordings]
    assert fairtrial.score(recorded, CASES, CRITERIA, store=path).info.id != run_id


@pytest.mark.skipif(os.name == "nt", reason="Windows allows no question mark in a name")
def test_signs_of_a_url_in_a_path_belong_to_the_name_of_the_store(tmp_path: Path) -> None:
    """Otherwise the run would be stored in a file of another name."""
    path = tmp_path / "is it 50%25?.db"
    run_id = fairtrial.evaluate(CASES, obedient, CRITERIA, store=path).info.id
    assert path.exists()
    assert fairtrial.open_run(run_id, store=path).info.id == run_id


def test_a_run_is_one_line(run: fairtrial.Run) -> None:
    """A notebook and a debugger show it."""
    assert re.fullmatch(r"<Run \S+: failed, 2 passed, 1 failed>", repr(run))


def test_cases_are_a_sequence(run: fairtrial.Run) -> None:
    """They have a length, places from both ends, slices, and can be read again and again."""
    names = ["first", "second", "third"]
    assert [result.case_id for result in run.cases] == names == [result.case_id for result in run.cases]
    assert len(run.cases) == 3
    assert [run.cases[place].case_id for place in (0, 2, -1, -3)] == ["first", "third", "third", "first"]
    assert [result.case_id for result in run.cases[1:]] == names[1:]
    assert [result.case_id for result in run.cases[::-2]] == names[::-2]
    assert run.cases[5:2] == []
    for place in (3, -4):
        with pytest.raises(IndexError, match="3 results"):
            run.cases[place]


def test_rows_are_plain(run: fairtrial.Run) -> None:
    """A row for each attempt and criterion can be written as CSV and JSON."""
    rows = list(run.rows())
    assert [(row["case_id"], row["criterion"], row["verdict"]) for row in rows if row["threshold"] is not None] == [
        ("first", "response_match_score", "passed"),
        ("second", "response_match_score", "failed"),
        ("third", "response_match_score", "passed"),
    ]
    assert json.loads(json.dumps(rows)) == rows
    writer = csv.DictWriter(io.StringIO(), rows[0])
    assert writer.writerow(rows[0])


def test_without_a_library_of_data_frames_the_hint_names_one(
    run: fairtrial.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither library is needed for anything else."""
    for name in ("pandas", "polars"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(fairtrial.UsageError, match="pandas or polars: pip install pandas"):
        run.to_frame()


def test_the_report_is_that_of_a_terminal(run: fairtrial.Run) -> None:
    """Plain text, with the failed case and the verdict."""
    report = run.report()
    assert "✗ second  failed" in report
    assert "✗ FAILED: 1 case failed" in report
    assert "\x1b" not in report


@pytest.mark.long
def test_in_a_notebook_texts_are_returned_and_not_displayed(
    run: fairtrial.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There, rich displays what a console prints, although the console has a file. Nothing of ours may do so."""
    report, html = run.report(), run._repr_html_()
    displayed: list[object] = []
    display = ModuleType("IPython.display")
    display.display = displayed.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setattr("builtins.get_ipython", lambda: shell, raising=False)
    assert Console(file=io.StringIO()).is_jupyter
    assert (run.report(), run._repr_html_()) == (report, html)
    with pytest.raises(fairtrial.RunNotPassedError, match=r"response_match_score"):
        run.check()
    done = commands.fairtrial("criteria")
    assert "response_match_score" in done.out
    assert not displayed


def test_reports_are_saved_by_their_names(run: fairtrial.Run, tmp_path: Path) -> None:
    """The same files as those of the command line."""
    run.save(json=tmp_path / "run.json", junit=str(tmp_path / "junit.xml"), adk_results=tmp_path)
    assert json.loads((tmp_path / "run.json").read_bytes())["run"]["verdict"] == "failed"
    assert "second" in (tmp_path / "junit.xml").read_text(encoding="utf-8")
    assert len(list(tmp_path.glob("*.evalset_result.json"))) == 1
    with pytest.raises(fairtrial.UsageError, match="xml: is not a report; allowed: json, "):
        run.save(xml=tmp_path / "run.xml")


def test_a_check_raises_the_report(run: fairtrial.Run) -> None:
    """A test of a user fails with the report as its message."""
    with pytest.raises(AssertionError, match=r"(?s)the run failed.*✗ second  failed"):
        run.check()
    fairtrial.evaluate(CASES, lambda _: "yes", CRITERIA).check()


def test_a_check_of_an_unscored_run() -> None:
    """It fails unless it is allowed."""
    unscored = fairtrial.evaluate(CASES, lambda _: "yes", {"mine": lambda *_: fairtrial.Score(None, "no idea")})
    with pytest.raises(fairtrial.RunNotPassedError, match="the run could not be scored: no criterion"):
        unscored.check()


class Text(HTMLParser):
    """Collects the text of HTML, and refuses tags of strangers."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Allow the tags of the template alone."""
        assert tag in {"pre", "span"}, (tag, attrs)

    def handle_data(self, data: str) -> None:
        """Collect the text."""
        self.text += data


def test_html_of_a_hostile_name_is_escaped() -> None:
    """A notebook must not run what a file says."""
    hostile = {"<script>alert(1)</script>": lambda *_: 1.0}
    html = fairtrial.evaluate(CASES, obedient, hostile)._repr_html_()
    reader = Text()
    reader.feed(html)
    assert "<script>alert" in reader.text


def test_a_run_is_opened_again(tmp_path: Path) -> None:
    """By the beginning of its id, with the same results."""
    store = f"sqlite:///{tmp_path}/runs.db"
    run = fairtrial.evaluate(CASES, obedient, CRITERIA, store=store)
    again = fairtrial.open_run(run.info.id[:20], store=store)
    assert list(again.cases) == list(run.cases)
    assert again.summary == run.summary
    with pytest.raises(fairtrial.UsageError, match="no run"):
        fairtrial.open_run("1999", store=store)


def test_in_a_loop_the_agent_uses_the_objects_of_the_loop() -> None:
    """For example, a queue that belongs to the loop of a notebook."""

    async def main() -> fairtrial.Run:
        replies: asyncio.Queue[str] = asyncio.Queue()
        answering = asyncio.create_task(_answer(replies))

        async def agent(_: fairtrial.Trace) -> str:
            return await replies.get()

        run = await fairtrial.aevaluate(CASES, agent, CRITERIA, reply_timeout=60)
        await answering
        return run

    assert asyncio.run(main()).verdict == "passed"


async def _answer(replies: asyncio.Queue[str]) -> None:
    for _ in CASES.cases:
        await replies.put("yes")


def test_recordings_are_scored_in_a_loop() -> None:
    """As `score` does."""
    recordings = [recording(turn(call("f"), reply="yes"), name="first")]
    run = asyncio.run(fairtrial.ascore(recordings, CASES, CRITERIA, only=["first"]))
    assert run.verdict == fairtrial.score(recordings, CASES, CRITERIA, only=["first"]).verdict == "passed"
