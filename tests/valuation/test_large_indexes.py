"""Novelty indexes of one file: large ones are memory-mapped."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairtrial.errors import FormatError, UsageError
from fairtrial.system.file_lock import try_to_lock
from fairtrial.valuation import array_file
from fairtrial.valuation.index_changes import Addition, extend_index
from fairtrial.valuation.index_files import is_segmented
from fairtrial.valuation.novelty import VectorCache
from fairtrial.valuation.opened_index import open_index

DIMENSIONS = 24


@pytest.fixture
def mapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every array is large enough to be memory-mapped."""
    monkeypatch.setattr(array_file, "MAPPED_SIZE", 0)


def _cache(count: int, *, seed: int = 1, **options: Any) -> VectorCache:
    """A cache of random vectors around a tenth as many centres, as traces gather around tasks."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(max(1, count // 10), DIMENSIONS))
    vectors = centres[rng.integers(len(centres), size=count)] + 0.5 * rng.normal(size=(count, DIMENSIONS))
    cache = VectorCache(dimensions=DIMENSIONS, **({"capacity": None} | options))
    cache.extend([f"kp:trace:{number}" for number in range(count)], vectors, [f"d{number}" for number in range(count)])
    return cache


@pytest.mark.usefixtures("mapped")
def test_vectors_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    """A few of them would hide all vectors around them, so that an old trace would count as new."""
    cache, own = _cache(500), _cache(500)
    own._rows[6:10] = np.nan
    own.save(tmp_path / "index")
    damaged = VectorCache.load(tmp_path / "index")
    with pytest.raises(UsageError, match="vectors that are not numbers"):
        damaged.search(cache.vectors[100:110])
    with pytest.raises(UsageError, match="vectors that are not numbers"):
        extend_index(tmp_path / "index", [Addition(["new"], cache.vectors[:1], ["d"])])
    assert not is_segmented(tmp_path / "index")


def test_what_a_killed_process_left_goes_when_the_index_is_opened(tmp_path: Path) -> None:
    """The part of a process that still writes stays."""
    _cache(5).save(tmp_path / "index")
    left, written = tmp_path / "index.11.part", tmp_path / "index.12.part"
    left.write_bytes(b"half")
    with written.open("wb") as file:
        assert try_to_lock(file)
        open_index("corpus", tmp_path / "index", embedder="")
        assert (left.exists(), written.exists()) == (False, True)
    _cache(6).save(tmp_path / "index")
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


@pytest.mark.usefixtures("mapped")
def test_a_mapped_index_is_the_same_index(tmp_path: Path) -> None:
    """It has the ids, the vectors and the answers of the cache that was saved, and is not read into memory."""
    saved = _cache(500)
    saved.save(tmp_path / "index", embedder="e")
    loaded = VectorCache.load(tmp_path / "index", embedder="e")
    assert isinstance(loaded.vectors, np.memmap)
    assert (loaded.ids, loaded.digests) == (saved.ids, saved.digests)
    assert np.array_equal(loaded.vectors, saved.vectors)
    queries = _cache(20, seed=2).vectors
    assert loaded.search(queries) == saved.search(queries)


@pytest.mark.usefixtures("mapped")
def test_a_mapped_index_is_extended_in_memory(tmp_path: Path) -> None:
    """New vectors are added behind the mapped vectors, and the file can be written over."""
    _cache(50).save(tmp_path / "index")
    loaded = VectorCache.load(tmp_path / "index")
    loaded.extend(["new"], _cache(1, seed=3).vectors)
    loaded.save(tmp_path / "index")
    assert VectorCache.load(tmp_path / "index").ids[-2:] == ("kp:trace:49", "new")


@pytest.mark.usefixtures("mapped")
@pytest.mark.parametrize("factor", [0.0, 2.0, np.nan], ids=["zero", "too long", "not a number"])
def test_mapped_vectors_have_unit_length(tmp_path: Path, factor: float) -> None:
    """Other vectors would make cosines above 1, so that the index is refused."""
    _cache(50).save(tmp_path / "index")
    arrays = array_file.read_arrays(tmp_path / "index")
    with (tmp_path / "bad").open("wb") as file:
        np.savez(file, **(arrays | {"vectors": arrays["vectors"] * np.float32(factor)}))  # type: ignore[arg-type]
    with pytest.raises(FormatError, match="not of unit length"):
        VectorCache.load(tmp_path / "bad")


@pytest.mark.usefixtures("mapped")
def test_damaged_arrays_are_not_mapped(tmp_path: Path) -> None:
    """Wherever the file ends, and if it is compressed, it is refused with a FormatError."""
    _cache(5).save(tmp_path / "index")
    data = (tmp_path / "index").read_bytes()
    for size in range(0, len(data) - 1, 97):
        (tmp_path / "cut").write_bytes(data[:size])
        with pytest.raises(FormatError):
            VectorCache.load(tmp_path / "cut")
    with zipfile.ZipFile(tmp_path / "index") as whole, zipfile.ZipFile(tmp_path / "packed", "w", 8) as packed:
        for name in whole.namelist():
            packed.writestr(name, whole.read(name))
    with pytest.raises(FormatError, match="is compressed"):
        VectorCache.load(tmp_path / "packed")


@pytest.mark.long
@pytest.mark.usefixtures("mapped")
def test_no_byte_of_a_mapped_index_crashes(tmp_path: Path) -> None:
    """Whichever byte of the headers is wrong, the index is loaded or refused with a FormatError."""
    _cache(2).save(tmp_path / "index")
    data = (tmp_path / "index").read_bytes()
    for place in range(0, len(data), 7):
        (tmp_path / "bad").write_bytes(data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :])
        try:
            VectorCache.load(tmp_path / "bad").search(_cache(1, seed=2).vectors)
        except FormatError:
            continue
