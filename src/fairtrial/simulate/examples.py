"""What did tools answer before? Recorded answers, by tool and arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from fairtrial.errors import FormatError
from fairtrial.formats.recognise import read
from fairtrial.records.record import Json
from fairtrial.records.trace import Invocation, Step, ToolCall, ToolResult
from fairtrial.text.display import compact

Examples = Mapping[str, Mapping[str, list[Json]]]
"""Answers in the order in which they were given, by the name of the tool and its arguments as canonical JSON."""


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer of a tool."""

    tool_name: str
    response: Json
    args: dict[str, Json] = {}


def examples_in(tracing: Json) -> Examples:
    """Return the answers in recordings of any format that we read, or in `[{tool_name, args, response}, ...]`.

    Either may be JSON or its text. Raises ValueError where there are none.
    """
    if tracing is None:
        raise ValueError("must hold recorded answers, where a tool is to answer from them")
    text = tracing if isinstance(tracing, str) else msgspec.json.encode(tracing).decode()
    found: dict[str, dict[str, list[Json]]] = {}
    for name, args, response in _listed(text) or _recorded(text):
        found.setdefault(name, {}).setdefault(compact(args), []).append(response)
    if not found:
        raise ValueError("holds no answer of any tool")
    return found


def _listed(text: str) -> list[tuple[str, dict[str, Json], Json]]:
    """Examples in our own form; none where it is another."""
    try:
        value: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return []
    if not isinstance(value, list) or not all(isinstance(one, dict) and "tool_name" in one for one in value):
        return []
    listed = msgspec.convert(value, list[Example])
    return [(one.tool_name, one.args, one.response) for one in listed]


def _recorded(text: str) -> Iterator[tuple[str, dict[str, Json], Json]]:
    """The answers in recordings, or in the conversations of an eval set."""
    try:
        loaded = read(text.encode(), "tracing")
    except FormatError as error:
        raise ValueError("; ".join(error.problems)) from None
    cases = loaded.eval_set.cases if loaded.eval_set and not loaded.recordings else ()
    conversations: list[Iterable[Invocation]] = [one.trace.invocations for one in loaded.recordings]
    conversations += [case.conversation or () for case in cases]
    for conversation in conversations:
        for invocation in conversation:
            yield from _answers(invocation.steps or ())


def _answers(steps: Iterable[Step]) -> Iterator[tuple[str, dict[str, Json], Json]]:
    """The results with the arguments of their calls: those with the same id, else the first open one of the tool."""
    waiting: list[ToolCall] = []
    for step in steps:
        if isinstance(step, ToolCall):
            waiting.append(step)
        elif isinstance(step, ToolResult):
            same = [call for call in waiting if step.id and call.id == step.id]
            named = [call for call in waiting if call.name == step.name]
            if same or named:
                call = (same or named)[0]
                waiting.remove(call)
                yield call.name, call.args, step.response
