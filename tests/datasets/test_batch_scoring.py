"""Arrow batches are scored as the conversations of a data set are."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from traffic import attempts, conversation, write_expectation

import fairtrial
from commands import fairtrial as command
from equal_numbers import assert_equal_numbers
from fairtrial import Score, UsageError
from fairtrial.batch import spilled_rows

pytestmark = pytest.mark.long

CALLS = {"tool_call_count_v1": 1.0}


def to_table(records: list[dict[str, Any]]) -> pa.Table:
    """A table with a conversation in each row, as a warehouse exports it."""
    rows = [
        {"id": record["id"], "tenant": f"t{i % 3}", "messages": json.dumps(record["messages"])}
        for i, record in enumerate(records)
    ]
    return pa.Table.from_pylist(rows)


@pytest.fixture
def table() -> pa.Table:
    """45 conversations."""
    return to_table([conversation(i) for i in range(45)])


def test_batches_have_the_rows_of_a_data_set(tmp_path: Path, table: pa.Table) -> None:
    """The columns of both have equal values, also the carried one."""
    pq.write_table(table, tmp_path / "traffic.parquet")
    (tmp_path / "config.json").write_text(json.dumps({"criteria": CALLS}))
    arguments: list[str | Path] = [
        "--config",
        tmp_path / "config.json",
        "--out",
        tmp_path / "out",
        "--carry",
        "tenant",
        "--store",
        "none",
    ]
    assert command("score", tmp_path / "traffic.parquet", *arguments).code == 0
    scorer = fairtrial.score_batches(table.schema, CALLS, carry=["tenant"])
    rows = [row for batch in table.to_batches(7) for row in scorer(batch).to_pylist()]
    outcomes = pq.read_table(tmp_path / "out" / "outcomes").to_pylist()
    for row, attempt in zip(rows, pq.read_table(tmp_path / "out" / "attempts").to_pylist(), strict=True):
        same = {name: value for name, value in row.items() if name in attempt}
        assert row.keys() - same.keys() == {"outcomes", "pointer", "refused"}
        assert same == {name: attempt[name] for name in same}
        own = [outcome for outcome in outcomes if outcome["conversation"] == attempt["conversation"]]
        assert row["outcomes"] == [{name: outcome[name] for name in row["outcomes"][0]} for outcome in own]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_bytes())
    summary = scorer.summarize([scorer(table)])
    assert_equal_numbers(json.loads(msgspec.json.encode(summary)), manifest["summary"])


def test_attempts_at_cases_have_the_summary_of_a_run(tmp_path: Path) -> None:
    """The order of batches does not matter."""
    expected = write_expectation(tmp_path)
    records = attempts(60)
    recorded = tmp_path / "traffic.jsonl"
    recorded.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    run = fairtrial.score(recorded, expected)
    table = to_table(records)
    scorer = fairtrial.score_batches(table.schema, None, expected)
    results = [scorer(batch) for batch in table.to_batches(8)]
    assert_equal_numbers(
        json.loads(msgspec.json.encode(scorer.summarize(reversed(results)))),
        json.loads(msgspec.json.encode(run.summary)),
    )


@pytest.mark.parametrize("most", [7, 100_000])
def test_many_cases_have_the_summary_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Beyond some cases, the rows of further ones wait on disk. Slices of tables are results, too."""
    monkeypatch.setattr(spilled_rows, "_MOST_KEYS", most)
    records = [conversation(i % 30) for i in range(45)]
    recorded = tmp_path / "traffic.jsonl"
    recorded.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    (tmp_path / "config.json").write_text(json.dumps({"criteria": CALLS}))
    run = fairtrial.score(recorded, criteria=tmp_path / "config.json")
    table = to_table(records)
    scorer = fairtrial.score_batches(table.schema, CALLS)
    results = scorer(table)
    slices = [results.slice(start, 8) for start in range(0, 45, 8)]
    assert_equal_numbers(
        json.loads(msgspec.json.encode(scorer.summarize(slices))), json.loads(msgspec.json.encode(run.summary))
    )
    assert sum(run.summary.case_verdicts.values()) == 30


def test_the_result_has_the_type_and_the_length_of_the_batch(table: pa.Table) -> None:
    """Also of an empty one."""
    scorer = fairtrial.score_batches(table.schema, CALLS)
    (batch,) = table.to_batches()
    for given in (table, batch, batch.slice(0, 0)):
        scored = scorer(given)
        assert type(scored) is type(given)
        assert (scored.schema, scored.num_rows) == (scorer.schema, given.num_rows)


def test_a_row_that_is_no_conversation_has_its_reason_in_its_place(table: pa.Table) -> None:
    """It has no verdict, its id tells which row it is, and the summary counts it."""
    rows = table.to_pylist()
    rows[1]["messages"] = "{"
    rows[2]["messages"] = '"A text."'
    rows[3]["messages"] = '[{"role": "user", "content": "\\ud800"}]'
    scorer = fairtrial.score_batches(table.schema, CALLS)
    scored = scorer(pa.Table.from_pylist(rows, schema=table.schema))
    refused = scored.column("refused").to_pylist()
    assert [i for i, reason in enumerate(refused) if reason] == [1, 2, 3]
    assert refused[1].startswith("is not JSON")
    assert scored.column("verdict").to_pylist()[1:4] == [None] * 3
    assert scored.column("case_id").to_pylist()[1:4] == [row["id"] for row in rows[1:4]]
    assert scorer.summarize([scored]).notes[-1] == "3 of 45 were refused; the column 'refused' has each reason"


def test_a_scorer_travels_to_another_process(table: pa.Table, tmp_path: Path) -> None:
    """Where it scores as it does here."""
    scorer = fairtrial.score_batches(table.schema, CALLS)
    scorer(table)
    (tmp_path / "scorer").write_bytes(pickle.dumps(scorer))
    pq.write_table(table, tmp_path / "table")
    code = (
        "import pickle, sys, pyarrow.parquet as pq\n"
        "scorer = pickle.load(open(sys.argv[1], 'rb'))\n"
        "pq.write_table(scorer(pq.read_table(sys.argv[2])), sys.argv[3])"
    )
    paths = [tmp_path / name for name in ("scorer", "table", "scored")]
    subprocess.run([sys.executable, "-c", code, *paths], check=True)
    assert pq.read_table(tmp_path / "scored").equals(scorer(table))


class TestRefusals:
    """What cannot work is refused before an engine starts."""

    def test_a_schema_without_usual_columns(self) -> None:
        with pytest.raises(UsageError, match="the schema has turns, key"):
            fairtrial.score_batches(pa.schema([("turns", pa.string()), ("key", pa.string())]), CALLS)

    def test_a_named_column_that_is_absent(self, table: pa.Table) -> None:
        with pytest.raises(UsageError, match="no column 'turns'; it has id, tenant, messages"):
            fairtrial.score_batches(table.schema, CALLS, columns={"messages": "turns"})

    @pytest.mark.parametrize("columns", [{"id": "id"}, {"turns": "messages"}, {"messages": ""}])
    def test_columns_that_do_not_name_a_conversation(self, table: pa.Table, columns: dict[str, str]) -> None:
        with pytest.raises(UsageError, match="conversation"):
            fairtrial.score_batches(table.schema, CALLS, columns=columns)

    def test_a_batch_of_another_schema(self, table: pa.Table) -> None:
        scorer = fairtrial.score_batches(table.schema, CALLS)
        with pytest.raises(UsageError, match="no column 'messages'"):
            scorer(table.drop_columns(["messages"]))

    def test_a_criterion_that_asks_a_model(self, table: pa.Table) -> None:
        judged = {
            "rubric_based_final_response_quality_v1": {
                "threshold": 0.8,
                "rubrics": [{"rubric_id": "polite", "rubric_content": {"text_property": "Is polite."}}],
            }
        }
        with pytest.raises(UsageError, match="asks a model"):
            fairtrial.score_batches(table.schema, judged)

    def test_a_metric_that_cannot_be_pickled(self, table: pa.Table) -> None:
        with pytest.raises(UsageError, match="pickle"):
            fairtrial.score_batches(table.schema, {"own": lambda _trace, _case: Score(1.0)})

    def test_a_carried_column_with_the_name_of_a_result(self, table: pa.Table) -> None:
        with pytest.raises(UsageError, match="have a column of this name"):
            fairtrial.score_batches(table.schema, CALLS, carry=["verdict"])
