"""Read rows of columnar files. Phoenix writes Parquet, and Hugging Face's `datasets` Parquet and Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from fairtrial.errors import FormatError, lacks_extra
from fairtrial.formats.jsontext import decode
from fairtrial.formats.packed import check_size

_MAGIC = b"PAR1"
_BATCH = 4096
_ROWS = 64
"""So many rows are decoded at once: a text that many rows share stands once in a file, and once a row when decoded."""
_LISTS = ("messages", "contents")


def is_parquet(data: bytes) -> bool:
    """Whether the bytes of a file are Parquet."""
    return data.startswith(_MAGIC)


def is_arrow(path: str) -> bool:
    """Whether a file has the name of an Arrow file."""
    return path.lower().endswith(".arrow")


def iter_rows(source: bytes | Path, path: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of Parquet or Arrow as plain JSON, times as ISO 8601. Raises FormatError."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise FormatError(path, [lacks_extra("a file of Parquet or Arrow", "parquet")]) from error
    try:
        packed_size = len(source) if isinstance(source, bytes) else source.stat().st_size
        batches = _batches(pa.BufferReader(source) if isinstance(source, bytes) else str(source), path)
        for row in bounded_rows(batches, packed_size, path):
            yield {name: _read_value(name, value) for name, value in row.items()}
    except (pa.ArrowException, OSError, ValueError) as error:
        raise FormatError(
            path, [f"is a damaged file of {'Arrow' if is_arrow(path) else 'Parquet'}: {error}"]
        ) from error


def bounded_rows(batches: Iterable[Any], packed_size: int, path: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of batches, few at a time. Raises BombError if they are very much larger than their file."""
    size = 0
    for batch in batches:
        for start in range(0, batch.num_rows, _ROWS):
            rows = _decode_batch(batch.slice(start, _ROWS))
            size += rows.nbytes
            check_size(size, packed_size, path)
            yield from rows.to_pylist()


def text_columns(schema: Any) -> list[str]:
    """Return the columns of texts. Read as dictionaries, a text that many rows share stands once in memory."""
    import pyarrow as pa

    return [field.name for field in schema if pa.types.is_string(field.type)]


def _read_value(name: str, value: Any) -> Any:
    """Return a value as plain JSON. A database may hold a list of messages as its JSON text."""
    if name in _LISTS and isinstance(value, str) and value.lstrip().startswith("["):
        try:
            return decode(value.encode())
        except ValueError:
            return value
    return plain(value)


def _decode_batch(batch: Any) -> Any:
    """Return a batch without dictionaries, whose times in nanoseconds are texts: Python has no time so exact."""
    import pyarrow as pa

    def exact(kind: Any) -> Any:
        if pa.types.is_dictionary(kind):
            return kind.value_type
        if pa.types.is_timestamp(kind) and kind.unit == "ns":
            return pa.string()
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            return pa.list_(exact(kind.value_type))
        return kind

    kinds = [exact(field.type) for field in batch.schema]
    if all(kind == field.type for kind, field in zip(kinds, batch.schema, strict=True)):
        return batch
    return batch.cast(pa.schema([field.with_type(kind) for kind, field in zip(kinds, batch.schema, strict=True)]))


def _batches(source: Any, path: str) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not is_arrow(path):
        with pq.ParquetFile(source) as file:
            reader = pq.ParquetFile(source, read_dictionary=text_columns(file.schema_arrow))
            yield from reader.iter_batches(_BATCH)
        return
    opened = pa.memory_map(source) if isinstance(source, str) else source
    try:
        stream = pa.ipc.open_stream(opened)
    except pa.ArrowInvalid:  # `datasets` writes streams, other programs files
        opened.seek(0)
        reader = pa.ipc.open_file(opened)
        yield from (reader.get_batch(i) for i in range(reader.num_record_batches))
    else:
        yield from stream


def plain(value: Any) -> Any:
    """Return a value without members that are null: all rows of a column have the same members."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):  # Arrow gives a map as pairs
        return [plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | type(None)) else str(value)
