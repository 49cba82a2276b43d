"""Attribute the differences between attempts of stored cases to the agent or to the judge."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import groupby, islice
from typing import TYPE_CHECKING

from fairtrial.judge.flake_cause import find_cause

if TYPE_CHECKING:
    from fairtrial.records.flaky_case import Cause
    from fairtrial.store import Store

_BATCH = 500


def flaky_causes(store: Store, run_id: str, positions: Collection[int]) -> Mapping[int, Cause]:
    """Return who makes the attempts of cases differ, by the positions of the cases."""
    ballots = store.ballots(run_id)
    by_position: dict[int, Cause] = {}
    queue = iter(positions)
    while batch := list(islice(queue, _BATCH)):
        traces = {
            (position, recording.attempt): recording.trace
            for position, recording in store.recordings(run_id, positions=batch)
        }
        results = store.results(run_id, positions=batch)
        for position, attempts in groupby(results, key=lambda result: result.position):
            pairs = [(result, traces.get((position, result.attempt))) for result in attempts]
            cause = find_cause(pairs, ballots)
            if cause is not None:
                by_position[position] = cause
    return by_position
