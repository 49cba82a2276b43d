"""Connections to a database, also if a server has ended them meanwhile.

A statement whose connection was cut gets one more try, over a new connection. Rows replace the rows with the same key,
so that a second try changes nothing if the first one succeeded. Only a label may then stand twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from fairtrial.errors import StoreError
from fairtrial.store.database_errors import is_cut

T = TypeVar("T")
Work = Callable[[sa.Connection], T]

_BATCH = 500


class Batch(NamedTuple):
    """How many rows may wait to share a transaction, and for how many seconds. A result is about six rows."""

    rows: int
    seconds: float


_IN_FILE, _ON_SERVER = Batch(2_000, 0.25), Batch(20_000, 1.0)


class Connections:
    """A store's connections to its database."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._committing: sa.Connection | None = None
        self._readers: set[sa.CursorResult[Any]] = set()

    @property
    def dialect(self) -> sa.Dialect:
        """The kind of database."""
        return self._engine.dialect

    @property
    def batch(self) -> Batch:
        """How much may wait: more on a server, which answers later than a file."""
        return _IN_FILE if self.dialect.name == "sqlite" else _ON_SERVER

    def transact(self, work: Work[T]) -> T:
        """Call `work` in a transaction, and return its result."""

        def transact() -> T:
            with self._engine.begin() as connection:
                return work(connection)

        return _twice(transact)

    def commit_each(self, work: Work[T]) -> T:
        """Call `work` with a connection that commits every statement, and return its result.

        The connection stays open. A statement then costs half as long as in its own transaction.
        """

        def call() -> T:
            if self._committing is None or self._committing.invalidated:
                self._close_committing()
                self._committing = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            return work(self._committing)

        return _twice(call)

    def rows(self, query: sa.Select[Any]) -> Iterator[Any]:
        """Yield a query's rows. Memory does not grow with their number."""

        def start() -> sa.CursorResult[Any]:
            connection = self._engine.connect()
            try:
                result = connection.execution_options(yield_per=_BATCH).execute(query)
            except BaseException:
                connection.close()
                raise
            self._readers.add(result)
            return result

        result = _twice(start)
        try:
            yield from result
        finally:
            self._readers.discard(result)
            _close(result)
            _close(result.connection)

    def close(self) -> None:
        """Close all connections, also those over which somebody may still read rows."""
        self._close_committing()
        for result in tuple(self._readers):
            _close(result)  # SQLite keeps the file open as long as a statement has more rows
            _close(result.connection)
        self._engine.dispose()

    def _close_committing(self) -> None:
        if self._committing is not None:
            _close(self._committing)
            self._committing = None


def _close(resource: sa.Connection | sa.CursorResult[Any]) -> None:
    """Close a connection or a result, even if its other end is gone."""
    try:
        resource.close()
    except Exception:  # noqa: BLE001  (each driver has its own errors, and nothing is lost: everything was committed)
        if isinstance(resource, sa.Connection):
            resource.invalidate()


def _twice(call: Callable[[], T]) -> T:
    try:
        return call()
    except StoreError as error:
        if not is_cut(error):
            raise
    return call()
