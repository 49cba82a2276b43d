"""The view model of failure modes: the modes of a run, and the decisive step of an attempt."""

from __future__ import annotations

from fairtrial.records.failure_mode import DecisiveStep, Evidence, LastingFailure, ModeChangeKind
from fairtrial.records.score import FaultSide
from fairtrial.records.summary import Estimate
from fairtrial.reports.views.shape import ViewShape


class DecisiveView(ViewShape, frozen=True):
    """Where a failed attempt went wrong, and why. `mode` is the number of its mode, or null if it stays alone."""

    reason: str
    step: DecisiveStep | None = None
    evidence: Evidence | None = None
    mode: int | None = None


class ModeExample(ViewShape, frozen=True):
    """The most typical attempt of a mode. `name` is that of its case, `position` the place of the case in the run."""

    position: int
    attempt: int
    name: str
    decisive: DecisiveView


class ModeView(ViewShape, frozen=True):
    """A failure mode. `repaired` cases would pass without it. `change` compares it with a baseline, if there is one."""

    number: int
    name: str
    side: FaultSide
    cases: int
    attempts: int
    repaired: int
    of_failures: Estimate
    of_cases: Estimate
    change: ModeChangeKind | None = None
    example: ModeExample | None = None


class ModesView(ViewShape, frozen=True):
    """The failure modes of a run, those first whose repair would let most cases pass.

    `modes` are the first of `total` modes. `largest` are the numbers of those that a page shows first: the three with
    the most attempts, and every new one. `alone` failed attempts belong to no mode. `lasting` is None unless the run is
    the newest of its series.
    """

    cases: int
    failed_cases: int
    failed_attempts: int
    total: int
    modes: list[ModeView]
    largest: list[int]
    alone: int = 0
    unplaced: int = 0
    notes: list[str] = []
    lasting: LastingFailure | None = None
