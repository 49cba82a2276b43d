"""Upsert statements, in the words of each database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from typing import Any

import msgspec
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


def is_one_statement(dialect: sa.Dialect) -> bool:
    """Return whether `replace_all` writes all rows in a statement, which needs no transaction around it."""
    return dialect.name == "postgresql"


def replace_all(connection: sa.Connection, rows_by_table: Mapping[sa.Table, Sequence[Row]]) -> None:
    """Put rows in place of the rows with the same primary keys, in any database.

    Postgres gets all rows in a statement with a parameter: a driver would wait for an answer to every row.
    """
    if not is_one_statement(connection.dialect):
        for table, rows in rows_by_table.items():
            for statement in replacing(connection.dialect, table):
                statement.execute_many(connection, rows)
        return
    # A statement must not change a row twice.
    last_rows = {
        table.name: list({tuple(row[key.name] for key in table.primary_key): row for row in rows}.values())
        for table, rows in rows_by_table.items()
    }
    text = _replacing_all(connection.dialect, tuple(rows_by_table))
    connection.execute(text, {"rows": msgspec.json.encode(last_rows).decode()})


@cache
def _replacing_all(dialect: sa.Dialect, tables: tuple[sa.Table, ...]) -> sa.TextClause:
    """Return a statement of Postgres that reads the rows of several tables from a JSON text with bodies in Base64."""
    parts = ["given AS (SELECT CAST(:rows AS json) AS tables)"]
    for table in tables:
        columns = [(column.name, column.type) for column in table.columns]
        names = ", ".join(f'"{name}"' for name, _ in columns)
        kinds = ", ".join(
            f'"{name}" {"text" if isinstance(kind, sa.LargeBinary) else kind.compile(dialect=dialect)}'
            for name, kind in columns
        )
        values = ", ".join(
            f"""decode("{name}", 'base64')""" if isinstance(kind, sa.LargeBinary) else f'"{name}"'
            for name, kind in columns
        )
        keys = ", ".join(f'"{key.name}"' for key in table.primary_key)
        changes = ", ".join(f'"{name}" = excluded."{name}"' for name, _ in columns if name not in table.primary_key)
        parts.append(
            f"{table.name}_rows AS (INSERT INTO {table.name} ({names}) SELECT {values} FROM given, "  # noqa: S608
            f"json_to_recordset(tables->'{table.name}') AS new ({kinds}) "
            f"ON CONFLICT ({keys}) DO UPDATE SET {changes})"
        )
    return sa.text(f"WITH {', '.join(parts)} SELECT 1")


def storable(text: str) -> str:
    """Return a text without NUL, which the text of Postgres cannot hold."""
    return text.replace("\x00", "\ufffd")
