"""Queries for the cases, numbers and labels in a run. Comparisons and calibrations need them without the bodies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import groupby
from typing import Any

import msgspec
import sqlalchemy as sa

from fairtrial.errors import UsageError
from fairtrial.records.attempt_row import AttemptRow, CriterionTerms, OutcomeRow
from fairtrial.records.failure_mode import FoundFailure
from fairtrial.records.keys import CaseKey
from fairtrial.records.label import Label
from fairtrial.records.result import Verdict
from fairtrial.store.bodies import BodyDecoder, UnreadableBodyError
from fairtrial.store.connections import Connections
from fairtrial.store.database_errors import show_url
from fairtrial.store.label_rows import make_label
from fairtrial.store.result_rows import ResultBody, Terms
from fairtrial.store.schema import CASES, CRITERIA, LABELS, RESULTS, RUNS, SCORES
from fairtrial.store.statements import storable
from fairtrial.system.unreadable_rows import UnreadableRows


class _SampledBody(msgspec.Struct):
    """The field of a result's body that says with which probability its conversation was sampled."""

    probability: float | None = None


class _FoundBody(msgspec.Struct):
    """The fields of a result's body that name the case, and say where the attempt went wrong."""

    case_id: str
    name: str = ""
    finding: FoundFailure | None = None


class RunQueries(ABC):
    """The queries of a store that need few columns or labels from a run."""

    def __init__(self, connections: Connections, url: str) -> None:
        self.url = url
        self._connections = connections
        self._numbers: dict[str, int] = {}
        self._unreadable = UnreadableRows()

    @abstractmethod
    def commit(self) -> None:
        """Write the waiting rows, so that queries return them."""

    def found_failures(self, run_id: str) -> Iterator[tuple[int, str, int, Verdict, FoundFailure | None]]:
        """Yield each attempt in file order: position, name and number, verdict, and the finding if there is one.

        Only a finding is decoded, and with it the name of the case.
        """
        self.commit()
        columns = (RESULTS.c.position, RESULTS.c.attempt, RESULTS.c.verdict, RESULTS.c.body)
        query = sa.select(*columns).where(RESULTS.c.run == self._number(run_id))
        decoder = BodyDecoder(_FoundBody)
        for row in self._connections.rows(query.order_by(RESULTS.c.position, RESULTS.c.attempt)):
            verdict, title, finding = Verdict(row.verdict), "", None
            if verdict in (Verdict.FAILED, Verdict.ERROR):
                with suppress(UnreadableBodyError):  # then the whole result is read, which counts what cannot be read
                    body = decoder.decode(row.body)
                    title, finding = body.name or body.case_id, body.finding
            yield row.position, title, row.attempt, verdict, finding

    def case_keys(self, run_id: str, name: str | None = None) -> Iterator[tuple[int, CaseKey, str]]:
        """Yield position, key and name for each case in a run, in file order, or only of those with an id or name.

        No body is read.
        """
        self.commit()
        query = sa.select(CASES.c.position, CASES.c.eval_set, CASES.c.case_id, CASES.c.digest, CASES.c.name)
        if name is not None:
            query = query.where(sa.or_(CASES.c.case_id == name, CASES.c.name == name))
        for row in self._connections.rows(query.where(CASES.c.run == self._number(run_id)).order_by(CASES.c.position)):
            yield row.position, CaseKey(row.eval_set, row.case_id, row.digest), row.name

    def criterion_terms(self, run_id: str) -> dict[str, CriterionTerms]:
        """Return the terms for each criterion in a run, with the first threshold if a criterion has several."""
        self.commit()
        by_name: dict[str, CriterionTerms] = {}
        for terms in self._read_terms(self._number(run_id)):
            own = CriterionTerms(terms.name, terms.threshold, terms.lower_is_better, terms.range)
            by_name.setdefault(terms.name, own)
        return by_name

    def attempt_rows(
        self, run_id: str, *, sampled: bool = False, criteria: Collection[str] | None = None
    ) -> Iterator[AttemptRow]:
        """Yield attempt numbers from a run in file order, without decoding their results.

        The failure side is in the result body. Only attempts that ended without a score are decoded, unless the run
        may be `sampled`: then each body says with which probability. With `criteria`, only outcomes on them are read.
        """
        self.commit()
        number = self._number(run_id)
        names = {
            criterion: terms.name
            for terms, criterion in self._read_terms(number).items()
            if criteria is None or terms.name in criteria
        }
        verdicts = {verdict.value: verdict for verdict in Verdict}
        failed, probabilities = self._failed_by_agent(number), self._probabilities(number) if sampled else {}
        place = (SCORES.c.position, SCORES.c.attempt)
        query = sa.select(*place, SCORES.c.criterion, SCORES.c.value, SCORES.c.verdict).where(SCORES.c.run == number)
        if criteria is not None:
            query = query.where(SCORES.c.criterion.in_(names))
        rows = self._connections.rows(query.order_by(*place, SCORES.c.criterion)) if names else iter(())
        scores = groupby(rows, key=lambda row: (row[0], row[1]))
        next_place, next_scores = next(scores, (None, iter(())))
        columns = (RESULTS.c.position, RESULTS.c.attempt, RESULTS.c.verdict, RESULTS.c.valid)
        for position, attempt, verdict, valid in self._connections.rows(
            sa.select(*columns).where(RESULTS.c.run == number).order_by(*columns[:2])
        ):
            outcomes: list[OutcomeRow] = []
            if next_place == (position, attempt):
                outcomes = [
                    OutcomeRow(names[row[2]], row[3], verdicts[row[4]]) for row in next_scores if row[2] in names
                ]
                next_place, next_scores = next(scores, (None, iter(())))
            agent_failed = (position, attempt) in failed
            probability = probabilities.get((position, attempt))
            yield AttemptRow(position, attempt, verdicts[verdict], valid, agent_failed, outcomes, probability)

    def _probabilities(self, number: int) -> dict[tuple[int, int], float]:
        """Return the sampling probabilities of attempts that have one."""
        query = sa.select(RESULTS.c.position, RESULTS.c.attempt, RESULTS.c.body).where(RESULTS.c.run == number)
        decoder, found = BodyDecoder(_SampledBody), {}
        for row in self._connections.rows(query):
            with suppress(UnreadableBodyError):
                if (probability := decoder.decode(row.body).probability) is not None:
                    found[row.position, row.attempt] = probability
        return found

    def _failed_by_agent(self, number: int) -> set[tuple[int, int]]:
        """Return the attempts with an unscored outcome, or without a verdict, that the agent broke."""
        unscored = sa.exists().where(
            SCORES.c.run == number,
            SCORES.c.position == RESULTS.c.position,
            SCORES.c.attempt == RESULTS.c.attempt,
            SCORES.c.verdict == Verdict.UNSCORED.value,
        )
        query = sa.select(RESULTS.c.position, RESULTS.c.attempt, RESULTS.c.body).where(RESULTS.c.run == number)
        decoder = BodyDecoder(ResultBody)
        bodies = self._connections.rows(query.where(sa.or_(RESULTS.c.verdict == Verdict.ERROR.value, unscored)))
        failed = set()
        for row in bodies:
            try:
                failure = decoder.decode(row.body).failure
            except UnreadableBodyError:
                self._unreadable.add("result", (number, row.position, row.attempt))
                continue
            if failure is not None and failure.side == "agent":
                failed.add((row.position, row.attempt))
        return failed

    def scores(self, run_id: str, criterion: str) -> Iterator[tuple[int, int, float | None, Verdict]]:
        """Yield position, attempt, value and verdict for each outcome on a criterion, in file order.

        No body is read.
        """
        self.commit()
        number = self._number(run_id)
        of_name = sa.select(CRITERIA.c.number).where(CRITERIA.c.run == number, CRITERIA.c.name == storable(criterion))
        query = sa.select(SCORES).where(SCORES.c.run == number, SCORES.c.criterion.in_(of_name))
        for row in self._connections.rows(query.order_by(SCORES.c.position, SCORES.c.attempt)):
            yield row.position, row.attempt, row.value, Verdict(row.verdict)

    def repeated(self, run_id: str) -> set[int]:
        """Return positions of cases that were attempted more than once."""
        self.commit()
        query = sa.select(RESULTS.c.position).where(RESULTS.c.run == self._number(run_id), RESULTS.c.attempt > 1)
        return {row.position for row in self._connections.rows(query.distinct())}

    def labels(self, run_id: str) -> list[Label]:
        """Return a run's labels, in the order in which they were added."""
        query = sa.select(LABELS).where(LABELS.c.run == self._number(run_id)).order_by(LABELS.c.number)
        return [label for row in self._connections.rows(query) if (label := self._label(row)) is not None]

    def last_label(self, run_id: str) -> int:
        """Return the number of the last label of a run, which grows with each label, or 0 without one."""
        query = sa.select(sa.func.max(LABELS.c.number)).where(LABELS.c.run == self._number(run_id))
        (row,) = self._connections.rows(query)
        return int(row[0] or 0)

    def labels_elsewhere(self, run_id: str) -> Iterator[tuple[str, Label]]:
        """Yield the labels of other runs that may count in this run, each with its run id.

        They are about whole outcomes, they have a key, and their criterion is a criterion of this run.
        """
        number = self._number(run_id)
        names = sa.select(CRITERIA.c.name).where(CRITERIA.c.run == number)
        query = sa.select(LABELS, RUNS.c.id).join(RUNS, RUNS.c.number == LABELS.c.run)
        query = query.where(LABELS.c.run != number, LABELS.c.key != "", LABELS.c.part == "")
        query = query.where(LABELS.c.criterion.in_(names))
        for row in self._connections.rows(query.order_by(LABELS.c.number)):
            if (label := self._label(row)) is not None:
                yield row.id, label

    def _label(self, row: Any) -> Label | None:
        try:
            return make_label(row)
        except UnreadableBodyError:
            self._unreadable.add("label", row.number)
            return None

    def _value(self, query: sa.Select[Any]) -> Any:
        return self._connections.read(query, lambda result: result.scalar())

    def _number(self, run_id: str) -> int:
        if run_id not in self._numbers:
            number = self._value(sa.select(RUNS.c.number).where(RUNS.c.id == run_id))
            if number is None:
                raise UsageError(
                    f"there is no run {run_id!r} in {show_url(self.url)}; it may have been removed", code="no-such-run"
                )
            self._numbers[run_id] = number
        return self._numbers[run_id]

    def _read_terms(self, run: int) -> dict[Terms, int]:
        decoder = BodyDecoder(Terms)
        query = sa.select(CRITERIA).where(CRITERIA.c.run == run).order_by(CRITERIA.c.number)
        terms = {}
        for row in self._connections.rows(query):
            try:
                terms[decoder.decode(row.body)] = row.number
            except UnreadableBodyError:
                self._unreadable.add("criterion", (run, row.number))
        return terms
