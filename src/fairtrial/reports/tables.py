"""A run as tables: Parquet files, and streams for every library that reads Arrow.

Rows are made when they are read, so that memory does not grow with the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial.reports.table_rows import TABLES, Row, list_types
from fairtrial.system.importing import import_extra
from fairtrial.text.display import without_surrogates

if TYPE_CHECKING:
    from fairtrial.reports.report_table import ReportedRun, ReportOptions

ROW_GROUP = 10_000
"""The number of rows in a row group of a file, and in a batch of a stream."""
_COMPRESSION = "zstd"


@dataclass(frozen=True)
class RunTable:
    """One table of a run. Every library that knows Arrow's PyCapsule interface can read it, as often as it wants.

    For example, `polars.DataFrame(table)`, `pandas.DataFrame.from_arrow(table)` and `pyarrow.table(table)`.
    """

    name: str
    run: ReportedRun
    read: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)
    """It is called after the last row of a stream, for example to warn of rows that were left out."""

    @property
    def columns(self) -> dict[str, str]:
        """The columns with the names of their Arrow types."""
        return list_types(TABLES[self.name].columns)

    @property
    def schema(self) -> Any:
        """The schema for pyarrow. Its metadata holds the manifest of the run with all signatures."""
        pa = import_extra("pyarrow", "parquet")
        kinds = self.columns.items()
        fields = [(name, pa.list_(pa.string()) if kind == "list" else pa.type_for_alias(kind)) for name, kind in kinds]
        return pa.schema(fields, metadata={"fairtrial_run": msgspec.json.encode(self.run.info)})

    def batches(self) -> Iterator[Any]:
        """Yield the rows as record batches of pyarrow."""
        pa = import_extra("pyarrow", "parquet")
        schema = self.schema
        for rows in _chunks(TABLES[self.name].rows(self.run)):
            columns = zip(zip(*rows, strict=True), schema.types, strict=True)
            arrays = [pa.array(map(_storable, column), kind) for column, kind in columns]
            yield pa.record_batch(arrays, schema=schema)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows as a stream, as Arrow's PyCapsule interface describes it."""
        pa = import_extra("pyarrow", "parquet")
        reader = pa.RecordBatchReader.from_batches(self.schema, self._stream_rows())
        return reader.__arrow_c_stream__(requested_schema)

    def _stream_rows(self) -> Iterator[Any]:
        yield from self.batches()
        self.read()


def _chunks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    iterator = iter(rows)
    while chunk := list(islice(iterator, ROW_GROUP)):
        yield chunk


def _storable(value: Any) -> Any:
    """Return a value that Arrow can hold."""
    if isinstance(value, tuple):
        return [_storable(item) for item in value]
    return without_surrogates(value) if isinstance(value, str) else value


def make_tables(run: ReportedRun, read: Callable[[], None] = lambda: None) -> dict[str, RunTable]:
    """Return the tables of a run by their names. `read` is called after the last row of each stream."""
    return {name: RunTable(name, run, read) for name in TABLES}


def write(folder: Path, run: ReportedRun, options: ReportOptions | None = None) -> None:
    """Write a Parquet file for each table, such as outcomes.parquet."""
    del options
    parquet = import_extra("pyarrow.parquet", "parquet")
    folder.mkdir(parents=True, exist_ok=True)
    for table in make_tables(run).values():
        path = folder / f"{table.name}.parquet"
        # A reader never sees half of a file: the name appears when the file is complete.
        part = path.with_name(f"{path.name}.part")
        with parquet.ParquetWriter(part, table.schema, compression=_COMPRESSION) as writer:
            for batch in table.batches():
                writer.write_batch(batch, row_group_size=ROW_GROUP)
        part.replace(path)
