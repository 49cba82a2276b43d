"""The cases of a series of runs, each with its outcomes run by run, ordered by when they broke."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

from fairtrial.analysis.measured_run import CASES, MeasuredRun
from fairtrial.analysis.run_series import find_state
from fairtrial.records.run_history import CaseLine

_RANKS = {"broken": 0, "flaky": 1}
"""The places of states in the order of cases. All others come last."""


@dataclass
class _Line:
    """The attempts at a case in each run that has it. `edited` are the numbers of the runs before which it changed."""

    name: str
    digest: str
    runs: array[int] = field(default_factory=lambda: array("I"))
    passed: array[int] = field(default_factory=lambda: array("I"))
    attempts: array[int] = field(default_factory=lambda: array("I"))
    edited: list[int] = field(default_factory=list)


class CaseLines:
    """Collects the outcomes of the cases of the last runs of a series, while another reader goes through the runs."""

    def __init__(self, last: int) -> None:
        self._last = last
        self._ids: list[str] = []
        self._lines: dict[tuple[str, str], _Line] = {}

    def add(self, run: MeasuredRun) -> MeasuredRun:
        """Add the next run, and return it."""
        number, column = len(self._ids), run.columns[CASES]
        self._ids.append(run.info.id)
        for case, key in enumerate(run.keys):
            line = self._lines.setdefault((key.eval_set, key.case), _Line("", key.digest))
            if line.digest != key.digest:
                line.edited.append(number)
            line.name, line.digest = run.names[case] or key.case, key.digest
            if (sample := column.sample(case)) is not None:
                line.runs.append(number)
                line.attempts.append(sample.attempts)
                line.passed.append(round(sample.mean * sample.attempts))
        return run

    def collect(self) -> tuple[CaseLine, ...]:
        """Return the cases: the broken ones, then the flaky ones, each with the latest first, then all others."""
        places = {run_id: place for place, run_id in enumerate(self._ids)}
        lines = list(self._collect())
        lines.sort(key=lambda line: (_RANKS.get(line.state, 2), -places[line.since] if line.state in _RANKS else 0))
        return tuple(lines)

    def _collect(self) -> Iterator[CaseLine]:
        first = max(0, len(self._ids) - self._last)
        length = len(self._ids) - first
        for (eval_set, _), line in self._lines.items():
            rows = [own for own in zip(line.runs, line.passed, line.attempts, strict=True) if own[0] >= first]
            if not rows:
                continue
            passed, attempts = [0] * length, [0] * length
            for number, good, total in rows:
                passed[number - first] += good
                attempts[number - first] += total
            begin = line.edited[-1] if line.edited else 0
            state, since = find_state(
                [(self._ids[number], good, total) for number, good, total in rows if number >= begin]
            )
            edited = tuple(number - first for number in line.edited if number >= first)
            yield CaseLine(line.name, eval_set, state, since, tuple(passed), tuple(attempts), edited)
