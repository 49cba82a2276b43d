"""How is a data set scored into a folder, however large it is? Shard by shard, on any executor, and resumable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import nsmallest
from pathlib import Path
from typing import Any

import msgspec

from fairtrial import loading
from fairtrial.aggregation import scaled_to_population
from fairtrial.api.arguments import Paths, check_match, paths_of
from fairtrial.api.connection import models_of
from fairtrial.api.criterion_thresholds import NO_THRESHOLDS, Thresholds
from fairtrial.api.dataset_sources import MANIFEST
from fairtrial.api.dataset_summary import answered_positions, summarize
from fairtrial.api.dataset_tables import OWN_CASE, SCHEMA_VERSION, TABLES
from fairtrial.api.planning import EVAL_SET, Criteria, Notes, load_sets, now, run_info
from fairtrial.api.score_planning import check_picklable
from fairtrial.api.shard_scoring import FailedAttempt, Sample, ShardReport, ShardScorer, failures_path, smallest_shares
from fairtrial.api.stored_runs import Run, open_store
from fairtrial.api.temporary_store import temporary_store
from fairtrial.batch.executors import Executor, InProcess
from fairtrial.batch.shard_log import ShardLog
from fairtrial.errors import UsageError
from fairtrial.importing import import_extra
from fairtrial.judge.judges import Judges
from fairtrial.loading.data_files import DataFile, find_data_files
from fairtrial.loading.shards import Columns, Shard, cut_into_shards
from fairtrial.records.case import EvalSet
from fairtrial.records.record import Json, Record
from fairtrial.records.result import Criterion
from fairtrial.records.run import RunInfo
from fairtrial.records.summary import Summary

LOG = "progress.jsonl"
_FIRST_CHECK = 100
"""So many conversations are read before the share of refused ones can stop a run."""


class DatasetOptions(Record, frozen=True):
    """How a data set is scored into a folder.

    `sample` is a number of conversations, or a share of them below 1. `seed` chooses which. `max_refused` is the share
    of conversations that may be unreadable. `keep_failures` attempts that did not pass go into the store.
    """

    columns: Columns | None = None
    sample: float | None = None
    seed: int = 0
    max_refused: float = 0.01
    keep_failures: int = 1000

    def check(self) -> None:
        """Raise UsageError for a value that is not allowed."""
        if self.sample is not None and not (
            0 < self.sample < 1 or (self.sample >= 1 and self.sample == int(self.sample))
        ):
            raise UsageError(f"--sample: must be a share between 0 and 1, or a whole number, got {self.sample:g}")
        if not 0 <= self.max_refused <= 1:
            raise UsageError(f"--max-refused: must be a share from 0 to 1, got {self.max_refused:g}")
        if self.keep_failures < 0:
            raise UsageError(f"--keep-failures: must be at least 0, got {self.keep_failures}")


OnShard = Callable[["Shard", ShardReport], None]
"""Receives each shard when it is finished, also the shards of an earlier part of a resumed run."""


@dataclass(frozen=True)
class DatasetPlan:
    """A data set that is ready to be scored into a folder."""

    info: RunInfo
    folder: Path
    files: tuple[DataFile, ...]
    shards: tuple[Shard, ...]
    scorer: ShardScorer
    options: DatasetOptions
    executor: Executor
    warnings: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The number of bytes to read."""
        return sum(shard.size for shard in self.shards)

    def run(self, *, store: str | None = None, resume: bool = False, on_shard: OnShard = lambda *_: None) -> Run:
        """Score the shards that are not finished yet, summarize the folder, and store the run.

        Raises UsageError if too many conversations are refused. The folder can then be resumed with another limit.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        log = ShardLog(self.folder / LOG, ShardReport)
        with closing(log):
            begun, reports = log.open(self._work, {"id": self.info.id, "started": self.info.started}, resume=resume)
            info = msgspec.structs.replace(self.info, id=begun["id"], started=begun["started"])
            run = self._finish(info, [*reports, *self._finish_shards(log, reports, on_shard)], store)
            log.remove()
        return run

    @property
    def _work(self) -> Json:
        """Everything on which the results depend."""
        return {
            "version": self.info.version,
            "schema": SCHEMA_VERSION,
            "signatures": self.info.signatures,
            "cases": [case.digest for case in self.scorer.cases or ()],
            "match": self.scorer.match,
            "sample": [self.options.sample, self.options.seed],
            "files": {file.path: [file.size, file.version] for file in self.files},
        }

    def _finish_shards(
        self, log: ShardLog[ShardReport], earlier: Sequence[ShardReport], on_shard: OnShard
    ) -> Iterator[ShardReport]:
        limit = _RefusalLimit(self.options.max_refused)
        for report in earlier:
            on_shard(self.shards[report.number], report)
            limit.add(report)
        finished_numbers = {report.number for report in earlier}
        waiting = [shard for shard in self.shards if shard.number not in finished_numbers]
        if not waiting:
            return
        scorer = replace(self.scorer, sample=self._sample())
        for report in self.executor.map(scorer, waiting):
            log.add(report)
            on_shard(self.shards[report.number], report)
            limit.add(report)
            yield report
        limit.check(at_end=True)

    def _sample(self) -> Sample | None:
        """Return the sample. A number of conversations is a share of all of them, which are read for it first."""
        wanted, seed = self.options.sample, self.options.seed
        if wanted is None:
            return None
        if wanted < 1:
            return Sample(wanted, seed)
        number = int(wanted)
        # One more than wanted: the sample is what lies below it.
        work = partial(smallest_shares, number=number + 1, seed=seed, lenient=self.scorer.lenient)
        smallest: list[float] = []
        for shares in self.executor.map(work, self.shards):
            smallest = nsmallest(number + 1, [*smallest, *shares])
        return Sample(smallest[number] if len(smallest) > number else 1.0, seed)

    def _finish(self, info: RunInfo, reports: Sequence[ShardReport], store: str | None) -> Run:
        totals = _totals(reports)
        self._answer_for_nobody()
        summary = summarize(
            self.folder,
            self.scorer.criteria,
            answers_cases=self.scorer.cases is not None,
            informs=info.informs,
            rules=info.attempt_rules,
        )
        if totals["outside_sample"]:
            summary = scaled_to_population(
                summary, totals["conversations"], totals["conversations"] + totals["outside_sample"]
            )
        summary = msgspec.structs.replace(summary, notes=(*summary.notes, *self._notes(totals)))
        config = {**info.config, "dataset": {"folder": str(self.folder.resolve()), **totals}}
        info = msgspec.structs.replace(info, config=config, finished=now(), verdict=summary.verdict)
        run = _stored(self._failures(), info, summary, store)
        manifest = {
            "schema": SCHEMA_VERSION,
            "tables": {name: dict(columns) for name, columns in TABLES.items()},
            "run": info,
            "summary": summary,
            "files": self.files,
            "shards": sorted(reports, key=lambda report: report.number),
        }
        half = self.folder / f".{MANIFEST}.half"
        half.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2))
        half.replace(self.folder / MANIFEST)
        return run

    def _answer_for_nobody(self) -> None:
        """Write the cases that no conversation answers, as an ordinary run counts them."""
        if self.scorer.cases is None or self.options.sample is not None:
            return
        positions = answered_positions(self.folder)
        cases = [case for case in self.scorer.cases if case.position not in positions]
        if cases:
            self.scorer.score_unanswered(cases, len(self.shards))

    def _failures(self) -> Iterator[FailedAttempt]:
        """Yield the attempts that did not pass, in the order of the data set, as many as the store is to hold."""
        decoder = msgspec.json.Decoder(FailedAttempt)
        remaining = self.options.keep_failures
        for number in range(len(self.shards) + 1):
            path = failures_path(self.folder, number)
            if remaining <= 0 or not path.exists():
                continue
            with path.open("rb") as file:
                for line in file:
                    if remaining <= 0:
                        break
                    remaining -= 1
                    yield decoder.decode(line)

    def _notes(self, totals: Mapping[str, int]) -> Iterator[str]:
        read, refused, outside_sample = (totals[name] for name in ("conversations", "refused", "outside_sample"))
        if refused:
            total = read + refused + outside_sample
            yield f"{refused:,} of {total:,} were refused; refused/*.parquet names each with its reason"
        if outside_sample:
            yield (
                f"a sample of {read:,} of {read + outside_sample:,} conversations (seed {self.options.seed}); "
                "the intervals are about all of them"
            )
        not_passed = totals["not_passed"]
        if not_passed > self.options.keep_failures:
            yield f"the store holds {self.options.keep_failures:,} of {not_passed:,} attempts that did not pass"


@dataclass
class _RefusalLimit:
    share: float
    seen: int = 0
    refused: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, report: ShardReport) -> None:
        """Count a shard. Raises UsageError if too many of its conversations, and those before, were refused."""
        self.seen += report.conversations + report.refused + report.outside_sample
        self.refused += report.refused
        self.examples += report.examples
        self.check(at_end=False)

    def check(self, *, at_end: bool) -> None:
        """Raise UsageError if too many conversations were refused. At the beginning, a few may be refused."""
        if self.refused <= self.share * (self.seen if at_end else max(self.seen, _FIRST_CHECK)):
            return
        examples = "\n".join(f"  {example}" for example in self.examples[:5])
        raise UsageError(
            f"--max-refused: {self.refused:,} of {self.seen:,} conversations were refused, and at most "
            f"{self.share:.2%} may be; for example:\n{examples}"
        )


def _totals(reports: Sequence[ShardReport]) -> dict[str, int]:
    verdicts = sum((Counter(report.verdicts) for report in reports), Counter[str]())
    return {
        "conversations": sum(report.conversations for report in reports),
        "refused": sum(report.refused for report in reports),
        "outside_sample": sum(report.outside_sample for report in reports),
        "not_passed": sum(number for verdict, number in verdicts.items() if verdict not in ("passed", "informational")),
    }


def _stored(failures: Iterator[FailedAttempt], info: RunInfo, summary: Summary, store: str | None) -> Run:
    """Store a run with the attempts that did not pass. Attempts at the same case stand under one position."""
    run_store = open_store(store) if store is not None else temporary_store()
    positions: dict[object, int] = {}
    attempts: Counter[int] = Counter()
    run_store.begin(info)
    for number, attempt in enumerate(failures):
        case = attempt.expected
        position = positions.setdefault(case.position if case.position != OWN_CASE else ("own", number), len(positions))
        attempts[position] += 1
        place = attempts[position]
        run_store.add_cases(info.id, [msgspec.structs.replace(case, position=position)])
        recording = msgspec.structs.replace(attempt.recording, attempt=place)
        run_store.add_recording(info.id, position, recording, may_wait=True)
        run_store.add_result(info.id, msgspec.structs.replace(attempt.result, position=position, attempt=place))
    run_store.finish(info, summary)
    return Run(info, summary, run_store)


def plan_dataset(
    paths: Sequence[str | Path],
    folder: Path,
    eval_set: EvalSet | Paths | None = None,
    criteria: Criteria = None,
    options: DatasetOptions = DatasetOptions(),  # noqa: B008  (a frozen record)
    *,
    executor: Executor | None = None,
    match: loading.Match = "id",
    lenient: bool = False,
    allow_code: bool = False,
    thresholds: Thresholds = NO_THRESHOLDS,
) -> DatasetPlan:
    """Read and check everything that scoring a data set needs, but not its conversations. Raises UsageError."""
    import_extra("pyarrow", "parquet")
    import_extra("duckdb", "scale")
    check_match(match)
    options.check()
    if match == "order":
        raise UsageError("--match order: a data set is read in parts that have no common order; match by id or query")
    if (folder / MANIFEST).exists():
        raise UsageError(f"{folder}: holds the results of a finished run; give another folder")
    notes: list[str] = []
    loaded_sets, set_notes = _sets(
        eval_set, criteria, thresholds=thresholds, lenient=lenient, allow_code=allow_code, judges=Judges()
    )
    cases = None if eval_set is None else tuple(loading.plan_cases(loaded_sets))
    own_criteria = _one_set_of_criteria(loaded_sets)
    for criterion in own_criteria:
        if models_of(criterion.metric):
            raise UsageError(
                f"--out: {criterion.name} asks a model, which the workers of a data set cannot; "
                "leave it out of the configuration, or score without --out"
            )
        check_picklable(criterion, "--out")
    files = tuple(find_data_files(paths))
    shards = tuple(cut_into_shards(files, options.columns, notes.append))
    arguments: dict[str, Any] = {
        "paths": list(map(str, paths)),
        "against": None if eval_set is None else [loaded.eval_set.id for loaded in loaded_sets],
        "config": str(criteria) if isinstance(criteria, str | Path) else None,
        "match": match,
        "thresholds": dict(thresholds),
        "lenient": lenient,
        "allow_code": allow_code,
        "options": msgspec.to_builtins(options),
    }
    scorer = ShardScorer(folder, own_criteria, cases, match, lenient, options.keep_failures)
    info = run_info("score", arguments, set_notes, loaded_sets, {})
    return DatasetPlan(
        info, folder, files, shards, scorer, options, executor or InProcess(), (*set_notes.warnings, *notes)
    )


def _sets(
    eval_set: EvalSet | Paths | None, criteria: Criteria, **settings: Any
) -> tuple[list[loading.LoadedSet], Notes]:
    """Return the eval sets with their criteria. Without eval sets, the criteria belong to a set without cases."""
    if eval_set is None:
        if criteria is None:
            raise UsageError("--out needs --config, or --against with an eval set that has a configuration beside it")
        return load_sets(EvalSet(loading.RECORDED), criteria, **settings)
    return load_sets(eval_set if isinstance(eval_set, EvalSet) else paths_of(eval_set, EVAL_SET), criteria, **settings)


def _one_set_of_criteria(loaded_sets: Sequence[loading.LoadedSet]) -> tuple[Criterion, ...]:
    first = loaded_sets[0].criteria
    if any(loaded.criteria != first for loaded in loaded_sets):
        raise UsageError("the eval sets have different criteria, and a data set has the same for all; give --config")
    return first
