"""The records of audits of gates and suites."""

from __future__ import annotations

from typing import Literal

from fairtrial.records.gate import ClaimKind
from fairtrial.records.record import Record
from fairtrial.records.run_comparison import About, ComparedRun, IntervalEstimate

AuditMethod = Literal["enumeration", "simulation"]


class ClaimAudit(Record, frozen=True):
    """How often a claim is decided rightly, with as many cases as the run has.

    `error` is the share of releases in which an agent exactly at the limit passes, which should be at most `alpha`.
    `passes` is the share in which an agent as good as this one passes. `noticed` is the share in which an agent that is
    by `drop` worse than the limit fails, and `needed` the number of cases that would notice it in 80 of 100 releases.
    """

    measure: str
    claim: ClaimKind
    limit: float
    alpha: float
    cases: int
    error: float
    passes: float
    drop: float
    noticed: float
    needed: int | None
    method: AuditMethod
    is_rate: bool
    lower_is_better: bool


class GateAudit(Record, frozen=True, tag_field="kind", tag="gate-audit"):
    """The true error and the power of the claims of a gate."""

    signature: str
    level: float
    about: About
    runs: tuple[ComparedRun, ...]
    claims: tuple[ClaimAudit, ...]


class AuditedCase(Record, frozen=True):
    """A case that tells little: how many of its attempts passed in all runs, with the interval of its pass rate."""

    case: str
    passed: int
    attempts: int
    low: float
    high: float


class SeparatedCase(Record, frozen=True):
    """A case in two runs of different quality: by how much more often the better run passes it, with the interval."""

    case: str
    better: str
    worse: str
    difference: IntervalEstimate


class CopiedCriterion(Record, frozen=True):
    """Two criteria whose values on the cases correlate."""

    criterion: str
    other: str
    correlation: IntervalEstimate


class OpposedCriterion(Record, frozen=True):
    """A criterion that the better of two runs fails more often: its pass rate there minus that of the worse run."""

    criterion: str
    better: str
    worse: str
    difference: IntervalEstimate


class SuiteAudit(Record, frozen=True, tag_field="kind", tag="suite-audit"):
    """Which cases and criteria of a suite tell nothing?

    `never_fail` and `never_pass` hold the cases that have the same verdict in every attempt. `never_separate` are the
    names of the cases that no two runs of different quality tell apart; it is null if there are no such runs.
    `opposed_cases` are passed more often by the worse run. `removable` is the number of cases without which a
    comparison notices as few broken cases as now: `noticed_now` and `noticed_without` are these numbers.
    """

    signature: str
    level: float
    about: About
    runs: tuple[ComparedRun, ...]
    cases: int
    never_fail: tuple[AuditedCase, ...]
    never_pass: tuple[AuditedCase, ...]
    never_separate: tuple[str, ...] | None
    opposed_cases: tuple[SeparatedCase, ...]
    copies: tuple[CopiedCriterion, ...]
    opposed_criteria: tuple[OpposedCriterion, ...]
    removable: int | None
    noticed_now: float | None
    noticed_without: float | None
    notes: tuple[str, ...]
