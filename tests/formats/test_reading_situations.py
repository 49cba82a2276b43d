"""Accidents of logs: a half that is missing, copies, another order, other names, and parts of other dialects.

A reading may be right, refused, or said to be incomplete. It must not claim a dialogue that the source does not hold.
The situations were written from the vendors' documentation and from the accidents that people met, not from readers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairtrial.errors import FormatError
from fairtrial.records.attempt import Recording
from fairtrial.records.trace import Invocation, Message
from reading_situations import TRUTH, Situation, situations
from renamed_keys import read_documents, read_recordings, write_documents

SITUATIONS = tuple(situations())
SAMPLES = Path(__file__).parents[2] / "src/fairtrial/formats/samples"
LOGS = {
    "adk-events.json": "",
    "atif.json": "steps",
    "claude-code.jsonl": "",
    "gemini-cli.json": "messages",
    "openhands.json": "",
    "openhands-sdk.jsonl": "",
}
"""Logs whose records have ids and times, and the key of the list of their records."""
LINKED = ("claude-code.jsonl", "pi.jsonl")
"""Logs whose records name the one before."""


def said(message: Message | None) -> str | None:
    """Return the text that a recording claims for a message, or None if it claims nothing."""
    return None if message is not None and message.withheld else message.text if message else ""


def claims(invocation: Invocation) -> tuple[str | None, list[Any] | None, str | None]:
    """Return the question, the calls and the reply that a recording claims."""
    steps = invocation.steps
    is_known = steps is not None and not any(getattr(step, "withheld", "") for step in steps)
    calls = [(call.name, call.args) for call in invocation.tool_calls] if is_known else None
    return said(invocation.user), calls, said(invocation.final_response)


def is_open(recording: Recording) -> bool:
    """Whether a recording says that a part of it is not known."""
    trace = recording.trace
    contents = [*(trace.invocations[-1].steps or ()), trace.invocations[-1].final_response] if trace.invocations else []
    is_withheld = any(getattr(step, "withheld", "") for step in contents)
    return bool(trace.incomplete or trace.turns_unknown or recording.failure or is_withheld)


def is_right(found: list[Recording], truth: list[Any], conversations: int = 1) -> bool:
    """Whether no claim contradicts the dialogue."""
    if len(found) != conversations:
        return False
    for recording in found:
        claimed = [claims(invocation) for invocation in recording.trace.invocations]
        if len(claimed) != len(truth):
            return False
        pairs = [pair for own, right in zip(claimed, truth, strict=True) for pair in zip(own, right, strict=True)]
        if any(own is not None and own != right for own, right in pairs):
            return False
    return True


def judge(data: bytes, name: str, conversations: int = 1, *, adds: bool = False) -> str:
    """Return how a document is read: refused, open, right or silent."""
    try:
        found = read_recordings(data, name)
    except FormatError:
        return "refused"
    if found and all(recording.trace.incomplete or recording.failure for recording in found):
        return "open"
    if not is_right(found, TRUTH, conversations):
        return "silent"
    return "right" if not adds or any(map(is_open, found)) else "silent"


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda own: f"{own.dialect}: {own.accident}")
def test_no_situation_passes_in_silence(situation: Situation) -> None:
    """As one document, and as JSON lines."""
    document, count = situation.document, situation.conversations
    assert judge(json.dumps(document).encode(), "log.json", count, adds=situation.adds) != "silent"
    if isinstance(document, list):
        lines = "\n".join(map(json.dumps, document)).encode()
        assert judge(lines, "log.jsonl", count, adds=situation.adds) != "silent"


def test_situations_are_read_where_they_can_be() -> None:
    """A reader that refuses everything is never silent."""
    outcomes = Counter(
        judge(json.dumps(own.document).encode(), "log.json", own.conversations, adds=own.adds) for own in SITUATIONS
    )
    assert len(SITUATIONS) >= 280
    assert outcomes["right"] >= 50


def reversed_order(records: list[Any]) -> list[Any]:
    """The last record comes first."""
    return records[::-1]


def copied_whole(records: list[Any]) -> list[Any]:
    """A file was written twice."""
    return [*records, *records]


def copied_each(records: list[Any]) -> list[Any]:
    """Each record was sent twice."""
    return [record for record in records for _ in range(2)]


@pytest.mark.parametrize("accident", [reversed_order, copied_whole, copied_each])
@pytest.mark.parametrize("name", LOGS)
def test_records_with_ids_and_times_are_not_doubled_or_moved(name: str, accident: Callable[[list[Any]], Any]) -> None:
    """Their ids and times say so."""
    is_lines = name.endswith(".jsonl")
    document = read_documents((SAMPLES / name).read_text(encoding="utf-8"), is_lines=is_lines)
    if LOGS[name]:
        document[LOGS[name]] = accident(document[LOGS[name]])
    else:
        document = accident(document)
    assert judge(write_documents(document, is_lines=is_lines), name) in ("refused", "open", "right")


@pytest.mark.parametrize("name", LINKED)
def test_a_line_that_another_one_names_is_not_missing(name: str) -> None:
    """Each line but the last one, whose end nothing tells."""
    lines = read_documents((SAMPLES / name).read_text(encoding="utf-8"), is_lines=True)
    for place in range(len(lines) - 1):
        data = write_documents(lines[:place] + lines[place + 1 :], is_lines=True)
        assert judge(data, name) in ("refused", "open", "right"), lines[place]
