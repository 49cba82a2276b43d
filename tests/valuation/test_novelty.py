"""The novelty of a vector: cached, searched, in blocks, left out one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fairtrial.errors import FormatError, UsageError
from fairtrial.records.value_row import Nearest
from fairtrial.valuation.nearest_rows import leave_one_out
from fairtrial.valuation.novelty import VectorCache
from fairtrial.valuation.trace_value import score_novelty

Vectors = NDArray[np.float32]


def _random(count: int, dimensions: int = 384, seed: int = 5) -> Vectors:
    """Vectors of which every seventh repeats one from up to 1,500 places before it."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(count, dimensions)).astype(np.float32)
    for place in range(7, count, 7):
        vectors[place] = vectors[rng.integers(max(0, place - 1500), place)]
    return vectors


def _ids(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def _one_by_one(vectors: Vectors, cache: VectorCache) -> list[Nearest | None]:
    found = []
    for own_id, vector in zip(_ids(len(vectors)), vectors, strict=True):
        found.append(cache.nearest(vector))
        cache.add(own_id, vector)
    return found


def _by_definition(vectors: Vectors, capacity: int | None) -> list[float | None]:
    """The largest cosine to the `capacity` vectors before each, in float64 and without any cache."""
    unit = vectors.astype(np.float64)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    best: list[float | None] = []
    for place, own in enumerate(unit):
        before = unit[max(0, place - capacity) if capacity else 0 : place]
        best.append(float((before @ own).max()) if len(before) else None)
    return best


def _agree(found: list[Nearest | None], expected: list[float | None], tolerance: float = 1e-6) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert abs(one.cosine - other) < tolerance


@pytest.mark.long
def test_blocks_give_what_one_by_one_gives_at_every_batch_size() -> None:
    """1,300 vectors through a cache of 1,000, whole or in pieces of any size, as one by one, evictions included."""
    vectors = _random(1300)
    single = VectorCache()
    slow = _one_by_one(vectors, single)
    _agree(slow, _by_definition(vectors, 1000))
    for size in (1, 255, 256, 257, 1001, 1300):
        cache = VectorCache()
        fast = []
        for low in range(0, 1300, size):
            fast += cache.sequence(_ids(1300)[low : low + size], vectors[low : low + size])
        _agree(fast, [one.cosine if one else None for one in slow])
        assert cache.ids == single.ids
        assert np.array_equal(cache.vectors, single.vectors)


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(0, 40),
    capacity=st.none() | st.integers(1, 12),
    pieces=st.lists(st.integers(1, 15), min_size=1, max_size=6),
    seed=st.integers(0, 9),
)
def test_blocks_keep_to_the_definition(count: int, capacity: int | None, pieces: list[int], seed: int) -> None:
    """For any capacity and any cut, each vector is held against exactly the `capacity` vectors before it."""
    vectors = _random(count, 4, seed) if count else np.empty((0, 4), dtype=np.float32)
    cache = VectorCache(capacity, 4)
    found: list[Nearest | None] = []
    low = 0
    while low < count:
        size = pieces[len(found) % len(pieces)]
        found += cache.sequence(_ids(count)[low : low + size], vectors[low : low + size])
        low += size
    _agree(found, _by_definition(vectors, capacity))


def test_the_nearest_is_named() -> None:
    """Of three vectors the second is the most like the query; its id and its cosine are told."""
    cache = VectorCache(dimensions=2)
    cache.extend(["a", "b", "c"], [[1, 0], [1, 1], [-1, 0]])
    found = cache.nearest([2, 2])
    assert found is not None
    assert (found.id, round(found.cosine, 6)) == ("b", 1.0)


def test_of_equal_vectors_the_first_is_the_nearest() -> None:
    """A tie goes to the vector that was added first."""
    cache = VectorCache(dimensions=2)
    cache.extend(["a", "b"], [[1, 0], [1, 0]])
    found = cache.nearest([1, 0])
    assert found is not None
    assert found.id == "a"


def test_an_empty_cache_leaves_novelty_open() -> None:
    """Nothing to compare with is 0.5, as the rule says."""
    assert score_novelty(VectorCache().nearest(np.ones(384))) == 0.5


def test_a_duplicate_has_novelty_zero() -> None:
    """Exactly 0, whatever float32 makes of the product of a vector with itself."""
    vectors = _random(50)
    assert [score_novelty(_make_cache(one).nearest(one)) for one in vectors] == [0.0] * 50


def _make_cache(vector: Any) -> VectorCache:
    cache = VectorCache()
    cache.add("own", vector)
    return cache


def test_the_opposite_is_not_newer_than_new() -> None:
    """A cosine of -1 would be a novelty of 2; it is kept at 1."""
    assert score_novelty(_make_cache(np.ones(384)).nearest(-np.ones(384))) == 1.0


def test_the_oldest_goes_first() -> None:
    """A cache of two forgets the first of three."""
    cache = VectorCache(2, 2)
    cache.extend(["a", "b", "c"], [[1, 0], [0, 1], [1, 1]])
    assert cache.ids == ("b", "c")


def test_a_reset_cache_is_empty() -> None:
    """After a reset nothing is near."""
    cache = _make_cache(np.ones(384))
    cache.reset()
    assert (len(cache), cache.nearest(np.ones(384))) == (0, None)


def test_vectors_expire() -> None:
    """With a time to live of ten seconds, a vector is near after nine and gone after eleven."""
    now = [100.0]
    cache = VectorCache(dimensions=2, ttl=10, clock=lambda: now[0])
    cache.add("a", [1, 0])
    now[0] = 109
    assert cache.nearest([1, 0]) is not None
    now[0] = 111
    assert cache.nearest([1, 0]) is None


def test_a_saved_cache_comes_back(tmp_path: Path) -> None:
    """Ids, vectors, order, limits and times are what they were."""
    cache = VectorCache(3, 2, ttl=10, clock=lambda: 100.0)
    cache.extend(["\0", "비", "c", "d"], [[1, 0], [0, 1], [1, 1], [3, 4]])
    cache.save(tmp_path / "index", embedder="e")
    loaded = VectorCache.load(tmp_path / "index", embedder="e", clock=lambda: 109.0)
    assert loaded.ids == ("비", "c", "d")
    assert (loaded.capacity, loaded.ttl, loaded.dimensions) == (3, 10.0, 2)
    assert np.allclose(loaded.vectors, cache.vectors, atol=1e-7)
    assert loaded.nearest([0, 1]) is not None
    assert VectorCache.load(tmp_path / "index", clock=lambda: 111.0).nearest([0, 1]) is None


def test_an_index_of_another_embedder_is_refused(tmp_path: Path) -> None:
    """Vectors of two embedders cannot be compared."""
    _make_cache(np.ones(384)).save(tmp_path / "index", embedder="minilm")
    with pytest.raises(UsageError, match="by the embedder 'minilm', not by 'other'"):
        VectorCache.load(tmp_path / "index", embedder="other")


def test_a_damaged_index_is_one_error(tmp_path: Path) -> None:
    """Whichever byte is wrong and wherever the file ends, it is loaded or refused with a FormatError."""
    index = tmp_path / "index"
    _make_cache(np.ones(384)).save(index, embedder="minilm")
    whole = index.read_bytes()
    refusals = 0
    for place in range(0, len(whole), 97):
        for data in (whole[:place], whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]):
            index.write_bytes(data)
            try:
                VectorCache.load(index)
            except FormatError:
                refusals += 1
    assert refusals > 50


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"\x93NUMPY", b"{}" * 99])
def test_a_file_that_is_no_index_is_refused(tmp_path: Path, data: bytes) -> None:
    """Whatever it holds, it is a FormatError."""
    (tmp_path / "index").write_bytes(data)
    with pytest.raises(FormatError, match="not a novelty index"):
        VectorCache.load(tmp_path / "index")


def test_an_index_is_never_unpickled(tmp_path: Path) -> None:
    """An array of objects, which numpy would unpickle, is refused."""
    with (tmp_path / "index").open("wb") as file:
        np.savez(file, vectors=np.array([object()], dtype=object))
    with pytest.raises(FormatError):
        VectorCache.load(tmp_path / "index")


@pytest.mark.parametrize("vector", [[1.0], [[1.0, 2.0, 3.0]], [float("nan"), 1.0], [float("inf"), 1.0]])
def test_vectors_that_cannot_be_compared_are_refused(vector: Any) -> None:
    """A wrong length, and numbers that are none."""
    with pytest.raises(UsageError, match="vectors"):
        VectorCache(dimensions=2).add("a", vector)


@pytest.mark.parametrize("wrong", [{"capacity": 0}, {"dimensions": 0}, {"ttl": 0.0}, {"ttl": float("nan")}])
def test_limits_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    """A cache holds at least one vector, of at least one component, for some time."""
    with pytest.raises(UsageError):
        VectorCache(**wrong)


def test_searching_adds_nothing_and_ignores_order() -> None:
    """A corpus gives each query the same answer, in whatever order they are asked."""
    cache = VectorCache(None)
    cache.extend(_ids(3000), _random(3000))
    queries = _random(600, seed=6)
    forward, backward = cache.search(queries), cache.search(queries[::-1])
    _agree(backward[::-1], [one.cosine if one else None for one in forward])
    assert len(cache) == 3000


def test_leaving_one_out_compares_with_all_others() -> None:
    """In blocks, each vector's nearest of all others is the one that the definition finds."""
    vectors = _random(700)
    unit = vectors.astype(np.float64) / np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    products = unit @ unit.T
    np.fill_diagonal(products, -2)
    _agree(leave_one_out(_ids(700), vectors), products.max(axis=1).tolist())


@settings(max_examples=40, deadline=None)
@given(order=st.permutations(range(12)), seed=st.integers(0, 9))
def test_leaving_one_out_does_not_depend_on_order(order: list[int], seed: int) -> None:
    """A set in another order has the same cosines."""
    vectors = _random(12, 8, seed)
    plain, mixed = leave_one_out(_ids(12), vectors), leave_one_out(_ids(12), vectors[order])
    _agree(mixed, [one.cosine if (one := plain[place]) else None for place in order])


def test_one_alone_has_nothing_to_be_compared_with() -> None:
    """Leaving one out of one leaves none."""
    assert leave_one_out(["a"], [[1.0, 0.0]]) == [None]
