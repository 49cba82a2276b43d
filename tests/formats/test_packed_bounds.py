"""A small file cannot fill the memory: what it unpacks to is counted while it is read, in every packed form."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fairtrial.errors import FormatError
from fairtrial.formats import columnar_rows
from fairtrial.formats.benchmarks import inspect_logs
from fairtrial.formats.packed import check_size
from fairtrial.formats.reading import Diagnostics
from fairtrial.loading.packed_streams import unpacked
from fairtrial.system.zstandard import zstd

pytestmark = pytest.mark.long

MOST = 34 << 20
"""32 MiB, and the step that passes it."""
BOMB = 300 << 20


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_a_packed_line_is_refused_before_it_is_whole(packing: str) -> None:
    """A line of 300 MB in less than a megabyte. Of it, 32 MB are unpacked."""
    block = b" " * (1 << 20)
    packer: Any = io.BytesIO()
    writer: Any = gzip.GzipFile(fileobj=packer, mode="wb") if packing == "gzip" else zstd.ZstdFile(packer, "w")
    with writer:
        for _ in range(BOMB >> 20):
            writer.write(block)
    packer.seek(0)
    sizes: list[int] = []
    stream = unpacked(packer, packing)
    with pytest.raises(OSError, match="more than 250 times larger"):
        sizes.extend(map(len, iter(lambda: stream.read(1 << 20), b"")))
    assert sum(sizes) <= MOST


def test_an_entry_of_an_archive_is_refused_before_it_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """80 KB that would become 80 MB."""
    sizes: list[int] = []

    def check(size: int, packed_size: int, path: str) -> None:
        sizes.append(size)
        check_size(size, packed_size, path)

    monkeypatch.setattr("fairtrial.formats.benchmarks.inspect_logs.check_size", check)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", "{}")
        file.writestr("samples/1_epoch_1.json", json.dumps({"messages": " " * (80 << 20)}))
    with pytest.raises(FormatError, match="more than 250 times larger"):
        list(inspect_logs.iter_archive(archive.getvalue(), Diagnostics("bomb.eval")))
    assert max(sizes) <= MOST


def test_a_text_that_many_rows_share_is_refused_before_all_rows_are_decoded(tmp_path: Path) -> None:
    """A megabyte stands once in the file, and 3,000 times in its rows."""
    path = tmp_path / "bomb.parquet"
    text = pa.array([" " * (1 << 20)])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 3000, pa.int32()), text)
    pq.write_table(pa.table({"text": column}), path)
    assert path.stat().st_size < 1 << 20
    rows: list[Any] = []
    with pytest.raises(FormatError, match="more than 250 times larger"):
        rows.extend(columnar_rows.iter_rows(path, str(path)))
    assert len(rows) <= 64


def test_names_of_files_do_not_stay_in_memory() -> None:
    """Forty thousand names leave a cache as large as a few."""
    from fairtrial.formats.reading import strip_suffixes

    for number in range(40_000):
        strip_suffixes(f"traffic/{number}.jsonl")
    assert strip_suffixes.cache_info().currsize <= 64
