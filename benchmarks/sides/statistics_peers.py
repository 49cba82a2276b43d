"""The side of truescore, AgentAssay, MLflow, Inspect, ppi-python and scipy: the same simulated runs, without fairtrial.

Reads a JSON object with `comparisons`, `nulls`, `labels`, `streams` and `runs` from standard input, and prints the
results and the versions as JSON. MLflow below 3.18 has no comparison, and is left out.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from agentassay.statistics.sprt import SPRTRunner
from inspect_ai.scorer import SampleScore, Score, ci
from ppi_py import ppi_mean_ci
from scipy.stats import permutation_test
from truescore import paired_bootstrap
from truescore.sequential import first_exclusion

try:
    from mlflow.genai.evaluation.comparison.paired_comparison import _compare_paired_values
except ImportError:
    _compare_paired_values = None

PACKAGES = ("truescore", "agentassay", "mlflow", "inspect-ai", "ppi-python", "scipy")


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


def permutation(comparison: Any) -> float:
    """Return scipy's p value of a mean difference of 0: signs of the pairs are flipped 2,000 times."""
    samples = [np.array(values, dtype=float) for values in comparison]
    found = permutation_test(
        samples,
        lambda first, second, axis: np.mean(second - first, axis=axis),
        permutation_type="samples",
        n_resamples=2000,
        vectorized=True,
        rng=1,
    )
    return float(found.pvalue)


def powered(sample: Any) -> list[float]:
    """Return ppi-python's interval of the mean of labels, from the judge's values of labelled and other outcomes."""
    people, judge, others = (np.array(values, dtype=float) for values in sample)
    low, high = ppi_mean_ci(people, judge, others, alpha=0.05)
    return [float(np.squeeze(low)), float(np.squeeze(high))]


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
        "bca": {name: timed(bca, pairs) for name, pairs in given["comparisons"].items()}
        if _compare_paired_values
        else {},
        "permutation": {name: [permutation(pair) for pair in pairs] for name, pairs in given["nulls"].items()},
        "powered": {name: timed(powered, samples) for name, samples in given["labels"].items()},
        "versions": {name: version(name) for name in PACKAGES},
        "clustered": {name: timed(clustered, runs) for name, runs in given["runs"].items()},
        "exclusion": {name: list(map(exclusion, streams)) for name, streams in given["streams"].items()},
        "ratio": {name: list(map(ratio_test, streams)) for name, streams in given["streams"].items()},
    },
    sys.stdout,
)
