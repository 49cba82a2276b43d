"""Spans of large files become the same recordings as those of small files."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from conftest import SHARED
from hypothesis import given
from hypothesis import strategies as st

from fairtrial import TraceOptions, api, loading
from fairtrial.errors import FormatError
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.recognise import read
from fairtrial.formats.spans import large_files
from fairtrial.loading.joined_spans import SpanSpool
from fairtrial.records.attempt import Recording
from packers import PACKERS
from span_files import call, otlp, tool

Raw = dict[str, Any]
TRACES = SHARED / "data" / "traces"
ENTRIES: list[dict[str, Any]] = (
    json.loads((TRACES / "expected.json").read_bytes()) if (TRACES / "expected.json").is_file() else []
)


@pytest.fixture
def all_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is large."""
    make_large(monkeypatch)


def make_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every file large."""
    monkeypatch.setattr(large_files, "LARGE", 0)


def recordings_in(*files: Path, **options: Any) -> tuple[list[Recording], list[str]]:
    """Return the recordings of files and the warnings."""
    sources = loading.sources(list(files), recorded=True, traces=TraceOptions(**options))
    warnings = [warning for source in sources for warning in source.loaded.warnings]
    return [recording for source in sources for recording in source.loaded.recordings], warnings


def dialogue() -> list[Raw]:
    """Return spans of two conversations with ids, and of three traces that go on with each other, out of order."""
    spans = [
        call(1, ["hi"], "hello", **{"gen_ai.conversation.id": "a"}),
        call(2, ["one"], "1"),
        call(3, ["bye"], "ciao", **{"gen_ai.conversation.id": "b"}),
        call(4, ["one", "1", "two"], "2"),
        tool(5, "get", **{"gen_ai.conversation.id": "a"}),
        call(6, ["one", "1", "two", "2", "three"], "3"),
        call(7, ["alone"], "yes"),
    ]
    return [spans[i] for i in (5, 0, 3, 2, 6, 1, 4)]


FORMS: dict[str, Callable[[list[Raw]], bytes]] = {
    "lines": lambda spans: b"\n".join(json.dumps(otlp(span)).encode() for span in spans),
    "a document": lambda spans: json.dumps(
        {"resourceSpans": [otlp(span)["resourceSpans"][0] for span in spans], "note": 1, "resourceLogs": []}
    ).encode(),
    "an indented document": lambda spans: json.dumps(otlp(*spans), indent=1).encode(),
    "documents": lambda spans: b"\n".join(json.dumps(otlp(span), indent=1).encode() for span in spans),
    "an array": lambda spans: json.dumps([otlp(span) for span in spans]).encode(),
    "gzip": lambda spans: two_members(spans, PACKERS["gzip"]),
    "zstd": lambda spans: two_members(spans, PACKERS["zstd"]),
}


def two_members(spans: list[Raw], pack: Callable[[bytes], bytes]) -> bytes:
    """Lines in two packed files, one after the other."""
    return pack(FORMS["lines"](spans[:3]) + b"\n") + pack(FORMS["lines"](spans[3:]))


@pytest.mark.parametrize("form", FORMS)
def test_a_large_file_holds_the_same_recordings(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traces are joined by id and by history, and the warnings are the same."""
    path = tmp_path / "spans.json"
    path.write_bytes(FORMS[form](dialogue()))
    small = recordings_in(path)
    make_large(monkeypatch)
    assert large_files.large_file(path) is not None
    assert recordings_in(path) == small
    assert [recording.case_id for recording in small[0]] == ["a", f"{2:032x}", "b", f"{7:032x}"]


@pytest.mark.parametrize("options", [{"join": "id"}, {"join": "none"}, {"conversation": "gen_ai.conversation.id"}])
def test_the_choices_of_the_user_hold(options: Raw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same traces are joined as in a small file."""
    path = tmp_path / "spans.jsonl"
    path.write_bytes(FORMS["lines"](dialogue()))
    small = recordings_in(path, **options)
    make_large(monkeypatch)
    assert recordings_in(path, **options) == small


@pytest.mark.long
@given(st.permutations(range(7)))
def test_the_order_of_the_file_does_not_matter(order: list[int]) -> None:
    """Spans of a conversation may stand anywhere in the file."""
    spool = SpanSpool(TraceOptions())
    raw = sorted(dialogue(), key=lambda span: str(span["spanId"]))
    for place in order:
        spool.add(read(json.dumps(otlp(raw[place])).encode(), "a").spans)
    recordings = [*spool.read_recordings(Diagnostics("a"))]
    assert [len(recording.trace.invocations) for recording in recordings] == [1, 3, 1, 1]


@pytest.mark.long
@pytest.mark.shared
@pytest.mark.parametrize("entry", [pytest.param(entry, id="+".join(entry["files"])) for entry in ENTRIES])
def test_every_kind_of_spans_is_the_same(entry: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    """Real files of all kinds have the same recordings if they are large. Files without spans stay as they are."""
    files = [TRACES / file for file in entry["files"]]
    small, _ = recordings_in(*files)
    make_large(monkeypatch)
    large, _ = recordings_in(*files)
    assert large == [msgspec.json.decode(msgspec.json.encode(recording), type=Recording) for recording in small]


@pytest.mark.usefixtures("all_large")
def test_a_large_file_is_scored_against_an_eval_set(tmp_path: Path) -> None:
    """Recordings find their cases by id and by the first text of the user."""
    path = tmp_path / "spans.jsonl"
    path.write_bytes(FORMS["lines"](dialogue()))
    expected = {"user_content": {"parts": [{"text": "bye"}]}, "final_response": {"parts": [{"text": "ciao"}]}}
    eval_set = tmp_path / "shop.evalset.json"
    cases = [{"eval_id": "b", "conversation": [expected]}]
    eval_set.write_text(json.dumps({"eval_set_id": "shop", "eval_cases": cases}), encoding="utf-8")
    for match in ("id", "query", "session"):
        run = api.score(path, eval_set, {"criteria": {"response_match_score": 1.0}}, match=match)
        assert [case.verdict for case in run.cases] == ["passed"], match
    alone = api.score(path, None, {"criteria": {"tool_call_count_v1": {"threshold": 9}}})
    assert len(alone.cases) == 4


@pytest.mark.usefixtures("all_large")
def test_the_tool_behind_a_dispatching_tool_counts(tmp_path: Path) -> None:
    """`--tool-name` holds for large files, too."""
    path = tmp_path / "spans.jsonl"
    path.write_bytes(
        FORMS["lines"]([tool(n, "exec", **{"gen_ai.tool.call.arguments": '{"command": "ls -l"}'}) for n in (1, 2)])
    )
    recordings, _ = recordings_in(path, tool_names={"exec": "command.0"})
    assert [call.name for each in recordings for call in each.trace.invocations[0].tool_calls] == ["ls", "ls"]


@pytest.mark.usefixtures("all_large")
def test_a_broken_line_of_a_large_file_is_named(tmp_path: Path) -> None:
    """The problem has its line."""
    path = tmp_path / "spans.jsonl"
    path.write_bytes(FORMS["lines"](dialogue()) + b"\n{broken\n")
    with pytest.raises(FormatError, match="line 8"):
        recordings_in(path)


@pytest.mark.usefixtures("all_large")
def test_a_cut_off_document_is_refused(tmp_path: Path) -> None:
    """Nothing is scored from the first part of a file."""
    path = tmp_path / "spans.json"
    path.write_bytes(FORMS["an array"](dialogue())[:-20])
    with pytest.raises(FormatError, match="not strict JSON"):
        recordings_in(path)
    for packing in PACKERS:
        path.write_bytes(FORMS[packing](dialogue())[:-20])
        with pytest.raises(FormatError, match="its end is missing"):
            recordings_in(path)


def test_many_small_files_are_as_large_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The spans of later files are not held. The recordings are the same."""
    for number, span in enumerate(dialogue()):
        (tmp_path / f"{number}.json").write_text(json.dumps(otlp(span)), encoding="utf-8")
    small = recordings_in(tmp_path)
    monkeypatch.setattr(large_files, "LARGE", 1500)
    assert recordings_in(tmp_path) == small


@pytest.mark.parametrize(
    "beginning",
    ['{"eval_set_id": "s", "name": "a \\"b\\", c", "creation_timestamp": 1.5, "eval_cases": [', '{\n "evalCases" :['],
)
def test_a_large_eval_set_is_not_read_to_the_end_to_see_that_it_holds_no_spans(tmp_path: Path, beginning: str) -> None:
    """An eval set is one document, so that reading a document of it would be reading all of it."""
    path = tmp_path / "large.evalset.json"
    path.write_text(f"{beginning}{' ' * (4 << 20)}]}}", encoding="utf-8")
    tracemalloc.start()
    try:
        assert large_files.large_file(path, limit=0) is None
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()
