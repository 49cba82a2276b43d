"""A run that is over, made in a line: reports are written from it without a store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fairtrial.analysis.aggregation import aggregate
from fairtrial.api.run_parts.attack_rates import report_attacks
from fairtrial.api.run_parts.collected_failures import report_changes, report_failures
from fairtrial.records.attacks.attack_report import AttackReport
from fairtrial.records.attempt import Recording
from fairtrial.records.ballot import Ballot
from fairtrial.records.board_event import BoardEvent
from fairtrial.records.expectation import ExpectedCase
from fairtrial.records.failure_mode import Failures, ModeChanges
from fairtrial.records.judging.calibration import Calibration
from fairtrial.records.label import Label
from fairtrial.records.reply import Reply
from fairtrial.records.result import CaseResult
from fairtrial.records.run import RunInfo
from fairtrial.records.summary import Summary
from fairtrial.reports.report_table import ReportedRun


@dataclass(frozen=True)
class FinishedRun:
    """Everything that a report reads of a run."""

    info: RunInfo
    results: Sequence[CaseResult]
    expectations: Sequence[ExpectedCase] = ()
    recorded: Sequence[tuple[int, Recording]] = ()
    calibrations: Sequence[Calibration] = ()
    ballots: Mapping[str, Ballot] = field(default_factory=dict)
    replies: Mapping[str, Reply] = field(default_factory=dict)
    labels: Sequence[Label] = ()
    board_events: Sequence[BoardEvent] = ()

    @property
    def summary(self) -> Summary:
        """The numbers of the results."""
        return aggregate(self.results)

    @property
    def cases(self) -> Iterator[CaseResult]:
        """The results."""
        return iter(self.results)

    @property
    def expected(self) -> Iterator[ExpectedCase]:
        """The expectations."""
        return iter(self.expectations)

    @property
    def recordings(self) -> Iterator[tuple[int, Recording]]:
        """The recordings."""
        return iter(self.recorded)

    @property
    def failure_modes(self) -> Failures | None:
        """The modes of the failures."""
        return report_failures(self)

    @property
    def attacks(self) -> AttackReport | None:
        """The rates of an attack run."""
        return report_attacks(self)

    @property
    def lasting_failure(self) -> None:
        """Nothing: the run is in no series."""

    def mode_changes(self, base: ReportedRun) -> ModeChanges | None:
        """The changes of the modes since a base run."""
        return report_changes(self, base)
