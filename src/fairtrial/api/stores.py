"""Open stores, and read the numbers of the runs in them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from fairtrial.analysis.measured_run import (
    CASES,
    MeasuredRun,
    list_measures,
    measure_passes,
    measure_run,
    select_measures,
)
from fairtrial.analysis.variants import decided_part

if TYPE_CHECKING:
    from fairtrial.records.attempt_row import CriterionTerms
    from fairtrial.records.run import RunInfo
    from fairtrial.store import Store


_RUNS_AT_ONCE = 64
"""So many runs are read with one query for each table, and held together."""
_INNER_AT_ONCE = 256
"""So many runs are held together if the database counts nearly all of them."""


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
    select = partial(_select_criteria, only, has_attacks=info.kind == "attack") if only else None
    numbers = store.numbers_of_runs([info.id], select, sampled=info.kind == "score")
    _, (terms, cases, rows) = next(numbers)
    own = measure_run(info, cases, rows, terms, valid_only=valid_only, only=only)
    return own if whole else decided_part(own, info)


def _select_criteria(measure: str, terms: Mapping[str, CriterionTerms], *, has_attacks: bool) -> set[str]:
    """Return the names of the criteria that a measure needs."""
    return {own.criterion for own in select_measures(list_measures(terms, has_attacks=has_attacks), measure).values()}


def measure_series(store: Store, infos: Sequence[RunInfo], measure: str) -> Iterator[MeasuredRun]:
    """Yield the numbers of runs in their order, as far as a measure and a comparison of neighbours need them.

    Many runs take few queries. Data sets are read from their folders. Bodies say with which probability traffic was
    sampled, so that such runs are read one by one, too, unless a run is alone. For the measure `cases`, the database
    counts the attempts of runs whose criteria are those of their neighbours. Then nothing else decides whether such
    runs can be compared.
    """
    counted_ids, is_alone = _find_counted(infos) if measure == CASES else set(), measure == CASES and len(infos) == 1
    for part in _divide(infos, counted_ids):
        together = {
            info.id: info for info in part if (info.kind != "score" or is_alone) and "dataset" not in info.config
        }
        own = {run_id: together.pop(run_id) for run_id in counted_ids & together.keys()}
        runs = {run_id: measure_passes(own[run_id], *cases) for run_id, cases in store.count_passes(own)} if own else {}
        runs |= _measure_together(store, together, measure) if together else {}
        yield from (
            runs.pop(info.id) if info.id in runs else measure_stored(store, info, only=measure) for info in part
        )


def _divide(infos: Sequence[RunInfo], counted_ids: Collection[str]) -> Iterator[list[RunInfo]]:
    """Yield the runs in their order, in lists that are held together."""
    part: list[RunInfo] = []
    whole = 0
    for info in infos:
        part.append(info)
        whole += info.id not in counted_ids
        if whole == _RUNS_AT_ONCE or len(part) == _INNER_AT_ONCE:
            yield part
            part, whole = [], 0
    if part:
        yield part


def _find_counted(infos: Sequence[RunInfo]) -> set[str]:
    """Return the ids of runs whose criteria are those of the runs before and after them, as far as there are any."""
    terms = [(info.signatures, info.config.get("eval_set_ids")) for info in infos]
    is_same = [True, *[before == after for before, after in pairwise(terms)], True]
    return {
        info.id
        for info, first, second in zip(infos, is_same, is_same[1:], strict=False)
        if first and second and not info.attempt_rules.baselines and not _has_terms_by_set(info)
    }


def _has_terms_by_set(info: RunInfo) -> bool:
    """Whether eval sets of a run have terms of their own: a case that moves between the sets then gets other terms."""
    names = info.config.get("eval_set_ids") or ()
    return any(signed.startswith(f"{name}/") for signed in info.signatures for name in names)


def _measure_together(store: Store, infos: Mapping[str, RunInfo], measure: str) -> Iterator[tuple[str, MeasuredRun]]:
    select = partial(_select_criteria, measure, has_attacks=any(info.kind == "attack" for info in infos.values()))
    for run_id, (terms, cases, rows) in store.numbers_of_runs(infos, select):
        info = infos[run_id]
        yield run_id, decided_part(measure_run(info, cases, rows, terms, only=measure), info)
