"""Score a data set of any size into a folder, shard by shard, on any executor, and resumable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial.analysis.aggregation import scaled_to_population
from fairtrial.api.call_journal import CallJournal
from fairtrial.api.datasets.dataset_strata import Sample, draw_sample
from fairtrial.api.datasets.dataset_summary import summarize
from fairtrial.api.datasets.judge_estimates import estimate_judges
from fairtrial.api.datasets.object_log import ObjectLog
from fairtrial.api.datasets.shard_asking import ShardAsker
from fairtrial.api.datasets.shard_report import ShardReport, ShareLimits, count_strata, count_totals
from fairtrial.api.datasets.shard_scoring import FailedAttempt, ShardScorer, failures_path
from fairtrial.api.datasets.shared_models import (
    BATCHES,
    KEPT_CALLS,
    SharedModels,
    asks_models,
    open_call_store,
    shared_models,
)
from fairtrial.api.datasets.stored_failures import store_failures
from fairtrial.api.result_folders.dataset_cases import CaseGroup, Part, runs_of_parts
from fairtrial.api.result_folders.dataset_sources import MANIFEST
from fairtrial.api.result_folders.dataset_tables import SCHEMA_VERSION, folder_tables
from fairtrial.batch.parts import part_path
from fairtrial.batch.shard_log import ShardLog
from fairtrial.errors import UsageError, spell
from fairtrial.llm.model import ignore
from fairtrial.records.decoding import json_decoder
from fairtrial.records.run import RunInfo, now

if TYPE_CHECKING:
    from fairtrial.api.datasets.dataset_options import DatasetOptions
    from fairtrial.api.run_batches import OnBatch
    from fairtrial.api.stored_runs import Run
    from fairtrial.batch.executors import Executor
    from fairtrial.judge.judges import Judges
    from fairtrial.loading.data_files import DataFile
    from fairtrial.loading.joined_spans import JoinedSpans
    from fairtrial.loading.shards import Shard
    from fairtrial.records.ballot import Ballot
    from fairtrial.records.record import Json
    from fairtrial.records.reply import Reply

LOG = "progress.jsonl"

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
    judges: Judges
    warnings: tuple[str, ...] = ()
    joined: JoinedSpans | None = None
    max_incomplete: float | None = None

    @property
    def size(self) -> int:
        """The number of bytes to read."""
        return sum(shard.size for shard in self.shards)

    @property
    def estimate(self) -> str:
        """About how many calls of judges there will be, and their cost, in words. It is empty without judges."""
        return estimate_judges(self.scorer, self.shards, self.judges)

    def run(
        self,
        *,
        store: str | None = None,
        resume: bool = False,
        on_shard: OnShard = lambda *_: None,
        on_batch: OnBatch = ignore,
    ) -> Run:
        """Score the shards that are not finished yet, summarize the folder, and store the run.

        If the calls of judges go into batches, all of them are asked first. `on_batch` receives what happens to them.
        Raises UsageError if too many conversations are refused. The folder can then be resumed with another limit.
        """
        objects = self.scorer.objects
        names = () if objects is None else objects.names()
        manifest = self.folder / MANIFEST
        if (manifest.exists() if objects is None else MANIFEST in names) and not resume:
            raise UsageError(
                f"{self.location}: holds the results of a finished run; give another folder, or score late spans "
                f"with {spell('resume')}",
                code="would-overwrite",
            )
        if objects is None:
            manifest.unlink(missing_ok=True)
            self.folder.mkdir(parents=True, exist_ok=True)
            return self.run_logged(ShardLog(self.folder / LOG, ShardReport), store, on_shard, on_batch, resume=resume)
        with TemporaryDirectory(prefix="fairtrial-out-") as name:
            objects.remove_each([MANIFEST])
            if KEPT_CALLS in names:
                (Path(name) / KEPT_CALLS).write_bytes(*objects.read_each([KEPT_CALLS]))
            plan = replace(self, folder=Path(name), scorer=replace(self.scorer, folder=Path(name)))
            return plan.run_logged(ObjectLog(objects), store, on_shard, on_batch, resume=resume)

    @property
    def location(self) -> str:
        """The folder or the URL of the results."""
        return str(self.folder) if self.scorer.objects is None else self.scorer.objects.url

    def run_logged(
        self,
        log: ShardLog[ShardReport] | ObjectLog,
        store: str | None,
        on_shard: OnShard,
        on_batch: OnBatch,
        *,
        resume: bool,
    ) -> Run:
        """Score the shards that are not finished according to a log, which is removed at the end."""
        with closing(log):
            begun, reports = log.open(self._work, {"id": self.info.id, "started": self.info.started}, resume=resume)
            info = msgspec.structs.replace(self.info, id=begun["id"], started=begun["started"])
            run = replace(self, info=info).run_begun(log, self._current(reports), store, on_shard, on_batch)
            if self.joined is None:
                log.remove()  # Late spans may go on with the others.
        return run

    def _current(self, reports: Sequence[ShardReport]) -> list[ShardReport]:
        """Return the last report of each shard, except for parts that late spans changed: these are scored again."""
        by_number = {report.number: report for report in reports}
        return [report for report in by_number.values() if report.version == self._version(report.number)]

    def _version(self, number: int) -> str:
        """Return the digest of a part of joined spans, or an empty text for any other shard."""
        versions = () if self.joined is None else self.joined.versions
        return versions[number] if number < len(versions) else ""

    def run_begun(
        self,
        log: ShardLog[ShardReport] | ObjectLog,
        reports: list[ShardReport],
        store: str | None,
        on_shard: OnShard,
        on_batch: OnBatch,
    ) -> Run:
        """Score the shards that have no report yet, under the id of the run that the log names."""
        journal = None if self.scorer.objects is None else CallJournal(self.scorer.objects)

        def commit(report: ShardReport) -> None:
            if journal is not None:
                journal.upload()
            log.add(report)

        with self._shared_models(self.info, on_batch, journal) as models:
            self._ask_in_batches(models, reports)
            reports += self._finish_shards(models, tuple(reports), commit, on_shard)
            groups = list(self._groups(reports, self._answer_for_nobody(models, reports)))
        run = self._finish(reports, models, store, groups)
        if journal is not None:
            journal.remove()
        return run

    @contextmanager
    def _shared_models(self, info: RunInfo, on_batch: OnBatch, journal: CallJournal | None) -> Iterator[SharedModels]:
        """Call the models of the criteria during the block, if there are any."""
        if not any(map(asks_models, self.scorer.criteria)):
            yield SharedModels(self.scorer.criteria)
            return
        criteria, host = self.scorer.criteria, self.executor.host
        with shared_models(criteria, self.judges, self.folder, info, host, on_batch, journal) as models:
            yield models
        # Every question has been answered, so that nothing is at a provider any more.
        for path in self.folder.glob(f"{BATCHES}*"):
            path.unlink()

    def _ask_in_batches(self, models: SharedModels, earlier: Sequence[ShardReport]) -> None:
        """Ask all questions in waves of batches: the second wave asks what the replies of the first leave open."""
        if not models.asks_in_batches:
            return
        finished_numbers = {report.number for report in earlier}
        waiting = [shard for shard in self.shards if shard.number not in finished_numbers]
        judged = tuple(filter(asks_models, models.criteria))
        asker = ShardAsker(self._scorer(replace(models, criteria=judged), sample=self._sample()))
        while waiting:
            missing = list(self.executor.map(asker, waiting))
            models.check()
            waiting = [shard for shard, number in zip(waiting, missing, strict=True) if number]
            if waiting:
                models.exchange()
        models.end_batches()

    @property
    def _work(self) -> Json:
        """Everything on which the results depend."""
        joined = frozenset() if self.joined is None else self.joined.paths
        return {
            "version": self.info.version,
            "schema": SCHEMA_VERSION,
            "signatures": self.info.signatures,
            "cases": [case.digest for case in self.scorer.cases or ()],
            "match": self.scorer.match,
            "sample": [self.options.sample, self.options.seed, self.options.stratify],
            "carry": list(self.options.carry),
            "files": {file.path: [file.size, file.version] for file in self.files if file.path not in joined},
            # Spans may come late, so that the parts of their conversations have versions of their own.
            "joined": None if self.joined is None else len(self.joined.versions),
        }

    def _finish_shards(
        self,
        models: SharedModels,
        earlier: Sequence[ShardReport],
        commit: Callable[[ShardReport], None],
        on_shard: OnShard,
    ) -> Iterator[ShardReport]:
        limit = ShareLimits(self.options.max_refused, self.max_incomplete)
        for report in earlier:
            on_shard(self.shards[report.number], report)
            limit.add(report)
        finished_numbers = {report.number for report in earlier}
        waiting = [shard for shard in self.shards if shard.number not in finished_numbers]
        if not waiting:
            return
        scorer = self._scorer(models, sample=self._sample())
        for scored in self.executor.map(scorer, waiting, in_order=False):
            report = msgspec.structs.replace(scored, version=self._version(scored.number))
            models.check()
            commit(report)
            on_shard(self.shards[report.number], report)
            limit.add(report)
            yield report
        limit.check(at_end=True)

    def _sample(self) -> Sample | None:
        """Return the sample. Conversations are read for it first, except for a plain share."""
        options, lenient = self.options, self.scorer.lenient
        if options.sample is None:
            return None
        return draw_sample(
            options.sample, options.seed, options.stratify, self.shards, self.executor.map, lenient=lenient
        )

    def _scorer(self, models: SharedModels, **changes: Any) -> ShardScorer:
        """Return the scorer with criteria that ask shared models, for the cases of eval sets too."""
        cases = self.scorer.cases
        if cases is not None:
            cases = tuple(msgspec.structs.replace(case, criteria=models.criteria) for case in cases)
        return replace(
            self.scorer, criteria=models.criteria, cases=cases, link=models.link, run=self._run_in_tables, **changes
        )

    @property
    def _run_in_tables(self) -> RunInfo:
        """The run without its configuration, which may name a million files."""
        info, labels = self.info, {"name": self.info.name, "tags": list(self.info.tags)}
        return RunInfo(info.id, info.started, info.version, info.kind, labels)

    def _groups(self, reports: Sequence[ShardReport], unanswered: int = 0) -> Iterator[CaseGroup]:
        """Yield groups of the results of shards, and of cases that no conversation answers, if there are any."""
        counts = {report.number: report.conversations for report in reports} | {len(self.shards): unanswered}
        paths = [*(shard.path for shard in self.shards), ""]
        parts = [
            Part(part_path(Path(), "", number).name, paths[number], counts[number])
            for number in sorted(counts)
            if counts[number]
        ]
        # Workers see the folder under the same name, or fetch the parts from the object store.
        yield from runs_of_parts(self.scorer.objects or self.folder, parts, answers_cases=self.scorer.cases is not None)

    def _map(self, work: Callable[[CaseGroup], Any], groups: Sequence[CaseGroup]) -> Iterator[Any]:
        """Apply a function to groups. To start a cluster takes longer than a group of a usual size."""
        return self.executor.map(work, groups) if len(groups) > 1 else map(work, groups)

    def _finish(
        self, reports: Sequence[ShardReport], models: SharedModels, store: str | None, groups: Sequence[CaseGroup]
    ) -> Run:
        info, totals = self.info, count_totals(reports, self.options.keep_failures)
        kept = open_call_store(self.folder) if (self.folder / KEPT_CALLS).exists() else None
        replies: Mapping[str, Reply] = {} if kept is None else kept.replies(info.id)
        ballots: Mapping[str, Ballot] = {} if kept is None else kept.ballots(info.id)
        summary = summarize(
            groups,
            self.scorer.criteria,
            ballots.values(),
            self._map,
            informs=info.informs,
            defaults=info.defaults,
            rules=info.attempt_rules,
            population=count_strata(reports) if totals["outside_sample"] else {},
        )
        if totals["outside_sample"] and not self.options.stratify:
            summary = scaled_to_population(
                summary, totals["conversations"], totals["conversations"] + totals["outside_sample"]
            )
        notes = (*summary.notes, *models.notes, *self._notes(totals, reports), *self._lost_fields(reports))
        summary = msgspec.structs.replace(summary, notes=notes).with_alarms(models.alarms)
        location = str(self.folder.resolve()) if self.scorer.objects is None else self.location
        config = {**info.config, "dataset": {"folder": location, **totals}}
        info = msgspec.structs.replace(info, config=config, finished=now(), verdict=summary.verdict)
        run = store_failures(self._failures(reports), info, summary, store, replies, ballots)
        if kept is not None:
            kept.close()
        manifest = {
            "schema": SCHEMA_VERSION,
            "tables": folder_tables(self.options.carry),
            "run": info,
            "summary": summary,
            "files": self.files,
            "shards": sorted(reports, key=lambda report: report.number),
        }
        content = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
        if self.scorer.objects is not None:
            self.scorer.objects.upload(self.folder, KEPT_CALLS)
            self.scorer.objects.write(MANIFEST, content)
            return run
        half = self.folder / f".{MANIFEST}.half"
        half.write_bytes(content)
        half.replace(self.folder / MANIFEST)
        return run

    def _answer_for_nobody(self, models: SharedModels, reports: Sequence[ShardReport]) -> int:
        """Write the cases that no conversation answers, as an ordinary run counts them, and return their number."""
        if self.scorer.cases is None or self.options.sample is not None:
            return 0
        scorer, number = self._scorer(models), len(self.shards)
        scorer.remove(number)  # an earlier try may have written them, and late spans may answer them
        groups = list(self._groups(reports))
        positions = set[int]().union(*self._map(CaseGroup.positions, groups))
        cases = [case for case in scorer.cases or () if case.position not in positions]
        if cases:
            scorer.score_unanswered(cases, number)
        return len(cases)

    def _failures(self, reports: Sequence[ShardReport]) -> Iterator[FailedAttempt]:
        """Yield the attempts that did not pass, in the order of the data set, as many as the store is to hold."""
        decoder = json_decoder(FailedAttempt)
        remaining = self.options.keep_failures
        failing = sorted(report.number for report in reports if report.not_passed)
        for number in (*failing, len(self.shards)):
            path = failures_path(self.folder, number)
            if remaining > 0 and self.scorer.objects is not None:
                self.scorer.objects.fetch(self.folder, [path.relative_to(self.folder).as_posix()])
            if remaining <= 0 or not path.exists():
                continue
            with path.open("rb") as file:
                for line in islice(file, remaining):
                    remaining -= 1
                    yield decoder.decode(line)

    @property
    def _sampling(self) -> str:
        seed = f"seed {self.options.seed}"
        return f"stratified by {self.options.stratify}, {seed}" if self.options.stratify else seed

    def _notes(self, totals: Mapping[str, int], reports: Sequence[ShardReport]) -> Iterator[str]:
        read, refused, outside_sample = (totals[name] for name in ("conversations", "refused", "outside_sample"))
        if refused:
            total = read + refused + outside_sample
            yield f"{refused:,} of {total:,} were refused; refused/*.parquet names each with its reason"
        if incomplete := totals["incomplete"]:
            reason = next(report.incomplete_reason for report in reports if report.incomplete)
            yield (
                f"{incomplete:,} of {read:,} conversations were not read in full, so that nothing is said to be absent "
                f"in them; for example: {reason}"
            )
        if outside_sample:
            yield (
                f"a sample of {read:,} of {read + outside_sample:,} conversations ({self._sampling}); "
                "the intervals are about all of them"
            )
        not_passed, kept = totals["not_passed"], totals["not_passed_kept"]
        if kept < not_passed:
            yield (
                f"not_passed/ holds {kept:,} of {not_passed:,} conversations that did not pass: of each shard the "
                f"first {self.options.keep_failures:,} ({spell('keep_failures')}); attempts/ and outcomes/ hold all"
            )
        if not_passed > self.options.keep_failures:
            yield f"the store holds {self.options.keep_failures:,} of {not_passed:,} attempts that did not pass"

    def _lost_fields(self, reports: Sequence[ShardReport]) -> Iterator[str]:
        for field_name in self.options.carry:
            if not any(report.carried.get(field_name) for report in reports):
                yield f"{spell('carry')} {field_name}: no conversation has this field, and its column is empty"
