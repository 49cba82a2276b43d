"""Find the failure modes of a data set in the folder that `score --out` wrote, in one pass over its failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from fairtrial.analysis.failures.failure_tally import EvenSample, FailureTally
from fairtrial.analysis.failures.mode_changes import CaseRates
from fairtrial.analysis.failures.mode_counts import count_modes
from fairtrial.analysis.failures.modes import LARGEST_DISTANCE
from fairtrial.analysis.failures.run_failures import FAILED
from fairtrial.api.result_folders.dataset_cases import read_columns
from fairtrial.api.result_folders.dataset_sources import Manifest, local_results, read_manifest
from fairtrial.api.result_folders.dataset_tables import FAILURE, read_failure
from fairtrial.errors import UsageError
from fairtrial.records.failure_mode import FailedAttempt, Failures, Signature
from fairtrial.records.keys import CaseKey

_MEMBERS = 100
"""The most failed attempts of a signature that are kept, for examples and for what failures share."""
_PASSES = 20_000
_PLACE = ("conversation", "file", "position", "case_id")
_NAMES = (*_PLACE, *FAILURE, "features")
_KEY = ("position", "eval_set", "case_id", "digest")

CaseId = tuple[str, str] | int


def folder_failures(folder: str | Path, *, largest_distance: float) -> Failures:
    """Return the failure modes of a data set that was scored into a folder.

    The memory grows with the different signatures, and with the failed cases if cases have several attempts. Raises
    UsageError if the folder is not finished, or if an earlier version scored it, which stored no decisive steps.
    """
    with local_results(folder, ("failures",)) as own:
        return _read(own, str(folder), largest_distance)[0]


def measure_failures(folder: str | Path) -> tuple[Failures, FailureTally, CaseRates | None]:
    """Return the failure modes of a folder, their counts, and how often each case of an eval set fails in each way.

    Conversations that answer no case of an eval set have no identity in another folder, so that their rates are None.
    """
    with local_results(folder, ("failures", "attempts")) as own:
        failures, folder_pass = _read(own, str(folder), LARGEST_DISTANCE)
        rates = folder_pass.read_rates(own) if folder_pass.answers_cases else None
        return failures, folder_pass.tally, rates


def _read(own: Path, name: str, largest_distance: float) -> tuple[Failures, FolderPass]:
    manifest = read_manifest(own, name)
    folder_pass = FolderPass(manifest)
    tally = folder_pass.read(own)
    if tally.failed_attempts == 0 and _count_failed(manifest):
        raise UsageError(
            f"{name}: holds no decisive steps, because an earlier version wrote it; score it again", code="unusable-run"
        )
    return count_modes(tally, manifest.run.id, largest_distance=largest_distance), folder_pass


def _count_failed(manifest: Manifest) -> int:
    return sum(number for verdict, number in manifest.summary.cases.items() if verdict in FAILED)


class FolderAttempt(NamedTuple):
    """An attempt of a folder at the place that its list has: failed, or one of the passes that the folder keeps."""

    position: int
    features: Sequence[str]
    failed: FailedAttempt | None = None


class FolderPass:
    """One pass over the failures of a folder."""

    def __init__(self, manifest: Manifest) -> None:
        """Read the folder of a manifest."""
        dataset: dict[str, Any] = manifest.run.config["dataset"]
        self.tally = FailureTally(_MEMBERS)
        self.tally.attempts = sum(manifest.summary.cases.values())
        self.tally.unscored = manifest.summary.cases.get("unscored", 0)
        self._cases = sum(manifest.summary.case_verdicts.values())
        self.answers_cases = bool(manifest.run.config.get("against"))
        self._has_one_attempt = not self.answers_cases and self._cases >= dataset["conversations"]
        self._open: dict[CaseId, Counter[int]] = {}
        self._numbers: Counter[CaseId] = Counter()
        self._positions: dict[CaseId, int] = {}
        self._signatures: dict[tuple[str, ...], Signature] = {}
        self._by_case: Mapping[CaseId, Counter[int]] = {}

    def read(self, folder: Path) -> FailureTally:
        """Return the counts of all failures in the folder."""
        tally, file = self.tally, ""
        passes: EvenSample[tuple[int, frozenset[str]]] = EvenSample(_PASSES)
        for row in _rows(folder):
            if row[1] != file and not self.answers_cases:
                self._close_cases()
                file = row[1]
            own = self._place(row)
            if own.failed is None:
                passes.add((own.position, frozenset(own.features)) if passes.takes_next else None)
                continue
            number = tally.add(own.failed, frozenset(own.features))
            if self._has_one_attempt:
                tally.add_case({number: 1})
            else:
                self._open.setdefault(_case_id(row, answers_cases=self.answers_cases), Counter())[number] += 1
        self._close_cases()
        tally.passes = dict(passes.items)
        if tally.cases < self._cases:
            tally.add_case({}, cases=self._cases - tally.cases)
        return tally

    def attempts(self, path: Path) -> Iterator[FolderAttempt]:
        """Yield the attempts of a part of the table of failures. Parts have to be read in their order."""
        return map(self._place, read_columns(path, _NAMES))

    def read_rates(self, folder: Path) -> CaseRates:
        """Return how often each case of the eval sets fails in each way, after the failures were read."""
        attempts: Counter[CaseKey] = Counter()
        keys: dict[int, CaseKey] = {}
        for path in sorted((folder / "attempts").glob("*.parquet")):
            for (position, *key), number in Counter(read_columns(path, _KEY)).items():
                attempts[keys.setdefault(position, CaseKey(*key))] += number
        signature_of = {own.number: signature for signature, own in self.tally.signatures.items()}
        failures = {
            keys[case]: {signature_of[number]: times for number, times in own.items() if number in signature_of}
            for case, own in self._by_case.items()
            if isinstance(case, int) and case in keys
        }
        return CaseRates(attempts, failures)

    def _place(self, row: tuple[Any, ...]) -> FolderAttempt:
        place, values, features = row[:4], row[4:-1], row[-1]
        case = _case_id(row, answers_cases=self.answers_cases)
        position = place[0] if self._has_one_attempt else self._positions.setdefault(case, len(self._positions))
        if values[1] not in FAILED:
            return FolderAttempt(position, features)
        attempt = 1
        if not self._has_one_attempt:
            self._numbers[case] += 1
            attempt = self._numbers[case]
        key = values[2:7]
        signature = self._signatures.get(key) or self._signatures.setdefault(key, Signature(*key))
        return FolderAttempt(position, features, read_failure(values, signature, position, attempt))

    def _close_cases(self) -> None:
        for failures in self._open.values():
            self.tally.add_case(failures)
        self._by_case = self._open if self.answers_cases else {}
        self._open = {}


def _case_id(row: tuple[Any, ...], *, answers_cases: bool) -> CaseId:
    case: CaseId = row[2] if answers_cases else (row[1], row[3])
    return case


def _rows(folder: Path) -> Iterator[tuple[Any, ...]]:
    for path in sorted((folder / "failures").glob("*.parquet")):
        yield from read_columns(path, _NAMES)
