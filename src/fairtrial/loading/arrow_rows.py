"""Make Arrow batches of the rows that a driver of Python returns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import islice
from typing import Any

from fairtrial.errors import UsageError

Values = Mapping[str, Any]


def make_batches(names: Sequence[str], first: Sequence[Values], rows: Iterable[Values], size: int) -> Iterator[Any]:
    """Yield batches of rows. The `first` of them decide the types of the columns, and `rows` are all.

    Objects and lists become JSON texts. A column whose first values are all null holds texts. Raises UsageError if a
    later value has another type, which a cast in the query repairs.
    """
    import pyarrow as pa

    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise UsageError(f"the query returns two columns of the name {twice!r}; rename one with AS")
    kinds = {name: _find_kind([row[name] for row in first]) for name in names}
    types = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), bytes: pa.binary(), str: pa.string()}
    schema = pa.schema([(name, types[kind]) for name, kind in kinds.items()])
    remaining, number = iter(rows), 0
    while batch := list(islice(remaining, size)) or ([] if number else None):
        yield pa.RecordBatch.from_pylist(
            [
                {name: _as_kind(name, row[name], kinds[name], number + i) for name in names}
                for i, row in enumerate(batch)
            ],
            schema=schema,
        )
        number += len(batch)
    if not number:
        yield pa.RecordBatch.from_pylist([], schema=schema)


def _find_kind(values: Sequence[Any]) -> type:
    kinds = {type(_plain(value)) for value in values if value is not None}
    if kinds == {int, float}:
        return float
    return kinds.pop() if len(kinds) == 1 else str


def _plain(value: Any) -> Any:
    """Return a value as a column can hold it: numbers, texts and bytes as they are, everything else as a text."""
    if isinstance(value, bool | int | float | str | bytes):
        return value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, memoryview | bytearray):
        return bytes(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _as_kind(name: str, value: Any, kind: type, number: int) -> Any:
    if value is None:
        return None
    value = _plain(value)
    if kind is float and type(value) is int:
        return float(value)
    if kind is str:
        return value if isinstance(value, str) else str(value)
    if type(value) is not kind:
        raise UsageError(
            f"row {number}, column {name!r}: must be {kind.__name__}, as the first rows are, got "
            f"{type(value).__name__}; cast the column in the query"
        )
    return value
