"""The samples of all kinds hold one dialogue. It is read right, and a renamed key never changes it in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fairtrial.formats
from fairtrial.formats.recognise import read
from fairtrial.records.trace import ToolCall
from renamed_keys import (
    EXPECTED,
    changes_in_silence,
    contents,
    is_whole,
    keys_to_rename,
    read_documents,
    read_recordings,
    rename,
    write_documents,
)

SAMPLES = Path(fairtrial.formats.__file__).parent / "samples"
FILES = sorted(path.name for path in SAMPLES.iterdir())
QUESTION, REPLY = "Where is order A-17, please?", "It left the depot this morning."
THANKS, FAREWELL = "Thank you for the quick help.", "You are welcome, have a nice day."
OF_SHELL = {"mini-swe-agent.json"}
"""Kinds of coding agents, which hold a task in a shell instead of the dialogue."""
OF_ONE_TURN = {"promptfoo.json", "lm-eval.jsonl", "crewai.json"}
"""Kinds that hold a question and its answer, and no calls."""
OF_TEXTS = {"aider.md"}
"""Kinds that hold what was said, and no calls."""
OF_CALLS = {"mcp.jsonl"}
"""Kinds that hold calls, and not what was said."""
PARTIAL = OF_SHELL | OF_ONE_TURN | OF_TEXTS | OF_CALLS | EXPECTED


@pytest.mark.parametrize("name", [name for name in FILES if name not in PARTIAL])
def test_a_sample_holds_the_dialogue(name: str) -> None:
    """All of it is read, and nothing is missing."""
    found = read_recordings((SAMPLES / name).read_bytes(), name)
    call = ("get_order", {"order_id": "A-17"})
    assert contents(found) == [(QUESTION, [call], REPLY), (THANKS, [], FAREWELL)]
    assert is_whole(found)


@pytest.mark.parametrize("name", sorted(OF_ONE_TURN))
def test_a_sample_of_one_turn_says_nothing_of_calls(name: str) -> None:
    """The steps are not known."""
    (found,) = read_recordings((SAMPLES / name).read_bytes(), name)
    (invocation,) = found.trace.invocations
    assert (invocation.query, invocation.steps, invocation.reply) == (QUESTION, None, REPLY)


@pytest.mark.parametrize("name", sorted(OF_TEXTS))
def test_a_sample_of_texts_says_nothing_of_calls(name: str) -> None:
    """Both turns are there, and the steps are not known."""
    (found,) = read_recordings((SAMPLES / name).read_bytes(), name)
    turns = [(invocation.query, invocation.steps, invocation.reply) for invocation in found.trace.invocations]
    assert turns == [(QUESTION, None, REPLY), (THANKS, None, FAREWELL)]


@pytest.mark.parametrize("name", sorted(OF_CALLS))
def test_a_sample_of_calls_withholds_what_was_said(name: str) -> None:
    """Nothing that was said passes through a server of tools."""
    (found,) = read_recordings((SAMPLES / name).read_bytes(), name)
    (invocation,) = found.trace.invocations
    assert [(call.name, call.args) for call in invocation.tool_calls] == [("get_order", {"order_id": "A-17"})]
    assert invocation.user.withheld
    assert invocation.final_response is not None
    assert invocation.final_response.withheld


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_sample_of_a_data_set_is_an_expectation(name: str) -> None:
    """The answer is what somebody expects, and no recording."""
    loaded = read((SAMPLES / name).read_bytes(), name)
    assert loaded.eval_set is not None
    assert [turn.reply for turn in loaded.eval_set.cases[0].conversation or ()] == [REPLY]
    assert not loaded.recordings


def documents(name: str) -> Any:
    """Return the content of a sample. A text has none."""
    text = (SAMPLES / name).read_text(encoding="utf-8")
    return read_documents(text, is_lines=name.endswith(".jsonl")) if name.endswith((".json", ".jsonl")) else []


RENAMED = [
    pytest.param(name, key, id=f"{name}-{key}") for name in FILES for key in keys_to_rename(name, documents(name))
]


@pytest.mark.long
@pytest.mark.parametrize(("name", "key"), RENAMED)
def test_a_renamed_key_never_changes_a_dialogue_in_silence(name: str, key: str) -> None:
    """It is refused, or the recording says that contents are missing, or nothing has changed."""
    data = write_documents(rename(documents(name), key, f"{key}_of_us"), is_lines=name.endswith(".jsonl"))
    assert not changes_in_silence(read_recordings((SAMPLES / name).read_bytes(), name), data, name)


UNSEEN = [
    *("anthropic.json", "atif.json", "openai.json", "gemini-cli.jsonl", "openhands.json", "opencode.json"),
    *("promptfoo.json", "otlp-openinference.json", "langfuse.json", "bedrock-agent.json"),
]


@pytest.mark.parametrize("step", [2, 3, 5])
@pytest.mark.parametrize("name", UNSEEN)
def test_a_kind_that_nobody_has_seen_is_never_read_wrong(name: str, step: int) -> None:
    """It is a known kind in which every second, third or fifth key has another name."""
    document = documents(name)
    for key in keys_to_rename(name, document)[::step]:
        document = rename(document, key, f"{key}_of_us")
    data = write_documents(document, is_lines=name.endswith(".jsonl"))
    assert not changes_in_silence(read_recordings((SAMPLES / name).read_bytes(), name), data, name)


def test_calls_without_a_name_are_never_whole() -> None:
    """The name may stand under a key that nobody reads."""
    document = documents("anthropic.json")
    del document["messages"][1]["content"][0]["name"]
    (found,) = read_recordings(json.dumps(document).encode(), "a.json")
    (call,) = found.trace.invocations[0].tool_calls
    assert (call.name, found.trace.incomplete) == ("", "/messages/1/name was not read")
    assert isinstance(call, ToolCall)
