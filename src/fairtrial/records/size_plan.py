"""The plan of a sample size: cases, attempts and costs."""

from __future__ import annotations

from typing import Literal

from fairtrial.records.record import Record
from fairtrial.records.run_comparison import About, ComparedRun

Question = Literal["detect", "not_worse_by", "half_width"]


class VarianceShares(Record, frozen=True):
    """The variances behind a plan, for values in 0..1.

    `case` is the variance between cases and `attempt` the variance between the attempts of a case. `attempt` is None
    if the run has one attempt of each case; then `case` is the sum of both. `lasting` is the part of the variance of
    case differences that attempts cannot remove, `judge` the part of `attempt` that the votes of the judge make.
    """

    case: float
    attempt: float | None
    lasting: float | None
    judge: float | None


class PlanRow(Record, frozen=True):
    """A design: the attempts of each case, the cases that the question then needs, and the votes of the judge.

    `cases` is None if ten million are not enough. `cost` is in US dollars, without the agent's own calls, and None if
    no price is known.
    """

    attempts: int
    cases: int | None
    votes: int | None
    cost: float | None
    cheapest: bool


class SizePlan(Record, frozen=True, tag_field="kind", tag="plan"):
    """The designs that answer a question about a measure.

    `correlation` is the guessed correlation between the case values of both runs, None if the base run shows it.
    `detectable` is the difference that the present design finds.
    """

    signature: str
    level: float
    about: About
    runs: tuple[ComparedRun, ...]
    measure: str
    question: Question
    limit: float
    power: float
    correlation: float | None
    variance: VarianceShares
    rows: tuple[PlanRow, ...]
    detectable: float | None
    is_rate: bool
    notes: tuple[str, ...]
