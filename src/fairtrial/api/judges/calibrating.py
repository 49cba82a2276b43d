"""Calibrate the judges of a run from human labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairtrial.api.arguments import Paths, read_paths
from fairtrial.api.labels.labelling import add_labels
from fairtrial.api.stored_runs import Run, reread

if TYPE_CHECKING:
    from fairtrial.records.judging.calibration import Calibration


def calibrate(
    run: Run | str, labels: Paths = (), *, store: str | None = None, ignore_unknown: bool = False
) -> list[Calibration]:
    """Compare the judges of a run with the labels of people: a calibration for each judged or labelled criterion.

    `run` is a run, or the id of a run of the `store`, a SQLAlchemy URL. `labels` are files with the columns `key` and
    `label`, as `fairtrial judge sample` writes them. Their labels are kept in the store. Rows whose key is not of the
    run are an error, or are left out with `ignore_unknown`. Raises UsageError with all problems.
    """
    stored_run = run if isinstance(run, Run) else reread(_url(store), run)
    files = read_paths(labels, "labels must be a path or several paths") if labels != () else []
    if files:
        add_labels(stored_run, [Path(file) for file in files], ignore_unknown=ignore_unknown)
    with_new_labels = replace(stored_run)  # a run computes its calibrations once
    return list(with_new_labels.calibrations)


def _url(store: str | None) -> str:
    from fairtrial.store import DEFAULT_URL

    return DEFAULT_URL if store is None else store
