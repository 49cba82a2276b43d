"""Group the conversations of a scored data set into attempts at the same case, group by group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

from fairtrial.api.result_folders.dataset_tables import ConversationRow, OutcomeColumns
from fairtrial.records.attempt_row import AttemptRow, OutcomeRow
from fairtrial.records.keys import CaseKey
from fairtrial.records.result import Verdict
from fairtrial.system.importing import import_extra

_BATCH = 5_000
_CONVERSATIONS = 100_000
"""The number of conversations of a group, roughly. The cases of a group are open at once."""
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

    folder: Path
    parts: tuple[str, ...]
    answers_cases: bool
    bucket: int = 0
    buckets: int = 1

    def conversations(self, *, stratified: bool = False) -> Iterator[Conversation]:
        """Yield the conversations in their order. Their strata are read if the sample is stratified."""
        names = [name for name in ConversationRow._fields if stratified or name != "stratum"]
        for part in self.parts:
            of_bucket = self._conversations_of_bucket(part)
            rows = read_columns(self.folder / "attempts" / part, names, of_bucket)
            outcomes = read_columns(self.folder / "outcomes" / part, OutcomeColumns._fields, of_bucket)
            conversations = rows if stratified else ((*row, None) for row in rows)
            yield from _join_items(map(ConversationRow._make, conversations), map(OutcomeColumns._make, outcomes))

    def attempts(self) -> Iterator[tuple[CaseKey, list[AttemptRow]]]:
        """Yield each case with the numbers of its attempts. Equal attempts are one object, without a place."""
        keys: dict[Any, CaseKey] = {}
        cases: dict[Any, list[AttemptRow]] = {}
        shared: dict[Any, AttemptRow] = {}
        for part in self.parts:
            of_bucket = self._conversations_of_bucket(part)
            rows = read_columns(self.folder / "attempts" / part, _ATTEMPT_COLUMNS, of_bucket)
            outcomes = read_columns(self.folder / "outcomes" / part, _VALUE_COLUMNS, of_bucket)
            for (_, position, file, eval_set, case_id, digest, *numbers), own in _join_items(rows, outcomes):
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

    def _conversations_of_bucket(self, part: str) -> Any:
        """Return the conversations of a part that belong to the bucket, or None if all of them do."""
        if self.buckets == 1:
            return None
        pa: Any = import_extra("pyarrow", "parquet")
        compute: Any = import_extra("pyarrow.compute", "parquet")
        parquet: Any = import_extra("pyarrow.parquet", "parquet")
        key = "position" if self.answers_cases else "case_id"
        table = parquet.read_table(self.folder / "attempts" / part, columns=["conversation", key], use_threads=False)
        cases = table.column(key).combine_chunks().dictionary_encode("encode")
        held = pa.array([self._holds(case) for case in cases.dictionary.to_pylist()], pa.bool_())
        return table.column("conversation").filter(compute.take(held, cases.indices)).combine_chunks()

    def _holds(self, case: Any) -> bool:
        number = case if isinstance(case, int) else crc32(str(case).encode())
        return number % self.buckets == self.bucket

    def key(self, row: ConversationRow) -> Any:
        """Return the identity of a conversation's case."""
        return row.position if self.answers_cases else (row.file, row.case_id)


def runs_of_parts(folder: Path, *, answers_cases: bool) -> Iterator[CaseGroup]:
    """Yield groups of neighbouring parts. If the conversations answer cases, a case may be in several groups."""
    if not answers_cases:
        yield from groups_of_whole_cases(folder, answers_cases=False)
        return
    parts = list(_parts(folder))
    size = max(_CONVERSATIONS // 4, -(-sum(part.conversations for part in parts) // _MOST_RUNS))
    yield from (CaseGroup(folder, names, answers_cases=True) for names in _runs([[part] for part in parts], size))


def groups_of_whole_cases(folder: Path, *, answers_cases: bool, size: int = 0) -> Iterator[CaseGroup]:
    """Yield groups that hold all attempts at their cases, so that the attempts at a case are never in two groups.

    `size` is the number of conversations of a group, roughly. 0 is the usual one.
    """
    size = size or _CONVERSATIONS
    parts = list(_parts(folder))
    units = [parts] if answers_cases else [list(unit) for _, unit in groupby(parts, key=lambda part: part.file)]
    small: list[list[_Part]] = []
    for unit in units:
        buckets = -(-sum(part.conversations for part in unit) // size)
        if buckets <= 1:
            small.append(unit)
            continue
        names = tuple(part.name for part in unit)
        yield from (CaseGroup(folder, names, answers_cases, bucket, buckets) for bucket in range(buckets))
    yield from (CaseGroup(folder, names, answers_cases) for names in _runs(small, size // 4))


def iter_cases(folder: Path, *, answers_cases: bool) -> Iterator[tuple[CaseKey, list[AttemptRow]]]:
    """Yield each case with the numbers of its attempts, which have no place of their own."""
    for group in groups_of_whole_cases(folder, answers_cases=answers_cases, size=_ATTEMPTS):
        yield from group.attempts()


def _make_attempt(
    verdict: str, valid: bool | None, failure_side: str | None, probability: float | None, outcomes: Iterable[_Value]
) -> AttemptRow:
    rows = [OutcomeRow(criterion, value, Verdict(own)) for criterion, value, own in outcomes]
    return AttemptRow(0, 0, Verdict(verdict), valid, failure_side == "agent", rows, probability)


def answered_positions(folder: Path) -> set[int]:
    """Return the positions of the cases that a conversation answers."""
    return {
        position
        for part in _parts(folder)
        for (position,) in read_columns(folder / "attempts" / part.name, ["position"])
        if position is not None
    }


class _Part(NamedTuple):
    name: str
    file: str
    conversations: int


def _parts(folder: Path) -> Iterator[_Part]:
    """Yield the parts of the results. Each part has one file or a part of it, or several whole files."""
    parquet: Any = import_extra("pyarrow.parquet", "parquet")
    for path in sorted((folder / "attempts").glob("*.parquet")):
        with parquet.ParquetFile(path) as content:
            first = next(content.iter_batches(1, columns=["file"]))
            yield _Part(path.name, first.column(0)[0].as_py(), content.metadata.num_rows)


def _runs(units: Iterable[list[_Part]], size: int) -> Iterator[tuple[str, ...]]:
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
