"""Queries for the cases, numbers and labels in a run. Comparisons and calibrations need them without the bodies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
import sqlalchemy as sa

from fairtrial.errors import UsageError
from fairtrial.records.attempt_row import AttemptRow, CriterionTerms, OutcomeRow
from fairtrial.records.failure_mode import FoundFailure
from fairtrial.records.keys import CaseKey
from fairtrial.records.result import Verdict
from fairtrial.records.run import RunInfo
from fairtrial.records.summary import Summary
from fairtrial.store.bodies import BodyDecoder, UnreadableBodyError
from fairtrial.store.database_errors import show_url
from fairtrial.store.label_rows import make_label
from fairtrial.store.result_rows import ResultBody, Terms
from fairtrial.store.schema import CASES, CRITERIA, LABELS, RESULTS, RUNS, SCORES
from fairtrial.store.statements import storable
from fairtrial.system.unreadable_rows import UnreadableRows

if TYPE_CHECKING:
    from fairtrial.records.label import Label
    from fairtrial.store.connections import Connections

T = TypeVar("T")
_Place = tuple[int, int, int]
"""The number of a run, the position of a case and the number of an attempt."""
_VERDICTS = {verdict.value: verdict for verdict in Verdict}
_NO_ROWS: tuple[Any, Iterable[Any]] = (None, ())


class RunNumbers(NamedTuple):
    """The terms of the criteria of a run, its cases, and its attempts, both in file order."""

    terms: dict[str, CriterionTerms]
    cases: list[tuple[int, CaseKey, str]]
    attempts: Iterator[AttemptRow]


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

    def summary(self, run_id: str) -> Summary | None:
        """Return a run's numbers, or None if it is not finished, or if its row cannot be read."""
        return self.summaries([run_id]).get(run_id)

    def summaries(self, run_ids: Collection[str]) -> dict[str, Summary]:
        """Return the numbers of those of some runs that are finished and whose rows can be read, by their ids."""
        return self._by_id("summary", RUNS.c.summary, Summary, run_ids)

    def find_runs(self, run_ids: Collection[str]) -> dict[str, RunInfo]:
        """Return those of some runs that the store holds and whose rows can be read, by their ids."""
        return self._by_id("run", RUNS.c.body, RunInfo, run_ids)

    def _by_id(self, noun: str, column: sa.Column[Any], kind: type[T], run_ids: Collection[str]) -> dict[str, T]:
        decoder, records = BodyDecoder(kind), dict[str, T]()
        query = sa.select(RUNS.c.id, column).where(RUNS.c.id.in_(run_ids), column.is_not(None))
        for run_id, body in self._connections.fetch(query):
            try:
                records[run_id] = decoder.decode(body)
            except UnreadableBodyError:
                self._unreadable.add(noun, run_id)
        return records

    def found_failures(
        self, run_ids: Collection[str]
    ) -> Iterator[tuple[str, tuple[int, str, int, Verdict, FoundFailure | None]]]:
        """Yield each attempt of runs with its run id: position, name, number, verdict, and the finding if there is one.

        Those of a run are in file order. Only a finding is decoded, and with it the name of the case.
        """
        self.commit()
        ids = self._ids_by_number(run_ids)
        columns = (RESULTS.c.run, RESULTS.c.position, RESULTS.c.attempt, RESULTS.c.verdict, RESULTS.c.body)
        query = sa.select(*columns).where(RESULTS.c.run.in_(ids))
        decoder = BodyDecoder(_FoundBody)
        for row in self._connections.rows(query.order_by(*columns[:3])):
            verdict, title, finding = Verdict(row.verdict), "", None
            if verdict in (Verdict.FAILED, Verdict.ERROR):
                with suppress(UnreadableBodyError):  # then the whole result is read, which counts what cannot be read
                    body = decoder.decode(row.body)
                    title, finding = body.name or body.case_id, body.finding
            yield ids[row.run], (row.position, title, row.attempt, verdict, finding)

    def findings_at(self, places: Mapping[str, Collection[int]]) -> Iterator[tuple[str, int, FoundFailure]]:
        """Yield the findings of failed attempts at some positions of some runs, each with its run id and position."""
        self.commit()
        self._find_numbers(places)
        ids = {self._number(run_id): run_id for run_id in places}
        positions = {position for own in places.values() for position in own}
        columns = (RESULTS.c.run, RESULTS.c.position, RESULTS.c.attempt, RESULTS.c.body)
        query = sa.select(*columns).where(
            RESULTS.c.run.in_(ids),
            RESULTS.c.position.in_(positions),
            RESULTS.c.verdict.in_((Verdict.FAILED.value, Verdict.ERROR.value)),
        )
        decoder = BodyDecoder(_FoundBody)
        for row in self._connections.rows(query.order_by(*columns[:3])):
            run_id, finding = ids[row[0]], None
            if row[1] in places[run_id]:
                with suppress(UnreadableBodyError):  # the history counts the attempt, whose row has its verdict
                    finding = decoder.decode(row[3]).finding
            if finding is not None:
                yield run_id, row[1], finding

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
        return _terms_by_name(self._read_terms(self._number(run_id)))

    def attempt_rows(
        self, run_id: str, *, sampled: bool = False, criteria: Collection[str] | None = None
    ) -> Iterator[AttemptRow]:
        """Yield attempt numbers from a run in file order, without decoding their results.

        The failure side is in the result body. Only attempts that ended without a score are decoded, unless the run
        may be `sampled`: then each body says with which probability. With `criteria`, only outcomes on them are read.
        """
        self.commit()
        number = self._number(run_id)
        names = _select_criteria(self._read_terms(number), criteria)
        yield from next(self._join_rows([number], {number: names}, sampled=sampled))

    def numbers_of_runs(
        self,
        run_ids: Collection[str],
        select: Callable[[Mapping[str, CriterionTerms]], Collection[str]] | None = None,
        *,
        sampled: bool = False,
    ) -> Iterator[tuple[str, RunNumbers]]:
        """Yield the ids of runs with their numbers, in any order. Each run is read before the next one.

        `select` names the criteria that are needed, from the terms of a run. All runs take as many queries as one. The
        runs may be `sampled` as in `attempt_rows`.
        """
        self.commit()
        ids = self._ids_by_number(run_ids)
        numbers = sorted(ids)
        terms_by_run = self._read_terms_by_run(numbers)
        terms = {number: _terms_by_name(own) for number, own in terms_by_run.items()}
        names = {
            number: _select_criteria(own, None if select is None else select(terms[number]))
            for number, own in terms_by_run.items()
        }
        place = (CASES.c.run, CASES.c.position)
        columns: tuple[sa.Column[Any], ...] = (CASES.c.eval_set, CASES.c.case_id, CASES.c.digest, CASES.c.name)
        query = sa.select(*place, *columns).where(CASES.c.run.in_(numbers)).order_by(*place)
        cases, keys = split_by_run(self._connections.rows(query), numbers), dict[tuple[str, str, str], CaseKey]()
        for number, own, rows in zip(numbers, cases, self._join_rows(numbers, names, sampled=sampled), strict=True):
            placed = [(row[1], keys.setdefault(row[2:5], CaseKey(*row[2:5])), row[5]) for row in map(tuple, own)]
            yield ids[number], RunNumbers(terms[number], placed, rows)

    def _join_rows(
        self, numbers: Sequence[int], names: Mapping[int, Mapping[int, str]], *, sampled: bool = False
    ) -> Iterator[Iterator[AttemptRow]]:
        """Yield the attempts of each run, with their outcomes on criteria of these names by number."""
        failed, probabilities = self._failed_by_agent(numbers), self._probabilities(numbers) if sampled else {}
        place = (SCORES.c.run, SCORES.c.position, SCORES.c.attempt)
        criteria = {criterion for own in names.values() for criterion in own}
        query = sa.select(*place, SCORES.c.criterion, SCORES.c.value, SCORES.c.verdict)
        query = query.where(SCORES.c.run.in_(numbers), SCORES.c.criterion.in_(criteria))
        scores = self._connections.rows(query.order_by(*place, SCORES.c.criterion)) if criteria else iter(())
        columns = (RESULTS.c.run, RESULTS.c.position, RESULTS.c.attempt)
        rows = sa.select(*columns, RESULTS.c.verdict, RESULTS.c.valid).where(RESULTS.c.run.in_(numbers))
        results = self._connections.rows(rows.order_by(*columns))
        for number, own_scores, own in zip(
            numbers, split_by_run(scores, numbers), split_by_run(results, numbers), strict=True
        ):
            yield _join_scores(own, own_scores, names[number], failed, probabilities)

    def _probabilities(self, numbers: Sequence[int]) -> dict[_Place, float]:
        """Return the sampling probabilities of attempts that have one."""
        columns = (RESULTS.c.run, RESULTS.c.position, RESULTS.c.attempt, RESULTS.c.body)
        decoder, found = BodyDecoder(_SampledBody), dict[_Place, float]()
        for row in self._connections.rows(sa.select(*columns).where(RESULTS.c.run.in_(numbers))):
            with suppress(UnreadableBodyError):
                if (probability := decoder.decode(row.body).probability) is not None:
                    found[row[0], row[1], row[2]] = probability
        return found

    def _failed_by_agent(self, numbers: Sequence[int], without: Sequence[Verdict] = ()) -> set[_Place]:
        """Return the attempts with an unscored outcome, or without a verdict, that the agent broke.

        Attempts `without` these verdicts are looked at.
        """
        unscored = sa.exists().where(
            SCORES.c.run == RESULTS.c.run,
            SCORES.c.position == RESULTS.c.position,
            SCORES.c.attempt == RESULTS.c.attempt,
            SCORES.c.verdict == Verdict.UNSCORED.value,
        )
        columns = (RESULTS.c.run, RESULTS.c.position, RESULTS.c.attempt, RESULTS.c.body)
        query = sa.select(*columns).where(RESULTS.c.run.in_(numbers))
        query = query.where(RESULTS.c.verdict.not_in([verdict.value for verdict in without]))
        decoder, failed = BodyDecoder(ResultBody), set[_Place]()
        for row in self._connections.rows(query.where(sa.or_(RESULTS.c.verdict == Verdict.ERROR.value, unscored))):
            place = (row[0], row[1], row[2])
            try:
                failure = decoder.decode(row.body).failure
            except UnreadableBodyError:
                self._unreadable.add("result", place)
                continue
            if failure is not None and failure.side == "agent":
                failed.add(place)
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
        return self._connections.fetch(query, lambda result: result.scalar())

    def _number(self, run_id: str) -> int:
        if run_id not in self._numbers:
            self._find_numbers([run_id])
        if run_id not in self._numbers:
            raise UsageError(
                f"there is no run {run_id!r} in {show_url(self.url)}; it may have been removed", code="no-such-run"
            )
        return self._numbers[run_id]

    def _ids_by_number(self, run_ids: Collection[str]) -> dict[int, str]:
        """Return the ids of runs by their numbers, which take one query at most."""
        self._find_numbers(run_ids)
        return {self._number(run_id): run_id for run_id in run_ids}

    def _find_numbers(self, run_ids: Collection[str]) -> None:
        """Read the numbers of runs that are not known yet."""
        unknown = [run_id for run_id in run_ids if run_id not in self._numbers]
        if unknown:
            query = sa.select(RUNS.c.id, RUNS.c.number).where(RUNS.c.id.in_(unknown))
            self._numbers.update(map(tuple, self._connections.fetch(query)))

    def _read_terms(self, run: int) -> dict[Terms, int]:
        return self._read_terms_by_run([run])[run]

    def _read_terms_by_run(self, numbers: Sequence[int]) -> dict[int, dict[Terms, int]]:
        """Return the terms of runs, each with the numbers of its criteria. Runs mostly share their terms."""
        decoder, decoded = BodyDecoder(Terms), dict[bytes, Terms]()
        columns = (CRITERIA.c.run, CRITERIA.c.number, CRITERIA.c.body)
        query = sa.select(*columns).where(CRITERIA.c.run.in_(numbers)).order_by(*columns[:2])
        by_run: dict[int, dict[Terms, int]] = {number: {} for number in numbers}
        for run, number, body in self._connections.fetch(query):
            try:
                if (terms := decoded.get(body)) is None:
                    terms = decoded[body] = decoder.decode(body)
            except UnreadableBodyError:
                self._unreadable.add("criterion", (run, number))
                continue
            by_run[run][terms] = number
        return by_run


def _terms_by_name(terms: Iterable[Terms]) -> dict[str, CriterionTerms]:
    by_name: dict[str, CriterionTerms] = {}
    for own in terms:
        by_name.setdefault(own.name, CriterionTerms(own.name, own.threshold, own.lower_is_better, own.range))
    return by_name


def _select_criteria(terms: Mapping[Terms, int], criteria: Collection[str] | None) -> dict[int, str]:
    """Return the names of criteria by their numbers, of all or of some."""
    return {number: own.name for own, number in terms.items() if criteria is None or own.name in criteria}


def split_by_run(rows: Iterable[Any], numbers: Sequence[int]) -> Iterator[Iterable[Any]]:
    """Yield the rows of each run, whose number is their first value. Both are in the order of the numbers."""
    groups = groupby(rows, key=itemgetter(0))
    next_number, group = next(groups, _NO_ROWS)
    for number in numbers:
        if number == next_number:
            yield group
            next_number, group = next(groups, _NO_ROWS)
        else:
            yield ()


def _join_scores(
    results: Iterable[Any],
    scores: Iterable[Any],
    names: Mapping[int, str],
    failed: Collection[_Place],
    probabilities: Mapping[_Place, float],
) -> Iterator[AttemptRow]:
    """Yield the attempts of a run with their outcomes. Both come in file order."""
    groups = groupby(scores, key=itemgetter(0, 1, 2))
    next_place, next_scores = next(groups, _NO_ROWS)
    for run, position, attempt, verdict, valid in results:
        place, outcomes = (run, position, attempt), list[OutcomeRow]()
        if next_place == place:
            outcomes = [OutcomeRow(names[row[3]], row[4], _VERDICTS[row[5]]) for row in next_scores if row[3] in names]
            next_place, next_scores = next(groups, _NO_ROWS)
        yield AttemptRow(
            position, attempt, _VERDICTS[verdict], valid, place in failed, outcomes, probabilities.get(place)
        )
