"""Which numbers follow from the folder of a scored data set? They are computed without holding it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from fairtrial.aggregation import aggregate
from fairtrial.api.dataset_tables import result_of
from fairtrial.importing import import_extra
from fairtrial.records.attempt_rule import AttemptRules
from fairtrial.records.result import CaseResult, Criterion
from fairtrial.records.summary import Summary

_BATCH = 20_000
_BUCKET = 100_000
_MOST_BUCKETS = 64
"""The number of outcomes that are sorted at once, roughly, unless this made too many buckets: each reads all files."""
_MOST_MEMORY = "1GB"
"""The limit of what sorting may use, for a case with very many attempts. A bucket takes less than 100 MB."""


def summarize(
    folder: Path, criteria: Sequence[Criterion], *, answers_cases: bool, informs: bool, rules: AttemptRules
) -> Summary:
    """Return the numbers of the results in a folder, as an ordinary run computes them.

    Conversations of the same case are its attempts: of the same case of an eval set if the conversations answer cases,
    otherwise with the same id in the same file.
    """
    if not any((folder / "results").glob("*.parquet")):
        return aggregate((), informs=informs, rules=rules)
    by_name = {criterion.name: criterion for criterion in criteria}
    return aggregate(_results(folder, by_name, answers_cases=answers_cases), informs=informs, rules=rules)


def answered_positions(folder: Path) -> set[int]:
    """Return the positions of the cases that a conversation answers."""
    if not any((folder / "results").glob("*.parquet")):
        return set()
    duckdb: Any = import_extra("duckdb", "scale")
    query = "SELECT DISTINCT position FROM read_parquet(?) WHERE position IS NOT NULL"
    with duckdb.connect() as database:
        return {position for (position,) in database.execute(query, [str(folder / "results" / "*.parquet")]).fetchall()}


def iter_rows(folder: Path, *, answers_cases: bool) -> Iterator[Iterator[dict[str, Any]]]:
    """Yield the rows of each case, a row for each outcome, the outcomes of a conversation one after the other."""
    keys = ("position",) if answers_cases else ("file", "case_id")
    for _, rows in groupby(_joined_rows(folder, keys), key=lambda row: [row[key] for key in keys]):
        yield rows


def _results(folder: Path, criteria: dict[str, Criterion], *, answers_cases: bool) -> Iterator[CaseResult]:
    """Yield the results, the attempts of a case one after the other."""
    for position, of_case in enumerate(iter_rows(folder, answers_cases=answers_cases)):
        for _, rows in groupby(of_case, key=lambda row: row["conversation"]):
            yield result_of(list(rows), position, criteria)


def _joined_rows(folder: Path, keys: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the outcomes with the columns of their conversations, case after case.

    The cases are divided into buckets by a hash, so that what is sorted at once fits into memory.
    """
    duckdb: Any = import_extra("duckdb", "scale")
    case = ", ".join(f"results.{key}" for key in keys)
    query = f"""
        SELECT file, position, results.case_id, results.eval_set, digest, conversation, results.verdict, valid, fault,
            failure_side, inference_calls, input_tokens, output_tokens, simulator, environment,
            criterion, value, scores.verdict AS outcome, open_parts
        FROM read_parquet(?) AS results LEFT JOIN read_parquet(?) AS scores USING (conversation)
        WHERE hash({case}) % ? = ?
        ORDER BY {case}, conversation, number
    """  # noqa: S608  (the names of columns are ours)
    results, scores = (str(folder / table / "*.parquet") for table in ("results", "scores"))
    with tempfile.TemporaryDirectory(prefix="fairtrial-sort-") as temporary, duckdb.connect() as database:
        database.execute("SET memory_limit = ?", [_MOST_MEMORY])
        database.execute("SET temp_directory = ?", [temporary])
        # Each thread needs memory of its own, and the reader of the rows is slower than one thread.
        database.execute("SET threads = 1")
        ((rows,),) = database.execute("SELECT count(*) FROM read_parquet(?)", [scores]).fetchall()
        buckets = min(rows // _BUCKET + 1, _MOST_BUCKETS)
        for bucket in range(buckets):
            for batch in database.sql(query, params=[results, scores, buckets, bucket]).to_arrow_reader(_BATCH):
                yield from batch.to_pylist()
