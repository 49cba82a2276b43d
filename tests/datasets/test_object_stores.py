"""Data sets in an object store: a real server on loopback that speaks S3."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pyarrow.parquet as pq
import pytest
from moto.server import ThreadedMotoServer
from traffic import conversation, write_lines

from commands import fairtrial as command

SECRET = "a-key-that-no-file-may-hold"  # noqa: S105


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of the server."""
    running = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def bucket(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A bucket with two days of traffic, one of them packed, and a file of something else."""
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
    rows = pq.read_table(out / "results").to_pylist()
    assert len(rows) == number
    assert all(row["file"].startswith(f"s3://{bucket}/traffic/day=") for row in rows)
    assert SECRET not in (out / "manifest.json").read_text()


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
