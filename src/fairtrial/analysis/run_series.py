"""The history of a series of runs: which numbers are comparable, and where a change holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.analysis.agent_versions import list_changes
from fairtrial.analysis.clustered_summary import estimate_cases
from fairtrial.analysis.comparability import why_not_comparable
from fairtrial.analysis.paired_runs import pair_runs
from fairtrial.errors import UsageError, nearest
from fairtrial.records.keys import CaseKey
from fairtrial.records.run_comparison import IntervalEstimate
from fairtrial.records.run_history import CaseHistory, CaseRun, HistoryRow, HistoryStep
from fairtrial.stats.agreement import NORMAL
from fairtrial.stats.difference import paired_difference
from fairtrial.stats.interval import wilson
from fairtrial.stats.step_detector import WINDOW, StepDetector
from fairtrial.stats.step_tests import CaseValue

if TYPE_CHECKING:
    from fairtrial.analysis.measured_run import Measure, MeasuredRun

STREAK = 3
"""After so many equal runs, a case that went back and forth counts as broken or passing again."""
_ROUNDING = 1e-9


Values = Mapping[CaseKey, CaseValue]
"""The values of a run by case."""


@dataclass
class Segment:
    """The comparable runs since the last step, and the runs before it, from which the size of the step is computed."""

    ids: list[str] = field(default_factory=list)
    values: list[Values] = field(default_factory=list)
    before: list[Values] = field(default_factory=list)
    step: HistoryStep | None = None
    row: int = -1

    def add(self, run_id: str, values: Values) -> int:
        """Add a run, and return the number of its cases that an earlier run has, too."""
        is_same = bool(self.values) and values.keys() == self.values[-1].keys()
        compared = len(values) if is_same else sum(any(case in run for run in self.values) for case in values)
        self.ids.append(run_id)
        self.values.append(values)
        del self.ids[:-WINDOW], self.values[:-WINDOW]
        return compared

    def divide(self, evidence: float, number: int, row: int) -> Segment:
        """Return the segment of the last runs, before which a step is."""
        ids = self.ids
        step = HistoryStep(ids[-number], ids[-number - 1], ids[-1], evidence, 0, IntervalEstimate(None))
        return Segment(ids[-number:], self.values[-number:], self.values[:-number], step, row)

    def measure_step(self, measure: Measure) -> HistoryStep | None:
        """Return the step before the segment with its size, or None if there is no step."""
        if self.step is None:
            return None
        cases = {case: None for values in self.values for case in values}
        means = [(_mean(case, self.before), _mean(case, self.values)) for case in cases]
        low, high = measure.range.bounds
        scale = (low - high) if measure.lower_is_better else high - low
        moves = [scale * (after - before) for before, after in means if before is not None and after is not None]
        difference = paired_difference(moves, width=abs(scale))
        change = IntervalEstimate(None)
        if moves:
            ends = (None, None) if difference is None else difference.interval()
            change = IntervalEstimate(sum(moves) / len(moves), *ends)
        return replace(self.step, cases=len(moves), change=change)


def _mean(case: CaseKey, runs: Sequence[Values]) -> float | None:
    """Return the mean of the attempts of a case in runs, or None if there are none."""
    values = [run[case] for run in runs if case in run]
    attempts = sum(size for _, size in values)
    return sum(value for value, _ in values) / attempts if attempts else None


class RunFollower:
    """Follows a measure along runs that come one after another, the oldest first, and finds its steps.

    A run that took the measure in another way than the run before begins a new segment: no step is found there.
    An unbounded measure has rows, and no steps. The size of a step is the mean difference of the shared cases between
    the runs before and the runs after it, as far as the neighbouring steps.
    """

    def __init__(self, measure_name: str, false_every: float) -> None:
        self._name = measure_name
        self._detector, self._segment = StepDetector(false_every), Segment()
        self._rows: list[HistoryRow] = []
        self._previous: MeasuredRun | None = None
        self._measure: Measure | None = None

    def resume(self, rows: Sequence[HistoryRow], segment: Segment, previous: MeasuredRun) -> None:
        """Go on after the rows of an earlier follower, with its last segment and the run of its last row."""
        self._rows, self._segment, self._previous = list(rows), segment, previous
        self._measure = previous.measures.get(self._name)
        self._detector.resume(segment.values)

    def add(self, run: MeasuredRun) -> None:
        """Add the next run."""
        measure = run.measures.get(self._name)
        row = _row(run, measure, _why_apart(self._previous, run, measure))
        changed = () if self._previous is None else tuple(list_changes(self._previous.info, run.info))
        values = _values(run, measure) if measure is not None and measure.is_bounded else {}
        self._previous = run
        self.recall(replace(row, changed=changed), values, measure)

    def recall(self, row: HistoryRow, values: Values, measure: Measure | None) -> None:
        """Add the next run, whose row is known. The first one is compared with no run before it."""
        if row.new_segment:
            self._measure_step()
            self._detector.restart()
            self._segment = Segment()
        self._rows.append(replace(row, compared=self._segment.add(row.id, values)))
        self._measure = measure
        if measure is not None and (step := self._detector.add(values)) is not None:
            self._measure_step()
            number = step.alarm - step.start + 1
            self._segment = self._segment.divide(step.evidence, number, len(self._rows) - number)

    def finish(self) -> tuple[list[HistoryRow], Segment]:
        """Return a row for each run, and the segment of the last one."""
        self._measure_step()
        return self._rows, self._segment

    def _measure_step(self) -> None:
        """Measure the step at which the segment begins, if there is one, from the runs so far."""
        if self._measure is not None and (step := self._segment.measure_step(self._measure)) is not None:
            self._rows[self._segment.row] = replace(self._rows[self._segment.row], step=step)


def follow_runs(runs: Iterable[MeasuredRun], measure_name: str, false_every: float) -> list[HistoryRow]:
    """Return a row for each run of a series, as RunFollower does."""
    follower = RunFollower(measure_name, false_every)
    for run in runs:
        follower.add(run)
    return follower.finish()[0]


def _why_apart(previous: MeasuredRun | None, run: MeasuredRun, measure: Measure | None) -> str:
    """Return why a measure of two runs cannot be compared, or an empty text."""
    if measure is None:
        return "the run does not have the measure"
    if previous is None:
        return ""
    if measure.name not in previous.measures:
        return f"the run before has no measure {measure.name}"
    try:
        pairs = pair_runs(previous, run)
    except UsageError as problem:
        return str(problem)
    return why_not_comparable(pairs, measure)


def _values(run: MeasuredRun, measure: Measure) -> dict[CaseKey, CaseValue]:
    """Return the attempts of each case as a sum of shares of the range. A whole sum is exactly whole."""
    means = list(run.columns[measure.name].means())
    sums = {pair: _sum_attempts(measure, *pair) for pair in set(means)}
    values = {key: sums[pair] for key, pair in zip(run.keys, means, strict=True) if pair[1]}
    if len(set(run.keys)) < len(run.keys):
        numbers = Counter(run.keys)
        values = {key: value for key, value in values.items() if numbers[key] == 1}
    return values


def _sum_attempts(measure: Measure, mean: float, attempts: int) -> CaseValue:
    total = measure.share(mean) * attempts if attempts else 0.0
    return float(round(total)) if abs(total - round(total)) < _ROUNDING else total, attempts


def _row(run: MeasuredRun, measure: Measure | None, new_segment: str) -> HistoryRow:
    info, git = run.info, run.info.git
    value = IntervalEstimate(None)
    if measure is not None:
        _, estimate = estimate_cases(run, measure, range(len(run.keys)))
        value = IntervalEstimate(estimate.value, estimate.low, estimate.high)
    return HistoryRow(
        info.id,
        info.started,
        value,
        len(run.keys),
        0,
        str(git.get("commit", "")),
        bool(git.get("dirty")),
        info.models,
        info.seconds,
        new_segment=new_segment,
        date=str(git.get("date", "")),
        ci=" ".join(filter(None, (info.ci.get("system"), info.ci.get("job")))),
        ci_url=info.ci.get("url", ""),
        tags=info.tags,
    )


def follow_case(runs: Iterable[MeasuredRun], name: str, series: Mapping[str, str]) -> CaseHistory:
    """Return the attempts at a case along runs. Raises UsageError if no run has a case of this id or name."""
    rows: list[CaseRun] = []
    before: CaseKey | None = None
    names: dict[str, None] = {}
    later_runs = 0
    for run in runs:
        names |= dict.fromkeys(run.names)
        places = [place for place, key in enumerate(run.keys) if name in (key.case, run.names[place])]
        later_runs = 0 if places else later_runs + 1
        for place in places:
            sample, missing = run.columns["cases"].sample(place), run.columns["cases"].missing(place)
            attempts = 0 if sample is None else sample.attempts
            passed = 0 if sample is None else sample.passed
            key = run.keys[place]
            edited = before is not None and before.digest != key.digest
            commit = str(run.info.git.get("commit", ""))
            rows.append(CaseRun(run.info.id, run.info.started, commit, passed, attempts, missing, edited))
            before = key
    if not rows:
        raise UsageError(f"no run of the series has a case {name!r}{nearest(name, names)}", code="unknown-name")
    last_edit = max((place for place, row in enumerate(rows) if row.expectation_changed), default=0)
    current = [row for row in rows[last_edit:] if row.attempts]
    state, since = find_state([(run.id, run.passed, run.attempts) for run in current])
    passed, attempts = sum(row.passed for row in current), sum(row.attempts for row in current)
    rate = IntervalEstimate(None)
    if attempts:
        rate = IntervalEstimate(passed / attempts, *wilson(passed / attempts, attempts, NORMAL))
    return CaseHistory(name, dict(series), state, since, rate, tuple(rows), later_runs)


def find_state(runs: Sequence[tuple[str, int, int]]) -> tuple[str, str]:
    """Return the state of a case at the end of runs, and the first run of that state.

    Each run has an id, the number of attempts that passed, and the number of attempts, at least 1.
    """
    if not runs:
        return "unknown", ""
    outcomes = ["passing" if passed == attempts else "flaky" if passed else "broken" for _, passed, attempts in runs]
    changes = [place for place in range(1, len(outcomes)) if outcomes[place] != outcomes[place - 1]]
    streak = len(outcomes) - (changes[-1] if changes else 0)
    if outcomes[-1] != "flaky" and streak < STREAK and len(changes) > 1:
        return "flaky", runs[changes[0]][0]
    return outcomes[-1], runs[changes[-1] if changes else 0][0]
