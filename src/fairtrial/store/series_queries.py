"""Queries that read many runs of a series at once, as counts that the database makes."""

from __future__ import annotations

from abc import ABC
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from fairtrial.records.keys import CaseKey
from fairtrial.records.result import Verdict
from fairtrial.store.run_queries import split_by_run
from fairtrial.store.schema import CASES, RESULTS
from fairtrial.store.view_queries import ViewQueries

_VERDICTS = (Verdict.PASSED, Verdict.FAILED, Verdict.INFORMATIONAL)
"""The verdicts that say all about an attempt. With unlike_runs, the body says whether the agent broke it."""


_EXACT = ("sqlite", "postgresql")
"""The databases in which two texts are equal only if they are the same."""
_CaseLists = tuple[list[int], list[CaseKey], list[str]]
"""The positions, keys and names of cases."""


class CountedCases(NamedTuple):
    """The cases of a run in file order, and its attempts as counts.

    `attempts` are the position of a case, its number of attempts, how many of them passed, how many passed or failed,
    and how many lack a verdict that they should have. Runs with the same cases share the lists of keys and names.
    """

    positions: list[int]
    keys: list[CaseKey]
    names: list[str]
    attempts: list[tuple[int, int, int, int, int]]


class SeriesQueries(ViewQueries, ABC):
    """Queries for a series of runs. What one of them returns is held at once."""

    def count_passes(self, run_ids: Collection[str]) -> Iterator[tuple[str, CountedCases]]:
        """Yield the ids of runs with their cases, and how many attempts at each case passed.

        All runs take four queries, another one if attempts ended without passing or failing, and another one for runs
        whose cases have different numbers of attempts. If the agent broke an attempt, it failed.
        """
        self.commit()
        ids = self._ids_by_number(run_ids)
        numbers = sorted(ids)
        cases = self._read_cases(numbers)
        widths = self._find_widths({run: own[0] for run, own in cases.items()})
        rows = self._count_unlike(widths)
        rows += self._count_each([number for number in numbers if number not in widths])
        unclear_runs = sorted({row[0] for row in rows if row[2] != row[3] + row[4] + row[5]})
        failed = self._failed_by_agent(unclear_runs, _VERDICTS) if unclear_runs else set()
        broken = Counter((run, position) for run, position, _ in failed)
        for number, own in zip(numbers, split_by_run(sorted(rows), numbers), strict=True):
            positions, keys, names = cases[number]
            attempts = [_count(row, broken) for row in own]
            if width := widths.get(number):
                by_position = {row[0]: row for row in attempts}
                attempts = [by_position.get(position) or (position, width, width, width, 0) for position in positions]
            yield ids[number], CountedCases(positions, keys, names, attempts)

    def _read_cases(self, numbers: Sequence[int]) -> dict[int, _CaseLists]:
        """Return the cases of runs by the numbers of the runs. Those with the cases of the first run share its lists.

        Other databases than SQLite and Postgres may take texts for equal that differ, for example in capitals.
        """
        first, rows_of_run = numbers[:1], CASES.alias()
        alike = dict[int, int]()
        if len(numbers) > 1 and self._connections.dialect.name in _EXACT:
            names = ("position", "eval_set", "case_id", "digest", "name")
            is_same = sa.and_(CASES.c.run == first[0], *(CASES.c[name] == rows_of_run.c[name] for name in names))
            query = sa.select(rows_of_run.c.run, sa.func.count(), sa.func.count(CASES.c.run))
            query = query.select_from(rows_of_run.outerjoin(CASES, is_same)).where(rows_of_run.c.run.in_(numbers))
            alike = {
                run: size for run, size, shared in self._tuples(query.group_by(rows_of_run.c.run)) if size == shared
            }
        unlike_runs = [*first, *(run for run in numbers[1:] if run not in alike or alike[run] != alike.get(first[0]))]
        columns = (CASES.c.run, CASES.c.position, CASES.c.eval_set, CASES.c.case_id, CASES.c.digest, CASES.c.name)
        rows = self._tuples(sa.select(*columns).where(CASES.c.run.in_(unlike_runs)).order_by(*columns[:2]))
        lists = dict[int, _CaseLists]()
        last_texts: list[tuple[str, ...]] = []
        keys: list[CaseKey] = []
        names_of_cases: list[str] = []
        for number, case_rows in zip(unlike_runs, split_by_run(rows, unlike_runs), strict=True):
            _, positions, *texts = list(zip(*case_rows, strict=True)) or [()] * len(columns)
            if texts != last_texts:
                keys = [CaseKey(*text) for text in zip(*texts[:3], strict=True)]
                names_of_cases, last_texts = list(texts[3]), texts
            lists[number] = list(positions), keys, names_of_cases
        return {number: lists.get(number) or lists[first[0]] for number in numbers}

    def _find_widths(self, positions: Mapping[int, Sequence[int]]) -> dict[int, int]:
        """Return the number of attempts at a case for those runs in which each case has as many.

        No two attempts share run, position and number. If there are as many as places in the rectangle in which they
        lie, all of its places are taken.
        """
        results, widths = RESULTS.c, dict[int, int]()
        ends = [end(column) for column in (results.attempt, results.position) for end in (sa.func.min, sa.func.max)]
        query = sa.select(results.run, sa.func.count(), *ends).where(results.run.in_(positions))
        for run, number, first, last, low, high in self._tuples(query.group_by(results.run)):
            if positions[run] == list(range(low, high + 1)) and number == (last - first + 1) * len(positions[run]):
                widths[run] = last - first + 1
        return widths

    def _count_unlike(self, widths: Mapping[int, int]) -> list[tuple[int, ...]]:
        """Return the counts of those cases of runs of which an attempt did not pass."""
        results = RESULTS.c
        query = sa.select(results.run, results.position, results.verdict).where(results.run.in_(widths))
        counts = Counter(map(tuple, self._tuples(query.where(results.verdict != Verdict.PASSED.value))))
        cases: dict[tuple[int, int], Counter[str]] = {}
        for (run, position, verdict), number in counts.items():
            cases.setdefault((run, position), Counter())[verdict] = number
        return [
            (*place, widths[place[0]], widths[place[0]] - own.total(), *(own[verdict] for verdict in _VERDICTS[1:]))
            for place, own in cases.items()
        ]

    def _count_each(self, numbers: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the counts of each case of runs."""
        if not numbers:
            return []
        place = (RESULTS.c.run, RESULTS.c.position)
        counts = [sa.func.count(sa.case((RESULTS.c.verdict == verdict.value, 1))) for verdict in _VERDICTS]
        query = sa.select(*place, sa.func.count(), *counts).where(RESULTS.c.run.in_(numbers))
        return [tuple(row) for row in self._tuples(query.group_by(*place))]


def _count(row: tuple[int, ...], broken: Counter[tuple[int, int]]) -> tuple[int, int, int, int, int]:
    run, position, number, passed, failed, informing = row
    trials = passed + failed
    if trials + informing == number:
        return position, number, passed, trials, 0
    trials += broken[run, position]
    return position, number, passed, trials, number - trials - informing
