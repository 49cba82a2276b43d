"""Watches production traffic: a measure may leave its reference, by a change of the agent or of the judge."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from dataclasses import replace as with_fields
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from fairtrial.analysis.measured_run import MeasuredRun, list_measures
from fairtrial.analysis.run_series import follow_runs
from fairtrial.analysis.traffic_monitor import TrafficMonitor
from fairtrial.analysis.variants import select_cases
from fairtrial.api.calibrations import calibrate_runs
from fairtrial.api.decisions.history import check_false_every
from fairtrial.api.run_parts.case_series import SERIES, describe_run, note_other_series
from fairtrial.api.stores import measure_stored, open_store
from fairtrial.errors import UsageError, spell
from fairtrial.records.run_history import WatchedTraffic
from fairtrial.stats.mean_monitor import REFERENCE, VALUES_BETWEEN_FALSE_ALARMS
from fairtrial.stats.step_detector import RUNS_BETWEEN_FALSE_STEPS
from fairtrial.store import DEFAULT_URL, Store

if TYPE_CHECKING:
    from fairtrial.records.keys import CaseKey
    from fairtrial.records.run import RunInfo

CANARY = "canary"
_TRAFFIC = ("score", "receive")
_MOST_REFERENCE = 100_000
_MOST_REPEATED = 1000
"""So many conversations of a run are compared with earlier runs at most."""
_BATCH = 500
_FEWEST_REPEATED = 20
"""With fewer repeated conversations, a judge is not called steady."""


@dataclass(frozen=True)
class WatchOptions:
    """The traffic to watch. `series` names fields that the runs share. `since`, a local time, leaves older ones out.

    The first `reference` conversations are the reference. At most one conversation in `false_every` raises a false
    alarm. Runs with the tag `canary` score the same recordings again and again, so that they show whether a judge
    drifts. Without two of them, the recordings that several runs of the traffic have show it.
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
    check_false_every(watch_options.false_every)
    with closing(open_store(watch_options.store, create=False)) as store:
        common, traffic, canaries, notes = _find_traffic(store, run, watch_options)
        monitor = TrafficMonitor(watch_options.reference, watch_options.false_every)
        number_of_runs = Counter(key for info in traffic for key in {key for _, key, _ in store.case_keys(info.id)})
        for info in traffic:
            measures = list_measures(store.criterion_terms(info.id))
            keys = {position: key for position, key, _ in store.case_keys(info.id) if number_of_runs[key] > 1}
            digests = {
                place: f"{keys[place[0]]} {digest}"
                for place, digest in _digest_recordings(store, info.id, list(keys)).items()
            }
            monitor.add(info, measures, store.attempt_rows(info.id, sampled=True), digests)
        again = [measure_stored(store, info) for info in canaries]
        judges = _check_judges(again if len(again) > 1 else _find_repeated(store, traffic, number_of_runs))
        measures_now = tuple(monitor.report(judges, partial(calibrate_runs, store)))
    notes += monitor.notes
    if not canaries and any(
        measure.judge == "unknown" for measure in measures_now if measure.state in ("higher", "lower")
    ):
        notes.append(
            f"no run has the tag {watch_options.canary}, and the runs share fewer than {_FEWEST_REPEATED} recordings, "
            "so that the agent and its judges are not told apart"
        )
    return WatchedTraffic(
        common, watch_options.reference, watch_options.false_every, len(traffic), measures_now, tuple(notes)
    )


def _find_traffic(
    store: Store, run: str, options: WatchOptions
) -> tuple[dict[str, str], list[RunInfo], list[RunInfo], list[str]]:
    """Return the shared fields of the runs, the runs of traffic and those of canaries, the oldest first, and notes."""
    runs = [info for info in reversed(store.runs()) if info.kind in _TRAFFIC]
    since = _read_date(options.since)
    if since is not None:
        runs = [info for info in runs if datetime.fromisoformat(info.started) >= since]
    traffic = [info for info in runs if options.canary not in info.tags]
    if not traffic and since is not None:
        raise UsageError(f"no run of score or receive started since {options.since}", code="other-content")
    if not traffic:
        raise UsageError("the store holds no run of score or receive", code="other-content")
    newest = store.run(run) if run else traffic[-1]
    common = describe_run(newest, options.series)
    canaries = [info for info in runs if options.canary in info.tags and info.finished is not None]
    members = [info for info in traffic if describe_run(info, options.series) == common]
    return common, members, canaries, note_other_series(common, traffic)


def _read_date(text: str) -> datetime | None:
    """Return a date or a time, in local time if it names no zone. Raises UsageError."""
    try:
        return datetime.fromisoformat(text).astimezone() if text else None
    except (ValueError, OverflowError):
        raise UsageError(f"{spell('since')}: must be a date such as 2026-01-02, got {text!r}") from None


def _check_judges(runs: Sequence[MeasuredRun]) -> dict[str, str]:
    """Return whether the judge of each criterion drifted: whether the same recordings get other scores."""
    judges = {}
    for name, measure in runs[-1].measures.items() if len(runs) > 1 else ():
        if measure.is_bounded:
            rows = follow_runs(runs, name, RUNS_BETWEEN_FALSE_STEPS)
            if any(row.step for row in rows):
                judges[name] = "drifted"
            elif rows[-1].compared >= _FEWEST_REPEATED:
                judges[name] = "steady"
    return judges


def _find_repeated(
    store: Store, traffic: Iterable[RunInfo], number_of_runs: Mapping[CaseKey, int]
) -> list[MeasuredRun]:
    """Return the runs that hold recordings of other runs, too, with these recordings alone.

    The digest of a case becomes that of its recordings, so that runs share a case only if the agent did the same.
    """
    finished = [info for info in traffic if info.finished is not None]
    runs = []
    for info in finished:
        positions = [place for place, key, _ in store.case_keys(info.id) if number_of_runs[key] > 1][-_MOST_REPEATED:]
        if positions:
            digests: defaultdict[int, str] = defaultdict(str)
            for (position, _), digest in sorted(_digest_recordings(store, info.id, positions).items()):
                digests[position] += digest
            run = measure_stored(store, info)
            run = select_cases(run, [place for place, position in enumerate(run.positions) if position in digests])
            keys = [
                replace(key, digest=digests[position]) for key, position in zip(run.keys, run.positions, strict=True)
            ]
            runs.append(with_fields(run, keys=keys))
    return [run for run in runs if run.keys]


def _digest_recordings(store: Store, run: str, positions: Sequence[int]) -> dict[tuple[int, int], str]:
    """Return the digests of the recordings of cases by their positions and attempts."""
    return {
        (position, recording.attempt): hashlib.sha256(msgspec.json.encode(recording.trace)).hexdigest()
        for start in range(0, len(positions), _BATCH)
        for position, recording in store.recordings(run, positions=positions[start : start + _BATCH])
    }


def find_new_alarms(run: RunInfo, options: WatchOptions, known: Collection[str] = frozenset()) -> WatchedTraffic | None:
    """Return the traffic of a run with the alarms that this run raised, or None if it raised none.

    The alarms of `known` measures are left out.
    """
    if run.kind not in _TRAFFIC or options.canary in run.tags:
        return None
    traffic = watch(run.id, options)
    alarms = {measure.measure for measure in traffic.alarms if measure.seen_in == run.id}
    own = tuple(measure for measure in traffic.measures if measure.measure in alarms.difference(known))
    return replace(traffic, measures=own) if own else None


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
