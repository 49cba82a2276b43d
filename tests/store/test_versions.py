"""Stores of every version stay readable, and other files are refused with a message."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import uuid
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import golden_store
import pytest
import sqlalchemy as sa

from fairtrial.errors import StoreError, UsageError
from fairtrial.formats.spans.span import Span
from fairtrial.records.board_event import BoardEvent
from fairtrial.records.label import LabelQueue
from fairtrial.store import Store
from fairtrial.store.bodies import raw_json
from fairtrial.store.migrations import to_4
from fairtrial.store.schema import BOARD_EVENTS, HISTORIES, META, METADATA, REPLIES, SCHEMA_VERSION, SPANS

if TYPE_CHECKING:
    from alembic.operations import Operations

VERSIONS = sorted(int(file.stem.removeprefix("version_")) for file in golden_store.FOLDER.glob("version_*.sql"))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A new, empty database of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/run.db"
        return
    server = sa.make_url(os.environ["FAIRTRIAL_TEST_POSTGRES"])
    name = f"fairtrial_{uuid.uuid4().hex}"
    engine = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    yield server.set(database=name).render_as_string(hide_password=False)
    with engine.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE {name}"))
    engine.dispose()


def filled(url: str) -> None:
    """Store the golden run with this program."""
    store = Store(url)
    golden_store.fill(store)
    store.close()


def golden(version: int, tmp_path: Path) -> str:
    """The golden store of a version."""
    with closing(sqlite3.connect(tmp_path / "golden.db")) as database:
        database.executescript((golden_store.FOLDER / f"version_{version}.sql").read_text(encoding="utf-8"))
    return f"sqlite:///{tmp_path}/golden.db"


def execute(url: str, statement: str) -> None:
    """Change a database behind the back of the store."""
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text(statement))
    engine.dispose()


def columns(url: str, table: str) -> set[str]:
    """The names of the columns of a table."""
    engine = sa.create_engine(url)
    names = {column["name"] for column in sa.inspect(engine).get_columns(table)}
    engine.dispose()
    return names


def check_golden(store: Store) -> None:
    """The store holds the golden run, every field of it."""
    run = golden_store.RUN
    assert store.runs() == [run]
    assert store.summary(run.id) == golden_store.SUMMARY
    assert tuple(store.cases(run.id)) == golden_store.CASES
    assert tuple(store.recordings(run.id)) == golden_store.RECORDINGS
    assert tuple(store.results(run.id)) == golden_store.RESULTS
    assert tuple(result.verdict for result in store.results(run.id)) == golden_store.VERDICTS
    assert dict(store.replies(run.id)) == {"k-1": golden_store.REPLY}
    assert dict(store.ballots(run.id)) == {"b-1": golden_store.BALLOT}
    assert store.labels(run.id) == [golden_store.LABEL]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_golden_store_is_read(version: int, tmp_path: Path) -> None:
    """Every version that was ever released, and the one of this program."""
    store = Store(golden(version, tmp_path), create=False)
    check_golden(store)
    store.close()


def make_version_3(url: str) -> None:
    """Compress the bodies of a store as version 3 did."""
    vocabulary = Path(to_4.__file__).with_name("vocabulary_to_3.txt").read_bytes()
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        columns = [
            column for table in METADATA.sorted_tables for column in table.c if column.name in ("body", "summary")
        ]
        for column in columns:
            for (body,) in connection.execute(sa.select(column).distinct()).all():
                compressor = zlib.compressobj() if column.table is SPANS else zlib.compressobj(zdict=vocabulary)
                older = compressor.compress(raw_json(body)) + compressor.flush()
                connection.execute(sa.update(column.table).where(column == body).values({column: older}))
        HISTORIES.drop(connection)
        BOARD_EVENTS.drop(connection)
        connection.execute(sa.update(META).values(schema_version=3))
    engine.dispose()


@pytest.mark.long
def test_every_body_of_version_3_is_converted(url: str) -> None:
    """Of every table, also of more rows than a page. A body that is damaged stays as it is."""
    filled(url)
    store, run = Store(url), golden_store.RUN.id
    queue, span = LabelQueue("match", seed=7), Span("0" * 31 + "1", "0" * 15 + "1", name="주문")
    store.label_queues(run).add(queue, [])
    store.spans(run).add({span.trace_id: [span]})
    store.close()
    make_version_3(url)
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        body = connection.execute(sa.select(REPLIES.c.body)).scalar_one()
        rows = [{"run": 1, "key": f"m-{i}", "body": body} for i in range(2500)]
        connection.execute(sa.insert(REPLIES), [*rows, {"run": 1, "key": "z", "body": b"damaged"}])
    store = Store(url)
    replies = store.replies(run)
    assert all(replies[f"m-{i}"] == golden_store.REPLY for i in range(2500))
    assert tuple(store.results(run)) == golden_store.RESULTS
    assert store.label_queues(run).queues() == {1: queue}
    (batch,) = store.spans(run).pending()
    assert batch.items == (span,)
    store.close()
    with engine.connect() as connection:
        assert connection.execute(sa.select(REPLIES.c.body).where(REPLIES.c.key == "z")).scalar_one() == b"damaged"
    engine.dispose()


def test_a_store_of_version_4_gets_boards(url: str) -> None:
    """On every database, when it is opened. What it holds is there afterwards."""
    filled(url)
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        HISTORIES.drop(connection)
        BOARD_EVENTS.drop(connection)
        connection.execute(sa.update(META).values(schema_version=4))
    engine.dispose()
    store, run, event = Store(url), golden_store.RUN.id, BoardEvent("add", "wrong date", author="ann")
    check_golden(store)
    assert store.board(run).add(1, event)
    assert not store.board(run).add(1, BoardEvent("add", "too late"))
    assert store.board(run).events() == {1: event}
    store.close()


def test_there_is_a_golden_store_of_this_version(tmp_path: Path) -> None:
    """Whoever changes a table gives the schema a new version, with a migration and a golden store."""
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    engine = sa.create_engine(golden(SCHEMA_VERSION, tmp_path))
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    engine.dispose()


def test_a_run_comes_back_as_it_was(url: str) -> None:
    """On every database."""
    filled(url)
    store = Store(url, create=False)
    check_golden(store)
    store.close()


def add_host(operations: Operations) -> None:
    """Migrate to a version that only this test knows."""
    operations.add_column("fairtrial_runs", sa.Column("host", sa.Text))
    with operations.batch_alter_table("fairtrial_labels") as batch:
        batch.alter_column("note", new_column_name="remark")


@pytest.mark.parametrize("create", [True, False])
def test_an_older_store_is_migrated(url: str, create: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Step by step, when it is opened for writing or for reading; what it holds is there afterwards."""
    filled(url)
    steps: list[int] = []
    for version, upgrade in ((SCHEMA_VERSION + 1, add_host), (SCHEMA_VERSION + 2, lambda _: None)):

        def noted(operations: Operations, version: int = version, upgrade: object = upgrade) -> None:
            steps.append(version)
            assert callable(upgrade)
            upgrade(operations)

        module = SimpleNamespace(upgrade=noted)
        monkeypatch.setitem(sys.modules, f"fairtrial.store.migrations.to_{version}", module)
    monkeypatch.setattr("fairtrial.store.opening.SCHEMA_VERSION", SCHEMA_VERSION + 2)
    for _ in range(2):
        store = Store(url, create=create)
        assert list(store.results(golden_store.RUN.id)) == list(golden_store.RESULTS)
        store.close()
    assert steps == [SCHEMA_VERSION + 1, SCHEMA_VERSION + 2], "once"
    assert "host" in columns(url, "fairtrial_runs")
    assert {"remark"} == {"note", "remark"} & columns(url, "fairtrial_labels")


def test_a_migration_that_fails_changes_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one transaction, so that a store is of one version or of the other."""
    filled(url)

    def fail(operations: Operations) -> None:
        add_host(operations)
        raise UsageError("the disk is full")

    version = SCHEMA_VERSION + 1
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, f"fairtrial.store.migrations.to_{version}", SimpleNamespace(upgrade=fail))
        patch.setattr("fairtrial.store.opening.SCHEMA_VERSION", version)
        with pytest.raises(UsageError, match="the disk is full"):
            Store(url)
    store = Store(url, create=False)
    check_golden(store)
    store.close()
    assert "host" not in columns(url, "fairtrial_runs")


def test_a_newer_store_is_refused_with_both_versions(url: str) -> None:
    """Neither is it read nor written."""
    filled(url)
    execute(url, "UPDATE fairtrial_meta SET schema_version = schema_version + 6")
    for create in (True, False):
        with pytest.raises(StoreError) as caught:
            Store(url, create=create)
        assert f"has schema version {SCHEMA_VERSION + 6}" in str(caught.value)
        assert f"reads versions up to {SCHEMA_VERSION}; install a newer fairtrial" in str(caught.value)


@pytest.mark.parametrize("create", [True, False])
def test_a_store_that_is_too_old_is_refused_with_both_versions(url: str, create: bool) -> None:
    """No migration starts before version 1."""
    filled(url)
    execute(url, "UPDATE fairtrial_meta SET schema_version = 0")
    with pytest.raises(StoreError, match="has schema version 0, and this fairtrial reads versions from 1"):
        Store(url, create=create)


def test_a_database_of_somebody_else_is_no_store(url: str) -> None:
    """It is refused for reading; a run that is stored there gets tables of its own, and touches no others."""
    execute(url, "CREATE TABLE runs (id INTEGER)")
    with pytest.raises(UsageError, match="holds no fairtrial store"):
        Store(url, create=False)
    filled(url)
    store = Store(url, create=False)
    check_golden(store)
    store.close()
    assert columns(url, "runs") == {"id"}


def test_tables_without_a_version_are_refused(url: str) -> None:
    """A program before the first release made them; their columns are not known."""
    execute(url, "CREATE TABLE fairtrial_runs (id INTEGER)")
    with pytest.raises(StoreError, match="has a table fairtrial_runs without a schema version"):
        Store(url)
    assert columns(url, "fairtrial_runs") == {"id"}


@pytest.mark.long
def test_a_store_of_this_version_is_opened_without_alembic(tmp_path: Path) -> None:
    """It takes time to import, and most commands have nothing to migrate."""
    code = "import sys; from fairtrial.store import Store; Store(sys.argv[1]).close(); print('alembic' in sys.modules)"
    command = [sys.executable, "-c", code, f"sqlite:///{tmp_path}/run.db"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"
