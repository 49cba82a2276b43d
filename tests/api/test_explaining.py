"""An explanation says of each leaf of a file whether it is used, known to carry nothing, or unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fairtrial.api import explain
from fairtrial.cli import fairtrial as program
from fairtrial.errors import UsageError

CALL = {"id": "c-1", "type": "function", "function": {"name": "get_order", "arguments": '{"order_id": "A-17"}'}}
DOCUMENT = {
    "id": "case-7",
    "messages": [
        {"role": "user", "content": "Where is my order?"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "assistant", "content": "It left.", "zzz": "the refund was granted", "mood": "calm"},
    ],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A conversation with two leaves that nobody reads."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(DOCUMENT))
    return path


def test_each_leaf_has_a_status(file: Path) -> None:
    """JSON texts are opened, so that arguments are leaves of their own."""
    statuses = {leaf.place: (leaf.status, leaf.has_content) for leaf in explain(file).leaves}
    assert statuses == {
        "/id": ("used", False),
        "/messages/0/role": ("known", False),
        "/messages/0/content": ("used", False),
        "/messages/1/role": ("known", False),
        "/messages/1/tool_calls/0/id": ("used", False),
        "/messages/1/tool_calls/0/type": ("known", False),
        "/messages/1/tool_calls/0/function/name": ("used", False),
        "/messages/1/tool_calls/0/function/arguments/order_id": ("used", False),
        "/messages/2/role": ("known", False),
        "/messages/2/content": ("used", False),
        "/messages/2/zzz": ("unknown", True),
        "/messages/2/mood": ("unknown", False),
    }


def test_the_summary_counts_the_leaves(file: Path) -> None:
    """One line says how much of the file is read."""
    assert explain(file).summary == "12 values: 6 used, 4 known, 2 unknown, 1 of them with content"


def test_lines_are_explained(tmp_path: Path) -> None:
    """The first token of a pointer is the line, from 0."""
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(DOCUMENT) + "\n" + json.dumps(DOCUMENT) + "\n")
    assert {leaf.place.split("/")[1] for leaf in explain(path).leaves} == {"0", "1"}


def test_other_files_cannot_be_explained(tmp_path: Path) -> None:
    """A table has columns, which `check` names."""
    path = tmp_path / "a.csv"
    path.write_text("question,expected\nhi,yo\n")
    with pytest.raises(UsageError, match="only JSON"):
        explain(path)


def test_check_prints_the_explanation(file: Path) -> None:
    """A leaf with content stands out by its mark."""
    output = CliRunner().invoke(program, ["check", str(file), "--explain"]).output
    assert "    unread  /messages/2/zzz" in output
    assert "    used    /messages/2/content" in output
    assert output.splitlines()[-1].strip() == "12 values: 6 used, 4 known, 2 unknown, 1 of them with content"


def test_a_mapped_file_is_explained(tmp_path: Path) -> None:
    """The paths of the map say what is used."""
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"q": {"text": "hi"}, "a": "Hello.", "b": "x"}) + "\n")
    leaves = explain(path, {"user": "q.text", "reply": "a"}).leaves
    assert [(leaf.place, leaf.status) for leaf in leaves] == [
        ("/q/text", "used"),
        ("/a", "used"),
        ("/b", "unknown"),
    ]
