"""The commands `fairtrial runs rm`, `export` and `import` move whole runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands import MATCH, case, enter, eval_set, fairtrial, write
from fairtrial.api import reread, runs
from fairtrial.records.keys import CaseKey
from fairtrial.records.label import Label
from fairtrial.records.score import PartKey

HERE, THERE = "sqlite:///here.db", "sqlite:///there/new.db"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an eval set."""
    enter(tmp_path, monkeypatch)
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set("good", "fail", "crash", case("주문")))


def run() -> str:
    """Run the test agent, and return the id of the run."""
    done = fairtrial("run", "trips.evalset.json", "--agent", "commands:obedient", "--store", HERE, "--json", "-")
    found: str = done.json["run"]["id"]
    return found


def lines(file: str) -> list[Any]:
    """The objects in a file of JSON lines."""
    return [json.loads(line) for line in Path(file).read_bytes().splitlines()]


@pytest.mark.long
def test_a_removed_run_is_gone_with_everything_of_it() -> None:
    """The other runs stay."""
    first, second = run(), run()
    done = fairtrial("runs", "rm", first, "--store", HERE)
    assert (done.code, done.out) == (0, f"removed {first}\n")
    assert [each.id for each in runs(HERE)] == [second]
    assert len(fairtrial("show", second, "--json", "-", "--store", HERE).json["attempts"]) == 4


def test_nothing_is_removed_if_an_id_is_not_clear() -> None:
    """A typo in one id must not remove the runs before it."""
    first, _ = run(), run()
    done = fairtrial("runs", "rm", first, "2", "--store", HERE)
    assert (done.code, "2 runs in sqlite:///here.db with an id that starts with '2'" in done.err) == (2, True)
    assert len(runs(HERE)) == 2


def test_the_store_of_the_group_is_that_of_the_subcommand() -> None:
    """`fairtrial runs --store URL rm RUN` does not remove the run of another store."""
    run_id = run()
    assert fairtrial("runs", "--store", HERE, "rm", run_id).code == 0
    assert runs(HERE) == []


@pytest.mark.long
def test_an_imported_run_is_the_run_that_was_exported() -> None:
    """Its reports are equal byte for byte, and so are its labels; a second export is the same file."""
    run_id = run()
    stored = reread(HERE, run_id)
    (key, *_) = [each.key for each in stored.expected]
    label = Label(key, 1, "response_match_score", PartKey("invocation", 0), 1.0, "ann", "2026-01-02T00:00:00Z", "fine")
    stored.add_label(label)
    assert fairtrial("runs", "export", run_id, "run.jsonl", "--store", HERE).code == 0
    done = fairtrial("runs", "import", "run.jsonl", "--store", THERE)
    assert (done.code, done.out) == (0, f"imported {run_id}\n")
    for option, name in (("--json", "r.json"), ("--junit", "r.xml")):
        for store, folder in ((HERE, "a"), (THERE, "b")):
            assert fairtrial("show", run_id, option, f"{folder}/{name}", "--store", store).code == 0
        assert Path("a", name).read_bytes() == Path("b", name).read_bytes()
    imported = reread(THERE, run_id)
    assert imported.labels == [label]
    assert list(imported.recordings) == list(stored.recordings)
    assert list(imported.expected) == list(stored.expected)
    assert fairtrial("runs", "export", run_id, "-", "--store", THERE).out.encode() == Path("run.jsonl").read_bytes()


def test_an_export_holds_every_field() -> None:
    """A default that changes in a later version does not change the meaning of the file."""
    fairtrial("runs", "export", run(), "run.jsonl", "--store", HERE)
    header, first, *_ = lines("run.jsonl")
    assert (header["fairtrial_export"], header["run"]["kind"]) == (1, "run")
    assert first["case"]["case"]["scenario"] is None
    result = next(line["result"] for line in lines("run.jsonl") if "result" in line)
    assert result["outcomes"][0]["lower_is_better"] is False
    assert lines("run.jsonl")[-1] == {"lines": len(lines("run.jsonl")) - 1}


def test_a_run_that_is_there_is_not_imported_again() -> None:
    """The message says how to go on."""
    run_id = run()
    fairtrial("runs", "export", run_id, "run.jsonl", "--store", HERE)
    done = fairtrial("runs", "import", "run.jsonl", "--store", HERE)
    assert done.code == 2
    assert f"run {run_id} is in sqlite:///here.db already; remove it with `fairtrial runs rm {run_id}`" in done.err


def cut(text: list[bytes]) -> list[bytes]:
    """The lines of an export that was interrupted."""
    return text[:-1]


def shortened(text: list[bytes]) -> list[bytes]:
    """The lines of an export from whose middle a line was taken."""
    return [*text[:2], *text[3:]]


def damaged(text: list[bytes]) -> list[bytes]:
    """The lines of an export of which one is no record."""
    return [*text[:3], b'{"recording": {"case_id": 7}, "position": 1}\n', *text[4:]]


def newer(text: list[bytes]) -> list[bytes]:
    """The lines that a later version exports, with a field that nobody knows yet."""
    return [b'{"fairtrial_export": 2, "run": {"name": "x"}}\n', *text[1:]]


def foreign(text: list[bytes]) -> list[bytes]:
    """The lines of a file of another kind."""
    del text
    return [b'{"case_id": "a", "trace": {"invocations": []}}\n']


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (cut, "the file ends before the line that counts its lines"),
        (shortened, "counts 13 lines, got 12"),
        (damaged, "line 4: is not a line of an exported run: Expected `str`, got `int`"),
        (newer, "line 1: has export version 2, and this fairtrial reads version 1; install a newer fairtrial"),
        (foreign, "line 1: must hold a run that `fairtrial runs export` wrote"),
        (lambda _: [], "the file ends before"),
    ],
)
def test_a_file_that_is_not_whole_is_refused(change: Any, problem: str) -> None:
    """The message says the line and the problem, and no half of a run is left behind."""
    fairtrial("runs", "export", run(), "run.jsonl", "--store", HERE)
    text = Path("run.jsonl").read_bytes().splitlines(keepends=True)
    Path("changed.jsonl").write_bytes(b"".join(change(text)))
    done = fairtrial("runs", "import", "changed.jsonl", "--store", THERE)
    assert (done.code, problem in done.err) == (2, True), done.err
    assert runs(THERE) == []


def test_a_run_that_is_not_there_makes_no_file() -> None:
    """Nothing is overwritten before the run is found."""
    run()
    done = fairtrial("runs", "export", "1999", "run.jsonl", "--store", HERE)
    assert (done.code, Path("run.jsonl").exists()) == (2, False)


@pytest.mark.long
def test_labels_are_kept_in_order_and_leave_with_their_run() -> None:
    """A person may change their mind: both labels stay. Removing the run removes them."""
    run_id = run()
    stored = reread(HERE, run_id)
    key = CaseKey("trips", "good", "0" * 64)
    first, second = Label(key, 1, "mine", value=1.0), Label(key, 1, "mine", PartKey("rubric", id="polite"), None, "bob")
    stored.add_label(first)
    stored.add_label(second)
    assert reread(HERE, run_id).labels == [first, second]
    fairtrial("runs", "rm", run_id, "--store", HERE)
    assert reread(HERE, run()).labels == []
