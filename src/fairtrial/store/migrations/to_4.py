"""Version 4 compresses bodies with Zstandard. Earlier versions compressed them with zlib, which takes longer."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic.operations import Operations

from fairtrial.store.bodies import compress

_KEYS = {
    "fairtrial_runs": ("number",),
    "fairtrial_criteria": ("run", "number"),
    "fairtrial_cases": ("run", "position"),
    "fairtrial_recordings": ("run", "position", "attempt"),
    "fairtrial_results": ("run", "position", "attempt"),
    "fairtrial_replies": ("run", "key"),
    "fairtrial_ballots": ("run", "key"),
    "fairtrial_label_queues": ("run", "queue"),
    "fairtrial_spans": ("number",),
}
"""The primary key of each table with bodies."""
_VOCABULARY = Path(__file__).with_name("vocabulary_to_3.txt").read_bytes()
"""The text that bodies of earlier versions point into. Bodies of spans do without."""
_ROWS = 1000
"""So many rows are converted at once, so that memory does not grow with the store."""


def upgrade(operations: Operations) -> None:
    """Compress all bodies again. A body that is damaged stays as it is."""
    connection = operations.get_bind()
    for name, keys in _KEYS.items():
        _convert(connection, name, keys, "body")
    _convert(connection, "fairtrial_runs", ("number",), "summary")


def _convert(connection: sa.Connection, name: str, keys: Sequence[str], body: str) -> None:
    table = sa.table(name, *map(sa.column, keys), sa.column(body, sa.LargeBinary))
    update = sa.update(table).values({body: sa.bindparam("new_body")})
    for key in keys:
        update = update.where(table.c[key] == sa.bindparam(f"key_{key}"))
    for rows in _pages(connection, table, keys):
        changes = [
            {"new_body": _convert_body(row[-1])} | {f"key_{key}": row[i] for i, key in enumerate(keys)}
            for row in rows
            if row[-1] is not None
        ]
        if changes:
            connection.execute(update, changes)


def _pages(connection: sa.Connection, table: sa.TableClause, keys: Sequence[str]) -> Iterator[Sequence[sa.Row[Any]]]:
    """Yield the rows of a table by their keys."""
    key = [table.c[name] for name in keys]
    query = sa.select(table).order_by(*key).limit(_ROWS)
    rows = connection.execute(query).all()
    while rows:
        yield rows
        last = sa.tuple_(*(sa.literal(value) for value in rows[-1][: len(keys)]))
        rows = connection.execute(query.where(sa.tuple_(*key) > last)).all()


def _convert_body(body: bytes) -> bytes:
    try:
        return compress(zlib.decompressobj(zdict=_VOCABULARY).decompress(body))
    except zlib.error:
        return body
