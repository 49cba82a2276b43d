"""A run as reports read it, of which only the cases at some positions are read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fairtrial.api.viewer.view_index import (
    NOT_MET,
)
from fairtrial.records.summary import Summary

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording
    from fairtrial.records.ballot import Ballot
    from fairtrial.records.board_event import BoardEvent
    from fairtrial.records.expectation import ExpectedCase
    from fairtrial.records.judging.calibration import Calibration
    from fairtrial.records.label import Label
    from fairtrial.records.reply import Reply
    from fairtrial.records.result import CaseResult
    from fairtrial.records.run import RunInfo
    from fairtrial.reports.report_table import ReportedRun
    from fairtrial.store import Store


@dataclass(frozen=True)
class Excerpt:
    """A run as reports read it, of which only the cases at some positions are read."""

    info: RunInfo
    store: Store
    positions: Collection[int]
    calibrations: Sequence[Calibration] = field(default=())

    @property
    def failure_modes(self) -> None:
        """No modes: an excerpt has only cases."""

    @property
    def board_events(self) -> Sequence[BoardEvent]:
        """No changes: an excerpt has only cases."""
        return ()

    @property
    def attacks(self) -> None:
        """No rates: an excerpt has only cases."""

    @property
    def lasting_failure(self) -> None:
        """Nothing: an excerpt has only cases."""

    def mode_changes(self, base: ReportedRun) -> None:
        """Return no changes: an excerpt has only cases."""

    @property
    def summary(self) -> Summary:
        """No numbers: an excerpt has only cases."""
        return Summary(NOT_MET[1])

    @property
    def cases(self) -> Iterator[CaseResult]:
        """The results at the positions."""
        return self.store.results(self.info.id, positions=self.positions)

    @property
    def expected(self) -> Iterator[ExpectedCase]:
        """The cases at the positions."""
        return self.store.cases(self.info.id, positions=self.positions)

    @property
    def recordings(self) -> Iterator[tuple[int, Recording]]:
        """The recordings at the positions."""
        return self.store.recordings(self.info.id, positions=self.positions)

    @property
    def ballots(self) -> Mapping[str, Ballot]:
        """The ballots of the run."""
        return self.store.ballots(self.info.id)

    @property
    def replies(self) -> Mapping[str, Reply]:
        """The replies of models."""
        return self.store.replies(self.info.id)

    @property
    def labels(self) -> Sequence[Label]:
        """The labels of the run."""
        return self.store.labels(self.info.id)
