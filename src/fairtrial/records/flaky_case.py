"""The record of flaky cases, which pass in some attempts and fail in others, with the cause."""

from __future__ import annotations

from typing import Literal

from fairtrial.records.record import Record
from fairtrial.records.run_comparison import About, ComparedRun

Cause = Literal["agent", "judge"]


class FlakyCase(Record, frozen=True):
    """A case whose attempts differ, with the 95 % interval of its pass rate.

    The cause is the judge if equal traces got different verdicts, or if its votes were split. It is None if the traces
    are not stored.
    """

    case: str
    passed: int
    attempts: int
    low: float
    high: float
    cause: Cause | None


class Flakiness(Record, frozen=True, tag_field="kind", tag="flaky"):
    """The cases of a run by their attempts: those that always pass, that never pass, and the flaky cases.

    `single` counts the cases with one attempt, which cannot be told. `expected_changes` is the number of verdicts that
    would change if every case was run once more, compared with another such run.
    """

    signature: str
    level: float
    about: About
    runs: tuple[ComparedRun, ...]
    always: int
    never: int
    single: int
    expected_changes: float
    case_variance: float | None
    attempt_variance: float | None
    cases: tuple[FlakyCase, ...]
