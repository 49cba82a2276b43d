"""A folder of recordings with odd things in it: each is read, refused with a reason, or named as left out."""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from traffic import conversation, write_lines

from commands import fairtrial as command
from fairtrial import UsageError
from fairtrial.loading import data_files, documents, shard_reading, shards

NOBODY = 65534


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration whose criterion needs no expectation."""
    path = tmp_path / "calls.config.json"
    path.write_text('{"criteria": {"tool_call_count_v1": 1.0}}')
    return path


def test_nothing_of_an_odd_folder_is_lost_in_silence(tmp_path: Path, config: Path) -> None:
    """Empty files, links in a circle, a pipe, a name of two lines."""
    folder = tmp_path / "odd"
    write_lines(folder / "sub" / "good.jsonl", [conversation(1)])
    write_lines(folder / "a\nb.jsonl", [conversation(2)])
    for name in ("empty.json", "zero.jsonl.gz", "zero.parquet"):
        (folder / name).write_bytes(b"")
    (folder / "blank.jsonl").write_bytes(b"\n \n")
    (folder / "nothing.jsonl.gz").write_bytes(gzip.compress(b""))
    (folder / "circle.jsonl").symlink_to("circle.jsonl")
    (folder / "gone.jsonl").symlink_to("nowhere")
    (folder / "sub" / "up").symlink_to("..")
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "folder.jsonl").mkdir()
    (folder / "notes.txt").write_text("hello")
    write_lines(folder / ".git" / "hidden.jsonl", [conversation(3)])
    options = ("--config", config, "--store", "none", "--max-refused", "1")
    done = command("score", folder, "--out", tmp_path / "out", *options)
    assert done.code == 0, done.err
    refused = {Path(row["file"]).name: row["reason"] for row in pq.read_table(tmp_path / "out" / "refused").to_pylist()}
    empty_names = ("blank.jsonl", "empty.json", "nothing.jsonl.gz", "zero.jsonl.gz", "zero.parquet")
    assert [name for name, reason in refused.items() if reason == "is empty"] == list(empty_names)
    assert "symbolic links" in refused.pop("circle.jsonl")
    assert "No such file" in refused.pop("gone.jsonl")
    assert len(refused) == len(empty_names)
    scored = set(pq.read_table(tmp_path / "out" / "attempts").column("file").to_pylist())
    assert scored == {str(folder / "sub" / "good.jsonl"), str(folder / "a\nb.jsonl")}
    assert "left out 2 other files: notes.txt, pipe.jsonl; give a path to read it" in done.err
    assert "left out 1 linked folder: sub/up; give a path to read it" in done.err
    assert "left out 1 hidden folder: .git; give a path to read it" in done.err


def test_an_ordinary_run_names_pipes_and_linked_folders(tmp_path: Path, config: Path) -> None:
    """Nobody would wait for a pipe, and a linked folder may lead in a circle: each kind has a line with its names."""
    write_lines(tmp_path / "in" / "good.jsonl", [conversation(1)])
    write_lines(tmp_path / "elsewhere" / "more.jsonl", [conversation(2)])
    for name in ("first", "second"):
        (tmp_path / "in" / name).symlink_to(tmp_path / "elsewhere")
    os.mkfifo(tmp_path / "in" / "traffic.jsonl")
    done = command("score", tmp_path / "in", "--config", config, "--store", "none")
    assert (done.code, "1 passed" in done.out) == (0, True), done.out + done.err
    assert "in: left out 2 linked folders: first, second; give a path to read it" in done.err
    assert "in: left out 1 pipe: traffic.jsonl; give a path to read it" in done.err


def test_a_link_that_leads_nowhere_stops_an_ordinary_run(tmp_path: Path, config: Path) -> None:
    """Such a run reads all of its files or none."""
    write_lines(tmp_path / "in" / "good.jsonl", [conversation(1)])
    (tmp_path / "in" / "gone.jsonl").symlink_to("nowhere")
    done = command("score", tmp_path / "in", "--config", config, "--store", "none")
    assert (done.code, "gone.jsonl: No such file or directory" in done.err) == (2, True)


def test_a_folder_is_read_in_the_order_of_its_paths(tmp_path: Path) -> None:
    """As a sorted list of all paths, which nobody has to hold."""
    for name in ("b/2.jsonl", "b/10.jsonl", "a.jsonl", "b-c/1.jsonl", "b.jsonl", "c/d/e.jsonl", "c/d.jsonl"):
        write_lines(tmp_path / "in" / name, [conversation(1)])
    found = [Path(file.path) for file in data_files.find_data_files([tmp_path / "in"])]
    assert found == sorted((tmp_path / "in").rglob("*.jsonl"))


def test_only_five_of_many_other_files_are_named(tmp_path: Path) -> None:
    """The number of the others is said."""
    write_lines(tmp_path / "in" / "a.jsonl", [conversation(1)])
    for number in range(1_200):
        (tmp_path / "in" / f"{number:04}.txt").write_text("")
    notes: list[str] = []
    data_files.find_data_files([tmp_path / "in"], notes.append)
    (note,) = notes
    assert note.endswith(
        "left out 1,200 other files: 0000.txt, 0001.txt, 0002.txt, 0003.txt, 0004.txt and 1,195 more; "
        "give a path to read it"
    )


def test_a_name_that_is_not_utf_8_is_refused_before_anything_runs(tmp_path: Path, config: Path) -> None:
    """No report could hold it."""
    write_lines(tmp_path / "in" / "a.jsonl", [conversation(1)])
    Path(os.fsdecode(os.fsencode(tmp_path / "in") + b"/\xff.jsonl")).write_text("{}")
    done = command("score", tmp_path / "in", "--out", tmp_path / "out", "--config", config)
    assert (done.code, "has a name that is not UTF-8; rename the file" in done.err) == (2, True)
    assert not (tmp_path / "out").exists()


@pytest.fixture
def locked() -> Iterator[Path]:
    """A folder that everybody may enter, with a file and a folder that only their owner may read."""
    folder = Path(tempfile.mkdtemp(prefix="fairtrial-test-", dir="/tmp"))
    folder.chmod(0o755)
    write_lines(folder / "open.jsonl", [conversation(1)])
    write_lines(folder / "locked.jsonl", [conversation(2)]).chmod(0)
    yield folder
    (folder / "secret").chmod(0o700) if (folder / "secret").exists() else None
    shutil.rmtree(folder)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Give up the rights of root, who may read everything."""
    if os.geteuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_file_that_may_not_be_read_is_refused(locked: Path) -> None:
    """The others are read."""
    with as_nobody():
        files = data_files.find_data_files([locked])
        items = [item.content for shard in shards.cut_into_shards(files) for item in shard_reading.read_shard(shard)]
    assert isinstance(items[0], shard_reading.Refused)
    assert "Permission denied" in items[0].reason
    assert [isinstance(item, shard_reading.Refused) for item in items] == [True, False]


def test_a_folder_that_may_not_be_listed_stops_the_run(locked: Path) -> None:
    """Nobody knows how many conversations it holds."""
    (locked / "secret").mkdir(mode=0o700)
    (locked / "secret").chmod(0)
    with as_nobody(), pytest.raises(UsageError, match="secret: cannot be listed: Permission denied"):
        data_files.find_data_files([locked])


def test_a_folder_whose_files_nobody_may_look_at_stops_the_run(locked: Path) -> None:
    """Its names can be listed, and nothing else is known of them."""
    (locked / "secret").mkdir(mode=0o755)
    write_lines(locked / "secret" / "a.jsonl", [conversation(3)])
    (locked / "secret").chmod(0o444)
    with as_nobody(), pytest.raises(UsageError, match=r"secret/a\.jsonl: Permission denied"):
        data_files.find_data_files([locked])


@pytest.mark.parametrize("second", ["in/a.jsonl", "./in/a.jsonl", "in/../in", "{}/in/a.jsonl"])
def test_a_file_that_is_named_twice_in_two_spellings_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: str
) -> None:
    """Its conversations would count twice, and its traces likewise."""
    monkeypatch.chdir(tmp_path)
    write_lines(tmp_path / "in" / "a.jsonl", [conversation(1)])
    with pytest.raises(UsageError, match=r"a\.jsonl: is named twice"):
        data_files.find_data_files(["./in", second.format(tmp_path)])
    with pytest.raises(UsageError, match=r"a\.jsonl: is named twice"):
        documents.document_files(["./in", second.format(tmp_path)])


def test_a_parquet_file_without_groups_of_rows_holds_nothing(tmp_path: Path, config: Path) -> None:
    """The files beside it are scored."""
    write_lines(tmp_path / "in" / "a.jsonl", [conversation(1)])
    with pq.ParquetWriter(tmp_path / "in" / "none.parquet", pa.schema([("messages", pa.string())])):
        pass
    done = command("score", tmp_path / "in", "--out", tmp_path / "out", "--config", config)
    assert (done.code, "1 attempt" in done.out) in {(0, True), (1, True)}, done.out + done.err
