"""Score Arrow batches of conversations, so that any engine that maps batches can score a data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from fairtrial import loading
from fairtrial.analysis.aggregation import SummaryBuilder
from fairtrial.api.arguments import check_match
from fairtrial.api.datasets.shard_scoring import NO_RUN, ShardScorer, choose_cases
from fairtrial.api.datasets.shared_models import asks_models
from fairtrial.api.plan_options import READ, ReadOptions
from fairtrial.api.planning import run_info
from fairtrial.api.result_folders.dataset_tables import (
    SCORE,
    ConversationRow,
    OutcomeColumns,
    ResultReader,
    folder_tables,
    make_terms,
    score_values,
)
from fairtrial.api.score_planning import check_picklable, load_dataset_sets, one_set_of_criteria
from fairtrial.batch.parts import arrow_array, arrow_schema
from fairtrial.batch.spilled_rows import KeyedRow, group_by_key
from fairtrial.errors import UsageError, spell
from fairtrial.formats.reading import Diagnostics
from fairtrial.judge.judges import Judges
from fairtrial.loading.shard_reading import Fields, Item, Refused, RowReader
from fairtrial.loading.shards import Columns, guess_columns, make_columns
from fairtrial.planned_case import PlannedCase
from fairtrial.reports.table_rows import (
    ATTEMPT,
    OUTCOME,
    PLACE,
    Row,
    attempt_values,
    list_types,
    outcome_values,
    read_values,
    table_attempt,
)
from fairtrial.scoring import score_case
from fairtrial.system.event_loop import blocking
from fairtrial.system.importing import import_extra

if TYPE_CHECKING:
    from fairtrial.api.eval_sets.eval_set_arguments import EvalSets
    from fairtrial.api.eval_sets.set_loading import Criteria
    from fairtrial.records.attempt import Recording
    from fairtrial.records.run import RunInfo
    from fairtrial.records.summary import Summary

Batch = TypeVar("Batch")
"""A `pyarrow.RecordBatch` or a `pyarrow.Table`. The library has no types."""

_OUTCOME = {**list_types(OUTCOME), **SCORE}
_place_values = read_values(PLACE)


@dataclass(frozen=True)
class BatchScorer:
    """Scores batches of conversations. It is picklable, and `score_batches` makes it.

    A batch is a `pyarrow.RecordBatch` or a `pyarrow.Table` whose schema is `input_schema`. The result has the same
    type, the schema `schema`, and one row for each row of the batch, in the same order. A row that is no conversation
    has its reason in the column `refused`, and no verdict.
    """

    input_schema: Any
    columns: Columns
    info: RunInfo
    _scorer: ShardScorer

    @cached_property
    def schema(self) -> Any:
        """The columns of the results.

        They are those of the table `attempts` of `fairtrial score --out` without the run, the carried columns, and
        `outcomes`, a list of the rows of the table `outcomes`.
        """
        pa: Any = import_extra("pyarrow", "parquet")
        carried = dict.fromkeys(self._scorer.carry, "string")
        start = arrow_schema({**list_types(PLACE), **list_types(ATTEMPT), **carried})
        outcomes = pa.list_(pa.struct(list(arrow_schema(_OUTCOME))))
        return pa.schema([*start, ("outcomes", outcomes), ("pointer", pa.string()), ("refused", pa.string())])

    def check_columns(self, schema: Any) -> None:
        """Raise UsageError if a schema lacks a column that is read."""
        missing = [name for name in self._rows.names if name not in schema.names]
        if missing:
            raise UsageError(
                f"the batch has no column {missing[0]!r}; it has {', '.join(schema.names)}", code="unknown-name"
            )

    def __call__(self, batch: Batch) -> Batch:
        """Score the conversations of a batch. Raises UsageError if a column is missing."""
        pa: Any = import_extra("pyarrow", "parquet")
        content: Any = batch
        self.check_columns(content.schema)
        reading = Diagnostics("batch", lenient=self._scorer.lenient)
        rows = content.select(self._rows.names).to_pylist()
        items = (self._rows.item(row, place, reading) for place, row in enumerate(rows))
        results: list[Row] = blocking(self._score(items))
        values = zip(*results, strict=True) if results else [()] * len(self.schema)
        arrays = [arrow_array(pa, column, kind) for column, kind in zip(values, self.schema.types, strict=True)]
        kind = pa.Table if isinstance(batch, pa.Table) else pa.RecordBatch
        scored: Batch = kind.from_arrays(arrays, schema=self.schema)
        return scored

    async def _score(self, items: Iterable[Item]) -> list[Row]:
        return [
            await self._score_item(item, case, recording) for item, case, recording in choose_cases(self._scorer, items)
        ]

    async def _score_item(self, item: Item, case: PlannedCase | Refused | None, recording: Recording) -> Row:
        if not isinstance(case, PlannedCase):
            refused = case or Refused("", "")
            place = (None, None, None, refused.id or None, None)
            return (*place, *[None] * len(ATTEMPT), *item.carried, None, refused.pointer, refused.reason)
        result = await score_case(case, recording)
        attempt = table_attempt(NO_RUN, result, recording)
        outcomes = [
            dict(zip(_OUTCOME, (*values, *score_values(outcome, number)), strict=True))
            for number, (outcome, values) in enumerate(zip(result.outcomes, outcome_values(attempt), strict=True))
        ]
        return (*_place_values(result), *attempt_values(attempt), *item.carried, outcomes, None, None)

    @cached_property
    def _rows(self) -> RowReader:
        return RowReader(self.columns, Fields("", self._scorer.carry), self.input_schema.names)

    def summarize(self, results: Iterable[Any]) -> Summary:
        """Return the summary of results, with the intervals of an ordinary run.

        `results` are all batches that this scorer returned, in any order. Rows with the same id are attempts at the
        same case. Beyond 100,000 cases, the rows of further cases wait in temporary files, so that memory stays
        bounded.
        """
        refusals: Counter[bool] = Counter()
        rows = chain.from_iterable(_rows_of_batch(batch, refusals) for batch in results)
        builder = SummaryBuilder(self.info.attempt_rules)
        reader = ResultReader({criterion.name: make_terms(criterion) for criterion in self._scorer.criteria})
        for group in group_by_key(rows):
            for position, (row, outcomes) in group:
                columns = [OutcomeColumns(0, *outcome) for outcome in outcomes]
                builder.count(*reader.result(ConversationRow(0, "", *row), columns, position))
            builder.close_cases()
        summary = builder.summary((), informs=self.info.informs, defaults=self.info.defaults)
        if not (refused := refusals[True]):
            return summary
        note = f"{refused:,} of {refusals.total():,} were refused; the column 'refused' has each reason"
        return replace(summary, notes=(*summary.notes, note))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what each process makes for itself."""
        return {name: value for name, value in self.__dict__.items() if name not in {"schema", "_rows"}}


def score_batches(
    schema: Any,
    criteria: Criteria,
    eval_set: EvalSets | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    carry: Sequence[str] = (),
    reading: ReadOptions = READ,
) -> BatchScorer:
    """Return a function that scores Arrow batches, for an engine that maps batches over a data set.

    `schema` is that of the batches. `columns` names the column of a whole `conversation`, or those of its `messages`
    and its `id`; without it, the usual names are looked for. `carry` names columns, or fields of the conversation, that
    are columns of the results. `eval_set` holds the cases that the conversations answer, found by their ids or, with
    `ReadOptions(match="query")`, by the first text of the user.

    Example: score each batch of a Parquet file.

        scorer = fairtrial.score_batches(file.schema_arrow, {"tool_call_count_v1": 4.0})
        results = [scorer(batch) for batch in file.iter_batches()]
        print(scorer.summarize(results).criteria[0].mean)

    Raises UsageError if the schema lacks a column, and if a criterion asks a model or cannot be pickled.
    """
    import_extra("pyarrow", "parquet")
    check_match(reading.match)
    if reading.match == "order":
        raise UsageError(
            f"{spell('match')} order: batches have no common order; match by id or query", code="options-conflict"
        )
    own_columns = guess_columns(schema.names) if columns is None else make_columns(columns, "columns", columns)
    if own_columns is None:
        raise UsageError(
            f"{spell('columns')}: no column has a usual name; name conversation, or messages and id; "
            f"the schema has {', '.join(schema.names)}"
        )
    loaded_sets, notes = load_dataset_sets(eval_set, criteria, reading, Judges())
    own_criteria = one_set_of_criteria(loaded_sets)
    for criterion in own_criteria:
        if asks_models(criterion):
            raise UsageError(
                f"{criterion.name}: asks a model, and workers share no budget, rates and canaries; "
                "score the data set with `fairtrial score --out`",
                code="not-supported",
            )
        check_picklable(criterion, "score_batches")
    cases = None if eval_set is None else tuple(loading.plan_cases(loaded_sets))
    folder_tables(carry)  # raises if a column has the name of another
    scorer = ShardScorer(Path(), own_criteria, cases, reading.match, reading.lenient, carry=tuple(carry))
    batch_scorer = BatchScorer(schema, own_columns, run_info("score", {}, notes, loaded_sets, {}), scorer)
    batch_scorer.check_columns(schema)
    return batch_scorer


_NAMES = ConversationRow._fields[2:]
_OUTCOME_NAMES = OutcomeColumns._fields[1:]


def _rows_of_batch(batch: Any, refusals: Counter[bool]) -> Iterator[KeyedRow]:
    """Yield the rows of a batch that have a result under the keys of their cases, and count which rows are refused.

    A row is the values of a conversation in the columns `_NAMES`, and those of its outcomes in `_OUTCOME_NAMES`.
    """
    for part in batch.to_batches() if hasattr(batch, "to_batches") else [batch]:
        size, available = part.num_rows, part.schema.names
        columns = [part.column(name).to_pylist() if name in available else [None] * size for name in _NAMES]
        outcomes = part.column("outcomes")
        ends = outcomes.offsets.to_pylist()
        start = ends[0] if ends else 0
        values = outcomes.values.slice(start, (ends[-1] if ends else 0) - start)
        own = list(zip(*(values.field(name).to_pylist() for name in _OUTCOME_NAMES), strict=True))
        refused = [reason is not None for reason in part.column("refused").to_pylist()]
        refusals.update(refused)
        for place, row in enumerate(zip(*columns, strict=True)):
            if not refused[place]:
                position, eval_set, case_id, *_ = row
                key = f"{position}" if position is not None else f"{eval_set}\n{case_id}"
                yield key, (row, own[ends[place] - start : ends[place + 1] - start])
