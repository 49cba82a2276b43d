"""Open a database, and check that it is a store with a readable version."""

from __future__ import annotations

import sqlite3
import time
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.util import LRUCache

from fairtrial.errors import StoreError, UsageError, spell
from fairtrial.store.connections import COMMITS_EACH, begin
from fairtrial.store.database_errors import cannot_write, first_line, is_busy, show_url, translate_errors
from fairtrial.store.schema import META, METADATA, RUNS, SCHEMA_VERSION

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


_PATIENCE = 60.0
"""Seconds to wait for another process that writes."""
_FIRST_VERSION = 1
"""The oldest schema version that can be migrated."""


def open_engine(url: str, *, create: bool) -> sa.Engine:
    """Return the engine for a store whose tables have this program's version.

    With `create` the file and the tables are made if they are missing. An older store is migrated. Without `create`, a
    file that cannot be written is opened for reading only.

    Raises UsageError if the URL cannot be used or names a file that does not exist. Raises StoreError if the database
    cannot be reached, is not a store (without `create`), or has a version that this program cannot read.
    """
    try:
        parsed = sa.make_url(url)
        if parsed.get_backend_name() == "sqlite" and parsed.database and not _is_uri(parsed):
            _make_room(Path(parsed.database), url, create=create)
        return _check_engine(parsed, url, create=create)
    except StoreError as error:
        if create or not cannot_write(error) or _is_uri(parsed) or not parsed.database:
            raise
        return _check_engine(_read_only(parsed, parsed.database), url, create=False)
    except (sa.exc.SQLAlchemyError, OSError, ImportError, ValueError) as error:
        problem = first_line(error).replace(repr(url), "given URL string")  # an old SQLAlchemy names it
        raise UsageError(f"{spell('store')}: cannot open {show_url(url)}: {problem}{_hint(error, url)}") from None


def _check_engine(parsed: sa.URL, url: str, *, create: bool) -> sa.Engine:
    is_sqlite = parsed.get_backend_name() == "sqlite"
    with ExitStack() as failing:
        if is_sqlite:
            engine = sa.create_engine(
                with_equal_dialect(parsed),
                connect_args={"timeout": _PATIENCE},
                execution_options={"compiled_cache": STATEMENTS},
                **_pool_options(parsed),
            )
        else:
            options = {"isolation_level": "AUTOCOMMIT"} if parsed.get_backend_name() == COMMITS_EACH else {}
            engine = sa.create_engine(parsed, **options, **_pool_options(parsed))
        failing.callback(engine.dispose)
        translate_errors(engine, url)
        if is_sqlite and not _is_uri(parsed):
            sa.event.listen(engine, "connect", _prepare_sqlite)
        _check_tables(engine, url, create=create)
        failing.pop_all()
    return engine


def _pool_options(url: sa.URL) -> dict[str, Any]:
    """Return options for a pool without a bound, if the database has a pool that has one.

    Whoever reads results row by row asks for other connections meanwhile. With a bound, a few readers at once would
    hold all connections, and each would wait for another.
    """
    dialect: Any = url.get_dialect()
    return {"max_overflow": -1} if issubclass(dialect.get_pool_class(url), sa.QueuePool) else {}


def _is_uri(url: sa.URL) -> bool:
    """Return whether a SQLite database name is a URI, such as `file:runs.db`."""
    return url.get_backend_name() == "sqlite" and (url.database or "").startswith("file:")


def _read_only(url: sa.URL, file: str) -> sa.URL:
    """Return the URL that reads a SQLite file in a place where nothing can be written.

    SQLite normally writes a log beside the file, even to read it. If the file has no log, nobody is writing to the
    file, and SQLite can do without.
    """
    log = Path(f"{file}-wal")
    parameters = {"mode": "ro", "uri": "true"}
    if not log.exists() or log.stat().st_size == 0:
        parameters["immutable"] = "1"
    return url.set(database=f"file:{quote(file)}", query=parameters)


def _make_room(file: Path, url: str, *, create: bool) -> None:
    """Make a database file's folder, or raise UsageError if a file that is to be read does not exist."""
    if create:
        is_new = not file.parent.exists()
        file.parent.mkdir(parents=True, exist_ok=True)
        # The default folder stands in the user's repository. A store is not something to commit.
        if is_new and file.parent.name == ".fairtrial":
            (file.parent / ".gitignore").write_text("*\n")
    elif not file.exists():
        raise UsageError(f"there is no store at {show_url(url)}; `fairtrial run` makes one", code="no-such-store")


def _check_tables(engine: sa.Engine, url: str, *, create: bool) -> None:
    with engine.connect() as connection:
        version = _version(connection)
    if version == SCHEMA_VERSION:
        return
    if version is None:
        if not create:
            raise UsageError(
                f"{show_url(url)} holds no fairtrial store; `fairtrial run --store URL` makes one", code="no-such-store"
            )
        with begin(engine) as connection:
            _create_tables(connection, url)
        return
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{show_url(url)} has schema version {version}, and this fairtrial reads versions up to {SCHEMA_VERSION}; "
            f"install a newer fairtrial, or use another {spell('store')}"
        )
    if version < _FIRST_VERSION:
        raise StoreError(
            f"{show_url(url)} has schema version {version}, and this fairtrial reads versions from {_FIRST_VERSION}; "
            f"open it with an older fairtrial first, or use another {spell('store')}"
        )
    _migrate(engine)


def _version(connection: sa.Connection) -> int | None:
    """Return a store's schema version, or None if the database does not say any."""
    if not sa.inspect(connection).has_table(META.name):
        return None
    version: int | None = connection.execute(sa.select(META.c.schema_version)).scalar()
    return version


def _create_tables(connection: sa.Connection, url: str) -> None:
    _lock(connection)
    inspector = sa.inspect(connection)
    if inspector.has_table(RUNS.name) and not inspector.has_table(META.name):
        raise StoreError(
            f"{show_url(url)} has a table {RUNS.name} without a schema version: a fairtrial before its first release "
            f"made it; use another {spell('store')}"
        )
    for definition in _definitions(connection.dialect.name):
        connection.exec_driver_sql(definition)
    if _version(connection) is None:
        connection.execute(sa.insert(META).values(schema_version=SCHEMA_VERSION))


@cache
def _definitions(backend: str) -> tuple[str, ...]:
    """Return the statements that make the tables. To compile them takes longer than to execute them."""
    dialect = sa.URL.create(backend).get_dialect()()
    elements: list[sa.schema.ExecutableDDLElement] = []
    for table in METADATA.sorted_tables:
        elements.append(sa.schema.CreateTable(table, if_not_exists=True))
        elements += [sa.schema.CreateIndex(index, if_not_exists=True) for index in table.indexes]
    return tuple(str(element.compile(dialect=dialect)) for element in elements)


def _migrate(engine: sa.Engine) -> None:
    """Bring an older store to the version of this program, in one transaction."""
    from fairtrial.store.migrations import upgrade  # Alembic is imported only when there is something to migrate

    with begin(engine) as connection:
        _lock(connection)
        version = _version(connection)
        if version is not None:
            upgrade(connection, version, SCHEMA_VERSION)
            connection.execute(sa.update(META).values(schema_version=SCHEMA_VERSION))


def _lock(connection: sa.Connection) -> None:
    """Let no other process change the tables until the transaction ends.

    Of two processes that open a store at once, the second waits here, and finds nothing left to do.
    """
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    elif connection.dialect.name == "postgresql":
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(7283451)"))


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    with ExitStack() as failing:
        failing.callback(connection.close)  # nobody else closes a connection that fails here
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous=NORMAL").close()
        failing.pop_all()


def _write_ahead(connection: Any) -> None:
    """Let readers and a writer work at once. The log that makes it possible also survives a kill."""
    patient_until = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").close()
        except sqlite3.OperationalError as error:
            # If two processes create a database at once, one finds it locked, and SQLite does not wait here.
            if not is_busy(error) or time.monotonic() > patient_until:
                raise
            time.sleep(0.01)
        else:
            return


def _hint(error: BaseException, url: str) -> str:
    if isinstance(error, ImportError | sa.exc.NoSuchModuleError):
        if url.startswith("postgres"):
            return "; install the extra 'postgres'"
        return "; a store is in SQLite or Postgres, for example sqlite:///runs.db or postgresql+pg8000://USER@HOST/NAME"
    if isinstance(error, OSError):
        return f"; name another file, or keep no run with {spell('store')} none"
    if isinstance(error, sa.exc.ArgumentError):
        is_path = url not in {"", "none"} and not {*"@:"} & {*url}
        return f"; a store is a URL such as sqlite:///{url if is_path else 'runs.db'}"
    return ""
