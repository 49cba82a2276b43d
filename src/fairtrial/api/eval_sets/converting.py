"""Convert an eval set into another format, or a log into recordings, and report every loss."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from fairtrial import loading
from fairtrial.errors import UsageError
from fairtrial.formats.adk.write import dumps
from fairtrial.formats.agents_cli.write_dataset import dataset
from fairtrial.formats.benchmarks.tau2_tasks import KIND as TAU2_TASKS
from fairtrial.formats.conversation.options import DEFAULTS
from fairtrial.formats.datasets.column_roles import check_columns
from fairtrial.formats.loaded import TABLE
from fairtrial.formats.reading import NO_COLUMNS
from fairtrial.formats.recordings import line
from fairtrial.formats.skills.evals_json import KIND as EVALS_KIND
from fairtrial.formats.skills.skill_files import KINDS, TRIGGER_KIND
from fairtrial.formats.skills.write_evals import write_evals
from fairtrial.records.record import Record
from fairtrial.text.display import count

Format = Literal["adk", "agents-cli", "agent-skills", "trigger-queries", "waza", "skilljack", "recordings"]


class Converted(Record, frozen=True):
    """The bytes of the new file, its format, each loss with its place, and warnings and notes about the old file.

    `files` are further files by their paths beside it, for example the tasks of waza.
    """

    content: bytes
    format: Format
    losses: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    files: dict[str, bytes] = {}


def convert(
    path: str | Path,
    *,
    to: Format | None = None,
    lenient: bool = False,
    columns: Mapping[str, str] = NO_COLUMNS,
) -> Converted:
    """Return an eval set in another format: ADK's, the dataset of agents-cli, or a format for the evals of a skill.

    The recordings in a log, or in any JSON whose paths `columns` names, become JSON lines. Otherwise, the default is
    ADK's format for a dataset, a table and tasks of tau2-bench, `evals.json` for other evals of a skill, and a dataset
    for an eval set of ADK. `columns` also names the columns of a table.
    """
    check_columns(columns)
    loaded = loading.read_file(Path(path), lenient=lenient, columns=columns)
    if loaded.spans:
        loaded = loading.with_conversations([loaded], DEFAULTS)[0]
    if to is None and loaded.eval_set is None and loaded.recordings:
        to = "recordings"
    if to == "recordings":
        if not loaded.recordings:
            raise UsageError(f"{path}: holds {loaded.kind}, and no recording", code="other-content")
        lines = b"".join(map(line, loaded.recordings)).rstrip(b"\n")
        return Converted(lines, "recordings", (), loaded.warnings, loaded.notes)
    if loaded.eval_set is None:
        raise UsageError(
            f"{path}: holds {loaded.kind}; only eval sets and datasets are converted", code="other-content"
        )
    target = _default_format(loaded.kind) if to is None else to
    if target == "agents-cli":
        content, losses = dataset(loaded.eval_set, loaded.recordings)
        return Converted(content, target, tuple(losses), loaded.warnings, loaded.notes)
    recorded = count(len(loaded.recordings), "recorded conversation")
    losses = [f"{target} has no place for {recorded}"] if loaded.recordings else []
    if target == "adk":
        losses += [
            f"case {case.id!r}: the workspace of a coding agent, with its files and checks"
            for case in loaded.eval_set.cases
            if case.workspace is not None
        ]
        return Converted(dumps(loaded.eval_set), target, tuple(losses), loaded.warnings, loaded.notes)
    written = write_evals(loaded.eval_set, target)
    if not loaded.eval_set.cases or written.content == b"[]":
        raise UsageError(f"{path}: no case fits into {target}: {'; '.join(written.losses[:3])}", code="too-little-data")
    losses += written.losses
    notes = (*loaded.notes, *written.notes)
    return Converted(written.content, target, tuple(losses), loaded.warnings, notes, written.files)


def _default_format(kind: str) -> Literal["adk", "agents-cli", "agent-skills"]:
    if kind in ("agents-cli dataset", TABLE, TAU2_TASKS):
        return "adk"
    return "agent-skills" if kind in (*KINDS, TRIGGER_KIND) and kind != EVALS_KIND else "agents-cli"
