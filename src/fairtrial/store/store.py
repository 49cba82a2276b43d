"""The store of runs in a database: cases, recordings, results, judge calls and labels."""

from __future__ import annotations

import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import sqlalchemy as sa

from fairtrial.errors import UsageError
from fairtrial.records.attempt import Recording
from fairtrial.records.ballot import Ballot
from fairtrial.records.expectation import ExpectedCase
from fairtrial.records.reply import Reply
from fairtrial.records.run import RunInfo
from fairtrial.store.board_rows import BoardRows
from fairtrial.store.bodies import BodyDecoder, UnreadableBodyError, encode
from fairtrial.store.connections import Connections
from fairtrial.store.database_errors import show_url
from fairtrial.store.kept_histories import KeptHistories
from fairtrial.store.label_rows import label_row
from fairtrial.store.leases import Lease
from fairtrial.store.mappings import StoredMapping
from fairtrial.store.opening import open_engine
from fairtrial.store.queue_rows import LabelQueues
from fairtrial.store.result_rows import ResultBody, Terms, make_terms, read_result, result_row, score_rows
from fairtrial.store.schema import (
    BALLOTS,
    CASES,
    CRITERIA,
    HISTORIES,
    LABELS,
    LEASES,
    OF_RUNS,
    RECORDINGS,
    REPLIES,
    RESULTS,
    RUNS,
    SCORES,
)
from fairtrial.store.series_queries import SeriesQueries
from fairtrial.store.span_rows import SpanRows
from fairtrial.store.statements import Row, is_one_statement, replace_all, replacing, storable
from fairtrial.system.paths import DEFAULT_URL

if TYPE_CHECKING:
    from fairtrial.records.failure_mode import FoundFailure
    from fairtrial.records.label import Label
    from fairtrial.records.result import CaseResult, Verdict
    from fairtrial.records.summary import Summary

T = TypeVar("T")


class Store(SeriesQueries):
    """One database: SQLite by default, or any SQLAlchemy URL.

    Writes commit immediately. Results, and recordings that can be read again from a file, may be batched for up to
    `seconds`: 0.25 in a file, 1 on a server.
    """

    def __init__(self, url: str = DEFAULT_URL, *, create: bool = True) -> None:
        """Open the database. With `create` the file and the tables are made if they are missing.

        Raises UsageError if the URL cannot be used or names a file that does not exist. Raises StoreError, here and in
        every method, if the database fails or does not hold a store that this version can read.
        """
        super().__init__(Connections(open_engine(url, create=create)), url)
        weakref.finalize(self, self._connections.close)
        self._waiting: defaultdict[sa.Table, list[Row]] = defaultdict(list)
        self._waiting_rows = 0
        self._committed = time.monotonic()
        self._batch = self._connections.batch
        self._terms: dict[int, dict[Terms, int]] = {}
        self._changes_of: dict[int, int] = {}

    def close(self) -> None:
        """Commit the waiting rows, and close the connections, also of results that are still being read."""
        try:
            self.commit()
        finally:
            self._connections.close()

    # Writing

    @property
    def seconds(self) -> float:
        """Seconds that a result may wait to be committed together with other results."""
        return self._batch.seconds

    def begin(self, run: RunInfo) -> None:
        """Add a run that is not finished, or replace its description."""
        self._write_run(run, None)

    def lease(self, run_id: str) -> Lease:
        """Return a run's lease, which this process does not hold yet."""
        return Lease(self._connections, run_id)

    def finish(self, run: RunInfo, summary: Summary) -> None:
        """Store a run's end with its numbers."""
        self.commit()
        self._write_run(run, encode(summary))

    def _write_run(self, run: RunInfo, summary: bytes | None) -> None:
        values = {"started": run.started, "body": encode(run), "summary": summary}
        update = sa.update(RUNS).where(RUNS.c.id == run.id).values(values)
        if self._changes(update):
            return
        try:
            self._changes(sa.insert(RUNS).values(id=run.id, **values))
        except sa.exc.IntegrityError:  # another process has added the run meanwhile
            self._changes(update)

    def _changes(self, statement: sa.Update | sa.Insert) -> bool:
        """Execute a statement, and return whether it changed anything."""
        return self._connections.commit_each(lambda connection: bool(connection.execute(statement).rowcount))

    def add_cases(self, run_id: str, cases: Iterable[ExpectedCase]) -> None:
        """Store cases and their expectations in place of earlier cases at the same positions.

        They may wait: whoever continues the run adds them again.
        """
        number = self._number(run_id)
        for case in cases:
            self._wait(CASES, _case_row(number, case))

    def add_recording(self, run_id: str, position: int, recording: Recording, *, may_wait: bool = False) -> None:
        """Store a recording in place of an earlier recording for the same attempt.

        It may wait if it can be read again from a file.
        """
        row = {
            "run": self._number(run_id),
            "position": position,
            "attempt": recording.attempt,
            "body": encode(recording),
        }
        if may_wait:
            self._wait(RECORDINGS, row)
        else:
            self._replace_at_once(RECORDINGS, row)

    def remove_recordings(self, run_id: str, places: Iterable[tuple[int, int]]) -> None:
        """Remove the recordings at these positions and attempts."""
        same = (RECORDINGS.c[name] == sa.bindparam(f"own_{name}") for name in ("run", "position", "attempt"))
        rows = [{"own_run": self._number(run_id), "own_position": own, "own_attempt": n} for own, n in places]
        if rows:
            self._connections.transact(lambda connection: connection.execute(sa.delete(RECORDINGS).where(*same), rows))

    def add_result(
        self,
        run_id: str,
        result: CaseResult,
        verdicts: Sequence[Verdict] | None = None,
        finding: FoundFailure | None = None,
    ) -> None:
        """Store a result in place of an earlier result for the same attempt. It may wait: it can be computed again.

        `verdicts` are its outcome verdicts if they are already known, and `finding` says where it went wrong.
        """
        number = self._number(run_id)
        criteria = [self._criterion(number, make_terms(outcome)) for outcome in result.outcomes]
        verdicts = result.verdicts if verdicts is None else verdicts
        rows = score_rows(result, number, criteria, verdicts)
        self._waiting[SCORES] += rows
        self._waiting_rows += len(rows)
        row = result_row(result, number, criteria, verdicts, finding)
        self._wait(RESULTS, {**row, "changed": self._next_change(number)})

    def _next_change(self, run: int) -> int:
        """Return the number of a run's next change. Only one process writes a run at a time."""
        if run not in self._changes_of:
            self._changes_of[run] = self.last_change(run)
        self._changes_of[run] += 1
        return self._changes_of[run]

    def add_label(self, run_id: str, label: Label) -> None:
        """Store a person's label on an attempt in a run. Earlier labels stay."""
        self.add_labels(run_id, [label])

    def add_labels(self, run_id: str, labels: Sequence[Label]) -> None:
        """Store labels in a run, all of them or none."""
        number = self._number(run_id)
        rows = [label_row(label, number) for label in labels]
        self._connections.transact(lambda connection: connection.execute(sa.insert(LABELS), rows))

    def remove(self, run_id: str) -> None:
        """Remove a run with everything that belongs to it."""
        number = self._number(run_id)
        self.commit()

        def delete(connection: sa.Connection) -> None:
            for table in OF_RUNS:
                connection.execute(sa.delete(table).where(table.c.run == number))
            connection.execute(sa.delete(RUNS).where(RUNS.c.number == number))
            connection.execute(sa.delete(LEASES).where(LEASES.c.run_id == run_id))
            connection.execute(sa.delete(HISTORIES))  # they hold names of cases

        self._connections.transact(delete)
        del self._numbers[run_id]

    def commit(self) -> None:
        """Write the waiting rows."""
        self._committed = time.monotonic()
        if self._waiting:
            self._write(self._waiting)
            self._waiting.clear()
            self._waiting_rows = 0

    def _write(self, rows_by_table: Mapping[sa.Table, Sequence[Row]]) -> None:
        """Write all rows or none."""
        is_atomic = is_one_statement(self._connections.dialect)
        write = self._connections.commit_each if is_atomic else self._connections.transact
        write(lambda connection: replace_all(connection, rows_by_table))

    def _wait(self, table: sa.Table, row: Row) -> None:
        self._waiting[table].append(row)
        self._waiting_rows += 1
        if self._waiting_rows >= self._batch.rows or time.monotonic() - self._committed >= self._batch.seconds:
            self.commit()

    def _replace_at_once(self, table: sa.Table, row: Row) -> None:
        statements = replacing(self._connections.dialect, table)
        if len(statements) == 1:
            self._connections.commit_each(lambda connection: statements[0].execute(connection, row))
        else:
            self._write({table: [row]})

    # Reading

    def runs(self) -> list[RunInfo]:
        """Return all runs, the newest first."""
        query = sa.select(RUNS.c.number, RUNS.c.body).order_by(RUNS.c.started.desc(), RUNS.c.id.desc())
        decoder = BodyDecoder(RunInfo)
        return list(self._readable("run", query, lambda row: decoder.decode(row.body)))

    def run(self, run_id: str) -> RunInfo:
        """Return the run whose id starts with `run_id`. Raises UsageError unless exactly one run matches."""
        query = sa.select(RUNS.c.id, RUNS.c.body).where(RUNS.c.id.startswith(run_id, autoescape=True))
        bodies = {row.id: row.body for row in self._connections.rows(query)}
        matches = {run_id: bodies[run_id]} if run_id in bodies else bodies
        if len(matches) != 1:
            count = f"{len(bodies)} runs" if bodies else "no run"
            raise UsageError(
                f"{count} in {show_url(self.url)} with an id that starts with {run_id!r}; see `fairtrial runs`",
                code="no-such-run",
            )
        ((run_id, body),) = matches.items()
        try:
            return BodyDecoder(RunInfo).decode(body)
        except UnreadableBodyError:
            self._unreadable.add("run", run_id)
            raise

    def cases(self, run_id: str, *, positions: Collection[int] | None = None) -> Iterator[ExpectedCase]:
        """Return a run's cases with their expectations, in file order, or only the cases at some positions."""
        self.commit()
        decoder = BodyDecoder(ExpectedCase)
        query = sa.select(CASES).where(CASES.c.run == self._number(run_id)).order_by(CASES.c.position)
        if positions is not None:
            query = query.where(CASES.c.position.in_(positions))
        return self._readable(
            "case", query, lambda row: msgspec.structs.replace(decoder.decode(row.body), digest=row.digest)
        )

    def recordings(self, run_id: str, *, positions: Collection[int] | None = None) -> Iterator[tuple[int, Recording]]:
        """Return a run's recordings with their case positions, in file order, or only of some cases."""
        self.commit()
        decoder = BodyDecoder(Recording)
        query = sa.select(RECORDINGS).where(RECORDINGS.c.run == self._number(run_id))
        if positions is not None:
            query = query.where(RECORDINGS.c.position.in_(positions))
        query = query.order_by(RECORDINGS.c.position, RECORDINGS.c.attempt)
        return self._readable("recording", query, lambda row: (row.position, decoder.decode(row.body)))

    def results(
        self,
        run_id: str,
        *,
        positions: Collection[int] | None = None,
        verdicts: Collection[Verdict] | None = None,
        valid: bool | None = None,
        offset: int = 0,
        limit: int | None = None,
    ) -> Iterator[CaseResult]:
        """Return results in file order, a case's attempts one after another.

        Only the rows that are asked for are decoded: those of some positions, with some verdicts, valid or invalid,
        and of these only `limit` rows after the first `offset` rows.
        """
        self.commit()
        number = self._number(run_id)
        place = (RESULTS.c.run == CASES.c.run, RESULTS.c.position == CASES.c.position)
        query = sa.select(RESULTS, CASES.c.digest).select_from(RESULTS.outerjoin(CASES, sa.and_(*place)))
        query = query.where(RESULTS.c.run == number).order_by(RESULTS.c.position, RESULTS.c.attempt)
        if positions is not None:
            query = query.where(RESULTS.c.position.in_(positions))
        if verdicts is not None:
            query = query.where(RESULTS.c.verdict.in_([verdict.value for verdict in verdicts]))
        if valid is not None:
            query = query.where(RESULTS.c.valid.is_(valid))
        query = query.offset(offset or None)
        decoder = BodyDecoder(ResultBody)
        terms = {criterion: terms for terms, criterion in self._read_terms(number).items()}
        return self._readable(
            "result",
            query,
            lambda row: read_result(decoder.decode(row.body), row.position, row.attempt, row.digest or "", terms),
            limit,
        )

    def count_results(self, run_id: str) -> int:
        """Return the number of results in a run."""
        self.commit()
        query = sa.select(sa.func.count()).select_from(RESULTS).where(RESULTS.c.run == self._number(run_id))
        (row,) = self._connections.rows(query)
        return int(row[0])

    def replies(self, run_id: str) -> StoredMapping[Reply]:
        """Return a run's model replies, by call key. Writes commit immediately."""
        number = partial(self._number, run_id)
        return StoredMapping(self._connections, REPLIES, number, Reply, self._unreadable)

    def ballots(self, run_id: str) -> StoredMapping[Ballot]:
        """Return a run's judge ballots, by id. Writes commit immediately."""
        number = partial(self._number, run_id)
        return StoredMapping(self._connections, BALLOTS, number, Ballot, self._unreadable)

    def label_queues(self, run_id: str) -> LabelQueues:
        """Return the queues of outcomes in a run that people label."""
        return LabelQueues(self._connections, self._number(run_id), self._unreadable)

    def board(self, run_id: str) -> BoardRows:
        """Return the board on which people sort the failures of a run."""
        return BoardRows(self._connections, self._number(run_id), self._unreadable)

    def histories(self) -> KeptHistories:
        """Return the series of runs that were followed before."""
        return KeptHistories(self._connections)

    def spans(self, run_id: str) -> SpanRows:
        """Return the spans that a receiver got for a run."""
        return SpanRows(self._connections, self._number(run_id))

    def count_skipped(self) -> str:
        """Return how many rows were left out so far because they cannot be read, or an empty string if none was."""
        return str(self._unreadable)

    def count_skipped_results(self) -> int:
        """Return how many results were left out so far."""
        return self._unreadable.nouns.count("result")

    def forget_skipped(self, noun: str = "") -> None:
        """Count the rows that cannot be read from zero again, or only rows of one kind."""
        self._unreadable.forget_all(noun)

    def _readable(
        self, noun: str, query: sa.Select[Any], decode: Callable[[Any], T], limit: int | None = None
    ) -> Iterator[T]:
        """Yield the rows that can be decoded. The others are counted, each of them once."""
        for row in self._connections.rows(query, limit):
            try:
                record = decode(row)
            except UnreadableBodyError:
                self._unreadable.add(noun, tuple(row)[:3])
                continue
            yield record

    def _criterion(self, run: int, terms: Terms) -> int:
        """Return a criterion's number in a run, and store its terms if they are new."""
        numbers = self._terms.setdefault(run, {})
        number = -1
        while (known_number := numbers.get(terms)) is None:
            number = max(number + 1, len(numbers))  # a number may be taken by terms that cannot be read
            row = {"run": run, "number": number, "name": storable(terms.name), "body": encode(terms)}
            try:
                self._changes(sa.insert(CRITERIA).values(row))
                numbers[terms] = number
            except sa.exc.IntegrityError:  # another process, or an earlier part of the run, took the number
                numbers.update(self._read_terms(run))
        return known_number


def _case_row(run: int, case: ExpectedCase) -> Row:
    return {
        "run": run,
        "position": case.position,
        "eval_set": storable(case.eval_set),
        "case_id": storable(case.case.id),
        "digest": case.digest,
        "name": storable(case.name),
        "body": encode(msgspec.structs.replace(case, digest="")),
    }
