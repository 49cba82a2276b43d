"""The numbers of a run, with their uncertainty."""

from __future__ import annotations

from fairtrial.records.model_usage import ModelUsage
from fairtrial.records.record import Record
from fairtrial.records.result import Verdict


class Estimate(Record, frozen=True):
    """A number with its 95 % interval; `low`, `high` and `method` are None where there is no interval."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    method: str | None = None


class Valid(Record, frozen=True):
    """The numbers of a criterion over valid attempts only, passed or not; `n` is to how many of them it applied."""

    n: int
    mean: Estimate = Estimate()
    pass_rate: Estimate = Estimate()


class CriterionSummary(Record, frozen=True):
    """One criterion over all attempts: the mean of its values, its pass rate, and how often each verdict was given.

    Agreement is of a judge with itself, and of the models of a panel with each other. `errors` counts attempts whose
    agent failed and whose outcome is therefore unscored; they are not counted in `unscored` again. `valid` is None
    where nobody looked which attempts are valid.
    """

    criterion: str
    mean: Estimate = Estimate()
    pass_rate: Estimate = Estimate()
    passed: int = 0
    failed: int = 0
    unscored: int = 0
    not_applicable: int = 0
    informational: int = 0
    errors: int = 0
    threshold: float | None = None
    lower_is_better: bool = False
    self_agreement: float | None = None
    panel_agreement: float | None = None
    calls: int | None = None
    calls_saved: int | None = None
    abstentions: int | None = None
    cost: float | None = None
    valid: Valid | None = None


class RunUsage(Record, frozen=True):
    """What the models of each side took over the whole run; None where nobody told of any."""

    agent: ModelUsage | None = None
    judge: ModelUsage | None = None
    simulator: ModelUsage | None = None
    environment: ModelUsage | None = None


class Summary(Record, frozen=True):
    """A run in numbers: its verdict, its criteria, how many attempts ended with each verdict, and what models took.

    `invalid` counts the attempts that say nothing about the agent, by the side that spoiled them.
    """

    verdict: Verdict
    criteria: tuple[CriterionSummary, ...] = ()
    cases: dict[str, int] = {}
    invalid: dict[str, int] = {}
    reasons: tuple[str, ...] = ()
    spending: RunUsage = RunUsage()
