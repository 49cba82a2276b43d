"""The order of a run's cases by a column of the grid: values of criteria, tokens, time, cost, names, groups."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from statistics import fmean
from typing import TYPE_CHECKING

import msgspec

from fairtrial.records.decoding import json_decoder
from fairtrial.reports.views.view_rows import find_reason, group_text, measure_seconds, sum_costs, sum_tokens

if TYPE_CHECKING:
    from fairtrial.api.viewer.view_index import RunIndex
    from fairtrial.store import Store

SortKey = str | float | None
"""The value of a case in a column. A case without a value has None or an empty text."""

KINDS = ("mode", "reason")
"""The columns that name the kind of a failure. The most frequent kind comes first."""

_GREEN = ("passed", "informational")
_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_ATTENTION = ("failed", "error", "unscored", "passed", "informational")


class _Cost(msgspec.Struct):
    cost: float | None = None


class _Usage(msgspec.Struct):
    """The part of a stored result with the usage of the attempt."""

    usage: dict[str, int] | None = None
    judge_stats: tuple[_Cost | None, ...] | None = None
    simulator: _Cost | None = None
    environment: _Cost | None = None


def sort_keys(store: Store, run_id: str, index: RunIndex, column: str) -> Mapping[int, SortKey]:
    """Return the values of cases in a column by their positions. A column that does not exist has none."""
    if column == "verdict":
        return {
            position: min((mark.verdict for mark in index.attempts_at(position)), key=_ATTENTION.index)
            for position in index.positions
        }
    if column in ("name", "set"):
        return {position: name if column == "name" else key.eval_set for position, key, name in store.case_keys(run_id)}
    if column == "reason":
        return dict(_reasons(store, run_id, index))
    if column.startswith("c."):
        return store.mean_values(run_id, column[2:]).get(column[2:], {})
    if column.startswith("g."):
        own = ((case.position, case.case.groups.get(column[2:])) for case in store.cases(run_id))
        return {position: group_text(value) for position, value in own if value is not None}
    values: defaultdict[int, list[float]] = defaultdict(list)
    for position, value in _measure_usage(store, run_id, column):
        values[position].append(value)
    return {position: fmean(own) for position, own in values.items()}


def _reasons(store: Store, run_id: str, index: RunIndex) -> Iterator[tuple[int, str]]:
    """Yield the reasons of cases that did not pass, without their numbers, as the program of a page makes them."""
    failed = [own for own in index.positions if any(mark.verdict not in _GREEN for mark in index.attempts_at(own))]
    results = store.results(run_id, positions=failed)
    for position, own in groupby(results, lambda result: result.position):
        if reason := next(filter(None, map(find_reason, own)), ""):
            yield position, _NUMBER.sub("#", reason)


def _measure_usage(store: Store, run_id: str, column: str) -> Iterator[tuple[int, float]]:
    """Yield the usage of each attempt: its tokens, its seconds or its cost."""
    if column == "seconds":
        for position, recording in store.recordings(run_id):
            if (seconds := measure_seconds(recording)) is not None:
                yield position, seconds
    elif column in ("tokens", "cost"):
        for position, _, content in store.bodies_with(run_id, "", of_results=True):
            usage = json_decoder(_Usage).decode(content)
            beside = (*(usage.judge_stats or ()), usage.simulator, usage.environment)
            total = sum_tokens(usage.usage) if column == "tokens" else sum_costs(*beside)
            if total is not None:
                yield position, total


def arrange(positions: Sequence[int], keys: Mapping[int, SortKey], column: str, *, downwards: bool) -> list[int]:
    """Return positions in the order of their values. Those without a value come last, in the order that they had."""
    with_value = [position for position in positions if keys.get(position) not in (None, "")]
    without_value = [position for position in positions if keys.get(position) in (None, "")]
    counts = Counter(keys[position] for position in with_value) if column in KINDS else Counter()
    return sorted(with_value, key=lambda own: (-counts[keys[own]], keys[own]), reverse=downwards) + without_value


def group(positions: Sequence[int], keys: Mapping[int, SortKey]) -> list[tuple[SortKey, int]]:
    """Return the groups of neighbours with the same value, with the number of their cases."""
    return [(key, len(list(own))) for key, own in groupby(positions, keys.get)]
