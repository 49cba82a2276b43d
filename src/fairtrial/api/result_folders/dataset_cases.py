"""Group the conversations of a scored data set into attempts at the same case, group by group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from zlib import crc32

from fairtrial.api.result_folders.dataset_tables import ConversationRow, OutcomeColumns
from fairtrial.records.attempt_row import AttemptRow, OutcomeRow
from fairtrial.records.keys import CaseKey
from fairtrial.records.result import Verdict
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.loading.object_folders import ObjectFolder

_BATCH = 5_000
_CONVERSATIONS = 25_000
"""The least number of conversations of a group, roughly, unless there are fewer."""
_ATTEMPTS = 500_000
"""The same for groups of which only the numbers of attempts are held. Each group reads all of its parts again."""
_MOST_SHARED = 100_000
"""The number of different attempts that are remembered, so that equal attempts take the memory of one."""
_MOST_RUNS = 16

Conversation = tuple[ConversationRow, Sequence[OutcomeColumns]]
"""The columns of a conversation, and those of its outcomes in their order."""


_ATTEMPT_COLUMNS = (
    *("conversation", "position", "file", "eval_set", "case_id", "digest"),
    *("verdict", "valid", "failure_side", "probability"),
)
_VALUE_COLUMNS = ("conversation", "criterion", "value", "verdict")
_Value = tuple[str, float | None, str]
_Row = TypeVar("_Row", bound=tuple[Any, ...])
_Outcome = TypeVar("_Outcome", bound=tuple[Any, ...])


class CaseGroup(NamedTuple):
    """Parts of the results in their order, and the cases of which they are read.

    With several buckets, a hash of the case decides about its bucket. `answers_cases` says whether the conversations
    answer cases of eval sets. Otherwise conversations with the same id in the same file are attempts at a case.
    """

    folder: Path | ObjectFolder
    parts: tuple[str, ...]
    answers_cases: bool
    bucket: int = 0
    buckets: int = 1

    def conversations(self, *, stratified: bool = False) -> Iterator[Conversation]:
        """Yield the conversations in their order. Their strata are read if the sample is stratified."""
        names = [name for name in ConversationRow._fields if stratified or name != "stratum"]
        for part in self.parts:
            with self._local(part, ("attempts", "outcomes")) as folder:
                of_bucket = self._conversations_of_bucket(folder, part)
                rows = read_columns(folder / "attempts" / part, names, of_bucket)
                outcomes = read_columns(folder / "outcomes" / part, OutcomeColumns._fields, of_bucket)
                conversations = rows if stratified else ((*row, None) for row in rows)
                yield from _join_items(map(ConversationRow._make, conversations), map(OutcomeColumns._make, outcomes))

    def positions(self) -> set[int]:
        """Return the positions of the cases that a conversation answers."""
        positions: set[int] = set()
        for part in self.parts:
            with self._local(part, ("attempts",)) as folder:
                positions.update(position for (position,) in read_columns(folder / "attempts" / part, ["position"]))
        return positions

    @contextmanager
    def _local(self, part: str, tables: Sequence[str]) -> Iterator[Path]:
        """Yield the folder with a part of some tables, or a temporary copy of them if it is in an object store."""
        if isinstance(self.folder, Path):
            yield self.folder
            return
        with TemporaryDirectory(prefix="fairtrial-results-") as copy:
            self.folder.fetch(Path(copy), [f"{table}/{part}" for table in tables])
            yield Path(copy)

    def attempts(self) -> Iterator[tuple[CaseKey, list[AttemptRow]]]:
        """Yield each case with the numbers of its attempts. Equal attempts are one object, without a place."""
        keys: dict[Any, CaseKey] = {}
        cases: dict[Any, list[AttemptRow]] = {}
        shared: dict[Any, AttemptRow] = {}
        for (_, position, file, eval_set, case_id, digest, *numbers), own in self._attempt_columns():
            key = position if self.answers_cases else (file, case_id)
            if key not in keys:
                keys[key], cases[key] = CaseKey(eval_set, case_id, digest), []
            values = tuple(outcome[1:] for outcome in own)
            attempt = (*numbers, values)
            row = shared.get(attempt)
            if row is None:
                if len(shared) == _MOST_SHARED:
                    shared.clear()
                verdict, valid, failure_side, probability = numbers
                row = shared[attempt] = _make_attempt(verdict, valid, failure_side, probability, values)
            cases[key].append(row)
        yield from zip(keys.values(), cases.values(), strict=True)

    def _attempt_columns(self) -> Iterator[tuple[tuple[Any, ...], list[tuple[Any, ...]]]]:
        for part in self.parts:
            with self._local(part, ("attempts", "outcomes")) as folder:
                of_bucket = self._conversations_of_bucket(folder, part)
                rows = read_columns(folder / "attempts" / part, _ATTEMPT_COLUMNS, of_bucket)
                yield from _join_items(rows, read_columns(folder / "outcomes" / part, _VALUE_COLUMNS, of_bucket))

    def _conversations_of_bucket(self, folder: Path, part: str) -> Any:
        """Return the conversations of a part that belong to the bucket, or None if all of them do."""
        if self.buckets == 1:
            return None
        pa: Any = import_extra("pyarrow", "parquet")
        compute: Any = import_extra("pyarrow.compute", "parquet")
        parquet: Any = import_extra("pyarrow.parquet", "parquet")
        key = "position" if self.answers_cases else "case_id"
        table = parquet.read_table(folder / "attempts" / part, columns=["conversation", key], use_threads=False)
        cases = table.column(key).combine_chunks().dictionary_encode("encode")
        held = pa.array([self._holds(case) for case in cases.dictionary.to_pylist()], pa.bool_())
        return table.column("conversation").filter(compute.take(held, cases.indices)).combine_chunks()

    def _holds(self, case: Any) -> bool:
        number = case if isinstance(case, int) else crc32(str(case).encode())
        return number % self.buckets == self.bucket

    def key(self, row: ConversationRow) -> Any:
        """Return the identity of a conversation's case."""
        return row.position if self.answers_cases else (row.file, row.case_id)


def runs_of_parts(folder: Path | ObjectFolder, parts: Sequence[Part], *, answers_cases: bool) -> Iterator[CaseGroup]:
    """Yield groups of neighbouring parts. If the conversations answer cases, a case may be in several groups.

    Otherwise all attempts at a case are in one group, because conversations with the same id in a file are attempts at
    a case. The parts of a large file are divided by their cases, so that several workers count them.
    """
    if answers_cases:
        size = max(_CONVERSATIONS, -(-sum(part.conversations for part in parts) // _MOST_RUNS))
        yield from (CaseGroup(folder, names, answers_cases) for names in _runs([[part] for part in parts], size))
        return
    # Each bucket reads all parts, which takes long if it must fetch them.
    most = _MOST_RUNS if isinstance(folder, Path) else 1
    yield from _groups_of_units(folder, _parts_by_file(parts), _CONVERSATIONS * 4, most, answers_cases=False)


def _parts_by_file(parts: Iterable[Part]) -> list[list[Part]]:
    return [list(unit) for _, unit in groupby(parts, key=lambda part: part.file)]


def _groups_of_units(
    folder: Path | ObjectFolder, units: Iterable[list[Part]], size: int, most: int, *, answers_cases: bool
) -> Iterator[CaseGroup]:
    """Yield groups that hold all attempts at their cases. A unit has all attempts at its cases, too.

    A unit of more conversations than a size is divided into at most so many buckets, and smaller ones are together.
    """
    small: list[list[Part]] = []
    for unit in units:
        buckets = min(most, -(-sum(part.conversations for part in unit) // size))
        if buckets <= 1:
            small.append(unit)
            continue
        names = tuple(part.name for part in unit)
        yield from (CaseGroup(folder, names, answers_cases, bucket, buckets) for bucket in range(buckets))
    yield from (CaseGroup(folder, names, answers_cases) for names in _runs(small, size // 4))


def iter_cases(folder: Path, *, answers_cases: bool) -> Iterator[tuple[CaseKey, list[AttemptRow]]]:
    """Yield each case with the numbers of its attempts, which have no place of their own."""
    parts = list(_parts(folder))
    units = [parts] if answers_cases else _parts_by_file(parts)
    for group in _groups_of_units(folder, units, _ATTEMPTS, len(parts) * _ATTEMPTS, answers_cases=answers_cases):
        yield from group.attempts()


def _make_attempt(
    verdict: str, valid: bool | None, failure_side: str | None, probability: float | None, outcomes: Iterable[_Value]
) -> AttemptRow:
    rows = [OutcomeRow(criterion, value, Verdict(own)) for criterion, value, own in outcomes]
    return AttemptRow(0, 0, Verdict(verdict), valid, failure_side == "agent", rows, probability)


class Part(NamedTuple):
    """A part of the results. It has one file or a part of it, or several whole files of which `file` is the first."""

    name: str
    file: str
    conversations: int


def _parts(folder: Path) -> Iterator[Part]:
    """Yield the parts of the results in a folder."""
    parquet: Any = import_extra("pyarrow.parquet", "parquet")
    for path in sorted((folder / "attempts").glob("*.parquet")):
        with parquet.ParquetFile(path) as content:
            first = next(content.iter_batches(1, columns=["file"]))
            yield Part(path.name, first.column(0)[0].as_py(), content.metadata.num_rows)


def _runs(units: Iterable[list[Part]], size: int) -> Iterator[tuple[str, ...]]:
    """Yield the names of neighbouring parts with about so many conversations. Units are not divided."""
    names: list[str] = []
    total = 0
    for unit in units:
        names += [part.name for part in unit]
        total += sum(part.conversations for part in unit)
        if total >= size:
            yield tuple(names)
            names, total = [], 0
    if names:
        yield tuple(names)


def _join_items(rows: Iterable[_Row], outcomes: Iterable[_Outcome]) -> Iterator[tuple[_Row, list[_Outcome]]]:
    """Yield each conversation with its outcomes. Both begin with its number, and come in the same order."""
    remaining = iter(outcomes)
    outcome = next(remaining, None)
    for row in rows:
        own = []
        while outcome is not None and outcome[0] == row[0]:
            own.append(outcome)
            outcome = next(remaining, None)
        yield row, own


def read_columns(path: Path, names: Sequence[str], conversations: Any = None) -> Iterator[tuple[Any, ...]]:
    """Yield the values of columns row by row, of all conversations or of some."""
    if not path.exists():
        return
    compute: Any = import_extra("pyarrow.compute", "parquet")
    parquet: Any = import_extra("pyarrow.parquet", "parquet")
    texts = [name for name in names if name in _TEXTS]
    with parquet.ParquetFile(path, read_dictionary=texts) as content:
        for batch in content.iter_batches(_BATCH, columns=list(names), use_threads=False):
            if conversations is not None:
                batch = batch.filter(compute.is_in(batch.column("conversation"), value_set=conversations))  # noqa: PLW2901
            yield from zip(*(_values(batch.column(name)) for name in names), strict=True)


_TEXTS = frozenset(
    ("file", "eval_set", "digest", "verdict", "criterion", "open_parts", "kind", "tool", "field", "template")
)
"""Columns that hold the same texts again and again, each of which is made once."""


def _values(column: Any) -> list[Any]:
    """Return the values of a column. Many columns are empty in all rows."""
    pa: Any = import_extra("pyarrow", "parquet")
    if column.null_count == len(column):
        return [None] * len(column)
    if isinstance(column, pa.DictionaryArray):
        texts = [*column.dictionary.to_pylist(), None]
        return [texts[index] for index in column.indices.fill_null(len(texts) - 1).to_pylist()]
    values: list[Any] = column.to_pylist()
    return values
