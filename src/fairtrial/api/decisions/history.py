"""The history of a series of stored runs, and of a case along it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import closing, suppress
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec.structs import replace

from fairtrial.analysis.case_lines import CaseLines
from fairtrial.analysis.followed_series import FollowedSeries, keep_series
from fairtrial.analysis.measured_run import CASES
from fairtrial.analysis.run_series import RunFollower
from fairtrial.api.run_parts.case_series import LAST, SERIES, find_series, note_other_series
from fairtrial.api.stores import measure_series, measure_stored, open_store
from fairtrial.errors import UsageError, spell
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.run_history import RunHistory
from fairtrial.stats.step_detector import RUNS_BETWEEN_FALSE_STEPS, WINDOW
from fairtrial.store import DEFAULT_URL, Store
from fairtrial.text.display import count

if TYPE_CHECKING:
    from fairtrial.records.run import RunInfo
    from fairtrial.records.summary import RunUsage

_CELLS = 1 << 14
"""So many attempts before those that are needed are read at most, so that a kept series can go on for long."""
_LONG = 1000
"""A look at so many runs is prepared when a run ends, beside the look at those that a history shows by default."""
_MOST_AT_END = 1 << 15
"""So many attempts are read at the end of a run at most, which takes about a second."""
_KEPT_VERSION = 5
"""The version of a followed series in a store. Whoever changes what follows a run raises it."""


class _Question(NamedTuple):
    series: list[tuple[str, str]]
    measure: str
    order: str
    false_every: float


class _Kept(NamedTuple):
    """What a store keeps of a series. `members` are its runs with their versions.

    `series` has the first of them. If it `is_restricted`, the store keeps another form of it.
    """

    key: str
    members: list[tuple[str, str]]
    series: FollowedSeries | None
    is_restricted: bool

    @property
    def start(self) -> int:
        """The number of runs that were followed before."""
        return 0 if self.series is None else len(self.series.members)


def history(
    run: str = "",
    *,
    measure: str = CASES,
    series: Sequence[str] = SERIES,
    last: int = LAST,
    order: str = "time",
    false_every: float = RUNS_BETWEEN_FALSE_STEPS,
    store: str = DEFAULT_URL,
) -> RunHistory:
    """Return the runs of a series, the oldest first, with the steps of a measure: changes that hold.

    `run` is the beginning of the id of a run of the series, by default of the newest run. `series` names what its runs
    share: `agent`, `eval_set`, `branch`, `name`, `tags` or `kind`. `measure` is one of `compare`. `order` is `time`,
    when the runs started, or `commit`, the author dates of their commits, and the times for the runs of one commit.

    At most one run in `false_every` shows a step although nothing changed, if the cases are independent of each other.
    Raises UsageError if the store or the run does not exist.
    """
    check_false_every(false_every)
    with closing(open_store(store, create=False)) as run_store:
        common, members = find_series(run_store, run, series, order)
        cases = run_store.count_cases(members[-1].id)
        question = _Question(sorted(common.items()), measure, order, false_every)
        followed_runs = last
        if (measure, order, false_every, tuple(common)) == (CASES, "time", RUNS_BETWEEN_FALSE_STEPS, SERIES):
            followed_runs = LAST if last <= LAST else max(last, _LONG)  # as the ends of runs prepare
        stride = _find_stride(followed_runs, cases)
        window = members[_find_first(len(members), followed_runs, stride) :]
        followed = _follow(run_store, window, question, _find_kept(run_store, window, question, stride))
        all_runs = run_store.runs() if len(members) == 1 else []
    notes = note_other_series(common, [info for info in all_runs if info.finished is not None])
    undated = sum(not info.git.get("date") for info in members) if order == "commit" else 0
    if undated:
        notes.append(f"{count(undated, 'run')} without the date of a commit: placed by the time at which they started")
    if not followed.is_bounded:
        notes.append(f"{measure} has no largest or no smallest value, so that no step is looked for")
    if len(members) > len(followed.rows):
        notes.append(f"steps are looked for in the last {len(followed.rows)} runs")
    rows = followed.rows[-last:]
    lines = followed.lines().collect(last)
    left_out = len(members) - len(rows)
    return RunHistory(common, measure, followed.is_rate, false_every, rows, left_out, tuple(notes), lines)


def keep_history(store: str, run: str) -> None:
    """Follow the series of a run that has just ended, so that the first look at its history reads what is kept.

    Nothing is followed if more than 32,768 attempts would have to be read: the first look does that, and says what
    stands against it. Whatever fails here, the run has ended.
    """
    with suppress(Exception), closing(open_store(store, create=False)) as run_store:
        common, members = find_series(run_store, run, SERIES, "time")
        cases, attempts = run_store.count_cases(members[-1].id), run_store.count_results(members[-1].id)
        question = _Question(sorted(common.items()), CASES, "time", RUNS_BETWEEN_FALSE_STEPS)
        strides = {last: _find_stride(last, cases) for last in (LAST, _LONG)}
        looks = {(_find_first(len(members), last, stride), stride) for last, stride in strides.items()}
        for first, stride in looks:
            window = members[first:]
            kept = _find_kept(run_store, window, question, stride)
            if (len(window) - kept.start) * attempts <= _MOST_AT_END:
                _follow(run_store, window, question, kept)


def _find_stride(last: int, cases: int) -> int:
    """Return the number of runs after which a series of so many shown runs and cases begins anew.

    A kept series goes on for long: for about as many runs as are shown, or until a few thousand attempts are read
    again.
    """
    return 1 << max(_CELLS // max(1, cases), last, 1).bit_length() - 1


def _find_first(runs: int, last: int, stride: int) -> int:
    """Return the number of the first run that is followed.

    It depends on numbers of runs and cases alone, so that the answer does, too.
    """
    return max(0, runs - last - WINDOW) // stride * stride


def _find_kept(store: Store, window: Sequence[RunInfo], question: _Question, stride: int) -> _Kept:
    """Return what the store keeps of a series, as far as its runs are as they were."""
    histories = store.histories()
    key = hashlib.sha256(msgspec.json.encode((_KEPT_VERSION, question, stride))).hexdigest()
    versions = histories.versions()
    members = [(info.id, versions.get(info.id, "")) for info in window]
    stored = histories.read(key, FollowedSeries)
    series = None if stored is None else stored.restrict(members, question.measure, question.false_every)
    return _Kept(key, members, series, series is not stored)


def _follow(store: Store, window: Sequence[RunInfo], question: _Question, kept: _Kept) -> FollowedSeries:
    """Follow a measure along a series. Of runs that the store has followed before, only new ones are read."""
    series, start, measure = kept.series, kept.start, question.measure
    if series is not None and start == len(window):
        if kept.is_restricted:
            store.histories().keep(kept.key, series)
        return series
    follower, lines, members = RunFollower(measure, question.false_every), CaseLines(), window[max(0, start - 1) :]
    if measure == CASES:
        runs = measure_series(store, members, measure)
    else:
        newest = measure_stored(store, window[-1])
        newest.measure(measure)
        runs = chain(measure_series(store, members[:-1], measure), [newest])
    if series is not None:
        lines = series.resume(follower, next(runs))
    for newest in runs:
        lines.add(newest)
        follower.add(newest)
    followed = keep_series(kept.members, newest, measure, follower, lines)
    summaries = store.summaries([info.id for info in window[start:]])
    costs = {run_id: _add_costs(own.spending) for run_id, own in summaries.items()}
    new_rows = (replace(row, cost=costs.get(row.id)) for row in followed.rows[start:])
    followed = replace(followed, rows=(*followed.rows[:start], *new_rows))
    if not store.count_skipped() and not any("dataset" in info.config for info in window):
        store.histories().keep(kept.key, followed)
    return followed


def check_false_every(number: float) -> None:
    """Raise UsageError for a number between false alarms that states no rate."""
    if not number > 1:
        raise UsageError(f"{spell('false_every')}: must be a number above 1, got {number!r}")


def _add_costs(spending: RunUsage) -> float | None:
    """Return the cost of all models that report their usage, in US dollars, or None if a call has no known price."""
    usages = [spending.agent, spending.judge, spending.simulator, spending.environment]
    reported = [usage for usage in usages if usage is not None]
    total = sum(reported, start=ModelUsage())
    return None if not reported or total.unpriced_calls else total.cost
