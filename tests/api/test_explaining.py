"""An explanation says of each leaf of a file whether it is used, known to carry nothing, or unknown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fairtrial.api import explain, explanation_html
from fairtrial.cli import fairtrial as program
from fairtrial.errors import UsageError

CALL = {"id": "c-1", "type": "function", "function": {"name": "get_order", "arguments": '{"order_id": "A-17"}'}}
DOCUMENT: dict[str, Any] = {
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


def test_a_used_leaf_says_where_it_is_in_the_recording(file: Path) -> None:
    """A text that stands twice has both places, in the order of the file."""
    document = {"messages": [*DOCUMENT["messages"], {"role": "user", "content": "Where is my order?"}]}
    file.write_text(json.dumps(document))
    places = {leaf.place: leaf.read_at for leaf in explain(file).leaves}
    assert places["/messages/0/content"] == "/recordings/0/trace/invocations/0/user/text"
    assert places["/messages/3/content"] == "/recordings/0/trace/invocations/1/user/text"


def test_a_word_of_another_text_is_not_used(file: Path) -> None:
    """`left` stands in the reply, but the reply is another leaf."""
    file.write_text(json.dumps({"messages": [{**message, "mood": "left"} for message in DOCUMENT["messages"]]}))
    statuses = {leaf.status for leaf in explain(file).leaves if leaf.place.endswith("/mood")}
    assert statuses == {"unknown"}


def test_pieces_of_a_text_are_used(tmp_path: Path) -> None:
    """A streamed answer stands in pieces, of which one has words enough."""
    pieces = [{"type": "text", "text": text} for text in ("Your order was sent at noon", ", from Seoul.")]
    path = tmp_path / "a.json"
    path.write_text(json.dumps([{"role": "user", "content": "Where?"}, {"role": "assistant", "content": pieces}]))
    leaves = {leaf.text: leaf.status for leaf in explain(path).leaves}
    assert leaves[", from Seoul."] == "used"


def test_the_page_shows_the_source_beside_the_reading(file: Path) -> None:
    """Unread leaves and the reasons for an incomplete recording stand out, and no text becomes HTML."""
    hostile = [
        *DOCUMENT["messages"][:2],
        {"role": "assistant", "content": "<b>It</b> left.", "zzz": "it was granted at once"},
    ]
    file.write_text(json.dumps({"messages": hostile}))
    page = explanation_html([explain(file)])
    assert '<td class="removed">unread</td><td>/messages/2/zzz</td><td>it was granted at once</td><td></td>' in page
    assert "<li>/messages/2/zzz was not read</li>" in page
    assert "&lt;b&gt;It&lt;/b&gt; left." in page
    assert "<script" not in page


def test_the_page_holds_no_secret(file: Path) -> None:
    """A key in a log is masked, as in all reports."""
    key = "sk-proj-" + "A1b2C3d4" * 6
    file.write_text(json.dumps([{"role": "user", "content": f"my key is {key} and nobody knows"}]))
    assert key not in explanation_html([explain(file)])


def test_a_long_page_keeps_the_unread_leaves(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    """The rest is counted."""
    monkeypatch.setattr("fairtrial.reports.explanation_html.MOST_LEAVES", 1)
    page = explanation_html([explain(file)])
    assert page.count("<tr><td") == 1
    assert "the refund was granted" in page
    assert "11 values are left out." in page
