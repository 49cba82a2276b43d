"""The history of a series of stored runs, and of a case along it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from itertools import chain

from msgspec.structs import replace

from fairtrial.analysis.case_lines import CaseLines
from fairtrial.analysis.measured_run import CASES
from fairtrial.analysis.run_series import follow_case, follow_runs
from fairtrial.api.stored_runs import measure_stored, open_store
from fairtrial.errors import UsageError, spell
from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.run import RunInfo
from fairtrial.records.run_history import CaseHistory, RunHistory
from fairtrial.records.summary import RunUsage
from fairtrial.stats.step_detector import RUNS_BETWEEN_FALSE_STEPS, WINDOW
from fairtrial.store import DEFAULT_URL, Store
from fairtrial.text.display import count

SERIES = ("agent", "eval_set", "branch")
"""What the runs of a series share, unless the caller names other fields."""
FIELDS = (*SERIES, "name", "tags", "kind")
ORDERS = ("time", "commit")
LAST = 50
"""The number of runs that a history shows, unless the caller wants another."""


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
        common, members = _find_series(run_store, run, series, order)
        # Runs before the first of the last rows say what it is compared with.
        window = members[-(last + WINDOW) :]
        newest = measure_stored(run_store, window[-1])
        own = newest.measure(measure)
        earlier = (measure_stored(run_store, info, only=measure) for info in window[:-1])
        lines = CaseLines(last)
        rows = follow_runs(map(lines.add, chain(earlier, (newest,))), measure, false_every)
        last_rows = rows[-last:]
        for place, row in enumerate(last_rows):
            summary = run_store.summary(row.id)
            if summary is not None:
                last_rows[place] = replace(row, cost=_add_costs(summary.spending))
    notes = []
    undated = sum(not info.git.get("date") for info in members) if order == "commit" else 0
    if undated:
        notes.append(f"{count(undated, 'run')} without the date of a commit: placed by the time at which they started")
    if not own.is_bounded:
        notes.append(f"{measure} has no largest or no smallest value, so that no step is looked for")
    if len(members) > len(window):
        notes.append(f"steps are looked for in the last {len(window)} runs")
    left_out = len(members) - len(last_rows)
    return RunHistory(
        common, measure, own.is_rate, false_every, tuple(last_rows), left_out, tuple(notes), lines.collect()
    )


def check_false_every(number: float) -> None:
    """Raise UsageError for a number between false alarms that states no rate."""
    if not number > 1:
        raise UsageError(f"{spell('false_every')}: must be a number above 1, got {number!r}")


def case_history(
    case: str,
    run: str = "",
    *,
    series: Sequence[str] = SERIES,
    last: int = LAST,
    order: str = "time",
    store: str = DEFAULT_URL,
) -> CaseHistory:
    """Return the attempts at a case along a series: whether it is broken or flaky, and since which run.

    `case` is the id or the name of a case. The other arguments are those of `history`.
    """
    with closing(open_store(store, create=False)) as run_store:
        common, members = _find_series(run_store, run, series, order)
        return follow_case((measure_stored(run_store, info, only=CASES) for info in members[-last:]), case, common)


def _add_costs(spending: RunUsage) -> float | None:
    """Return the cost of all models that report their usage, in US dollars, or None if a call has no known price."""
    usages = [spending.agent, spending.judge, spending.simulator, spending.environment]
    reported = [usage for usage in usages if usage is not None]
    total = sum(reported, start=ModelUsage())
    return None if not reported or total.unpriced_calls else total.cost


def _find_series(store: Store, run: str, series: Sequence[str], order: str) -> tuple[dict[str, str], list[RunInfo]]:
    """Return what the runs of a series share, and its finished runs, the oldest first."""
    if order not in ORDERS:
        raise UsageError(f"{spell('order')}: must be one of {', '.join(ORDERS)}, got {order!r}")
    for field in series:
        if field not in FIELDS:
            raise UsageError(f"{spell('series')}: must be one of {', '.join(FIELDS)}, got {field!r}")
    finished = [info for info in reversed(store.runs()) if info.finished is not None]
    if not finished:
        raise UsageError("the store holds no finished run")
    chosen = store.run(run) if run else finished[-1]
    common = describe_run(chosen, series)
    members = [info for info in finished if describe_run(info, series) == common]
    if order == "commit":
        members.sort(key=_date)
    if not members:
        raise UsageError(f"run {chosen.id} is not finished, and its series has no other run")
    return common, members


def _date(info: RunInfo) -> tuple[datetime, str]:
    """Return the place of a run in the order of commits: their author dates, then the times of the runs."""
    for text in (str(info.git.get("date", "")), info.started):
        with suppress(ValueError):
            moment = datetime.fromisoformat(text)
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC), info.started
    return datetime.max.replace(tzinfo=UTC), info.started


def describe_run(info: RunInfo, series: Sequence[str]) -> dict[str, str]:
    """Return the fields of a run that name its series."""
    texts = {
        "agent": str(info.config.get("agent") or ""),
        "eval_set": " ".join(map(str, info.config.get("eval_set_ids") or ())),
        "branch": str(info.git.get("branch", "")),
        "name": info.name,
        "tags": " ".join(info.tags),
        "kind": info.kind,
    }
    return {field: texts[field] for field in series}
