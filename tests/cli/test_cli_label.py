"""The command `fairtrial label` opens a queue, and its labels reach the judge's calibration and files."""

from __future__ import annotations

import csv
import dataclasses
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from commands import enter, fairtrial
from fairtrial import load_eval_set, open_run
from fairtrial.api import QueueRequest
from fairtrial.api.labels.label_desk import LabelDesk
from fairtrial.cli.options.viewer_options import ViewerPlace
from fairtrial.reports.views.label_shapes import LabelRequest, WindowRequest
from fairtrial.store import Store
from report_pages import run as report_run
from viewers import FIRST, fill

pytestmark = pytest.mark.long

STORE = "sqlite:///here.db"
CRITERION = "final_response_quality"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A store with a run that nobody has labelled."""
    enter(tmp_path, monkeypatch)
    with closing(Store(STORE)) as own:
        fill(own, dataclasses.replace(report_run(FIRST, cases=20), labels=[]))
        yield own


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """The pages that were opened. The server itself would never end."""
    pages: list[dict[str, str]] = []
    monkeypatch.setattr(ViewerPlace, "serve", lambda *_, **page: pages.append(page))
    return pages


def label(*arguments: str) -> Any:
    """Run the command."""
    return fairtrial("label", FIRST[:8], "--store", STORE, *arguments)


def test_the_same_options_continue_a_queue(store: Store, opened: list[dict[str, str]]) -> None:
    """Another person joins it, and another seed draws another one."""
    for arguments in (("--as", "ann"), ("--as", "ben"), ("--as", "ann", "--seed", "2")):
        done = label("--sample", "10", *arguments)
        assert done.code == 0, done.err
    assert [(page["queue"], page["as"], page["page"]) for page in opened] == [
        ("1", "ann", "label"),
        ("1", "ben", "label"),
        ("2", "ann", "label"),
    ]
    assert "queue 2 of final_response_quality: 0 of 10 labels given" in done.out
    assert len(store.label_queues(FIRST).queues()) == 2


def test_the_options_are_kept_with_the_queue(store: Store, opened: list[dict[str, str]]) -> None:
    """The answers by name, the question, the parts, the overlap, and that verdicts are shown."""
    options = ["--part", "rubric", "--overlap", "0.5", "--labelers", "3", "--open", "--question", "Right?"]
    done = label("--by", "stratum", *options, "--answer", "wrong=0", "--answer", "half right=0.5")
    assert done.code == 0, done.err
    (queue,) = store.label_queues(FIRST).queues().values()
    assert (queue.by, queue.part, queue.overlap, queue.labelers) == ("stratum", "rubric", 0.5, 3)
    assert (queue.blind, queue.question, queue.answers) == (False, "Right?", {"wrong": 0.0, "half right": 0.5})
    assert len(opened) == 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--criterion", "final_response_qualty"], "has no criterion 'final_response_qualty'"),
        (["--answer", "wrong"], "must be NAME=VALUE with a number VALUE"),
        (["--answer", "wrong=7"], "--answer: must be NAME=VALUE with a number from 0 to 1"),
        (["--by", "disagreement"], "no further outcome"),
    ],
)
def test_wrong_options_are_named(
    store: Store, opened: list[dict[str, str]], arguments: list[str], problem: str
) -> None:
    """And no page is opened."""
    done = label(*arguments)
    assert done.code == 2
    assert problem in done.err
    assert opened == []
    assert store.label_queues(FIRST).queues() == {}


def label_all(store: Store, *, part: Any = None) -> None:
    """Let Ann label everything."""
    desk, window = LabelDesk(store), WindowRequest("ann", "window-a1")
    number = desk.open(FIRST, QueueRequest(CRITERION, part=part, by="stratum")).number
    place = 0
    while items := desk.claim(FIRST, number, window).items:
        place += 1
        request = LabelRequest("ann", window.window, items[0].number, items[0].copy, float(place % 3 > 0), 1.5, "=1+1")
        desk.answer(FIRST, number, replace(request, side="agent", reference="On Friday."))


def test_a_run_takes_its_queues_to_another_store(store: Store, opened: list[dict[str, str]]) -> None:
    """With the probability and the holder of each item, so that people go on where they were."""
    done = label("--sample", "10", "--by", "stratum", "--as", "ann")
    assert (done.code, len(opened)) == (0, 1)
    label_all(store)
    label("--sample", "5", "--seed", "9", "--as", "ann")
    here = store.label_queues(FIRST)
    assert fairtrial("runs", "export", FIRST, "run.jsonl", "--store", STORE).code == 0
    assert fairtrial("runs", "import", "run.jsonl", "--store", "sqlite:///there.db").code == 0
    with closing(Store("sqlite:///there.db")) as other:
        there = other.label_queues(FIRST)
        assert there.queues() == here.queues()
        for number in (1, 2, 3):
            assert there.items(number) == here.items(number) != []
        assert {item.holder.split()[1] for item in there.items(2) if item.done} == {"ann"}
        assert LabelDesk(other).claim(FIRST, 2, WindowRequest("ann", "window-a2")).items == []


def test_labels_check_the_judge(store: Store) -> None:
    """As labels from a file do."""
    label_all(store)
    done = fairtrial("judge", "calibrate", FIRST, "--store", STORE)
    assert done.code == 0
    assert "labelled outcomes, by 1 labeler" in done.out


@pytest.mark.parametrize("file", ["out.csv", "out.jsonl"])
@pytest.mark.parametrize("part", [None, "rubric"])
def test_every_field_of_a_label_comes_back_from_a_file(store: Store, file: str, part: str | None) -> None:
    """Into a store that has the run, and no labels yet."""
    fairtrial("runs", "export", FIRST, "run.jsonl", "--store", STORE)
    label_all(store, part=part)
    assert fairtrial("labels", FIRST, "--store", STORE, "-o", file).code == 0
    other = "sqlite:///other.db"
    assert fairtrial("runs", "import", "run.jsonl", "--store", other).code == 0
    added = fairtrial("labels", FIRST, "--store", other, "--add", file)
    assert added.code == 0, added.err
    first, second = (
        sorted((label_fields(own) for own in open_run(FIRST, store=name).labels), key=str) for name in (STORE, other)
    )
    assert first == second


def label_fields(own: Any) -> dict[str, Any]:
    """A label as plain data, without the apostrophe that a formula gets in CSV."""
    data: dict[str, Any] = msgspec.to_builtins(own)
    return {**data, "note": data["note"].removeprefix("'")}


def test_a_file_has_the_fields_of_labels(store: Store) -> None:
    """In both formats, with formulas defused in CSV."""
    label_all(store)
    for file in ("out.csv", "out.jsonl"):
        fairtrial("labels", FIRST, "--store", STORE, "-o", file)
    (line, *_) = map(json.loads, Path("out.jsonl").read_text(encoding="utf-8").splitlines())
    assert (line["seconds"], line["blind"], line["source"], line["side"]) == (1.5, True, "view", "agent")
    assert line["better_reference"] == "On Friday."
    assert line["weight"] == pytest.approx(1 / line["probability"])
    with Path("out.csv").open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == list(line)
    assert rows[0]["note"] == "'=1+1"


@pytest.mark.parametrize(
    ("column", "value", "problem"),
    [
        ("part", "rubric", "part: must be KIND/INDEX/ID"),
        ("blind", "perhaps", "blind: must be true, false or empty"),
        ("seconds", "-1", "seconds: must be a number from 0"),
        ("probability", "2", "probability: must be a number from 0 to 1"),
        ("side", "moon", "side: must be of infrastructure"),
        ("at", "today", "at: must be a time in ISO 8601"),
    ],
)
def test_a_field_that_cannot_be_read_is_named(store: Store, column: str, value: str, problem: str) -> None:
    """With its file and its line."""
    label_all(store)
    fairtrial("labels", FIRST, "--store", STORE, "-o", "out.jsonl")
    (line, *_) = map(json.loads, Path("out.jsonl").read_text(encoding="utf-8").splitlines())
    Path("bad.jsonl").write_text(json.dumps({**line, column: value}) + "\n", encoding="utf-8")
    done = fairtrial("labels", FIRST, "--store", STORE, "--add", "bad.jsonl")
    assert done.code == 2
    assert f"bad.jsonl: line 1: {problem}" in done.err


def test_better_references_become_another_eval_set(store: Store) -> None:
    """With all cases of the run. A file that exists stays as it is."""
    label_all(store)
    done = fairtrial("labels", FIRST, "--store", STORE, "--references", "better.evalset.json")
    assert done.code == 0, done.err
    count = int(done.out.split(" with ")[1].split()[0])
    written = load_eval_set("better.evalset.json")
    replies = [case.conversation[-1].reply for case in written.cases if case.conversation]
    assert (len(replies), replies.count("On Friday.")) == (20, count)
    assert 0 < count < 20
    again = fairtrial("labels", FIRST, "--store", STORE, "--references", "better.evalset.json")
    assert again.code == 2
    assert "exists" in again.err


def test_without_better_references_nothing_is_written(store: Store) -> None:
    """The message says that no label has one."""
    assert store.labels(FIRST) == []
    done = fairtrial("labels", FIRST, "--store", STORE, "--references", "better.evalset.json")
    assert done.code == 2
    assert "no label has one" in done.err
    assert not Path("better.evalset.json").exists()
