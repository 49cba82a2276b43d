"""Share compiled SQLAlchemy statements among all SQLite stores in a process.

SQLAlchemy keeps compiled statements for one engine, and for one dialect object. A process that opens many stores, for
example a test session, would compile the same statements for each. That takes a quarter of a short run's time.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

STATEMENTS: LRUCache[object, object] = LRUCache(500)
"""The compiled statements, by dialect and statement. SQLAlchemy reads and fills them."""


class EqualSQLite(SQLiteDialect_pysqlite):
    """SQLite of which all dialect objects are equal, so that a statement is compiled for all of them."""

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EqualSQLite)

    def __hash__(self) -> int:
        return hash(EqualSQLite)


registry.register("sqlite.equal", __name__, EqualSQLite.__name__)


def with_equal_dialect(url: sa.URL) -> sa.URL:
    """Return the same SQLite database's URL with that dialect. A URL that names another driver stays as it is."""
    return url.set(drivername="sqlite+equal") if url.drivername in ("sqlite", "sqlite+pysqlite") else url
