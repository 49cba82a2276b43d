"""Other libraries read the tables of a run, with the numbers of the run and dead text."""

from __future__ import annotations

import dataclasses
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from fairtrial.records.attempt import Failure, Recording
from fairtrial.records.ballot import Ballot, Decision, JudgeAnswer, JudgeCall, Vote, VoteResult
from fairtrial.records.case import EvalCase
from fairtrial.records.expectation import ExpectedCase
from fairtrial.records.keys import CaseKey
from fairtrial.records.label import Label
from fairtrial.records.result import CaseResult, Fault, JudgeStats, Outcome
from fairtrial.records.run import RunInfo
from fairtrial.records.score import PartKey, Score
from fairtrial.records.trace import Invocation, Message, Thought, ToolCall, ToolResult, Trace, Usage
from fairtrial.reports import tables
from fairtrial.reports.table_rows import TABLES, list_types
from fairtrial.reports.views.view_rows import sum_tokens
from finished import FinishedRun
from hostile_corpus import HOSTILE, filled

pa = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402  (after the check that pyarrow is installed)

INFO = RunInfo("20260101-000000-aaaaaa", "2026-01-01T00:00:00", "0", "run", signatures={"match": {"metric": "m"}})
INNER = Score(0.5, "why", parts=(Score(0.25, key=PartKey("rubric", id="kind")),), key=PartKey("invocation", 0))
JUDGED = Score(0.5, "reason", parts=(INNER,), ballots=("b",))
RESULT = CaseResult(
    "case",
    0,
    (
        Outcome(
            "match", Score(0.5, "reason", parts=(INNER,), ballots=("b",)), 0.8, judge_stats=JudgeStats(2, 0, 0, 0.5)
        ),
        Outcome("tokens", Score(None, "not recorded")),
    ),
    failure=Failure("agent", "boom"),
    invalidations=(Fault("judge", ("evidence",)),),
    usage={"input_tokens": 7, "output_tokens": 3},
    eval_set="set",
    digest="d",
)
TRACE = Trace(
    (
        Invocation(
            Message("hi"),
            (Thought("hm"), ToolCall("buy", {"n": 1}), ToolResult("buy", {"ok": True}, is_error=True)),
            Message("done", author="shop"),
        ),
    )
)
VOTE = Vote(
    1, "model", 1, {"q": JudgeAnswer("yes", "because", "quote")}, {"r": "unreadable"}, (JudgeCall("k", "m", cost=0.25),)
)
BALLOT = Ballot("b", "prompt", 1, 1, (VOTE,), {"q": Decision(VoteResult(1.0))})
LABEL = Label(CaseKey("set", "case", "d"), 1, "match", PartKey("invocation", 0), 1.0, "ann", "2026", "note", "key", 2.0)


RUN = FinishedRun(
    INFO,
    (RESULT,),
    (ExpectedCase(0, "case", EvalCase("case"), "set"),),
    ((0, Recording("case", TRACE)),),
    ballots={"b": BALLOT},
    labels=(LABEL,),
)


def rows(name: str, run: Any = RUN) -> list[dict[str, Any]]:
    """The rows of a table, as a library reads them."""
    found: list[dict[str, Any]] = pa.table(tables.make_tables(run)[name]).to_pylist()
    return found


def test_attempts_and_outcomes_hold_the_numbers() -> None:
    """A number that does not exist is null, never zero."""
    (attempt,) = rows("attempts")
    assert attempt["verdict"] == "failed"
    assert attempt["valid"] is False
    assert attempt["fault"] == "judge"
    assert (attempt["failure_side"], attempt["input_tokens"], attempt["judge_cost"]) == ("agent", 7, 0.5)
    usage = {"input_tokens": 7, "output_tokens": 3, "inference_calls": 2, "unreported_calls": 1}
    (attempt,) = rows("attempts", dataclasses.replace(RUN, results=(replace(RESULT, usage=usage),)))
    assert (attempt["inference_calls"], attempt["input_tokens"], attempt["output_tokens"]) == (2, None, None)
    assert sum_tokens(usage) is None
    match, tokens = rows("outcomes")
    assert (match["value"], match["threshold"], match["verdict"], match["judge_calls"]) == (0.5, 0.8, "failed", 2)
    assert (tokens["value"], tokens["threshold"], tokens["judge_calls"]) == (None, None, None)


def test_rows_name_the_run_its_series_and_the_model() -> None:
    """The name and the tags of the run, the models and the time of the conversation are columns."""
    info = replace(INFO, config={"name": "nightly", "tags": ["eu", "v2"]})
    first = replace(TRACE.invocations[0], usages=(Usage(1, 2, model="small"), Usage(model="large")), created=5.0)
    recording = Recording("case", Trace((first, replace(first, created=9.0))))
    run = FinishedRun(info, RUN.results, RUN.expectations, ((0, recording),))
    (attempt,) = rows("attempts", run)
    assert (attempt["series"], attempt["tags"]) == ("nightly", ["eu", "v2"])
    assert (attempt["model"], attempt["created"], attempt["run_started"]) == ("small, large", 5.0, INFO.started)
    assert (attempt["invalid_side"], attempt["fault"]) == ("judge", "judge")
    assert {(row["run"], row["series"], row["digest"]) for row in rows("outcomes", run)} == {(INFO.id, "nightly", "d")}
    (unnamed,) = rows("attempts", FinishedRun(INFO, RUN.results))
    assert (unnamed["series"], unnamed["tags"], unnamed["model"], unnamed["created"]) == (None, [], None, None)


def test_a_side_that_invalidates_is_not_at_fault_if_the_attempt_passed() -> None:
    """`fault` asks who failed the attempt, `invalid_side` who made it say nothing."""
    passed = replace(RESULT, outcomes=(Outcome("match", Score(1.0), 0.8),), failure=None)
    (attempt,) = rows("attempts", FinishedRun(INFO, (passed,)))
    assert (attempt["verdict"], attempt["fault"], attempt["invalid_side"]) == ("passed", None, "judge")


def test_parts_have_places_and_keys() -> None:
    """At any depth, in the order of the score."""
    assert [(part["part"], part["kind"], part["index"], part["id"], part["value"]) for part in rows("parts")] == [
        ("0", "invocation", 0, "", 0.5),
        ("0.0", "rubric", None, "kind", 0.25),
    ]


def test_ballots_have_a_row_for_each_vote_and_item() -> None:
    """With the answer, or with the problem in its place."""
    first, second = rows("ballots")
    assert (first["item"], first["answer"], first["rationale"], first["vote_cost"]) == ("q", "yes", "because", 0.25)
    assert (second["item"], second["answer"], second["problem"]) == ("r", None, "unreadable")


def test_steps_are_the_conversation_in_its_order() -> None:
    """From the message of the user to the reply, with calls and results as JSON."""
    steps = rows("steps")
    assert [step["kind"] for step in steps] == ["user", "thought", "tool_call", "tool_result", "reply"]
    assert [step["content"] for step in steps][2:4] == ['{"n": 1}', '{"ok": true}']
    assert (steps[3]["tool"], steps[3]["is_error"], steps[4]["text"], steps[4]["author"]) == (
        "buy",
        True,
        "done",
        "shop",
    )


def test_labels_are_rows() -> None:
    """With the part that is meant, and the weight in the sample."""
    (label,) = rows("labels")
    assert (label["part"], label["value"], label["author"], label["weight"]) == ("invocation 1", 1.0, "ann", 2.0)


def test_files_have_the_documented_columns_and_the_signatures(tmp_path: Path) -> None:
    """One file for each table; its metadata holds the manifest of the run."""
    tables.write(tmp_path / "out", RUN)
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == sorted(f"{name}.parquet" for name in TABLES)
    page = (Path(__file__).parents[2] / "docs" / "reference" / "tables.md").read_text(encoding="utf-8")
    for name, table in TABLES.items():
        schema = parquet.read_schema(tmp_path / "out" / f"{name}.parquet")
        kinds = {field.name: "list" if pa.types.is_list(field.type) else str(field.type) for field in schema}
        assert kinds == list_types(table.columns)
        assert b'"match":{"metric":"m"}' in schema.metadata[b"fairtrial_run"]
        section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert [column for column in table.columns if f"`{column.name}`" not in section] == []


@pytest.mark.long
def test_rows_are_streamed_in_groups(tmp_path: Path) -> None:
    """A row group holds 10,000 rows, and the table is never whole in memory."""
    results = tuple(replace(RESULT, position=number) for number in range(5_001))
    run = FinishedRun(INFO, results)
    tables.write(tmp_path, run)
    file = parquet.ParquetFile(tmp_path / "outcomes.parquet")
    assert [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)] == [10_000, 2]
    assert next(tables.make_tables(run)["outcomes"].batches()).num_rows == 10_000


def test_hostile_text_is_kept_as_text() -> None:
    """Every string comes back as it was; a lone surrogate, which is not Unicode, is spelt out."""
    results = tuple(replace(RESULT, position=number, case_id=text) for number, text in enumerate(HOSTILE))
    written = [attempt["case_id"] for attempt in rows("attempts", FinishedRun(INFO, results))]
    assert written == [text.encode("utf-8", "backslashreplace").decode() for text in HOSTILE]
    texts = cycle(HOSTILE)
    run = filled(RUN.results[0], lambda: next(texts))
    assert {name: len(rows(name, FinishedRun(INFO, (run,) * 9))) for name in ("outcomes", "parts")} == {
        "outcomes": 18,
        "parts": 18,
    }


@pytest.mark.parametrize("library", ["duckdb", "polars", "pandas"])
def test_other_libraries_read_equal_sums(library: str, tmp_path: Path) -> None:
    """From the files, and from the streams of a run in memory."""
    module = pytest.importorskip(library)
    results = tuple(
        replace(RESULT, position=number, outcomes=(Outcome("match", Score(number / 8), 0.8),)) for number in range(100)
    )
    run = FinishedRun(INFO, results)
    tables.write(tmp_path, run)
    file, outcomes = str(tmp_path / "outcomes.parquet"), tables.make_tables(run)["outcomes"]
    if library == "duckdb":
        sums = [module.read_parquet(file).sum("value").fetchall()[0][0]]
        sums.append(module.sql("SELECT sum(value) FROM outcomes").fetchall()[0][0])
        assert outcomes is not None
    elif library == "polars":
        sums = [module.read_parquet(file)["value"].sum(), module.DataFrame(outcomes)["value"].sum()]
    else:
        sums = [module.read_parquet(file)["value"].sum(), module.DataFrame.from_arrow(outcomes)["value"].sum()]
    assert sums == [99 * 100 / 2 / 8] * 2
