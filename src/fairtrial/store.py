"""What is kept of runs: recordings, results, and enough to go on after a crash. SQLite, or any SQLAlchemy URL."""

from __future__ import annotations

import sqlite3
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa

from fairtrial.errors import UsageError
from fairtrial.records.attempt import Recording
from fairtrial.records.ballot import Ballot
from fairtrial.records.reply import Reply
from fairtrial.records.result import CaseResult
from fairtrial.records.run import RunInfo

DEFAULT_URL = "sqlite:///.fairtrial/fairtrial.db"

_METADATA = sa.MetaData()
_BODY = sa.LargeBinary(2**31 - 1)  # the size matters to MySQL, whose smallest kind holds 64 KiB
_RUNS = sa.Table(
    "fairtrial_runs",
    _METADATA,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("started", sa.String(40), nullable=False),
    sa.Column("body", _BODY, nullable=False),
)


def _of_attempts(name: str) -> sa.Table:
    return sa.Table(
        name,
        _METADATA,
        sa.Column("run_id", sa.String(64), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("attempt", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("case_id", sa.Text, nullable=False),
        sa.Column("body", _BODY, nullable=False),
    )


_RECORDINGS = _of_attempts("fairtrial_recordings")
_RESULTS = _of_attempts("fairtrial_results")


def _of_calls(name: str) -> sa.Table:
    return sa.Table(
        name,
        _METADATA,
        sa.Column("run_id", sa.String(64), primary_key=True),
        sa.Column("key", sa.String(128), primary_key=True),
        sa.Column("body", _BODY, nullable=False),
    )


_REPLIES = _of_calls("fairtrial_replies")
_BALLOTS = _of_calls("fairtrial_ballots")
_BATCH = 500
SECONDS = 0.25
"""Seconds that a result may wait to be committed together with others."""
_PATIENCE = 60.0
"""Seconds to wait for another process that writes."""


_Row = dict[str, Any]


class Store:
    """One database. What is added is committed at once; what may wait within a quarter of a second, many in one go."""

    def __init__(self, url: str = DEFAULT_URL, *, create: bool = True) -> None:
        """Open the database, and create what it lacks, unless it is to be there already (`create` False).

        Raises UsageError where it cannot be reached, or is not there.
        """
        self.url = url
        self._waiting: list[tuple[sa.Table, _Row]] = []
        self._direct: sa.Connection | None = None
        self._committed = time.monotonic()
        with ExitStack() as opened:
            try:
                parsed = sa.make_url(url)
                if parsed.get_backend_name() == "sqlite" and parsed.database:
                    _make_room(Path(parsed.database), url, create=create)
                self._engine = sa.create_engine(parsed, connect_args=_patience(parsed))
                opened.callback(self._engine.dispose)
                if parsed.get_backend_name() == "sqlite":
                    sa.event.listen(self._engine, "connect", _prepare_sqlite)
                with self._engine.begin() as connection:
                    if create:
                        _create(connection)
                    elif not sa.inspect(connection).has_table(_RUNS.name):
                        raise _missing(url)
            except (sa.exc.SQLAlchemyError, OSError, ImportError, ValueError) as error:
                raise UsageError(f"--store: cannot open {_safe(url)}: {_first_line(error)}{_hint(error)}") from None
            self._open = opened.pop_all()
        weakref.finalize(self, self._open.close)
        self.dialect = parsed.get_backend_name()

    def close(self) -> None:
        """Commit what waits, and close the connections."""
        self.commit()
        self._direct = None
        self._open.close()

    def begin(self, run: RunInfo) -> None:
        """Add a run, or replace what is known of it."""
        self._write([(_RUNS, {"id": run.id, "started": run.started, "body": msgspec.json.encode(run)})])

    def add_recording(self, run_id: str, position: int, recording: Recording, *, may_wait: bool = False) -> None:
        """Keep a recording, in place of an earlier one of the same attempt.

        It may wait where it can be read again from where it came.
        """
        row = _row(run_id, position, recording.attempt, recording.case_id, recording)
        if may_wait:
            self._wait(_RECORDINGS, row)
        else:
            self._write([(_RECORDINGS, row)])

    def add_result(self, run_id: str, result: CaseResult) -> None:
        """Keep a result, in place of an earlier one of the same attempt; it may wait, and can be computed again."""
        self._wait(_RESULTS, _row(run_id, result.position, result.attempt, result.case_id, result))

    def _wait(self, table: sa.Table, row: _Row) -> None:
        self._waiting.append((table, row))
        if len(self._waiting) >= _BATCH or time.monotonic() - self._committed >= SECONDS:
            self.commit()

    def commit(self) -> None:
        """Write what waits."""
        self._committed = time.monotonic()
        if self._waiting:
            self._write(self._waiting)
            self._waiting = []

    def _write(self, rows: Sequence[tuple[sa.Table, _Row]]) -> None:
        with self._engine.begin() as connection:
            for table in dict.fromkeys(table for table, _ in rows):
                for statement in _replacing(self.dialect, table):
                    connection.execute(statement, [row for of, row in rows if of is table])

    def runs(self) -> list[RunInfo]:
        """Return all runs, the newest first."""
        query = sa.select(_RUNS.c.body).order_by(_RUNS.c.started.desc(), _RUNS.c.id.desc())
        with self._engine.connect() as connection:
            return [msgspec.json.decode(body, type=RunInfo) for (body,) in connection.execute(query)]

    def run(self, run_id: str) -> RunInfo:
        """Return the run whose id starts with `run_id`; raises UsageError where that is none or several."""
        found = [run for run in self.runs() if run.id.startswith(run_id)]
        exact = [run for run in found if run.id == run_id]
        if len(exact or found) != 1:
            known = "no run" if not found else f"{len(found)} runs"
            raise UsageError(
                f"{known} in {_safe(self.url)} with an id that starts with {run_id!r}; see `fairtrial runs`"
            )
        return (exact or found)[0]

    def recordings(self, run_id: str) -> Iterator[tuple[int, Recording]]:
        """Yield the recordings of a run with their positions, in file order."""
        self.commit()
        for row in self._rows(_RECORDINGS, run_id):
            yield row.position, msgspec.json.decode(row.body, type=Recording)

    def results(self, run_id: str) -> Iterator[CaseResult]:
        """Yield the results of a run in file order, the attempts of a case one after another."""
        self.commit()
        decoder = msgspec.json.Decoder(CaseResult)
        for row in self._rows(_RESULTS, run_id):
            yield decoder.decode(row.body)

    def replies(self, run_id: str) -> Kept[Reply]:
        """Return the replies of a run's models, by the key of their call; what is set is committed at once."""
        return Kept(self, run_id, Reply)

    def ballots(self, run_id: str) -> Kept[Ballot]:
        """Return the ballots of a run's judges, by id; what is set is committed at once."""
        return Kept(self, run_id, Ballot)

    def at_once(self) -> sa.Connection:
        """Return the connection on which every statement is committed as it is made."""
        if self._direct is None:
            direct = self._open.enter_context(self._engine.connect())
            self._direct = direct.execution_options(isolation_level="AUTOCOMMIT")
        return self._direct

    def prepared(self, statement: sa.Select[Any] | sa.Insert | sa.Delete) -> Callable[[_Row], sa.CursorResult[Any]]:
        """Return what makes a statement, given a row, and commits it: SQLAlchemy writes it out now, not each time."""
        written = statement.compile(dialect=self._engine.dialect)
        text, names = written.string, written.positiontup

        def make(row: _Row) -> sa.CursorResult[Any]:
            return self.at_once().exec_driver_sql(text, row if names is None else tuple(row[name] for name in names))

        return make

    def _rows(self, table: sa.Table, run_id: str) -> Iterable[Any]:
        query = sa.select(table).where(table.c.run_id == run_id).order_by(table.c.position, table.c.attempt)
        with self._engine.connect() as connection:
            yield from connection.execution_options(yield_per=_BATCH).execute(query)


def _make_room(file: Path, url: str, *, create: bool) -> None:
    """Make the folder of a database file, or raise UsageError where the file is to be there and is not."""
    if create:
        file.parent.mkdir(parents=True, exist_ok=True)
    elif not file.exists():
        raise _missing(url)


def _missing(url: str) -> UsageError:
    return UsageError(f"there is no store at {_safe(url)}; `fairtrial run` makes one")


def _create(connection: sa.Connection) -> None:
    """Create the tables that are not there."""
    if connection.dialect.name == "postgresql":
        # Two processes that start at once must not create the same table twice.
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(7283451)"))
    for table in _METADATA.sorted_tables:
        connection.execute(sa.schema.CreateTable(table, if_not_exists=True))


@cache
def _replacing(dialect: str, table: sa.Table) -> list[sa.Insert | sa.Delete]:
    """The statements that, given rows one after the other, put them in place of those with the same key.

    A dialect is imported only where it is spoken.
    """
    keys = [column.name for column in table.primary_key]
    changed = [column.name for column in table.columns if column.name not in keys]
    given: Any
    if dialect == "sqlite":
        from sqlalchemy.dialects.sqlite import insert as of_sqlite

        given = of_sqlite(table)
    elif dialect == "postgresql":
        from sqlalchemy.dialects.postgresql import insert as of_postgres

        given = of_postgres(table)
    elif dialect in ("mysql", "mariadb"):
        from sqlalchemy.dialects.mysql import insert as of_mysql

        given = of_mysql(table)
        return [given.on_duplicate_key_update({name: given.inserted[name] for name in changed})]
    else:
        same = (table.c[key] == sa.bindparam(key) for key in keys)
        return [sa.delete(table).where(*same), sa.insert(table)]
    new = {name: given.excluded[name] for name in changed}
    return [given.on_conflict_do_update(index_elements=keys, set_=new)]


T = TypeVar("T")


class Kept(MutableMapping[str, T]):
    """One kind of record of one run, in the database: memory does not grow with it."""

    def __init__(self, store: Store, run_id: str, kind: type[T]) -> None:
        self._store, self._run_id = store, run_id
        self._table = _REPLIES if kind is Reply else _BALLOTS
        self._decoder = msgspec.json.Decoder(kind)
        self._encode = msgspec.json.Encoder().encode
        own = self._table.c.run_id == run_id
        self._all = sa.select(self._table.c.key).where(own).order_by(self._table.c.key)
        wanted = sa.select(self._table.c.body).where(
            *(column == sa.bindparam(column.name) for column in self._table.primary_key)
        )
        self._one = store.prepared(wanted)
        self._replacing = [store.prepared(statement) for statement in _replacing(store.dialect, self._table)]

    def __getitem__(self, key: str) -> T:
        body = self._one({"run_id": self._run_id, "key": key}).scalar()
        if body is None:
            raise KeyError(key)
        return self._decoder.decode(body)

    def __setitem__(self, key: str, value: T) -> None:
        row = {"run_id": self._run_id, "key": key, "body": self._encode(value)}
        for put in self._replacing:
            put(row)

    def __delitem__(self, key: str) -> None:
        own = (self._table.c.run_id == self._run_id, self._table.c.key == key)
        if not self._store.at_once().execute(sa.delete(self._table).where(*own)).rowcount:
            raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        yield from self._store.at_once().execute(self._all).scalars().all()

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _row(run_id: str, position: int, attempt: int, case_id: str, body: Any) -> _Row:
    return {
        "run_id": run_id,
        "position": position,
        "attempt": attempt,
        "case_id": _storable(case_id),
        "body": msgspec.json.encode(body),
    }


def _storable(text: str) -> str:
    return text.replace("\x00", "�")  # Postgres text cannot hold a NUL


def _patience(url: sa.URL) -> dict[str, Any]:
    return {"timeout": _PATIENCE} if url.get_backend_name() == "sqlite" else {}


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    with ExitStack() as failing:
        failing.callback(connection.close)  # what fails here, nobody else closes
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous=NORMAL").close()
        failing.pop_all()


def _write_ahead(connection: Any) -> None:
    """Let readers and a writer work at once; it survives a kill, too."""
    patient_until = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").close()
        except sqlite3.OperationalError:
            # Of two processes that create a database at once one finds it locked, and SQLite does not wait here.
            if time.monotonic() > patient_until:
                raise
            time.sleep(0.01)
        else:
            return


def _safe(url: str) -> str:
    """The URL without its password, and without the parameters, which may hold another one."""
    try:
        return sa.make_url(url).set(query={}).render_as_string(hide_password=True)
    except (sa.exc.ArgumentError, ValueError):
        return "that URL"


def _hint(error: BaseException) -> str:
    if isinstance(error, ImportError):
        return "; install the extra 'postgres'"
    return "; a store is a URL such as sqlite:///runs.db" if isinstance(error, sa.exc.ArgumentError) else ""


def _first_line(error: BaseException) -> str:
    cause = getattr(error, "orig", None) or error
    return str(cause).partition("\n")[0]
