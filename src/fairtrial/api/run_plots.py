"""Which pictures does a run have?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairtrial.reports import plots

if TYPE_CHECKING:
    from fairtrial.api.run_sources import RunSource
    from fairtrial.api.stored_runs import Run


@dataclass(frozen=True)
class RunPlots:
    """The pictures of a run, as figures of matplotlib, which the extra `plots` installs."""

    run: Run

    def intervals(self) -> Any:
        """Return the mean and the pass rate of each criterion, with their intervals."""
        return plots.plot_intervals(self.run.summary)

    def attempts(self) -> Any:
        """Return a grid of the first 100 cases with the verdict on each attempt."""
        return plots.plot_attempts(self.run.cases)

    def histogram(self, criterion: str) -> Any:
        """Return the distribution of the values of a criterion. Raises UsageError if the run has no value of it."""
        return plots.plot_histogram(self.run.cases, criterion)

    def calibration(self) -> Any:
        """Return what the judges say beside what people would say. Raises UsageError if nobody labelled the run."""
        return plots.plot_calibration(self.run.calibrations)

    def compare(self, base: RunSource) -> Any:
        """Return the differences from a base run, with their intervals."""
        from fairtrial.api.comparing import compare

        return plots.plot_comparison(compare(base, self.run))
