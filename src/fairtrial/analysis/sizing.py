"""Plan sample sizes from measured runs: more cases, or more attempts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from fairtrial.analysis.measured_run import Measure, MeasuredRun, check_unweighted, cluster_count, describe_run
from fairtrial.analysis.paired_runs import PairedRuns, pair_runs
from fairtrial.errors import UsageError, spell
from fairtrial.records.average import mean
from fairtrial.records.size_plan import PlanRow, Question, SizePlan, VarianceShares
from fairtrial.stats.clusters import design_effect
from fairtrial.stats.fixed_cases import CaseSample
from fairtrial.stats.interval import LEVEL
from fairtrial.stats.one_sided import cases_for_margin, margin_of_cases
from fairtrial.stats.sample_size import (
    cases_for_mean,
    cases_for_width,
    cases_to_detect,
    detectable,
    least_value,
)
from fairtrial.stats.student import student_quantile
from fairtrial.stats.variance import VarianceSplit, judge_noise, lasting_variance, variance_split
from fairtrial.version import __version__

if TYPE_CHECKING:
    from fairtrial.records.run_comparison import About

_ATTEMPTS = (1, 2, 4, 8)
_VOTES = (1, 3, 5, 9)
_MOST_ATTEMPTS = 10_000


class Prices(NamedTuple):
    """The known costs of a run in US dollars: of the judges, and of everything else, for one attempt."""

    judge: float | None
    rest: float | None


class JudgeNumbers(NamedTuple):
    """The votes of a judge on each question, and how often they agree: with each other, and how often they are yes."""

    votes: int
    self_agreement: float
    yes_rate: float


@dataclass(frozen=True)
class Request:
    """A question about a measure, and the assumptions of a plan."""

    question: Question
    limit: float
    measure: str = "cases"
    power: float = 0.8
    correlation: float = 0.5
    about: About = "cases-like-these"


@dataclass(frozen=True)
class _Noise:
    """The variances of a design. `largest` is the largest difference of a case, which the extra cases take."""

    lasting: float
    attempt: float
    largest: float

    def variance(self, attempts: float) -> float:
        return self.lasting + self.attempt / attempts


def plan_size(
    run: MeasuredRun,
    base: MeasuredRun | None,
    request: Request,
    prices: Prices = Prices(None, None),  # noqa: B008  (a tuple is never changed)
    judge: JudgeNumbers | None = None,
) -> SizePlan:
    """Return the designs that answer a question, from the noise that a run shows.

    With a base run, the variance of the differences between both is known. Without it, the correlation is guessed.
    """
    measure = _ensure_valid(run, base, request)
    check_unweighted((run, base), "a plan")
    samples = _shares(run.samples(measure.name), measure)
    split = variance_split(samples)
    if split is None:
        raise UsageError(
            f"run {run.info.id}: a plan needs two cases with a value, got {len(samples)}", code="too-little-data"
        )
    pairs = None if base is None else pair_runs(base, run)
    noise = _noise(split, pairs, request, measure)
    limit = request.limit / measure.width
    effect = _cluster_effect(run, pairs, request)
    plan = _Plan(request, measure, noise, split, samples, limit, pairs is not None, effect)
    rows = [*plan.rows(prices), *plan.vote_rows(prices, judge)]
    reach = plan.detectable_now(len(samples), mean([sample.attempts for sample in samples]))
    return SizePlan(
        _signature(run, request, len(samples)),
        LEVEL,
        request.about,
        tuple(describe_run(member) for member in (base, run) if member is not None),
        measure.name,
        request.question,
        request.limit,
        request.power,
        None if pairs is not None or request.question == "half_width" else request.correlation,
        VarianceShares(
            split.case,
            split.attempt,
            None if request.question == "half_width" and pairs is None else noise.lasting,
            None if judge is None else judge_noise(judge.yes_rate, judge.self_agreement, judge.votes),
        ),
        tuple(_with_cheapest(rows)),
        None if reach is None else reach * measure.width,
        measure.is_rate,
        (*_notes(split, pairs, request), *_cluster_notes(run, effect)),
    )


def _ensure_valid(run: MeasuredRun, base: MeasuredRun | None, request: Request) -> Measure:
    measure = run.measure(request.measure)
    problems: list[str] = []
    if base is not None:
        base.measure(request.measure)
    if not measure.is_bounded:
        bounded = ", ".join(name for name, member in run.measures.items() if member.is_bounded)
        raise UsageError(
            f"{request.measure}: a plan needs a measure with bounds; these have bounds: {bounded}",
            code="too-little-data",
        )
    if not 0 < request.limit < measure.width:
        problems.append(f"{request.question}: must be above 0 and below {measure.width:g}, got {request.limit:g}")
    if not 0.5 < request.power < 1:
        problems.append(f"power: must be above 0.5 and below 1, got {request.power:g}")
    if not 0 <= request.correlation < 1:
        problems.append(f"correlation: must be 0 or more and below 1, got {request.correlation:g}")
    if problems:
        raise UsageError("\n".join(problems))
    return measure


def _shares(samples: Sequence[CaseSample], measure: Measure) -> list[CaseSample]:
    return [
        CaseSample(measure.share(sample.mean), sample.variance / measure.width**2, sample.attempts)
        for sample in samples
    ]


def _noise(split: VarianceSplit, pairs: PairedRuns | None, request: Request, measure: Measure) -> _Noise:
    if pairs is None:
        lasting, attempt = 2 * split.case * (1 - request.correlation), 2 * split.within
        largest = 1.0 if measure.is_rate else 3 * math.sqrt(lasting + attempt)
        return _Noise(lasting, attempt, largest)
    by_case = list(pairs.samples(measure.name).values())
    if len(by_case) < 2:
        raise UsageError("a plan needs two cases that have a value in both runs", code="too-little-data")
    runs = [_shares([pair[side] for pair in by_case], measure) for side in (0, 1)]
    splits = [variance_split(shares) or VarianceSplit(0.0, None) for shares in runs]
    attempts = [mean([sample.attempts for sample in shares]) for shares in runs]
    differences = [after.mean - before.mean for before, after in zip(*runs, strict=True)]
    noise = sum(own.within / count for own, count in zip(splits, attempts, strict=True))
    largest = 1.0 if measure.is_rate else max(map(abs, differences)) or 1.0
    return _Noise(lasting_variance(differences, noise), sum(own.within for own in splits), largest)


@dataclass(frozen=True)
class _Plan:
    """A question with the noise of its runs. `limit` is in 0..1."""

    request: Request
    measure: Measure
    noise: _Noise
    split: VarianceSplit
    samples: Sequence[CaseSample]
    limit: float
    has_base: bool
    effect: float = 1.0

    @property
    def _level(self) -> float:
        """The level of the interval that answers: "not worse" is a one-sided question."""
        return 2 * LEVEL - 1 if self.request.question == "not_worse_by" else LEVEL

    def rows(self, prices: Prices) -> Iterator[PlanRow]:
        """Yield a design for each number of attempts. With one attempt a case, only that number can be planned."""
        costs = [cost for cost in prices if cost is not None]
        price = sum(costs) if costs else None
        if self.request.about == "these-cases":
            attempts = self._attempts_needed()
            cost = None if price is None or attempts is None else attempts * len(self.samples) * price
            yield PlanRow(attempts or _MOST_ATTEMPTS, len(self.samples) if attempts else None, None, cost, False)
            return
        for attempts in _ATTEMPTS if self.split.attempt is not None else _ATTEMPTS[:1]:
            cases = self._cases(self.noise.variance(attempts), attempts)
            cost = None if price is None or cases is None else cases * attempts * price
            yield PlanRow(attempts, cases, None, cost, False)

    def vote_rows(self, prices: Prices, judge: JudgeNumbers | None) -> Iterator[PlanRow]:
        """Yield a design for each number of votes, with as many attempts as now. A model says what the votes change."""
        if judge is None or self.split.attempt is None or self.request.about == "these-cases":
            return
        attempts = round(mean([sample.attempts for sample in self.samples]))
        now = judge_noise(judge.yes_rate, judge.self_agreement, judge.votes)
        runs = 1 if self.request.question == "half_width" and not self.has_base else 2
        for votes in _VOTES:
            change = judge_noise(judge.yes_rate, judge.self_agreement, votes) - now
            variance = self.noise.lasting + max(0.0, self.noise.attempt + runs * change) / attempts
            cases = self._cases(variance, attempts, change)
            cost = None
            if cases is not None and prices.judge is not None:
                price = (prices.rest or 0.0) + prices.judge * votes / judge.votes
                cost = cases * attempts * price
            yield PlanRow(attempts, cases, votes, cost, False)

    def _cases(self, variance: float, attempts: int, judge_change: float = 0.0) -> int | None:
        """Return the number of cases, which are more if clusters of them tell as much as fewer would."""
        cases = self._independent_cases(variance, attempts, judge_change)
        return None if cases is None else math.ceil(cases * self.effect)

    def _independent_cases(self, variance: float, attempts: int, judge_change: float) -> int | None:
        question, power, largest = self.request.question, self.request.power, self.noise.largest
        if question == "not_worse_by":
            return cases_for_margin(self.limit, variance, largest, power=power)
        if question == "detect":
            return cases_to_detect(self.limit, variance, largest, power=power)
        if self.has_base:
            return cases_for_width(self.limit, variance, largest)
        own = self.split.case + max(0.0, self.split.within + judge_change) / attempts
        most = float(attempts) if self.measure.is_rate else math.inf
        return cases_for_mean(self.limit, own, mean([sample.mean for sample in self.samples]), most=most)

    def _attempts_needed(self) -> int | None:
        """Return the least number of attempts of each of these cases, or None above 10,000."""
        if self.split.attempt is None:
            raise UsageError("a plan about these cases needs a run with 2 or more attempts of each case")
        low, high = 1, 2
        while not self._is_enough(high):
            low, high = high, high * 2
            if high > _MOST_ATTEMPTS:
                return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._is_enough(middle) else (middle, high)
        return high

    def _is_enough(self, attempts: int) -> bool:
        return self.reach_of_attempts(attempts) <= self.limit

    def reach_of_attempts(self, attempts: float) -> float:
        """Return the difference, or the half width, that a number of attempts of these cases reaches."""
        cases = len(self.samples)
        runs = 1 if self.request.question == "half_width" and not self.has_base else 2
        # Both runs are thought to have the noise of this run, and one more attempt that differs by the whole range.
        extra = runs / attempts**2 / cases**2
        variance = runs * self.split.within / attempts / cases + extra
        freedom = max(1, round(runs * cases * (attempts - 1)))
        quantiles = student_quantile(0.5 + self._level / 2, freedom)
        if self.request.question == "half_width":
            return quantiles * math.sqrt(variance)
        quantiles += student_quantile(self.request.power, freedom)
        if self.request.question == "not_worse_by":
            return quantiles * math.sqrt(variance)

        def shows(difference: float) -> bool:
            own = difference * (1 - difference) / attempts / cases + extra
            return quantiles * math.sqrt(max(variance, own)) <= difference

        return least_value(shows, 1.0) or 1.0

    def detectable_now(self, cases: int, attempts: float) -> float | None:
        """Return the difference that as many cases and attempts as now find."""
        if self.request.about == "these-cases":
            return self.reach_of_attempts(attempts)
        cases = max(2, math.floor(cases / self.effect))
        variance, largest, power = self.noise.variance(attempts), self.noise.largest, self.request.power
        if self.request.question == "not_worse_by":
            return margin_of_cases(cases, variance, largest, power=power)
        return detectable(cases, variance, largest, power=power)


def _cluster_effect(run: MeasuredRun, pairs: PairedRuns | None, request: Request) -> float:
    """Return by what factor clusters multiply the cases that a question needs."""
    if request.about == "these-cases":
        return 1.0
    if pairs is not None:
        by_case = pairs.samples(request.measure)
        return design_effect([after.mean - before.mean for before, after in by_case.values()], pairs.clusters(by_case))
    column = run.columns[request.measure]
    means = {case: own.mean for case in range(len(run.keys)) if (own := column.sample(case)) is not None}
    return design_effect(list(means.values()), [run.cluster(case) for case in means])


def _cluster_notes(run: MeasuredRun, effect: float) -> Iterator[str]:
    clusters = cluster_count(run)
    if clusters is not None and effect > 1:
        cases, alone = len(run.keys), len(run.keys) / effect
        yield f"{cases} cases in {clusters} clusters tell as much as {alone:.0f} cases that stand for themselves"


def _with_cheapest(rows: Sequence[PlanRow]) -> list[PlanRow]:
    """Mark the design that costs least: in money if prices are known, otherwise in attempts."""
    priced = [row for row in rows if row.cost is not None]
    possible = priced or [row for row in rows if row.cases is not None and row.votes is None]
    if not possible:
        return list(rows)
    cheapest = min(possible, key=lambda row: row.cost if row.cost is not None else row.attempts * (row.cases or 0))
    return [replace(row, cheapest=row is cheapest) for row in rows]


def _notes(split: VarianceSplit, pairs: PairedRuns | None, request: Request) -> Iterator[str]:
    if split.attempt is None:
        yield (
            "each case has one attempt, so cases and attempts cannot be told apart; "
            f"run it with {spell('attempts')} 2 to plan attempts"
        )
    if pairs is None and request.question != "half_width" and request.about == "cases-like-these":
        yield (
            f"the correlation of {request.correlation:g} between the case values of both runs is a guess; "
            "a second run as BASE shows it"
        )


def _signature(run: MeasuredRun, request: Request, cases: int) -> str:
    parts = {
        "cases": cases,
        "attempts": run.attempts,
        "about": "like" if request.about == "cases-like-these" else "these",
        "power": request.power,
        "level": LEVEL,
        "fairtrial": __version__,
    }
    return "|".join(f"{name}:{value}" for name, value in parts.items())
