"""Sources of runs for comparisons: runs of a store, reports written with `--json`, and exported runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from fairtrial.analysis.measured_run import Measure, MeasuredRun, PlacedCase, measure_run
from fairtrial.analysis.sequential import WaveTable, take_waves
from fairtrial.analysis.variants import SIGN, decided_part, select_variant
from fairtrial.api.calibrations import calibrations, labelled_outcomes
from fairtrial.api.case_groups import groups_by_position, with_clusters
from fairtrial.api.result_folders.dataset_sources import is_folder_of_results, measure_folder
from fairtrial.api.stored_runs import Run
from fairtrial.api.stores import measure_stored, open_store
from fairtrial.errors import FormatError, UsageError, spell
from fairtrial.records.attempt import Failure
from fairtrial.records.attempt_row import AttemptRow, CriterionTerms, OutcomeRow, make_row
from fairtrial.records.decoding import json_decoder
from fairtrial.records.keys import CaseKey
from fairtrial.records.result import Fault, Verdict
from fairtrial.records.run import RunInfo
from fairtrial.reports.views.view_shapes import CriterionView
from fairtrial.store import DEFAULT_URL

if TYPE_CHECKING:
    from fairtrial.records.expectation import ExpectedCase
    from fairtrial.records.judging.calibration import Calibration

RunSource = str | Path | Run
"""The beginning of the id of a stored run, a file that `--json` or `runs export` wrote, a folder that `score --out`
wrote, or a run of this process."""

_SUFFIXES = (".json", ".jsonl")


def measured(
    run: RunSource, store: str = DEFAULT_URL, *, valid_only: bool = False, cluster: str | None = None
) -> MeasuredRun:
    """Return the numbers of a run. Raises UsageError if there is no such run, or the file cannot be read.

    With `cluster`, cases with the same values of that property are one cluster, whatever clusters they declare. The
    name of a variant behind a run, as in `20261120@without`, chooses the cases of one variant of a skill. Without it,
    the variant is chosen that the verdict of the run is about.
    """
    return decided_part(measured_whole(run, store, valid_only=valid_only, cluster=cluster))


def measured_whole(
    run: RunSource, store: str = DEFAULT_URL, *, valid_only: bool = False, cluster: str | None = None
) -> MeasuredRun:
    """Return the numbers of a run like `measured`, with all variants of a skill unless one is named."""
    if isinstance(run, str) and SIGN in run and not is_file(run):
        name, _, variant = run.rpartition(SIGN)
        return select_variant(measured_whole(name, store, valid_only=valid_only, cluster=cluster), variant)
    own = _make_measured(run, store, valid_only=valid_only)
    if cluster is not None:
        with_clusters(own, groups_by_position(yield_cases(run, store), cluster, own.info.id))
    return own


def yield_cases(run: RunSource, store: str) -> Iterator[ExpectedCase]:
    """Yield the cases of a run. Raises UsageError for a report and for a folder of results, which do not hold them."""
    if isinstance(run, Run):
        yield from run.expected
    elif is_file(run):
        yield from _exported_cases(run)
    else:
        with closing(open_store(store, create=False)) as run_store:
            yield from run_store.cases(run_store.run(str(run)).id)


def _exported_cases(run: str | Path) -> Iterator[ExpectedCase]:
    from fairtrial.store.transfer import read_export

    if is_folder_of_results(run) or not is_export(Path(run)):
        raise UsageError(
            f"{run}: does not hold the cases; give the run of a store, or a run that `runs export` wrote",
            code="missing-option",
        )
    with Path(run).open("rb") as file:
        yield from (line.case for line in read_export(file, str(run)) if line.case is not None)


def is_export(path: Path) -> bool:
    """Return whether `fairtrial runs export` wrote a file."""
    with path.open("rb") as file:
        return file.readline(200).startswith(b'{"fairtrial_export"')


def _make_measured(run: RunSource, store: str, *, valid_only: bool) -> MeasuredRun:
    if isinstance(run, Run):
        own = run.measured(valid_only=valid_only, whole=True)
        own.calibrations = {calibration.criterion: calibration for calibration in run.calibrations}
        own.labelled = run.labelled_outcomes()
        return own
    if is_folder_of_results(run):
        return measure_folder(run, valid_only=valid_only)
    if is_file(run):
        return _measure_file(Path(run), valid_only=valid_only)
    with closing(open_store(store, create=False)) as run_store:
        info = run_store.run(str(run))
        own = measure_stored(run_store, info, valid_only=valid_only, whole=True)
        summary = run_store.summary(info.id)
        states = [] if summary is None else list(calibrations(run_store, info, summary))
        own.labelled = labelled_outcomes(run_store, info, states)
        own.calibrations = {calibration.criterion: calibration for calibration in states}
        return own


def waves(run: RunSource, store: str, measures: Mapping[str, Measure], number: int) -> WaveTable:
    """Return the first waves of a run."""
    if isinstance(run, Run):
        return run.waves(measures, number)
    if is_file(run):
        return take_waves(rows_of_file(Path(run)).rows, measures, number)
    with closing(open_store(store, create=False)) as run_store:
        return take_waves(run_store.attempt_rows(run_store.run(str(run)).id), measures, number)


def is_file(run: str | Path) -> bool:
    """Whether a run is named by a file or a folder."""
    return Path(run).suffix in _SUFFIXES or Path(run).is_file() or is_folder_of_results(run)


@dataclass
class RunRows:
    """The parts of a run in a file."""

    info: RunInfo
    cases: list[PlacedCase]
    rows: list[AttemptRow]
    terms: dict[str, CriterionTerms]
    calibrations: dict[str, Calibration] = field(default_factory=dict)


def _measure_file(path: Path, *, valid_only: bool) -> MeasuredRun:
    run = rows_of_file(path)
    own = measure_run(run.info, run.cases, run.rows, run.terms, valid_only=valid_only)
    own.calibrations = run.calibrations
    return own


def rows_of_file(path: Path) -> RunRows:
    """Return the attempts of a run in a file."""
    try:
        return _read_export(path) if is_export(path) else _read_report(path)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", code="unreadable-file") from None


def _read_export(path: Path) -> RunRows:
    from fairtrial.store.transfer import read_export

    with path.open("rb") as file:
        lines = read_export(file, str(path))
        info = next(lines).run
        if info is None:
            raise FormatError(str(path), ["line 1: must hold a run that `fairtrial runs export` wrote"])
        run = RunRows(info, [], [], {})
        for line in lines:
            if line.case is not None:
                run.cases.append((line.case.position, line.case.key, line.case.name))
            if line.result is not None:
                run.rows.append(make_row(line.result))
                for outcome in line.result.outcomes:
                    terms = CriterionTerms(outcome.criterion, outcome.threshold, outcome.lower_is_better, outcome.range)
                    run.terms.setdefault(outcome.criterion, terms)
    return run


class _ReportedRun(RunInfo, frozen=True, kw_only=True):
    criteria: list[CriterionView]


class _ReportedOutcome(msgspec.Struct):
    criterion: str
    value: float | None
    verdict: Verdict


class _ReportedAttempt(msgspec.Struct):
    position: int
    eval_set: str
    case_id: str
    digest: str
    attempt: int
    verdict: Verdict
    failure: Failure | None
    invalidations: tuple[Fault, ...] | None
    outcomes: list[_ReportedOutcome]
    probability: float | None = None


class _Report(msgspec.Struct):
    """The fields of a JSON report that say something about numbers."""

    run: _ReportedRun
    attempts: list[_ReportedAttempt]


def _read_report(path: Path) -> RunRows:
    try:
        report = json_decoder(_Report).decode(path.read_bytes())
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        problem = f"must be a report that {spell('json')} wrote, or a run that `fairtrial runs export` wrote: {error}"
        raise FormatError(str(path), [problem]) from None
    terms = {
        own.criterion: CriterionTerms(own.criterion, own.threshold, own.lower_is_better, own.range)
        for own in report.run.criteria
    }
    places: dict[int, int] = {}
    cases: list[PlacedCase] = []
    rows: list[AttemptRow] = []
    for attempt in report.attempts:
        place = places.setdefault(attempt.position, len(places))
        if place == len(cases):
            cases.append((place, CaseKey(attempt.eval_set, attempt.case_id, attempt.digest), attempt.case_id))
        rows.append(_attempt_row(place, attempt))
    states = {own.criterion: own.judge for own in report.run.criteria if own.judge is not None}
    return RunRows(report.run, cases, rows, terms, states)


def _attempt_row(position: int, attempt: _ReportedAttempt) -> AttemptRow:
    return AttemptRow(
        position,
        attempt.attempt,
        attempt.verdict,
        None if attempt.invalidations is None else not attempt.invalidations,
        attempt.failure is not None and attempt.failure.side == "agent",
        [OutcomeRow(outcome.criterion, outcome.value, outcome.verdict) for outcome in attempt.outcomes],
        attempt.probability,
    )
