"""Keeps what was computed along series of runs, so that the next look reads new runs alone."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

import msgspec
import sqlalchemy as sa

from fairtrial.errors import StoreError
from fairtrial.store.bodies import BodyDecoder, UnreadableBodyError, encode
from fairtrial.store.schema import HISTORIES, RESULTS, RUNS
from fairtrial.store.statements import replace_all

if TYPE_CHECKING:
    from fairtrial.store.connections import Connections

T = TypeVar("T")

MOST_KEPT = 100
"""The most series that a store keeps. Above it, all of them are forgotten."""


class KeptHistories:
    """The followed series of a store. Each write commits immediately."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def read(self, key: str, kind: type[T]) -> T | None:
        """Return what is kept under a key, or None if nothing is, or if this version cannot read it."""
        query = sa.select(HISTORIES.c.body).where(HISTORIES.c.key == key)
        body = self._connections.fetch(query, lambda result: result.scalar())
        with suppress(UnreadableBodyError):
            return None if body is None else BodyDecoder(kind).decode(body)
        return None

    def keep(self, key: str, record: msgspec.Struct) -> None:
        """Keep a record under a key. A store that cannot be written stays as it is."""
        row = {"key": key, "body": encode(record)}

        def write(connection: sa.Connection) -> None:
            number = connection.execute(sa.select(sa.func.count()).select_from(HISTORIES)).scalar() or 0
            if number >= MOST_KEPT:
                connection.execute(sa.delete(HISTORIES))
            replace_all(connection, {HISTORIES: [row]})

        with suppress(StoreError):
            self._connections.transact(write)

    def versions(self) -> dict[str, str]:
        """Return for each run a text that changes if a result of the run is written, or if its description changes."""
        last = sa.select(sa.func.max(RESULTS.c.changed)).where(RESULTS.c.run == RUNS.c.number).scalar_subquery()
        query = sa.select(RUNS.c.id, RUNS.c.body, RUNS.c.summary, last)
        rows = self._connections.fetch(query)
        return {
            row[0]: f"{row[3]} {hashlib.md5(row[1] + (row[2] or b''), usedforsecurity=False).hexdigest()}"
            for row in rows
        }
