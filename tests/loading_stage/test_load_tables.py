"""Tables are read from files and folders, and large tables without holding them."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from fairtrial.errors import UsageError
from fairtrial.formats import packed
from fairtrial.loading import sources
from fairtrial.loading.streams import FilePass, scan_sources
from packers import PACKERS

CARD = "---\nconfigs:\n- config_name: default\n---\n# Questions\n"
ROWS = [{"question": "Hi?", "reference": "Hello"}, {"question": "Bye?", "reference": "Goodbye"}]


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows as Parquet, or as a stream of Arrow as `datasets` does."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(rows)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
        return
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


def queries(path: Path) -> list[str]:
    """Return the messages of the cases at a path."""
    return [
        turn.query
        for source in sources([path])
        if source.loaded.eval_set is not None
        for case in source.loaded.eval_set.cases
        for turn in case.conversation or ()
    ]


@pytest.mark.long
@pytest.mark.parametrize("name", ["data/test-00000-of-00001.parquet", "test.jsonl", "data-00000-of-00001.arrow"])
def test_a_dataset_of_hugging_face_is_an_eval_set(tmp_path: Path, name: str) -> None:
    """A folder with a card is a dataset, whatever the format of its data."""
    (tmp_path / "README.md").write_text(CARD, encoding="utf-8")
    if name.endswith("jsonl"):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    else:
        write_parquet(tmp_path / name, ROWS)
    assert queries(tmp_path) == ["Hi?", "Bye?"]


def test_a_saved_dataset_has_other_files(tmp_path: Path) -> None:
    """`save_to_disk` writes information beside the data, and two shards are two files of one split."""
    for name in ("dataset_info.json", "state.json"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    for shard, row in enumerate(ROWS):
        write_parquet(tmp_path / f"data-0000{shard}-of-00002.arrow", [row])
    assert queries(tmp_path) == ["Hi?", "Bye?"]


def test_several_splits_are_a_question(tmp_path: Path) -> None:
    """Nobody wants to run an agent on the data of a training by accident."""
    (tmp_path / "dataset_dict.json").write_text("{}", encoding="utf-8")
    for split in ("train", "test"):
        (tmp_path / split).mkdir()
        (tmp_path / split / "data.jsonl").write_text(json.dumps(ROWS[0]), encoding="utf-8")
    path = tmp_path / "test" / "data.jsonl"
    with pytest.raises(UsageError, match=rf"several splits \(test, train\); name the files of a split: {path}"):
        queries(tmp_path)
    assert queries(path) == ["Hi?"]


def test_a_folder_with_a_readme_is_not_a_dataset(tmp_path: Path) -> None:
    """The files of a project are not data: only names of eval sets are read."""
    (tmp_path / "README.md").write_text("# Shop\n\nconfigs: none\n", encoding="utf-8")
    (tmp_path / "table.csv").write_text("question,reference\nHi?,Hello\n", encoding="utf-8")
    (tmp_path / "shop.evalset.csv").write_text("question,reference\nBye?,Goodbye\n", encoding="utf-8")
    assert queries(tmp_path) == ["Bye?"]


def test_a_packed_table_is_read(tmp_path: Path) -> None:
    """`qa.csv.gz` and `qa.csv.zst` are tables, too."""
    for suffix, packing in packed.SUFFIXES.items():
        path = tmp_path / f"qa.csv{suffix}"
        path.write_bytes(PACKERS[packing](b"question,reference\nHi?,Hello\n"))
        assert queries(path) == ["Hi?"]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_recordings_of_a_table_stay_in_their_file(tmp_path: Path, suffix: str) -> None:
    """A table without expectations is streamed, and its columns are named all the same."""
    path = tmp_path / f"log{suffix}"
    rows = [{"question": f"{i}?", "response": f"{i}!"} for i in range(30)]
    if suffix == ".parquet":
        write_parquet(path, rows)
    elif suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    else:
        path.write_text("question,response\n" + "".join(f"{i}?,{i}!\n" for i in range(30)), encoding="utf-8")
    (source,), index = scan_sources([path])
    assert index is not None
    assert (len(index), source.loaded.recordings) == (30, ())
    columns = {"input": "question", "reply": "response"}
    assert source.loaded.notes == (f"{path}: read with columns={columns}; nothing is expected",)
    assert [recording.trace.invocations[0].reply for recording in FilePass(path)] == [row["response"] for row in rows]


@pytest.mark.long
def test_a_large_table_is_not_held(tmp_path: Path) -> None:
    """A pass over 4 MB of rows takes less than 2 MB of memory."""
    path = tmp_path / "log.csv"
    with path.open("w", encoding="utf-8") as file:
        file.write("question,response\n")
        file.writelines(f"{i}?,{'word ' * 80}\n" for i in range(10_000))
    assert path.stat().st_size > 4_000_000
    tracemalloc.start()
    try:
        assert sum(1 for _ in FilePass(path)) == 10_000
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()


def test_a_row_without_a_reply_is_a_broken_recording(tmp_path: Path) -> None:
    """A row that lost its reply is not silently left out of a streamed table."""
    path = tmp_path / "log.csv"
    path.write_text("question,response\nHi?,Hello\nBye?,\n", encoding="utf-8")
    first, second = FilePass(path)
    assert first.failure is None
    assert second.failure is not None
    assert (second.failure.side, second.failure.cause) == ("infrastructure", "the row has no reply")


def test_a_table_of_expectations_was_not_recorded(tmp_path: Path) -> None:
    """Its references must never be scored as replies."""
    path = tmp_path / "qa.csv"
    path.write_text("question,reference\nHi?,Hello\n", encoding="utf-8")
    problem = "without the agent's replies; write columns reply=COLUMN, or give the file to eval_set"
    with pytest.raises(UsageError, match=problem):
        scan_sources([path])
    path.write_text("id,response\n1,Hello\n", encoding="utf-8")
    with pytest.raises(UsageError, match="without the user's messages; write columns input=COLUMN"):
        sources([path])


def test_other_tables_in_a_folder_are_named(tmp_path: Path) -> None:
    """A folder of recordings may hold a table of something else."""
    (tmp_path / "log.csv").write_text("question,response\nHi?,Hello\n", encoding="utf-8")
    (tmp_path / "prices.csv").write_text("item,price\ntea,3\n", encoding="utf-8")
    (source,), index = scan_sources([tmp_path])
    assert index is not None
    assert (len(index), source.loaded.warnings) == (1, (f"no recordings are in 1 file: {tmp_path / 'prices.csv'}",))
