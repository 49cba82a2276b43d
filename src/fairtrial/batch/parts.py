"""Write the rows of a shard as Parquet files. Each shard writes a part of each table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairtrial.system.importing import import_extra
from fairtrial.text.display import without_surrogates

ROW_GROUP = 20_000
"""The number of rows that wait until they are written."""
_COMPRESSION = "zstd"

Columns = Mapping[str, str]
"""The columns of a table with the names of their Arrow types. `list` is a list of texts."""


def part_path(folder: Path, table: str, number: int) -> Path:
    """Return the path of the part of a table that a shard writes, for example results/part-000012.parquet."""
    return folder / table / f"part-{number:06d}.parquet"


class PartWriter:
    """Writes the parts of one shard. A part gets its name when the shard is finished, so that no half part has it."""

    def __init__(self, folder: Path, number: int, tables: Mapping[str, Columns]) -> None:
        self._parts = {name: _Part(part_path(folder, name, number), columns) for name, columns in tables.items()}

    def add(self, table: str, *rows: Sequence[Any]) -> None:
        """Add rows, each with a value for each column."""
        self._parts[table].add(rows)

    def finish(self) -> None:
        """Give the parts their names. A table without rows has no part."""
        for part in self._parts.values():
            part.finish()

    def close(self) -> None:
        """Remove what is not finished."""
        for part in self._parts.values():
            part.close()


class _Part:
    def __init__(self, path: Path, columns: Columns) -> None:
        self._path = path
        self._half = path.with_name(f".{path.name}.half")
        self._columns = columns
        self._rows: list[Sequence[Any]] = []
        self._writer: Any = None
        self._schema: Any = None

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        self._rows += rows
        if len(self._rows) >= ROW_GROUP:
            self._write()

    def _write(self) -> None:
        pa = import_extra("pyarrow", "parquet")
        if self._writer is None:
            self._open()
        columns = zip(*self._rows, strict=True)
        arrays = [arrow_array(pa, column, kind) for column, kind in zip(columns, self._schema.types, strict=True)]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows = []

    def _open(self) -> None:
        """Begin the half file, as soon as there is a row."""
        self._schema = arrow_schema(self._columns)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        parquet = import_extra("pyarrow.parquet", "parquet")
        self._writer = parquet.ParquetWriter(self._half, self._schema, compression=_COMPRESSION)

    def finish(self) -> None:
        if self._rows:
            self._write()
        if self._writer is None:
            self._path.unlink(missing_ok=True)  # an earlier try may have left one
        else:
            self._writer.close()
            self._writer = None
            self._half.replace(self._path)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._half.unlink(missing_ok=True)


def arrow_schema(columns: Columns) -> Any:
    """Return the Arrow schema of columns."""
    pa = import_extra("pyarrow", "parquet")
    return pa.schema(
        [(name, pa.list_(pa.string()) if kind == "list" else pa.type_for_alias(kind)) for name, kind in columns.items()]
    )


def arrow_array(pa: Any, column: Sequence[Any], kind: Any) -> Any:
    """Return the Arrow array of a column. Lone surrogates, which Arrow cannot hold, are replaced."""
    try:
        return pa.array(column, kind)
    except UnicodeEncodeError:
        return pa.array(map(_storable, column), kind)


def _storable(value: Any) -> Any:
    """Return a value that Arrow can hold."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, dict):
        return {name: _storable(item) for name, item in value.items()}
    return [_storable(item) for item in value] if isinstance(value, list | tuple) else value
