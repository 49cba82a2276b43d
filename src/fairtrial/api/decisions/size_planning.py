"""Read runs, prices and judge agreement, and plan the next sample size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairtrial.analysis.sizing import JudgeNumbers, Prices, Request, plan_size
from fairtrial.api.decisions.comparing import check_about, check_different
from fairtrial.api.run_sources import RunSource, is_file, measured
from fairtrial.api.stored_runs import Run, reread
from fairtrial.errors import UsageError
from fairtrial.store import DEFAULT_URL

if TYPE_CHECKING:
    from fairtrial.records.run_comparison import About
    from fairtrial.records.size_plan import Question, SizePlan
    from fairtrial.records.summary import Summary


def plan(
    run: RunSource,
    base: RunSource | None = None,
    *,
    detect: float | None = None,
    not_worse_by: float | None = None,
    half_width: float | None = None,
    measure: str = "cases",
    power: float = 0.8,
    correlation: float = 0.5,
    about: About = "cases-like-these",
    cluster: str | None = None,
    store: str = DEFAULT_URL,
) -> SizePlan:
    """Return how many cases a question needs with 1, 2, 4 and 8 attempts each, and the price of each design.

    Exactly one question is asked: to `detect` a difference, to show a run `not_worse_by` a margin, or to have an
    interval of plus or minus `half_width`. Runs are named as in `compare`. With a `base`, the noise of the difference
    is known; without it, the `correlation` between the case values of two runs is guessed.
    """
    check_about(about)
    limits: dict[Question, float | None] = {
        "detect": detect,
        "not_worse_by": not_worse_by,
        "half_width": half_width,
    }
    questions = [(question, limit) for question, limit in limits.items() if limit is not None]
    if len(questions) != 1:
        raise UsageError(
            f"must ask one of {', '.join(limits)}, got {', '.join(name for name, _ in questions) or 'none'}"
        )
    question, limit = questions[0]
    measured_run = measured(run, store, cluster=cluster)
    base_run = None if base is None else measured(base, store, cluster=cluster)
    if base_run is not None:
        check_different([base_run, measured_run])
    request = Request(question, limit, measure, power, correlation, about)
    prices, judge = _summary_numbers(run, store, measured_run.info.signatures, measure, measured_run.attempts)
    return plan_size(measured_run, base_run, request, prices, judge)


def _summary_numbers(
    run: RunSource, store: str, signatures: dict[str, Any], measure: str, attempts: int
) -> tuple[Prices, JudgeNumbers | None]:
    """Return the prices of an attempt, and the agreement of the judge of a measure. Files do not hold them."""
    if not isinstance(run, Run) and is_file(run):
        return Prices(None, None), None
    summary = run.summary if isinstance(run, Run) else reread(store, str(run)).summary
    spending = summary.spending
    judge_cost = None if spending.judge is None else spending.judge.cost
    others = [side.cost for side in (spending.simulator, spending.environment) if side is not None and side.cost]
    count = max(1, attempts)
    prices = Prices(None if judge_cost is None else judge_cost / count, sum(others) / count if others else None)
    return prices, _find_judge(summary, signatures, measure.removesuffix(":pass"))


def _find_judge(summary: Summary, signatures: dict[str, Any], criterion: str) -> JudgeNumbers | None:
    """Return the agreement of a judge that answers one question an attempt. Means over several items are left out."""
    votes = signatures.get(criterion, {}).get("options", {}).get("judge", {}).get("options", {}).get("votes")
    for row in summary.criteria:
        rate = row.pass_rate.value
        if row.criterion == criterion and votes and row.self_agreement is not None and rate is not None:
            return JudgeNumbers(votes, row.self_agreement, rate)
    return None
