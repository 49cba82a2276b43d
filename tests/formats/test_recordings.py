"""Recordings are read back as they were written."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import call, turn
from fairtrial.errors import FormatError
from fairtrial.formats.recognise import read
from fairtrial.formats.recordings import line
from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.trace import About, AgentDetails, Durations, Event, Message, Thought, ToolResult, Trace, Usage

WHOLE = Recording(
    "주문",
    Trace(
        (
            msgspec.structs.replace(
                turn(
                    Thought("hm", "shop"),
                    call("f", x=1, y=[None, 1.5, "日本"]),
                    ToolResult("f", {"a": 1}, "c1", "shop"),
                    query="Where?",
                    reply="Here\u2028it is.",
                ),
                usages=(Usage(1, 5, 3, 4, "m"),),
                durations=Durations(1.0, 0.5, 0.25),
                about=About((AgentDetails("shop", "help", ({"name": "f"},)),)),
                events=(Event("shop", 3, {"a": 1}, {"b": 2}),),
            ),
        ),
        "s-1",
        {"n": 1},
    ),
    2,
    Failure("agent", "broke", "Traceback"),
    "failure",
)


def test_nothing_is_lost() -> None:
    """Every field is read back."""
    assert read(line(WHOLE), "a.jsonl").recordings == (WHOLE,)


@pytest.mark.long
@given(st.lists(st.tuples(st.text(), st.text(), st.integers(1, 9)), min_size=1))
def test_lines_are_read_in_order(said: list[tuple[str, str, int]]) -> None:
    """Any number of recordings, whatever their ids and texts."""
    written = tuple(Recording(name, Trace((turn(query=text),)), attempt) for name, text, attempt in said)
    assert read(b"".join(map(line, written)), "a.jsonl").recordings == written


def test_an_array_is_read_too() -> None:
    """Who puts the lines into an array loses nothing."""
    assert read(msgspec.json.encode([WHOLE, WHOLE]), "a.json").recordings == (WHOLE, WHOLE)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (b'"attempt":2', b'"attempt":"two"'),
        (b'"kind":"thought"', b'"kind":"though"'),
        (b'"case_id":"', b'"case_id":7,"x":"'),
    ],
)
def test_what_is_none_is_told_with_its_place(change: bytes, place: bytes) -> None:
    """A line that is no recording is named by its number and the field in it."""
    with pytest.raises(FormatError, match=r"/1.*: is not a recording: "):
        read(line(WHOLE) + line(WHOLE).replace(change, place), "a.jsonl")


def test_a_message_without_reply_stays_without() -> None:
    """None and empty are told apart."""
    recorded = Recording("a", Trace((turn(query="q"), turn(query="q", reply=""))))
    first, second = read(line(recorded), "a.jsonl").recordings[0].trace.invocations
    assert (first.final_response, second.final_response) == (None, Message(""))
