"""Translate database errors into messages that say what a user can do."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from fairtrial.errors import StoreError, spell

_ADVICE = {
    "disk is full": "make room on the disk",
    "disk I/O error": "check the disk",
    "is malformed": "the file is damaged; restore a copy, or use another {store}",
    "is not a database": "use another {store}",
    "is locked": "another program is writing to it; wait for it, or end it",
    "readonly database": "make the file and its folder writable, or use another {store}",
    "unable to open": "copy the file, and its -wal file if it has one, to a folder that can be written",
}
"""The advice for an error, by words in the message of SQLite."""

TEMPORARY_PREFIX = "fairtrial-run-"
"""A store folder that lives as long as its process has a name with this beginning."""
_OF_PROCESS = "the store of this process"

_CUT = ("57P01", "57P02", "57P03", "08000", "08003", "08006")
"""Codes of Postgres for a connection that ends: the server stops, an administrator ends it, the network fails."""


def translate_errors(engine: sa.Engine, url: str) -> None:
    """Let every database error become a StoreError. A violated constraint stays an IntegrityError."""

    def raise_store_error(context: sa.engine.ExceptionContext) -> None:
        error = context.original_exception
        # SQLAlchemy does not count it as a cut if an administrator ends a connection, or if the network resets it.
        context.is_disconnect = context.is_disconnect or isinstance(error, OSError) or _postgres_code(error) in _CUT
        if isinstance(context.sqlalchemy_exception, sa.exc.IntegrityError) or not isinstance(error, Exception):
            return
        if isinstance(error, OSError) or context.sqlalchemy_exception is not None:
            raise (
                _ConnectionCutError(_message(error, url)) if context.is_disconnect else StoreError(_message(error, url))
            )

    sa.event.listen(engine, "handle_error", raise_store_error)
    # A connection that was cut cannot be closed in order. That is not worth a traceback on standard error.
    logging.getLogger("sqlalchemy.pool").addHandler(logging.NullHandler())


class _ConnectionCutError(StoreError):
    """The connection to a server ended. A new connection may succeed."""


def is_cut(error: StoreError) -> bool:
    """Return whether a connection to a server ended, so that a second try may succeed."""
    return isinstance(error, _ConnectionCutError)


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether SQLite waits for another connection."""
    return _sqlite_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def cannot_write(error: StoreError) -> bool:
    """Return whether SQLite failed because it cannot write to a file, or to its folder."""
    return _sqlite_code(error.__cause__) in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


def _sqlite_code(error: BaseException | None) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF  # the other bits refine the code


def show_url(url: str) -> str:
    """Return a URL without its password, and without its parameters, which may hold another password.

    A store that lives as long as its process has no name that a user knows.
    """
    try:
        if Path(sa.make_url(url).database or "").parent.name.startswith(TEMPORARY_PREFIX):
            return _OF_PROCESS
        return sa.make_url(url).set(query={}).render_as_string(hide_password=True)
    except (sa.exc.ArgumentError, ValueError):
        return "that URL"


def first_line(error: BaseException) -> str:
    """Return an error message's first line."""
    cause = getattr(error, "orig", None) or error
    return str(cause).partition("\n")[0]


def _message(error: Exception, url: str) -> str:
    cause = _postgres_fields(error).get("M") or first_line(error)
    advice = next(
        (f"; {advice.format(store=spell('store'))}" for words, advice in _ADVICE.items() if words in cause), ""
    )
    store = show_url(url)
    return f"{store if store == _OF_PROCESS else f'the store {store}'} failed: {cause}{advice}"


def _postgres_code(error: BaseException) -> str:
    return str(_postgres_fields(error).get("C", ""))


def _postgres_fields(error: BaseException) -> dict[str, Any]:
    """Return a Postgres message's fields, by their letters. For example, M is the text."""
    fields = error.args[0] if error.args else None
    return fields if isinstance(fields, dict) else {}
