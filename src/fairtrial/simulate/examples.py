"""Recorded answers of tools, by tool and arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from fairtrial.errors import FormatError
from fairtrial.formats.recognise import read
from fairtrial.records.decoding import convert
from fairtrial.records.record import Json
from fairtrial.records.trace import Invocation, Step, ToolCall, ToolResult
from fairtrial.text.display import compact

Examples = Mapping[str, Mapping[str, list[Json]]]
"""Answers in their order, by the name of the tool and its arguments as canonical JSON."""


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer of a tool."""

    tool_name: str
    response: Json
    args: dict[str, Json] = {}


def examples_in(tracing: Json) -> Examples:
    """Return the answers in recordings of any supported format, or in `[{tool_name, args, response}, ...]`.

    `tracing` is JSON or the text of JSON. Raises ValueError if it holds no answers.
    """
    if tracing is None:
        raise ValueError("must hold recorded answers, because a tool answers from them")
    text = tracing if isinstance(tracing, str) else msgspec.json.encode(tracing).decode()
    examples: dict[str, dict[str, list[Json]]] = {}
    for name, args, response in _make_list(text) or _list_recorded(text):
        examples.setdefault(name, {}).setdefault(compact(args), []).append(response)
    if not examples:
        raise ValueError("holds no answer of any tool")
    return examples


def _make_list(text: str) -> list[tuple[str, dict[str, Json], Json]]:
    """Return the examples if the text has the form of this package, or nothing otherwise."""
    try:
        value: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return []
    if not isinstance(value, list) or not all(isinstance(entry, dict) and "tool_name" in entry for entry in value):
        return []
    examples = convert(value, list[Example])
    return [(example.tool_name, example.args, example.response) for example in examples]


def _list_recorded(text: str) -> Iterator[tuple[str, dict[str, Json], Json]]:
    """Yield the answers in recordings, or in the conversations of an eval set."""
    try:
        loaded = read(text.encode(), "tracing")
    except FormatError as error:
        raise ValueError("; ".join(error.problems)) from None
    cases = loaded.eval_set.cases if loaded.eval_set and not loaded.recordings else ()
    conversations: list[Iterable[Invocation]] = [recording.trace.invocations for recording in loaded.recordings]
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
                if not (call.withheld or step.withheld):
                    yield call.name, call.args, step.response
