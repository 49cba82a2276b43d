"""A novelty index with segments: it grows, forgets what was replaced, and names what is damaged."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairtrial.errors import FormatError, UsageError
from fairtrial.system.file_lock import try_to_lock
from fairtrial.valuation import index_changes, segmented_index
from fairtrial.valuation.index_changes import Addition, extend_index
from fairtrial.valuation.novelty import VectorCache
from fairtrial.valuation.opened_index import open_index, open_saved
from fairtrial.valuation.segmented_index import SegmentedIndex, segments_folder

DIMENSIONS = 24
NOW = 1000.0


def _vectors(count: int, seed: int = 1) -> Any:
    vectors = np.random.default_rng(seed).normal(size=(count, DIMENSIONS)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _addition(first: int, count: int, *, seed: int = 1) -> Addition:
    """Traces with the numbers from `first` on. Each number has its own vector, by the seed."""
    ids = [f"t{number}" for number in range(first, first + count)]
    return Addition(ids, _vectors(first + count, seed)[first:], [f"d{seed}" for _ in ids])


def _open(path: Path, **options: Any) -> SegmentedIndex:
    return SegmentedIndex(path, clock=lambda: NOW, **options)


def _ids(path: Path) -> list[str]:
    return [name for rows in _open(path).iter_rows() for name in rows.ids]


def _segments(path: Path) -> list[Path]:
    return sorted(segments_folder(path).glob("*.segment"))


@pytest.mark.parametrize("steps", [[300], [100, 100, 100], [1] * 40 + [260], [250, 40, 7, 2, 1]])
def test_an_index_that_grew_answers_as_one_that_was_made_at_once(tmp_path: Path, steps: list[int]) -> None:
    """However the traces came, the nearest of each is the one of brute force over all of them."""
    first = 0
    for count in steps:
        extend_index(tmp_path / "index", [_addition(first, count)])
        first += count
    cache = VectorCache(None, DIMENSIONS)
    cache.extend(*_addition(0, 300))
    queries = _vectors(50, seed=2)
    found, expected = _open(tmp_path / "index").search(queries), cache.search(queries)
    assert [one and one.id for one in found] == [one and one.id for one in expected]
    assert [one.cosine for one in found if one] == pytest.approx([one.cosine for one in expected if one], abs=1e-6)
    assert len(_open(tmp_path / "index")) == 300


def test_one_trace_is_added_without_the_others(tmp_path: Path) -> None:
    """The segment of the earlier traces is not written again, and not read."""
    extend_index(tmp_path / "index", [_addition(0, 3000)])
    (large,) = _segments(tmp_path / "index")
    raw = bytearray(large.read_bytes())
    raw[5] ^= 1  # whoever reads its vectors would refuse it
    large.write_bytes(raw)
    changed = large.stat().st_mtime_ns
    extend_index(tmp_path / "index", [_addition(3000, 1)])
    assert (large.stat().st_mtime_ns, len(_segments(tmp_path / "index"))) == (changed, 2)


@pytest.mark.long
def test_small_segments_are_merged(tmp_path: Path) -> None:
    """A thousand additions leave a few segments, in the order of addition."""
    for number in range(200):
        extend_index(tmp_path / "index", [_addition(number, 1)])
    assert len(_segments(tmp_path / "index")) < 24
    assert _ids(tmp_path / "index") == [f"t{number}" for number in range(200)]


def test_a_large_segment_is_never_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So no addition has more than a bounded cost."""
    monkeypatch.setattr(index_changes, "SEALED", 50)
    extend_index(tmp_path / "index", [_addition(0, 120)])
    first = _segments(tmp_path / "index")
    assert len(first) == 3
    extend_index(tmp_path / "index", [_addition(120, 60)])
    assert _segments(tmp_path / "index")[:2] == first[:2]
    assert _ids(tmp_path / "index") == [f"t{number}" for number in range(180)]


def test_a_trace_replaces_the_trace_with_its_id(tmp_path: Path) -> None:
    """Its old vector is not found any more, and what is mostly replaced is written again without it."""
    extend_index(tmp_path / "index", [_addition(0, 100)])
    extend_index(tmp_path / "index", [_addition(10, 5, seed=2)])
    assert len(_open(tmp_path / "index")) == 100
    old = _open(tmp_path / "index").search(_vectors(100)[10:15])
    assert all(one and one.cosine < 0.99 for one in old)
    new = _open(tmp_path / "index").search(_vectors(15, seed=2)[10:])
    assert [one and one.id for one in new] == [f"t{number}" for number in range(10, 15)]
    extend_index(tmp_path / "index", [_addition(20, 70, seed=3)])
    assert not list(segments_folder(tmp_path / "index").glob("*.replaced"))
    assert sorted(_ids(tmp_path / "index")) == sorted(f"t{number}" for number in range(100))


def test_of_new_traces_with_one_id_the_last_counts(tmp_path: Path) -> None:
    """As if they had been added one after the other."""
    extend_index(tmp_path / "index", [_addition(0, 3), _addition(1, 1, seed=2)])
    assert _ids(tmp_path / "index") == ["t0", "t2", "t1"]


def test_a_sequence_keeps_traces_with_one_id(tmp_path: Path) -> None:
    """It compares each trace with the index and the traces before it, and replaces none."""
    extend_index(tmp_path / "index", [_addition(0, 3)], embedder="e")
    sequence = open_index("sequence", tmp_path / "index", embedder="e")
    rows = np.concatenate([_vectors(3)[1:2], _vectors(1, seed=5), _vectors(1, seed=5)])
    found = sequence.nearest(["t1", "new", "newer"], rows, ["a", "b", "c"])
    assert [found[0] and found[0].id, found[2] and found[2].id] == ["t1", "new"]
    sequence.save()
    assert _ids(tmp_path / "index") == ["t0", "t1", "t2", "t1", "new", "newer"]
    assert _open(tmp_path / "index").last_ids(4) == ("t2", "t1", "new", "newer")


def test_a_trace_does_not_find_itself(tmp_path: Path) -> None:
    """With its id and its digest it is the same trace. With another digest it is an earlier version."""
    extend_index(tmp_path / "index", [_addition(0, 5)])
    index, query = _open(tmp_path / "index"), _vectors(3)[2:]
    (other,) = index.search(query, ids=["t2"], digests=["d1"])
    (earlier,) = index.search(query, ids=["t2"], digests=["changed"])
    assert (other and other.id != "t2", earlier and earlier.id) == (True, "t2")


def test_traces_expire(tmp_path: Path) -> None:
    """They are not found after their time, and leave with the next addition that merges them."""
    extend_index(tmp_path / "index", [_addition(0, 5)], ttl=10.0, clock=lambda: NOW - 20)
    assert _open(tmp_path / "index").search(_vectors(1)) == [None]
    extend_index(tmp_path / "index", [_addition(5, 1)], clock=lambda: NOW)
    assert _ids(tmp_path / "index") == ["t5"]
    assert len(_segments(tmp_path / "index")) == 1


def test_an_index_of_one_file_gets_segments(tmp_path: Path) -> None:
    """The traces and the embedder stay. Another embedder is refused before and after."""
    cache = VectorCache(None, DIMENSIONS, clock=lambda: NOW)
    cache.extend(*_addition(0, 30))
    cache.save(tmp_path / "index", embedder="e")
    with pytest.raises(UsageError, match="by the embedder 'e', not by 'f'"):
        extend_index(tmp_path / "index", [_addition(30, 1)], embedder="f")
    extend_index(tmp_path / "index", [_addition(30, 1)], embedder="e")
    assert _ids(tmp_path / "index") == [f"t{number}" for number in range(31)]
    with pytest.raises(UsageError, match="by the embedder 'e', not by 'f'"):
        extend_index(tmp_path / "index", [_addition(31, 1)], embedder="f")
    loaded = VectorCache.load(tmp_path / "index", embedder="e")
    assert (loaded.ids, VectorCache.read_embedder(tmp_path / "index")) == (tuple(_ids(tmp_path / "index")), "e")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_vectors_that_are_no_numbers_are_not_added(tmp_path: Path, bad: float) -> None:
    """The index stays as it is."""
    extend_index(tmp_path / "index", [_addition(0, 3)])
    before = (tmp_path / "index").read_bytes()
    rows = _vectors(2)
    rows[1, 3] = bad
    with pytest.raises(UsageError, match="must be finite numbers"):
        extend_index(tmp_path / "index", [Addition(["a", "b"], rows, ["", ""])])
    assert (tmp_path / "index").read_bytes() == before


def test_vectors_of_another_length_are_refused(tmp_path: Path) -> None:
    """The message has both lengths."""
    extend_index(tmp_path / "index", [_addition(0, 3)])
    with pytest.raises(UsageError, match="have 24 dimensions, not 3"):
        extend_index(tmp_path / "index", [Addition(["a"], np.ones((1, 3)), [""])])


def test_every_damaged_byte_is_named_by_its_segment(tmp_path: Path) -> None:
    """Whichever byte is wrong: whoever reads everything meets it, and the message has the name of the segment."""
    for first, count in ((0, 40), (40, 5)):
        extend_index(tmp_path / "index", [_addition(first, count)])
    _, second = _segments(tmp_path / "index")
    data = second.read_bytes()
    for place in range(0, len(data), 11):
        second.write_bytes(data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :])
        with pytest.raises(FormatError, match=r"00000002\.segment: this segment of the index is damaged"):
            _read_everything(tmp_path / "index")


def _read_everything(path: Path) -> None:
    index = _open(path)
    index.search(_vectors(2), ids=["t1", "t41"], digests=["", ""])
    for _ in index.iter_rows():
        pass


@pytest.mark.parametrize("size", [0, 1, 100, -1, -4])
def test_a_cut_segment_is_named(tmp_path: Path, size: int) -> None:
    """Before anything is read from it."""
    extend_index(tmp_path / "index", [_addition(0, 40)])
    (segment,) = _segments(tmp_path / "index")
    segment.write_bytes(segment.read_bytes()[:size])
    with pytest.raises(FormatError, match=r"00000001\.segment: .*its size is not that of its rows"):
        _open(tmp_path / "index")


def test_a_missing_segment_is_named(tmp_path: Path) -> None:
    """For example, after only the file of the index was copied."""
    extend_index(tmp_path / "index", [_addition(0, 4)])
    _segments(tmp_path / "index")[0].unlink()
    with pytest.raises(FormatError, match=r"00000001\.segment: this segment of the index is missing"):
        _open(tmp_path / "index")


def test_every_damaged_byte_of_the_file_of_an_index_is_found(tmp_path: Path) -> None:
    """Its checksum covers what it says, so that no other rows count."""
    extend_index(tmp_path / "index", [_addition(0, 4)])
    extend_index(tmp_path / "index", [_addition(1, 1, seed=2)])
    data = (tmp_path / "index").read_bytes()
    for place in range(len(data)):
        (tmp_path / "index").write_bytes(data[:place] + bytes([data[place] ^ 0x01]) + data[place + 1 :])
        with pytest.raises(FormatError):
            open_saved(tmp_path / "index")


def test_a_damaged_list_of_replaced_rows_is_named(tmp_path: Path) -> None:
    """Otherwise rows that do not count would be found again."""
    extend_index(tmp_path / "index", [_addition(0, 40)])
    extend_index(tmp_path / "index", [_addition(1, 1, seed=2)])
    (replaced,) = segments_folder(tmp_path / "index").glob("*.replaced")
    replaced.write_bytes(b"\2" + replaced.read_bytes()[1:])
    with pytest.raises(FormatError, match="the list of replaced rows is damaged"):
        _open(tmp_path / "index")


def test_writers_wait_for_each_other_and_none_is_lost(tmp_path: Path) -> None:
    """Six threads add at once. A lock of a file is between holders, not between processes."""
    writers = [
        threading.Thread(target=extend_index, args=(tmp_path / "index", [_addition(10 * number, 10)]))
        for number in range(6)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(_ids(tmp_path / "index")) == sorted(f"t{number}" for number in range(60))


def test_a_writer_gives_up_after_its_patience(tmp_path: Path) -> None:
    """It says why, and changes nothing."""
    with (tmp_path / "index.lock").open("ab") as lock:
        assert try_to_lock(lock)
        with pytest.raises(UsageError, match="another process is writing it"):
            extend_index(tmp_path / "index", [_addition(0, 1)], patience=0.0)
    assert not (tmp_path / "index").exists()


def test_a_reader_goes_on_while_segments_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the index at the time when it was opened. If a segment goes while it opens, it reads the new state."""
    extend_index(tmp_path / "index", [_addition(0, 3)])
    opened, earlier = _open(tmp_path / "index"), segmented_index.read_head(tmp_path / "index")
    extend_index(tmp_path / "index", [_addition(3, 50)])
    assert opened.search(_vectors(53)[52:])[0] != _open(tmp_path / "index").search(_vectors(53)[52:])[0]
    real, heads = segmented_index.read_head, [earlier]
    monkeypatch.setattr(segmented_index, "read_head", lambda path, **more: heads.pop() if heads else real(path, **more))
    assert len(_open(tmp_path / "index")) == 53


_KILLED = """
import os, sys
from itertools import count
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import numpy as np
from fairtrial.valuation.index_changes import extend_index
from test_segmented_index import _addition, _ids, _open, segments_folder

path, states = Path(sys.argv[1]), ([f"t{n}" for n in range(12)], [*(f"t{n}" for n in range(2, 12)), "t0", "t1", "t12"])
watched = ("open", "os.rename", "os.remove", "os.truncate", "os.mkdir")
left = [-1]

def kill_at(event, args):
    is_change = event in watched and (event != "open" or set(str(args[1])) & set("wa+"))
    if left[0] >= 0 and (is_change or event == "fsync"):
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), 9)

sys.addaudithook(kill_at)
real = os.fsync
os.fsync = lambda descriptor: (kill_at("fsync", ()), real(descriptor))[1]
for number in range(4):
    extend_index(path, [_addition(3 * number, 3)])
for place in count():
    child = os.fork()
    if not child:
        left[0] = place
        extend_index(path, [_addition(0, 2, seed=2), _addition(12, 1)])
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    ids = _ids(path)
    assert ids in states, (place, ids)
    if status == 0:
        break
    assert os.WTERMSIG(status) == 9
left_over = [file.name for file in path.parent.rglob("*") if file.suffix in {".part", ".unnamed"}]
names = {segment.entry.name for segment in _open(path).segments}
strange = [file.name for file in segments_folder(path).iterdir() if file.name[:8] not in names]
print(place, left_over, strange)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked")
def test_a_process_that_is_killed_leaves_the_index_before_or_after(tmp_path: Path) -> None:
    """It is killed before each change of a file: opened for writing, synced, renamed or removed."""
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(tmp_path / "index"), str(Path(__file__).parent)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    places, rest = done.stdout.split(" ", 1)
    assert int(places) > 20
    assert rest == "[] []\n"
