"""Requests of a batch and their answers may stand in several files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from commands import enter, fairtrial
from fairtrial.loading import sources


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder."""
    enter(tmp_path, monkeypatch)


def request(name: str, text: str = "hi") -> dict[str, Any]:
    """A line of the input of OpenAI's batches."""
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return {"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}


def answer(name: str, text: str) -> dict[str, Any]:
    """A line of the output of OpenAI's batches."""
    body = {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}
    return {"id": "b", "custom_id": name, "response": {"status_code": 200, "body": body}}


def write(name: str, *rows: dict[str, Any]) -> Path:
    """Write JSON lines, packed if the name says so."""
    data = "\n".join(map(json.dumps, rows)).encode()
    path = Path(name)
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def turns(*paths: Path) -> list[tuple[str, str | None, bool]]:
    """The messages, the replies and the failures of the recordings in files."""
    recordings = [each for source in sources(list(paths), recorded=True) for each in source.loaded.recordings]
    return [
        (turn.query, turn.reply, each.failure is not None) for each in recordings for turn in each.trace.invocations
    ]


def test_input_and_output_are_joined_by_their_ids() -> None:
    """The order of an output is not that of its input, and either may be packed."""
    asked = write("in.jsonl", request("1", "one"), request("2", "two"))
    answered = write("out.jsonl.gz", answer("2", "zwei"), answer("1", "eins"))
    assert turns(asked, answered) == [("one", "eins", False), ("two", "zwei", False)]
    assert turns(answered, asked) == [("one", "eins", False), ("two", "zwei", False)]


def test_two_batches_with_the_same_ids_are_not_mixed() -> None:
    """An answer could belong to either request, so that each request lacks its answer."""
    paths = [write("a.jsonl", request("1")), write("b.jsonl", request("1")), write("out.jsonl", answer("1", "yo"))]
    assert [has_failed for *_, has_failed in turns(*paths)] == [True, True, True]


def test_whole_batches_stay_as_they_are() -> None:
    """Each file holds its own answers."""
    paths = [write(f"{name}.jsonl", request("1", name), answer("1", name.upper())) for name in ("a", "b")]
    assert turns(*paths) == [("a", "A", False), ("b", "B", False)]


def test_score_joins_them() -> None:
    """Files are streamed otherwise."""
    write("in.jsonl", request("1"))
    write("out.jsonl", answer("1", "yo"))
    done = fairtrial("score", "in.jsonl", "out.jsonl", "--store", "none")
    assert "1 attempt in" in done.out
    assert "invalid" not in done.out
