"""A run whose judges, users and tools answer at different servers: each gets its own key, and nobody another's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from commands import enter, fairtrial
from loopback import Loopback, Request

SECRETS = {
    "OPENAI_API_KEY": "planted-openai-key",
    "GEMINI_API_KEY": "planted-gemini-key",
    "LOCAL_KEY": "planted-local-key",
}
STORE = "sqlite:///k.db"
AGENT = '''
def get_order(order_id: str):
    """Look up an order."""
    return {"state": "shipped"}


def reply(conversation, call):
    return f"It says {call(get_order, order_id='A-17')}."
'''


class Servers:
    """One server for each part, by name: cloud, gemini, local, bare, users and tools."""

    def __init__(self, stack: ExitStack) -> None:
        def judge(request: Request) -> str:
            return request.answers("no_violation" if "no_violation" in request.choices else None)

        scripts: dict[str, Any] = dict.fromkeys(("cloud", "gemini", "local", "bare"), judge)
        scripts |= {"users": lambda _: "</finished>", "tools": lambda _: '{"state": "found"}'}
        self.by_name = {name: stack.enter_context(Loopback(script)) for name, script in scripts.items()}

    def url(self, name: str) -> str:
        """Where it listens, with the version of OpenAI's protocol."""
        return self.by_name[name].url + ("" if name == "gemini" else "/v1")

    def headers(self, name: str) -> str:
        """Everything beside the bodies that the server received."""
        server = self.by_name[name]
        assert server.requests, name
        return repr([*server.look_ups, *((request.path, request.headers) for request in server.requests)])


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Servers]:
    """The servers, an agent and a scenario in the current folder, and the keys of a user."""
    enter(tmp_path, monkeypatch)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    Path("endpoint_agent.py").write_text(AGENT)
    Path("s.scenarios.json").write_text(
        json.dumps({"scenarios": [{"starting_prompt": "Hello", "conversation_plan": "Ask where order A-17 is."}]})
    )
    with ExitStack() as stack:
        servers = Servers(stack)
        monkeypatch.setenv("OPENAI_BASE_URL", servers.url("cloud"))
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", servers.url("gemini"))
        yield servers


def configure(servers: Servers) -> None:
    """Write a configuration in which every part has an endpoint of its own."""
    local = servers.url("local").replace("//", "//user:pa@ss@") + "?key=planted-query"
    panel: list[Any] = [
        {"model": "openai/gpt-4o"},
        "gemini-2.5-flash",
        {"model": "mine", "base_url": local, "apiKeyEnv": "LOCAL_KEY", "settings": {"temperature": 0.5}},
        "bare",
    ]
    judge = {"judge_models": panel, "base_url": servers.url("bare"), "num_samples": 4}
    config = {
        "criteria": {"safety_v1": {"threshold": 0.5, "judge_model_options": judge}},
        "user_simulator_config": {
            "model": "openai/u",
            "base_url": servers.url("users"),
            "headers": {"X-Key": "planted-h"},
        },
        "environment_simulation_config": {
            "tool_simulation_configs": [{"tool_name": "get_order", "mock_strategy_type": "MOCK_STRATEGY_TOOL_SPEC"}],
            "simulation_model": "openai/t",
            "base_url": servers.url("tools"),
            "query": {"token": "planted-t"},
        },
    }
    Path("test_config.json").write_text(json.dumps(config))


def run(*more: str) -> Any:
    """Run the scenario."""
    return fairtrial("run", "s.scenarios.json", "--agent", "endpoint_agent:reply", "--store", STORE, *more)


@pytest.mark.long
def test_cloud_and_local_judges_vote_together_and_each_gets_its_own_key(servers: Servers) -> None:
    """OpenAI's and Google's keys go where the environment says; no server of the configuration sees them."""
    configure(servers)
    done = run("--all-votes", "--json", "r.json")
    assert done.code == 0, done.err
    expected = {"cloud": {"planted-openai-key"}, "gemini": {"planted-gemini-key"}, "local": {"planted-query"}}
    expected |= {"bare": set(), "users": {"planted-h"}, "tools": {"planted-t"}}
    planted = {*SECRETS.values(), "planted-h", "planted-t", "planted-query"}
    for name, keys in expected.items():
        assert {secret for secret in planted if secret in servers.headers(name)} == keys, name
    assert servers.by_name["local"].requests[0].body["temperature"] == 0.5
    assert {request.model for request in servers.by_name["bare"].requests} == {"bare"}


@pytest.mark.long
def test_no_secret_of_an_endpoint_is_stored_or_recorded(servers: Servers) -> None:
    """Neither in the store, nor in the cassette, nor in the report, nor in the output."""
    configure(servers)
    done = run("--json", "r.json", "--cassette", "calls.jsonl", "--cassette-mode", "record")
    exported = fairtrial("runs", "--store", STORE, "export", "2", "run.jsonl")
    assert (done.code, exported.code) == (0, 0), done.err + exported.err
    texts = [Path(name).read_text() for name in ("r.json", "calls.jsonl", "run.jsonl")]
    assert "127.0.0.1" not in "".join(texts)
    assert "planted" not in "".join([*texts, done.out, done.err])


def test_a_model_of_the_command_line_is_called_at_its_own_provider(servers: Servers) -> None:
    """The name states the provider, so the endpoint of the configuration is not meant."""
    configure(servers)
    judge = {"judge_model": "mine", "base_url": servers.url("local"), "num_samples": 1}
    config = json.loads(Path("test_config.json").read_text())
    config["criteria"]["safety_v1"]["judge_model_options"] = judge
    Path("test_config.json").write_text(json.dumps(config))
    assert run("--judge-model", "openai/gpt-4o,other").code == 0
    assert "planted-openai-key" in servers.headers("cloud")
    assert run("--judge-model", "other").code == 0
    assert "planted-openai-key" not in servers.headers("local")
    assert {request.model for request in servers.by_name["local"].requests} == {"other"}


def test_an_env_file_cannot_send_a_key_of_the_environment_elsewhere(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger's folder may hold a `.env` file that names an address."""
    configure(servers)
    monkeypatch.delenv("OPENAI_BASE_URL")
    Path(".env").write_text(f"OPENAI_BASE_URL={servers.url('local')}\n")
    done = run()
    assert (done.code, "OPENAI_BASE_URL stands here, but OPENAI_API_KEY is set elsewhere" in done.err) == (2, True)
    assert servers.by_name["local"].requests == servers.by_name["cloud"].requests == []


def test_a_key_of_a_provider_is_refused_with_its_place(servers: Servers) -> None:
    """Before anything runs, whoever would be called: a judge, a user or a tool."""
    endpoint = {"base_url": servers.url("local"), "api_key_env": "OPENAI_API_KEY"}
    for key, options in (
        ("criteria", {"safety_v1": {"threshold": 0.5, "judge_model_options": {"judge_model": "mine", **endpoint}}}),
        ("user_simulator_config", {"model": "openai/u", **endpoint}),
    ):
        Path("test_config.json").write_text(json.dumps({"criteria": {"tool_call_count_v1": 3}, key: options}))
        done = run()
        assert done.code == 2
        assert "OPENAI_API_KEY belongs to api.openai.com, so 127.0.0.1 must not get it" in done.err
    assert servers.by_name["local"].look_ups == []
