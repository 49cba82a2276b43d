"""Finished work is still in the store, whoever writes and whatever happens."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

from builders import call, recording, turn
from fairtrial.api import reread
from fairtrial.errors import FairtrialError, StoreError, UsageError
from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.reply import Reply
from fairtrial.records.result import CaseResult, Outcome
from fairtrial.records.run import RunInfo
from fairtrial.records.score import Quote, Range, Score
from fairtrial.records.trace import Message, Thought, ToolResult, Trace
from fairtrial.store import Store
from fairtrial.store.opening import STATEMENTS

pytestmark = pytest.mark.long


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of each kind."""
    return f"sqlite:///{tmp_path}/a b/run.db" if request.param == "sqlite" else os.environ["FAIRTRIAL_TEST_POSTGRES"]


class Other(SQLiteDialect_pysqlite):
    """SQLite under a name that the store does not know: it writes as it would to Oracle or SQL Server."""

    supports_statement_cache = True


@pytest.fixture(params=["sqlite", "other", pytest.param("postgres", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An open store in a database of each kind."""
    registry.register("other", __name__, "Other")
    opened = Store(
        os.environ["FAIRTRIAL_TEST_POSTGRES"]
        if request.param == "postgres"
        else f"{request.param}:///{tmp_path}/run.db"
    )
    yield opened
    opened.close()


@pytest.fixture
def run(store: Store) -> str:
    """The id of a run of its own."""
    name = uuid.uuid4().hex
    store.begin(info(name))
    return name


def info(name: str) -> RunInfo:
    """A run that has begun."""
    return RunInfo(name, "2026-01-19T00:00:00.000+00:00", "0.1.0", "run")


def result(position: int, attempt: int = 1, *, value: float | None = 1.0) -> CaseResult:
    """A result."""
    return CaseResult(f"case {position}", position, (Outcome("m", Score(value), 0.5),), attempt)


def test_results_come_back_in_file_order(store: Store, run: str) -> None:
    """Whatever the order in which they were finished; the attempts of a case one after another."""
    for position, attempt in ((2, 1), (0, 2), (1, 1), (0, 1)):
        store.add_result(run, result(position, attempt))
    assert [(one.position, one.attempt) for one in store.results(run)] == [(0, 1), (0, 2), (1, 1), (2, 1)]


def test_many_readers_at_once_do_not_wait_for_one_another(store: Store, run: str) -> None:
    """Each reads results row by row, and asks for a further connection meanwhile, as the requests of a viewer do."""
    for position in range(3):
        store.add_result(run, result(position))
    readers = [store.results(run) for _ in range(20)]
    assert [next(reader).position for reader in readers] == [0] * 20
    assert store.run(run).id == run
    assert [len(list(reader)) for reader in readers] == [2] * 20


def test_a_result_comes_back_as_it_was(store: Store, run: str) -> None:
    """Every field of it, in any language."""
    part = Score(None, "理由", "호출 1", quotes=(Quote("引用", "expected"),), ballots=("yes",))
    outcome = Outcome("m", Score(0.1 + 0.2, parts=(part, Score(applicable=False))), 0.5, range=Range(0, None))
    given = CaseResult("사례\x00", 7, (outcome,), 3, Failure("agent", "boom", "Trace…"), usage={"input_tokens": 1})
    store.add_result(run, given)
    assert list(store.results(run)) == [given]


def test_a_recording_comes_back_as_it_was(store: Store, run: str) -> None:
    """Every kind of step."""
    one = turn(
        Thought("hm"), call("f", x=[None, 1.5, "字"]), ToolResult("f", {"a": [1]}), Message("a", "b"), reply="다"
    )
    given = Recording(
        "c", Trace((one,), "s", {"k": None}, extra={"reward": 1.0}), 2, Failure("simulator", "x"), "failure"
    )
    store.add_recording(run, 4, given)
    assert list(store.recordings(run)) == [(4, given)]


def test_a_recording_that_may_wait_is_committed_with_the_next_results(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever reads the database sees neither or both."""
    writer, reader, name = Store(url), Store(url), f"run-{uuid.uuid4().hex}"
    monkeypatch.setattr(writer, "_batch", writer._batch._replace(seconds=3600.0))
    writer.begin(info(name))
    writer.add_recording(name, 0, recording(turn()), may_wait=True)
    writer.add_result(name, result(0))
    assert (list(reader.recordings(name)), list(reader.results(name))) == ([], [])
    writer.commit()
    assert (len(list(reader.recordings(name))), len(list(reader.results(name)))) == (1, 1)
    writer.close()
    reader.close()


def test_numbers_that_are_none_come_back_as_none(store: Store, run: str) -> None:
    """JSON knows no NaN; a part that informs only may hold one."""
    store.add_result(run, CaseResult("c", 0, (Outcome("m", Score(1.0, parts=(Score(float("nan")),)), 0.5),)))
    (found,) = store.results(run)
    assert found.outcomes[0].score.parts[0].value is None


def test_a_later_result_replaces_an_earlier_one_of_the_same_attempt(store: Store, run: str) -> None:
    """What was unscored is scored in a resume."""
    store.add_result(run, result(0, value=None))
    store.commit()
    store.add_result(run, result(0, value=1.0))
    assert [one.outcomes[0].score.value for one in store.results(run)] == [1.0]


def test_the_last_result_of_an_attempt_counts_in_a_batch(store: Store, run: str) -> None:
    """Both wait for the same commit, in which a database may change a row once."""
    store.add_result(run, result(0, value=0.0))
    store.add_result(run, result(0, value=1.0))
    assert [one.outcomes[0].score.value for one in store.results(run)] == [1.0]


def test_texts_of_agents_reach_a_database_as_they_are(store: Store, run: str) -> None:
    """Quotes, backslashes and place holders of SQL and JSON do not end a statement."""
    names = ("'); DROP TABLE fairtrial_runs; --", '"\\', "\\u0000 %s :rows $1 $$", "字\u2028😀", "\x00")
    for position, name in enumerate(names):
        store.add_result(run, CaseResult(name, position, (Outcome(name, Score(1.0), 0.5),), name=name))
    assert [(one.case_id, one.outcomes[0].criterion) for one in store.results(run)] == [(name, name) for name in names]


@pytest.mark.postgres
def test_few_statements_write_many_results_to_a_server() -> None:
    """A driver waits for an answer to each: a row at a time, 1,000 attempts would take 2,000 of them and more."""
    store, run = Store(os.environ["FAIRTRIAL_TEST_POSTGRES"]), f"run-{uuid.uuid4().hex}"
    store.begin(info(run))
    store.add_result(run, result(0))
    store.commit()
    statements: list[str] = []
    sa.event.listen(store._connections._engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
    for position in range(1_000):
        store.add_recording(run, position, recording(turn()), may_wait=True)
        store.add_result(run, result(position))
    store.commit()
    store.close()
    assert len(statements) < 20


def test_picked_replies_are_those_that_exist(store: Store, run: str) -> None:
    """They are read together, also more of them than one query names, and as often as they are named."""
    replies = store.replies(run)
    for number in range(3):
        replies[f"key-{number}"] = Reply(str(number))
    store.begin(info(f"{run}-2"))
    store.replies(f"{run}-2")["key-9"] = Reply("of another run")
    picked = replies.pick(["key-2", "key-0", "key-0", *(f"key-{number}" for number in range(5, 1200))])
    assert picked == {"key-0": Reply("0"), "key-2": Reply("2")}


def test_what_is_kept_of_calls_is_a_mapping(store: Store, run: str) -> None:
    """A later reply takes the place of an earlier one; another run's are not seen; what is not there is a KeyError."""
    replies = store.replies(run)
    for text in ("no", "yes"):
        replies["key"] = Reply(text)
    store.begin(info(f"{run}-2"))
    store.replies(f"{run}-2")["other"] = Reply("no")
    assert dict(replies) == {"key": Reply("yes")}
    del replies["key"]
    with pytest.raises(KeyError):
        replies["key"]


def test_runs_do_not_see_each_other(store: Store, run: str) -> None:
    """Each run has its own results."""
    other = uuid.uuid4().hex
    store.begin(RunInfo(other, "2026-01-20", "0.1.0", "run"))
    store.add_result(other, result(0))
    assert list(store.results(run)) == []


def test_a_run_is_found_by_the_start_of_its_id(store: Store, run: str) -> None:
    """A whole id is exact."""
    assert store.run(run[:20]).id == run
    assert store.run(run).id == run


def test_no_run_or_several_are_a_usage_error(store: Store, run: str) -> None:
    """The message says which."""
    store.begin(RunInfo(f"{run}-2", "2026-01-20", "0.1.0", "run"))
    assert store.run(run).id == run, "an exact id is one"
    with pytest.raises(UsageError, match=r"2 runs in .* with an id that starts with"):
        store.run(run[:20])
    with pytest.raises(UsageError, match=r"no run in .* with an id that starts with 'nothing'"):
        store.run("nothing")


def test_runs_are_listed_the_newest_first(store: Store, run: str) -> None:
    """As people look for them."""
    later = f"later-{run}"
    store.begin(RunInfo(later, "2999-01-01", "0.1.0", "run"))
    names = [one.id for one in store.runs()]
    assert names.index(later) < names.index(run)


def test_an_open_store_is_read_while_it_is_written(store: Store, run: str) -> None:
    """Results are read one after the other, and more may come meanwhile."""
    for position in range(3):
        store.add_result(run, result(position))
    for one in store.results(run):
        store.add_result(run, result(one.position + 10))
    assert len(list(store.results(run))) == 6


def test_a_statement_is_compiled_once_for_all_stores(tmp_path: Path) -> None:
    """A second store finds every statement of the first one."""
    Store(f"sqlite:///{tmp_path}/first.db").close()
    compiled = set(STATEMENTS)
    assert compiled
    Store(f"sqlite:///{tmp_path}/second.db").close()
    assert set(STATEMENTS) == compiled


WRITES = 200


def write(url: str, run: str, first: int, barrier: Any) -> None:
    """Open a store and add results, as one of two processes."""
    barrier.wait()
    opened = Store(url)
    opened.begin(info(run))
    for position in range(first, first + WRITES):
        opened.add_recording(run, position, recording(turn(reply=str(position))))
        opened.add_result(run, result(position))
    opened.close()


def test_two_processes_write_at_once(url: str) -> None:
    """Both open the same new database at the same moment, and nothing of either is lost."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    run = uuid.uuid4().hex
    processes = [context.Process(target=write, args=(url, run, k * WRITES, barrier)) for k in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    opened = Store(url)
    assert [one.position for one in opened.results(run)] == list(range(2 * WRITES))
    assert [position for position, _ in opened.recordings(run)] == list(range(2 * WRITES))
    opened.close()


AGENT = """
    import os, signal, sys
    from fairtrial.api import RunOptions, execute, plan_run, resume
    from fairtrial.store import Store

    DIES_AT = sys.argv[2]

    def agent(trace):
        with open("held.txt", "a") as log:
            print(trace.session_id, file=log)
        if trace.session_id == DIES_AT:
            os.kill(os.getpid(), signal.SIGKILL)
        return "hello"

    plan = plan_run("set.evalset.json", agent, {"response_match_score": 1.0}, run=RunOptions(concurrency=1))
    again = len(sys.argv) > 3
    if again:
        plan = resume(plan, Store(sys.argv[1]).run(sys.argv[3]))
    print(plan.info.id, flush=True)
    run = execute(plan, store=sys.argv[1], resumed=again)
    print(run.verdict, [case.case_id for case in run.cases])
"""


def test_kill_9_loses_nothing_that_was_finished_and_repeats_nothing(url: str, tmp_path: Path) -> None:
    """Of five cases three are held when the process is killed in the fourth; a resume holds the last two only."""
    (tmp_path / "agent.py").write_text(textwrap.dedent(AGENT))
    conversation = '[{"user_content": {"parts": [{"text": "hi"}]}, "final_response": {"parts": [{"text": "hello"}]}}]'
    cases = ", ".join(f'{{"eval_id": "{name}", "conversation": {conversation}}}' for name in "abcde")
    (tmp_path / "set.evalset.json").write_text(f'{{"eval_set_id": "s", "eval_cases": [{cases}]}}')

    def started(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "agent.py", url, *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100)

    killed = started("d")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    opened = Store(url)
    name = killed.stdout.strip()
    assert opened.run(name).finished is None
    assert [one.case_id for _, one in opened.recordings(name)] == ["a", "b", "c"]
    opened.close()
    resumed = started("nobody", name)
    assert resumed.stdout == f"{name}\npassed ['a', 'b', 'c', 'd', 'e']\n", resumed.stderr
    assert (tmp_path / "held.txt").read_text().split() == ["a", "b", "c", "d", "d", "e"]
    assert reread(url, name).info.finished is not None


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+pg8000://user:secret@127.0.0.1:port/db",
        "user:secret",
        "nosuchdatabase://user:secret@host/db",
        "sqlite:////proc/nowhere/secret/../run.db",
    ],
)
def test_a_url_that_cannot_be_opened_is_a_usage_error_without_its_password(url: str) -> None:
    """The message names the option, and the URL without its password."""
    with pytest.raises(UsageError) as caught:
        Store(url)
    assert str(caught.value).startswith("store: cannot open ")
    assert "secret" not in str(caught.value) or url.startswith("sqlite")


@pytest.mark.parametrize("secret", ["user:secret@127.0.0.1:9/db", "user@127.0.0.1:9/db?password=secret"])
def test_a_server_that_cannot_be_reached_is_a_store_error_without_its_password(secret: str) -> None:
    """Nothing listens on port 9 of the loopback interface."""
    with pytest.raises(StoreError) as caught:
        Store(f"postgresql+pg8000://{secret}")
    assert "127.0.0.1:9/db failed: Can't create a connection" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("given", ["none", "runs.db", "nosuchdatabase://host/db"])
def test_what_is_no_url_is_told_how_one_looks(given: str) -> None:
    """The name of a file is not yet the URL of a store."""
    with pytest.raises(
        UsageError, match=r"a store is (a URL such as|in SQLite or Postgres, for example) sqlite:///runs\.db"
    ):
        Store(given)


def test_a_file_that_is_no_database_is_a_store_error(tmp_path: Path) -> None:
    """It is not overwritten."""
    file = tmp_path / "notes.txt"
    file.write_text("not a database, " * 100)
    with pytest.raises(StoreError, match="file is not a database"):
        Store(f"sqlite:///{file}")
    assert file.read_text().startswith("not a database")


@pytest.mark.parametrize("content", [b"", b"no database " * 100])
def test_a_store_that_cannot_be_opened_is_closed(tmp_path: Path, content: bytes) -> None:
    """A file without runs and one that is no database leave no connection behind, of which Python 3.13 would warn."""
    (tmp_path / "other.db").write_bytes(content)
    with pytest.raises(FairtrialError):
        Store(f"sqlite:///{tmp_path}/other.db", create=False)
    gc.collect()


def test_a_closed_store_has_no_connection_for_a_reader_who_stopped_early(tmp_path: Path) -> None:
    """The last connection to a SQLite file removes its log, so that a log that is left tells of a connection."""
    store = Store(f"sqlite:///{tmp_path}/run.db")
    store.begin(info("r"))
    for position in range(3):
        store.add_result("r", result(position))
    unread = store.results("r")
    assert next(unread).position == 0
    assert (tmp_path / "run.db-wal").exists()
    store.close()
    assert not (tmp_path / "run.db-wal").exists()
    unread.close()  # type: ignore[attr-defined]
