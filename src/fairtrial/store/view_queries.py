"""Queries for a viewer on a run that may still be going on. They read changes, and rows that a page shows."""

from __future__ import annotations

from abc import ABC
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fairtrial.records.record import Record
from fairtrial.store.bodies import raw_json
from fairtrial.store.leases import is_alive
from fairtrial.store.run_queries import RunQueries
from fairtrial.store.schema import CASES, CRITERIA, LABELS, LEASES, RECORDINGS, RESULTS, RUNS, SCORES
from fairtrial.store.statements import storable

if TYPE_CHECKING:
    from fairtrial.records.result import Verdict

_BATCH = 500


class AttemptMark(Record, frozen=True):
    """Attempt marks in a list. `changed` is the change number that wrote its result.

    100,000 records take half the time of as many tuples, because the garbage collector does not look at them.
    """

    position: int
    attempt: int
    verdict: str
    fault_side: str | None
    valid: bool | None
    changed: int


class ViewQueries(RunQueries, ABC):
    """Viewer queries. None of them reads for long, so that a writer is never held up."""

    def last_change(self, run: int | str) -> int:
        """Return the last change number in a run, by its number or its id. It is 0 without results."""
        number = run if isinstance(run, int) else self._number(run)
        return int(self._value(sa.select(sa.func.max(RESULTS.c.changed)).where(RESULTS.c.run == number)) or 0)

    def marks(self, run_id: str, after: int = -1) -> list[AttemptMark]:
        """Return marks for attempts whose results were written after a change. No body is read."""
        columns = [RESULTS.c[name] for name in AttemptMark.__struct_fields__]
        query = sa.select(*columns).where(RESULTS.c.run == self._number(run_id), RESULTS.c.changed > after)
        # SQLite and MySQL have no truth values.
        return [
            AttemptMark(position, attempt, verdict, side, None if valid is None else bool(valid), changed)
            for position, attempt, verdict, side, valid, changed in self._tuples(query)
        ]

    def places_with(self, run_id: str, criterion: str, verdicts: Collection[Verdict]) -> set[tuple[int, int]]:
        """Return the attempts at which a criterion has any of these verdicts, by position and attempt."""
        number = self._number(run_id)
        own = sa.select(CRITERIA.c.number).where(CRITERIA.c.run == number, CRITERIA.c.name == storable(criterion))
        query = sa.select(SCORES.c.position, SCORES.c.attempt).where(
            SCORES.c.run == number,
            SCORES.c.criterion.in_(own),
            SCORES.c.verdict.in_([verdict.value for verdict in verdicts]),
        )
        return set(map(tuple, self._tuples(query)))

    def mean_values(self, run_id: str, criterion: str = "") -> dict[str, dict[int, float]]:
        """Return the mean value of each criterion, or of one, over the attempts at each case: by name and position."""
        number = self._number(run_id)
        columns = (SCORES.c.criterion, SCORES.c.position)
        query = sa.select(*columns, sa.func.avg(SCORES.c.value)).group_by(*columns)
        terms = self._read_terms(number).items()
        names = {number: own.name for own, number in terms if criterion in ("", own.name)}
        means: dict[str, dict[int, float]] = {name: {} for name in names.values()}
        known = query.where(SCORES.c.run == number, SCORES.c.value.is_not(None), SCORES.c.criterion.in_(names))
        for place, position, mean in self._tuples(known):
            means[names[place]][position] = mean
        return means

    def criterion_counts(self, run_id: str) -> dict[str, dict[str, int]]:
        """Return the number of outcomes of each criterion by their verdict."""
        number = self._number(run_id)
        names = {own: terms.name for terms, own in self._read_terms(number).items()}
        columns = (SCORES.c.criterion, SCORES.c.verdict)
        query = sa.select(*columns, sa.func.count()).where(SCORES.c.run == number).group_by(*columns)
        counts: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for criterion, verdict, count in self._rows(query):
            if criterion in names:
                own = counts[names[criterion]]
                own[verdict] = own.get(verdict, 0) + count
        return dict(counts)

    def count_cases(self, run_id: str) -> int:
        """Return the number of cases stored for a run, attempted or not."""
        return int(self._value(sa.select(sa.func.count()).where(CASES.c.run == self._number(run_id))) or 0)

    def run_is_written(self, run_id: str) -> bool:
        """Return whether a process that is alive writes a run."""
        query = sa.select(LEASES).where(LEASES.c.run_id == run_id)
        holder = next(iter(self._rows(query)), None)
        return holder is not None and is_alive(holder)

    def bodies_with(
        self, run_id: str, text: str, *, of_results: bool, positions: Collection[int] | None = None
    ) -> Iterator[tuple[int, int, bytes]]:
        """Yield position, attempt and JSON of each recording, or of each result, whose JSON contains a small text.

        With `positions`, only the attempts at these cases are read.
        The rows are read in batches by their keys. A long read would keep the log of SQLite from being emptied.
        """
        table = RESULTS if of_results else RECORDINGS
        number, last = self._number(run_id), (-1, -1)
        place = (table.c.position, table.c.attempt)
        contains = _containing(text)
        while True:
            after = sa.or_(place[0] > last[0], sa.and_(place[0] == last[0], place[1] > last[1]))
            query = sa.select(*place, table.c.body).where(table.c.run == number, after).order_by(*place).limit(_BATCH)
            if positions is not None:
                query = query.where(table.c.position.in_(positions))
            rows = self._rows(query)
            for position, attempt, body in rows:
                content = raw_json(body)
                if contains(content):
                    yield position, attempt, content
            if len(rows) < _BATCH:
                return
            last = (rows[-1][0], rows[-1][1])

    def labelled_cases(self, run_id: str) -> set[tuple[str, str, str, int]]:
        """Return the attempts that people labelled, by eval set, case, digest and attempt."""
        columns = (LABELS.c.eval_set, LABELS.c.case_id, LABELS.c.digest, LABELS.c.attempt)
        query = sa.select(*columns).where(LABELS.c.run == self._number(run_id)).distinct()
        return {(row[0], row[1], row[2], row[3]) for row in self._rows(query)}

    def count_by_verdict(self, run_id: str) -> dict[str, int]:
        """Return the number of attempts by their verdict."""
        query = sa.select(RESULTS.c.verdict, sa.func.count()).where(RESULTS.c.run == self._number(run_id))
        rows: list[tuple[str, int]] = self._rows(query.group_by(RESULTS.c.verdict))
        return {row[0]: row[1] for row in rows}

    def count_labels(self) -> int:
        """Return the number of labels of all runs."""
        return int(self._value(sa.select(sa.func.count()).select_from(LABELS)) or 0)

    def run_ids(self) -> list[tuple[str, bool]]:
        """Return the ids of all runs, the newest first, and whether each is finished. No body is read."""
        query = sa.select(RUNS.c.id, RUNS.c.summary.is_not(None)).order_by(RUNS.c.started.desc(), RUNS.c.id.desc())
        return [(row[0], bool(row[1])) for row in self._rows(query)]

    def _tuples(self, query: sa.Select[Any]) -> list[Any]:
        """Return all rows as the database driver returns them.

        It is for numbers and texts. For 100,000 rows, SQLAlchemy rows take as long as everything else in the query.
        """
        rows: list[Any] = self._connections.fetch(query, lambda result: result.cursor and result.cursor.fetchall())
        return rows or []

    def _rows(self, query: sa.Select[Any]) -> list[Any]:
        """Return all rows at once, which takes far less time than rows one by one."""
        rows: list[Any] = self._connections.fetch(query)
        return rows


def _containing(text: str) -> Callable[[bytes], bool]:
    """Return a function that says whether UTF-8 contains a small text, without regard to case.

    Bytes are searched without decoding them if the text has no letters with case beyond ASCII.
    """
    wanted = text.encode()
    if not any(ord(letter) > 127 and letter.upper() != letter for letter in text):
        return lambda content: wanted in content.lower()
    return lambda content: text in content.decode(errors="replace").lower()
