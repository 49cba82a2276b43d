"""Agreement numbers of labelled outcomes, with the reason if one does not exist."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from fairtrial.records.judging.calibration import Agreement, AgreementTable
from fairtrial.records.summary import Estimate
from fairtrial.stats import agreement as stats

LEAVE_ONE_OUT = "leave one out and limits of disagreement"
DISAGREEMENTS = "exact limits of disagreement"
_WILSON = "Wilson"
_MOVER = "MOVER"
_MOST_GRADES = 20
"""With more different values, a table of grades says nothing."""


@dataclass(frozen=True)
class Pair:
    """One labelled outcome: the values of people and of the judge, and whether each of them passes it.

    Outcomes with the same `case` resemble each other, for example outcomes from its attempts.
    """

    people: float
    judge: float
    people_pass: bool | None
    judge_pass: bool | None
    case: Hashable
    weight: float = 1.0


def measure_agreement(
    pairs: Sequence[Pair], answers: Sequence[Sequence[float]], votes: Sequence[Sequence[float]], *, graded: bool
) -> Agreement:
    """Return every measure of agreement that exists for labelled outcomes, and reasons for missing measures.

    `answers` are the people's labels for each outcome, `votes` the the judge's first votes on each item. The unit of
    all intervals is the case.
    """
    reasons: dict[str, str] = {}
    alpha = stats.krippendorff(answers, "interval" if graded else "nominal")
    if alpha is None:
        reasons["people_alpha"] = "needs outcomes with two labels that are not all equal"
    votes_alpha = stats.krippendorff(votes)
    if votes_alpha is None:
        reasons["votes_alpha"] = "needs items with two first votes that are not all equal"
    fields = _measure_verdicts(pairs, reasons)
    if graded:
        fields |= _measure_grades(pairs, reasons)
    return Agreement(**fields, people_alpha=alpha, votes_alpha=votes_alpha, reasons=reasons)


def _measure_verdicts(pairs: Sequence[Pair], reasons: dict[str, str]) -> dict[str, Any]:
    """Return the measures of pass or fail, over the outcomes with a verdict of both: category 0 is pass."""
    both = [pair for pair in pairs if pair.people_pass is not None and pair.judge_pass is not None]
    if not both:
        return {}
    verdicts = _weigh_pairs([(int(not pair.people_pass), int(not pair.judge_pass)) for pair in both], both)
    counts = Counter((people, judge) for people, judge, _ in verdicts)
    table = AgreementTable(counts[0, 0], counts[0, 1], counts[1, 0], counts[1, 1])
    numbers = {
        "accuracy": _estimate_share(both, both),
        "sensitivity": _estimate_share([pair for pair in both if pair.people_pass], both),
        "specificity": _estimate_share([pair for pair in both if not pair.people_pass], both),
    }
    for name, side in (("sensitivity", "pass"), ("specificity", "fail")):
        if numbers[name] is None:
            reasons[name] = reasons["youden"] = f"people {side} none of the labelled outcomes"
    fields: dict[str, Any] = {name: _interval(share, _WILSON) for name, share in numbers.items()}
    sensitivity, specificity = numbers["sensitivity"], numbers["specificity"]
    if sensitivity is not None and specificity is not None:
        fields["youden"] = _interval(stats.youden(sensitivity, specificity), _MOVER)
    if stats.has_empty_margin(stats.make_table(verdicts, 2)):
        reasons["kappa"] = reasons["mcc"] = "people or the judge give every labelled outcome the same verdict"
        reasons["judge_alpha"] = reasons["kappa"]
    else:
        cases = [pair.case for pair in both]
        fields["kappa"] = estimate_agreement(stats.kappa, verdicts, 2, cases)
        fields["mcc"] = estimate_agreement(stats.matthews, verdicts, 2, cases)
        fields["judge_alpha"] = estimate_agreement(stats.alpha, verdicts, 2, cases)
    return {"table": table, **fields}


def _estimate_share(pairs: Sequence[Pair], sample: Sequence[Pair]) -> tuple[float, float, float] | None:
    """Return the share of pairs in which the judge gives the verdict of people, with its interval."""
    hits = [(pair.people_pass == pair.judge_pass, pair.weight) for pair in pairs]
    return stats.share_interval(hits, max(pair.weight for pair in sample), [pair.case for pair in pairs])


def _measure_grades(pairs: Sequence[Pair], reasons: dict[str, str]) -> dict[str, Any]:
    """Return the measures of graded values."""
    rank = stats.spearman([pair.people for pair in pairs], [pair.judge for pair in pairs])
    if rank is None:
        reasons["spearman"] = "needs values of people and of the judge that vary"
    values = sorted({value for pair in pairs for value in (pair.people, pair.judge)})
    grades = {value: n for n, value in enumerate(values)}
    if not 1 < len(grades) <= _MOST_GRADES:
        reasons["quadratic_kappa"] = f"needs from 2 to {_MOST_GRADES} different values, got {len(grades)}"
        reasons["judge_alpha"] = reasons["quadratic_kappa"]
        return {"spearman": rank, "judge_alpha": Estimate()}
    graded = _weigh_pairs([(grades[pair.people], grades[pair.judge]) for pair in pairs], pairs)
    cases = [pair.case for pair in pairs]
    return {
        "spearman": rank,
        "quadratic_kappa": estimate_agreement(stats.quadratic_kappa, graded, len(grades), cases),
        "judge_alpha": estimate_agreement(partial(stats.alpha, values=values), graded, len(grades), cases),
    }


def _weigh_pairs(answers: Sequence[tuple[int, int]], pairs: Sequence[Pair]) -> list[stats.Pair]:
    """Return the categories of pairs with their weights relative to the mean, because alpha counts the items."""
    mean_weight = math.fsum(pair.weight for pair in pairs) / len(pairs)
    return [(*own, pair.weight / mean_weight) for own, pair in zip(answers, pairs, strict=True)]


def estimate_agreement(
    statistic: stats.Statistic, pairs: Sequence[stats.Pair], categories: int, cases: Sequence[Hashable] | None = None
) -> Estimate:
    """Return kappa, alpha or Matthews' correlation with its interval, each as far as it exists.

    `cases` names the case of each pair if several pairs may belong to one case.
    """
    value = statistic(stats.make_table(pairs, categories))
    ends = stats.agreement_interval(statistic, pairs, categories, cases)
    return (
        Estimate(value)
        if ends is None
        else Estimate(value, *ends, DISAGREEMENTS if statistic in (stats.kappa, stats.alpha) else LEAVE_ONE_OUT)
    )


def _interval(share: tuple[float, float, float] | None, method: str) -> Estimate:
    return Estimate() if share is None else Estimate(*share, method)
