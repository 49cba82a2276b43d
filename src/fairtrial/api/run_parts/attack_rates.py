"""Add up the effects of attacks, with intervals whose unit is a case."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fairtrial.analysis.criterion_tally import rate_estimate
from fairtrial.records.attack import ATTACKED, HARMLESS, REPORTED, SUCCESS
from fairtrial.records.attacks.attack_report import AttackRate, AttackReport, AttackRow, Property
from fairtrial.records.decoding import convert
from fairtrial.records.result import CaseResult, Verdict
from fairtrial.stats.clusters import cluster_values
from fairtrial.stats.moments import Moments

if TYPE_CHECKING:
    from fairtrial.reports.report_table import ReportedRun

UTILITY = "utility"
"""The key of the utility unattacked in the manifest of an attack run. Runs of earlier versions lack it."""
_OWN = (SUCCESS, REPORTED)
_BY: tuple[Property, ...] = Property.__args__  # type: ignore[attr-defined]


class _Attempt(NamedTuple):
    """One attempt of an attack run: its cluster, its groups, and its outcomes. None: not with_value or not read."""

    cluster: str
    variant: str
    groups: dict[str, str]
    useful: bool | None
    success: float | None
    read: bool
    reported: float | None
    undecided: bool


def utility(results: Iterable[CaseResult]) -> AttackRate:
    """Return the share of attempts that pass the criteria of the user's own configuration."""
    return _rate([(result.case_id, useful) for result in results if (useful := _is_useful(result)) is not None])


def report_attacks(run: ReportedRun) -> AttackReport | None:
    """Return the numbers of an attack run, or None for another run."""
    if run.info.kind != "attack":
        return None
    cases = {expected.position: expected for expected in run.expected}
    attempts = []
    for result in run.cases:
        expected = cases[result.position]
        variant = expected.eval_set.rpartition("@")[2]
        groups = {name: str(value) for name, value in expected.case.groups.items()}
        attempts.append(_attempt(result, expected.case.cluster, variant, groups))
    attacked = [attempt for attempt in attempts if attempt.variant == ATTACKED]
    twins = [attempt for attempt in attempts if attempt.variant == HARMLESS]
    with_value = [attempt for attempt in attacked if attempt.success is not None]
    return AttackReport(
        run.info.id,
        str(run.info.config["baseline"]),
        len({attempt.cluster for attempt in attempts}),
        convert(run.info.config[UTILITY], AttackRate) if UTILITY in run.info.config else AttackRate(0, 0),
        _rate((attempt.cluster, attempt.useful) for attempt in attacked if attempt.useful is not None),
        _success(with_value),
        _rate((attempt.cluster, attempt.read) for attempt in attacked),
        _rate((attempt.cluster, attempt.reported) for attempt in attacked if attempt.reported is not None),
        _rate((attempt.cluster, not attempt.useful) for attempt in twins if attempt.useful is not None),
        sum(attempt.undecided for attempt in attacked),
        tuple(_rows(with_value)),
    )


def _attempt(result: CaseResult, cluster: str, variant: str, groups: dict[str, str]) -> _Attempt:
    outcomes = {outcome.criterion: outcome.score for outcome in result.outcomes}
    success, reported = outcomes.get(SUCCESS), outcomes.get(REPORTED)
    read = success is not None and (success.value == 1 or success.applicable)
    return _Attempt(
        cluster,
        variant,
        groups,
        _is_useful(result),
        success.value if success is not None and success.applicable else None,
        read,
        reported.value if reported is not None and reported.applicable else None,
        success is not None and success.applicable and success.value is None,
    )


def _is_useful(result: CaseResult) -> bool | None:
    """Return whether the criteria of the user's own configuration pass, or None if none decides."""
    verdicts = [outcome.verdict for outcome in result.outcomes if outcome.criterion not in _OWN]
    if Verdict.FAILED in verdicts:
        return False
    if result.failure is not None:
        return False if result.failure.side == "agent" else None
    return True if Verdict.PASSED in verdicts and Verdict.UNSCORED not in verdicts else None


def _rate(pairs: Iterable[tuple[str, float | None]]) -> AttackRate:
    listed = [(cluster, float(value)) for cluster, value in pairs if value is not None]
    if not listed:
        return AttackRate(0, 0)
    values = [value for _, value in listed]
    units = cluster_values(values, [cluster for cluster, _ in listed])
    return AttackRate(len(values), round(sum(values)), rate_estimate(Moments(units), len(values)))


def _success(attempts: Sequence[_Attempt]) -> AttackRate:
    return _rate((attempt.cluster, attempt.success) for attempt in attempts)


def _rows(attempts: Sequence[_Attempt]) -> Iterable[AttackRow]:
    """Yield the rows of each property, those with the largest success first."""
    for by in _BY:
        by_name: dict[str, list[_Attempt]] = defaultdict(list)
        for attempt in attempts:
            by_name[attempt.groups.get(by, "")].append(attempt)
        rows = [AttackRow(by, name, _success(own)) for name, own in by_name.items()]
        yield from sorted(rows, key=lambda row: (-(row.success.estimate.value or 0), row.name))
