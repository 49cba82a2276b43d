"""Convert an eval set into another format, and report every loss."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from fairtrial import loading
from fairtrial.errors import UsageError
from fairtrial.formats.adk.write import dumps
from fairtrial.formats.agents_cli.write_dataset import dataset
from fairtrial.formats.benchmarks.tau2_tasks import KIND as TAU2_TASKS
from fairtrial.formats.datasets.case_tables import KIND as TABLE
from fairtrial.formats.datasets.column_roles import check_columns
from fairtrial.formats.reading import NO_COLUMNS
from fairtrial.records.record import Record
from fairtrial.text.display import count

Format = Literal["adk", "agents-cli"]


class Converted(Record, frozen=True):
    """The bytes of the new file, its format, each loss with its place, and warnings and notes about the old file."""

    content: bytes
    format: Format
    losses: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def convert(
    path: str | Path,
    *,
    to: Format | None = None,
    lenient: bool = False,
    columns: Mapping[str, str] = NO_COLUMNS,
) -> Converted:
    """Return an eval set in another format: ADK's, or the dataset of agents-cli. The default is the other one.

    The default for a table and for tasks of tau2-bench is ADK's format. `columns` names the columns of the table.
    """
    check_columns(columns)
    loaded = loading.read_file(Path(path), lenient=lenient, columns=columns)
    if loaded.eval_set is None:
        raise UsageError(f"{path}: holds {loaded.kind}; only eval sets and datasets are converted")
    target = to or ("adk" if loaded.kind in ("agents-cli dataset", TABLE, TAU2_TASKS) else "agents-cli")
    if target == "agents-cli":
        content, losses = dataset(loaded.eval_set, loaded.recordings)
    else:
        content = dumps(loaded.eval_set)
        recorded = count(len(loaded.recordings), "recorded conversation")
        losses = [f"an eval set of ADK has no place for {recorded}"] if loaded.recordings else []
    return Converted(content, target, tuple(losses), loaded.warnings, loaded.notes)
