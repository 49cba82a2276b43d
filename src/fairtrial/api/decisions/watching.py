"""Watches production traffic: a measure may leave its reference, by a change of the agent or of the judge."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import msgspec

from fairtrial.analysis.measured_run import list_measures
from fairtrial.analysis.run_series import follow_runs
from fairtrial.analysis.traffic_monitor import TrafficMonitor
from fairtrial.api.decisions.history import SERIES, describe_run
from fairtrial.api.stored_runs import measure_stored, open_store
from fairtrial.errors import UsageError, spell
from fairtrial.records.run import RunInfo
from fairtrial.records.run_history import WatchedTraffic
from fairtrial.stats.mean_monitor import REFERENCE, VALUES_BETWEEN_FALSE_ALARMS
from fairtrial.stats.step_detector import RUNS_BETWEEN_FALSE_STEPS
from fairtrial.store import DEFAULT_URL, Store

CANARY = "canary"
_TRAFFIC = ("score", "receive")
_MOST_REFERENCE = 100_000


@dataclass(frozen=True)
class WatchOptions:
    """The traffic to watch. `series` names the fields that the runs share, and `since` leaves older runs out.

    The first `reference` conversations are the reference. At most one conversation in `false_every` raises a false
    alarm. Runs with the tag `canary` score the same recordings again and again, so that they show whether a judge
    drifts.
    """

    series: tuple[str, ...] = SERIES
    since: str = ""
    reference: int = REFERENCE
    false_every: float = VALUES_BETWEEN_FALSE_ALARMS
    canary: str = CANARY
    store: str = DEFAULT_URL


def watch(run: str = "", options: WatchOptions | None = None) -> WatchedTraffic:
    """Return whether the measures of the runs of `score` and `receive` left their reference.

    `run` is the beginning of the id of a run of the series, by default of the newest run without the tag of canaries.
    Raises UsageError if there is none.
    """
    watch_options = options or WatchOptions()
    if not 20 <= watch_options.reference <= _MOST_REFERENCE:
        raise UsageError(f"{spell('reference')}: must be in 20..{_MOST_REFERENCE:,}, got {watch_options.reference!r}")
    if not watch_options.false_every > 1:
        raise UsageError(f"{spell('false_every')}: must be a number above 1, got {watch_options.false_every!r}")
    with closing(open_store(watch_options.store, create=False)) as store:
        common, traffic, canaries = _find_traffic(store, run, watch_options)
        monitor = TrafficMonitor(watch_options.reference, watch_options.false_every)
        for info in traffic:
            measures = list_measures(store.criterion_terms(info.id))
            monitor.add(info, measures, store.attempt_rows(info.id, sampled=True))
        judges = _check_judges(store, canaries)
    measures_now = tuple(monitor.report(judges))
    notes = list(monitor.notes)
    if not canaries and any(measure.state in ("higher", "lower") for measure in measures_now):
        notes.append(f"no run has the tag {watch_options.canary}, so that the agent and its judges are not told apart")
    return WatchedTraffic(
        common, watch_options.reference, watch_options.false_every, len(traffic), measures_now, tuple(notes)
    )


def _find_traffic(store: Store, run: str, options: WatchOptions) -> tuple[dict[str, str], list[RunInfo], list[RunInfo]]:
    """Return the shared fields of the runs, the runs of traffic, and those of canaries, the oldest first."""
    runs = [info for info in reversed(store.runs()) if info.kind in _TRAFFIC and info.started >= options.since]
    traffic = [info for info in runs if options.canary not in info.tags]
    if not traffic:
        raise UsageError("the store holds no run of score or receive")
    newest = store.run(run) if run else traffic[-1]
    common = describe_run(newest, options.series)
    canaries = [info for info in runs if options.canary in info.tags and info.finished is not None]
    return common, [info for info in traffic if describe_run(info, options.series) == common], canaries


def _check_judges(store: Store, canaries: Sequence[RunInfo]) -> dict[str, str]:
    """Return whether the judge of each criterion drifted: whether the same recordings get other scores."""
    if len(canaries) < 2:
        return {}
    runs = [measure_stored(store, info) for info in canaries]
    judges = {}
    for name, measure in runs[-1].measures.items():
        if measure.is_bounded:
            rows = follow_runs(runs, name, RUNS_BETWEEN_FALSE_STEPS)
            judges[name] = "drifted" if any(row.step for row in rows) else "steady"
    return judges


def post_alarms(traffic: WatchedTraffic, url: str) -> None:
    """Send the alarms as JSON to a URL: names of measures, numbers and ids of runs, and no texts of conversations.

    Raises UsageError if the service does not take them.
    """
    from fairtrial.platforms.http_client import HttpClient

    client = HttpClient("the service of alarms", url, {}, secrets=[url])
    try:
        body = msgspec.json.encode({"kind": "alarm", "series": traffic.series, "alarms": traffic.alarms})
        client.send("POST", "", content=body, headers={"Content-Type": "application/json"})
    finally:
        client.close()
