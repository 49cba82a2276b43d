"""Which numbers of agreement do labelled outcomes have, and why do others not exist?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairtrial.records.calibration import Agreement, AgreementTable
from fairtrial.records.summary import Estimate
from fairtrial.stats import agreement as stats

LEAVE_ONE_OUT = "leave one out on atanh"
_WILSON = "Wilson"
_MOVER = "MOVER"
_MOST_GRADES = 20
"""With more different values, a table of grades says nothing."""


@dataclass(frozen=True)
class Pair:
    """One labelled outcome: the values of people and of the judge, and whether each of them passes it."""

    people: float
    judge: float
    people_pass: bool | None
    judge_pass: bool | None
    case: int
    weight: float = 1.0


def measure_agreement(
    pairs: Sequence[Pair], answers: Sequence[Sequence[float]], votes: Sequence[Sequence[float]], *, graded: bool
) -> Agreement:
    """Return every measure of agreement that exists for labelled outcomes, and the reasons of the others.

    `answers` are the labels of people to each outcome, `votes` the first votes of the judge on each item.
    """
    reasons: dict[str, str] = {}
    alpha = stats.krippendorff(answers, "interval" if graded else "nominal")
    if alpha is None:
        reasons["people_alpha"] = "needs outcomes with two labels that are not all equal"
    votes_alpha = stats.krippendorff(votes)
    if votes_alpha is None:
        reasons["votes_alpha"] = "needs items with two first votes that are not all equal"
    verdicts = [
        (int(not pair.people_pass), int(not pair.judge_pass), pair.weight)
        for pair in pairs
        if pair.people_pass is not None and pair.judge_pass is not None
    ]
    fields: dict[str, Any] = _of_verdicts(verdicts, reasons) if verdicts else {}
    if graded:
        fields |= _of_grades(pairs, reasons)
    return Agreement(**fields, people_alpha=alpha, votes_alpha=votes_alpha, reasons=reasons)


def _of_verdicts(verdicts: Sequence[stats.Pair], reasons: dict[str, str]) -> dict[str, Any]:
    """Return the measures of pass or fail: category 0 is pass."""
    counts = Counter((people, judge) for people, judge, _ in verdicts)
    table = AgreementTable(counts[0, 0], counts[0, 1], counts[1, 0], counts[1, 1])
    heaviest = max(weight for *_, weight in verdicts)
    shares = {
        "accuracy": [(people == judge, weight) for people, judge, weight in verdicts],
        "sensitivity": [(judge == 0, weight) for people, judge, weight in verdicts if people == 0],
        "specificity": [(judge == 1, weight) for people, judge, weight in verdicts if people == 1],
    }
    numbers = {name: stats.share_interval(hits, heaviest) for name, hits in shares.items()}
    for name, side in (("sensitivity", "pass"), ("specificity", "fail")):
        if numbers[name] is None:
            reasons[name] = reasons["youden"] = f"people {side} none of the labelled outcomes"
    fields: dict[str, Any] = {name: _interval(share, _WILSON) for name, share in numbers.items()}
    sensitivity, specificity = numbers["sensitivity"], numbers["specificity"]
    if sensitivity is not None and specificity is not None:
        fields["youden"] = _interval(stats.youden(sensitivity, specificity), _MOVER)
    if stats.has_empty_margin(stats.table_of(verdicts, 2)):
        reasons["kappa"] = reasons["mcc"] = "people or the judge give every labelled outcome the same verdict"
    else:
        fields["kappa"] = estimate_agreement(stats.kappa, verdicts, 2)
        fields["mcc"] = estimate_agreement(stats.matthews, verdicts, 2)
    return {"table": table, **fields}


def _of_grades(pairs: Sequence[Pair], reasons: dict[str, str]) -> dict[str, Any]:
    """Return the measures of graded values."""
    rank = stats.spearman([pair.people for pair in pairs], [pair.judge for pair in pairs])
    if rank is None:
        reasons["spearman"] = "needs values of people and of the judge that vary"
    grades = {
        value: n for n, value in enumerate(sorted({value for pair in pairs for value in (pair.people, pair.judge)}))
    }
    if not 1 < len(grades) <= _MOST_GRADES:
        reasons["quadratic_kappa"] = f"needs from 2 to {_MOST_GRADES} different values, got {len(grades)}"
        return {"spearman": rank}
    graded = [(grades[pair.people], grades[pair.judge], pair.weight) for pair in pairs]
    return {"spearman": rank, "quadratic_kappa": estimate_agreement(stats.quadratic_kappa, graded, len(grades))}


def estimate_agreement(statistic: stats.Statistic, pairs: Sequence[stats.Pair], categories: int) -> Estimate:
    """Return kappa or Matthews' correlation with its interval, or an empty estimate if it does not exist."""
    value = statistic(stats.table_of(pairs, categories))
    ends = stats.agreement_interval(statistic, pairs, categories)
    return Estimate() if value is None or ends is None else Estimate(value, *ends, LEAVE_ONE_OUT)


def _interval(share: tuple[float, float, float] | None, method: str) -> Estimate:
    return Estimate() if share is None else Estimate(*share, method)
