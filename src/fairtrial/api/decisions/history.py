"""The history of a series of stored runs, and of a case along it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import msgspec
from msgspec.structs import replace

from fairtrial.analysis.case_lines import CaseLines
from fairtrial.analysis.followed_series import FollowedSeries, keep_series
from fairtrial.analysis.measured_run import CASES
from fairtrial.analysis.run_series import RunFollower
from fairtrial.api.run_parts.case_series import LAST, SERIES, find_series
from fairtrial.api.stores import measure_stored, open_store
from fairtrial.errors import UsageError, spell
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.run import RunInfo
from fairtrial.records.run_history import HistoryRow, RunHistory
from fairtrial.records.summary import RunUsage
from fairtrial.stats.step_detector import RUNS_BETWEEN_FALSE_STEPS, WINDOW
from fairtrial.store import DEFAULT_URL, Store
from fairtrial.text.display import count

_CELLS = 1 << 14
"""So many attempts before those that are needed are read at most, so that a kept series can go on for long."""
_KEPT_VERSION = 2
"""The version of a followed series in a store. Whoever changes what follows a run raises it."""


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
        question = (sorted(common.items()), measure, order, false_every)
        followed = _follow(run_store, members, question, measure, last)
    notes = []
    undated = sum(not info.git.get("date") for info in members) if order == "commit" else 0
    if undated:
        notes.append(f"{count(undated, 'run')} without the date of a commit: placed by the time at which they started")
    if not followed.is_bounded:
        notes.append(f"{measure} has no largest or no smallest value, so that no step is looked for")
    if len(members) > len(followed.rows):
        notes.append(f"steps are looked for in the last {len(followed.rows)} runs")
    rows = followed.rows[-last:]
    cases = followed.lines().collect(last)
    left_out = len(members) - len(rows)
    return RunHistory(common, measure, followed.is_rate, false_every, rows, left_out, tuple(notes), cases)


def _follow(
    store: Store, members: Sequence[RunInfo], question: tuple[Any, ...], measure: str, last: int
) -> FollowedSeries:
    """Follow a measure along a series. Of runs that the store has followed before, only new ones are read.

    How far back a series is followed depends on its numbers of runs and cases alone, so that the answer does, too.
    """
    stride = 1 << max(0, (_CELLS // max(1, store.count_cases(members[-1].id))).bit_length() - 1)
    first = max(0, len(members) - last - WINDOW) // stride * stride
    window, histories = members[first:], store.histories()
    key = hashlib.sha256(msgspec.json.encode((_KEPT_VERSION, question, window[0].id))).hexdigest()
    versions = histories.versions()
    window_versions = [(info.id, versions.get(info.id, "")) for info in window]
    series = histories.read(key, FollowedSeries)
    if series is not None and not series.begins(window_versions):
        series = None
    if series is not None and len(series.members) == len(window_versions):
        return series
    newest, follower = measure_stored(store, window[-1]), RunFollower(measure, question[-1])
    newest.measure(measure)
    start, lines = 0, CaseLines()
    if series is not None:
        start = len(series.members)
        lines = series.resume(follower, measure_stored(store, window[start - 1], only=measure))
    for info in window[start:]:
        run = newest if info is window[-1] else measure_stored(store, info, only=measure)
        lines.add(run)
        follower.add(run)
    followed = keep_series(window_versions, newest, measure, follower, lines)
    rows = [*followed.rows[:start], *(_with_cost(store, row) for row in followed.rows[start:])]
    followed = replace(followed, rows=tuple(rows))
    if not store.count_skipped() and not any("dataset" in info.config for info in window):
        histories.keep(key, followed)
    return followed


def _with_cost(store: Store, row: HistoryRow) -> HistoryRow:
    summary = store.summary(row.id)
    return row if summary is None else replace(row, cost=_add_costs(summary.spending))


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
