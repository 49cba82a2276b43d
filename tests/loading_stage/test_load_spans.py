"""Files of spans are one body of data, and a folder of recordings is read whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fairtrial
from fairtrial import UsageError
from fairtrial.formats.conversation.options import TraceOptions
from fairtrial.loading import sources
from span_files import call, otlp


def read_texts(path: Path, **options: Any) -> list[list[tuple[str, str]]]:
    """Return the turns of each conversation in a folder or a file: the text of the user, and the reply."""
    loaded = sources([path], recorded=True, traces=TraceOptions(**options))
    return [
        [(invocation.query, invocation.reply) for invocation in recording.trace.invocations]
        for source in loaded
        for recording in source.loaded.recordings
    ]


def test_a_conversation_may_stand_in_several_files(tmp_path: Path) -> None:
    """The files of a folder are one body of data, in any order."""
    (tmp_path / "b.json").write_text(json.dumps(otlp(call(1, ["hi"], "hello", session__id="s"))))
    (tmp_path / "a.json").write_text(json.dumps(otlp(call(2, ["hi", "hello", "bye"], "bye", session__id="s"))))
    assert read_texts(tmp_path) == [[("hi", "hello"), ("bye", "bye")]]


def test_traces_without_an_id_go_on_with_each_other(tmp_path: Path) -> None:
    """A trace whose history is the whole of an earlier trace continues it, unless the user does not want that."""
    path = tmp_path / "a.json"
    path.write_text(json.dumps(otlp(call(1, ["hi"], "hello"), call(2, ["hi", "hello", "bye"], "see you"))))
    assert read_texts(path) == [[("hi", "hello"), ("bye", "see you")]]
    assert read_texts(path, join="id") == [[("hi", "hello")], [("bye", "see you")]]


def test_two_possible_successors_are_not_joined(tmp_path: Path) -> None:
    """Nothing says which of them the user went on with."""
    spans = [call(1, ["hi"], "hello"), call(2, ["hi", "hello", "a"], "A"), call(3, ["hi", "hello", "b"], "B")]
    (tmp_path / "a.json").write_text(json.dumps(otlp(*spans)))
    assert len(read_texts(tmp_path)) == 3


def test_the_user_names_the_attribute_of_the_conversation(tmp_path: Path) -> None:
    """`--conversation` counts before every known attribute."""
    spans = [call(1, ["hi"], "1", session__id="a", chat="x"), call(2, ["hi"], "2", session__id="b", chat="x")]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(otlp(*spans)))
    assert len(read_texts(path)) == 2
    assert len(read_texts(path, conversation="chat")) == 1


def test_a_file_of_something_else_in_a_folder_is_named(tmp_path: Path) -> None:
    """It is neither an error nor skipped in silence. A file that the user names must hold recordings."""
    (tmp_path / "a.json").write_text(json.dumps(otlp(call(1, ["hi"], "hello"))))
    (tmp_path / "package.json").write_text('{"name": "shop", "version": "1.0"}')
    (tmp_path / "notes.md").write_text("notes")
    (source,) = sources([tmp_path], recorded=True)
    assert any("no recordings are in 1 file" in text and "package.json" in text for text in source.loaded.warnings)
    assert any("left out 1 other file: notes.md" in text for text in source.loaded.warnings)
    with pytest.raises(UsageError, match="is not in a format"):
        sources([tmp_path / "package.json"], recorded=True)


def test_the_first_text_of_the_user_finds_the_case(tmp_path: Path) -> None:
    """With `match="query"`, traces that know nothing of eval sets find their cases, in any order."""
    (tmp_path / "a.json").write_text(json.dumps(otlp(call(1, ["two"], "2"), call(2, ["one"], "1"))))
    cases = [
        {
            "eval_id": name,
            "conversation": [
                {"user_content": {"parts": [{"text": name}]}, "final_response": {"parts": [{"text": reply}]}}
            ],
        }
        for name, reply in (("one", "1"), ("two", "2"))
    ]
    (tmp_path / "shop.evalset.json").write_text(json.dumps({"eval_set_id": "shop", "eval_cases": cases}))
    run = fairtrial.score(
        tmp_path / "a.json", tmp_path / "shop.evalset.json", {"criteria": {"response_match_score": 1.0}}, match="query"
    )
    assert [(case.case_id, case.verdict) for case in run.cases] == [("one", "passed"), ("two", "passed")]
