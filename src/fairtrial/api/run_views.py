"""Views of a run in Python: text, HTML in a notebook, rows and data frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from rich.console import Group

from fairtrial.api.reporting import ShownRun, print_run
from fairtrial.errors import UsageError
from fairtrial.reports.notebook import as_html
from fairtrial.reports.report_table import REPORTS
from fairtrial.reports.summary_table import closing, notes, tables
from fairtrial.reports.table_rows import TABLES
from fairtrial.reports.terminal_text import capture_text, plain_text

Row = dict[str, Any]


def extract_text(run: ShownRun, *, everything: bool = False) -> str:
    """Return the terminal report of a run as plain text."""
    return capture_text(lambda console: print_run(console, run, everything=everything))


def format_numbers(run: ShownRun) -> str:
    """Return the numbers and the verdict of a run as plain text."""
    return plain_text(_numbers(run))


def render_html(run: ShownRun) -> str:
    """Return the numbers and the verdict of a run as HTML. Names from files are escaped."""
    return as_html(_numbers(run))


def _numbers(run: ShownRun) -> Group:
    return Group(tables(run.summary, run.calibrations), notes(run.summary), closing(run.info, run.summary))


def yield_rows(run: ShownRun) -> Iterator[Row]:
    """Yield a row for each outcome: an attempt and a criterion, with the columns of the table `outcomes`."""
    table = TABLES["outcomes"]
    names = [column.name for column in table.columns]
    return (dict(zip(names, row, strict=True)) for row in table.rows(run))


def make_frame(run: ShownRun, library: Literal["pandas", "polars"] | None) -> Any:
    """Return the rows as a data frame of an installed library. Raises UsageError if none is installed."""
    for name in ("pandas", "polars") if library is None else (library,):
        try:
            module: Any = __import__(name)
        except ImportError:
            continue
        rows = list(yield_rows(run))
        return module.DataFrame(rows) if name == "pandas" else module.DataFrame(rows, infer_schema_length=None)
    raise UsageError(
        f"to_frame needs {library or 'pandas or polars'}: pip install {library or 'pandas'}", code="missing-package"
    )


def save(run: ShownRun, paths: Mapping[str, str | Path]) -> None:
    """Write reports to paths, by the names of the reports."""
    reports = {report.name.replace("-", "_"): report for report in REPORTS}
    unknown = [name for name in paths if name not in reports]
    if unknown:
        raise UsageError(f"save: {unknown[0]}: is not a report; allowed: {', '.join(reports)}", code="unknown-name")
    for name, path in paths.items():
        reports[name].write(Path(path), run)
