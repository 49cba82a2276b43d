"""`fairtrial scenarios`, against a model server on a real socket."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import fairtrial
from fairtrial import api
from loopback import Loopback

REPLY = json.dumps(
    {
        "scenarios": [
            {"starting_prompt": "Hi", "conversation_plan": "Ask where order A-17 is."},
            {"starting_prompt": "환불해 주세요", "conversation_plan": "주문을 취소하고 환불을 요청한다."},
        ]
    }
)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with an agent in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "door_agent.py").write_text('def reply(trace):\n    """Opens doors."""\n    return "open"\n')


def test_what_is_written_is_read_by_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file holds the scenarios, text of any language as itself, and is an eval set to `fairtrial run`."""
    with Loopback(lambda _: REPLY) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        done = fairtrial("scenarios", "door_agent:reply", "--count", "2", "--model", "openai/x", "-o", "new.json")
        text = server.requests[0].text
    assert done.code == 0, done.err
    assert "Opens doors." in text
    assert "환불해 주세요" in Path("new.json").read_text(encoding="utf-8")
    assert [one.scenario is not None for one in api.load_eval_set("new.json").cases] == [True, True]


def test_fewer_than_asked_for_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 1, with the ones there are on stdout."""
    with Loopback(lambda _: REPLY) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        done = fairtrial("scenarios", "door_agent:reply", "--count", "3", "--model", "openai/x")
    assert done.code == 1
    assert len(json.loads(done.out)["scenarios"]) == 2
    assert "2 of 3" in done.err


def test_what_an_agent_prints_is_not_among_the_scenarios(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard output holds JSON and nothing else, so that it can be piped."""
    Path("loud_agent.py").write_text('print("ready")\ndef reply(trace):\n    """Opens doors."""\n')
    with Loopback(lambda _: REPLY) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        done = fairtrial("scenarios", "loud_agent:reply", "--count", "2", "--model", "openai/x")
    assert len(json.loads(done.out)["scenarios"]) == 2
    assert "ready" in done.err


def test_nothing_to_go_by_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent that says nothing of itself needs an instruction."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    Path("mute_agent.py").write_text("def reply(trace):\n    return 'open'\n")
    done = fairtrial("scenarios", "mute_agent:reply", "--model", "openai/x")
    assert done.code == 2
    assert "--instruction" in done.err


def test_what_is_written_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is held as it is, with the model as its users; a cassette writes the same scenarios again."""
    write = ("scenarios", "door_agent:reply", "--count", "2", "--model", "openai/x", "--cassette", "c.jsonl")
    with Loopback(lambda request: REPLY if request.schema else "</finished>") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        assert fairtrial(*write, "--cassette-mode", "record", "-o", "new.json").code == 0
        Path("test_config.json").write_text(
            '{"criteria": {"tool_call_count_v1": 1}, "user_simulator_config": {"model": "openai/x"}}'
        )
        done = fairtrial("run", "new.json", "--agent", "door_agent:reply", "--json", "-", "--store", "none")
    assert [(one["verdict"], one["ended_by"]) for one in done.json["attempts"]] == [("passed", "stop")] * 2
    assert fairtrial(*write, "--cassette-mode", "replay", "-o", "again.json").code == 0
    assert Path("again.json").read_bytes() == Path("new.json").read_bytes()


def test_they_are_written_in_the_language_that_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The instruction reaches the model as itself, with the rule that its language is that of the scenarios."""
    with Loopback(lambda _: REPLY) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        done = fairtrial(
            "scenarios", "door_agent:reply", "--count", "2", "--model", "openai/x", "--instruction", "환불에 관하여"
        )
        text = server.requests[0].text
    assert done.code == 0
    assert "환불에 관하여" in text
    assert "in the language of the STANDARD text" in text
    assert "환불해 주세요" in done.out
