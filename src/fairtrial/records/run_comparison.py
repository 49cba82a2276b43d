"""The record of two compared runs: differences, and their uncertainty."""

from __future__ import annotations

from typing import Literal

from fairtrial.records.record import Displayed, Record

About = Literal["cases-like-these", "these-cases"]
"""Whether the cases are a sample of what the agent will meet, or fixed. If they are fixed, only attempts are random."""

Flip = Literal["broken", "fixed"]
RowVerdict = Literal["better", "worse", "no difference shown", "equal within the margin"]


class IntervalEstimate(Record, frozen=True):
    """A number with its 95 % interval. Without an interval, `low` and `high` are None."""

    value: float | None
    low: float | None = None
    high: float | None = None


class PassK(Record, frozen=True):
    """How often k attempts all pass (`pass_hat`, written pass^k), and how often at least one passes (`pass_at`).

    `cases` is the number of cases with at least k attempts.
    """

    k: int
    cases: int
    pass_hat: IntervalEstimate
    pass_at: IntervalEstimate


class ComparedRun(Record, frozen=True):
    """A run that was compared or decided about."""

    id: str
    started: str
    kind: str
    is_finished: bool
    cases: int
    attempts: int
    clusters: int | None = None


class SetupDifference(Record, frozen=True):
    """A part of the configuration in which two runs differ."""

    what: str
    base: str
    candidate: str


class Pairs(Record, frozen=True):
    """The cases that both runs have, the attempts a case of both runs, and the cases that are left out.

    A case is `changed` if its expectation differs between the runs. It is `ambiguous` if its id occurs several times,
    and not equally often. `clusters` is the number of clusters of the shared cases, null if every case stands for
    itself.
    """

    cases: int
    attempts: tuple[str, str]
    only_base: tuple[str, ...] = ()
    only_candidate: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    ambiguous: tuple[str, ...] = ()
    clusters: int | None = None


class McNemar(Record, frozen=True):
    """The counts of cases that changed their verdict, with the p values of McNemar's test. No verdict rests on it."""

    fixed: int
    broken: int
    exact: float
    mid_p: float


class ComparedMeasure(Record, frozen=True):
    """One measure in two runs. `difference` is candidate minus base, in the unit of the measure.

    `better`, `worse` and `equal` count cases. `missing` counts the attempts without a value, first of the base.
    `detectable` is the difference that this comparison would have shown with a power of 80 %. A number that is not
    known is None, and `why` says why. If p is corrected for several measures, `low` and `high` belong to the higher
    `level` at which this measure was tested: the interval excludes 0 exactly if `p_holm` is below 0.05.
    """

    measure: str
    base: float | None
    candidate: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    method: str | None
    cases: int
    better: int
    worse: int
    equal: int
    missing: tuple[int, int]
    detectable: float | None
    mcnemar: McNemar | None
    verdict: RowVerdict | None
    comparable: bool
    judge: str | None
    why: str | None
    is_rate: bool
    informational: bool
    level: float = 0.95


class ComparedSlice(Record, frozen=True):
    """The measures on the cases that share a value of a property, for example on all Korean cases.

    All slices and measures are one family of p values: that one of them is called better or worse by chance has a
    probability of at most 5 %.
    """

    value: str
    cases: int
    rows: tuple[ComparedMeasure, ...]


class Move(Record, frozen=True):
    """A case whose pass rate changed: passed and all attempts in both runs, and the change.

    It is `flipped` to "broken" if the case passed and then did not, and to "fixed" the other way. The rule of its
    attempts decides whether a case passes. By default, all attempts have to pass.
    """

    case: str
    base: tuple[int, int]
    candidate: tuple[int, int]
    change: float
    flipped: Flip | None


class Comparison(Displayed, frozen=True, tag_field="kind", tag="compare"):
    """Two runs, the base first. `signature` names everything that determines the numbers.

    `slices` divide the cases by the property `by`. A case with several values of it is in several slices.
    """

    signature: str
    level: float
    about: About
    runs: tuple[ComparedRun, ComparedRun]
    pairs: Pairs
    setup: tuple[SetupDifference, ...]
    rows: tuple[ComparedMeasure, ...]
    moved: tuple[Move, ...]
    pass_k: tuple[tuple[PassK, ...], tuple[PassK, ...]]
    margin: float | None
    warnings: tuple[str, ...]
    by: str | None = None
    slices: tuple[ComparedSlice, ...] = ()

    def row(self, measure: str) -> ComparedMeasure:
        """Return the row of a measure. Raises KeyError if there is none."""
        for row in self.rows:
            if row.measure == measure:
                return row
        raise KeyError(measure)
