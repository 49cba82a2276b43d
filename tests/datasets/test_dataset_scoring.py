"""Data sets that are scored into a folder: the same numbers as a run, whatever the workers, and resumable."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from traffic import attempts, conversation, write_expectation, write_lines

import fairtrial
from commands import Done
from commands import fairtrial as command
from equal_numbers import assert_equal_numbers
from fairtrial import Run, Verdict, api
from fairtrial.analysis.aggregation import scaled_to_population
from fairtrial.api import ShardReport
from fairtrial.api.result_folders import dataset_cases
from fairtrial.batch import spilled_rows
from fairtrial.batch.executors import InProcess, ProcessPool
from fairtrial.batch.shard_log import ShardLog
from fairtrial.formats import packed
from fairtrial.loading import data_files, shard_reading, shards
from fairtrial.records.case import EvalCase
from fairtrial.records.result import Criterion
from fairtrial.records.score import PartKey, Score
from fairtrial.records.summary import CriterionSummary, Estimate, Summary
from fairtrial.records.trace import Trace
from folder_files import without_run


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of 4 KB, so that a small file has many."""
    monkeypatch.setattr(shards, "SHARD_BYTES", 4096)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration whose criteria need no expectation."""
    path = tmp_path / "calls.config.json"
    path.write_text(json.dumps({"criteria": {"tool_call_count_v1": 1.0}}))
    return path


def manifest(folder: Path) -> Any:
    """The manifest of a finished folder."""
    return json.loads((folder / "manifest.json").read_bytes())


def table(folder: Path, name: str) -> list[dict[str, Any]]:
    """The rows of a table of a finished folder."""
    rows: list[dict[str, Any]] = pq.read_table(folder / name).to_pylist()
    return rows


def scored(recorded: Path | str, folder: Path, *options: str | Path) -> Done:
    """Score a data set without a store."""
    return command("score", recorded, "--out", folder, "--store", "none", *options)


def assert_same_summary(run: Run, folder: Path) -> None:
    """A folder has the summary of an ordinary run."""
    assert_equal_numbers(json.loads(msgspec.json.encode(run.summary)), manifest(folder)["summary"])


@pytest.mark.long
@pytest.mark.usefixtures("small_shards")
def test_the_summary_of_attempts_at_cases_is_that_of_a_run(tmp_path: Path) -> None:
    """The attempts of a case are in several shards, and one case was never answered."""
    recorded = write_lines(tmp_path / "traffic.jsonl", attempts(60))
    expected = write_expectation(tmp_path, extra_cases=1)
    done = scored(recorded, tmp_path / "out", "--against", expected)
    assert done.code == 1, done.err
    assert len(manifest(tmp_path / "out")["shards"]) > 3
    assert_same_summary(fairtrial.score(recorded, expected), tmp_path / "out")


@pytest.mark.long
@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("size", [3, 10, 100_000])
def test_the_summary_without_expectation_is_that_of_a_run(
    tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Conversations with the same id in a file are attempts, with the same id in two files they are not.

    A file of many conversations is counted in buckets, and beyond a number of cases, the rows of others wait on disk.
    """
    monkeypatch.setattr(spilled_rows, "_MOST_KEYS", size)
    monkeypatch.setattr(dataset_cases, "_CONVERSATIONS", size)
    conversations = [conversation(i % 30) for i in range(45)]
    names = [write_lines(tmp_path / "traffic" / name, conversations) for name in ("a.jsonl", "b.jsonl")]
    done = scored(tmp_path / "traffic", tmp_path / "out", "--config", config)
    assert done.code == 0, done.err
    run = fairtrial.score(names, criteria=config)
    assert_same_summary(run, tmp_path / "out")
    assert sum(run.summary.case_verdicts.values()) == 60


@pytest.mark.long
@pytest.mark.usefixtures("small_shards")
def test_the_summary_of_groups_in_two_processes_is_that_of_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The conversations are counted in several groups, as those of a large data set are."""
    monkeypatch.setattr(dataset_cases, "_CONVERSATIONS", 5)
    recorded = write_lines(tmp_path / "traffic.jsonl", attempts(60))
    expected = write_expectation(tmp_path)
    summaries = []
    for jobs in ("1", "2"):
        assert scored(recorded, tmp_path / jobs, "--against", expected, "--jobs", jobs).code == 1
        summaries.append(manifest(tmp_path / jobs)["summary"])
        assert_same_summary(fairtrial.score(recorded, expected), tmp_path / jobs)
    assert summaries[0] == summaries[1]


@pytest.mark.long
@pytest.mark.usefixtures("small_shards")
def test_the_files_of_two_processes_are_those_of_one(tmp_path: Path) -> None:
    """But for the manifest and the columns that name the run."""
    recorded = write_lines(tmp_path / "traffic.jsonl", attempts(60))
    expected = write_expectation(tmp_path)
    for folder, number in (("one", "1"), ("many", "2")):
        assert scored(recorded, tmp_path / folder, "--against", expected, "--jobs", number).code == 1
    one, many = (
        {path.relative_to(root): without_run(path.read_bytes()) for path in root.rglob("*") if path.is_file()}
        for root in (tmp_path / "one", tmp_path / "many")
    )
    assert one.keys() == many.keys()
    assert [name for name in one if one[name] != many[name]] == [Path("manifest.json")]


@pytest.mark.long
def test_every_library_reads_the_tables(tmp_path: Path, config: Path) -> None:
    """DuckDB, pandas, Polars and pyarrow see the same 40 results, with their verdicts."""
    import duckdb
    import pandas as pd
    import polars as pl

    recorded = write_lines(tmp_path / "traffic.jsonl", [conversation(i) for i in range(40)])
    assert scored(recorded, tmp_path / "out", "--config", config).code == 0
    parts = str(tmp_path / "out" / "attempts" / "*.parquet")
    with duckdb.connect() as database:
        query = "SELECT count(*) FROM read_parquet(?) WHERE verdict = 'passed'"
        assert database.execute(query, [parts]).fetchall() == [(40,)]
    assert pl.read_parquet(parts).height == len(pd.read_parquet(tmp_path / "out" / "attempts")) == 40
    assert pq.read_table(tmp_path / "out" / "outcomes").to_pylist()[0]["criterion"] == "tool_call_count_v1"
    assert manifest(tmp_path / "out")["tables"]["attempts"]["case_id"] == "string"


def packed_with_zstd(path: Path, data: bytes) -> Path:
    """Write a file packed with Zstandard."""
    path.write_bytes(pa.compress(data, codec="zstd", asbytes=True))
    return path


def test_globs_folders_and_packed_files_are_read(tmp_path: Path, config: Path) -> None:
    """Three files of ten conversations: plain, gzip, and a JSON array."""
    lines = [conversation(i) for i in range(10)]
    write_lines(tmp_path / "day=1" / "a.jsonl", lines)
    write_lines(tmp_path / "day=2" / "b.jsonl.gz", lines)
    (tmp_path / "day=2" / "c.json").write_text(json.dumps(lines))
    assert scored(tmp_path / "day=*" / "*", tmp_path / "out", "--config", config).code == 0
    folders = [tmp_path / "day=1", tmp_path / "day=2"]
    assert command("score", *folders, "--out", tmp_path / "two", "--store", "none", "--config", config).code == 0
    for folder in ("out", "two"):
        assert [shard["conversations"] for shard in manifest(tmp_path / folder)["shards"]] == [30]
        names = [Path(row["file"]).name for row in table(tmp_path / folder, "attempts")]
        assert names == ["a.jsonl"] * 10 + ["b.jsonl.gz"] * 10 + ["c.json"] * 10


def test_small_files_share_the_tables_of_a_shard(tmp_path: Path, config: Path) -> None:
    """Of 40 files, one is damaged: it is refused by its own name, and the others are scored."""
    for i in range(40):
        write_lines(tmp_path / "sessions" / f"{i:02d}.jsonl", [conversation(i)])
    (tmp_path / "sessions" / "20.jsonl").write_text("{")
    done = scored(tmp_path / "sessions", tmp_path / "out", "--config", config, "--max-refused", "0.05")
    assert done.code == 0, done.err
    assert len(list((tmp_path / "out" / "attempts").iterdir())) == 1
    assert [Path(row["file"]).name for row in table(tmp_path / "out", "attempts")] == [
        f"{i:02d}.jsonl" for i in range(40) if i != 20
    ]
    assert [Path(row["file"]).name for row in table(tmp_path / "out", "refused")] == ["20.jsonl"]


@pytest.mark.long
def test_workers_look_at_files_as_one_process_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shards, the notes about columns and the files of spans are the same, in the order of the files."""
    monkeypatch.setattr(shards, "_GROUP_FILES", 2)
    folder = tmp_path / "in"
    names = ("a.jsonl", "b.jsonl.gz", "d.jsonl", "e.jsonl")
    for number, name in enumerate(names):
        write_lines(folder / name, [conversation(number)])
    (folder / "broken.json").write_text("{")
    (folder / "spans.json").write_text('{"resourceSpans": []}')
    (folder / "pretty.json").write_text(json.dumps(conversation(7), indent=1))
    pq.write_table(pa.table({"turns": ["[]"], "messages": ["[]"]}), folder / "c.parquet")
    files = data_files.find_data_files([folder])
    results = []
    for executor in (InProcess(), ProcessPool(2)):
        notes: list[str] = []
        results.append((list(shards.cut_into_shards(files, None, notes.append, executor.map, seeks_spans=True)), notes))
    assert results[0] == results[1]
    cut, notes = results[0]
    assert [Path(shard.path) for shard in cut] == sorted(folder.iterdir())
    assert [Path(shard.path).name for shard in cut if shard.item == shards.SPANS] == ["spans.json"]
    assert [note.partition(": takes")[0] for note in notes] == [str(folder / "c.parquet")]


def test_large_files_are_shards_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A group ends before it is larger than its bound, and a file that is cut is in no group."""
    paths = [write_lines(tmp_path / f"{i}.jsonl", [conversation(n) for n in range(10)]) for i in range(4)]
    size = paths[0].stat().st_size
    monkeypatch.setattr(shards, "GROUP_BYTES", 2 * size)
    files = data_files.find_data_files(paths)
    grouped = list(shards.group_small_files(shards.cut_into_shards(files)))
    assert [len(shard.members) for shard in grouped] == [2, 2]
    assert [shard.number for shard in grouped] == [0, 1]
    assert [shard.size for shard in grouped] == [2 * size, 2 * size]
    monkeypatch.setattr(shards, "SHARD_BYTES", size // 2 + 1)
    parts = list(shards.group_small_files(shards.cut_into_shards(files)))
    assert [(shard.number, shard.members) for shard in parts] == [(number, ()) for number in range(8)]


@pytest.mark.parametrize(
    ("size", "count"),
    [(4 << 20, 1), ((4 << 20) + 1, 3), (10 << 20, 5), (100 << 20, 32), (512 << 20, 32), (1 << 30, 64)],
)
def test_a_file_has_enough_shards_for_many_workers(tmp_path: Path, size: int, count: int) -> None:
    """A small file is not cut, a file of up to 512 MB has at most 32 shards, and no shard is above 16 MiB."""
    path = write_lines(tmp_path / "traffic.jsonl", [conversation(0)])
    with path.open("r+b") as file:
        file.truncate(size)
    cut = list(shards.cut_into_shards(data_files.find_data_files([path])))
    assert len(cut) == count
    assert [shard.start for shard in cut[1:]] == [shard.end for shard in cut[:-1]]
    assert (cut[0].start, cut[-1].end) == (0, size)
    assert max(shard.size for shard in cut) - min(shard.size for shard in cut) <= 1
    assert max(shard.size for shard in cut) <= 16 << 20


def test_a_line_belongs_to_one_shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the file is cut, also at the end of a line and inside of a character, each conversation is read once."""
    conversations = [{**conversation(i), "id": f"주문-{i}"} for i in range(4)]
    recorded = write_lines(tmp_path / "traffic.jsonl", conversations)
    file = data_files.find_data_files([recorded])
    expected = [item.place for shard in shards.cut_into_shards(file) for item in shard_reading.read_shard(shard)]
    assert len(expected) == 4
    for size in range(90, recorded.stat().st_size, 7):
        monkeypatch.setattr(shards, "SHARD_BYTES", size)
        assert [
            item.place for shard in shards.cut_into_shards(file) for item in shard_reading.read_shard(shard)
        ] == expected


@pytest.mark.parametrize("size", [1 << 20, 150])
def test_a_line_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """The lines after it are read, also if it runs through a shard."""
    monkeypatch.setattr(shard_reading, "LONGEST_LINE", 1000)
    monkeypatch.setattr(shards, "SHARD_BYTES", size)
    long = {**conversation(1), "note": "x" * 2000}
    recorded = write_lines(tmp_path / "traffic.jsonl", [conversation(0), long, conversation(2)])
    files = data_files.find_data_files([recorded])
    items = [item.content for shard in shards.cut_into_shards(files) for item in shard_reading.read_shard(shard)]
    assert [isinstance(content, shard_reading.Refused) for content in items] == [False, True, False]
    assert isinstance(items[1], shard_reading.Refused)
    assert items[1].reason.startswith("is a line of more than")


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
@pytest.mark.parametrize("damage", [slice(0, 6), slice(0, -9), slice(0, 200)])
def test_a_damaged_packed_file_is_refused(tmp_path: Path, codec: str, damage: slice) -> None:
    """Whatever is missing of it. What stands before the damage is read."""
    lines = "".join(json.dumps(conversation(i)) + "\n" for i in range(500)).encode()
    (tmp_path / "a.jsonl").write_bytes(pa.compress(lines, codec=codec, asbytes=True)[damage])
    files = data_files.find_data_files([tmp_path / "a.jsonl"])
    items = [item.content for shard in shards.cut_into_shards(files) for item in shard_reading.read_shard(shard)]
    assert isinstance(items[-1], shard_reading.Refused)
    assert not any(isinstance(content, shard_reading.Refused) for content in items[:-1])


@pytest.mark.parametrize("name", ["a.json.gz", "a.json.zst"])
def test_a_packed_file_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """It is unpacked up to the limit only."""
    monkeypatch.setattr(packed, "_MOST_BYTES", 100_000)
    codec = "gzip" if name.endswith(".gz") else "zstd"
    content = b'{"events": [' + b" " * 200_000 + b"]}"
    (tmp_path / name).write_bytes(pa.compress(content, codec=codec, asbytes=True))
    (shard,) = shards.cut_into_shards(data_files.find_data_files([tmp_path / name]))
    (item,) = shard_reading.read_shard(shard)
    assert isinstance(item.content, shard_reading.Refused)
    assert item.content.reason == "is larger than 4 GiB when it is unpacked"


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        ("{", "is not JSON"),
        ('{"messages": [{"role": "user", "content": 7}]}', "content"),
        ('"text"', "must be"),
        ('{"messages": ' + "[" * 5000 + "]" * 5000 + "}", ""),
    ],
)
def test_a_poisoned_record_is_refused_with_its_place(tmp_path: Path, config: Path, broken: str, reason: str) -> None:
    """The other conversations are scored."""
    recorded = write_lines(tmp_path / "traffic.jsonl", [conversation(0)])
    place = recorded.stat().st_size
    with recorded.open("a") as file:
        file.write(f"{broken}\n{json.dumps(conversation(1))}\n")
    done = scored(recorded, tmp_path / "out", "--config", config, "--max-refused", "0.5")
    assert done.code == 0, done.err
    (row,) = pq.read_table(tmp_path / "out" / "refused").to_pylist()
    assert (row["file"], row["place"]) == (str(recorded), place)
    assert reason in row["pointer"] + row["reason"]
    assert manifest(tmp_path / "out")["shards"][0]["conversations"] == 2


def test_a_poisoned_file_is_refused_by_name(tmp_path: Path, config: Path) -> None:
    """A cut gzip file gives what stands before the cut, and the others are scored."""
    write_lines(tmp_path / "in" / "good.jsonl", [conversation(i) for i in range(200)])
    bad = write_lines(tmp_path / "in" / "bad.jsonl.gz", [conversation(i) for i in range(200)])
    bad.write_bytes(bad.read_bytes()[:-40])
    (tmp_path / "in" / "other.json").write_text('{"criteria": {}}')
    assert scored(tmp_path / "in", tmp_path / "out", "--config", config).code == 0
    names = {Path(row["file"]).name for row in pq.read_table(tmp_path / "out" / "refused").to_pylist()}
    assert names == {"bad.jsonl.gz", "other.json"}


@pytest.mark.parametrize(("share", "code"), [(None, 3), ("0.05", 2), ("0.2", 3)])
def test_too_many_recordings_that_are_not_read_in_full_stop_the_run(
    tmp_path: Path, config: Path, share: str | None, code: int
) -> None:
    """A tenth of the conversations holds a text that no reader knows. The run says so, or it stops."""
    values = [conversation(i) for i in range(100)]
    for value in values[:10]:
        value["messages"][-1]["zzz"] = "Please refund the order at once."
    recorded = write_lines(tmp_path / "traffic.jsonl", values)
    options = [] if share is None else ["--max-incomplete", share]
    done = scored(recorded, tmp_path / "out", "--config", config, *options)
    assert done.code == code, done.err
    if code == 2:
        assert "--max-incomplete: 10 of 100 conversations were not read in full, and at most 5.00% may be" in done.err
        assert scored(recorded, tmp_path / "out", "--config", config, "--resume", "--max-incomplete", "1").code == 3
    else:
        assert "10 of 100 conversations were not read in full" in done.out + done.err


def test_too_many_refused_records_stop_the_run(tmp_path: Path, config: Path) -> None:
    """A file of something else is noticed early. A larger limit lets the same folder go on."""
    recorded = write_lines(tmp_path / "traffic.jsonl", [conversation(i) for i in range(95)])
    with recorded.open("a") as file:
        file.write("{}x\n" * 5)
    done = scored(recorded, tmp_path / "out", "--config", config)
    assert done.code == 2
    assert "--max-refused: 5 of 100 conversations were refused" in done.err
    assert f"{recorded}, byte" in done.err
    assert scored(recorded, tmp_path / "out", "--config", config, "--resume", "--max-refused", "0.05").code == 0


@pytest.mark.long
@pytest.mark.usefixtures("small_shards")
def test_an_interrupted_folder_goes_on(tmp_path: Path, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finished shards are not scored again, half files are replaced, and the files are those of a whole run."""
    recorded = write_lines(tmp_path / "traffic.jsonl", [conversation(i) for i in range(60)])
    assert scored(recorded, tmp_path / "whole", "--config", config).code == 0
    add = ShardLog.add
    before: list[int] = []
    after: list[int] = []

    def add_two(log: ShardLog[ShardReport], report: ShardReport) -> None:
        if len(before) == 2:
            raise KeyboardInterrupt
        before.append(report.number)
        add(log, report)

    def add_noting(log: ShardLog[ShardReport], report: ShardReport) -> None:
        after.append(report.number)
        add(log, report)

    monkeypatch.setattr(ShardLog, "add", add_two)
    done = scored(recorded, tmp_path / "out", "--config", config)
    assert done.code == 130
    assert "--resume" in done.err
    assert "go on with --resume" in scored(recorded, tmp_path / "out", "--config", config).err
    monkeypatch.setattr(ShardLog, "add", add_noting)
    assert scored(recorded, tmp_path / "out", "--config", config, "--resume").code == 0
    assert before == [0, 1]
    assert after == list(range(2, len(manifest(tmp_path / "whole")["shards"])))
    for path in (tmp_path / "whole").rglob("*.parquet"):
        again = tmp_path / "out" / path.relative_to(tmp_path / "whole")
        assert without_run(path.read_bytes()) == without_run(again.read_bytes())
    assert not list((tmp_path / "out").rglob("*.half"))


def test_an_input_that_changed_is_refused_by_name(tmp_path: Path, config: Path) -> None:
    """Otherwise a folder would hold results of two data sets."""
    recorded = write_lines(tmp_path / "traffic.jsonl", [{"messages": "wrong"}, conversation(1)])
    assert scored(recorded, tmp_path / "out", "--config", config).code == 2
    write_lines(recorded, [conversation(1), conversation(2)])
    done = scored(recorded, tmp_path / "out", "--config", config, "--resume")
    assert done.code == 2
    assert f"--resume: files, {recorded} is not the same as in the run" in done.err


def test_a_finished_folder_is_not_written_again(tmp_path: Path, config: Path) -> None:
    """Its results would be lost."""
    recorded = write_lines(tmp_path / "traffic.jsonl", [conversation(1)])
    assert scored(recorded, tmp_path / "out", "--config", config).code == 0
    assert "holds the results of a finished run" in scored(recorded, tmp_path / "out", "--config", config).err


def test_the_store_holds_the_run_and_the_first_failures(tmp_path: Path) -> None:
    """`show` then shows a conversation that failed, and says how many there are in all."""
    recorded = write_lines(tmp_path / "traffic.jsonl", attempts(60))
    store = f"sqlite:///{tmp_path}/runs.db"
    expected = write_expectation(tmp_path)
    out = tmp_path / "out"
    options = ("--against", expected, "--store", store, "--keep-failures", "3")
    assert command("score", recorded, "--out", out, *options).code == 1
    run = fairtrial.open_run("2", store=store)
    assert len(run.cases) == 3
    assert manifest(out)["run"]["id"] == run.info.id
    failed = manifest(out)["run"]["config"]["dataset"]["not_passed"]
    assert f"the store holds 3 of {failed} attempts that did not pass" in run.summary.notes
    kept = [line for part in (out / "not_passed").iterdir() for line in part.read_text().splitlines()]
    assert len(kept) == manifest(out)["run"]["config"]["dataset"]["not_passed_kept"] == 3 < failed
    note = f"not_passed/ holds 3 of {failed} conversations that did not pass: of each shard the first 3 "
    assert any(each.startswith(note) for each in manifest(out)["summary"]["notes"])
    shown = command("show", run.info.id, run.cases[0].case_id, "--store", store)
    assert "cancel_order" in shown.out or "maybe" in shown.out


@pytest.mark.long
def test_show_promises_only_the_failures_that_the_store_holds(tmp_path: Path) -> None:
    """With --all, it would list no more of them."""
    recorded = write_lines(tmp_path / "traffic.jsonl", [conversation(i) for i in range(210)])
    store = f"sqlite:///{tmp_path}/runs.db"
    strict = tmp_path / "strict.config.json"
    strict.write_text(json.dumps({"criteria": {"tool_call_count_v1": 0.0}}))
    options = ("--config", strict, "--store", store, "--keep-failures", "3")
    done = command("score", recorded, "--out", tmp_path / "out", *options)
    assert (done.code, "--all" in done.out) == (1, False)
    shown = command("show", fairtrial.open_run("2", store=store).info.id, "--store", store)
    assert "the store holds 3 of 210 attempts that did not pass" in shown.out
    assert "--all" not in shown.out


@pytest.mark.long
@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("size", [20, 100_000])
def test_a_comparison_reads_all_results_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """By the folder or by the id of the run, whose store holds only failures: the numbers are those of two runs."""
    monkeypatch.setattr(dataset_cases, "_ATTEMPTS", size)
    expected = write_expectation(tmp_path)
    store = f"sqlite:///{tmp_path}/runs.db"
    files = [write_lines(tmp_path / f"{seed}.jsonl", attempts(60, seed)) for seed in (1, 2)]
    for number, file in enumerate(files):
        folder = tmp_path / f"out{number}"
        command("score", file, "--out", folder, "--store", store, "--against", expected, "--keep-failures", "1")
    base, run = (fairtrial.score(file, expected) for file in files)
    comparison = fairtrial.compare(base, run)
    folders = [tmp_path / f"out{i}" for i in (0, 1)]
    for names in (folders, [manifest(folder)["run"]["id"] for folder in folders]):
        of_folders = fairtrial.compare(*names, store=store)
        assert (of_folders.rows, of_folders.moved) == (comparison.rows, comparison.moved)


def test_a_run_whose_folder_is_gone_is_not_compared(tmp_path: Path, config: Path) -> None:
    """The store alone would compare failures with failures."""
    recorded = write_lines(tmp_path / "traffic.jsonl", [conversation(1)])
    store = f"sqlite:///{tmp_path}/runs.db"
    command("score", recorded, "--out", tmp_path / "out", "--store", store, "--config", config)
    (tmp_path / "out" / "manifest.json").unlink()
    done = command("flaky", "2", "--store", store)
    assert done.code == 2
    assert "holds no manifest.json; the store has only the attempts that did not pass" in done.err


@pytest.mark.long
def test_a_share_is_the_same_sample_in_another_order(tmp_path: Path, config: Path) -> None:
    """The hash of the id decides. Another seed gives another sample."""
    conversations = [conversation(i) for i in range(200)]
    files = [write_lines(tmp_path / "a.jsonl", conversations), write_lines(tmp_path / "b.jsonl", conversations[::-1])]
    ids = []
    for number, (file, seed) in enumerate([(files[0], "1"), (files[1], "1"), (files[0], "2")]):
        out = tmp_path / f"out{number}"
        assert scored(file, out, "--config", config, "--sample", "25%", "--seed", seed).code == 0
        ids.append(set(pq.read_table(out / "attempts")["case_id"].to_pylist()))
    assert ids[0] == ids[1] != ids[2]
    assert 30 < len(ids[0]) < 70
    notes = manifest(tmp_path / "out0")["summary"]["notes"]
    assert f"a sample of {len(ids[0])} of 200 conversations (seed 1)" in notes[0]


@pytest.mark.long
@pytest.mark.usefixtures("small_shards")
def test_a_number_of_conversations_is_met_exactly(tmp_path: Path, config: Path) -> None:
    """Also if they are spread over many shards."""
    recorded = write_lines(tmp_path / "traffic.jsonl", [conversation(i) for i in range(100)])
    assert scored(recorded, tmp_path / "out", "--config", config, "--sample", "17").code == 0
    assert pq.read_table(tmp_path / "out" / "attempts").num_rows == 17


def test_a_sample_narrows_the_interval_by_its_share() -> None:
    """Of 75 drawn from 100, the half width is half: sqrt(1 - 0.75) = 0.5."""
    criterion = CriterionSummary("c", Estimate(0.6, 0.4, 0.7, "t"), Estimate(0.5, 0.4, 0.6, "t"))
    (scaled,) = scaled_to_population(Summary(Verdict.PASSED, (criterion,)), 75, 100).criteria
    assert (scaled.mean.low, scaled.mean.high) == pytest.approx((0.5, 0.65))
    assert (scaled.pass_rate.low, scaled.pass_rate.high) == pytest.approx((0.45, 0.55))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sample", "0"], "--sample: must be a share between 0 and 1, or a whole number, got 0"),
        (["--sample", "many"], "must be a number such as 1000 or a share such as 10%"),
        (["--max-refused", "2"], "--max-refused: must be a share from 0 to 1"),
        (["--columns", "text"], "--columns: must be conversation=COLUMN, or messages=COLUMN,id=COLUMN"),
        (["--match", "order"], "--match order: a data set is read in parts"),
        (["--json", "-"], "--json: does not go with --out"),
        (["--only", "a"], "--only: does not go with --out"),
        (["--address", "auto"], "--address needs --engine ray"),
        (["--resume"], "holds no unfinished run that --resume could continue"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_written(
    tmp_path: Path, config: Path, options: list[str], message: str
) -> None:
    """With the option, what was got and what is allowed."""
    recorded = write_lines(tmp_path / "traffic.jsonl", [conversation(1)])
    done = scored(recorded, tmp_path / "out", "--config", config, *options)
    assert done.code == 2
    assert message in done.err
    assert not (tmp_path / "out" / "attempts").exists()


def test_an_option_about_data_sets_needs_a_folder(tmp_path: Path, config: Path) -> None:
    """For example --sample, which an ordinary run would otherwise ignore."""
    recorded = write_lines(tmp_path / "traffic.jsonl", [conversation(1)])
    done = command("score", recorded, "--config", config, "--sample", "3")
    assert done.code == 2
    assert "--sample needs --out" in done.err


class TestParquetInputs:
    """A conversation a row: as JSON in a column, or as columns."""

    @pytest.fixture
    def table(self) -> pa.Table:
        """Three conversations with their ids in all forms."""
        conversations = [conversation(i) for i in range(3)]
        messages = [json.dumps(each["messages"]) for each in conversations]
        lists = [
            [
                {"role": message["role"], "content": message.get("content")}
                for message in each["messages"]
                if message["role"] != "tool"  # without the calls, the results of tools would be incomplete
            ]
            for each in conversations
        ]
        return pa.table(
            {
                "session_id": ["s0", "s1", "s2"],
                "messages": messages,
                "turns": lists,
                "body": [json.dumps(each) for each in conversations],
                "region": ["eu", "us", "eu"],
            }
        )

    def _ids(self, folder: Path) -> list[str]:
        ids: list[str] = pq.read_table(folder / "attempts")["case_id"].to_pylist()
        return ids

    def test_the_usual_columns_are_found_and_named(self, tmp_path: Path, config: Path, table: pa.Table) -> None:
        """`messages` holds JSON here, and `session_id` the id."""
        pq.write_table(table, tmp_path / "traffic.parquet", row_group_size=2)
        done = scored(tmp_path / "traffic.parquet", tmp_path / "out", "--config", config)
        assert done.code == 0, done.err
        assert "takes the column 'messages' for the conversation, and 'session_id' for its id" in done.err
        assert self._ids(tmp_path / "out") == ["s0", "s1", "s2"]

    @pytest.mark.parametrize(
        ("columns", "code", "ids"),
        [
            ("conversation=body", 0, ["conversation-0", "conversation-1", "conversation-2"]),
            ("messages=turns,id=session_id", 3, ["s0", "s1", "s2"]),
        ],
    )
    def test_columns_are_chosen(
        self, tmp_path: Path, config: Path, table: pa.Table, columns: str, code: int, ids: list[str]
    ) -> None:
        """As JSON of a whole conversation, or as a list of messages, whose columns have no place for calls."""
        pq.write_table(table, tmp_path / "traffic.parquet")
        done = scored(tmp_path / "traffic.parquet", tmp_path / "out", "--config", config, "--columns", columns)
        assert done.code == code, done.err
        assert self._ids(tmp_path / "out") == ids

    def test_a_column_that_is_not_there_is_refused(self, tmp_path: Path, config: Path, table: pa.Table) -> None:
        """The message names the columns of the file."""
        pq.write_table(table, tmp_path / "traffic.parquet")
        done = scored(tmp_path / "traffic.parquet", tmp_path / "out", "--config", config, "--columns", "messages=text")
        assert done.code == 2
        assert "has no column 'text'; it has session_id, messages, turns, body, region" in done.err

    def test_a_damaged_row_is_refused_with_its_number(self, tmp_path: Path, config: Path, table: pa.Table) -> None:
        """Here the third row, in the second row group."""
        broken = table.set_column(1, "messages", [["[]", "[]", "not JSON"]])
        pq.write_table(broken, tmp_path / "traffic.parquet", row_group_size=2)
        scored(tmp_path / "traffic.parquet", tmp_path / "out", "--config", config, "--max-refused", "1")
        places = {row["place"]: row["reason"] for row in pq.read_table(tmp_path / "out" / "refused").to_pylist()}
        assert "is not JSON" in places[2]


def two_folders(tmp_path: Path, changed: Callable[[list[Any]], Any]) -> tuple[Path, Path]:
    """The folders of two scored data sets. The second answers cases that were changed."""
    recorded = write_lines(tmp_path / "traffic.jsonl", attempts(60))
    expected = write_expectation(tmp_path)
    scored(recorded, tmp_path / "base", "--against", expected)
    document = json.loads(expected.read_bytes())
    changed(document["eval_cases"])
    expected.write_text(json.dumps(document))
    known = {case["eval_id"] for case in document["eval_cases"]}
    later = [each for each in attempts(60) if each["id"] in known]
    scored(write_lines(tmp_path / "traffic.jsonl", later), tmp_path / "later", "--against", expected)
    return tmp_path / "base", tmp_path / "later"


def decided(base: Path, later: Path, *options: str) -> Done:
    """Decide that the later folder is not much worse."""
    claim = ("--not-worse-by", "0.9", "--against", base, "--about", "these-cases")
    return command("gate", later, *claim, *options, "--json", "-")


@pytest.mark.long
def test_a_case_that_only_the_base_folder_has_counts_as_missing(tmp_path: Path) -> None:
    """Its attempts could all have failed."""
    base, later = two_folders(tmp_path, lambda cases: cases.pop())
    lost = sum(each["id"] == "case_4" for each in attempts(60))
    done = decided(base, later)
    assert done.json["pairs"]["only_base"] == ["case_4"]
    assert done.json["claims"][0]["missing"] == [0, lost]
    compared = command("compare", base, later, "--json", "-").json
    assert (compared["pairs"]["only_base"], compared["pairs"]["cases"]) == (["case_4"], 4)
    assert decided(base, later, "--shared-cases").json["claims"][0]["missing"] == [0, 0]


@pytest.mark.long
def test_an_edited_case_leaves_a_gate_on_folders_undecided(tmp_path: Path) -> None:
    """The claim holds on the cases that both folders hold unchanged."""
    base, later = two_folders(tmp_path, lambda cases: cases[3]["conversation"][0].pop("intermediate_data"))
    done = decided(base, later)
    assert (done.code, done.json["verdict"], done.json["pairs"]["changed"]) == (3, "undecided", ["case_3"])
    assert "1 case is edited (case_3)" in done.json["claims"][0]["why"]
    assert command("compare", base, later, "--json", "-").json["pairs"]["changed"] == ["case_3"]
    assert decided(base, later, "--shared-cases").code == 0


def test_the_tables_answer_with_the_run_its_model_and_carried_fields(tmp_path: Path) -> None:
    """Which tenant asked, in which run of which series: each is a column."""
    lines = attempts(4)
    for number, line in enumerate(lines):
        line |= {"tenant": f"t{number % 2}", "metadata": {"route": {"zone": number}} if number else {}}
    recorded = write_lines(tmp_path / "traffic.jsonl", lines)
    expected = write_expectation(tmp_path)
    options = ("--against", expected, "--carry", "tenant,metadata.route", "--name", "nightly", "--tag", "eu")
    done = scored(recorded, tmp_path / "out", *options)
    assert done.code in (0, 1), done.err
    rows = {name: pq.read_table(tmp_path / "out" / name).to_pylist() for name in ("attempts", "outcomes")}
    run = manifest(tmp_path / "out")["run"]
    keys = {(row["run"], row["series"], row["run_started"]) for own in rows.values() for row in own}
    assert keys == {(run["id"], "nightly", run["started"])}
    answered = [row for row in rows["attempts"] if row["file"]]
    assert [row["tags"] for row in answered] == [["eu"]] * 4
    assert [row["tenant"] for row in answered] == ["t0", "t1", "t0", "t1"]
    assert [row["metadata.route"] for row in answered] == [None, *(f'{{"zone": {number}}}' for number in (1, 2, 3))]


def tone(trace: Trace, case: EvalCase) -> Score:
    """A metric with a rubric below each invocation."""
    del case
    values = {"kind": 1.0, "brief": float(len(trace.invocations) > 1)}
    rubrics = tuple(Score(value, key=PartKey("rubric", id=name)) for name, value in values.items())
    return Score(0.5, parts=(Score(0.5, key=PartKey("invocation", 0), parts=rubrics),))


def test_a_query_finds_the_rubric_that_fails(tmp_path: Path) -> None:
    """Parts with a name have rows, and parts about whole invocations have none."""
    recorded = write_lines(tmp_path / "traffic.jsonl", attempts(3))
    api.plan_dataset([recorded], tmp_path / "out", criteria=[Criterion("tone", tone, 0.5)]).run()
    rows = pq.read_table(tmp_path / "out" / "parts").to_pylist()
    assert [(row["criterion"], row["part"], row["kind"], row["id"], row["value"]) for row in rows[:2]] == [
        ("tone", "0.0", "rubric", "kind", 1.0),
        ("tone", "0.1", "rubric", "brief", 0.0),
    ]
    assert len(rows) == 6


def test_a_query_answers_how_often_models_pass_each_rubric_on_each_day(tmp_path: Path) -> None:
    """The conversations name their models and times. DuckDB joins by the number of the conversation."""
    import duckdb

    records = attempts(40)
    models, days = ("gpt-a", "gpt-b"), (1764374400, "2026-01-02T03:04:05Z")
    expected: dict[tuple[str, str, str], list[bool]] = {}
    for number, record in enumerate(records):
        chosen, day = number % 2, number // 20
        record |= {"model": models[chosen], "created": days[day], "id": f"c{number}"}
        # The metric `manner` below gives these: every answer is kind, and those with `maybe` are not sure.
        is_sure = "maybe" not in record["messages"][-1]["content"]
        for rubric, passed in (("kind", True), ("sure", is_sure)):
            key = (models[chosen], ("2025-11-29", "2026-01-02")[day], rubric)
            expected.setdefault(key, []).append(passed)
    recorded = write_lines(tmp_path / "traffic.jsonl", records)
    api.plan_dataset([recorded], tmp_path / "out", criteria=[Criterion("manner", manner, 0.5)]).run()
    query = """
        SELECT model, strftime(to_timestamp(created) AT TIME ZONE 'UTC', '%Y-%m-%d'), id, avg(value)
        FROM read_parquet($attempts) AS attempts JOIN read_parquet($parts) AS parts USING (run, conversation)
        WHERE kind = 'rubric' GROUP BY ALL
    """
    tables = {name: str(tmp_path / "out" / name / "*.parquet") for name in ("attempts", "parts")}
    with duckdb.connect() as database:
        rows = database.execute(query, tables).fetchall()
    assert {tuple(row[:3]): row[3] for row in rows} == {
        key: pytest.approx(sum(passed) / len(passed)) for key, passed in expected.items()
    }
    assert len(rows) == 8
    assert any(0 < row[3] < 1 for row in rows)


def manner(trace: Trace, case: EvalCase) -> Score:
    """A metric of two rubrics: every reply is kind, and a reply with `maybe` is not sure."""
    del case
    reply = trace.invocations[-1].reply
    values = {"kind": 1.0, "sure": float("maybe" not in reply)}
    return Score(0.5, parts=tuple(Score(value, key=PartKey("rubric", id=name)) for name, value in values.items()))


def test_a_field_that_cannot_be_carried_is_named(tmp_path: Path) -> None:
    """A name that the results have is refused, and a field that no conversation has is noted."""
    recorded = write_lines(tmp_path / "traffic.jsonl", attempts(2))
    expected = write_expectation(tmp_path)
    refused = scored(recorded, tmp_path / "out", "--against", expected, "--carry", "verdict")
    assert (refused.code, "--carry verdict: the results have a column of this name" in refused.err) == (2, True)
    done = scored(recorded, tmp_path / "out", "--against", expected, "--carry", "tenant")
    assert "--carry tenant: no conversation has this field" in done.out


def test_a_folder_of_another_version_of_the_tables_is_refused(tmp_path: Path) -> None:
    """Its numbers stand under other names, so that a comparison would find none."""
    recorded = write_lines(tmp_path / "traffic.jsonl", attempts(2))
    out = tmp_path / "out"
    scored(recorded, out, "--against", write_expectation(tmp_path))
    (out / "manifest.json").write_text(json.dumps(manifest(out) | {"schema": 1}))
    refused = command("compare", out, out)
    assert (refused.code, "/schema: must be 3, got 1; score the data set again" in refused.err) == (2, True)
