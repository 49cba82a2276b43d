"""Run a query in a database or a warehouse that is only read, and stream its rows as Arrow batches."""

from __future__ import annotations

import atexit
import gc
import hashlib
import logging
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from itertools import chain, islice
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from fairtrial.errors import UsageError, spell
from fairtrial.llm.secrets import known_secrets, redact, without_credentials
from fairtrial.loading.arrow_rows import make_batches
from fairtrial.system.importing import import_extra
from fairtrial.text.display import describe_error, shorten, visible_line

_BATCH = 1000
_LONGEST_MESSAGE = 500
_SHORTEST_SECRET = 3
_SCHEME = re.compile(r"[a-z][a-z0-9]*(?:\+[a-z0-9_]+)?\Z")
_READING_STATEMENTS = {"postgresql": "SET TRANSACTION READ ONLY", "mysql": "SET TRANSACTION READ ONLY"}
_LOGGED = "fairtrial-query"
_ALLOWED = (
    "duckdb:///FILE, clickhouse://HOST/DATABASE, bigquery://PROJECT/DATASET, any URL of SQLAlchemy such as "
    "postgresql+pg8000://HOST/DATABASE, or adbc+DRIVER://..."
)

Batches = Iterator[Any]
"""Record batches of Arrow."""


class Warehouse:
    """A database by its URL. `dialect` is the name of its SQL, such as `duckdb` or `postgresql`.

    No message holds the user, the password or the query of the URL.
    """

    def __init__(self, url: str) -> None:
        """Read a URL. Raises UsageError."""
        scheme, mark, _ = url.partition("://")
        if not mark or not _SCHEME.match(scheme):
            raise UsageError(f"{spell('from_url')}: must be {_ALLOWED}, got {shorten(without_credentials(url), 100)!r}")
        self._url = url
        self._secrets = _find_secrets(url)
        self.place = without_credentials(url)
        self.is_adbc = scheme.startswith("adbc+")
        name = scheme.removeprefix("adbc+").partition("+")[0]
        self.dialect = {"postgres": "postgresql", "mariadb": "mysql", "clickhouses": "clickhouse"}.get(name, name)

    @contextmanager
    def batches(self, sql: str) -> Iterator[Batches]:
        """Yield the batches of a query. Raises UsageError that names the database, and what it answered."""
        import_extra("pyarrow", "parquet")
        try:
            with self._choose_driver()(sql) as batches:
                yield batches
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001
            # Each driver has errors of its own, and some of them repeat the URL with its password.
            raise UsageError(f"{self.place}: the query failed: {self._show(error)}", code="unreadable-file") from None

    def _show(self, error: BaseException) -> str:
        """Return an error on one line without secrets."""
        text = redact(describe_error(error), (*self._secrets, *known_secrets()))
        return shorten(visible_line(without_credentials(text)), _LONGEST_MESSAGE)

    def _choose_driver(self) -> Callable[[str], Any]:
        if self.is_adbc:
            return self._adbc
        return {"duckdb": self._duckdb, "clickhouse": self._clickhouse}.get(self.dialect, self._sqlalchemy)

    @contextmanager
    def _duckdb(self, sql: str) -> Iterator[Batches]:
        duckdb = import_extra("duckdb", "duckdb")
        # DuckDB writes a page of "leaked" objects at the end of a process whose collector ignores its objects.
        atexit.register(gc.unfreeze)
        name = unquote(self._url.partition("://")[2].partition("?")[0]).removeprefix("/")
        # A reader that is open when its connection closes lets the next connection wait forever.
        with (
            closing(duckdb.connect(name or ":memory:", read_only=bool(name))) as connection,
            closing(connection.sql(sql).to_arrow_reader(_BATCH)) as reader,
        ):
            yield iter(reader)

    @contextmanager
    def _clickhouse(self, sql: str) -> Iterator[Batches]:
        module = import_extra("clickhouse_connect", "clickhouse")
        parts = urlsplit(self._url)
        secure = parts.scheme == "clickhouses"
        options = {"dsn": f"clickhouse{self._url.removeprefix(parts.scheme)}", "secure": secure}
        # 2 forbids every change, and allows the settings of the format.
        settings = {"readonly": "2", "output_format_arrow_low_cardinality_as_dictionary": "0"}
        with (
            closing(module.get_client(**options, autogenerate_session_id=False)) as client,
            client.query_arrow_stream(sql, settings=settings, use_strings=True) as stream,
        ):
            yield iter(stream)

    @contextmanager
    def _adbc(self, sql: str) -> Iterator[Batches]:
        scheme, _, rest = self._url.partition("://")
        driver = scheme.removeprefix("adbc+")
        import_extra("adbc_driver_manager", "adbc")
        try:
            dbapi = import_module(f"adbc_driver_{driver}.dbapi")
        except ImportError as error:
            raise UsageError(
                f"adbc+{driver}:// needs its driver: pip install adbc-driver-{driver} ({error})", code="missing-package"
            ) from None
        uri = rest.removeprefix("/") if driver == "sqlite" else f"{driver}://{rest}"
        with closing(dbapi.connect(uri)) as connection, closing(connection.cursor()) as cursor:
            if self.dialect in _READING_STATEMENTS:
                cursor.execute(_READING_STATEMENTS[self.dialect])
            elif self.dialect == "sqlite":
                cursor.execute("PRAGMA query_only = ON")
            cursor.execute(sql)
            with closing(cursor.fetch_record_batch()) as reader:
                yield iter(reader)

    @contextmanager
    def _sqlalchemy(self, sql: str) -> Iterator[Batches]:
        from sqlalchemy import NullPool, create_engine, event, text

        # A query that failed leaves a cursor that cannot be closed. The error of the query is what matters.
        logging.getLogger(f"sqlalchemy.pool.impl.NullPool.{_LOGGED}").setLevel(logging.CRITICAL)
        try:
            engine = create_engine(self._url, poolclass=NullPool, pool_logging_name=_LOGGED)
        except Exception as error:  # noqa: BLE001  (a dialect may raise anything)
            raise UsageError(
                f"{self.place}: cannot be used: {self._show(error)}; {_lacking(self.dialect)}", code="unreadable-file"
            ) from None
        if engine.dialect.name == "sqlite":
            event.listen(engine, "connect", _prepare_sqlite)
        try:
            with engine.connect() as connection:
                if engine.dialect.name in _READING_STATEMENTS:
                    connection.execute(text(_READING_STATEMENTS[engine.dialect.name]))
                # The text of the user goes to the database as it is: a colon begins no parameter.
                options = {"stream_results": True, "yield_per": _BATCH}
                escaped = _escape_percents(sql, engine.dialect.paramstyle)
                result = connection.exec_driver_sql(escaped, execution_options=options)
                rows = (dict(row) for row in result.mappings())
                first = list(islice(rows, _BATCH))
                yield make_batches(list(result.keys()), first, chain(first, rows), _BATCH)
        finally:
            engine.dispose()


def _find_secrets(url: str) -> tuple[str, ...]:
    """Return the user, the password and the values of the query of a URL, as they stand there and decoded."""
    try:
        parts = urlsplit(url)
        values = [parts.password or "", *(value for _, value in parse_qsl(parts.query))]
    except ValueError:
        values = []
    decoded = {*values, *map(unquote, values)}
    return tuple(sorted((value for value in decoded if len(value) >= _SHORTEST_SECRET), key=len, reverse=True))


def _lacking(dialect: str) -> str:
    """Return what to install for a dialect that SQLAlchemy does not know."""
    if dialect == "bigquery":
        return "pip install 'fairtrial[bigquery]'"
    return f"install the package of its dialect; {spell('from_url')} may be {_ALLOWED}"


def _prepare_sqlite(connection: sqlite3.Connection, _: object) -> None:
    connection.create_function("md5", 1, _md5, deterministic=True)
    connection.execute("PRAGMA query_only = ON")


def _md5(text: object) -> str:
    return hashlib.md5(str(text).encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()


def _escape_percents(sql: str, style: str) -> str:
    """Return SQL for a driver that takes a percent sign for the beginning of a parameter."""
    return sql.replace("%", "%%") if style in ("format", "pyformat") else sql
