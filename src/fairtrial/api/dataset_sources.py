"""How is the folder of a scored data set compared with other runs? By all results, not by those of the store."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from fairtrial.api.dataset_summary import iter_rows
from fairtrial.errors import FormatError, UsageError
from fairtrial.measured_run import MeasuredRun, measure_run
from fairtrial.records.attempt_row import AttemptRow, CriterionTerms, OutcomeRow
from fairtrial.records.keys import CaseKey
from fairtrial.records.result import Verdict
from fairtrial.records.run import RunInfo
from fairtrial.records.summary import Summary

MANIFEST = "manifest.json"


class Manifest(msgspec.Struct):
    """The part of a manifest that says what the results are."""

    run: RunInfo
    summary: Summary


def is_folder_of_results(path: str | Path) -> bool:
    """Whether `fairtrial score --out` wrote and finished a folder."""
    return (Path(path) / MANIFEST).is_file()


def measure_folder(folder: Path, *, valid_only: bool = False) -> MeasuredRun:
    """Return the numbers of the results in a folder. Raises UsageError if it is not there, or is not finished."""
    try:
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
    except OSError:
        raise UsageError(
            f"{folder}: holds no {MANIFEST}; the store has only the attempts that did not pass, so that their numbers "
            "would mislead"
        ) from None
    except msgspec.DecodeError as error:
        raise FormatError(str(folder / MANIFEST), [f"must be a manifest of fairtrial: {error}"]) from None
    terms = {
        criterion.criterion: CriterionTerms(
            criterion.criterion, criterion.threshold, criterion.lower_is_better, criterion.range
        )
        for criterion in manifest.summary.criteria
    }
    answers_cases = bool(manifest.run.config.get("against"))
    cases: list[tuple[CaseKey, str]] = []
    attempts = _attempts(folder, cases, answers_cases=answers_cases)
    # The attempts add their cases while they are read, so that they are read first.
    rows = list(attempts)
    return measure_run(manifest.run, cases, rows, terms, valid_only=valid_only)


def _attempts(folder: Path, cases: list[tuple[CaseKey, str]], *, answers_cases: bool) -> Iterator[AttemptRow]:
    for of_case in iter_rows(folder, answers_cases=answers_cases):
        for number, (_, group) in enumerate(groupby(of_case, key=lambda row: row["conversation"]), 1):
            rows = list(group)
            first = rows[0]
            if number == 1:
                cases.append((CaseKey(first["eval_set"], first["case_id"], first["digest"]), first["case_id"]))
            yield _attempt(rows, len(cases) - 1, number)


def _attempt(rows: list[dict[str, Any]], position: int, number: int) -> AttemptRow:
    first = rows[0]
    return AttemptRow(
        position,
        number,
        Verdict(first["verdict"]),
        first["valid"],
        first["failure_side"] == "agent",
        [OutcomeRow(row["criterion"], row["value"], Verdict(row["outcome"])) for row in rows if row["criterion"]],
    )
