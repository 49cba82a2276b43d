"""Convert a table row into a case and a recording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from fairtrial.formats.chats import dialects
from fairtrial.formats.datasets.column_roles import (
    CALLS,
    CHECK_KINDS,
    CHECKS,
    CLUSTER,
    CONTEXT,
    EXPECTED,
    EXPECTED_CALLS,
    ID,
    INPUT,
    REPLY,
    Columns,
)
from fairtrial.formats.messages import read_arguments
from fairtrial.formats.sampling import with_probability
from fairtrial.formats.value_shapes import holds_calls, holds_messages
from fairtrial.formats.written_checks import read_checks
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase
from fairtrial.records.trace import Invocation, Message, ToolCall, Trace
from fairtrial.text.display import shorten

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place
    from fairtrial.records.check import Check

_NO_INPUT = "the table has no column of the user's messages"
_ARGUMENTS = ("args", "arguments", "input_parameters", "parameters", "tool_input", "input")
_LONGEST_GROUP = 100
"""The number of characters up to which a text in another column can name a group of rows."""
_CALL = "a call such as {'name': 'get_order', 'args': {'order_id': 'A-17'}}"


class RowCase(NamedTuple):
    """The content of a row. Without a recorded reply, `recording` is None."""

    case: EvalCase
    recording: Recording | None


class RowReader(NamedTuple):
    """The columns of a table, its name and its problems. It reads one row after the other."""

    columns: Columns
    stem: str
    reading: Diagnostics

    def resolve_case(self, row: Mapping[str, Any], number: int, at: Place) -> RowCase:
        """Return the content of a row. A case without an id is named by its number, from 1: `FILE-1`."""
        case_id = self._text(row, ID, at) or f"{self.stem}-{number}"
        trace = self._conversation(row, case_id, at)
        other_values = {name: row[name] for name in self.columns.other_columns if row.get(name) is not None}
        self._note_unread(other_values, at)
        reply, calls = self._text(row, REPLY, at), self._calls(row, CALLS, at)
        case = self._case(row, case_id, trace, at, other_values)
        recorded = _with_reply(trace, reply, calls)
        is_recorded = reply is not None or recorded.invocations[-1].final_response is not None
        if not is_recorded:
            return RowCase(case, None)
        recording = Recording(case_id, replace(recorded, extra=other_values or None))
        return RowCase(case, with_probability(recording, row))

    def _note_unread(self, other_values: Mapping[str, Any], at: Place) -> None:
        """Warn of a column with calls or messages that nothing reads, once a column."""
        for name, value in other_values.items():
            if isinstance(value, list | dict) and (holds_calls(value) or holds_messages(value)):
                kind = "calls" if holds_calls(value) else "messages"
                problem = f"holds {kind} that are not read; --map says which column is which"
                if not any(f"/{name}: {problem}" in warning for warning in self.reading.warnings):
                    self.reading.warning((at, name), problem)

    def _conversation(self, row: Mapping[str, Any], case_id: str, at: Place) -> Trace:
        """Return the messages of the user, and what the agent did if the row holds a list of messages."""
        if INPUT not in self.columns.paths:
            return Trace((Invocation(Message("", withheld=_NO_INPUT)),))
        value, place = self._value(row, INPUT, at)
        if isinstance(value, list) or (isinstance(value, dict) and dialects.is_request(value)):
            trace = dialects.conversation(value, place, self.reading, name=case_id).trace
            if trace.invocations:
                return trace
            self.reading.error(place, "must hold at least one message of the user")
        text = "" if isinstance(value, list) else self._as_text(value, place)
        if text is None:
            self.reading.error(place, "is empty; every row needs a message of the user")
        return Trace((Invocation(Message(text or "")),))

    def _case(
        self, row: Mapping[str, Any], case_id: str, trace: Trace, at: Place, other_values: dict[str, Any]
    ) -> EvalCase:
        expected, calls = self._text(row, EXPECTED, at), self._calls(row, EXPECTED_CALLS, at)
        *before, last = (Invocation(invocation.user) for invocation in trace.invocations)
        reference = None if expected is None else Message(expected)
        # The calls of a longer conversation may belong to any of its turns.
        turns = (*before, replace(last, steps=None if before else calls, final_response=reference))
        return EvalCase(
            case_id,
            turns if INPUT in self.columns.paths else None,
            expected_calls=calls if before else None,
            context=self._join_items(row, at),
            extra={"columns": other_values} if other_values else None,
            cluster=self._text(row, CLUSTER, at) or "",
            groups={name: value for name, value in other_values.items() if _is_group(value)},
            checks=self._checks(row, at),
        )

    def _checks(self, row: Mapping[str, Any], at: Place) -> tuple[Check, ...]:
        """Return the checks of a row. An empty cell is no check."""
        raw, place = self._value(row, CHECKS, at)
        checks: tuple[Check, ...] = ()
        if isinstance(raw, str):
            self.reading.error(place, f'must be JSON, for example [{{"contains": "A-17"}}]: {_explain_json(raw)}')
        elif raw is not None:
            checks = read_checks(raw, place, self.reading)
        for role, kind in CHECK_KINDS.items():
            value, place = self._value(row, role, at)
            if value is not None:
                if not isinstance(value, list | dict | str):
                    value = self._as_text(value, place)
                checks += read_checks({kind: value}, place, self.reading)
        return checks

    def _value(self, row: Mapping[str, Any], role: str, at: Place) -> tuple[Any, Place]:
        """Return the value of a role, and its place."""
        value: Any = row
        for name in self.columns.paths.get(role, ()):
            if value is not None and not isinstance(value, Mapping):
                self.reading.wrong_type(at, f"an object with {name!r}, as in the first rows", value)
                return None, at
            value, at = None if value is None else value.get(name), (at, name)
        return (None if value is row else value), at

    def _text(self, row: Mapping[str, Any], role: str, at: Place) -> str | None:
        return self._as_text(*self._value(row, role, at))

    def _as_text(self, value: Any, at: Place) -> str | None:
        """Return a value as text. Of several accepted answers, the first counts."""
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, int | float):
            return str(value)
        if isinstance(value, dict) and isinstance(value.get("content"), str):
            return str(value["content"])
        if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
            if len(value) > 1:
                self.reading.warning(at, f"holds {len(value)} texts; the first counts")
            return self._as_text(value[0], at) if value else None
        self.reading.wrong_type(at, "a text", value)
        return None

    def _join_items(self, row: Mapping[str, Any], at: Place) -> str:
        """Return the evidence: a text, or several texts with empty lines between them."""
        value, place = self._value(row, CONTEXT, at)
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return "\n\n".join(value)
        if isinstance(value, dict | list):
            return msgspec.json.encode(value).decode()
        return self._as_text(value, place) or ""

    def _calls(self, row: Mapping[str, Any], role: str, at: Place) -> tuple[ToolCall, ...] | None:
        """Return calls, or None if the row does not say anything about calls."""
        value, place = self._value(row, role, at)
        if value is None:
            return None
        if not isinstance(value, list):
            self.reading.wrong_type(place, f"a JSON array of calls, each {_CALL}", value)
            return None
        return tuple(filter(None, (self._call(item, (place, i)) for i, item in enumerate(value))))

    def _call(self, value: Any, at: Place) -> ToolCall | None:
        if isinstance(value, str):
            return ToolCall(value)
        inner = value.get("function", value) if isinstance(value, dict) else None
        if isinstance(inner, dict) and isinstance(name := inner.get("name", inner.get("tool_name")), str):
            arguments = next((inner[key] for key in _ARGUMENTS if inner.get(key) is not None), None)
            return ToolCall(name, read_arguments(arguments))
        self.reading.wrong_type(at, _CALL, value)
        return None


def _with_reply(trace: Trace, reply: str | None, calls: tuple[ToolCall, ...] | None) -> Trace:
    """Return a conversation whose last turn has the reply and the calls of columns of their own."""
    *before, last = trace.invocations
    if calls is not None:
        last = replace(last, steps=(*(last.steps or ()), *calls))
    if reply is not None:
        last = replace(last, final_response=Message(reply))
    return replace(trace, invocations=(*before, last))


def _explain_json(text: str) -> str:
    """Return why a text is not JSON, or not an array or an object."""
    try:
        msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        return str(error)
    return f"got {shorten(text, 60)}"


def _is_group(value: Any) -> bool:
    """Return whether a value can name a group of rows, for example a template or a customer."""
    return isinstance(value, bool | int) or (isinstance(value, str) and 0 < len(value) <= _LONGEST_GROUP)
