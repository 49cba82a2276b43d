"""Find flaky cases in a measured run."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING

from fairtrial.analysis.measured_run import CASES, MeasuredRun, describe_run
from fairtrial.records.average import mean
from fairtrial.records.flaky_case import Cause, Flakiness, FlakyCase
from fairtrial.stats.agreement import NORMAL
from fairtrial.stats.interval import LEVEL, wilson
from fairtrial.stats.variance import variance_split
from fairtrial.version import __version__

if TYPE_CHECKING:
    from fairtrial.stats.fixed_cases import CaseSample

Causes = Callable[[Collection[int]], Mapping[int, Cause]]
"""Returns the causes of flaky cases by their positions. Cases whose traces are not stored are left out."""


def find_flaky(run: MeasuredRun, causes: Causes) -> Flakiness:
    """Return the cases whose attempts differ, the most uncertain first."""
    column = run.columns[CASES]
    samples = {case: sample for case in range(len(run.keys)) if (sample := column.sample(case)) is not None}
    flaky = {case: sample for case, sample in samples.items() if 0 < sample.mean < 1}
    causes_by_position = causes([run.positions[case] for case in flaky])
    cases = []
    for case, sample in sorted(flaky.items(), key=lambda item: (abs(item[1].mean - 0.5), item[1].attempts, item[0])):
        low, high = wilson(sample.mean, sample.attempts, NORMAL)
        passed = sample.passed
        cases.append(
            FlakyCase(run.names[case], passed, sample.attempts, low, high, causes_by_position.get(run.positions[case]))
        )
    repeated = [sample for sample in samples.values() if sample.attempts > 1]
    split = variance_split(list(samples.values()))
    attempts = sum(sample.attempts for sample in samples.values())
    return Flakiness(
        f"cases:{len(samples)}|attempts:{attempts}|ci:Wilson|level:{LEVEL}|fairtrial:{__version__}",
        LEVEL,
        "these-cases",
        (describe_run(run),),
        sum(sample.mean == 1 for sample in repeated),
        sum(sample.mean == 0 for sample in repeated),
        len(samples) - len(repeated),
        _expected_changes(samples.values()),
        None if split is None or split.attempt is None else split.case,
        None if split is None else split.attempt,
        tuple(cases),
    )


def _expected_changes(samples: Collection[CaseSample]) -> float:
    """Return the number of verdicts in which two further runs of all cases would differ.

    The chance of a case to pass is its pass rate, drawn to the rate of the run as by one more attempt.
    """
    if not samples:
        return 0.0
    rate = mean([sample.mean for sample in samples])
    chances = [(sample.mean * sample.attempts + rate) / (sample.attempts + 1) for sample in samples]
    return math.fsum(2 * chance * (1 - chance) for chance in chances)
