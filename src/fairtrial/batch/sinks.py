"""Sinks for the rows of a data set: JSON lines and Parquet files, chunk by chunk."""

from __future__ import annotations

import types
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol, Self, Union, get_args, get_origin

import msgspec

from fairtrial.records.decoding import json_decoder

ROW_GROUP = 20_000
"""The number of rows in a row group of a Parquet file."""


class Sink(Protocol):
    """Takes rows. Used as a context manager: a sink completes its output at the end, unless an exception ended it."""

    def write(self, rows: Sequence[Any]) -> None:
        """Write the rows of one chunk."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None: ...


class JsonLines:
    """JSON lines in a file. After `write` returns, the rows survive the death of this process.

    A row is a record, or ready JSON as `msgspec.Raw`.
    """

    def __init__(self, path: Path, *, append: bool = False) -> None:
        self._stream = JsonStream(path.open("ab" if append else "wb"))

    def write(self, rows: Sequence[Any]) -> None:
        """Write a line for each row."""
        self._stream.write(rows)
        self._stream.file.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stream.file.close()


class JsonStream:
    """JSON lines in a stream that somebody else opened and closes, for example standard output."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self._encoder = msgspec.json.Encoder()

    def write(self, rows: Sequence[Any]) -> None:
        """Write a line for each row."""
        self.file.write(self._encoder.encode_lines(rows))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.file.flush()


class Parquet:
    """A Parquet file with a column for each field of a record type.

    The rows go to `NAME.part` first. The file gets its name at the end, so that no half-written file has it.
    """

    def __init__(self, path: Path, row_type: type[msgspec.Struct]) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        self._schema = pa.schema([(field.name, _arrow_type(field.type)) for field in msgspec.structs.fields(row_type)])
        self._row_type = row_type
        self._path = path
        self._part = path.with_name(f"{path.name}.part")
        self._writer = parquet.ParquetWriter(self._part, self._schema)
        self._rows: list[dict[str, Any]] = []

    def write(self, rows: Sequence[Any]) -> None:
        """Add rows, and write them when a row group is full."""
        for row in rows:
            self._rows.append(msgspec.to_builtins(row))
            if len(self._rows) >= ROW_GROUP:
                self._write_row_group()

    def write_json(self, lines: Iterable[bytes]) -> None:
        """Add the rows of an earlier output, given as JSON lines."""
        decoder = json_decoder(self._row_type)
        for line in lines:
            self.write([decoder.decode(line)])

    def _write_row_group(self) -> None:
        import pyarrow as pa

        self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
        self._rows = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._rows:
            self._write_row_group()
        self._writer.close()
        if kind is None:
            self._part.replace(self._path)
        else:
            self._part.unlink()


def _arrow_type(field_type: Any) -> Any:
    """Return the type of a Parquet column for the type of a field. Every column may hold null."""
    import pyarrow as pa

    origin, arguments = get_origin(field_type), get_args(field_type)
    if origin in {types.UnionType, Union}:
        present = [kind for kind in arguments if kind not in {type(None), msgspec.UnsetType}]
        return _arrow_type(present[0])
    if origin is tuple:
        return pa.list_(_arrow_type(arguments[0]))
    if isinstance(field_type, type) and issubclass(field_type, msgspec.Struct):
        return pa.struct([(field.name, _arrow_type(field.type)) for field in msgspec.structs.fields(field_type)])
    if origin is Literal:
        return pa.string()
    return {str: pa.string(), float: pa.float64(), int: pa.int64()}[field_type]
