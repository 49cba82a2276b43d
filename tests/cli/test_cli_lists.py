"""Commands that list something write it as JSON that the schema of the documentation describes."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from commands import enter, fairtrial
from fairtrial import Criterion, EvalCase, EvalSet, Invocation, Message, Recording, Run, Trace, score
from fairtrial.api import CATALOG
from schema_checks import check_shape

STORE = "sqlite:///here.db"


def valid(text: str, shape: str) -> Any:
    """Return the document, which must fit the shape of the schema."""
    document = json.loads(text)
    check_shape(document, shape)
    return document


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A stored run of one case."""
    enter(tmp_path, monkeypatch)
    turn = Invocation(Message("Hi"), (), Message("Hello"))
    criterion = Criterion("polite", lambda trace, case: bool(trace.invocations and case.id), 1.0)
    return score([Recording("hi", Trace((turn,)))], EvalSet("s", (EvalCase("hi", (turn,)),)), [criterion], store=STORE)


def test_check_lists_each_file_with_its_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of both files is broken, so that they cannot all be used."""
    enter(tmp_path, monkeypatch)
    Path("good.csv").write_text("question,expected\nHi,Hello\n", encoding="utf-8")
    Path("broken.json").write_text("{", encoding="utf-8")
    done = fairtrial("check", "good.csv", "broken.json", "--json", "-")
    checked = valid(done.out, "CheckedFiles")
    assert (done.code, checked["is_usable"]) == (2, False)
    assert [(file["path"], file["is_usable"]) for file in checked["files"]] == [
        ("good.csv", True),
        ("broken.json", False),
    ]
    assert "is not JSON" in checked["files"][1]["problems"][0]


def test_check_writes_a_file_beside_its_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the name of a file, the terminal shows the files as before."""
    enter(tmp_path, monkeypatch)
    Path("good.csv").write_text("question,expected\nHi,Hello\n", encoding="utf-8")
    done = fairtrial("check", "good.csv", "--json", "new/checked.json")
    assert "good.csv" in done.out
    assert valid(Path("new/checked.json").read_text(encoding="utf-8"), "CheckedFiles")["is_usable"] is True


def test_runs_are_listed_with_their_verdicts(run: Run) -> None:
    """The list holds the run that was just stored."""
    (listed,) = valid(fairtrial("runs", "--store", STORE, "--json", "-").out, "ListedRuns")["runs"]
    assert (listed["id"], listed["command"], listed["verdict"]) == (run.info.id, "score", "passed")


def test_criteria_are_listed_with_their_options() -> None:
    """All of them, or the one that is named."""
    listed = valid(fairtrial("criteria", "--json", "-").out, "ListedCriteria")["criteria"]
    assert [criterion["name"] for criterion in listed] == list(CATALOG)
    (one,) = valid(fairtrial("criteria", "safety_v1", "--json", "-").out, "ListedCriteria")["criteria"]
    assert one["needs"] == "judge or Vertex"
    assert "threshold" in [option["name"] for option in one["options"]]


def test_a_config_is_no_list_of_criteria() -> None:
    """`--for` prints a config, which is JSON already."""
    done = fairtrial("criteria", "--for", "ci", "--json", "-")
    assert (done.code, json.loads(done.out)["error"]["code"]) == (2, "options-conflict")


def test_labels_are_listed(run: Run) -> None:
    """First none, then the one that a file adds."""
    assert valid(fairtrial("labels", run.info.id, "--store", STORE, "--json", "-").out, "ListedLabels")["labels"] == []
    fairtrial("judge", "sample", run.info.id, "--store", STORE, "--criterion", "polite", "-o", "s.csv")
    rows = list(csv.DictReader(Path("s.csv").read_text(encoding="utf-8").splitlines()))
    with Path("ann.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"label": "pass", "labeler": "ann"} for row in rows)
    added = fairtrial("labels", run.info.id, "--store", STORE, "--add", "ann.csv", "--json", "-")
    (label,) = valid(added.out, "ListedLabels")["labels"]
    assert (label["case"], label["criterion"], label["labeler"], label["label"]) == ("hi", "polite", "ann", 1.0)


def test_expect_names_the_cases_that_it_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing else stands on standard output."""
    enter(tmp_path, monkeypatch)
    Path("r.csv").write_text("question,reply\nHi,Hello\n", encoding="utf-8")
    done = fairtrial("expect", "r.csv", "-o", "x.evalset.json", "--json", "-")
    written = valid(done.out, "WrittenEvalSet")
    assert (written["file"], len(written["cases"])) == ("x.evalset.json", 1)
