"""Group the conversations of a scored data set into attempts at the same case, group by group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from fairtrial.api.result_folders.dataset_tables import ConversationRow, OutcomeColumns
from fairtrial.system.importing import import_extra

_BATCH = 5_000
_CONVERSATIONS = 100_000
"""The number of conversations of a group, roughly. The cases of a group are open at once."""
_MOST_RUNS = 16

Conversation = tuple[ConversationRow, Sequence[OutcomeColumns]]
"""The columns of a conversation, and those of its outcomes in their order."""


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

    def _conversations_of_bucket(self, part: str) -> Any:
        """Return the conversations of a part that belong to the bucket, or None if all of them do."""
        if self.buckets == 1:
            return None
        pa: Any = import_extra("pyarrow", "parquet")
        path, key = self.folder / "attempts" / part, "position" if self.answers_cases else "case_id"
        numbers = [number for number, case in read_columns(path, ["conversation", key]) if self._holds(case)]
        return pa.array(numbers, pa.int64())

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


def groups_of_whole_cases(folder: Path, *, answers_cases: bool) -> Iterator[CaseGroup]:
    """Yield groups that hold all attempts at their cases, so that the attempts at a case are never in two groups."""
    parts = list(_parts(folder))
    units = [parts] if answers_cases else [list(unit) for _, unit in groupby(parts, key=lambda part: part.file)]
    small: list[list[_Part]] = []
    for unit in units:
        buckets = -(-sum(part.conversations for part in unit) // _CONVERSATIONS)
        if buckets <= 1:
            small.append(unit)
            continue
        names = tuple(part.name for part in unit)
        yield from (CaseGroup(folder, names, answers_cases, bucket, buckets) for bucket in range(buckets))
    yield from (CaseGroup(folder, names, answers_cases) for names in _runs(small, _CONVERSATIONS // 4))


def iter_cases(folder: Path, *, answers_cases: bool) -> Iterator[Sequence[Conversation]]:
    """Yield the conversations of each case."""
    for group in groups_of_whole_cases(folder, answers_cases=answers_cases):
        cases: dict[Any, list[Conversation]] = {}
        for conversation in group.conversations():
            cases.setdefault(group.key(conversation[0]), []).append(conversation)
        yield from cases.values()


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


def _join_items(rows: Iterable[ConversationRow], outcomes: Iterable[OutcomeColumns]) -> Iterator[Conversation]:
    """Yield each conversation with its outcomes, both of which come in the same order."""
    remaining = iter(outcomes)
    outcome = next(remaining, None)
    for row in rows:
        own = []
        while outcome is not None and outcome.conversation == row.conversation:
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
