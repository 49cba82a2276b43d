"""Find the failure modes of a data set in the folder that `score --out` wrote, in one pass over its failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fairtrial.analysis.failures.failure_tally import EvenSample, FailureTally
from fairtrial.analysis.failures.mode_counts import count_modes
from fairtrial.analysis.failures.run_failures import FAILED
from fairtrial.api.dataset_cases import read_columns
from fairtrial.api.dataset_sources import Manifest, local_results, read_manifest
from fairtrial.api.dataset_tables import FAILURE, read_failure
from fairtrial.errors import UsageError
from fairtrial.records.failure_mode import Failures, Signature

_MEMBERS = 100
"""The most failed attempts of a signature that are kept, for examples and for what failures share."""
_PASSES = 20_000
_PLACE = ("conversation", "file", "position", "case_id")
_NAMES = (*_PLACE, *FAILURE, "features")

CaseId = tuple[str, str] | int


def folder_failures(folder: str | Path, *, largest_distance: float) -> Failures:
    """Return the failure modes of a data set that was scored into a folder.

    The memory grows with the different signatures, and with the failed cases if cases have several attempts. Raises
    UsageError if the folder is not finished, or if an earlier version scored it, which stored no decisive steps.
    """
    with local_results(folder, ("failures",)) as own:
        manifest = read_manifest(own, str(folder))
        tally = _Pass(manifest).read(own)
        if tally.failed_attempts == 0 and _count_failed(manifest):
            raise UsageError(f"{folder}: holds no decisive steps, because an earlier version wrote it; score it again")
        return count_modes(tally, manifest.run.id, largest_distance=largest_distance)


def _count_failed(manifest: Manifest) -> int:
    return sum(number for verdict, number in manifest.summary.cases.items() if verdict in FAILED)


class _Pass:
    """One pass over the failures of a folder."""

    def __init__(self, manifest: Manifest) -> None:
        dataset: dict[str, Any] = manifest.run.config["dataset"]
        self._tally = FailureTally(_MEMBERS)
        self._tally.attempts = sum(manifest.summary.cases.values())
        self._tally.unscored = manifest.summary.cases.get("unscored", 0)
        self._cases = sum(manifest.summary.case_verdicts.values())
        self._answers_cases = bool(manifest.run.config.get("against"))
        self._has_one_attempt = not self._answers_cases and self._cases >= dataset["conversations"]
        self._open: dict[CaseId, Counter[int]] = {}
        self._positions: dict[CaseId, int] = {}
        self._passes: EvenSample[tuple[int, frozenset[str]]] = EvenSample(_PASSES)
        self._signatures: dict[tuple[str, ...], Signature] = {}

    def read(self, folder: Path) -> FailureTally:
        """Return the counts of all failures in the folder."""
        file = ""
        for row in _rows(folder):
            if row[1] != file and not self._answers_cases:
                self._close_cases()
                file = row[1]
            self._add(row)
        self._close_cases()
        self._tally.passes = dict(self._passes.items)
        if self._tally.cases < self._cases:
            self._tally.add_case({}, cases=self._cases - self._tally.cases)
        return self._tally

    def _add(self, row: tuple[Any, ...]) -> None:
        place, values, features = row[:4], row[4:-1], row[-1]
        case: CaseId = place[2] if self._answers_cases else (place[1], place[3])
        position = place[0] if self._has_one_attempt else self._positions.setdefault(case, len(self._positions))
        if values[1] not in FAILED:
            self._passes.add((position, frozenset(features)) if self._passes.takes_next else None)
            return
        attempt = 1 if self._has_one_attempt else self._open.setdefault(case, Counter()).total() + 1
        key = values[2:7]
        signature = self._signatures.get(key) or self._signatures.setdefault(key, Signature(*key))
        number = self._tally.add(read_failure(values, signature, position, attempt), frozenset(features))
        if self._has_one_attempt:
            self._tally.add_case({number: 1})
        else:
            self._open[case][number] += 1

    def _close_cases(self) -> None:
        for failures in self._open.values():
            self._tally.add_case(failures)
        self._open.clear()


def _rows(folder: Path) -> Iterator[tuple[Any, ...]]:
    for path in sorted((folder / "failures").glob("*.parquet")):
        yield from read_columns(path, _NAMES)
