"""Measure the folder of a scored data set for comparisons, by all results and not by those in the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from fairtrial.analysis.measured_run import MeasuredRun, PlacedCase, measure_cases
from fairtrial.api.calibrations import unchecked_judges
from fairtrial.api.result_folders.dataset_cases import iter_cases
from fairtrial.api.result_folders.dataset_tables import SCHEMA_VERSION
from fairtrial.errors import FormatError, UsageError
from fairtrial.records.attempt_row import AttemptRow, CriterionTerms
from fairtrial.records.decoding import json_decoder
from fairtrial.records.run import RunInfo
from fairtrial.records.summary import Summary
from fairtrial.system.paths import is_object_folder

MANIFEST = "manifest.json"


class Manifest(msgspec.Struct):
    """The part of a manifest that says what the results are."""

    schema: int
    run: RunInfo
    summary: Summary


def is_folder_of_results(path: str | Path) -> bool:
    """Whether `fairtrial score --out` wrote and finished a folder. A folder in an object store counts unread."""
    return is_object_folder(path) or (Path(path) / MANIFEST).is_file()


def measure_folder(folder: str | Path, *, valid_only: bool = False) -> MeasuredRun:
    """Return the numbers of the results in a folder. Raises UsageError if it is not there, or is not finished."""
    with local_results(folder, ("attempts", "outcomes")) as own:
        return _measure(own, str(folder), valid_only=valid_only)


@contextmanager
def local_results(folder: str | Path, tables: tuple[str, ...]) -> Iterator[Path]:
    """Yield a folder of results, or a temporary copy of its manifest and tables if it is in an object store."""
    if not is_object_folder(folder):
        yield Path(folder)
        return
    from fairtrial.loading.object_folders import ObjectFolder  # takes a third of the start of a command

    with TemporaryDirectory(prefix="fairtrial-results-") as copy:
        objects = ObjectFolder(str(folder))
        objects.download(Path(copy), tables)
        if MANIFEST in objects.names():
            (Path(copy) / MANIFEST).write_bytes(*objects.read_each([MANIFEST]))
        yield Path(copy)


def read_manifest(folder: Path, name: str) -> Manifest:
    """Return the manifest of a folder, which errors call by its name. Raises UsageError if it is not there."""
    try:
        manifest = json_decoder(Manifest).decode((folder / MANIFEST).read_bytes())
    except OSError:
        raise UsageError(
            f"{name}: holds no {MANIFEST}; the store has only the attempts that did not pass, so that their numbers "
            "would mislead",
            code="unusable-run",
        ) from None
    except msgspec.DecodeError as error:
        raise FormatError(f"{name}/{MANIFEST}", [f"must be a manifest of fairtrial: {error}"]) from None
    if manifest.schema != SCHEMA_VERSION:
        problem = f"/schema: must be {SCHEMA_VERSION}, got {manifest.schema}; score the data set again"
        raise FormatError(f"{name}/{MANIFEST}", [problem])
    return manifest


def _measure(folder: Path, name: str, *, valid_only: bool) -> MeasuredRun:
    manifest = read_manifest(folder, name)
    terms = {
        criterion.criterion: CriterionTerms(
            criterion.criterion, criterion.threshold, criterion.lower_is_better, criterion.range
        )
        for criterion in manifest.summary.criteria
    }
    answers_cases = bool(manifest.run.config.get("against"))
    cases = _cases(folder, answers_cases=answers_cases)
    run = measure_cases(manifest.run, cases, terms, valid_only=valid_only)
    run.calibrations = unchecked_judges(manifest.run.signatures, terms)
    return run


def _cases(folder: Path, *, answers_cases: bool) -> Iterator[tuple[PlacedCase, list[AttemptRow]]]:
    """Yield each case with its attempts, so that only those of some cases are held."""
    for position, (key, rows) in enumerate(iter_cases(folder, answers_cases=answers_cases)):
        yield (position, key, key.case), rows
