"""The runs of a series in a store, and the history of a case along it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.analysis.failures.run_failures import FINDINGS
from fairtrial.analysis.measured_run import CASES, MeasuredRun
from fairtrial.analysis.run_series import follow_case
from fairtrial.api.stores import measure_series, open_store
from fairtrial.errors import UsageError, spell
from fairtrial.records.failure_mode import DecisiveStep, FoundFailure
from fairtrial.records.run_history import CaseFailure, CaseHistory
from fairtrial.store import DEFAULT_URL, Store
from fairtrial.text.display import count

if TYPE_CHECKING:
    from fairtrial.records.run import RunInfo

SERIES = ("agent", "eval_set", "branch")
"""What the runs of a series share, unless the caller names other fields."""
FIELDS = (*SERIES, "name", "tags", "kind")
_CHANGED = frozenset(("mutate", "attack"))
"""Kinds of runs whose conversations fairtrial changes on purpose. They say nothing about other runs of the agent."""
ORDERS = ("time", "commit")
LAST = 50
"""The number of runs that a history shows, unless the caller wants another."""


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

    Each run names the decisive steps of the attempts that failed. `case` is the id or the name of a case. The other
    arguments are those of `history`.
    """
    with closing(open_store(store, create=False)) as run_store:
        common, members = find_series(run_store, run, series, order)
        places: dict[str, list[int]] = {}

        def note_places() -> Iterator[MeasuredRun]:
            for own in measure_series(run_store, members[-last:], CASES):
                keys = zip(own.positions, own.keys, own.names, strict=True)
                places[own.info.id] = [position for position, key, name in keys if case in (key.case, name)]
                yield own

        history = follow_case(note_places(), case, common)
        findings: defaultdict[tuple[str, int], list[FoundFailure]] = defaultdict(list)
        for run_id, position, finding in run_store.findings_at(places):
            findings[run_id, position].append(finding)
    positions = {run_id: iter(own) for run_id, own in places.items()}
    runs = (replace(own, failures=_count_failures(findings[own.id, next(positions[own.id])])) for own in history.runs)
    return replace(history, runs=tuple(runs))


def _count_failures(findings: Sequence[FoundFailure]) -> tuple[CaseFailure, ...]:
    """Return the different findings with their numbers, the most frequent first."""
    numbers = Counter((own.reason, own.step) for own in findings if own.version == FINDINGS)
    return tuple(
        CaseFailure(reason, None if step is None else DecisiveStep(*step), number)
        for (reason, step), number in numbers.most_common()
    )


def find_series(store: Store, run: str, series: Sequence[str], order: str) -> tuple[dict[str, str], list[RunInfo]]:
    """Return what the runs of a series share, and its finished runs, the oldest first.

    Runs of `mutate` and `attack` are no part of a series, unless a run of this kind is chosen: then its runs have this
    kind.
    """
    if order not in ORDERS:
        raise UsageError(f"{spell('order')}: must be one of {', '.join(ORDERS)}, got {order!r}")
    for field in series:
        if field not in FIELDS:
            raise UsageError(f"{spell('series')}: must be one of {', '.join(FIELDS)}, got {field!r}")
    finished = [info for info in reversed(store.runs()) if info.finished is not None]
    if not finished:
        raise UsageError("the store holds no finished run", code="other-content")
    unchanged = [info for info in finished if info.kind not in _CHANGED]
    chosen = store.run(run) if run else (unchanged or finished)[-1]
    if chosen.kind in _CHANGED:
        series = tuple(dict.fromkeys((*series, "kind")))
    common = describe_run(chosen, series)
    members = [info for info in (finished if "kind" in series else unchanged) if describe_run(info, series) == common]
    if order == "commit":
        members.sort(key=_date)
    if not members:
        raise UsageError(f"run {chosen.id} is not finished, and its series has no other run", code="unusable-run")
    return common, members


def note_other_series(common: dict[str, str], runs: Sequence[RunInfo]) -> list[str]:
    """Return a note if some of the runs belong to other series, with the fields in which those differ."""
    strays = [fields for info in runs if (fields := describe_run(info, tuple(common))) != common]
    if not strays:
        return []
    differing = [name for name, value in common.items() if any(fields[name] != value for fields in strays)]
    shared = ",".join(name for name in common if name not in differing)
    remedy = f"; {spell('series')} {shared} takes them together" if shared else ""
    return [f"{count(len(strays), 'other run')} of the store left out: another {' or '.join(differing)}{remedy}"]


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
