"""Files of recordings are read one recording at a time, with the same results as in memory."""

from __future__ import annotations

import os
import threading
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pytest

from fairtrial import UsageError, iter_recordings, load_recordings, score
from fairtrial.api import ReadOptions, plan_score
from fairtrial.errors import FormatError
from fairtrial.formats.recordings import line
from fairtrial.loading.streams import StreamedRecordings, scan_sources
from fairtrial.records.attempt import Recording
from fairtrial.records.trace import Invocation, Message, ToolCall, Trace

CRITERIA = {"tool_call_count_v1": 1.0}


def _recording(case_id: str, calls: int = 1) -> Recording:
    steps = tuple(ToolCall("look", {"n": number}) for number in range(calls))
    return Recording(case_id, Trace((Invocation(Message("q"), steps, Message("a")),), case_id))


def _file(folder: Path, name: str, recordings: Sequence[Recording]) -> Path:
    (folder / name).write_bytes(b"".join(map(line, recordings)))
    return folder / name


def _score_trace(*paths: Path, only: Sequence[str] = ()) -> list[tuple[str, int, int, float | None]]:
    run = score(paths, criteria=CRITERIA, only=only)
    return [(result.title, result.position, result.attempt, result.outcomes[0].score.value) for result in run.cases]


def test_recordings_of_one_case_are_its_attempts(tmp_path: Path) -> None:
    """Cases come in the order in which they first appear, and attempts in file order, next to each other or not."""
    recordings = [_recording("b", 1), _recording("a", 2), _recording("b", 3), _recording("c", 4), _recording("b", 5)]
    assert _score_trace(_file(tmp_path, "r.jsonl", recordings)) == [
        ("b", 0, 1, 1.0),
        ("b", 0, 2, 3.0),
        ("b", 0, 3, 5.0),
        ("a", 1, 1, 2.0),
        ("c", 2, 1, 4.0),
    ]


def test_streamed_results_are_those_of_recordings_in_memory(tmp_path: Path) -> None:
    """The way of reading changes nothing: keys, attempts, scores and verdicts are equal."""
    recordings = [_recording(f"case {number % 7}", number % 3) for number in range(30)]
    path = _file(tmp_path, "r.jsonl", recordings)
    streamed, in_memory = score(path, criteria=CRITERIA), score(recordings, criteria=CRITERIA)
    assert list(streamed.cases) == list(in_memory.cases)
    assert streamed.summary == in_memory.summary


def test_cases_of_several_files_have_names_of_their_own(tmp_path: Path) -> None:
    """An id that two files share is a case of each file, not two attempts of one case."""
    first = _file(tmp_path, "1.jsonl", [_recording("a"), _recording("b")])
    second = _file(tmp_path, "2.jsonl", [_recording("c"), _recording("a", 2)])
    assert [row[:3] for row in _score_trace(first, second)] == [
        ("recorded:a#1", 0, 1),
        ("b", 1, 1),
        ("c", 2, 1),
        ("recorded:a#2", 3, 1),
    ]


def test_only_selects_streamed_cases(tmp_path: Path) -> None:
    """By a glob of their id, also for one file alone (`FILE:case`); positions stay those of all cases."""
    path = _file(tmp_path, "r.jsonl", [_recording("x1"), _recording("y"), _recording("x2"), _recording("x1")])
    assert [row[:3] for row in _score_trace(path, only=["x*"])] == [("x1", 0, 1), ("x1", 0, 2), ("x2", 2, 1)]
    assert [row[0] for row in _score_trace(Path(f"{path}:y"))] == ["y"]


def test_a_glob_that_matches_no_streamed_case_is_refused(tmp_path: Path) -> None:
    """The nearest id is named."""
    path = _file(tmp_path, "r.jsonl", [_recording("refund"), _recording("order")])
    with pytest.raises(UsageError, match="no case matches 'refunds'; did you mean 'refund'"):
        score(path, criteria=CRITERIA, only=["refunds"])


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        (b'{"case_id": 5, "trace": {}}\n', "/2/case_id: is not a recording: Expected `str`, got `int`"),
        (b'{"case_id": "x", "trace": \n', "line 3, column 27: is not JSON: Expecting value"),
    ],
)
def test_a_broken_recording_is_named_before_anything_is_scored(tmp_path: Path, broken: bytes, problem: str) -> None:
    """The third of four recordings is wrong; nothing is stored of the others."""
    good = [line(_recording(name)) for name in "abc"]
    (tmp_path / "r.jsonl").write_bytes(b"".join([*good[:2], broken, good[2]]))
    with pytest.raises(FormatError, match=problem):
        score(tmp_path / "r.jsonl", criteria=CRITERIA, store=f"sqlite:///{tmp_path}/runs.db")
    assert not (tmp_path / "runs.db").exists()


def test_problems_of_several_recordings_are_named_at_once(tmp_path: Path) -> None:
    """A user repairs all of them before the next attempt."""
    good, broken = line(_recording("a")), b'{"case_id": 5, "trace": {}}\n'
    (tmp_path / "r.jsonl").write_bytes(good + broken + good + broken)
    with pytest.raises(FormatError) as caught:
        score(tmp_path / "r.jsonl", criteria=CRITERIA)
    assert [problem.partition(":")[0] for problem in caught.value.problems] == ["/1/case_id", "/3/case_id"]


def test_a_file_that_changes_is_noticed(tmp_path: Path) -> None:
    """The recordings that were checked are not the recordings that would be scored."""
    path = _file(tmp_path, "r.jsonl", [_recording("a"), _recording("b")])
    plan = plan_score([path], None, CRITERIA)
    _file(tmp_path, "r.jsonl", [_recording("a"), _recording("b", 2)])
    with pytest.raises(UsageError, match="the file changed while its recordings were scored"):
        list(plan.recorded or ())


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    """A pipe cannot be read a second time, so its recordings are held."""
    os.mkfifo(tmp_path / "pipe")
    data = b"".join(map(line, [_recording("a"), _recording("b")]))
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(data,))
    writer.start()
    assert [row[0] for row in _score_trace(tmp_path / "pipe")] == ["a", "b"]
    writer.join()


@pytest.mark.long
def test_recordings_are_not_held(tmp_path: Path) -> None:
    """Four times as many recordings take hardly more memory to check and to read again."""

    def peak(count: int) -> int:
        path = _file(tmp_path, f"{count}.jsonl", [_recording(f"case {number}") for number in range(count)])
        tracemalloc.start()
        plan = plan_score([path], None, CRITERIA)
        assert isinstance(plan.recorded, StreamedRecordings)
        assert sum(1 for _ in plan.recorded) == len(plan.cases) == count
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    few = peak(2_000)  # more than a block
    assert peak(8_000) < 1.2 * few


def test_files_that_need_each_other_are_held(tmp_path: Path) -> None:
    """With `match` or an eval set, recordings find their case among all cases."""
    path = _file(tmp_path, "r.jsonl", [_recording("a"), _recording("b")])
    plan = plan_score([path], None, CRITERIA, ReadOptions(match="session"))
    assert not isinstance(plan.recorded, StreamedRecordings)
    assert [recording.case_id for _, recording in plan.recorded or ()] == ["a", "b"]


def test_the_index_leaves_out_files_with_eval_sets(tmp_path: Path) -> None:
    """One such file is enough: all files are then returned with their recordings."""
    first = _file(tmp_path, "1.jsonl", [_recording("a"), _recording("b")])
    (tmp_path / "2.evalset.json").write_text('{"eval_set_id": "s", "eval_cases": []}')
    sources, index = scan_sources([first, tmp_path / "2.evalset.json"])
    assert index is None
    assert [len(source.loaded.recordings) for source in sources] == [2, 0]


def test_recordings_can_be_iterated(tmp_path: Path) -> None:
    """`iter_recordings` gives what `load_recordings` gives, over files and folders."""
    _file(tmp_path, "1.jsonl", [_recording("a"), _recording("b")])
    _file(tmp_path, "2.jsonl", [_recording("c"), _recording("d")])
    assert list(iter_recordings(tmp_path)) == load_recordings(tmp_path)
    assert [recording.case_id for recording in iter_recordings(tmp_path)] == ["a", "b", "c", "d"]


def test_iterating_ends_with_the_problems_of_a_file(tmp_path: Path) -> None:
    """The readable recordings come first."""
    (tmp_path / "r.jsonl").write_bytes(line(_recording("a")) + b'{"case_id": 5, "trace": {}}\n' + line(_recording("b")))
    found: list[str] = []
    with pytest.raises(FormatError, match="/1/case_id"):
        found.extend(recording.case_id for recording in iter_recordings(tmp_path / "r.jsonl"))
    assert found == ["a", "b"]
