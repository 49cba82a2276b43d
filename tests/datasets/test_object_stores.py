"""Data sets in an object store: a real server on loopback that speaks S3."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from traffic import attempts, conversation, write_expectation, write_lines
from turn_spans import span, write_late_case, write_spans

from commands import fairtrial as command
from fairtrial.api.datasets.shared_models import open_call_store
from fairtrial.loading import shards
from fairtrial.loading.object_folders import ObjectFolder
from folder_files import without_run
from loopback import Loopback, Request

pytestmark = pytest.mark.long

SECRET = "a-key-that-no-file-may-hold"  # noqa: S105


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of the server."""
    from moto.server import ThreadedMotoServer

    running = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def bucket(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A bucket with two days of traffic, one of them packed, and a file of something else."""
    import boto3

    for name, value in {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    client: Any = boto3.client("s3", endpoint_url=server)
    name = f"bucket-{tmp_path.name.replace('_', '-').lower()}"[:60].rstrip("-")
    client.create_bucket(Bucket=name)
    first = write_lines(tmp_path / "one.jsonl", [conversation(i) for i in range(20)])
    second = write_lines(tmp_path / "two.jsonl.gz", [conversation(i) for i in range(20, 30)])
    for key, data in (
        ("traffic/day=1/one.jsonl", first.read_bytes()),
        ("traffic/day=2/two.jsonl.gz", second.read_bytes()),
        ("traffic/readme.txt", b"hello"),
    ):
        client.put_object(Bucket=name, Key=key, Body=data)
    return name


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration whose criterion needs no expectation."""
    path = tmp_path / "calls.config.json"
    path.write_text(json.dumps({"criteria": {"tool_call_count_v1": 1.0}}))
    return path


@pytest.mark.parametrize(
    ("path", "number"),
    [("traffic", 30), ("traffic/day=1/one.jsonl", 20), ("traffic/day=*/*.gz", 10), ("traffic/*/*.jsonl*", 30)],
)
def test_folders_files_and_globs_are_read(tmp_path: Path, config: Path, bucket: str, path: str, number: int) -> None:
    """By their URLs. No key reaches the folder."""
    out = tmp_path / "out"
    done = command("score", f"s3://{bucket}/{path}", "--config", config, "--out", out, "--store", "none")
    assert done.code == 0, done.err
    rows = pq.read_table(out / "attempts").to_pylist()
    assert len(rows) == number
    assert all(row["file"].startswith(f"s3://{bucket}/traffic/day=") for row in rows)
    assert SECRET not in (out / "manifest.json").read_text()


@pytest.mark.parametrize(("path", "number"), [("traffic", 30), ("traffic/day=*/*.gz", 10)])
def test_traces_in_an_object_store_are_valued(bucket: str, path: str, number: int) -> None:
    """By the same URLs as conversations are scored."""
    options = ["--confidence", "0.5", "--success", "--embedder", "none", "--json"]
    done = command("value", f"s3://{bucket}/{path}", *options)
    assert done.code == 0, done.err
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert len(rows) == number
    assert all(row["score"] is not None for row in rows)


def test_a_file_in_an_object_store_is_redacted(bucket: str, tmp_path: Path) -> None:
    """Packed or not."""
    done = command("redact", f"s3://{bucket}/traffic/day=2/two.jsonl.gz", "-o", tmp_path / "clean.jsonl")
    assert (done.code, len((tmp_path / "clean.jsonl").read_text().splitlines())) == (0, 10), done.err


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("s3://nobody-has-this-bucket/traffic", "cannot be read"),
        ("s3://{bucket}/nothing", "nothing"),
        ("s3://{bucket}/traffic/*.parquet", "holds no"),
        ("s3://key:secret@{bucket}/traffic", "must not hold keys"),
        ("ftp://host/traffic", "cannot be reached"),
    ],
)
def test_a_url_without_files_is_refused(tmp_path: Path, config: Path, bucket: str, url: str, message: str) -> None:
    """By name, and without what stands in it of keys."""
    address = url.format(bucket=bucket)
    done = command("score", address, "--config", config, "--out", tmp_path / "out", "--store", "none")
    assert done.code == 2
    assert message in done.err
    assert "key:secret" not in done.err


def list_objects(server: str, bucket: str, prefix: str) -> dict[str, bytes]:
    """The objects under a prefix, by the rest of their names, without those that mark folders."""
    import boto3

    client: Any = boto3.client("s3", endpoint_url=server)
    listed = client.list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/").get("Contents", [])
    return {
        one["Key"].removeprefix(f"{prefix}/"): client.get_object(Bucket=bucket, Key=one["Key"])["Body"].read()
        for one in listed
        if not one["Key"].endswith("/")
    }


KILLED = """
import os, signal, sys
from fairtrial.api.datasets.object_log import ObjectLog
from fairtrial.cli import main
from fairtrial.loading import shards
from fairtrial.loading.object_folders import ObjectFolder

shards.GROUP_BYTES = 0
add = ObjectLog.add

def add_or_die(log, entry):
    if entry.number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    add(log, entry)

ObjectLog.add = add_or_die
main(sys.argv[1:])
"""


class TestOutput:
    """A data set is scored into an object store."""

    def test_the_folder_is_that_of_a_disk(self, server: str, bucket: str, tmp_path: Path, config: Path) -> None:
        """Whatever the number of workers, and without a log at its end."""
        options: list[str | Path] = ["--config", config, "--store", "none"]
        done = command("score", f"s3://{bucket}/traffic", "--out", f"s3://{bucket}/out", "--jobs", "2", *options)
        assert done.code == 0, done.err
        assert f"all results: s3://{bucket}/out" in done.out
        command("score", f"s3://{bucket}/traffic", "--out", tmp_path / "out", *options)
        objects = list_objects(server, bucket, "out")
        files = {str(path.relative_to(tmp_path / "out")): path for path in (tmp_path / "out").rglob("*.*")}
        assert objects.keys() == files.keys()
        tables = [name for name in files if name != "manifest.json"]
        assert all(without_run(objects[name]) == without_run(files[name].read_bytes()) for name in tables)
        manifests = [json.loads(objects["manifest.json"]), json.loads(files["manifest.json"].read_bytes())]
        assert manifests[0]["summary"] == manifests[1]["summary"]
        assert manifests[0]["shards"] == manifests[1]["shards"]
        assert manifests[0]["run"]["config"]["dataset"]["folder"] == f"s3://{bucket}/out"
        assert not any(SECRET.encode() in data for data in objects.values())

    @pytest.mark.usefixtures("ungrouped")
    def test_the_command_fetches_no_more_than_the_failures_that_it_stores(
        self, bucket: str, config: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It never holds all results, and of the conversations that did not pass only the first parts."""
        config.write_text(json.dumps({"criteria": {"tool_call_count_v1": 0.0}}))
        fetched: list[list[str]] = []
        fetch = ObjectFolder.fetch

        def noted(folder: ObjectFolder, target: Path, names: Iterable[str]) -> None:
            fetched.append(list(names))
            fetch(folder, target, fetched[-1])

        monkeypatch.setattr(ObjectFolder, "fetch", noted)
        monkeypatch.setattr(ObjectFolder, "download", lambda *_: pytest.fail("copies a whole folder"))
        arguments = ["score", f"s3://{bucket}/traffic", "--config", str(config), "--out", f"s3://{bucket}/out"]
        done = command(*arguments, "--store", "none", "--keep-failures", "5")
        assert "30 failed" in done.out, done.out + done.err
        assert fetched == [
            ["attempts/part-000000.parquet", "outcomes/part-000000.parquet"],
            ["attempts/part-000001.parquet", "outcomes/part-000001.parquet"],
            ["not_passed/part-000000.jsonl"],
        ]

    @pytest.fixture
    def ungrouped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Each file is a shard of its own, as in the process that is killed."""
        monkeypatch.setattr(shards, "GROUP_BYTES", 0)

    @pytest.mark.usefixtures("ungrouped")
    def test_a_killed_run_goes_on(self, server: str, bucket: str, config: Path) -> None:
        """The part of the second shard is there and not committed, so that the shard is scored again."""
        arguments = ["score", f"s3://{bucket}/traffic", "--config", str(config), "--out", f"s3://{bucket}/out"]
        arguments += ["--store", "none"]
        killed = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False, capture_output=True)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        names = list_objects(server, bucket, "out").keys()
        assert {"progress/begun.json", "progress/shard-000000.json", "attempts/part-000001.parquet"} <= names
        assert not {"progress/shard-000001.json", "manifest.json"} & names
        assert "holds an unfinished run; go on with --resume" in command(*arguments).err
        other = command(*arguments, "--resume", "--sample", "5")
        assert "is not the same as in the run" in other.err
        done = command(*arguments, "--resume")
        assert done.code == 0, done.err
        objects = list_objects(server, bucket, "out")
        assert not any(name.startswith("progress/") for name in objects)
        assert json.loads(objects["manifest.json"])["run"]["config"]["dataset"]["conversations"] == 30
        assert "holds the results of a finished run" in command(*arguments).err

    def test_a_run_in_an_object_store_is_compared(self, bucket: str, tmp_path: Path, config: Path) -> None:
        """By its id in a store, and by its URL."""
        store = f"sqlite:///{tmp_path}/runs.db"
        for name in ("one", "two"):
            arguments: list[str | Path] = [
                "score",
                f"s3://{bucket}/traffic",
                "--config",
                config,
                "--out",
                f"s3://{bucket}/{name}",
            ]
            assert command(*arguments, "--store", store).code == 0
        by_url = command("compare", f"s3://{bucket}/one", f"s3://{bucket}/two", "--store", store)
        assert by_url.code == 0, by_url.err
        assert "holds no manifest.json" in command("compare", f"s3://{bucket}/one", f"s3://{bucket}/no").err

    def test_cases_without_a_conversation_are_results(self, server: str, bucket: str, tmp_path: Path) -> None:
        """As on a disk."""
        expectation = write_expectation(tmp_path, extra_cases=2)
        recorded = write_lines(tmp_path / "attempts.jsonl", attempts(20))
        arguments: list[str | Path] = ["score", recorded, "--against", expectation, "--store", "none", "--out"]
        command(*arguments, tmp_path / "disk")
        done = command(*arguments, f"s3://{bucket}/out")
        assert done.code == 1, done.err
        summary = json.loads(list_objects(server, bucket, "out")["manifest.json"])["summary"]
        assert summary == json.loads((tmp_path / "disk" / "manifest.json").read_bytes())["summary"]

    def test_late_spans_go_into_finished_results(
        self, server: str, bucket: str, tmp_path: Path, judge: Loopback
    ) -> None:
        """Spans of several files are one conversation, and a late one is scored and judged again, alone."""
        rubric = {"rubric_id": "named", "rubric_content": {"text_property": "The reply names the order."}}
        options = {"judge_model": "openai/gpt-4o-mini", "num_samples": 1}
        criterion = {"threshold": 0.5, "judge_model_options": options, "rubrics": [rubric]}
        config = tmp_path / "judged.config.json"
        config.write_text(json.dumps({"criteria": {"rubric_based_final_response_quality_v1": criterion}}))
        write_spans(tmp_path / "spans/monday.jsonl", [span(i, f"c{i}") for i in range(1, 9)])
        write_spans(tmp_path / "spans/tuesday.jsonl", [span(100 + i, f"c{i}") for i in range(1, 9)])
        out = f"s3://{bucket}/late"
        arguments: list[str | Path] = ["score", tmp_path / "spans", "--out", out, "--store", "none", "--config", config]
        assert command(*arguments).code in (0, 1)
        before = list_objects(server, bucket, "late")
        asked = len(judge.requests)
        assert "score late spans with --resume" in command(*arguments).err
        write_spans(tmp_path / "spans/wednesday.jsonl", [span(500, "c3", "It arrived.")])
        done = command(*arguments, "--resume")
        assert done.code in (0, 1), done.err
        assert "late spans: 1 conversation changed and will be scored again, for example c3" in done.err
        after = list_objects(server, bucket, "late")
        assert after.keys() == before.keys()
        assert len(judge.requests) == asked + 1
        lines = after["inputs/conversations/part-0000.jsonl"].splitlines()
        turns = {each["case_id"]: len(each["trace"]["invocations"]) for each in map(json.loads, lines)}
        assert turns == {f"c{i}": 3 if i == 3 else 2 for i in range(1, 9)}
        summary = json.loads(after["manifest.json"])["run"]["config"]["dataset"]
        assert summary["conversations"] == 8
        command("score", tmp_path / "spans", "--out", tmp_path / "disk", "--store", "none", "--config", config)
        disk = pq.read_table(tmp_path / "disk" / "attempts").to_pylist()
        own = pq.read_table(pa.BufferReader(after["attempts/part-000000.parquet"])).to_pylist()
        assert sorted(row["case_id"] for row in own) == sorted(row["case_id"] for row in disk)
        assert {row["case_id"]: row["verdict"] for row in own} == {row["case_id"]: row["verdict"] for row in disk}
        assert all(row["file"] == f"{out}/inputs/conversations/part-0000.jsonl" for row in own)

    def test_a_late_span_removes_refusals_and_unanswered_cases(self, server: str, bucket: str, tmp_path: Path) -> None:
        """A conversation that answers a case only with its late span is refused no more, and the case is answered."""
        case_set, options = write_late_case(tmp_path)
        out = f"s3://{bucket}/late-case"
        arguments: list[str | Path] = ["score", tmp_path / "spans", "--against", case_set, "--out", out, *options]
        assert command(*arguments).code == 3
        assert "refused/part-000000.parquet" in list_objects(server, bucket, "late-case")
        write_spans(tmp_path / "spans/wednesday.jsonl", [span(2, "c2")])
        done = command(*arguments, "--resume")
        assert done.code == 0, done.err
        objects = list_objects(server, bucket, "late-case")
        assert not any(name.startswith("refused/") or "part-000001" in name for name in objects)
        rows = pq.read_table(pa.BufferReader(objects["attempts/part-000000.parquet"])).to_pylist()
        assert {row["case_id"]: row["verdict"] for row in rows} == {"case_1": "passed", "case_2": "passed"}
        assert json.loads(objects["manifest.json"])["summary"]["invalid"] == {}

    def test_a_folder_with_objects_is_refused(self, bucket: str, config: Path) -> None:
        """Nothing of them is overwritten."""
        done = command("score", f"s3://{bucket}/traffic", "--config", config, "--out", f"s3://{bucket}/traffic")
        assert (done.code, "holds objects that do not belong to this run" in done.err) == (2, True), done.err

    @pytest.fixture
    def judge(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
        """A judge that votes by the question."""
        monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789abcdef")

        def by_question(request: Request) -> str:
            return request.answers(request.choices[hashlib.sha256(request.text.encode()).digest()[0] % 2])

        with Loopback(by_question) as running:
            monkeypatch.setenv("OPENAI_BASE_URL", f"{running.url}/v1")
            yield running

    @pytest.fixture
    def judged(self, tmp_path: Path) -> Path:
        """A configuration with a judge."""
        rubric = {"rubric_id": "named", "rubric_content": {"text_property": "The reply names the order."}}
        options = {"judge_model": "openai/gpt-4o-mini", "num_samples": 1}
        criterion = {"threshold": 0.5, "judge_model_options": options, "rubrics": [rubric]}
        path = tmp_path / "judged.config.json"
        path.write_text(json.dumps({"criteria": {"rubric_based_final_response_quality_v1": criterion}}))
        return path

    def test_judged_results_are_those_of_a_disk(
        self, server: str, bucket: str, tmp_path: Path, judge: Loopback, judged: Path
    ) -> None:
        """With the replies in judge.db, of which nothing else is left."""
        options: list[str | Path] = ["--config", judged, "--store", "none"]
        assert command("score", f"s3://{bucket}/traffic", "--out", tmp_path / "out", *options).code == 1
        done = command("score", f"s3://{bucket}/traffic", "--out", f"s3://{bucket}/out", "--jobs", "2", *options)
        assert done.code == 1, done.err
        objects = list_objects(server, bucket, "out")
        files = {str(path.relative_to(tmp_path / "out")): path for path in (tmp_path / "out").rglob("*.*")}
        assert objects.keys() == {name for name in files if not name.startswith("judge.db-")}
        tables = [name for name in files if name.endswith((".parquet", ".jsonl"))]
        assert all(without_run(objects[name]) == without_run(files[name].read_bytes()) for name in tables)
        (tmp_path / "copy").mkdir()
        (tmp_path / "copy" / "judge.db").write_bytes(objects["judge.db"])
        run_id = json.loads(objects["manifest.json"])["run"]["id"]
        assert len(open_call_store(tmp_path / "copy").replies(run_id)) == len(judge.requests) / 2 == 30

    @pytest.mark.parametrize("jobs", ["1", "2"])
    @pytest.mark.usefixtures("ungrouped")
    def test_replies_before_a_kill_are_not_asked_again(
        self, server: str, bucket: str, judge: Loopback, judged: Path, jobs: str
    ) -> None:
        """Although the machine of the first process is gone with its disk."""
        arguments = ["score", f"s3://{bucket}/traffic", "--config", str(judged), "--out", f"s3://{bucket}/out"]
        arguments += ["--store", "none", "--jobs", jobs]
        killed = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False, capture_output=True)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert "calls/part-000000.jsonl" in list_objects(server, bucket, "out")
        assert command(*arguments, "--resume").code == 1
        assert len(judge.requests) == 30
        assert not any(name.startswith("calls/") for name in list_objects(server, bucket, "out"))

    def test_batches_are_refused(self, bucket: str, judged: Path) -> None:
        """They are kept in a database, which needs a disk."""
        out = f"s3://{bucket}/out"
        done = command("score", f"s3://{bucket}/traffic", "--config", judged, "--out", out, "--batch-api")
        assert done.code == 2
        assert "--batch-api: keeps its batches in batches.db" in done.err

    @pytest.mark.parametrize(
        ("url", "message"),
        [
            ("ftp://host/out", "must be a folder, or begin with s3://"),
            ("s3://nobody-has-this-bucket/out", "s3://nobody-has-this-bucket/out: cannot be used"),
            ("s3://key:secret@bucket/out", "must not hold keys"),
        ],
    )
    def test_a_url_that_cannot_be_written_is_refused(self, bucket: str, config: Path, url: str, message: str) -> None:
        """By name."""
        done = command("score", f"s3://{bucket}/traffic", "--config", config, "--out", url, "--store", "none")
        assert done.code == 2
        assert message in done.err
