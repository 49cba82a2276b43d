"""The book of batches in a file: waiting requests and open batches. It survives a kill."""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from fairtrial.errors import UsageError
from fairtrial.records.record import Record
from fairtrial.system.file_lock import try_to_lock

_TABLES = """
CREATE TABLE IF NOT EXISTS requests (
    name TEXT PRIMARY KEY, key TEXT NOT NULL, service TEXT NOT NULL, entry BLOB, batch TEXT,
    tries INTEGER NOT NULL DEFAULT 0, price REAL NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS requests_of_batch ON requests (batch);
CREATE TABLE IF NOT EXISTS batches (
    tag TEXT PRIMARY KEY, service TEXT NOT NULL, start REAL NOT NULL, number INTEGER NOT NULL, id TEXT,
    is_guess INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS strangers (id TEXT PRIMARY KEY);
"""


class OpenBatch(Record, frozen=True):
    """A batch without results so far. Without an `id`, nobody knows whether its provider has taken it.

    `is_guess` says that its id was found by its time and its size only.
    """

    tag: str
    service: str
    start: float
    number: int
    id: str | None = None
    is_guess: bool = False


class WaitingRequest(Record, frozen=True):
    """A request that has no reply so far. `price` is the expected price, and `tries` counts the batches without it."""

    name: str
    key: str
    price: float
    tries: int


@dataclass
class BatchBook:
    """The file. One process has it at a time."""

    path: Path
    _database: sqlite3.Connection = field(init=False)

    def __post_init__(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = self.path.with_name(f"{self.path.name}.lock").open("ab")
        if not try_to_lock(self._lock):
            self._lock.close()
            raise UsageError(f"{self.path}: another run waits for these batches", code="busy")
        self._database = sqlite3.connect(self.path, isolation_level=None)
        self._database.executescript(f"PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; {_TABLES}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()
        self._lock.close()

    def is_pending(self, name: str) -> bool:
        """Whether a request waits for a batch, or is in one."""
        query = "SELECT 1 FROM requests WHERE name = ? AND (entry IS NOT NULL OR batch IS NOT NULL)"
        return bool(self._rows(query, name))

    def tries(self, name: str) -> int:
        """Return in how many batches a request was without a reply."""
        return sum(tries for (tries,) in self._rows("SELECT tries FROM requests WHERE name = ?", name))

    def add(self, name: str, key: str, service: str, entry: bytes, price: float) -> None:
        """Add a request that waits for a batch."""
        self._do(
            "INSERT INTO requests (name, key, service, entry, price) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET entry = excluded.entry, service = excluded.service, batch = NULL",
            *(name, key, service, entry, price),
        )

    def sums(self) -> dict[str, tuple[int, float]]:
        """Return the number of requests that wait for a batch and their expected price, for each service."""
        query = (
            "SELECT service, count(*), sum(price) FROM requests WHERE entry IS NOT NULL AND batch IS NULL "
            "GROUP BY service ORDER BY service"
        )
        return {service: (number, price) for service, number, price in self._rows(query)}

    def begin_batch(self, service: str, most_requests: int, most_bytes: int) -> OpenBatch | None:
        """Put requests that wait into a new batch, which is kept before it is submitted. Return None if none waits."""
        query = (
            "SELECT name, length(entry) FROM requests WHERE service = ? AND entry IS NOT NULL AND batch IS NULL "
            "ORDER BY name"
        )
        names: list[str] = []
        size = 0
        for name, length in self._database.execute(query, (service,)):
            size += length + 2
            if names and (size > most_bytes or len(names) == most_requests):
                break
            names.append(name)
        if not names:
            return None
        batch = OpenBatch(f"fairtrial-{uuid.uuid4().hex}", service, time.time(), len(names))
        with self._transaction():
            self._do(
                "INSERT INTO batches (tag, service, start, number) VALUES (?, ?, ?, ?)",
                *(batch.tag, service, batch.start, batch.number),
            )
            self._database.executemany(
                "UPDATE requests SET batch = ? WHERE name = ?", [(batch.tag, name) for name in names]
            )
        return batch

    def entries(self, batch: OpenBatch) -> list[bytes]:
        """Return a batch's requests that has no id."""
        return [entry for (entry,) in self._rows("SELECT entry FROM requests WHERE batch = ? ORDER BY name", batch.tag)]

    def set_id(self, batch: OpenBatch, identifier: str, *, is_guess: bool = False) -> None:
        """Note a batch id that its provider has taken."""
        self._do("UPDATE batches SET id = ?, is_guess = ? WHERE tag = ?", identifier, is_guess, batch.tag)

    def forget_id(self, batch: OpenBatch) -> None:
        """Note that a batch with a guessed id is another's."""
        with self._transaction():
            self._do("INSERT OR IGNORE INTO strangers VALUES (?)", batch.id)
            self._do("UPDATE batches SET id = NULL, is_guess = 0 WHERE tag = ?", batch.tag)

    def is_taken(self, identifier: str) -> bool:
        """Whether an id is that of another batch."""
        query = "SELECT 1 FROM batches WHERE id = ? UNION ALL SELECT 1 FROM strangers WHERE id = ?"
        return bool(self._rows(query, identifier, identifier))

    def open_batches(self, services: Iterable[str]) -> list[OpenBatch]:
        """Return the batches of some services that have no results so far, the oldest first."""
        rows = self._rows("SELECT tag, service, start, number, id, is_guess FROM batches ORDER BY start, tag")
        batches = [OpenBatch(row[0], row[1], row[2], row[3], row[4], bool(row[5])) for row in rows]
        return [batch for batch in batches if batch.service in set(services)]

    def yield_requests(self, batch: OpenBatch) -> Iterator[WaitingRequest]:
        """Yield a batch's requests that have no reply so far."""
        for row in self._rows("SELECT name, key, price, tries FROM requests WHERE batch = ?", batch.tag):
            yield WaitingRequest(*row)

    def remove(self, names: Iterable[str]) -> None:
        """Remove requests that have a reply."""
        with self._transaction():
            self._database.executemany("DELETE FROM requests WHERE name = ?", [(name,) for name in names])

    def close_batch(self, batch: OpenBatch, *, count_try: bool) -> None:
        """Remove a batch, and let its requests without a reply be asked again."""
        with self._transaction():
            self._do(
                "UPDATE requests SET batch = NULL, entry = NULL, tries = tries + ? WHERE batch = ?",
                *(count_try, batch.tag),
            )
            self._do("DELETE FROM batches WHERE tag = ?", batch.tag)

    def release_batch(self, batch: OpenBatch) -> None:
        """Remove a batch that its provider did not take. Its requests wait for another batch."""
        with self._transaction():
            self._do("UPDATE requests SET batch = NULL WHERE batch = ?", batch.tag)
            self._do("DELETE FROM batches WHERE tag = ?", batch.tag)

    def _rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with closing(self._database.execute(query, values)) as cursor:
            return cursor.fetchall()

    def _do(self, statement: str, *values: object) -> None:
        self._database.execute(statement, values)

    def _transaction(self) -> sqlite3.Connection:
        # The connection commits at the end of its block, or rolls back.
        self._database.execute("BEGIN IMMEDIATE")
        return self._database
