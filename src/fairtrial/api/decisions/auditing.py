"""Read runs, and audit gates and suites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairtrial.analysis.gate_audit import audit_gate as audit_measured
from fairtrial.analysis.suite_audit import audit_suite as audit_runs
from fairtrial.api.decisions.comparing import check_different
from fairtrial.api.run_sources import RunSource, measured
from fairtrial.errors import UsageError
from fairtrial.store import DEFAULT_URL

if TYPE_CHECKING:
    from fairtrial.records.audit import GateAudit, SuiteAudit
    from fairtrial.records.gate import Claim


def audit_gate(
    run: RunSource,
    claims: Sequence[Claim],
    *,
    against: RunSource | None = None,
    drop: float = 0.05,
    cluster: str | None = None,
    store: str = DEFAULT_URL,
    base_store: str | None = None,
) -> GateAudit:
    """Return how often claims would be decided rightly, with as many cases as a run has.

    `drop` is by how much an agent is worse than the limit of a claim that should be noticed, as a share of the range.
    The other arguments are those of `gate`. Raises UsageError if a claim cannot be asked of the run.
    """
    if not claims:
        raise UsageError("an audit of a gate needs at least one claim", code="too-little-data")
    own = measured(run, store, cluster=cluster)
    base = None if against is None else measured(against, base_store or store, cluster=cluster)
    if base is not None:
        check_different([base, own])
    return audit_measured(own, base, claims, drop)


def audit_suite(runs: Sequence[RunSource], *, cluster: str | None = None, store: str = DEFAULT_URL) -> SuiteAudit:
    """Return which cases and criteria of several runs of a suite tell nothing, and how many cases could go."""
    own = [measured(run, store, cluster=cluster) for run in runs]
    check_different(own)
    return audit_runs(own)
