"""Lists as JSON: checked files, runs, criteria, the labels of people, and a written eval set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from fairtrial.config.criterion_options import threshold_option
from fairtrial.records.decoding import convert
from fairtrial.records.record import Json, Record
from fairtrial.records.result import Verdict
from fairtrial.records.score import Range

if TYPE_CHECKING:
    from fairtrial.config.option import Option
    from fairtrial.metrics.catalog_entry import CatalogEntry
    from fairtrial.records.run import RunInfo

PartState = Literal["ok", "absent", "broken"]


class CheckedFile(Record, frozen=True):
    """A file: its format and the number of its cases in words, its problems, warnings and notes."""

    path: str
    content: str
    is_usable: bool
    problems: tuple[str, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    columns: dict[str, str]


class CheckedFiles(Record, frozen=True, tag_field="kind", tag="checked_files"):
    """The files of `fairtrial check`."""

    is_usable: bool
    files: tuple[CheckedFile, ...]


class ListedRun(Record, frozen=True):
    """A run of a store. `verdict` and `finished` are None if it is not finished."""

    id: str
    command: str
    paths: tuple[str, ...]
    agent: str
    name: str
    tags: tuple[str, ...]
    started: str
    finished: str | None
    seconds: float | None
    verdict: Verdict | None
    pass_rate: float | None
    models: tuple[str, ...]
    commit: str
    dirty: bool


class ListedRuns(Record, frozen=True, tag_field="kind", tag="runs"):
    """The runs of `fairtrial runs`, the newest first."""

    runs: tuple[ListedRun, ...]


class ListedOption(Record, frozen=True):
    """An option of a criterion. `allowed` and `default` are texts, and `default` is None if the option is required."""

    name: str
    description: str
    allowed: str
    default: str | None
    options: tuple[ListedOption, ...]


class ListedCriterion(Record, frozen=True):
    """A criterion: its purpose, its needs, and its options."""

    name: str
    summary: str
    when: str
    needs: str
    unit: str
    simulated_user: str
    range: Range
    lower_is_better: bool
    sample: Json
    options: tuple[ListedOption, ...]


class ListedCriteria(Record, frozen=True, tag_field="kind", tag="criteria"):
    """The criteria of `fairtrial criteria`: all of them, or the one that is named."""

    criteria: tuple[ListedCriterion, ...]


class ListedLabel(Record, frozen=True):
    """A label that a person gave to an outcome, as a row of the file that `fairtrial labels -o` writes."""

    key: str
    eval_set: str
    case: str
    digest: str
    attempt: int
    criterion: str
    part: str
    label: str | float
    labeler: str
    at: str
    note: str
    weight: float
    seconds: float | None
    blind: bool | None
    probability: float | None
    source: str
    side: str
    better_reference: str


class ListedLabels(Record, frozen=True, tag_field="kind", tag="labels"):
    """The labels of a run."""

    run: str
    labels: tuple[ListedLabel, ...]


class WrittenEvalSet(Record, frozen=True, tag_field="kind", tag="expect"):
    """The eval set that `fairtrial expect` wrote. `cases` are the ids of its cases."""

    file: str
    cases: tuple[str, ...]
    warnings: tuple[str, ...]


class CommandResult(Record, frozen=True, tag_field="kind", tag="done"):
    """The result of a command: the `files` that it wrote, the `ids` of runs, numbers of items, and remarks."""

    command: str
    files: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    counts: dict[str, int] = {}
    notes: tuple[str, ...] = ()


class ExaminedPart(Record, frozen=True):
    """A part of an installation. A part that is `absent` may not be needed, and a part that is `broken` is useless."""

    area: str
    name: str
    state: PartState
    detail: str = ""


def list_runs(runs: Iterable[RunInfo]) -> ListedRuns:
    """Return runs as a document."""
    return ListedRuns(tuple(map(_run, runs)))


def list_criteria(entries: Iterable[CatalogEntry]) -> ListedCriteria:
    """Return criteria as a document."""
    return ListedCriteria(tuple(map(_criterion, entries)))


def list_labels(run_id: str, rows: Iterable[Mapping[str, Any]]) -> ListedLabels:
    """Return the labels of a run as a document. Each row is a row of a file of labels."""
    return ListedLabels(run_id, tuple(convert(row, ListedLabel) for row in rows))


def _run(run: RunInfo) -> ListedRun:
    return ListedRun(
        run.id,
        run.kind,
        tuple(map(str, run.config.get("paths", []))),
        str(run.config.get("agent") or ""),
        run.name,
        run.tags,
        run.started,
        run.finished,
        run.seconds,
        run.verdict,
        run.pass_rate,
        run.models,
        str(run.git.get("commit", "")),
        bool(run.git.get("dirty")),
    )


def _criterion(entry: CatalogEntry) -> ListedCriterion:
    options = (threshold_option(entry.range), *entry.options)
    return ListedCriterion(
        entry.name,
        entry.summary,
        entry.when,
        entry.needs,
        entry.unit,
        entry.simulated_user,
        entry.range,
        entry.lower_is_better,
        entry.sample,
        tuple(map(_option, options)),
    )


def _option(option: Option) -> ListedOption:
    default = None if option.required else option.default_json
    return ListedOption(option.name, option.description, option.allowed, default, tuple(map(_option, option.inner)))
