"""JSON lines and arrays are read block by block, wherever the blocks end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.formats.items import iter_recordings
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.recognise import read
from fairtrial.formats.recordings import line
from fairtrial.formats.values import NotStreamableError, iter_values
from fairtrial.records.attempt import Recording
from fairtrial.records.trace import Invocation, Message, Trace
from reasonings import reasoning

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False, width=32)
)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))
OBJECTS = st.lists(st.dictionaries(st.text(), VALUES, max_size=3), min_size=2, max_size=5)


def _blocks(text: str, size: int) -> Iterator[bytes]:
    data = text.encode()
    return (data[start : start + size] for start in range(0, len(data), size))


@pytest.mark.long
@given(OBJECTS, st.integers(1, 40), st.booleans())
def test_lines_do_not_depend_on_the_blocks(values: list[Any], size: int, escaped: bool) -> None:
    """A block may end in the middle of a character, and blank lines do not count."""
    text = "\n\n".join(json.dumps(value, ensure_ascii=escaped) for value in values)
    assert list(iter_values(_blocks(text, size))) == values


@pytest.mark.long
@given(OBJECTS, st.integers(1, 40), st.sampled_from([None, 1]))
def test_arrays_do_not_depend_on_the_blocks(values: list[Any], size: int, indent: int | None) -> None:
    """Brackets and quotes in strings do not end an item."""
    text = json.dumps(values, ensure_ascii=False, indent=indent)
    assert list(iter_values(_blocks(text, size))) == values


def test_a_byte_order_mark_is_skipped() -> None:
    """Editors on Windows write it."""
    assert list(iter_values([b"\xef\xbb", b'\xbf[{"a": 1}]'])) == [{"a": 1}]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"a":\n1}',
        '{"a": 1}\n{"b": 2} // comment\n',
        '{"a": 1}\n{"b": 2}\n[]x\n',
        "[]",
        "[1, 2]",
        '[{"a": 1}, 2]',
        '[{"a": 1},]',
        '[{"a": 1}] x',
        '[{"a": 1} {"b": 2}]',
        '[{"a": 1}, {"b": NaN}]',
        '[{"a": 1}, {"b": "\\ud800"}]',
        '[{"a": 1}, {"b": ' + "[" * 100_000,
        '[{"a": 1}, {"b": 2}',
    ],
)
def test_everything_else_is_read_as_a_whole(text: str) -> None:
    """The reader of the whole file repairs it, or says what is wrong with it."""
    with pytest.raises(NotStreamableError):
        list(iter_values(_blocks(text, 7)))


def test_bytes_that_are_not_text_are_read_as_a_whole() -> None:
    """The reader of the whole file names the place."""
    with pytest.raises(NotStreamableError):
        list(iter_values([b'[{"a": "', b'\xff"}]']))


RECORDINGS = [
    Recording(f"case {number}", Trace((Invocation(Message("q"), (), Message("a")),), f"s{number}"))
    for number in range(3)
]
CHATS = [{"messages": [{"role": "user", "content": str(number)}], "id": "x"} for number in range(3)]
LISTS = [
    ("recordings", [json.loads(line(recording)) for recording in RECORDINGS]),
    ("reasoning", [reasoning(number) for number in range(3)]),
    ("chats", CHATS),
]


@pytest.mark.parametrize("values", [values for _, values in LISTS], ids=[name for name, _ in LISTS])
@pytest.mark.parametrize("as_lines", [False, True], ids=["array", "lines"])
def test_streamed_recordings_are_those_of_the_whole_file(values: list[Any], as_lines: bool) -> None:
    """Each list format gives the same recordings in either way."""
    text = "".join(json.dumps(value) + "\n" for value in values) if as_lines else json.dumps(values)
    reading = Diagnostics("shop.jsonl")
    assert tuple(iter_recordings(_blocks(text, 64), reading)) == read(text.encode(), "shop.jsonl").recordings
    assert not reading.errors


def test_lists_of_messages_are_conversations() -> None:
    """Each item is a list of messages; the conversations are numbered from 1."""
    text = json.dumps([[{"role": "user", "content": "hi"}]] * 2)
    found = list(iter_recordings(_blocks(text, 8), Diagnostics("a/shop.chats.json")))
    assert [recording.case_id for recording in found] == ["shop-1", "shop-2"]


@pytest.mark.parametrize(
    "values",
    [
        [{"role": "user", "content": "one conversation"}] * 2,
        [{"query": "old", "reference": "reply"}] * 2,
        [{"name": "n", "data": []}] * 2,
        [{"task_id": 1, "traj": [], "info": {}, "messages": []}] * 2,
    ],
)
def test_files_with_more_than_recordings_are_read_as_a_whole(values: list[Any]) -> None:
    """One conversation over all items, or an eval set beside the recordings."""
    with pytest.raises(NotStreamableError):
        list(iter_recordings(_blocks(json.dumps(values), 64), Diagnostics("x.json")))
