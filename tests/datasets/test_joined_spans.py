"""Spans of a data set in several files: one conversation each, in little memory, and again when late spans came."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from turn_spans import span, write_late_case, write_spans

from commands import Done
from commands import fairtrial as command
from fairtrial import api
from fairtrial.formats.spans.large_documents import begins_otherwise


def scored(recorded: Path, folder: Path, *options: str) -> Done:
    """Score spans into a folder, with a criterion that needs no expectation."""
    config = recorded.with_name("calls.config.json")
    config.write_text(json.dumps({"criteria": {"tool_call_count_v1": 1.0}}))
    return command("score", recorded, "--out", folder, "--store", "none", "--config", config, *options)


def case_ids(folder: Path) -> list[str]:
    """The ids of the conversations in a folder of results."""
    return sorted(pq.read_table(folder / "attempts")["case_id"].to_pylist())


def test_turns_of_a_conversation_in_several_files_are_one_conversation(tmp_path: Path) -> None:
    """The first turns are in a file, the second turns in another."""
    write_spans(tmp_path / "spans/monday.jsonl", [span(i, f"c{i}") for i in range(1, 9)])
    write_spans(tmp_path / "spans/tuesday.jsonl", [span(100 + i, f"c{i}") for i in range(1, 9)])
    done = scored(tmp_path / "spans", tmp_path / "out")
    assert done.code == 0, done.err
    assert case_ids(tmp_path / "out") == [f"c{i}" for i in range(1, 9)]
    (lines,) = (tmp_path / "out/inputs/conversations").glob("*.jsonl")
    turns = [len(json.loads(line)["trace"]["invocations"]) for line in lines.read_text().splitlines()]
    assert turns == [2] * 8


@pytest.mark.long
def test_late_spans_score_their_conversations_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted run goes on, scores only parts with changed conversations again, and names them."""
    monkeypatch.setattr("fairtrial.loading.shards.SHARD_BYTES", 2048)
    write_spans(tmp_path / "spans/monday.jsonl", [span(i, f"c{i}") for i in range(1, 30)])
    write_spans(tmp_path / "spans/tuesday.jsonl", [span(100, "c100")])
    config = tmp_path / "calls.config.json"
    config.write_text(json.dumps({"criteria": {"tool_call_count_v1": 1.0}}))
    finished: list[int] = []

    def stop(shard: api.Shard, _: api.ShardReport) -> None:
        finished.append(shard.number)
        if len(finished) == 3:
            raise KeyboardInterrupt

    plan = api.plan_dataset([tmp_path / "spans"], tmp_path / "out", criteria=config)
    assert len(plan.shards) > 4
    with pytest.raises(KeyboardInterrupt):
        plan.run(store=None, on_shard=stop)
    late = next(json.loads(line)["case_id"] for line in Path(plan.shards[finished[0]].path).read_text().splitlines())
    write_spans(tmp_path / "spans/wednesday.jsonl", [span(500, late, "It arrived.")])
    again = api.plan_dataset([tmp_path / "spans"], tmp_path / "out", criteria=config)
    assert f"late spans: 1 conversation changed and will be scored again, for example {late}" in again.warnings
    scored_again: list[int] = []
    ask = api.ShardReport

    def note(shard: api.Shard, report: api.ShardReport) -> None:
        assert isinstance(report, ask)
        scored_again.append(shard.number)

    again.run(store=None, resume=True, on_shard=note)
    # The first two reports are those that stay, and the changed part comes with all that were not finished.
    assert scored_again[:2] == finished[1:]
    assert sorted(scored_again) == [shard.number for shard in again.shards]
    assert len(case_ids(tmp_path / "out")) == 30


def test_late_spans_go_into_a_finished_folder(tmp_path: Path) -> None:
    """With --resume, the changed conversation is scored again. Without it, a finished folder is refused."""
    write_spans(tmp_path / "spans/monday.jsonl", [span(i, f"c{i}") for i in range(1, 9)])
    write_spans(tmp_path / "spans/tuesday.jsonl", [span(100, "c100")])
    assert scored(tmp_path / "spans", tmp_path / "out").code == 0
    refused = scored(tmp_path / "spans", tmp_path / "out")
    assert refused.code == 2
    assert "finished run; give another folder, or score late spans with --resume" in refused.err
    write_spans(tmp_path / "spans/wednesday.jsonl", [span(500, "c3", "It arrived.")])
    done = scored(tmp_path / "spans", tmp_path / "out", "--resume")
    assert done.code == 0, done.err
    assert "late spans: 1 conversation changed and will be scored again, for example c3" in done.err
    assert case_ids(tmp_path / "out") == sorted([*(f"c{i}" for i in range(1, 9)), "c100"])
    (lines,) = (tmp_path / "out/inputs/conversations").glob("*.jsonl")
    texts = lines.read_text()
    assert "It arrived." in texts
    assert (tmp_path / "out/manifest.json").exists()


@pytest.mark.long
def test_a_case_that_a_late_span_answers_is_not_unanswered_any_more(tmp_path: Path) -> None:
    """Its conversation was refused, and the case had an error of its own. Both are gone."""
    case_set, options = write_late_case(tmp_path)
    arguments: list[str | Path] = [
        "score",
        tmp_path / "spans",
        "--against",
        case_set,
        "--out",
        tmp_path / "out",
        *options,
    ]
    assert command(*arguments).code == 3
    assert case_ids(tmp_path / "out") == ["case_1", "case_2"]
    assert list((tmp_path / "out/refused").iterdir())
    write_spans(tmp_path / "spans/wednesday.jsonl", [span(2, "c2")])
    done = command(*arguments, "--resume")
    assert done.code == 0, done.err
    rows = pq.read_table(tmp_path / "out/attempts").to_pylist()
    assert [(row["case_id"], row["verdict"]) for row in rows] == [("case_1", "passed"), ("case_2", "passed")]
    assert not list((tmp_path / "out/refused").iterdir())


def test_late_spans_keep_the_labels_of_people(tmp_path: Path) -> None:
    """The run of the store is replaced, and what people said about its attempts stays."""
    write_spans(tmp_path / "spans/monday.jsonl", [span(i, f"c{i}") for i in range(1, 9)])
    write_spans(tmp_path / "spans/tuesday.jsonl", [span(100, "c100")])
    config = tmp_path / "calls.config.json"
    config.write_text(json.dumps({"criteria": {"tool_call_count_v1": 1.0}}))
    store = f"sqlite:///{tmp_path / 'own.db'}"
    paths = [tmp_path / "spans"], tmp_path / "out"
    first = api.plan_dataset(*paths, criteria=config).run(store=store)
    write_spans(tmp_path / "spans/wednesday.jsonl", [span(500, "c3", "It arrived.")])
    second = api.plan_dataset(*paths, criteria=config).run(store=store, resume=True)
    assert second.info.id == first.info.id


def test_an_object_that_begins_with_something_else_is_not_copied() -> None:
    """A first line, a first document or the beginning of an eval set decide. Otherwise, the object is read."""
    spans = json.dumps(span(1, "c1")).encode()
    assert not begins_otherwise(spans)
    assert not begins_otherwise(spans[:100])
    assert not begins_otherwise(b'{"messages": [{"role": "user", "content": "half of a docu')
    assert begins_otherwise(b'{"messages": []}\n{"messages": [{"role"')
    assert begins_otherwise(b'{"messages": [{"role": "user", "content": "hi"}]}')
    assert begins_otherwise(b'{"eval_set_id": "a", "eval_cases": [{"eval_id"')
    assert not begins_otherwise(b"PAR1....")


@pytest.mark.long
def test_a_row_that_many_rows_share_is_refused_in_a_shard(tmp_path: Path) -> None:
    """A megabyte stands once in the file, and 3,000 times in its rows."""
    text = json.dumps({"messages": [{"role": "user", "content": "x" * (1 << 20)}]})
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 3000, pa.int32()), pa.array([text]))
    pq.write_table(pa.table({"conversation": column}), tmp_path / "bomb.parquet")
    done = scored(tmp_path / "bomb.parquet", tmp_path / "out")
    assert done.code == 2
    assert "times larger when it is unpacked" in done.err


def test_a_large_parquet_file_of_spans_stays_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of a warehouse as Parquet is read in batches, as often as needed."""
    monkeypatch.setattr("fairtrial.formats.spans.large_files.LARGE", 1000)
    rows = [
        {
            "Timestamp": 1_764_000_000_000_000_000 + i,
            "TraceId": f"{i:032x}",
            "SpanId": f"{i:016x}",
            "ParentSpanId": "",
            "SpanName": "invoke_agent shop",
            "SpanKind": "Internal",
            "Duration": 900,
            "StatusCode": "Ok",
            "StatusMessage": "",
            "SpanAttributes": [(pair["key"], pair["value"]["stringValue"]) for pair in _attributes(i)],
        }
        for i in range(1, 40)
    ]
    kind = pa.map_(pa.string(), pa.string())
    schema = pa.schema(
        [
            ("Timestamp", pa.timestamp("ns", "UTC")),
            *[(name, pa.string()) for name in ("TraceId", "SpanId", "ParentSpanId", "SpanName", "SpanKind")],
            ("Duration", pa.uint64()),
            *[(name, pa.string()) for name in ("StatusCode", "StatusMessage")],
            ("SpanAttributes", kind),
        ]
    )
    path = tmp_path / "otel_traces.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    done = scored(path, tmp_path / "out")
    assert done.code == 0, done.err
    assert len(case_ids(tmp_path / "out")) == 39


def _attributes(number: int) -> list[dict[str, Any]]:
    attributes: list[dict[str, Any]] = span(number, f"c{number}")["resourceSpans"][0]["scopeSpans"][0]["spans"][0][
        "attributes"
    ]
    return attributes
