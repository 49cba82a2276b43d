"""The command `fairtrial convert` writes eval sets in another format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import eval_set, said
from commands import fairtrial


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_an_eval_set_becomes_a_dataset_and_an_eval_set_again() -> None:
    """The default is the other format."""
    given = eval_set({"user_content": said("hi"), "final_response": said("hello", "model")})
    Path("shop.evalset.json").write_text(json.dumps(given), encoding="utf-8")
    assert fairtrial("convert", "shop.evalset.json", "-o", "shop-dataset.json").code == 0
    written = json.loads(Path("shop-dataset.json").read_bytes())
    assert written == {
        "eval_cases": [
            {
                "eval_case_id": "one",
                "prompt": said("hi"),
                "reference": {"response": said("hello", "model")},
            }
        ]
    }
    assert fairtrial("convert", "shop-dataset.json", "-o", "again.evalset.json").code == 0
    assert json.loads(Path("again.evalset.json").read_bytes())["eval_cases"] == given["eval_cases"]


def test_losses_are_named() -> None:
    """A user reads what the new file has no place for."""
    turn = {"user_content": said("hi"), "intermediate_data": {"tool_uses": [{"name": "f"}]}}
    Path("shop.evalset.json").write_text(json.dumps(eval_set(turn)), encoding="utf-8")
    done = fairtrial("convert", "shop.evalset.json", "-o", "shop-dataset.json")
    assert done.err == "lost: /eval_cases/0: the expected calls of invocation 1 (f) have no place in a dataset\n"


def test_the_input_is_never_overwritten() -> None:
    """The same file under another name included."""
    text = json.dumps(eval_set({"user_content": said("hi")}))
    Path("shop.evalset.json").write_text(text, encoding="utf-8")
    done = fairtrial("convert", "shop.evalset.json", "-o", "./shop.evalset.json")
    assert (done.code, Path("shop.evalset.json").read_text(encoding="utf-8")) == (2, text)
    assert "is a file that this command reads; choose another file" in done.err


def test_a_log_becomes_recordings() -> None:
    """Any JSON whose paths are named becomes lines that need no path."""
    row = {"request": {"messages": [{"role": "user", "content": "hi"}]}, "response": {"text": "Yes."}, "session": "s"}
    Path("log.jsonl").write_text(json.dumps(row), encoding="utf-8")
    paths = "messages=request.messages,reply=response.text,conversation=session"
    assert fairtrial("convert", "log.jsonl", "-o", "own.jsonl", "--map", paths).code == 0
    assert "recordings, 1 recording, 1 invocation" in fairtrial("check", "own.jsonl").out


def test_a_config_is_not_converted() -> None:
    """Only eval sets and datasets have another form."""
    Path("test_config.json").write_text('{"criteria": {"response_match_score": 1}}', encoding="utf-8")
    done = fairtrial("convert", "test_config.json", "-o", "x.json")
    assert (done.code, Path("x.json").exists()) == (2, False)
    assert "holds EvalConfig; only eval sets and datasets are converted" in done.err
