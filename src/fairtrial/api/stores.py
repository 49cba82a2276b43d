"""Open stores, and read the numbers of the runs in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairtrial.analysis.measured_run import MeasuredRun, list_measures, measure_run, select_measures
from fairtrial.analysis.variants import decided_part
from fairtrial.records.run import RunInfo

if TYPE_CHECKING:
    from fairtrial.store import Store


def open_store(url: str, *, create: bool = True) -> Store:
    """Open a store. Raises UsageError if it cannot be opened, or does not exist and is not to be made."""
    from fairtrial.store import Store  # SQL is imported only if there is a store to open

    return Store(url, create=create)


def measure_stored(
    store: Store, info: RunInfo, *, valid_only: bool = False, whole: bool = False, only: str = ""
) -> MeasuredRun:
    """Return the numbers of a run of a store, case by case.

    Only attempts without a score, and those of recordings, are decoded. With `whole`, all variants of a skill count.
    `only` names the single measure that is needed. Of a data set, the store holds only attempts that did not pass. Its
    numbers are those of its folder.
    """
    if (folder := info.config.get("dataset", {}).get("folder")) is not None:
        from fairtrial.api.result_folders.dataset_sources import measure_folder

        return measure_folder(folder, valid_only=valid_only)
    terms, criteria = store.criterion_terms(info.id), None
    if only:
        measures = list_measures(terms, has_attacks=info.kind == "attack")
        criteria = {own.criterion for own in select_measures(measures, only).values()}
    rows = store.attempt_rows(info.id, sampled=info.kind == "score", criteria=criteria)
    own = measure_run(info, store.case_keys(info.id), rows, terms, valid_only=valid_only, only=only)
    return own if whole else decided_part(own, info)
