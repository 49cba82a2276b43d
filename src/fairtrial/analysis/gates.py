"""Decide gates: claims about measured runs, and whether the build may go out.

A claim passes if its one-sided limit clears the claim, and fails if the limit on the other side does not reach it.
Between the two it is undecided. Missing attempts are given the worst and then the best value: only a verdict that
holds for both is given.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairtrial.analysis.claim_limits import ClaimLimits, Filling, corrected_difference_limits, corrected_limits
from fairtrial.analysis.comparability import (
    WEIGHTED_BY_PEOPLE,
    attempts_until_decided,
    pairing_warnings,
    undecidable,
)
from fairtrial.analysis.judged_claims import is_biased, judge_standings
from fairtrial.analysis.measured_run import Measure, MeasuredRun, cluster_count, describe_run
from fairtrial.analysis.paired_runs import (
    PairedRuns,
    check_repeated,
    estimate_difference,
    estimate_limits,
    pair_runs,
    paired_cases,
)
from fairtrial.errors import UsageError, spell
from fairtrial.records.average import mean
from fairtrial.records.gate import Claim, ClaimDecision, ClaimVerdict, GateDecision, Needed, gate_verdict, is_difference
from fairtrial.stats.clusters import cluster_values
from fairtrial.stats.fixed_cases import CaseSample, attempts_freedom
from fairtrial.stats.interval import LEVEL
from fairtrial.stats.one_sided import (
    EXACT,
    EXACT_WITHIN,
    Limits,
    cases_to_decide_difference,
    cases_to_decide_mean,
    fixed_limits,
    mean_limits,
)
from fairtrial.stats.student import student_quantile
from fairtrial.stats.weighted import weighted_limits, weighted_mean
from fairtrial.version import __version__

if TYPE_CHECKING:
    from fairtrial.records.run_comparison import About

_LIMIT_INSIDE = "the interval holds the limit"


def decide(
    run: MeasuredRun,
    base: MeasuredRun | None,
    claims: Sequence[Claim],
    *,
    about: About = "cases-like-these",
    even_so: bool = False,
) -> GateDecision:
    """Return the decision about claims on a run. Raises UsageError if a claim cannot be asked of the run.

    `base` is the run that claims about a difference compare with. With `even_so` they are decided although a measure
    was taken in another way there.
    """
    check_claims(run, base, claims)
    pairs = None if base is None else pair_runs(base, run)
    decisions = tuple(_decide(run, pairs, claim, about, even_so=even_so) for claim in claims)
    unfinished = [member for member in (base, run) if member is not None and not member.is_finished]
    verdict = gate_verdict([decision.verdict for decision in decisions])
    return GateDecision(
        _signature(run, pairs, decisions, about),
        LEVEL,
        about,
        tuple(describe_run(member) for member in (base, run) if member is not None),
        "undecided" if unfinished else verdict,
        decisions,
        (*(f"run {member.info.id} is not finished" for member in unfinished), *pairing_warnings(pairs)),
        None,
        None if pairs is None else paired_cases(pairs),
    )


def check_claims(run: MeasuredRun, base: MeasuredRun | None, claims: Sequence[Claim]) -> None:
    """Raise UsageError with every problem of claims: unknown measures, numbers out of range, a missing base run."""
    problems = [problem for claim in claims if (problem := _problem(run, base, claim))]
    if problems:
        raise UsageError("\n".join(problems))


def _problem(run: MeasuredRun, base: MeasuredRun | None, claim: Claim) -> str:
    try:
        measure = run.measure(claim.measure)
        if base is not None:
            base.measure(claim.measure)
    except UsageError as error:
        return str(error)
    place = f"{claim.measure}: {claim.kind}"
    if not 0 < claim.alpha < 0.5:
        return f"{place}: alpha must be above 0 and below 0.5, got {claim.alpha:g}"
    if not measure.is_bounded:
        bounded = ", ".join(name for name, member in run.measures.items() if member.is_bounded)
        return f"{place}: must be about a measure with bounds, got {measure.range}; these have bounds: {bounded}"
    if is_difference(claim.kind) and base is None:
        return f"{place}: needs a base run; give {spell('against')} BASE"
    return _limit_problem(claim, measure, place)


def _limit_problem(claim: Claim, measure: Measure, place: str) -> str:
    if not is_difference(claim.kind):
        right, sign = ("at_most", "<=") if measure.lower_is_better else ("at_least", ">=")
        if claim.kind != right:
            better = "less" if measure.lower_is_better else "more"
            return f"{place}: {better} of it is better; claim {right}, as in {claim.measure}{sign}{claim.limit:g}"
        return "" if claim.limit in measure.range else f"{place}: must be {measure.range}, got {claim.limit:g}"
    is_margin = claim.kind == "not_worse_by"
    if (claim.limit > 0 or not (is_margin or claim.limit)) and claim.limit < measure.width:
        return ""
    least = "above 0" if is_margin else "0 or more"
    return f"{place}: must be {least} and below {measure.width:g}, got {claim.limit:g}"


def claim_limit(claim: Claim, measure: Measure) -> float:
    """Return the limit of a claim in 0..1, or in -1..1 for a difference, so that more is better."""
    if not is_difference(claim.kind):
        return measure.share(claim.limit)
    return claim.limit / measure.width * (-1 if claim.kind == "not_worse_by" else 1)


def _decide(run: MeasuredRun, pairs: PairedRuns | None, claim: Claim, about: About, *, even_so: bool) -> ClaimDecision:
    measure = run.measure(claim.measure)
    has_base = is_difference(claim.kind)
    limit = claim_limit(claim, measure)
    compared = pairs if has_base else None
    runs = [run] if compared is None else [compared.base, run]
    by_people = is_biased(runs, measure)
    estimated, worst, best, missing = _fillings(run, compared, claim, about, by_people=by_people)
    verdict, why = _verdict(worst, best, limit, missing, strict=has_base)
    # More cases decide nothing as long as missing attempts could decide.
    is_open = why == _LIMIT_INSIDE
    problems = undecidable(compared, run, claim, has_limits=worst is not None, even_so=even_so)
    if by_people and about == "cases-like-these" and any(member.weights for member in runs):
        problems.append(WEIGHTED_BY_PEOPLE)
    if not even_so:
        problems.extend(attempts_until_decided(runs))
    if problems:
        verdict, why = "undecided", "; ".join(problems)
    low, high = (None if worst is None else worst.low), (None if best is None else best.high)
    size = estimated.size if estimated is not None and is_open and not problems else None
    low, high = _in_unit(measure, low, high, is_difference=has_base)
    if measure.lower_is_better:
        low, high = high, low
    judges = judge_standings(runs, measure)
    return ClaimDecision(
        claim.measure,
        claim.kind,
        claim.limit,
        claim.alpha,
        None if estimated is None else _in_unit(measure, estimated.estimate, None, is_difference=has_base)[0],
        low,
        high,
        None if worst is None else worst.p,
        None if best is None else best.p_against,
        None,
        None,
        None,
        missing,
        verdict,
        why,
        size,
        measure.is_rate,
        measure.lower_is_better,
        claim.shared_cases,
        judges,
        None if not judges else "people" if by_people else "judge",
    )


def _fillings(
    run: MeasuredRun, pairs: PairedRuns | None, claim: Claim, about: About, *, by_people: bool
) -> tuple[ClaimLimits | None, ClaimLimits | None, ClaimLimits | None, tuple[int, int]]:
    """Return the limits with missing attempts left out, at their worst and at their best, and how many are missing."""
    measure, limit = run.measure(claim.measure), claim_limit(claim, run.measure(claim.measure))
    fillings: tuple[Filling, ...] = ("left out", "worst", "best")
    if pairs is None:
        single = corrected_limits if by_people else _single
        limits = [single(run, measure, claim, limit, about, filling) for filling in fillings]
        missing = (0, sum(run.columns[claim.measure].missing(case) for case in range(len(run.keys))))
    else:
        if about == "these-cases":
            check_repeated(pairs, claim.measure)
        difference = corrected_difference_limits if by_people else _difference
        limits = [difference(pairs, measure, claim, limit, about, filling) for filling in fillings]
        before, after = pairs.missing(claim.measure)
        missing = (before, after + (0 if claim.shared_cases else pairs.absent(claim.measure)))
    return limits[0], limits[1], limits[2], missing


def _in_unit(
    measure: Measure, low: float | None, high: float | None, *, is_difference: bool
) -> tuple[float | None, float | None]:
    """Return numbers for which more is better in the unit of the measure."""
    sign = -1 if measure.lower_is_better else 1
    values = [
        None if share is None else sign * share * measure.width if is_difference else measure.value(share)
        for share in (low, high)
    ]
    return values[0], values[1]


def _verdict(
    worst: ClaimLimits | None, best: ClaimLimits | None, limit: float, missing: tuple[int, int], *, strict: bool
) -> tuple[ClaimVerdict, str | None]:
    """Return the verdict that holds for every value of the missing attempts, or undecided with the reason."""
    if worst is None or best is None:
        return "undecided", "there are too few cases with a value for an interval"
    verdicts = [_side(limits, limit, strict=strict) for limits in (worst, best)]
    if verdicts[0] == verdicts[1]:
        if verdicts[0] == "undecided":
            return "undecided", _LIMIT_INSIDE
        return verdicts[0], None
    return "undecided", f"the {sum(missing)} attempts without a value could decide it either way"


def _side(limits: ClaimLimits, limit: float, *, strict: bool) -> ClaimVerdict:
    if limits.low > limit or (limits.low == limit and not strict):
        return "passed"
    return "failed" if limits.high < limit else "undecided"


def _single(
    run: MeasuredRun, measure: Measure, claim: Claim, limit: float, about: About, filling: Filling
) -> ClaimLimits | None:
    """Return the limits of the mean of a run in 0..1."""
    column = run.columns[measure.name]
    low, high = measure.range.bounds
    worst, best = (high, low) if measure.lower_is_better else (low, high)
    samples = {
        case: column.sample(case)
        if filling == "left out"
        else column.filled(case, worst if filling == "worst" else best)
        for case in range(len(run.keys))
    }
    shares = [
        CaseSample(measure.share(sample.mean), sample.variance / measure.width**2, sample.attempts)
        for sample in samples.values()
        if sample is not None
    ]
    clusters = [run.cluster(case) for case, sample in samples.items() if sample is not None]
    if len(shares) < 2:
        return None
    values = [share.mean for share in shares]
    units = cluster_values(values, clusters)
    weights = [run.weights[case] for case, sample in samples.items() if sample is not None] if run.weights else []
    is_weighted = bool(weights) and about == "cases-like-these"
    rate = weighted_mean(values, weights) if is_weighted else mean(values)
    attempts = sum(share.attempts for share in shares) if measure.is_rate else math.inf
    limits = (
        weighted_limits(values, weights, clusters, claim.alpha, attempts=attempts)
        if is_weighted
        else _mean_limits(shares, units, measure, claim.alpha, about)
    )
    if limits is None:
        return None
    size = None
    if is_weighted:
        pass  # The size of a further sample depends on how it is drawn.
    elif about == "these-cases":
        case_attempts = sum(share.attempts for share in shares) / len(shares)
        error = math.sqrt(max(limit * (1 - limit), rate * (1 - rate)) / limits.trials)
        size = _more_attempts(abs(rate - limit), error, attempts_freedom(shares), case_attempts, claim.alpha)
    else:
        size = _more_cases(cases_to_decide_mean(units, limit, claim.alpha, attempts=attempts), len(units), len(shares))
    has_p = 0 < limit < 1
    return ClaimLimits(
        rate,
        limits.low,
        limits.high,
        limits.p_above(limit) if has_p else None,
        limits.p_below(limit) if has_p else None,
        size,
    )


def _mean_limits(
    shares: Sequence[CaseSample], units: Sequence[float], measure: Measure, alpha: float, about: About
) -> Limits | None:
    """Return the one-sided limits of a mean in 0..1. `units` are the numbers of the clusters of cases."""
    if about == "cases-like-these":
        attempts = sum(share.attempts for share in shares) if measure.is_rate else math.inf
        return mean_limits(units, alpha, attempts=attempts)
    lacking = sum(share.attempts < 2 for share in shares)
    if lacking:
        raise UsageError(
            f"{spell('about')} these-cases: must have 2 or more scored attempts of every case, "
            f"got fewer of {lacking} cases"
        )
    return fixed_limits(shares, alpha)


def _difference(
    pairs: PairedRuns, measure: Measure, claim: Claim, limit: float, about: About, filling: Filling
) -> ClaimLimits | None:
    """Return the limits of the difference of two runs in -1..1, positive if the run is better than the base."""
    low, high = measure.range.bounds
    worst, best = (high, low) if measure.lower_is_better else (low, high)
    if filling == "left out":
        by_case = pairs.samples(measure.name)
    elif filling == "worst":
        by_case = pairs.filled(measure.name, best, worst, only_shared=claim.shared_cases)
    else:
        by_case = pairs.filled(measure.name, worst, best, only_shared=claim.shared_cases)
    samples = list(by_case.values())
    difference = estimate_difference(by_case, pairs, measure, about) if samples else None
    limits = estimate_limits(by_case, pairs, measure, about, claim.alpha) if samples else None
    if difference is None or limits is None:
        return None
    sign = -1 if measure.lower_is_better else 1
    ends = sorted((sign * limits.low, sign * limits.high))
    p, p_against = limits.p_above(sign * limit), limits.p_below(sign * limit)
    if measure.lower_is_better:
        p, p_against = p_against, p
    moves = [sign * (after.mean - before.mean) / measure.width for before, after in samples]
    is_weighted = pairs.is_weighted and about == "cases-like-these"
    middle = weighted_mean(moves, pairs.weights(by_case)) if is_weighted else mean(moves)
    distance, size = abs(middle - limit), None
    if is_weighted:
        pass  # The size of a further sample depends on how it is drawn.
    elif about == "these-cases":
        attempts = sum(sample.attempts for pair in samples for sample in pair) / (2 * len(samples))
        error = difference.error / measure.width
        size = _more_attempts(distance, error, difference.freedom, attempts, claim.alpha)
    else:
        units = cluster_values(moves, pairs.clusters(by_case))
        size = _more_cases(cases_to_decide_difference(units, limit, claim.alpha), len(units), len(moves))
    return ClaimLimits(middle, ends[0], ends[1], p, p_against, size)


def _more_cases(units: int | None, present_units: int, present: int) -> Needed | None:
    """Return the number of cases that have so many clusters, if clusters stay as large as they are."""
    if units is None:
        return None
    return Needed(cases=max(math.ceil(units * present / present_units), present + 1))


def _more_attempts(distance: float, error: float, freedom: int, attempts: float, alpha: float) -> Needed | None:
    """Return the number of attempts of each case that would probably decide a claim, if the estimate stays.

    The error falls with the square root of the attempts. The quantiles are those of a power of 80 %.
    """
    if not distance:
        return None
    quantiles = student_quantile(1 - alpha, freedom) + student_quantile(0.8, freedom)
    return Needed(attempts=max(math.ceil(attempts * (quantiles * error / distance) ** 2), math.floor(attempts) + 1))


def _signature(run: MeasuredRun, pairs: PairedRuns | None, decisions: Sequence[ClaimDecision], about: About) -> str:
    clusters = cluster_count(run) if pairs is None else paired_cases(pairs).clusters
    method = EXACT if about == "cases-like-these" else EXACT_WITHIN
    is_weighted = bool(run.weights) if pairs is None else pairs.is_weighted
    if is_weighted and about == "cases-like-these":
        method = f"{method}, weighted"
    parts = {
        "cases": len(run.keys) if pairs is None else len(pairs.positions),
        **({} if clusters is None else {"clusters": clusters}),
        "about": "like" if about == "cases-like-these" else "these",
        "ci": method.replace(" ", "-").replace(",", ""),
        "alpha": ",".join(f"{decision.alpha:g}" for decision in decisions),
        "missing": sum(sum(decision.missing) for decision in decisions),
        "fairtrial": __version__,
    }
    return "|".join(f"{name}:{value}" for name, value in parts.items())
