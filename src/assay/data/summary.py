"""The numbers of a run, with their uncertainty."""

from __future__ import annotations

from assay.data.noun import Json, Noun
from assay.data.outcome import Verdict
from assay.data.spent import Spent


class Estimate(Noun, frozen=True):
    """A number with its 95 % interval; `low`, `high` and `method` are None where there is no interval."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    method: str | None = None


class Valid(Noun, frozen=True):
    """The numbers of a criterion over valid attempts only, passed or not; `n` is to how many of them it applied."""

    n: int
    mean: Estimate = Estimate()
    pass_rate: Estimate = Estimate()


class CriterionSummary(Noun, frozen=True):
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


class Spending(Noun, frozen=True):
    """What the models of each side took over the whole run; None where nobody told of any."""

    agent: Spent | None = None
    judge: Spent | None = None
    simulator: Spent | None = None
    environment: Spent | None = None


class Summary(Noun, frozen=True):
    """A run in numbers: its verdict, its criteria, how many attempts ended with each verdict, and what models took.

    `invalid` counts the attempts that say nothing about the agent, by the side that spoiled them.
    """

    verdict: Verdict
    criteria: tuple[CriterionSummary, ...] = ()
    cases: dict[str, int] = {}
    invalid: dict[str, int] = {}
    reasons: tuple[str, ...] = ()
    spending: Spending = Spending()


class RunInfo(Noun, frozen=True):
    """What a run was: enough to repeat it, and to refuse a resume that would not be the same run."""

    id: str
    started: str
    version: str
    kind: str
    config: dict[str, Json] = {}
    signatures: dict[str, Json] = {}
    finished: str | None = None
    seconds: float | None = None
    verdict: Verdict | None = None
