"""Files with a stand-in instead of their content, and files that are too large, are refused with a message."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from builders import load
from fairtrial.cli.option_names import name_option
from fairtrial.errors import FormatError, OtherContentError, spelling

COMPLETION = {"object": "chat.completion", "id": "c", "choices": [{"message": {"role": "assistant", "content": "yo"}}]}
MESSAGE = {"id": "c-0", "role": "user", "content": "hi", "name": None, "content_parts": None}
PAGE = {"object": "list", "first_id": "c", "last_id": "c", "has_more": False}
"""The pages of stored completions, as the API reference of OpenAI and Azure shows them."""
LINE = json.dumps({"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]})


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "git lfs pull"),
        (b"<!DOCTYPE html><html><body>Sign in</body></html>", "is a page of HTML"),
        (b"\n <html><head></head></html>", "is a page of HTML"),
    ],
    ids=["Git LFS", "HTML", "HTML without a type"],
)
def test_a_stand_in_is_named(content: bytes, problem: str) -> None:
    """It is what a download gives without the right to the file."""
    with pytest.raises(FormatError, match=problem):
        load(content, "traces.json")


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"gen_ai.operation.name": "chat", "input.value": "hi"}, "spans without their ids"),
        ({"name": "chat", "attributes": {"gen_ai.operation.name": "chat"}}, "spans without their ids"),
        ({"sessionId": "s", "type": "user", "message": {"role": "user"}, "uuid": "u"}, "a session of Claude Code"),
        (COMPLETION, "stored completions"),
        (PAGE | {"data": [COMPLETION]}, "stored completions"),
        (PAGE | {"data": [MESSAGE]}, "stored completions of OpenAI or Azure.*'messages': .*'response'"),
    ],
    ids=str,
)
def test_a_format_of_others_is_named(document: dict[str, Any], words: str) -> None:
    """The message says what the file resembles, and not the format that shares a key with it by chance."""
    with pytest.raises(OtherContentError, match=f"it resembles .*{words}"):
        load(document, "x.json")


def test_messages_deep_in_unknown_json_are_named_with_their_path() -> None:
    """The refusal says which argument reads them, as the caller can write it."""
    document = {"request": {"body": {"turns": [MESSAGE]}}, "kept": True}
    with pytest.raises(OtherContentError, match=r"write columns=\{'messages': 'request\.body\.turns'\} to read"):
        load(document, "x.json")
    with spelling(name_option), pytest.raises(OtherContentError, match=r"write --map messages=request\.body\.turns to"):
        load(document, "x.json")
    with spelling(lambda _: ""), pytest.raises(OtherContentError) as caught:  # `fairtrial init` has no such option
        load(document, "x.json")
    assert "messages=" not in str(caught.value)


def test_a_stored_completion_is_read_with_its_messages() -> None:
    """In the line that the refusal of its pages names."""
    (recording,) = load({"messages": [MESSAGE], "response": COMPLETION}, "x.jsonl").recordings
    (invocation,) = recording.trace.invocations
    assert (invocation.query, invocation.reply) == ("hi", "yo")


def test_a_damaged_member_behind_a_whole_one_is_refused() -> None:
    """Its conversations would be lost in silence. Zeros behind a member are padding, also before the next one."""
    member = gzip.compress(f"{LINE}\n{LINE}\n".encode())
    for damaged in (b"\0" + member[1:], b"garbage", b"\0\0garbage"):
        with pytest.raises(FormatError, match="bytes behind one of its parts are not gzip"):
            load(member + damaged, "traces.jsonl.gz")
    padded = member + b"\0" * 512
    assert len(load(padded + padded, "traces.jsonl.gz").recordings) == 4


def test_a_value_that_is_no_json_is_named_with_its_line() -> None:
    """A pointer alone does not say in which of a million lines the value stands."""
    with pytest.raises(FormatError, match="line 3, /messages/0/content: must be Unicode text"):
        load("\n".join([LINE, LINE, LINE.replace("hi", "\\ud800")]).encode(), "traces.jsonl")


def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is cut while it unpacks. A log is never packed so well."""
    monkeypatch.setattr("fairtrial.formats.packed._SMALL", 100_000)
    with pytest.raises(FormatError, match="more than 250 times larger when it is unpacked"):
        load(gzip.compress(b" " * 10_000_000), "traces.json.gz")
    several = "\n".join(LINE.replace("hi", str(number)) for number in range(2000))
    assert len(load(gzip.compress(several.encode()), "traces.jsonl.gz").recordings) == 2000


def test_a_file_that_does_not_fit_into_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its values take several times as much memory as its text."""
    monkeypatch.setattr("fairtrial.formats.packed._MOST_AT_ONCE", 1000)
    with pytest.raises(FormatError, match="when it is unpacked; split it into several files"):
        load(gzip.compress("\n".join([LINE] * 100).encode()), "traces.jsonl.gz")


def test_empty_cells_beside_references_are_counted() -> None:
    """Nothing compares the replies of such rows, and they pass."""
    rows = [
        {"question": "a", "expected": "x"},
        {"question": "b", "expected": None},
        {"question": "c", "expected": None},
    ]
    assert load(rows, "shop.json").warnings == (
        "shop.json: /expected: is empty in 2 of 3 cases, for example in 'shop-2'; their replies are not compared",
    )
    assert load([{"question": "a", "expected": "x"}], "shop.json").warnings == ()


def test_a_blank_text_of_claude_is_no_message() -> None:
    """It stands before a call. A text with words is a message."""
    call = {"type": "tool_use", "id": "c", "name": "get", "input": {}}
    said = {"role": "assistant", "content": [{"type": "text", "text": "\n\n"}, call]}
    (recording,) = load([{"role": "user", "content": "hi"}, said], "chat.json").recordings
    assert [type(step).__name__ for step in recording.trace.invocations[0].steps or ()] == ["ToolCall"]


def test_current_files_of_trpc_agent_go_are_read() -> None:
    """A rubric may name its metric, and an invocation may hold the nodes of a graph."""
    rubric = {"metricName": "quality", "id": "r", "content": {"text": "It names the price."}}
    turn = {"userContent": {"role": "user", "content": "hi"}, "executionTrace": {"nodes": []}}
    found = load({"evalSetId": "s", "evalCases": [{"evalId": "a", "conversation": [turn], "rubrics": [rubric]}]})
    assert found.eval_set is not None
    assert found.eval_set.cases[0].rubrics[0].text == "It names the price."
    assert any("is for the metric 'quality' of tRPC-Agent-Go" in warning for warning in found.warnings)
