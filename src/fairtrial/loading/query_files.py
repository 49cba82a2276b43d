"""Fetch the rows of a query into a Parquet file, which is read like any other file.

The rows are a snapshot: each pass over them sees the same rows, while the table goes on.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from fairtrial.errors import UsageError, spell
from fairtrial.formats.spans.span import PROBABILITY
from fairtrial.llm.secrets import known_secrets, redact
from fairtrial.loading.query_text import (
    Query,
    bound_query,
    check_query,
    choose_key,
    columns_query,
    count_query,
    rows_query,
)
from fairtrial.loading.warehouses import Warehouse
from fairtrial.records.decoding import json_decoder
from fairtrial.records.record import Record

_NOTE = "query.json"
_GROUP_ROWS = 20_000
_GROUP_BYTES = 16 << 20
"""So many bytes of rows are held at once, and are a group of the file."""


class Fetched(Record, frozen=True):
    """A snapshot of the rows of a query.

    `query` identifies the query and its database, without credentials. `population` counts the conversations that a
    sample was taken of, 0 without a sample.
    """

    query: str
    rows: int = 0
    population: int = 0

    @property
    def name(self) -> str:
        """The name of the file."""
        return f"query-{self.query[:12]}.parquet"


def count_fetched(path: Path) -> tuple[int, int]:
    """Return the number of rows in a file of `fetch_query`, and of the conversations that a sample was taken of."""
    fetched = json_decoder(Fetched).decode((path.parent / _NOTE).read_bytes())
    return fetched.rows, fetched.population


def fetch_query(url: str, query: Query, folder: Path, *, resume: bool = False) -> Path:
    """Return the Parquet file with the rows of a query in a folder.

    With `resume`, a file that the same query filled before is kept, so that an interrupted run goes on with the same
    rows. Raises UsageError if the folder then holds the rows of another query.
    """
    warehouse = Warehouse(url)
    query = replace(query, sql=check_query(query.sql))
    snapshot = Fetched(_identify(warehouse, query))
    folder.mkdir(parents=True, exist_ok=True)
    path, note = folder / snapshot.name, folder / _NOTE
    if resume and note.exists():
        earlier = json_decoder(Fetched).decode(note.read_bytes())
        if earlier.query != snapshot.query:
            raise UsageError(
                f"{folder}: holds the rows of another query; repeat that query with its conditions, or give another "
                "folder"
            )
        if path.exists():
            return path
    for old in folder.glob("query-*.parquet"):
        old.unlink()
    fetched = _write(warehouse, query, snapshot, path)
    if not fetched.rows:
        path.unlink(missing_ok=True)
        raise _no_rows(warehouse)
    note.write_bytes(msgspec.json.encode(fetched))
    return path


def _no_rows(warehouse: Warehouse) -> UsageError:
    return UsageError(f"{spell('sql')}: the query returns no rows from {warehouse.place}")


def _identify(warehouse: Warehouse, query: Query) -> str:
    """Return a digest of the query and of the database. Credentials change nothing."""
    redacted = replace(query, sql=redact(query.sql, known_secrets()))
    return hashlib.sha256(f"{warehouse.place}\n".encode() + msgspec.json.encode(redacted)).hexdigest()


def _write(warehouse: Warehouse, query: Query, snapshot: Fetched, path: Path) -> Fetched:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sql, population = _plan(warehouse, query)
    half, rows = path.with_name(f".{path.name}.half"), 0
    # Rows may hold what customers wrote, so that only the user may read them.
    with os.fdopen(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        writer = None
        try:
            with warehouse.batches(sql) as batches:
                for table in _groups(batches):
                    if writer is None:
                        writer = pq.ParquetWriter(file, _storable(table.schema), compression="zstd")
                    try:
                        writer.write_table(table.cast(writer.schema))
                    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
                        raise UsageError(f"{warehouse.place}: row {rows}: cannot be kept: {error}") from None
                    rows += table.num_rows
            if writer is not None:
                writer.close()
        except BaseException:
            half.unlink(missing_ok=True)
            raise
    half.replace(path)
    return replace(snapshot, rows=rows, population=population)


def _plan(warehouse: Warehouse, query: Query) -> tuple[str, int]:
    """Return the query for the snapshot rows, and the number of conversations that a sample is taken of."""
    if query.is_whole:
        return query.sql, 0
    with warehouse.batches(columns_query(query)) as batches:
        first = next(batches, None)
    if first is None:
        raise _no_rows(warehouse)
    columns = first.schema.names
    dialect = warehouse.dialect
    key = choose_key(query, columns)
    if query.sample is None:
        return rows_query(query, key, dialect, 1.0), 0
    population = int(_value(warehouse, count_query(query, key, dialect)))
    if query.sample < 1:
        return rows_query(query, key, dialect, query.sample), population
    number = min(int(query.sample), population)
    if number == population:
        return rows_query(query, key, dialect, 1.0), population
    bound = str(_value(warehouse, bound_query(query, key, dialect, number)))
    return rows_query(query, key, dialect, number / population, bound), population


def _value(warehouse: Warehouse, sql: str) -> Any:
    """Return the only value of a query."""
    with warehouse.batches(sql) as batches:
        return next(batch.column(0)[0].as_py() for batch in batches if batch.num_rows)


def _groups(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield tables of so many rows that they are a group of a Parquet file."""
    import pyarrow as pa

    waiting: list[Any] = []
    rows = size = 0
    for batch in batches:
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= _GROUP_ROWS or size >= _GROUP_BYTES:
            yield pa.Table.from_batches(waiting)
            waiting, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(waiting)


def _storable(schema: Any) -> Any:
    """Return a schema whose types Parquet has. Others, such as intervals, are texts."""
    import pyarrow as pa

    def storable(kind: Any) -> Any:
        if isinstance(kind, pa.BaseExtensionType):
            return storable(kind.storage_type)
        if pa.types.is_interval(kind) or pa.types.is_null(kind) or pa.types.is_duration(kind):
            return pa.string()
        return kind

    own = {PROBABILITY: pa.float64()}  # a number with a point is a decimal in some databases
    return pa.schema([pa.field(field.name, own.get(field.name) or storable(field.type)) for field in schema])
