"""Messages that each later call of a model repeats."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fairtrial.formats.dialects import repeated_json
from fairtrial.formats.dialects.attributes import chat_entries
from fairtrial.formats.dialects.genai import read_entries
from fairtrial.formats.dialects.repeated_json import RepeatedJson, plain, repeated_items, repeated_members
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.spans.span_values import structured

HISTORY: list[dict[str, Any]] = [
    {"role": "user", "content": "Where is order A-17?"},
    {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "get", "arguments": '{"id": "A-17"}'}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "shipped"},
]
STRANGE = {"role": "narrator", "content": "Meanwhile."}


def deep(levels: int) -> Any:
    """Return arrays in arrays."""
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


def read_values(items: Any) -> Any:
    """Return items as plain data."""
    return [plain(item) for item in items] if isinstance(items, list) else items


def test_a_repeated_message_is_read_once() -> None:
    """The messages that two calls have in common are the same objects in both."""
    first, second = repeated_items(json.dumps(HISTORY[:2])), repeated_items(json.dumps(HISTORY))
    assert first[0] is second[0]
    assert first[1] is second[1]
    reading = Diagnostics("spans.jsonl")
    entries, later = chat_entries(first, reading), chat_entries(second, reading)
    assert [id(entry) for entry in later[:2]] == [id(entry) for entry in entries]


def test_repeated_messages_hold_what_plain_messages_hold() -> None:
    """Remembering messages changes nothing in what is read."""
    reading = Diagnostics("spans.jsonl")
    for size in range(len(HISTORY) + 1):
        assert chat_entries(repeated_items(json.dumps(HISTORY[:size])), reading) == chat_entries(
            HISTORY[:size], reading
        )


@pytest.mark.parametrize(
    "text",
    ["[1, 2", '[{"a": 1}] 2', '"[1]"', "", "text", "{}", '["\\ud800"]', json.dumps(deep(101))],
    ids=["cut off", "a surplus", "twice JSON", "empty", "a text", "an object", "half a pair", "too deep"],
)
def test_a_text_that_is_not_an_array_is_read_as_everywhere(text: str) -> None:
    """An attribute that is not the text of an array is structured as other attributes are."""
    assert read_values(repeated_items(text)) == structured(text)


@pytest.mark.parametrize("text", ['{"contents": null, "a": 1}', '{"contents": 2}', "[1]", "{", '{"a": 1}'])
def test_an_object_without_an_array_under_the_key_is_read_as_everywhere(text: str) -> None:
    """An object is structured as other attributes are if it does not hold the array."""
    assert repeated_members(text, "contents") == structured(text)


def test_an_object_keeps_its_other_members() -> None:
    """Only the items of the array are kept as repeated values."""
    request = repeated_members('{"model": "m", "contents": [{"parts": []}, 1]}', "contents")
    assert request["model"] == "m"
    assert [type(item) for item in request["contents"]] == [RepeatedJson, RepeatedJson]
    assert read_values(request["contents"]) == [{"parts": []}, 1]


def test_a_problem_in_a_repeated_message_is_a_warning_each_time() -> None:
    """Each body of data has its own warnings, with the place of the message in its list."""
    for messages in ([STRANGE], [HISTORY[0], STRANGE], [STRANGE]):
        known, other = Diagnostics("spans.jsonl"), Diagnostics("spans.jsonl")
        chat_entries(repeated_items(json.dumps(messages)), known)
        chat_entries(messages, other)
        assert known.warnings == other.warnings
        assert f"/{len(messages) - 1}/role" in known.warnings[0]


def test_a_part_that_nobody_knows_is_a_warning_in_each_reading() -> None:
    """A message in parts is not remembered if it has a problem."""
    raw = json.dumps([{"role": "user", "parts": [{"type": "hologram"}]}])
    for _ in range(2):
        reading = Diagnostics("spans.jsonl")
        read_entries(raw, reading)
        assert len(reading.warnings) == 1


def test_the_memory_of_messages_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the texts of all messages are too long, messages are read again instead of filling the memory."""
    monkeypatch.setattr(repeated_json, "_MOST_BYTES", 100)
    text = json.dumps([{"role": "user", "content": "x" * 40}])
    first = repeated_items(text)[0]
    assert repeated_items(text)[0] is first
    repeated_items(json.dumps([{"role": "user", "content": "y" * 40}]))
    assert repeated_items(text)[0] is not first
