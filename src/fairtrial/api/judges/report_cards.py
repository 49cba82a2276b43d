"""Make the report card of a judge, independent of any run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairtrial.analysis.panel_weights import measure_panels
from fairtrial.analysis.recorded_judges import measure_judges
from fairtrial.api.judges.check_planning import plan_item_check
from fairtrial.errors import UsageError
from fairtrial.formats.verdict_tables import COLUMNS, RecordedVerdict, read_verdicts
from fairtrial.judge.judges import Judges
from fairtrial.records.judging.report_card import ReportCard

if TYPE_CHECKING:
    from fairtrial.records.judging.judge_check import CheckResult


def report_card(
    *,
    recorded: str | Path | None = None,
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str] | None = None,
    gold: str | Path | None = None,
    criteria: Sequence[str] = (),
    config: str | Path | None = None,
    judges: Judges | None = None,
    probes: bool = True,
) -> ReportCard:
    """Return the report card of judges: on recorded verdicts, or by asking them.

    `recorded` is a CSV file, or JSON lines, with the columns item, label and verdict, and perhaps verdict_swapped,
    judge and group. `columns` maps these names to those of the file. `where` chooses rows by the values of columns. No
    model is called for them.

    `gold` is a file of JSON lines with the keys id, criterion, question, reply and label, and perhaps reference,
    context, rubric and group. `criteria` names the criteria whose judges are asked; the default are those of the gold
    file or of `config`, a file with an EvalConfig. Canaries and, with `probes`, probes belong to every criterion.
    Raises UsageError with all problems of a file.
    """
    if recorded is not None:
        if gold is not None or criteria or config is not None:
            raise UsageError(
                "recorded verdicts exist already: give either recorded, or gold, criteria and config",
                code="options-conflict",
            )
        verdicts = _read_recorded(Path(recorded), columns, where)
        return ReportCard(judges=tuple(measure_judges(verdicts)), panels=tuple(measure_panels(verdicts)))
    check = plan_item_check(judges or Judges(), config, gold=gold, criteria=criteria, probes=probes)
    results: list[CheckResult] = []
    check.run(results.append)
    return check.report(results)


def _read_recorded(
    path: Path, columns: Mapping[str, str] | None, where: Mapping[str, str] | None
) -> list[RecordedVerdict]:
    unknown = [name for name in columns or {} if name not in COLUMNS]
    if unknown:
        raise UsageError(f"columns: must be of {', '.join(COLUMNS)}, got {', '.join(map(repr, unknown))}")
    return read_verdicts(path, columns, where)
