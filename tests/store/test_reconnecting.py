"""Runs survive the end of their connections to a server, and a second end stops them with a message."""

from __future__ import annotations

import gc
import os
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from commands import MATCH, enter, eval_set, fairtrial, write
from fairtrial.errors import StoreError
from fairtrial.records.reply import Reply
from fairtrial.records.run import RunInfo
from fairtrial.records.trace import Trace
from fairtrial.store import Store

pytestmark = [
    pytest.mark.postgres,
    # pg8000 forgets the socket of a connection that was cut.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

_END = sa.text(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
_COUNT = sa.text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
    "AND backend_type = 'client backend'"
)


@pytest.fixture(autouse=True)
def forgotten_sockets() -> Iterator[None]:
    """Sockets that are forgotten are found in the test that forgot them."""
    yield
    gc.collect()


@pytest.fixture
def server() -> Iterator[sa.Engine]:
    """The administrator's connection to a new database."""
    name = f"fairtrial_{uuid.uuid4().hex}"
    url = sa.make_url(os.environ["FAIRTRIAL_TEST_POSTGRES"])
    outside = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with outside.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    inside = sa.create_engine(url.set(database=name), isolation_level="AUTOCOMMIT")
    yield inside
    inside.dispose()
    with outside.connect() as connection:
        connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
    outside.dispose()


def read_url(server: sa.Engine) -> str:
    """The URL of its database."""
    return server.url.render_as_string(hide_password=False)


def end_connections(server: sa.Engine) -> int:
    """End all other connections, as a server that restarts, and return their number."""
    with server.connect() as connection:
        return len(connection.execute(_END).all())


ENDED: list[int] = []
SERVERS: list[sa.Engine] = []


def unlucky(conversation: Trace) -> str:
    """Reply, while an administrator ends the connections of the run."""
    ENDED.append(end_connections(SERVERS[0]))
    return "ok" if conversation.invocations else "no"


def test_a_run_goes_on_if_its_connections_end_between_statements(
    server: sa.Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each reply of the agent finds them ended, and nothing is lost."""
    enter(tmp_path, monkeypatch)
    write("test_config.json", MATCH)
    write("trips.evalset.json", eval_set("a", "b", "c"))
    monkeypatch.setitem(sys.modules, "unlucky_agent", sys.modules[__name__])
    monkeypatch.setattr(f"{__name__}.SERVERS", [server])
    ENDED.clear()
    done = fairtrial(
        *("run", "trips.evalset.json", "--agent", "unlucky_agent:unlucky", "--concurrency", "1"),
        *("--store", read_url(server), "--json", "-"),
    )
    assert (done.code, "Traceback" in done.err) == (0, False), done.err
    assert [case["case_id"] for case in done.json["attempts"]] == ["a", "b", "c"]
    assert len(ENDED) == 3
    assert min(ENDED) > 0


def test_a_write_that_commits_alone_is_repeated_once(server: sa.Engine) -> None:
    """The connection for replies stays open all the time, so that nothing looks after it between two replies."""
    store = Store(read_url(server))
    store.begin(RunInfo("r", "2026-01-01T00:00:00+00:00", "0.1.0", "run"))
    replies = store.replies("r")
    replies["first"] = Reply("yes")
    assert end_connections(server) > 0
    replies["second"] = Reply("no")
    assert dict(replies) == {"first": Reply("yes"), "second": Reply("no")}
    store.close()


def test_a_server_that_ends_every_connection_is_a_store_error(server: sa.Engine) -> None:
    """The second try is the last."""
    store = Store(read_url(server))
    store.begin(RunInfo("r", "2026-01-01T00:00:00+00:00", "0.1.0", "run"))
    replies = store.replies("r")
    replies["first"] = Reply("yes")

    @sa.event.listens_for(sa.Engine, "before_cursor_execute")
    def end_before_each_statement(connection: sa.Connection, *_: object) -> None:
        if connection.engine.url.database == server.url.database and connection.engine is not server:
            end_connections(server)

    try:
        with pytest.raises(StoreError, match=r"failed: (network error|.*reset by peer|terminating connection)"):
            replies["second"] = Reply("no")
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", end_before_each_statement)
    store.close()


def test_a_closed_store_leaves_no_connection_open(server: sa.Engine) -> None:
    """Also if somebody still reads results, and if the store was used in every way."""
    store = Store(read_url(server))
    store.begin(RunInfo("r", "2026-01-01T00:00:00+00:00", "0.1.0", "run"))
    store.replies("r")["first"] = Reply("yes")
    unread = store.recordings("r")
    next(unread, None)
    store.close()
    with server.connect() as connection:
        assert connection.execute(_COUNT).scalar() == 0
