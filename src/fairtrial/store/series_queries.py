"""Queries that read many runs of a series at once, as counts that the database makes."""

from __future__ import annotations

from abc import ABC
from collections import Counter
from collections.abc import Collection, Iterator
from typing import NamedTuple

import sqlalchemy as sa

from fairtrial.records.keys import CaseKey
from fairtrial.records.result import Verdict
from fairtrial.store.run_queries import split_by_run
from fairtrial.store.schema import CASES, RESULTS
from fairtrial.store.view_queries import ViewQueries

_VERDICTS = (Verdict.PASSED, Verdict.FAILED, Verdict.INFORMATIONAL)
"""The verdicts that say all about an attempt. With others, the body says whether the agent broke it."""


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

        All runs take two queries, and another one if attempts ended without passing or failing. If the agent broke an
        attempt, it failed.
        """
        self.commit()
        ids = self._ids_by_number(run_ids)
        numbers = sorted(ids)
        place = (RESULTS.c.run, RESULTS.c.position)
        counts = [sa.func.count(sa.case((RESULTS.c.verdict == verdict.value, 1))) for verdict in _VERDICTS]
        results = sa.select(*place, sa.func.count(), *counts).where(RESULTS.c.run.in_(numbers))
        attempts = self._tuples(results.group_by(*place).order_by(*place))
        unclear_runs = sorted({row[0] for row in attempts if row[2] != row[3] + row[4] + row[5]})
        failed = self._failed_by_agent(unclear_runs, _VERDICTS) if unclear_runs else set()
        broken = Counter((run, position) for run, position, _ in failed)
        columns = (CASES.c.run, CASES.c.position, CASES.c.eval_set, CASES.c.case_id, CASES.c.digest, CASES.c.name)
        cases = self._tuples(sa.select(*columns).where(CASES.c.run.in_(numbers)).order_by(*columns[:2]))
        last_texts: list[tuple[str, ...]] = []
        keys: list[CaseKey] = []
        names: list[str] = []
        for number, case_rows, rows in zip(
            numbers, split_by_run(cases, numbers), split_by_run(attempts, numbers), strict=True
        ):
            _, positions, *texts = list(zip(*case_rows, strict=True)) or [()] * len(columns)
            if texts != last_texts:
                keys = [CaseKey(*text) for text in zip(*texts[:3], strict=True)]
                names, last_texts = list(texts[3]), texts
            yield ids[number], CountedCases(list(positions), keys, names, [_count(row, broken) for row in rows])


def _count(row: tuple[int, ...], broken: Counter[tuple[int, int]]) -> tuple[int, int, int, int, int]:
    run, position, number, passed, failed, informing = row
    trials = passed + failed
    if trials + informing == number:
        return position, number, passed, trials, 0
    trials += broken[run, position]
    return position, number, passed, trials, number - trials - informing
