"""The tool behind a tool that passes calls on is named."""

from __future__ import annotations

import pytest

from fairtrial import Invocation, Message, Recording, ToolCall, ToolResult, Trace
from fairtrial.formats.real_tools import with_real_tools


@pytest.mark.parametrize("command", ["git log -1", ["git", "log", "-1"]])
def test_the_argument_names_the_tool(command: object) -> None:
    """A number in the path counts the words of a text and the items of a list. The result goes with its call."""
    steps = (
        ToolCall("exec", {"command": command}, "1"),
        ToolCall("get_order", {}, "2"),
        ToolResult("get_order", "ok", "2"),
        ToolResult("exec", "ok", "1"),
    )
    recording = Recording("a", Trace((Invocation(Message("hi"), steps),)))
    (invocation,) = with_real_tools(recording, {"exec": "command.0"}).trace.invocations
    assert [step.name for step in invocation.steps or () if isinstance(step, ToolCall | ToolResult)] == [
        "git",
        "get_order",
        "get_order",
        "git",
    ]


def test_a_call_without_the_argument_keeps_its_name() -> None:
    """A path that leads nowhere changes nothing."""
    recording = Recording("a", Trace((Invocation(Message("hi"), (ToolCall("exec", {"cmd": 5}),)),)))
    assert with_real_tools(recording, {"exec": "command.0"}) == recording
