"""Rows of a query as a source: any database, only read, a sample in the database, and no secret anywhere."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import fairtrial as command
from databases import OTEL_TRACES, PASSWORD, chats, clickhouse, write_duckdb, write_sqlite
from fairtrial import UsageError, api

WRITERS = {"duckdb": write_duckdb, "sqlite": write_sqlite}


def fetch(url: str, folder: Path, sql: str = "SELECT * FROM chats", **options: Any) -> Any:
    """The rows of a query as a table."""
    return pq.read_table(api.fetch_query(url, api.Query(sql, **options), folder))


@pytest.fixture(params=sorted(WRITERS))
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database with 200 conversations in the table `chats`, of which 20 have failed."""
    url: str = WRITERS[request.param](tmp_path / "traffic.db")
    return url


@pytest.mark.long
@pytest.mark.parametrize(
    "sql", ["SELECT * FROM chats", "chats", "-- all\nWITH c AS (SELECT * FROM chats) SELECT * FROM c;"]
)
def test_every_row_of_a_query_is_a_conversation(url: str, sql: str) -> None:
    """The query is SQL, or the name of a table."""
    done = command("check", "--sql", sql, "--from", url)
    assert done.code == 0, done.out
    assert "chat messages, 200 recordings" in done.out


def test_messages_name_the_database(url: str, tmp_path: Path) -> None:
    """The file that holds the rows for a while is nothing that a user knows."""
    rows = "SELECT id, messages FROM chats LIMIT 2"
    done = command("check", "--sql", rows, "--from", url)
    assert done.out.startswith(f"✓ {url}: chat messages, 2 recordings")
    done = command("score", "--sql", "SELECT failed FROM chats", "--from", url)
    assert f"fairtrial: {url}: /: is not in a format" in done.err
    report = tmp_path / "report.json"
    command("score", "--sql", rows, "--from", url, "--store", "none", "--json", report)
    assert [path for path, _ in json.loads(report.read_text())["run"]["config"]["recordings"]] == [url]
    assert "fairtrial-query-" not in report.read_text()


@pytest.mark.long
def test_a_data_set_is_scored_from_a_query(url: str, tmp_path: Path) -> None:
    """Each conversation is in the results."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"criteria": {"tool_call_count_v1": 1.0}}))
    done = command("score", "--sql", "chats", "--from", url, "--out", tmp_path / "out", "--config", config)
    assert "200 rows" in done.err
    assert pq.read_table(tmp_path / "out/attempts").num_rows == 200


def test_the_sample_is_that_of_the_hash(url: str, tmp_path: Path) -> None:
    """MD5 of the seed and the id, as the reference says and whatever the database."""
    table = fetch(url, tmp_path / "rows", sample=0.25, seed=7)
    bound = f"{int(0.25 * 16**13):013x}"
    expected = {name for name, *_ in chats(200) if hashlib.md5(f"7:{name}".encode()).hexdigest() < bound}  # noqa: S324
    assert set(table["id"].to_pylist()) == expected
    assert set(table["fairtrial_probability"].to_pylist()) == {0.25}


def test_a_number_is_sampled_exactly(url: str, tmp_path: Path) -> None:
    """The probability is the number over all conversations."""
    table = fetch(url, tmp_path / "rows", sample=50)
    assert table.num_rows == 50
    assert set(table["fairtrial_probability"].to_pylist()) == {0.25}


def test_conversations_that_meet_a_condition_are_always_sampled(url: str, tmp_path: Path) -> None:
    """All that failed, each with the probability 1."""
    table = fetch(url, tmp_path / "rows", sample=18, always="failed = 1")
    by_failed = {(row["failed"], row["fairtrial_probability"]) for row in table.to_pylist()}
    assert by_failed == {(1, 1.0), (0, 0.1)}
    assert sum(table["failed"].to_pylist()) == 20
    assert table.num_rows == 38


def test_a_condition_keeps_whole_conversations(url: str, tmp_path: Path) -> None:
    """A row of a conversation meets it, and all rows of the conversation are read."""
    rows = "SELECT id, messages, failed FROM chats UNION ALL SELECT id, messages, 0 FROM chats"
    table = fetch(url, tmp_path / "rows", rows, where="failed = 1")
    assert sorted(set(table["id"].to_pylist())) == sorted(name for name, _, failed in chats(200) if failed)
    assert table.num_rows == 40


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"sql": "DELETE FROM chats"}, "sql: must begin with SELECT, WITH, FROM or VALUES, got 'DELETE'"),
        ({"sql": "SELECT * FROM chats WHERE id = 'none'"}, "sql: the query returns no rows from"),
        ({"sql": "SELECT * FROM nothing"}, "the query failed: "),
        ({"sample": 0.5, "key": "ids"}, "key: the query returns no column 'ids'; did you mean 'id'?"),
        ({"sql": "SELECT messages FROM chats", "sample": 5}, "key: names the column with the id of the conversation"),
    ],
)
def test_mistakes_are_named(url: str, tmp_path: Path, options: Any, problem: str) -> None:
    """With what was given and what is allowed."""
    with pytest.raises(UsageError) as caught:
        fetch(url, tmp_path / "rows", **options)
    assert problem in str(caught.value)


def test_a_database_is_only_read(url: str, tmp_path: Path) -> None:
    """Also where a query that begins with WITH could change it."""
    with pytest.raises(UsageError, match=r"(?i)read.?only"):
        fetch(url, tmp_path / "rows", "WITH old AS (SELECT 1) DELETE FROM chats")
    assert fetch(url, tmp_path / "rows").num_rows == 200


def test_rows_stay_the_same_when_a_run_goes_on(tmp_path: Path) -> None:
    """The table went on meanwhile."""
    url = write_sqlite(tmp_path / "traffic.db", 10)
    first = fetch(url, tmp_path / "rows")
    (tmp_path / "traffic.db").unlink()
    write_sqlite(tmp_path / "traffic.db", 20)
    path = api.fetch_query(url, api.Query("SELECT * FROM chats"), tmp_path / "rows", resume=True)
    assert pq.read_table(path).equals(first)


def test_another_query_is_refused_when_a_run_goes_on(tmp_path: Path) -> None:
    """Its rows would be taken for those of the first."""
    url = write_sqlite(tmp_path / "traffic.db", 10)
    fetch(url, tmp_path / "rows")
    with pytest.raises(UsageError, match="holds the rows of another query"):
        api.fetch_query(url, api.Query("SELECT * FROM chats LIMIT 5"), tmp_path / "rows", resume=True)


def test_only_the_user_may_read_the_rows(tmp_path: Path) -> None:
    """They hold what customers wrote."""
    path = api.fetch_query(write_sqlite(tmp_path / "t.db", 10), api.Query("chats"), tmp_path / "rows")
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql+pg8000://me:{PASSWORD}@127.0.0.1:1/traffic",
        f"postgresql+pg8000://127.0.0.1:1/traffic?password={PASSWORD}",
        f"nosuchdialect://me:{PASSWORD}@host/traffic",
        f"duckdb:///missing/{'x' * 5}.db?token={PASSWORD}",
    ],
)
def test_no_message_holds_a_password(url: str) -> None:
    """Whatever the driver writes."""
    done = command("check", "--sql", "chats", "--from", url)
    assert done.code == 2
    assert done.err
    assert PASSWORD not in done.err + done.out


def test_the_url_may_stand_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that no password is in the list of processes."""
    monkeypatch.setenv("FAIRTRIAL_FROM", write_sqlite(tmp_path / "t.db", 10))
    assert "10 recordings" in command("check", "--sql", "chats").out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["check", "--from", "sqlite:///t.db"], "--from needs --sql"),
        (["check", "--sql", "chats"], "--sql needs --from"),
        (["check", "--sql", "chats", "--from", "traffic.db"], "--from: must be duckdb:///FILE"),
        (["score"], "needs RECORDED, or --sql with --from"),
        (["score", "x.json", "--where", "a = 1"], "--where needs --sql"),
        (["score", "--sql", "chats", "--from", "sqlite:///t.db", "--always", "a = 1"], "--always needs --sample"),
    ],
)
def test_options_that_do_not_fit_are_refused(arguments: list[str], problem: str) -> None:
    """With the option that is missing."""
    done = command(*arguments)
    assert done.code == 2
    assert problem in done.err


def test_a_later_value_of_another_type_is_named(tmp_path: Path) -> None:
    """SQLite holds any value in any column."""
    url = write_sqlite(tmp_path / "t.db", 10)
    with pytest.raises(UsageError, match=r"row 1000, column 'value': must be int, as the first rows are, got str"):
        fetch(
            url,
            tmp_path / "rows",
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 1200) "
            "SELECT CASE WHEN i < 1000 THEN i ELSE 'many' END AS value FROM n",
        )


def test_an_export_of_bigquery_is_read_as_spans(tmp_path: Path) -> None:
    """Spans with attributes as JSON text, as Parquet."""
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.input.messages": make_message("user", "Where is order 7?"),
        "gen_ai.output.messages": make_message("assistant", "It is on its way."),
    }
    row = {
        "trace_id": "a" * 32,
        "span_id": "b" * 16,
        "parent_span_id": None,
        "name": "invoke_agent",
        "start_time": 1_764_000_000_123_456_789,
        "end_time": 1_764_000_001_123_456_789,
        "attributes": json.dumps(attributes),
    }
    times = [(name, pa.timestamp("ns", "UTC")) for name in ("start_time", "end_time")]
    texts = [(name, pa.string()) for name in ("trace_id", "span_id", "parent_span_id", "name", "attributes")]
    path = tmp_path / "spans.parquet"
    pq.write_table(pa.Table.from_pylist([row], schema=pa.schema([*texts, *times])), path)
    done = command("check", path)
    assert "rows of spans with attributes as text (GenAI conventions), 1 recording, 1 invocation" in done.out
    done = command("check", "--sql", f"FROM '{path}'", "--from", "duckdb://")
    assert "1 recording, 1 invocation" in done.out


def make_message(role: str, text: str) -> str:
    """A message as the conventions for generative AI write it."""
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


@pytest.mark.postgres
def test_rows_of_postgres_are_read(tmp_path: Path) -> None:
    """A query with a sample, and no change of the database."""
    from sqlalchemy import create_engine, text

    url = os.environ["FAIRTRIAL_TEST_POSTGRES"]
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("DROP TABLE IF EXISTS query_chats"))
        connection.execute(text("CREATE TABLE query_chats (id TEXT, messages JSONB, failed INTEGER)"))
        connection.execute(text("CREATE SEQUENCE query_numbers"))
        insert = text("INSERT INTO query_chats VALUES (:id, CAST(:messages AS JSONB), :failed)")
        connection.execute(insert, [dict(zip(("id", "messages", "failed"), row, strict=True)) for row in chats(200)])
    try:
        table = fetch(url, tmp_path / "rows", "SELECT * FROM query_chats", sample=18, always="failed = 1")
        assert table.num_rows == 38
        assert "200 recordings" in command("check", "--sql", "query_chats", "--from", url).out
        with pytest.raises(UsageError, match="data-modifying"):
            fetch(url, tmp_path / "more", "WITH d AS (DELETE FROM query_chats RETURNING *) SELECT * FROM d")
        with pytest.raises(UsageError, match="read-only transaction"):
            fetch(url, tmp_path / "more", "SELECT nextval('query_numbers')")
    finally:
        with engine.begin() as connection:
            connection.execute(text("DROP TABLE query_chats"))
            connection.execute(text("DROP SEQUENCE query_numbers"))
        engine.dispose()


@pytest.mark.clickhouse
def test_the_table_of_the_collector_in_clickhouse_is_read(tmp_path: Path) -> None:
    """The engine of ClickHouse takes the sample, and its errors name no password."""
    with clickhouse() as (url, engine):
        engine.query(OTEL_TRACES)
        engine.query(
            "INSERT INTO otel.otel_traces SELECT now64(9), leftPad(lower(hex(number + 1)), 32, '0'), "
            "leftPad(lower(hex(number + 1)), 16, '0'), '', 'ot=th:8', 'invoke_agent shop', 'Internal', 'shop', "
            "map('service.name', 'shop'), '', '', map('gen_ai.operation.name', 'invoke_agent', "
            f"'gen_ai.input.messages', '{make_message('user', 'Where?')}', "
            f"'gen_ai.output.messages', '{make_message('assistant', 'There.')}'), 1000000, "
            "if(number % 10 = 0, 'Error', 'Ok'), '', [now64(9)], ['event'], [map('a', 'b')], [], [], [], [] "
            "FROM numbers(200)"
        )
        sql = "SELECT * FROM otel.otel_traces"
        table = fetch(url, tmp_path / "rows", sql, sample=18, always="StatusCode = 'Error'")
        assert table.num_rows == 38
        done = command("check", "--sql", sql, "--from", url)
        assert "rows of ClickHouse's otel_traces (GenAI conventions), 200 recordings" in done.out
        done = command("check", "--sql", "otel.nothing", "--from", url)
        assert done.code == 2
        assert "UNKNOWN_TABLE" in done.err
        assert PASSWORD not in done.err
