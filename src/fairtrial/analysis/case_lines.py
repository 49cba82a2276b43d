"""The cases of a series of runs, each with its outcomes run by run, ordered by when they broke."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from fairtrial.analysis.measured_run import CASES, MeasuredRun
from fairtrial.analysis.run_series import find_state
from fairtrial.records.keys import CaseKey
from fairtrial.records.run_history import CaseLine

_RANKS = {"broken": 0, "flaky": 1}
"""The places of states in the order of cases. All others come last."""
_MOST_LISTS = 32
"""So many lists of cases are kept at most. Those of traffic change with each run."""


class CaseMarks(msgspec.Struct):
    """The attempts at a case in each run that has it. `edited` are the numbers of the runs before which it changed."""

    eval_set: str
    case: str
    name: str
    digest: str
    runs: list[int] = []
    passed: list[int] = []
    attempts: list[int] = []
    edited: list[int] = []


class CaseList(msgspec.Struct):
    """The cases of the runs from a number on, in file order, as far as the next list."""

    start: int
    keys: list[CaseKey]
    names: list[str]


class CaseLines:
    """Collects the outcomes of cases, while another reader goes through the runs of a series.

    `lists` are the cases of the runs, with which the marks give the outcomes of each run. They are None if the cases
    change often, or if a run has a case twice.
    """

    def __init__(
        self, ids: Sequence[str] = (), marks: Iterable[CaseMarks] = (), lists: list[CaseList] | None = None
    ) -> None:
        """Go on after the runs of these ids, in which the cases have these marks."""
        self._ids = list(ids)
        self._marks = {(case.eval_set, case.case): case for case in marks}
        self._last: tuple[list[CaseKey], list[str]] | None = None
        self._places: list[CaseMarks] = []
        self.lists = lists if self._ids else []

    @property
    def marks(self) -> list[CaseMarks]:
        """The marks of all cases so far."""
        return list(self._marks.values())

    def add(self, run: MeasuredRun) -> None:
        """Add the next run."""
        self.add_counts(run.info.id, run.keys, run.names, run.columns[CASES].counts())

    def add_counts(self, run_id: str, keys: list[CaseKey], names: list[str], counts: Iterable[tuple[int, int]]) -> None:
        """Add the next run: its cases, how many attempts at each passed, and how many have a verdict."""
        number = len(self._ids)
        self._ids.append(run_id)
        if self._last != (keys, names):
            self._places = [self._mark(number, key, name) for key, name in zip(keys, names, strict=True)]
            is_unique = len(set(map(id, self._places))) == len(self._places)
            self._last = (keys, names) if is_unique else None
            self._note_list(CaseList(number, keys, names), is_unique=is_unique)
        for marks, (passed, attempts) in zip(self._places, counts, strict=True):
            if attempts:
                marks.runs.append(number)
                marks.attempts.append(attempts)
                marks.passed.append(passed)

    def _note_list(self, cases: CaseList, *, is_unique: bool) -> None:
        lists = self.lists
        if not is_unique or lists is None or len(lists) >= _MOST_LISTS:
            self.lists = None
        elif not lists or (lists[-1].keys, lists[-1].names) != (cases.keys, cases.names):
            lists.append(cases)

    def _mark(self, number: int, key: CaseKey, name: str) -> CaseMarks:
        """Return the marks of a case, which has this key and name from a run on."""
        place = (key.eval_set, key.case)
        if (marks := self._marks.get(place)) is None:
            marks = self._marks[place] = CaseMarks(key.eval_set, key.case, "", key.digest)
        if marks.digest != key.digest:
            marks.edited.append(number)
        marks.name, marks.digest = name or key.case, key.digest
        return marks

    def collect(self, last: int) -> tuple[CaseLine, ...]:
        """Return the cases of the last runs: broken ones, then flaky ones, the latest first, then all others."""
        places = {run_id: place for place, run_id in enumerate(self._ids)}
        lines = list(self._collect(last))
        lines.sort(key=lambda line: (_RANKS.get(line.state, 2), -places[line.since] if line.state in _RANKS else 0))
        return tuple(lines)

    def _collect(self, last: int) -> Iterator[CaseLine]:
        first = max(0, len(self._ids) - last)
        length = len(self._ids) - first
        for marks in self._marks.values():
            start = bisect_left(marks.runs, first)
            rows = list(zip(marks.runs[start:], marks.passed[start:], marks.attempts[start:], strict=True))
            if not rows:
                continue
            passed, attempts = [0] * length, [0] * length
            for number, good, total in rows:
                passed[number - first] += good
                attempts[number - first] += total
            begin = marks.edited[-1] if marks.edited else 0
            state, since = find_state(
                [(self._ids[number], good, total) for number, good, total in rows if number >= begin]
            )
            edited = tuple(number - first for number in marks.edited if number >= first)
            yield CaseLine(marks.name, marks.eval_set, state, since, tuple(passed), tuple(attempts), edited)
