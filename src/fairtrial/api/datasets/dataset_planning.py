"""Plan the scoring of a data set. Everything except its conversations is read and checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial import loading
from fairtrial.api.arguments import check_match, check_share
from fairtrial.api.datasets.dataset_options import DatasetOptions
from fairtrial.api.datasets.dataset_scoring import LOG, DatasetPlan
from fairtrial.api.datasets.object_log import BEGUN, check_own
from fairtrial.api.datasets.shard_scoring import ShardScorer
from fairtrial.api.datasets.shared_models import BATCHES
from fairtrial.api.labels.run_labels import label_info
from fairtrial.api.model_warnings import model_warnings
from fairtrial.api.plan_options import READ, ReadOptions
from fairtrial.api.planning import run_info
from fairtrial.api.result_folders.dataset_sources import MANIFEST
from fairtrial.api.result_folders.dataset_tables import folder_tables
from fairtrial.api.run_batches import check_canaries
from fairtrial.api.score_planning import check_picklable, load_dataset_sets, one_set_of_criteria
from fairtrial.batch.executors import Executor, InProcess
from fairtrial.errors import UsageError, spell
from fairtrial.judge.judges import Judges
from fairtrial.loading.data_files import find_data_files
from fairtrial.loading.joined_spans import INPUTS, join_into_objects, join_span_files, renumber
from fairtrial.loading.object_folders import ObjectFolder
from fairtrial.loading.shards import cut_into_shards, group_small_files
from fairtrial.system.importing import import_extra
from fairtrial.system.paths import is_object_folder
from fairtrial.text.display import count, visible_line

if TYPE_CHECKING:
    from fairtrial.api.eval_sets.eval_set_arguments import EvalSets
    from fairtrial.api.eval_sets.set_loading import Criteria


_MOST_IDS = 5


def plan_dataset(
    paths: Sequence[str | Path],
    folder: str | Path,
    eval_set: EvalSets | None = None,
    criteria: Criteria = None,
    options: DatasetOptions = DatasetOptions(),  # noqa: B008  (a frozen record)
    *,
    reading: ReadOptions = READ,
    executor: Executor | None = None,
    judges: Judges | None = None,
    name: str = "",
    tags: Sequence[str] = (),
) -> DatasetPlan:
    """Read and check everything that scoring a data set needs, but not its conversations. Raises UsageError."""
    import_extra("pyarrow", "parquet")
    check_match(reading.match)
    check_share(max_incomplete=reading.max_incomplete)
    judges = judges or Judges()
    objects = ObjectFolder(str(folder)) if is_object_folder(folder) else None
    names = objects.names() if objects is not None else []
    url, folder = folder, Path() if objects is not None else Path(folder)
    _check_batches(folder, judges, objects)
    options.check()
    folder_tables(options.carry)
    if reading.match == "order":
        raise UsageError(
            f"{spell('match')} order: a data set is read in parts that have no common order; match by id or query",
            code="options-conflict",
        )
    if options.stratify and eval_set is not None:
        raise UsageError(
            f"{spell('stratify')}: does not go with {spell('eval_set')}, because attempts at a "
            f"case may be in several strata; use {spell('sample')}",
            code="options-conflict",
        )
    # A log beside the results says that the run read spans, of which some may come late.
    is_finished, has_log = (folder / MANIFEST).exists(), (folder / LOG).exists()
    if objects is not None:
        is_finished, has_log = MANIFEST in names, BEGUN in names
    if is_finished and not has_log:
        raise UsageError(f"{url}: holds the results of a finished run; give another folder", code="would-overwrite")
    notes: list[str] = []
    loaded_sets, set_notes = load_dataset_sets(eval_set, criteria, reading, judges)
    cases = None if eval_set is None else tuple(loading.plan_cases(loaded_sets))
    own_criteria = one_set_of_criteria(loaded_sets)
    for criterion in own_criteria:
        check_picklable(criterion, spell("out"))
    executor = executor or InProcess()
    files = tuple(find_data_files(paths, notes.append))
    shards = tuple(cut_into_shards(files, options.columns, notes.append, executor.map, seeks_spans=True))
    if objects is None:
        joined = join_span_files(shards, folder / INPUTS, reading.traces)
    else:
        check_own(objects)
        joined = join_into_objects(shards, objects, reading.traces)
    if joined is None:
        shards = tuple(group_small_files(shards))
    else:
        shards = renumber(joined, shards)
        notes += [*joined.warnings, *_late_note(joined.late)]
    arguments: dict[str, Any] = {
        "paths": list(map(str, paths)),
        "against": None if eval_set is None else [loaded.eval_set.id for loaded in loaded_sets],
        "match": reading.match,
        **reading.manifest(criteria),
        "judge": judges.arguments,
        "options": msgspec.to_builtins(options),
    }
    scorer = ShardScorer(
        folder,
        own_criteria,
        cases,
        reading.match,
        reading.lenient,
        options.keep_failures,
        objects=objects,
        carry=options.carry,
    )
    info = label_info(run_info("score", arguments, set_notes, loaded_sets, {}), name, tags)
    return DatasetPlan(
        info,
        folder,
        files,
        shards,
        scorer,
        options,
        executor,
        judges,
        (*set_notes.warnings, *notes, *model_warnings(loaded_sets, judges)),
        joined,
        reading.max_incomplete,
    )


def _late_note(late: Sequence[str]) -> Iterator[str]:
    """Yield the warning about conversations that changed since an interrupted run read them."""
    if late:
        examples = ", ".join(visible_line(case_id) for case_id in late[:_MOST_IDS])
        yield f"late spans: {count(len(late), 'conversation')} changed and will be scored again, for example {examples}"


def _check_batches(folder: Path, judges: Judges, objects: ObjectFolder | None) -> None:
    check_canaries(judges.models, judges.canaries)
    if judges.models.batch is not None and objects is not None:
        raise UsageError(
            f"{spell('batch_api')}: keeps its batches in {BATCHES}, a database that needs a file "
            f"system; give {spell('out')} a folder on "
            f"a disk, and copy it to {objects.url}"
        )
    if judges.models.batch is None and (folder / BATCHES).exists():
        raise UsageError(
            f"{folder}: its questions are in batches at a provider; go on with {spell('batch_api')} {spell('resume')}",
            code="cannot-resume",
        )
