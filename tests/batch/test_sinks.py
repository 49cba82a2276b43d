"""Sinks: rows as JSON lines and as Parquet, whole or not at all."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from fairtrial.batch.shard_log import cut_to_whole_lines
from fairtrial.batch.sinks import JsonLines, JsonStream, Parquet
from fairtrial.errors import UsageError


class Place(msgspec.Struct):
    """A nested record."""

    name: str


class Row(msgspec.Struct):
    """A row with every kind of column."""

    id: str | None
    score: float | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    places: tuple[Place, ...] = ()
    home: Place | UnsetType | None = UNSET


ROWS = [Row("a", 0.5, ("x", "y"), (Place("p"),), Place("q")), Row(None), Row("c", 1.0, (), (), None)]
LINES = (
    b'{"id":"a","score":0.5,"tags":["x","y"],"places":[{"name":"p"}],"home":{"name":"q"}}\n'
    b'{"id":null,"places":[]}\n'
    b'{"id":"c","score":1.0,"tags":[],"places":[],"home":null}\n'
)


def test_json_lines_are_on_disk_after_each_chunk(tmp_path: Path) -> None:
    """A crash after `write` loses nothing, so the file can be read before the sink is closed."""
    with JsonLines(tmp_path / "out.jsonl") as sink:
        sink.write(ROWS)
        assert (tmp_path / "out.jsonl").read_bytes() == LINES


def test_json_lines_can_be_appended(tmp_path: Path) -> None:
    """A resumed output goes on behind its last line; ready JSON is written as it is."""
    path = tmp_path / "out.jsonl"
    path.write_bytes(b"1\n")
    with JsonLines(path, append=True) as sink:
        sink.write([msgspec.Raw(b'{"b": 2}')])
    assert path.read_bytes() == b'1\n{"b": 2}\n'


def test_a_stream_stays_open() -> None:
    """Standard output belongs to somebody else."""
    stream = io.BytesIO()
    with JsonStream(stream) as sink:
        sink.write(ROWS)
    assert stream.getvalue() == LINES


def test_parquet_has_a_column_for_each_field(tmp_path: Path) -> None:
    """An absent value is null in its column."""
    parquet = pytest.importorskip("pyarrow.parquet")
    with Parquet(tmp_path / "out.parquet", Row) as sink:
        sink.write(ROWS[:1])
        sink.write_json(LINES.splitlines()[1:])
    assert parquet.read_table(tmp_path / "out.parquet").to_pylist() == [
        {"id": "a", "score": 0.5, "tags": ["x", "y"], "places": [{"name": "p"}], "home": {"name": "q"}},
        {"id": None, "score": None, "tags": None, "places": [], "home": None},
        {"id": "c", "score": 1.0, "tags": [], "places": [], "home": None},
    ]


def test_a_broken_off_parquet_file_leaves_nothing(tmp_path: Path) -> None:
    """An exception removes the part, and no file has the name."""
    pytest.importorskip("pyarrow")
    with pytest.raises(TypeError), Parquet(tmp_path / "out.parquet", Row) as sink:
        sink.write([*ROWS, object()])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("count", "rest"), [(None, b"a\nb\n"), (1, b"a\n"), (0, b"")])
def test_a_file_is_cut_to_whole_lines(tmp_path: Path, count: int | None, rest: bytes) -> None:
    """The half line of a crash goes, and so does everything after the wanted lines."""
    path = tmp_path / "out.jsonl"
    path.write_bytes(b"a\nb\nhal")
    cut_to_whole_lines(path, count)
    assert path.read_bytes() == rest


def test_a_file_with_too_few_lines_is_not_resumed(tmp_path: Path) -> None:
    """The message names both numbers, and the file stays as it is."""
    path = tmp_path / "out.jsonl"
    path.write_bytes(b"a\nb\nhal")
    with pytest.raises(UsageError, match="holds 2 lines, expected at least 3"):
        cut_to_whole_lines(path, 3)
    assert path.read_bytes() == b"a\nb\nhal"
