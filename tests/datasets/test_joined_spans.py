"""Spans of a data set in several files: one conversation each, in little memory, and again when late spans came."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import Done
from commands import fairtrial as command
from fairtrial import api


def span(number: int, conversation: str, reply: str = "It is on its way.") -> dict[str, Any]:
    """A turn of a conversation in a trace of its own, as the collector writes it."""
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": conversation,
        "gen_ai.input.messages": json.dumps(
            [{"role": "user", "parts": [{"type": "text", "content": f"Where is order {number}?"}]}]
        ),
        "gen_ai.output.messages": json.dumps(
            [{"role": "assistant", "parts": [{"type": "text", "content": reply}], "finish_reason": "stop"}]
        ),
    }
    own = {
        "traceId": f"{number:032x}",
        "spanId": f"{number:016x}",
        "name": "invoke_agent shop",
        "kind": 1,
        "startTimeUnixNano": str(1_764_000_000_000_000_000 + number),
        "endTimeUnixNano": str(1_764_000_000_000_000_900 + number),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {"name": "shop"}, "spans": [own]}]}]}


def write_spans(path: Path, spans: Iterable[dict[str, Any]]) -> Path:
    """Write a span a line."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in spans))
    return path


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
