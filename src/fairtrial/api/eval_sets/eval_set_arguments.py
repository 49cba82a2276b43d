"""Reads the eval sets that a caller names by their paths, or holds as cases, dicts or pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fairtrial.api.arguments import Paths, list_items, read_paths
from fairtrial.errors import UsageError
from fairtrial.formats.datasets.column_roles import CONTEXT, EXPECTED, ID, INPUT, REPLY, find_role, is_either
from fairtrial.formats.reading import NO_COLUMNS, Diagnostics
from fairtrial.records.case import Case, EvalCase, EvalSet
from fairtrial.records.record import Json
from fairtrial.records.trace import ToolCall

Cases = Case | EvalCase | Iterable[Case | EvalCase | Mapping[str, Json] | tuple[Json, Json]]
"""Cases that a program holds. A dict is a row of a table, and a pair is a user message with its reference."""
EvalSets = EvalSet | Paths | Cases
"""Everything that can be an eval set: files, and cases that a program holds."""
ALLOWED = "eval_set must be an EvalSet, a path, several paths, or a list of objects of the class Case, dicts or pairs"
_SHARED = (INPUT, EXPECTED, CONTEXT, ID)
NAME = "cases"
"""The name of an eval set without a file, and the beginning of the ids of its cases."""


def resolve_eval_set(argument: EvalSets | None, columns: Mapping[str, str] = NO_COLUMNS) -> EvalSet | list[str | Path]:
    """Return an argument as an eval set or as paths. Raises UsageError or FormatError if it is neither."""
    if isinstance(argument, EvalSet):
        return argument
    items: list[Any] | None = [argument] if isinstance(argument, Case | EvalCase) else list_items(argument)
    if not items or any(isinstance(item, str | Path) for item in items):
        return read_paths(argument if items is None else items, ALLOWED)
    if all(isinstance(item, EvalCase) for item in items):
        return EvalSet(NAME, tuple(items))
    from fairtrial.formats.datasets.case_tables import read_table  # enters the readers of chats, unlike paths

    rows = [_row(item, number) for number, item in enumerate(items, 1)]
    keys = _shared_keys(rows, items, columns)
    rows = [
        row if isinstance(item, Mapping) else {keys.get(key, key): value for key, value in row.items()}
        for row, item in zip(rows, items, strict=True)
    ]
    if "calls" not in columns.values() and not any(find_role(str(key)) == REPLY for row in rows for key in row):
        # Beside a recorded reply, the calls of a table are recorded too. Here nothing is recorded.
        rows = [{"expected_calls" if key == "calls" else key: row[key] for key in row} for row in rows]
    reading = Diagnostics(NAME, columns=columns)
    table = read_table(((((), place), row) for place, row in enumerate(rows)), reading, NAME)
    reading.finish()
    if table.eval_set is None:
        raise UsageError(f"{NAME}: hold no messages of the user; name them `input`", code="other-content")
    return table.eval_set


def _shared_keys(rows: Sequence[Mapping[str, Any]], items: Sequence[Any], columns: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of dicts that hold what a Case or a pair holds, by the names of its own keys.

    For example, `{"input": "question"}` if the dicts beside pairs have the key `question`.
    """
    keys = dict.fromkeys(
        str(key) for row, item in zip(rows, items, strict=True) if isinstance(item, Mapping) for key in row
    )
    shared = {}
    for role in _SHARED:
        known = [key for key in keys if find_role(key) == role]
        certain = [key for key in known if not is_either(key)] or known
        if columns.get(role) in keys:
            shared[role] = columns[role]
        elif len(certain) == 1:
            shared[role] = certain[0]
    return shared


def _row(item: Any, number: int) -> dict[str, Any]:
    """Return a case as a row of a table."""
    if isinstance(item, Mapping):
        return dict(item)
    if isinstance(item, tuple | list) and len(item) == 2:
        return {"input": item[0], "expected": item[1]}
    if not isinstance(item, Case):
        raise UsageError(f"{ALLOWED}; got {type(item).__name__} as item {number}")
    return {
        "id": item.id or None,
        "input": item.input,
        "expected": item.expected,
        "context": item.context or None,
        "checks": list(item.checks) or None,
        "expected_calls": None if item.calls is None else _calls(item.calls),
    }


def _calls(calls: Sequence[Any]) -> list[Any]:
    """Return calls as a table holds them. A pair is a name with arguments."""
    if isinstance(calls, str):
        return [calls]
    as_objects = [call if not isinstance(call, ToolCall) else (call.name, call.args) for call in calls]
    return [
        {"name": call[0], "args": call[1]} if isinstance(call, tuple | list) and len(call) == 2 else call
        for call in as_objects
    ]
