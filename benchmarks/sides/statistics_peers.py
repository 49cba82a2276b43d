"""The side of truescore and AgentAssay: the same simulated runs through both. Needs both, and nothing of fairtrial.

Reads a JSON object with `comparisons` and `streams` from standard input, and prints the results as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from agentassay.statistics.sprt import SPRTRunner
from truescore import paired_bootstrap
from truescore.sequential import first_exclusion


def bootstrap(comparisons: list[Any]) -> list[Any]:
    """Return the interval of each comparison, and the seconds that all of them took."""
    started = time.perf_counter()
    intervals = []
    for base, candidate in comparisons:
        found = paired_bootstrap(candidate, base, n_bootstrap=2000)
        intervals.append([found.low, found.high])
    return [intervals, time.perf_counter() - started]


def exclusion(values: list[float]) -> int | None:
    """Return the attempt at which truescore's confidence sequence is below 0.8, or None."""
    return first_exclusion(values, 0.8, direction="below")


def ratio_test(values: list[float]) -> int | None:
    """Return the attempt at which AgentAssay's ratio test claims a regression from 0.8 to 0.7, or None."""
    runner = SPRTRunner(p0=0.8, p1=0.7, alpha=0.05, beta=0.2)
    for number, value in enumerate(values, 1):
        decision = runner.update(value == 1).decision
        if decision != "continue":
            return number if decision == "accept_h1" else None
    return None


given = json.load(sys.stdin)
json.dump(
    {
        "bootstrap": {name: bootstrap(pairs) for name, pairs in given["comparisons"].items()},
        "exclusion": {name: list(map(exclusion, streams)) for name, streams in given["streams"].items()},
        "ratio": {name: list(map(ratio_test, streams)) for name, streams in given["streams"].items()},
    },
    sys.stdout,
)
