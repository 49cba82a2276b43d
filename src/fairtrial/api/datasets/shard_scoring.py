"""Score a shard of a data set in a worker, and write its results into the folder."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from fairtrial import loading
from fairtrial.analysis.failures.failure_tally import EvenSample
from fairtrial.analysis.failures.run_failures import FAILED
from fairtrial.api.datasets.failure_values import failure_values
from fairtrial.api.datasets.shard_report import ShardReport
from fairtrial.api.result_folders.dataset_tables import (
    OWN_CASE,
    PLACES_OF_SHARD,
    Source,
    folder_rows,
    folder_tables,
)
from fairtrial.batch.parts import PartWriter, part_path
from fairtrial.llm.remote_calls import Link, collect_ballots, connect_to
from fairtrial.loading.matching import CaseFinder
from fairtrial.loading.shard_reading import Item, Refused, read_shard
from fairtrial.loading.shards import SHARD_BYTES, Shard
from fairtrial.planned_case import Pair, PlannedCase
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.expectation import ExpectedCase
from fairtrial.records.keys import digest_bytes
from fairtrial.records.record import Record
from fairtrial.records.result import CaseResult, Criterion, Verdict
from fairtrial.records.run import RunInfo
from fairtrial.records.trace import Trace
from fairtrial.reports.table_rows import Row, key_values, table_attempt
from fairtrial.scoring import score_case
from fairtrial.system.event_loop import blocking

if TYPE_CHECKING:
    from io import BufferedWriter

    from fairtrial.api.datasets.dataset_strata import Sample
    from fairtrial.loading.object_folders import ObjectFolder
    from fairtrial.records.ballot import Ballot

_EXAMPLES = 3
_PASSES = 1000
"""The most passes of a shard whose properties are kept, beside those of all failures."""
_AHEAD = 64
"""The number of conversations of a shard whose judges are asked at once."""
_ENCODER = msgspec.json.Encoder()
NO_RUN = RunInfo("", "", "", "score")
_NO_RECORDING = Recording("", Trace())


class FailedAttempt(Record, frozen=True):
    """An attempt that did not pass, with all that the store holds of it."""

    expected: ExpectedCase
    recording: Recording
    result: CaseResult


def failures_path(folder: Path, number: int) -> Path:
    """Return the file of the attempts of a shard that did not pass."""
    return folder / "not_passed" / f"part-{number:06d}.jsonl"


@dataclass(frozen=True)
class ShardScorer:
    """Scores shards into a folder. It is picklable, so that any worker can do it.

    `cases` are the cases of eval sets that the conversations answer. If they are None, each conversation is a case.
    At most `failure_limit` attempts of each shard that did not pass are kept, in the folder and for the store.
    `carry` names the fields of the input that become columns. `run` is the run, with its name and its tags alone.
    Criteria that ask models ask them over the `link`. The results go into `objects`, a folder of an object store, if it
    is given.
    """

    folder: Path
    criteria: tuple[Criterion, ...]
    cases: tuple[PlannedCase, ...] | None = None
    match: loading.Match = "id"
    lenient: bool = False
    failure_limit: int = 1000
    sample: Sample | None = None
    link: Link | None = None
    objects: ObjectFolder | None = None
    carry: tuple[str, ...] = ()
    run: RunInfo = NO_RUN

    def __call__(self, shard: Shard) -> ShardReport:
        """Score a shard, and return its counts. The files of the shard get their names at the end, all together.

        Files for an object store are written into a temporary folder first, because an upload cannot be renamed.
        """
        if self.objects is None:
            return self._score(shard)
        with TemporaryDirectory(prefix="fairtrial-part-") as folder:
            report = dataclasses.replace(self, folder=Path(folder), objects=None)(shard)
            self.upload(Path(folder), shard.number)
        return report

    def _score(self, shard: Shard) -> ShardReport:
        with _ShardWork.begin(self, shard) as work:
            blocking(self._score_connected(work, work.add_each(self.items(shard))))
            work.finish()
        return work.report

    def score_unanswered(self, cases: Sequence[PlannedCase], number: int) -> None:
        """Write the results of cases that no conversation answers, as the part `number`."""
        pairs = loading.MatchedRecordings(tuple(cases), (None,) * len(cases))
        with _ShardWork.begin(self, Shard(number, "", 0)) as work:
            blocking(self._score_connected(work, work.score_each(pairs)))
            work.finish()
        self.upload(self.folder, number)

    def upload(self, folder: Path, number: int) -> None:
        """Upload the files of a shard. If an earlier try left a file that a folder lacks, its object is removed."""
        if self.objects is not None:
            files = self._files(folder, number)
            self.objects.upload(folder, f"*/part-{number:06d}.*")
            self.objects.remove_each(file.relative_to(folder).as_posix() for file in files if not file.exists())

    def remove(self, number: int) -> None:
        """Remove the files of an earlier try at a shard, if there are any."""
        for file in self._files(self.folder, number):
            file.unlink(missing_ok=True)
        self.upload(self.folder, number)

    def _files(self, folder: Path, number: int) -> list[Path]:
        tables = folder_tables(self.carry)
        return [failures_path(folder, number), *(part_path(folder, table, number) for table in tables)]

    async def _score_connected(self, work: _ShardWork, scoring: Coroutine[Any, Any, None]) -> None:
        """Score everything of a shard, connected to the models."""
        async with connect_to(self.link) if self.link is not None else nullcontext():
            await scoring
            await work.write_waiting(0)

    def items(self, shard: Shard) -> Iterator[Item]:
        """Yield the conversations of a shard, with their strata if the sample is stratified."""
        stratify = self.sample.stratify if self.sample is not None else ""
        return read_shard(shard, lenient=self.lenient, stratify=stratify, carry=self.carry)

    @cached_property
    def finder(self) -> CaseFinder | None:
        """Finds the cases of the eval sets."""
        return None if self.cases is None else CaseFinder(self.cases, self.match)

    def __getstate__(self) -> dict[str, object]:
        """Leave out what each worker makes for itself."""
        return {name: value for name, value in self.__dict__.items() if name != "finder"}


def choose_cases(
    scorer: ShardScorer, items: Iterable[Item]
) -> Iterator[tuple[Item, PlannedCase | Refused | None, Recording]]:
    """Yield each conversation as it was read, with its case or why it is refused. Outside the sample, the case is None.

    Without eval sets, a conversation is a case of its own, at no position, or it answers a case of its own file.
    """
    sample, finder = scorer.sample, scorer.finder
    own_finders: dict[int, tuple[EvalSet, CaseFinder]] = {}
    own_digest = digest_bytes(EvalCase(""))

    def make_finder(eval_set: EvalSet) -> CaseFinder:
        if id(eval_set) not in own_finders:
            loaded = loading.LoadedSet(eval_set, scorer.criteria)
            cases = [replace(case, position=OWN_CASE) for case in loading.plan_cases([loaded])]
            own_finders[id(eval_set)] = (eval_set, CaseFinder(cases, "id"))
        return own_finders[id(eval_set)][1]

    for item in items:
        recording, eval_set = item.content, item.eval_set
        if isinstance(recording, Refused):
            yield item, recording, _NO_RECORDING
            continue
        case_id = recording.case_id
        if sample is not None and not sample.holds(case_id, item.stratum):
            yield item, None, recording
            continue
        own = make_finder(eval_set) if finder is None and eval_set is not None else finder
        if own is None:
            case = PlannedCase(OWN_CASE, case_id, EvalCase(case_id), scorer.criteria, loading.RECORDED, own_digest)
        else:
            found = own.find(recording, set_id=recording.eval_set)
            if found is None:
                yield item, Refused("", "belongs to no case of the eval sets", case_id), recording
                continue
            case = found
        yield item, case, replace(recording, case_id=case.case.id, eval_set=case.eval_set, attempt=1)


_Waiting = tuple[PlannedCase, Recording, Item | None, "asyncio.Task[CaseResult]"]
"""A conversation whose judges have not replied, as it was read."""


async def _judge(case: PlannedCase, recording: Recording) -> CaseResult:
    ballots: dict[str, Ballot] = {}
    collect_ballots(ballots)
    return await score_case(case, recording, ballots=ballots)


@dataclass
class _ShardWork:
    """The rows and the counts of a shard so far."""

    scorer: ShardScorer
    shard: Shard
    parts: PartWriter
    failure_file: BufferedWriter
    number: int = 0
    outside_sample: int = 0
    refused: int = 0
    incomplete: int = 0
    incomplete_reason: str = ""
    failure_count: int = 0
    waiting: deque[_Waiting] = field(default_factory=deque)
    warnings: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    strata: Counter[str] = field(default_factory=Counter)
    carried: Counter[str] = field(default_factory=Counter)

    @cached_property
    def passes(self) -> EvenSample[Row]:
        """The passes whose properties are kept. Behind the first shard of a file, a small shard keeps fewer."""
        share = max(_PASSES // 4, _PASSES * self.shard.size // SHARD_BYTES) if self.shard.start else _PASSES
        return EvenSample(min(_PASSES, share))

    @cached_property
    def key(self) -> Callable[[CaseResult], Row]:
        """A function from an attempt to the values that all of its rows share."""
        return key_values(self.scorer.run)

    @property
    def is_stratified(self) -> bool:
        """Whether the sample takes conversations from each stratum."""
        return self.scorer.sample is not None and self.scorer.sample.stratify != ""

    @classmethod
    @contextmanager
    def begin(cls, scorer: ShardScorer, shard: Shard) -> Iterator[_ShardWork]:
        """Yield the work on a shard. Its half files are removed unless it is finished."""
        path = failures_path(scorer.folder, shard.number)
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_name(f".{path.name}.half")
        try:
            with (
                closing(PartWriter(scorer.folder, shard.number, folder_tables(scorer.carry))) as parts,
                half.open("wb") as file,
            ):
                yield cls(scorer, shard, parts, file)
        finally:
            half.unlink(missing_ok=True)

    def finish(self) -> None:
        """Give the files of the shard their names."""
        self.parts.add("failures", *self.passes.items)
        self.failure_file.close()
        half = Path(self.failure_file.name)
        half.replace(failures_path(self.scorer.folder, self.shard.number))
        self.parts.finish()

    async def add_each(self, items: Iterable[Item]) -> None:
        """Score conversations, or note why they are refused."""
        for item, case, recording in choose_cases(self.scorer, items):
            if isinstance(case, Refused):
                self.refuse(item, case)
                continue
            if self.is_stratified:
                self.strata[item.stratum] += 1
            if case is None:
                self.outside_sample += 1
            else:
                await self.score(case, recording, item)

    async def score_each(self, pairs: Iterable[Pair]) -> None:
        """Score recordings of cases."""
        for case, recording in pairs:
            await self.score(case, recording, None)

    async def score(self, case: PlannedCase, recording: Recording, item: Item | None) -> None:
        """Score a conversation, and write its rows, or let it wait until judges have replied."""
        if recording.trace.incomplete:
            self.incomplete += 1
            self.incomplete_reason = self.incomplete_reason or f"{recording.case_id}: {recording.trace.incomplete}"
        if self.scorer.link is None:
            self.write(case, recording, item, await score_case(case, recording))
            return
        self.waiting.append((case, recording, item, asyncio.create_task(_judge(case, recording))))
        await self.write_waiting(_AHEAD)

    async def write_waiting(self, number: int) -> None:
        """Write the conversations that wait for judges, in their order, until only a number of them waits."""
        try:
            while len(self.waiting) > number:
                case, recording, item, task = self.waiting[0]
                result = await task
                del self.waiting[0]
                self.write(case, recording, item, result)
        except BaseException:
            for *_, task in self.waiting:
                task.cancel()
            raise

    def write(self, case: PlannedCase, recording: Recording, item: Item | None, result: CaseResult) -> None:
        """Write the rows of a conversation. Keep the conversation if it does not pass."""
        attempt = table_attempt(self.scorer.run, result, recording)
        verdict = attempt.verdict
        conversation = self.shard.number * PLACES_OF_SHARD + self.number
        place = None if item is None else item.place
        path = self.member(item).path
        stratum = item.stratum if item is not None and self.is_stratified else None
        carried = (None,) * len(self.scorer.carry) if item is None else item.carried
        source = Source(conversation, path, place, stratum, carried)
        for table, rows in folder_rows(attempt, source, self.key(result)):
            self.parts.add(table, *rows)
        if carried:
            names = zip(self.scorer.carry, carried, strict=True)
            self.carried.update(name for name, value in names if value is not None)
        self.number += 1
        self.verdicts[verdict.value] += 1
        self.warnings += bool(result.warnings)
        if verdict in FAILED or (verdict is Verdict.PASSED and self.passes.takes_next):
            row = (conversation, self.shard.path, *self.key(result), *failure_values(case.case, recording, attempt))
            if verdict is Verdict.PASSED:
                self.passes.add(row)
            else:
                self.parts.add("failures", row)
        elif verdict is Verdict.PASSED:
            self.passes.add(None)
        if verdict not in (Verdict.PASSED, Verdict.INFORMATIONAL) and self.failure_count < self.scorer.failure_limit:
            self.failure_count += 1
            failed = FailedAttempt(case.expected, recording, result)
            self.failure_file.write(_ENCODER.encode(failed) + b"\n")

    def refuse(self, item: Item, refused: Refused) -> None:
        """Write what cannot be scored, with its place and the reason."""
        member = self.member(item)
        self.refused += 1
        self.parts.add("refused", (member.path, item.place, refused.id, refused.pointer, refused.reason))
        if len(self.examples) < _EXAMPLES:
            pointer = f" {refused.pointer}" if refused.pointer else ""
            unit = "byte" if member.kind == "lines" else "row"
            self.examples.append(f"{member.path}, {unit} {item.place}{pointer}: {refused.reason}")

    def member(self, item: Item | None) -> Shard:
        """Return the shard of the file that holds a conversation."""
        return self.shard if item is None or item.member is None else item.member

    @property
    def report(self) -> ShardReport:
        """The counts so far."""
        return ShardReport(
            self.shard.number,
            self.number,
            self.refused,
            self.outside_sample,
            dict(self.verdicts),
            tuple(self.examples),
            self.warnings,
            dict(self.strata),
            dict(self.carried),
            incomplete=self.incomplete,
            incomplete_reason=self.incomplete_reason,
        )
