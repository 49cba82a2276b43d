"""Requests that follow one another are one conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fairtrial import TraceOptions, api, loading
from fairtrial.loading import streams

USER = {"role": "user", "content": "Where is order A-17?"}
CALL = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "get_order", "arguments": "{}"}}]}
RESULT = {"role": "tool", "tool_call_id": "1", "content": "shipped"}
REPLY = {"role": "assistant", "content": "It has shipped."}
THANKS = {"role": "user", "content": "Thanks."}
WHOLE = [USER, CALL, RESULT, REPLY, THANKS, {"role": "assistant", "content": "You are welcome."}]


def write(folder: Path, *lists: list[Any], is_request: bool = True) -> Path:
    """Write each list of messages as a line: as a request to a model, or as the list alone."""
    path = folder / "log.jsonl"
    values = [{"model": "m", "messages": messages} if is_request else {"messages": messages} for messages in lists]
    path.write_text("\n".join(map(json.dumps, values)), encoding="utf-8")
    return path


def lengths(path: Path, **options: Any) -> list[int]:
    """Return the number of invocations of each recording."""
    sources = loading.sources([path], recorded=True, traces=TraceOptions(**options))
    return [len(recording.trace.invocations) for source in sources for recording in source.loaded.recordings]


def test_requests_that_follow_one_another_are_one_conversation(tmp_path: Path) -> None:
    """Each request repeats the one before. Requests of another conversation may stand between them."""
    path = write(tmp_path, WHOLE[:1], WHOLE[:3], [THANKS, REPLY], WHOLE[:5], WHOLE)
    assert lengths(path) == [1, 2]
    assert lengths(path, join="none") == [1, 1, 1, 2, 2]
    assert lengths(path, join="id") == [1, 1, 1, 2, 2]


def test_requests_in_several_files_are_one_conversation(tmp_path: Path) -> None:
    """A proxy may write a file for each request. Files are read in the order of their names."""
    for number, messages in enumerate((WHOLE[:1], WHOLE[:3], WHOLE), 1):
        (tmp_path / f"{number}.json").write_text(json.dumps({"model": "m", "messages": messages}), encoding="utf-8")
    (tmp_path / "other.json").write_text(json.dumps([THANKS, REPLY]), encoding="utf-8")
    assert lengths(tmp_path) == [2, 1]
    assert lengths(tmp_path, join="none") == [1, 1, 2, 1]
    run = api.score(tmp_path, None, {"criteria": {"tool_call_count_v1": {"threshold": 9}}})
    assert [case.case_id for case in run.cases] == ["3", "other"]
    sources = loading.sources([tmp_path], recorded=True)
    assert [warning for source in sources for warning in source.loaded.warnings if "joined 2 requests" in warning]


def test_a_streamed_file_is_the_same(tmp_path: Path) -> None:
    """A file that is scored alone is read line by line."""
    path = write(tmp_path, WHOLE[:1], WHOLE[:3], WHOLE)
    run = api.score(path, None, {"criteria": {"tool_call_count_v1": {"threshold": 9}}})
    assert [case.case_id for case in run.cases] == ["log-3"]
    (source,), _ = streams.scan_sources([path])
    assert ["joined 2 requests" in warning for warning in source.loaded.warnings] == [True]
    apart = api.score(
        path, None, {"criteria": {"tool_call_count_v1": {"threshold": 9}}}, traces=TraceOptions(join="none")
    )
    assert len(apart.cases) == 3


def test_streamed_files_are_one_body(tmp_path: Path) -> None:
    """However large the files are together: they are read again to be scored, and never held."""
    for number, messages in enumerate((WHOLE[:1], WHOLE[:3], WHOLE), 1):
        (tmp_path / f"{number}.json").write_text(json.dumps({"model": "m", "messages": messages}), encoding="utf-8")
    sources, index = streams.scan_sources([tmp_path])
    assert index is not None
    assert [(case.source, case.id) for case in index] == [(2, "3")]
    assert [source.loaded.recordings for source in sources] == [(), (), ()]
    _, apart = streams.scan_sources([tmp_path], traces=TraceOptions(join="id"))
    assert [case.id for case in apart or ()] == ["1", "2", "3"]


def test_two_possible_successors_are_not_joined(tmp_path: Path) -> None:
    """The user went back to the first reply. Nobody knows which conversation goes on with it."""
    other = [*WHOLE[:4], {"role": "user", "content": "Cancel it."}, REPLY]
    assert lengths(write(tmp_path, WHOLE[:4], WHOLE, other)) == [1, 2, 2]


@pytest.mark.parametrize("is_request", [True, False])
def test_an_attempt_without_a_reply_is_not_lost(is_request: bool, tmp_path: Path) -> None:
    """A list alone may be an attempt in which the agent gave up. Only a request surely goes on."""
    path = write(tmp_path, WHOLE[:1], WHOLE[:4], is_request=is_request)
    assert lengths(path) == ([1] if is_request else [1, 1])
