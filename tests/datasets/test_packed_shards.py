"""Packed files are cut into shards, and a file that is cut off keeps each of its whole lines."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from pathlib import Path

import pytest
from traffic import conversation

from fairtrial.loading import data_files, shard_reading, shards
from fairtrial.system.zstandard import zstd

NUMBER = 300


@pytest.fixture
def lines() -> list[bytes]:
    """Conversations that cannot be packed well, so that a small file has many packed blocks."""
    chance = random.Random(3)
    records = [{**conversation(i), "note": f"{chance.getrandbits(4000):x}"} for i in range(NUMBER)]
    return [json.dumps(record).encode() + b"\n" for record in records]


@pytest.fixture(autouse=True)
def small_cuts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut a file of some hundred kilobytes into as many shards as a large one."""
    monkeypatch.setattr(shards, "_SMALLEST_PACKED_CUT", 10_000)
    monkeypatch.setattr(shards, "_SMALLEST_CUT", 0)


def pack(lines: list[bytes], packing: str) -> bytes:
    """Pack lines into two members, one after the other."""
    compress = gzip.compress if packing == "gzip" else zstd.compress
    return compress(b"".join(lines[:100])) + compress(b"".join(lines[100:]))


def cut_and_read(path: Path) -> tuple[list[shards.Shard], list[shard_reading.Item]]:
    """Cut a file, and read its shards one after the other."""
    cut = list(shards.cut_into_shards(data_files.find_data_files([path])))
    return cut, [item for shard in cut for item in shard_reading.read_shard(shard)]


@pytest.mark.long
@pytest.mark.parametrize("packing", ["gzip", "zstd"])
@pytest.mark.parametrize("estimate", [0.3, 1.0, 1.7])
def test_each_line_belongs_to_one_shard(
    lines: list[bytes], packing: str, estimate: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the file is much larger or smaller than its beginning lets expect."""
    size = int(sum(map(len, lines)) * estimate)
    monkeypatch.setattr(shards, "estimate_unpacked_size", lambda *_: size)
    path = tmp_path / "traffic.jsonl"
    path.write_bytes(pack(lines, packing))
    cut, items = cut_and_read(path)
    assert len(cut) >= 12
    assert [item.place for item in items] == [sum(map(len, lines[:i])) for i in range(NUMBER)]
    assert not any(isinstance(item.content, shard_reading.Refused) for item in items)


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_the_beginning_tells_the_size_of_a_packed_file(lines: list[bytes], packing: str, tmp_path: Path) -> None:
    """Of a file of equal lines, the shards have about the same number."""
    path = tmp_path / "traffic.jsonl"
    path.write_bytes(pack(lines, packing))
    cut, _ = cut_and_read(path)
    sizes = [sum(1 for _ in shard_reading.read_shard(shard)) for shard in cut]
    assert (len(sizes), min(sizes) >= 15, max(sizes) <= 22) == (16, True, True), sizes


@pytest.mark.parametrize("kept", [0.05, 0.33, 0.5, 0.77, 0.999])
def test_a_gzip_file_that_is_cut_off_keeps_its_whole_lines(lines: list[bytes], kept: float, tmp_path: Path) -> None:
    """The shard with the damage refuses it, and no other does."""
    whole = gzip.compress(b"".join(lines))
    data = whole[: int(len(whole) * kept)]
    path = tmp_path / "traffic.jsonl.gz"
    path.write_bytes(data)
    cut, items = cut_and_read(path)
    refused = [item for item in items if isinstance(item.content, shard_reading.Refused)]
    assert len(cut) > 1 or kept < 0.1
    assert len(refused) == 1
    assert "its end is missing" in refused[0].content.reason  # type: ignore[union-attr]
    assert len(items) - 1 == zlib.decompressobj(31).decompress(data).count(b"\n") > 0
