"""Which rows does a file of Parquet hold? Phoenix writes its data frames so."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from fairtrial.errors import FormatError

_MAGIC = b"PAR1"


def is_parquet(data: bytes) -> bool:
    """Whether the bytes of a file are Parquet."""
    return data.startswith(_MAGIC)


def rows_of(data: bytes, path: str) -> list[dict[str, Any]]:
    """Return the rows as plain JSON, times as ISO 8601. Raises FormatError."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        message = "is a file of Parquet, which needs the extra 'parquet': pip install 'fairtrial[parquet]'"
        raise FormatError(path, [message]) from error
    try:
        rows: list[dict[str, Any]] = pq.read_table(pa.BufferReader(data)).to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FormatError(path, [f"is a damaged file of Parquet: {error}"]) from error
    return [{name: _plain(value) for name, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    """Return a value without members that are null: all rows of a column have the same members."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | type(None)) else str(value)
