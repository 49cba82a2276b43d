"""A conversation of plain messages is read on a short way. A key that carries nothing leads to the long way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairtrial.errors import FormatError
from fairtrial.formats.chats import dialects
from fairtrial.formats.reading import Diagnostics
from fairtrial.records.attempt import Recording

_TEXTS = st.sampled_from(
    (
        *(
            "",
            "Where is it?",
            "[1, 2]",
            '{"error": "no order"}',
            '{"status": "sent"}',
            "{broken",
            "error: no order",
            "é\n",
        ),
        *("New task:\nFind it.", "You are a world expert at analyzing a situation", "Observation:\n3", "5", " "),
        *("the password is hunter2.Xq9", "api_key=sk-live-4f3c8e21aa90bd17"),
    )
)
_ARGUMENTS = st.sampled_from(
    ("", "{}", '{"id": 7}', '{"result": "Done."}', "[1]", "7", "{broken", '{"a": {"b": [null]}}')
)
_IDS = st.sampled_from(("", "c1", "c2", "c3"))
_NAMES = st.sampled_from(("find_order", "attempt_completion", "final_answer", ""))
_CALLS = st.builds(
    lambda call_id, name, arguments: {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    },
    _IDS,
    _NAMES,
    _ARGUMENTS,
)
_CONTENTS = _TEXTS | st.none()
_ODD_MESSAGES = st.one_of(
    st.builds(lambda role, text: {"role": role, "content": text}, st.sampled_from(("user", "assistant")), _CONTENTS),
    st.builds(
        lambda text, calls: {"role": "assistant", "content": text, "tool_calls": calls},
        _CONTENTS,
        st.lists(_CALLS, max_size=2),
    ),
    st.builds(lambda text, call_id: {"role": "tool", "content": text, "tool_call_id": call_id}, _CONTENTS, _IDS),
    st.builds(lambda role, text: {"role": role, "content": text}, st.sampled_from(("developer", "tool")), _TEXTS),
)


@st.composite
def _orderly(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw messages in which each call has its own id and each result follows its call."""
    messages: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 6))):
        role = draw(st.sampled_from(("user", "user", "assistant", "tool", "system")))
        if role != "tool":
            messages.append({"role": role, "content": draw(_TEXTS)})
            continue
        calls = [
            {**draw(_CALLS), "id": f"c{number}-{place}", "function": {"name": "find_order", "arguments": '{"id": 7}'}}
            for place in range(draw(st.integers(1, 2)))
        ]
        messages.append({"role": "assistant", "content": draw(_CONTENTS), "tool_calls": calls})
        messages += [{"role": "tool", "content": draw(_TEXTS), "tool_call_id": call["id"]} for call in calls]
    return messages


_DIALOGUES = _orderly() | st.lists(_ODD_MESSAGES, min_size=1, max_size=6)


def _read(raw: Any) -> tuple[Recording | list[str], list[str]]:
    """Return what is read of a conversation, or its errors, and the warnings."""
    reading = Diagnostics("shop.jsonl")
    try:
        recording: Recording | list[str] = dialects.conversation(raw, (), reading, name="shop-1")
        reading.finish()
    except FormatError as error:
        return list(error.problems), reading.warnings
    return recording, reading.warnings


def _with_weights(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with a key that every reader knows and that says nothing of the dialogue."""
    return [{**message, "weight": 1} for message in messages]


@given(_DIALOGUES, st.none() | st.sampled_from(("case_1", "", 7)))
def test_the_short_way_gives_the_recording_the_warnings_and_the_errors_of_the_long_way(
    messages: list[dict[str, Any]], case_id: object
) -> None:
    """Each difference would be a message that one of the ways reads otherwise."""
    short, long = ({"id": case_id, "messages": each} for each in (messages, _with_weights(messages)))

    assert json.dumps(short).count("weight") == 0
    assert repr(_read(short)) == repr(_read(long))


@given(_DIALOGUES)
def test_a_list_of_messages_is_read_as_the_request_that_holds_it(messages: list[dict[str, Any]]) -> None:
    """Only the places in warnings and errors differ."""
    (alone, _), (held, _) = _read(messages), _read({"messages": messages})

    assert alone == held or isinstance(alone, list)


@pytest.mark.parametrize(
    "beside",
    [{"reward": 1.0}, {"system": "Be kind."}, {"tools": [{"name": "find_order"}]}, {"fairtrial": {"history": 1}}],
    ids=["reward", "instructions", "tools", "export"],
)
def test_a_key_beside_plain_messages_is_read(beside: dict[str, Any]) -> None:
    """The short way knows the id and the messages alone."""
    messages = [{"role": role, "content": role} for role in ("user", "assistant", "user", "assistant")]

    plain, _ = _read({"messages": messages})
    told, _ = _read({"messages": messages, **beside})

    assert isinstance(plain, Recording)
    assert isinstance(told, Recording)
    assert plain != told
