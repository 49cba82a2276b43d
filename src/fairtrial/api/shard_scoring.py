"""How does a worker score a shard of a data set, and write its results into the folder?"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nsmallest
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from fairtrial import loading
from fairtrial.api.dataset_tables import OWN_CASE, PLACES_OF_SHARD, TABLES, result_row, score_rows
from fairtrial.batch.parts import PartWriter
from fairtrial.loading.matching import CaseFinder
from fairtrial.loading.shards import Item, Refused, Shard, read_shard
from fairtrial.planned_case import Pair, PlannedCase
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.expectation import ExpectedCase
from fairtrial.records.keys import digest
from fairtrial.records.record import Record
from fairtrial.records.result import CaseResult, Criterion, Verdict
from fairtrial.scoring import score_case

if TYPE_CHECKING:
    from io import BufferedWriter

_EXAMPLES = 3
_ENCODER = msgspec.json.Encoder()


class ShardReport(Record, frozen=True):
    """The counts of a finished shard, as they stand in the log of the folder.

    `conversations` were scored, `outside_sample` do not belong to the sample. `examples` are some of the refused ones.
    """

    number: int
    conversations: int
    refused: int
    outside_sample: int = 0
    verdicts: dict[str, int] = {}
    examples: tuple[str, ...] = ()
    warnings: int = 0


class FailedAttempt(Record, frozen=True):
    """An attempt that did not pass, with all that the store holds of it."""

    expected: ExpectedCase
    recording: Recording
    result: CaseResult


class Sample(Record, frozen=True):
    """The conversations for which `share_of` is below `bound`: with the same seed, the same conversations."""

    bound: float
    seed: int = 0


def share_of(case_id: str, seed: int) -> float:
    """Return a number from 0 to 1 that a conversation's id and a seed determine."""
    hashed = hashlib.blake2b(f"{seed}:{case_id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(hashed, "big") / 2**64


def smallest_shares(shard: Shard, *, number: int, seed: int, lenient: bool) -> list[float]:
    """Return the smallest values of `share_of` over the conversations of a shard, at most so many."""
    contents = (item.content for item in read_shard(shard, lenient=lenient))
    return nsmallest(
        number, (share_of(content.case_id, seed) for content in contents if isinstance(content, Recording))
    )


def failures_path(folder: Path, number: int) -> Path:
    """Return the file of the attempts of a shard that did not pass."""
    return folder / "not_passed" / f"part-{number:06d}.jsonl"


@dataclass(frozen=True)
class ShardScorer:
    """Scores shards into a folder. It is picklable, so that any worker can do it.

    `cases` are the cases of eval sets that the conversations answer. If they are None, each conversation is a case.
    At most `failure_limit` attempts of each shard that did not pass are kept for the store.
    """

    folder: Path
    criteria: tuple[Criterion, ...]
    cases: tuple[PlannedCase, ...] | None = None
    match: loading.Match = "id"
    lenient: bool = False
    failure_limit: int = 1000
    sample: Sample | None = None

    def __call__(self, shard: Shard) -> ShardReport:
        """Score a shard, and return its counts. The files of the shard get their names at the end, all together."""
        with _ShardWork.begin(self, shard) as work:
            asyncio.run(work.add_each(read_shard(shard, lenient=self.lenient)))
            work.finish()
        return work.report

    def score_unanswered(self, cases: Sequence[PlannedCase], number: int) -> None:
        """Write the results of cases that no conversation answers, as the part `number`."""
        pairs = loading.MatchedRecordings(tuple(cases), (None,) * len(cases))
        with _ShardWork.begin(self, Shard(number, "", 0)) as work:
            asyncio.run(work.score_each(pairs))
            work.finish()

    @cached_property
    def finder(self) -> CaseFinder | None:
        """Finds the cases of the eval sets."""
        return None if self.cases is None else CaseFinder(self.cases, self.match)

    def __getstate__(self) -> dict[str, object]:
        """Leave out what each worker makes for itself."""
        return {name: value for name, value in self.__dict__.items() if name != "finder"}


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
    failure_count: int = 0
    warnings: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    own_finders: dict[int, tuple[EvalSet, CaseFinder]] = field(default_factory=dict)
    digest: str = field(default_factory=lambda: digest(EvalCase("")))

    @classmethod
    @contextmanager
    def begin(cls, scorer: ShardScorer, shard: Shard) -> Iterator[_ShardWork]:
        """Yield the work on a shard. Its half files are removed unless it is finished."""
        path = failures_path(scorer.folder, shard.number)
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_name(f".{path.name}.half")
        try:
            with closing(PartWriter(scorer.folder, shard.number, TABLES)) as parts, half.open("wb") as file:
                yield cls(scorer, shard, parts, file)
        finally:
            half.unlink(missing_ok=True)

    def finish(self) -> None:
        """Give the files of the shard their names."""
        self.failure_file.close()
        half = Path(self.failure_file.name)
        half.replace(failures_path(self.scorer.folder, self.shard.number))
        self.parts.finish()

    async def add_each(self, items: Iterable[Item]) -> None:
        """Score conversations, or note why they are refused."""
        sample = self.scorer.sample
        for place, recording, eval_set in items:
            if isinstance(recording, Refused):
                self.refuse(place, recording)
            elif sample is not None and share_of(recording.case_id, sample.seed) >= sample.bound:
                self.outside_sample += 1
            elif (case := self.case_of(recording, eval_set)) is None:
                self.refuse(place, Refused("", "belongs to no case of the eval sets", recording.case_id))
            else:
                named = replace(recording, case_id=case.case.id, eval_set=case.eval_set, attempt=1)
                await self.score(case, named, place)

    async def score_each(self, pairs: Iterable[Pair]) -> None:
        """Score recordings of cases."""
        for case, recording in pairs:
            await self.score(case, recording, None)

    async def score(self, case: PlannedCase, recording: Recording, place: int | None) -> None:
        """Write the rows of a conversation. Keep the conversation if it does not pass."""
        result = await score_case(case, recording)
        verdicts = [outcome.verdict for outcome in result.outcomes]
        verdict = result.verdict_of(verdicts)
        conversation = self.shard.number * PLACES_OF_SHARD + self.number
        self.parts.add("results", result_row(result, verdict, conversation, self.shard.path, place))
        for row in score_rows(result, verdicts, conversation):
            self.parts.add("scores", row)
        self.number += 1
        self.verdicts[verdict.value] += 1
        self.warnings += bool(result.warnings)
        if verdict not in (Verdict.PASSED, Verdict.INFORMATIONAL) and self.failure_count < self.scorer.failure_limit:
            self.failure_count += 1
            self.failure_file.write(_ENCODER.encode(FailedAttempt(case.expected, recording, result)) + b"\n")

    def case_of(self, recording: Recording, eval_set: EvalSet | None) -> PlannedCase | None:
        """Return the case that a conversation answers. Without eval sets, it is a case of its own, at no position."""
        finder = self.scorer.finder
        if finder is None and eval_set is not None:
            finder = self.finder_of(eval_set)
        if finder is not None:
            return finder.find(recording, set_id=recording.eval_set)
        case_id = recording.case_id
        return PlannedCase(OWN_CASE, case_id, EvalCase(case_id), self.scorer.criteria, loading.RECORDED, self.digest)

    def finder_of(self, eval_set: EvalSet) -> CaseFinder:
        """Return the finder for the cases that stand in the file itself."""
        if id(eval_set) not in self.own_finders:
            loaded = loading.LoadedSet(eval_set, self.scorer.criteria)
            cases = [replace(case, position=OWN_CASE) for case in loading.plan_cases([loaded])]
            self.own_finders[id(eval_set)] = (eval_set, CaseFinder(cases, "id"))
        return self.own_finders[id(eval_set)][1]

    def refuse(self, place: int, refused: Refused) -> None:
        """Write what cannot be scored, with its place and the reason."""
        self.refused += 1
        self.parts.add("refused", (self.shard.path, place, refused.id, refused.pointer, refused.reason))
        if len(self.examples) < _EXAMPLES:
            pointer = f" {refused.pointer}" if refused.pointer else ""
            self.examples.append(f"{self.shard.path}, {self.unit} {place}{pointer}: {refused.reason}")

    @property
    def unit(self) -> str:
        """The name of what places of the shard count."""
        return "byte" if self.shard.kind == "lines" else "row"

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
        )
