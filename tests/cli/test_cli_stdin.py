"""Commands read standard input if `-` stands for a file."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from commands import MATCH, Done, enter, eval_set, fairtrial, write


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder with a configuration."""
    enter(tmp_path, monkeypatch)
    write("test_config.json", MATCH)


def fed(monkeypatch: pytest.MonkeyPatch, document: Any, *arguments: str) -> Done:
    """Run a command with a document on standard input."""
    text = document if isinstance(document, str) else json.dumps(document)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    return fairtrial(*arguments)


CHAT = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "ok"}]


def test_run_reads_an_eval_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """The configuration beside it is the one in the current folder."""
    done = fed(monkeypatch, eval_set("a"), "run", "-", "--agent", "commands:obedient", "--store", "none")
    assert done.code == 0
    assert "criteria: test_config.json" in done.out


@pytest.mark.parametrize("lines", [json.dumps(CHAT), "\n".join([json.dumps({"id": "a", "messages": CHAT})] * 2)])
def test_score_reads_recordings(monkeypatch: pytest.MonkeyPatch, lines: str) -> None:
    """A document as well as JSON lines."""
    write("s.evalset.json", eval_set("a"))
    done = fed(monkeypatch, lines, "score", "-", "--against", "s.evalset.json", "--match", "order", "--store", "none")
    assert done.code == 0


def test_score_reads_the_expectation(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--against -` reads the eval set from standard input."""
    write("chat.json", CHAT)
    done = fed(monkeypatch, eval_set("chat"), "score", "chat.json", "--against", "-", "--store", "none")
    assert done.code == 0


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot be the recording and the expectation."""
    for arguments in (["score", "-", "--against", "-"], ["check", "-", "-"]):
        done = fed(monkeypatch, eval_set("a"), *arguments)
        assert (done.code, "can be read only once" in done.err) == (2, True)


def test_check_and_convert_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a file."""
    assert fed(monkeypatch, eval_set("a"), "check", "-").out == "✓ -: eval set, 1 case\n"
    done = fed(monkeypatch, eval_set("a"), "convert", "-", "-o", "a-dataset.json")
    assert (done.code, Path("a-dataset.json").exists()) == (0, True)


def test_value_reads_any_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document over many lines is one document, and not a broken one in each line."""
    done = fed(monkeypatch, json.dumps(CHAT, indent=2), "value", "-", "--embedder", "none", "--json")
    assert len(done.out.splitlines()) == 1
    assert "not JSON" not in done.err


def test_a_run_from_standard_input_is_resumed_with_the_same_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """The eval set is not stored, so that a resume without it is refused in words."""
    assert fed(monkeypatch, eval_set("a"), "run", "-", "--agent", "commands:obedient", "--json", "r.json").code == 0
    run = json.loads(Path("r.json").read_bytes())["run"]["id"]
    refused = fed(monkeypatch, "", "run", "--resume", run)
    assert refused.code == 2
    assert f"give it again: fairtrial run - --resume {run} < FILE" in refused.err
    assert fed(monkeypatch, eval_set("a"), "run", "-", "--resume", run).code == 0
    assert "is not the same as in the run" in fed(monkeypatch, eval_set("b"), "run", "-", "--resume", run).err
