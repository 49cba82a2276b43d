"""The side of truescore, AgentAssay, MLflow and Inspect: the same simulated runs through all, without fairtrial.

Reads a JSON object with `comparisons`, `streams` and `runs` from standard input, and prints the results as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from agentassay.statistics.sprt import SPRTRunner
from inspect_ai.scorer import SampleScore, Score, ci
from mlflow.genai.evaluation.comparison.paired_comparison import _compare_paired_values
from truescore import paired_bootstrap
from truescore.sequential import first_exclusion


def timed(interval: Callable[[Any], list[float]], inputs: list[Any]) -> list[Any]:
    """Return the interval of each input, and the seconds that all of them took."""
    started = time.perf_counter()
    intervals = [interval(each) for each in inputs]
    return [intervals, time.perf_counter() - started]


def bootstrap(comparison: Any) -> list[float]:
    """Return truescore's interval of the difference of two runs."""
    base, candidate = comparison
    found = paired_bootstrap(candidate, base, n_bootstrap=2000)
    return [found.low, found.high]


def bca(comparison: Any) -> list[float]:
    """Return MLflow's interval of the difference of two runs."""
    base, candidate = (np.array(values, dtype=float) for values in comparison)
    found = _compare_paired_values("pass", base, candidate, value_type="numeric")
    return [found.ci_low, found.ci_high]


def clustered(attempts: list[tuple[int, float]]) -> list[float]:
    """Return Inspect's interval of the mean of a run, clustered by case."""
    scores = [SampleScore(score=Score(value=value), sample_metadata={"case": case}) for case, value in attempts]
    found = CLUSTERED(scores)
    return [found["lower"], found["upper"]]


CLUSTERED = ci(cluster="case")


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
        "bootstrap": {name: timed(bootstrap, pairs) for name, pairs in given["comparisons"].items()},
        "bca": {name: timed(bca, pairs) for name, pairs in given["comparisons"].items()},
        "clustered": {name: timed(clustered, runs) for name, runs in given["runs"].items()},
        "exclusion": {name: list(map(exclusion, streams)) for name, streams in given["streams"].items()},
        "ratio": {name: list(map(ratio_test, streams)) for name, streams in given["streams"].items()},
    },
    sys.stdout,
)
