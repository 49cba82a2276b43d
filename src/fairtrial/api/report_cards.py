"""How good is a judge, apart from any run?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fairtrial.errors import UsageError
from fairtrial.formats.verdict_tables import COLUMNS, read_verdicts
from fairtrial.recorded_judges import measure_judges
from fairtrial.records.report_card import ReportCard


def report_card(
    *,
    recorded: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str] | None = None,
) -> ReportCard:
    """Return the report card of judges whose verdicts are recorded beside labels.

    `recorded` is a CSV file, or JSON lines, with the columns item, label and verdict, and perhaps verdict_swapped,
    judge and group. `columns` maps these names to those of the file. `where` chooses rows by the values of columns.
    Raises UsageError with all problems of the file.
    """
    if recorded is None:
        raise UsageError("a report card needs recorded verdicts: recorded must be a file")
    unknown = [name for name in columns or {} if name not in COLUMNS]
    if unknown:
        raise UsageError(f"columns: must be of {', '.join(COLUMNS)}, got {', '.join(map(repr, unknown))}")
    return ReportCard(tuple(measure_judges(read_verdicts(Path(recorded), columns, where))))
