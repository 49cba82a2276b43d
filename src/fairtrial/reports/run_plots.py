"""The plots of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairtrial.reports import plots

if TYPE_CHECKING:
    from fairtrial.records.run_comparison import Comparison
    from fairtrial.reports.report_table import ReportedRun


@dataclass(frozen=True)
class RunPlots:
    """The pictures of a run, as figures of matplotlib, which the extra `plots` installs."""

    run: ReportedRun

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

    def compare(self, comparison: Comparison) -> Any:
        """Return the differences of a comparison with their intervals: `run.plot.compare(compare(base, run))`."""
        return plots.plot_comparison(comparison)
