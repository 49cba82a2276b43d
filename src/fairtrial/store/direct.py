"""How does a single statement commit immediately, also if the server has ended the connection meanwhile?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import sqlalchemy as sa

from fairtrial.errors import StoreError
from fairtrial.store.database_errors import is_cut

T = TypeVar("T")


class DirectConnection:
    """A connection that stays open and commits every statement. That costs half the time of a transaction each."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._connection: sa.Connection | None = None

    @property
    def dialect(self) -> sa.Dialect:
        """The kind of database."""
        return self._engine.dialect

    def execute(self, work: Callable[[sa.Connection], T]) -> T:
        """Call `work` with the connection, and return its result. If the connection was cut, a new connection gets one try."""
        try:
            return work(self._opened())
        except StoreError as error:
            if not is_cut(error):
                raise
        self.close()
        return work(self._opened())

    def close(self) -> None:
        """Close the connection. The next statement opens a new connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _opened(self) -> sa.Connection:
        if self._connection is None:
            connection = self._engine.connect()
            connection.connection.rollback()  # the ping of the pool may have begun a transaction
            self._connection = connection.execution_options(isolation_level="AUTOCOMMIT")
        return self._connection
