"""Read cases and recordings from tables. One row is one case."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec.structs import replace

from fairtrial.errors import OtherContentError, spell, spell_columns
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
    ColumnsError,
    choose_columns,
    find_role,
    holds_cases,
    is_either,
)
from fairtrial.formats.message_entries import read_arguments
from fairtrial.formats.sampling import with_probability
from fairtrial.formats.value_shapes import holds_calls, holds_messages
from fairtrial.formats.values import NotStreamableError
from fairtrial.formats.written_checks import read_checks
from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.record import Record
from fairtrial.records.trace import Invocation, Message, ToolCall, Trace
from fairtrial.text.display import shorten

if TYPE_CHECKING:
    from fairtrial.formats.datasets.delimited_rows import Row
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
                problem = f"holds {kind} that are not read; {spell_columns(('input', 'COLUMN'))}"
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


_ALPACA = frozenset(("instruction", "input", "output"))
_SAMPLE = 100
"""The first rows, from which the columns are guessed."""
_JSON = ("[", "{")
_PLURALS = ("s", "conversation", "trajectory", "expectedtooluse", "retrievalcontext")
_MOST_NAMES = 8
_LISTS = ("contains", "not_contains", "one_of", "json_schema")
"""The kinds of checks whose values may be JSON. The values of others are texts, whatever they look like."""


class CaseTable(Record, frozen=True):
    """The content of a table. Without a column of the user's messages, it has recordings only."""

    eval_set: EvalSet | None
    recordings: tuple[Recording, ...]


def is_row(value: Any) -> bool:
    """Whether a JSON object is a row of a table: the names of its members say so."""
    return isinstance(value, dict) and holds_cases(value)


def expects(value: Any) -> bool:
    """Whether an object with messages also holds a reference, or the reply to the messages, in a member of its own."""
    if not isinstance(value, dict):
        return False
    roles = ((find_role(name), member) for name, member in value.items() if not is_either(name))
    return any(
        role == EXPECTED_CALLS or (role in (EXPECTED, REPLY) and isinstance(member, str)) for role, member in roles
    )


def _as_question(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of Alpaca, which writes a question into two columns, as a question and its expected answer."""
    texts = [row["instruction"], row["input"]]
    rest = {key: value for key, value in row.items() if key not in _ALPACA}
    if not all(isinstance(text, str) for text in texts):
        return row
    return {**rest, "question": "\n\n".join(filter(None, texts)), "expected": row["output"]}


def rows_of_json(values: Iterable[Any], reading: Diagnostics) -> Iterator[Row]:
    """Yield the rows of JSON objects. A value that is not an object is noted as an error."""
    for i, value in enumerate(values):
        if isinstance(value, dict):
            yield ((), i), _as_question(value) if value.keys() >= _ALPACA else value
        else:
            reading.wrong_type(((), i), "an object, as the first row is", value)


def read_table(rows: Iterable[Row], reading: Diagnostics, stem: str) -> CaseTable:
    """Return the cases of a table, and the recordings in it. Rows with the same id and the same case are attempts."""
    columns, remaining = _open(rows, reading)
    reader = RowReader(columns, stem, reading)
    cases: dict[str, EvalCase] = {}
    attempts: dict[str, int] = {}
    recordings: list[Recording] = []
    for number, (at, row) in enumerate(remaining, 1):
        case, recording = reader.resolve_case(row, number, at)
        earlier = cases.setdefault(case.id, case)
        if earlier is not case and (recording is None or replace(earlier, extra=None) != replace(case, extra=None)):
            reading.error(at, f"has the id {case.id!r} of an earlier row, but another case; ids must be unique")
        elif recording is not None:
            attempts[case.id] = attempts.get(case.id, 0) + 1
            recordings.append(replace(recording, attempt=attempts[case.id]))
    if columns.has(EXPECTED):
        _note_empty(cases.values(), columns, reading)
    eval_set = EvalSet(stem, tuple(cases.values())) if columns.has(INPUT) else None
    return CaseTable(eval_set, tuple(recordings))


def _note_empty(cases: Collection[EvalCase], columns: Columns, reading: Diagnostics) -> None:
    """Warn of cases without a reference beside cases with a reference: nothing would compare their replies."""
    empty = [case.id for case in cases if case.conversation and case.conversation[-1].final_response is None]
    if 0 < len(empty) < len(cases):
        name = ".".join(columns.paths[EXPECTED])
        share = f"{len(empty)} of {len(cases)} cases"
        reading.warning(((), name), f"is empty in {share}, for example in {empty[0]!r}; their replies are not compared")


def iter_table_recordings(rows: Iterable[Row], reading: Diagnostics, stem: str) -> Iterator[Recording]:
    """Yield the recordings of a table that expects nothing. A row without a reply is a broken recording.

    Raises NotStreamableError if the table also holds expectations.
    """
    columns, remaining = _open(rows, reading)
    if columns.has(EXPECTED, EXPECTED_CALLS, CONTEXT, CHECKS, *CHECK_KINDS) or not columns.has(REPLY):
        raise NotStreamableError
    reader = RowReader(columns, stem, reading)
    for number, (at, row) in enumerate(remaining, 1):
        case, recording = reader.resolve_case(row, number, at)
        failure = Failure("infrastructure", "the row has no reply")
        yield recording or Recording(case.id, Trace(case.conversation or ()), failure=failure, ended_by="failure")


def _open(rows: Iterable[Row], reading: Diagnostics) -> tuple[Columns, Iterator[tuple[Place, dict[str, Any]]]]:
    """Return the columns of a table, and its rows. Raises OtherContentError if the columns cannot be chosen."""
    remaining = ((at, _decode_json(row)) for at, row in rows)
    sample = list(islice(remaining, _SAMPLE))
    if not sample:
        reading.finish()
        raise OtherContentError(reading.path, ["holds no rows"])
    try:
        columns = choose_columns([row for _, row in sample], reading.columns, as_reference=reading.as_reference)
    except ColumnsError as error:
        raise OtherContentError(reading.path, [str(problem) for problem in error.args]) from None
    reading.notes = [_note(columns, reading.path)]
    reading.columns = columns.names
    known_names = {name for _, row in sample for name in row}
    return columns, chain(sample, _ensure_valid(remaining, known_names, reading))


def _ensure_valid(rows: Iterator[Row], known_names: set[str], reading: Diagnostics) -> Iterator[Row]:
    """Yield rows, and note a column that only later rows have if its name stands for a part of a case."""
    for at, row in rows:
        if not row.keys() <= known_names:
            for name in row.keys() - known_names:
                known_names.add(name)
                if (role := find_role(name)) is not None:
                    problem = f"is a column that the first {_SAMPLE} rows do not have; add it to a row there"
                    reading.error((at, name), f"{problem}, or rename it (it may be {role})")
        yield at, row


def _decode_json(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row whose JSON texts are decoded, in columns whose names or contents say that they hold several values.

    For example, a platform exports messages as JSON text. That text is not a message itself.
    """
    return {
        name: _parse_structured(name, value) if isinstance(value, str) and value.startswith(_JSON) else value
        for name, value in row.items()
    }


def _parse_structured(name: str, text: str) -> Any:
    if find_role(name) is None:
        return text
    value = _json(text)
    return value if _may_hold_json(name) or holds_messages(value, depth=1) else text


def _may_hold_json(name: str) -> bool:
    if (kind := CHECK_KINDS.get(find_role(name) or "")) is not None:
        return kind in _LISTS
    return find_role(name) is not None and name.casefold().replace("_", "").replace(" ", "").endswith(_PLURALS)


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return text


def _note(columns: Columns, path: str) -> str:
    """Return one line that says which column has which role, as the caller can write it."""
    other_values = [repr(name) for name in columns.other_columns]
    more = f", and {len(other_values) - _MOST_NAMES} more" if len(other_values) > _MOST_NAMES else ""
    option = spell("columns")
    mapping = f"{option} {columns}" if option.startswith("-") else f"{option}={columns.names}" if option else columns
    note = f"{path}: read with {mapping}"
    if not columns.has(EXPECTED, EXPECTED_CALLS, CHECKS, *CHECK_KINDS):
        note += "; nothing is expected"
    return note + (f"; other columns: {', '.join(other_values[:_MOST_NAMES])}{more}" if other_values else "")
