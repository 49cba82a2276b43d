"""Connections to a database, also if a server has ended them meanwhile.

A statement whose connection was cut gets one more try, over a new connection. Rows replace the rows with the same key,
so that a second try changes nothing if the first one succeeded. Only a label may then stand twice.

A server answers later than a file. There, a statement commits itself, and a transaction begins only where it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from fairtrial.errors import StoreError
from fairtrial.store.database_errors import is_cut

T = TypeVar("T")
Work = Callable[[sa.Connection], T]

COMMITS_EACH = "postgresql"
"""The server on which each statement commits itself, unless a transaction begins."""
_READ_IN_FILE, _READ_ON_SERVER = 500, 10_000
"""So many rows are read at once. On a server, each further batch takes a round trip."""


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
    def _is_file(self) -> bool:
        return self.dialect.name == "sqlite"

    @property
    def batch(self) -> Batch:
        """How much may wait: more on a server, which answers later than a file."""
        return _IN_FILE if self._is_file else _ON_SERVER

    def transact(self, work: Work[T]) -> T:
        """Call `work` in a transaction, and return its result."""

        def transact() -> T:
            with begin(self._engine) as connection:
                return work(connection)

        return _twice(transact)

    def fetch(self, query: sa.Select[Any], convert: Callable[[sa.CursorResult[Any]], Any] = list) -> Any:
        """Return what `convert` makes of the result of a query: by default all rows, far faster than one by one."""

        def execute() -> Any:
            with self._engine.connect() as connection:
                return convert(connection.execute(query))

        return _twice(execute)

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

    def rows(self, query: sa.Select[Any], limit: int | None = None) -> Iterator[Any]:
        """Yield a query's rows, or only the first ones. Memory does not grow with their number.

        A server is asked once if the rows are few. A cursor takes further round trips.
        """
        most = _READ_IN_FILE if self._is_file else _READ_ON_SERVER
        if not self._is_file:
            rows = self.fetch(query.limit(most if limit is None else min(most, limit)))
            if len(rows) < most or limit == most:
                yield from rows
                return

        def start() -> sa.CursorResult[Any]:
            connection = self._engine.connect()
            try:
                _begin(connection)
                result = connection.execution_options(yield_per=most).execute(query.limit(limit))
            except BaseException:
                connection.close()
                raise
            self._readers.add(result)
            return result

        result = _twice(start)
        try:
            for rows in result.partitions():
                yield from rows
        finally:
            self._readers.discard(result)
            _close(result)
            _roll_back(result.connection)
            _close(result.connection)

    def close(self) -> None:
        """Close all connections, also those over which somebody may still read rows."""
        self._close_committing()
        for result in tuple(self._readers):
            _close(result)  # SQLite keeps the file open as long as a statement has more rows
            _roll_back(result.connection)
            _close(result.connection)
        self._engine.dispose()

    def _close_committing(self) -> None:
        if self._committing is not None:
            _close(self._committing)
            self._committing = None


@contextmanager
def begin(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Open a connection in a transaction, which is committed at the end of the block, or rolled back after an error."""
    if engine.dialect.name != COMMITS_EACH:
        with engine.begin() as connection:
            yield connection
        return
    with engine.connect() as connection:
        _begin(connection)
        try:
            yield connection
        except BaseException:
            _roll_back(connection)
            raise
        connection.exec_driver_sql("COMMIT")


def _begin(connection: sa.Connection) -> None:
    """Begin a transaction if each statement would commit itself."""
    if connection.dialect.name == COMMITS_EACH:
        connection.exec_driver_sql("BEGIN")


def _roll_back(connection: sa.Connection) -> None:
    """End what `_begin` began. A connection that cannot do that is given up."""
    if connection.dialect.name == COMMITS_EACH:
        try:
            connection.exec_driver_sql("ROLLBACK")
        except Exception:  # noqa: BLE001  (each driver has its own errors, and the server rolls back by itself)
            connection.invalidate()


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
