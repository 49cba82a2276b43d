"""Plan attempts wave by wave, until every claim is decided."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from fairtrial.analysis.gates import check_claims
from fairtrial.analysis.measured_run import CASE_RATE, measure_run
from fairtrial.analysis.paired_runs import pair_runs
from fairtrial.analysis.sequential import SequentialGate, take_waves
from fairtrial.api.calibrations import unchecked_judges
from fairtrial.errors import UsageError, spell
from fairtrial.records.attempt_row import CriterionTerms
from fairtrial.records.gate import Claim, GateDecision, is_difference

if TYPE_CHECKING:
    from fairtrial.api.planning import Plan
    from fairtrial.api.run_sources import RunSource
    from fairtrial.records.run import RunInfo
    from fairtrial.store import Store

_NO_WAVE = (
    "{measure}: no single wave says whether a case passes by the rule of its attempts, so that {until_decided} "
    "cannot decide about it; use cases, or `fairtrial gate` after a run"
)
MOST_ATTEMPTS = 10
"""The largest number of attempts of each case, unless the user gives another."""


def plan_waves(
    plan: Plan, claims: Sequence[Claim], against: RunSource | None, store: str, *, even_so: bool = False
) -> Plan:
    """Return a plan that makes attempts until claims are decided, at most `plan.attempts` of each case.

    `against` is the base run of claims about a difference. It has to have as many attempts as may be made; if it has
    fewer, fewer are made. With `even_so` claims are decided although a measure was taken in another way there. Raises
    UsageError if a claim cannot be asked of the run.
    """
    from fairtrial.api.run_sources import measured, waves

    if plan.info.attempt_rules.baselines:
        raise UsageError(f"{spell('until_decided')}: a run of a skill makes all its attempts, and decides claims then")
    terms: dict[str, CriterionTerms] = {}
    for case in plan.cases:
        for criterion in case.criteria:
            own = CriterionTerms(criterion.name, criterion.threshold, criterion.lower_is_better, criterion.range)
            terms.setdefault(criterion.name, own)
    run = measure_run(plan.info, [(case.position, case.key, case.name) for case in plan.cases], [], terms)
    base = None if against is None else measured(against, store)
    if base is not None and not base.is_finished:
        raise UsageError(
            f"{spell('against')} {base.info.id}: must be a finished run; continue it with {spell('resume')}",
            code="unusable-run",
        )
    for claim in claims:
        if claim.measure == CASE_RATE:
            raise UsageError(_NO_WAVE.format(measure=CASE_RATE, until_decided=spell("until_decided")))
    check_claims(run, base, claims)
    for claim in claims:
        if not is_difference(claim.kind) and claim.limit in run.measures[claim.measure].range.bounds:
            raise UsageError(f"{claim.measure}: {claim.kind}: must be inside of the range, got its end {claim.limit:g}")
    base_waves = None
    most = plan.attempts
    if against is not None and base is not None:
        pair_runs(base, run)
        base_waves = waves(against, store, run.measures, most)
        most = min(most, sum(any(table[number] for table in base_waves.values()) for number in range(most)))
    gate = SequentialGate(
        tuple(claims), run.measures, most, base, base_waves, unchecked_judges(plan.info.signatures, terms), even_so
    )
    config = {
        **plan.info.config,
        "until_decided": {
            "claims": msgspec.to_builtins(list(claims)),
            "against": None if base is None else base.info.id,
            "even_so": even_so,
        },
    }
    cases = tuple(replace(case, attempts=0) for case in plan.cases)  # every wave has an attempt at every case
    return dataclasses.replace(plan, cases=cases, gate=gate, attempts=most, info=replace(plan.info, config=config))


def decision_after(gate: SequentialGate, store: Store, info: RunInfo, waves: int) -> GateDecision:
    """Return the decision about the claims of a run after a number of waves, from its stored results."""
    rows = list(store.attempt_rows(info.id))
    run = measure_run(info, store.case_keys(info.id), rows, store.criterion_terms(info.id))
    return gate.decide(run, take_waves(rows, gate.measures, waves), waves)
