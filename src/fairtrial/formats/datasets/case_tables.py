"""Read cases and recordings from tables. One row is one case."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from fairtrial.errors import OtherContentError
from fairtrial.formats.datasets.column_roles import (
    CHECK_KINDS,
    CHECKS,
    CONTEXT,
    EXPECTED,
    EXPECTED_CALLS,
    INPUT,
    REPLY,
    Columns,
    ColumnsError,
    choose_columns,
    find_role,
    holds_cases,
    is_either,
)
from fairtrial.formats.datasets.row_cases import RowReader
from fairtrial.formats.value_shapes import holds_messages
from fairtrial.formats.values import NotStreamableError
from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.record import Record
from fairtrial.records.trace import Trace

if TYPE_CHECKING:
    from fairtrial.formats.datasets.delimited_rows import Row
    from fairtrial.formats.reading import Diagnostics, Place

_ALPACA = frozenset(("instruction", "input", "output"))
KIND = "table"
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
    """Return one line that says which column was taken for what, in the words of `--map`."""
    other_values = [repr(name) for name in columns.other_columns]
    more = f", and {len(other_values) - _MOST_NAMES} more" if len(other_values) > _MOST_NAMES else ""
    note = f"{path}: read with --map {columns}"
    if not columns.has(EXPECTED, EXPECTED_CALLS, CHECKS, *CHECK_KINDS):
        note += "; nothing is expected"
    return note + (f"; other columns: {', '.join(other_values[:_MOST_NAMES])}{more}" if other_values else "")
