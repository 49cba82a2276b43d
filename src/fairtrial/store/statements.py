"""Upsert statements, in the words of each database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any

import sqlalchemy as sa

Row = dict[str, Any]
"""Row values, by column name."""


@dataclass(frozen=True)
class PreparedStatement:
    """A statement as text for one database. SQLAlchemy compiled it once, instead of at each call."""

    text: str
    parameters: Callable[[Row], Any]
    """Returns row values as the driver wants them: in place holder order, or by name."""

    def execute(self, connection: sa.Connection, row: Row) -> sa.CursorResult[Any]:
        """Execute the statement for one row."""
        return connection.exec_driver_sql(self.text, self.parameters(row))

    def execute_many(self, connection: sa.Connection, rows: Sequence[Row]) -> None:
        """Execute the statement for each row."""
        connection.exec_driver_sql(self.text, list(map(self.parameters, rows)))


def prepare(statement: sa.Select[Any] | sa.Insert | sa.Delete, dialect: sa.Dialect) -> PreparedStatement:
    """Return a statement as text for a database."""
    compiled = statement.compile(dialect=dialect)
    names = compiled.positiontup
    if names is None:
        return PreparedStatement(compiled.string, dict)
    return PreparedStatement(compiled.string, itemgetter(*names) if len(names) > 1 else lambda row: (row[names[0]],))


@cache
def replacing(dialect: sa.Dialect, table: sa.Table) -> list[PreparedStatement]:
    """Return the statements that put a row in place of the row with the same primary key."""
    return [prepare(statement, dialect) for statement in _replacing(dialect.name, table)]


def _replacing(dialect: str, table: sa.Table) -> list[sa.Insert | sa.Delete]:
    """Return the statements for a kind of database, whose dialect is imported only if it is needed."""
    keys = [column.name for column in table.primary_key]
    changed = [column.name for column in table.columns if column.name not in keys]
    insert: Any
    if dialect == "sqlite":
        from sqlalchemy.dialects.sqlite import insert as sqlite_insert

        insert = sqlite_insert(table)
    elif dialect == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as postgres_insert

        insert = postgres_insert(table)
    elif dialect in ("mysql", "mariadb"):
        from sqlalchemy.dialects.mysql import insert as mysql_insert

        insert = mysql_insert(table)
        return [insert.on_duplicate_key_update({name: insert.inserted[name] for name in changed})]
    else:
        same_key = (table.c[key] == sa.bindparam(key) for key in keys)
        return [sa.delete(table).where(*same_key), sa.insert(table)]
    return [
        insert.on_conflict_do_update(
            index_elements=keys,
            set_={name: insert.excluded[name] for name in changed},
        )
    ]


def storable(text: str) -> str:
    """Return a text without NUL, which the text of Postgres cannot hold."""
    return text.replace("\x00", "\ufffd")
