"""The table of reports that can be written to files. A new report is a new module and a row of this table."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, Protocol

from fairtrial.errors import UsageError, lacks_extra
from fairtrial.text.languages import ENGLISH, speaking

if TYPE_CHECKING:
    from fairtrial.records.attacks.attack_report import AttackReport
    from fairtrial.records.attempt import Recording
    from fairtrial.records.ballot import Ballot
    from fairtrial.records.board_event import BoardEvent
    from fairtrial.records.expectation import ExpectedCase
    from fairtrial.records.failure_mode import Failures, LastingFailure, ModeChanges
    from fairtrial.records.judging.calibration import Calibration
    from fairtrial.records.label import Label
    from fairtrial.records.reply import Reply
    from fairtrial.records.result import CaseResult
    from fairtrial.records.run import RunInfo
    from fairtrial.records.run_comparison import Comparison
    from fairtrial.records.run_history import RunHistory
    from fairtrial.records.summary import Summary


class ReportedRun(Protocol):
    """A run as reports read it. Cases, expectations and recordings come in file order, anew at each access."""

    @property
    def info(self) -> RunInfo:
        """The manifest of the run."""
        ...

    @property
    def summary(self) -> Summary:
        """The numbers over all attempts."""
        ...

    @property
    def calibrations(self) -> Sequence[Calibration]:
        """How far its judges may be believed, for each criterion that was judged or labelled."""
        ...

    @property
    def cases(self) -> Iterable[CaseResult]:
        """The result of each attempt."""
        ...

    @property
    def ballots(self) -> Mapping[str, Ballot]:
        """The votes of judges, by the ids that scores name."""
        ...

    @property
    def replies(self) -> Mapping[str, Reply]:
        """The raw replies of models, by the keys that ballots name."""
        ...

    @property
    def expected(self) -> Iterator[ExpectedCase]:
        """Each case with its expectation."""
        ...

    @property
    def recordings(self) -> Iterator[tuple[int, Recording]]:
        """The recording of each attempt, with the position of its case."""
        ...

    @property
    def labels(self) -> Sequence[Label]:
        """The labels that people gave to its attempts."""
        ...

    @property
    def board_events(self) -> Sequence[BoardEvent]:
        """The changes that people made to the modes on its board of failures, in their order."""
        ...

    @property
    def failure_modes(self) -> Failures | None:
        """The decisive steps and the modes of its failures. None if too many attempts failed for a report."""
        ...

    @property
    def attacks(self) -> AttackReport | None:
        """The rates of an attack run. None for other runs."""
        ...

    @property
    def lasting_failure(self) -> LastingFailure | None:
        """Since when the typical case of its most frequent mode fails. None if it is not the newest run of a series."""
        ...

    def mode_changes(self, base: ReportedRun) -> ModeChanges | None:
        """Return how its failure modes changed since a base run. None if too many attempts failed for a report."""
        ...


@dataclass(frozen=True)
class ReportOptions:
    """How the user wants the reports.

    With `allow_unscored`, a case without a verdict is not an error in JUnit XML. `baseline` is the comparison of a base
    run with this run, or the reason why there is none. `base_run` is the base run itself if it is in a store. `show` is
    the command that shows the run again, or empty. `traces` says of which attempts the HTML report contains the
    conversations, by default as many as fit. `language` is that of the HTML report, by default the language of the
    browser. With `people`, the HTML report holds no personal data. `history` is the series of
    the run, for the end of the HTML report. `warn` receives warnings for the user.
    """

    allow_unscored: bool = False
    baseline: Comparison | str | None = None
    show: str = ""
    traces: Literal["all", "failed", "none"] | None = None
    language: str = ""
    warn: Callable[[str], object] = str
    base_run: ReportedRun | None = None
    people: bool = False
    history: RunHistory | None = None


DEFAULTS = ReportOptions()


@dataclass(frozen=True)
class Report:
    """One kind of report.

    `name` is the name of its option, without the dashes. `suffix` ends the name of its file; a report without a suffix
    is a folder. `module` contains `write(target, run, options)`: the target is the open file, or the folder. `compares`
    says that it shows a comparison with a baseline. A file is appended to if the environment variable `log` names it.
    The report needs the extra `needed_extra`, which is installed if `package` is; both are empty if it needs none.
    """

    name: str
    suffix: str
    help: str
    module: str
    on_stdout: bool = False
    compares: bool = False
    log: str = ""
    package: str = ""
    needed_extra: str = ""

    @property
    def option(self) -> str:
        """The option that asks for the report."""
        return f"--{self.name}"

    def check_installed(self) -> None:
        """Raise UsageError if the report needs a package that is not installed."""
        if self.package and importlib.util.find_spec(self.package) is None:
            raise UsageError(lacks_extra(self.option, self.needed_extra), code="missing-package")

    @property
    def is_folder(self) -> bool:
        """Whether the report is a folder of files."""
        return not self.suffix

    def write(self, path: Path, run: ReportedRun, options: ReportOptions = DEFAULTS) -> None:
        """Write the report to a path."""
        if self.is_folder:
            with speaking(ENGLISH):
                self._writer.write(path, run, options)
        else:
            with path.open("ab" if self.log and os.environ.get(self.log) == str(path) else "wb") as file:
                self.write_to(file, run, options)

    def write_to(self, stream: BinaryIO, run: ReportedRun, options: ReportOptions = DEFAULTS) -> None:
        """Write the report to an open file, for example standard output."""
        with speaking(ENGLISH):  # programs read files
            self._writer.write(stream, run, options)

    @property
    def _writer(self) -> _Writer:
        """The module, which is imported only if its report is asked for."""
        writer: _Writer = importlib.import_module(self.module)
        return writer


class _Writer(Protocol):
    def write(self, target: object, run: ReportedRun, options: ReportOptions) -> object: ...


REPORTS = (
    Report("json", ".json", "Write the results as JSON; - is stdout.", "fairtrial.reports.json_report", on_stdout=True),
    Report("html", ".html", "Write one HTML page that opens anywhere.", "fairtrial.reports.html", compares=True),
    Report("junit", ".xml", "Write JUnit XML to a file.", "fairtrial.reports.junit"),
    Report("sarif", ".sarif", "Write SARIF for code scanning to a file.", "fairtrial.reports.sarif"),
    Report(
        "markdown",
        ".md",
        "Write Markdown for a pull request; - is stdout.",
        "fairtrial.reports.markdown",
        on_stdout=True,
        compares=True,
        log="GITHUB_STEP_SUMMARY",
    ),
    Report(
        "adk-results",
        "",
        "Write ADK's .evalset_result.json, a file for each eval set.",
        "fairtrial.reports.adk_results",
    ),
    Report(
        "parquet",
        "",
        "Write tables as Parquet files: attempts, outcomes, parts, ballots, steps and labels.",
        "fairtrial.reports.tables",
        package="pyarrow",
        needed_extra="parquet",
    ),
)
