"""Runs with a simulated environment, from the configuration to the report."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fairtrial
from commands import fairtrial as command
from fairtrial import ToolResult, UsageError, api
from fairtrial.judge.judges import Judges
from fairtrial.llm.cassette import MissingEntryError, load_cassette
from fairtrial.llm.model_options import ModelOptions
from fairtrial.records.trace import Injection
from fairtrial.testing import ScriptedEnvironment, ScriptedModel
from loopback import Loopback, Status
from schema_checks import check_shape

ERROR = {"injected_error": {"injected_http_error_code": 503, "error_message": "down"}, "invalidates": True}
DOWN = {"tool_simulation_configs": [{"tool_name": "get_order", "injection_configs": [ERROR]}]}
PLAYED = {
    "tool_simulation_configs": [{"tool_name": "get_order", "mock_strategy_type": "MOCK_STRATEGY_TOOL_SPEC"}],
    "simulation_model": "openai/tools",
}
CASES = 3
AGENT = '''
def get_order(order_id: str):
    """Look up an order."""
    return {"state": "shipped"}


def reply(conversation, call):
    return f"It says {call(get_order, order_id='A-17')}."


def alone(conversation):
    return f"It says {get_order('A-17')}."
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An agent and an eval set; the current folder."""
    (tmp_path / "shop_agent.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "shop_agent", raising=False)
    conversation = [{"user_content": {"parts": [{"text": "Where is A-17?"}]}}]
    cases = [{"eval_id": f"c{i}", "conversation": conversation} for i in range(CASES)]
    (tmp_path / "s.evalset.json").write_text(json.dumps({"eval_set_id": "s", "eval_cases": cases}))
    configured(tmp_path, DOWN)
    return tmp_path


def configured(folder: Path, environment: Any) -> None:
    """Write the configuration beside the eval set."""
    config = {"criteria": {"tool_call_count_v1": 3}, "environment_simulation_config": environment}
    (folder / "test_config.json").write_text(json.dumps(config))


def replies(run: api.Run) -> list[str]:
    """What the agent said."""
    return [one.trace.invocations[0].reply for _, one in run.recordings]


RUN = ("run", "s.evalset.json", "--agent", "shop_agent:reply")


@pytest.mark.usefixtures("folder")
def test_what_was_injected_stands_in_every_report() -> None:
    """In the terminal for each case, in `fairtrial show` one by one, and in the JSON as the schema has it."""
    done = command(*RUN, "--json", "report.json")
    assert done.code == 3, "an injected fault makes every attempt invalid"
    assert done.out.count("injected: error (get_order)") == CASES
    report = json.loads(Path("report.json").read_text())
    check_shape(report, "ReportView")
    assert report["attempts"][0]["injections"] == [
        {
            "invocation": 1,
            "tool": "get_order",
            "injected": {"effect": "error", "detail": "503: down", "invalidates": True},
        }
    ]
    shown = command("show", report["run"]["id"], "c1")
    assert "injected in invocation 1: get_order: error, 503: down (invalidates the attempt)" in shown.out


def halved(folder: Path, **fault: Any) -> None:
    """Configure a fault that invalidates about every second attempt, and what the agent says without it."""
    injection = {"injection_probability": 0.5, "injected_response": {}, **fault, "invalidates": True}
    environment = {"tool_simulation_configs": [{"tool_name": "get_order", "injection_configs": [injection]}]}
    eval_set = json.loads((folder / "s.evalset.json").read_text())
    for case in eval_set["eval_cases"]:
        case["conversation"][0]["final_response"] = {"parts": [{"text": "It says {'state': 'shipped'}."}]}
    (folder / "s.evalset.json").write_text(json.dumps(eval_set))
    config = {"criteria": {"response_match_score": 1.0}, "environment_simulation_config": environment}
    (folder / "test_config.json").write_text(json.dumps(config))


@pytest.mark.parametrize(
    ("fault", "limit", "verdict", "said"),
    [
        ({}, (), "failed", "response injected into get_order in invocation 1: {}"),
        (
            {"injected_latency_seconds": 100},
            ("--reply-timeout", "2"),
            "error",
            "latency injected into get_order in invocation 1: 100 s",
        ),
    ],
)
@pytest.mark.long
def test_a_fault_that_invalidates_reaches_every_output(
    folder: Path, fault: dict[str, Any], limit: tuple[str, ...], verdict: str, said: str
) -> None:
    """From the configuration to side, evidence and valid numbers, over several attempts, also where it is cut off."""
    halved(folder, **fault)
    done = command(*RUN, *limit, "--attempts", "4", "--json", "report.json", "--junit", "junit.xml")
    report = json.loads(Path("report.json").read_text())
    hit = [one for one in report["attempts"] if one["injections"]]
    spared = [one for one in report["attempts"] if not one["injections"]]
    assert (len(hit) + len(spared), bool(hit), bool(spared)) == (4 * CASES, True, True)
    evidence = {"side": "environment", "evidence": [said]}
    assert [(one["verdict"], one["fault"], one["invalidations"]) for one in hit] == [
        (verdict, evidence, [evidence])
    ] * len(hit)
    assert [(one["verdict"], one["fault"], one["invalidations"]) for one in spared] == [("passed", None, [])] * len(
        spared
    )
    (matched,) = [one for one in report["run"]["criteria"] if one["criterion"] == "response_match_score"]
    assert matched["pass_rate"]["value"] == pytest.approx(len(spared) / (4 * CASES))
    assert (matched["valid"]["n"], matched["valid"]["pass_rate"]["value"]) == (len(spared), 1.0)
    assert done.out.count("fault: environment") == len(hit)
    assert f"{len(hit)} of {4 * CASES} attempts invalid: environment {len(hit)}" in done.out
    junit = Path("junit.xml").read_text()
    cases = len({one["case_id"] for one in hit})
    # Once for each attempt, and once more in the message that names the decisive step of a failed case.
    named = cases if verdict == "failed" else 0
    assert (junit.count("fault: environment"), junit.count(f"environment: {said}")) == (cases, len(hit) + named)
    shown = command("show", report["run"]["id"])
    assert shown.out.partition("invalid attempts")[2].count(f"environment: {said}") == len(hit)


@pytest.mark.usefixtures("folder")
def test_recordings_keep_what_was_injected() -> None:
    """What `fairtrial record` writes is scored as the run itself, injections and all."""
    assert command("record", *RUN[1:], "-o", "a.jsonl", "-q").code == 0
    (first, *_) = fairtrial.load_recordings("a.jsonl")
    result = (first.trace.invocations[0].steps or ())[-1]
    assert isinstance(result, ToolResult)
    assert result.injected == (Injection("error", "503: down", invalidates=True),)
    done = command("score", "a.jsonl", "--against", "s.evalset.json", "--store", "none", "--json", "-")
    assert [one["injections"][0]["injected"]["effect"] for one in done.json["attempts"]] == ["error"] * CASES


def test_a_changed_environment_is_another_run(folder: Path) -> None:
    """A resume is refused, and says what is not the same as in the run; unchanged, it goes on."""
    first = command(*RUN, "--json", "-").json["run"]["id"]
    assert command("run", "--resume", first).code == 3
    configured(folder, {**DOWN, "random_seed": 3})
    refused = command("run", "--resume", first)
    assert refused.code == 2
    assert "signature of environment is not the same as in the run" in refused.err


@pytest.mark.parametrize("seed", [0, 5])
def test_a_mapping_stands_in_place_of_the_configuration(folder: Path, seed: int) -> None:
    """In Python, with its own signature."""
    given = {"random_seed": seed, "chaos_effects": [{"effect": "empty"}]}
    run = fairtrial.evaluate(folder / "s.evalset.json", "shop_agent:reply", environment=given)
    assert replies(run) == ["It says {}."] * CASES
    assert run.info.signatures["environment"]["chaos_effects"] == [{"effect": "empty"}]
    assert run.info.signatures["environment"].get("random_seed", 0) == seed


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"environment_data": object()}, "/environment_simulation_config: must hold JSON only"),
        ({"chaos_effects": [{"effect": "empty", "probability": float("nan")}]}, "must hold JSON only"),
        ({1: 2}, "/environment_simulation_config/1: is not a known option"),
        (5, "must be a mapping, or a function of a case and an attempt that returns an environment, got int"),
    ],
)
def test_what_cannot_be_an_environment_is_refused(folder: Path, given: Any, problem: str) -> None:
    """Before anything runs, and as what a user can repair."""
    with pytest.raises(UsageError, match=problem):
        fairtrial.evaluate(folder / "s.evalset.json", "shop_agent:reply", environment=given)


def test_callers_may_name_who_answers(folder: Path) -> None:
    """Anything with the shape of the seam."""
    environment = ScriptedEnvironment({"get_order": [{"state": "lost"}]})
    run = fairtrial.evaluate(folder / "s.evalset.json", "shop_agent:reply", environment=environment)
    assert replies(run) == ["It says {'state': 'lost'}."] * CASES
    assert run.info.signatures["environment"]["metric"] == "fairtrial.testing:ScriptedEnvironment"


@pytest.mark.parametrize(
    ("agent", "why"),
    [
        ("http://localhost:1/v1", "an agent behind an endpoint runs its tools itself"),
        ("shop_agent:alone", "give it a second parameter `call`"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_agents_whose_tools_cannot_be_reached_are_refused(agent: str, why: str) -> None:
    """Before anything runs, and saying why; the environment would silently do nothing."""
    for name in ("run", "record"):
        done = command(name, "s.evalset.json", "--agent", agent, *(["-o", "a.jsonl"] if name == "record" else []))
        assert done.code == 2
        assert "environment_simulation_config" in done.err
        assert why in done.err


def test_a_wrong_configuration_is_found_before_anything_runs(folder: Path) -> None:
    """Every problem with file and pointer, by `fairtrial run` and `fairtrial check`."""
    configured(folder, {**DOWN, "simulation_modle": "m", "chaos_effects": [{"effect": "slow"}]})
    done = command(*RUN)
    assert done.code == 2
    at = "test_config.json: /environment_simulation_config"
    assert f"{at}/simulation_modle: is not a known option; did you mean 'simulation_model'?" in done.err
    assert f"{at}/chaos_effects/0/effect: must be one of timeout, " in done.err
    checked = command("check", "test_config.json")
    assert checked.code != 0
    assert "/environment_simulation_config/chaos_effects/0/effect" in checked.out + checked.err


def test_lenient_runs_with_what_it_knows(folder: Path) -> None:
    """An option that nobody knows is a warning then."""
    configured(folder, {**DOWN, "future": 1})
    done = command(*RUN, "--lenient", "--store", "none")
    assert done.code == 3, "an injected fault makes every attempt invalid"
    assert "/environment_simulation_config/future: is not a known option" in done.err


DECLARING = """
from contextlib import asynccontextmanager

from fairtrial.records.trace import About, AgentDetails, Message


class Session:
    about = About((AgentDetails("shop", tool_declarations=({"name": "get_orders"},)),))

    async def send(self, message):
        yield Message("hello")


@asynccontextmanager
async def agent(case, environment):
    yield Session()
"""


def test_a_configured_tool_that_no_agent_has_is_told(folder: Path) -> None:
    """As soon as an agent has told its tools, in the report and while recording, with the nearest name."""
    (folder / "declaring_agent.py").write_text(DECLARING)
    warning = "the environment answers 'get_order', a tool that no agent of the conversation declares"
    done = command("run", "s.evalset.json", "--agent", "declaring_agent:agent", "--store", "none")
    assert done.out.count(f"warning: {warning}") == CASES
    recorded = command("record", "s.evalset.json", "--agent", "declaring_agent:agent", "-o", "a.jsonl")
    assert recorded.err == f"warning: {warning}; did you mean 'get_orders'?\n"


def judges(model: Callable[..., Any] | None = None, **more: Any) -> Judges:
    """The way to a model that plays tools."""
    return Judges(models=ModelOptions(custom_models={"openai/tools": ScriptedModel(model)} if model else {}, **more))


def test_a_played_tool_is_replayed_from_a_cassette(folder: Path) -> None:
    """The same conversations without the model, whatever the concurrency; a call that was not made then is missing."""
    configured(folder, PLAYED)
    numbers = iter(range(100))
    tape = folder / "tape.jsonl"

    def run(judges: Judges, **more: Any) -> list[str]:
        return replies(fairtrial.evaluate(folder / "s.evalset.json", "shop_agent:reply", judges=judges, **more))

    first = run(judges(lambda _: f'{{"n": {next(numbers)}}}', cassette=tape, cassette_mode="record"), concurrency=8)
    assert sorted(first) == [f"It says {{'n': {n}}}." for n in range(CASES)]
    entries = load_cassette(tape)
    assert len(entries) == CASES
    for concurrency in (1, 16):
        assert run(judges(cassette=tape, cassette_mode="replay"), concurrency=concurrency) == first
    with pytest.raises(MissingEntryError, match="no entry for a call of openai/tools"):
        run(judges(cassette=tape, cassette_mode="replay"), attempts=2)


def test_a_model_that_is_gone_is_the_environments_failure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The case is an error of the environment, and is held again on resume, with what the model said before."""
    configured(folder, PLAYED)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    broken = [True]
    with Loopback(lambda _: Status(400) if broken[0] else '{"state": "found"}') as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        done = command(*RUN, "--json", "-", "--concurrency", "1")
        assert [one["failure"]["side"] for one in done.json["attempts"]] == ["environment"] * CASES
        broken[0] = False
        asked = len(server.requests)
        again = command("run", "--resume", done.json["run"]["id"], "--json", "-")
        assert [one["failure"] for one in again.json["attempts"]] == [None] * CASES
        assert [one["environment"]["calls"] for one in again.json["attempts"]] == [1] * CASES
        assert again.json["run"]["spending"]["environment"]["calls"] == CASES
        assert len(server.requests) == asked + CASES


def test_without_a_key_nothing_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that cannot play is found before the first conversation."""
    configured(folder, PLAYED)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        fairtrial.evaluate(folder / "s.evalset.json", "shop_agent:reply")


def test_each_eval_set_has_the_environment_of_its_own_configuration(folder: Path) -> None:
    """Two folders, two configurations, one run with two signatures."""
    for name, environment in (("a", DOWN), ("b", {"chaos_effects": [{"effect": "empty"}]})):
        (folder / name).mkdir()
        text = (folder / "s.evalset.json").read_text().replace('"s"', f'"{name}"')
        (folder / name / "s.evalset.json").write_text(text)
        configured(folder / name, environment)
    run = fairtrial.evaluate([folder / "a", folder / "b"], "shop_agent:reply")
    down = "It says {'error_code': 503, 'error_message': 'down'}."
    assert replies(run) == [down] * CASES + ["It says {}."] * CASES
    assert {"environment", "b/environment"} <= run.info.signatures.keys()


def test_scoring_alone_needs_no_environment(folder: Path) -> None:
    """A configuration with one scores recordings, too: nothing is called then."""
    configured(folder, PLAYED)
    (folder / "plain.jsonl").write_text(json.dumps({"case_id": "c0", "trace": {"invocations": []}}))
    assert command("score", "plain.jsonl", "--against", "s.evalset.json", "--store", "none").code in (0, 1, 3)
