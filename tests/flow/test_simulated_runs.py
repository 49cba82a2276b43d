"""Runs with a simulated user, against a model server on a real socket."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commands import enter, fairtrial
from fairtrial import UsageError, api
from fairtrial.records.case import EvalCase, EvalSet, Scenario
from fairtrial.records.result import CaseResult
from fairtrial.records.trace import Trace
from fairtrial.testing import ScriptedUsers
from loopback import Drop, Loopback, Request, Say, Status

KEPT = "sqlite:///kept.db"
CONFIG = {
    "criteria": {"tool_call_count_v1": 3},
    "user_simulator_config": {"model": "openai/user", "max_allowed_invocations": 3},
}
SPEAKING = {
    "criteria": {"tool_call_count_v1": 3},
    "user_simulator_config": {"type": "llm_audio", "audio_model": "cloud_tts"},
}


def files(folder: Path, config: dict[str, Any] | None = None, cases: int = 1) -> Path:
    """Write a file of scenarios with a config beside it."""
    scenarios = [
        {"starting_prompt": f"Hello {i}", "conversation_plan": "Ask where order A-17 is."} for i in range(cases)
    ]
    (folder / "test_config.json").write_text(json.dumps(config or CONFIG))
    path = folder / "shop.scenarios.json"
    path.write_text(json.dumps({"scenarios": scenarios}))
    return path


def echo(trace: Any) -> str:
    """An agent that repeats the user."""
    return f"You said: {trace.invocations[-1].query}"


def run(
    folder: Path, server: Loopback, monkeypatch: pytest.MonkeyPatch, cases: int = 1, **options: Any
) -> list[CaseResult]:
    """Hold the conversations with a server as the user, and return the results."""
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    return list(api.evaluate(files(folder, cases=cases), echo, **options).cases)


def test_a_model_plays_the_user_until_it_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first message is the scenario's, the second the model's, and its stop signal is never said."""
    replies = iter(["Where is A-17?", "Thanks </finished>"])
    with Loopback(lambda _: next(replies)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        done = api.evaluate(files(tmp_path), echo)
        [(_, recording)] = done.recordings
    assert [one.query for one in recording.trace.invocations] == ["Hello 0", "Where is A-17?"]
    assert recording.ended_by == "stop"


def test_the_cap_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who never stops is stopped, and the result says so."""
    with Loopback(lambda request: f"message {request.number}") as server:
        [result] = run(tmp_path, server, monkeypatch)
    assert (result.ended_by, result.verdict) == ("cap", "passed")
    assert len(server.requests) == 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("cap", "said", "ended_by"),
    [(0, 0, "cap"), (1, 1, "cap"), (2, 2, "cap"), (-1, 25, "stop"), (None, 20, "cap")],
)
def test_a_user_says_as_much_as_the_cap_allows(
    cap: int | None, said: int, ended_by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The starting prompt counts; 0 is silence, -1 no limit, 20 what holds without a word; what ended it is shown."""
    options = {"model": "openai/user"} | ({} if cap is None else {"max_allowed_invocations": cap})
    enter(tmp_path, monkeypatch)
    files(tmp_path, {**CONFIG, "user_simulator_config": options})
    with Loopback(lambda request: "</finished>" if request.number == 25 else f"message {request.number}") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        done = fairtrial(
            "run", "shop.scenarios.json", "--agent", "commands:obedient", "--store", KEPT, "--json", "r.json"
        )
    (case,) = json.loads(Path("r.json").read_bytes())["attempts"]
    assert case["ended_by"] == ended_by
    assert ("ended by the cap on invocations" in done.out) == (ended_by == "cap")
    (recording,) = [one for _, one in api.reread(KEPT, "2").recordings]
    assert len(recording.trace.invocations) == said


@pytest.mark.parametrize("reply", [Say(""), Say("   "), Status(400), Status(401)])
def test_a_reply_that_is_none_is_the_simulators_failure(
    reply: Say | Status, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty or refused reply breaks the conversation after the turns so far; the run is unscored."""
    with Loopback(lambda request: "go on" if request.number == 1 else reply) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        done = api.evaluate(files(tmp_path), echo)
    [(_, recording)] = done.recordings
    assert recording.failure is not None
    assert (recording.failure.side, recording.ended_by) == ("simulator", "failure")
    assert [one.reply for one in recording.trace.invocations] == ["You said: Hello 0", "You said: go on"]
    assert done.verdict == "unscored"


def test_a_setting_that_nobody_knows_is_named_with_its_place(tmp_path: Path) -> None:
    """The settings of the simulator's model are checked before anything runs."""
    config = {**CONFIG, "user_simulator_config": {"model": "openai/user", "model_configuration": {"tempreture": 1}}}
    with pytest.raises(UsageError, match="/model_configuration/tempreture: is not a known option"):
        api.evaluate(files(tmp_path, config), echo)


def test_a_model_that_is_gone_is_the_simulators_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The case is an error of the simulator, with the turns so far."""
    with Loopback(lambda _: Status(400)) as server:
        [result] = run(tmp_path, server, monkeypatch)
    assert result.failure is not None
    assert result.failure.side == "simulator"


def test_a_dropped_connection_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulator's calls go through the same pace and retries as the judge's."""

    def flaky(request: Request) -> Drop | Say:
        return Drop() if request.number == 1 else Say("</finished>")

    with Loopback(flaky) as server:
        [result] = run(tmp_path, server, monkeypatch)
    assert (result.failure, result.ended_by) == (None, "stop")


@pytest.mark.long
def test_conversations_do_not_mix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each simulated user sees its own conversation only."""
    with Loopback(lambda _: "and then?") as server:
        run(tmp_path, server, monkeypatch, cases=8, attempts=2)
        texts = [request.text for request in server.requests]
    assert len(texts) == 32
    assert all(sum(f"Hello {i}" in text for i in range(8)) == 1 for text in texts)


def test_without_a_key_nothing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulator that cannot be asked is found before the first conversation."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        api.evaluate(files(tmp_path), echo)


def test_a_typo_in_the_simulators_config_is_found(tmp_path: Path) -> None:
    """An unknown option is named with its place, before anything runs."""
    config = {**CONFIG, "user_simulator_config": {"modle": "x"}}
    with pytest.raises(UsageError, match="/user_simulator_config/modle"):
        api.evaluate(files(tmp_path, config), echo)


def test_users_that_speak_are_refused_where_a_scenario_needs_one(tmp_path: Path) -> None:
    """ADK can voice its simulated users; what that takes is not read, and nothing runs."""
    path = files(tmp_path, SPEAKING)
    with pytest.raises(UsageError, match="/user_simulator_config/type: simulated users that speak"):
        api.evaluate(path, echo)


def test_users_that_speak_do_not_hinder_what_needs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration of ADK's may stand beside conversations that are written out: it is only said."""
    enter(tmp_path, monkeypatch)
    files(tmp_path, SPEAKING)
    said = {"role": "user", "parts": [{"text": "Hello"}]}
    cases = [{"eval_id": "a", "conversation": [{"user_content": said}]}]
    Path("shop.evalset.json").write_text(json.dumps({"eval_set_id": "s", "eval_cases": cases}))
    done = fairtrial("run", "shop.evalset.json", "--agent", "commands:obedient")
    assert done.code == 0, done.err
    assert "simulated users that speak" in done.err


def test_callers_may_name_who_plays(tmp_path: Path) -> None:
    """In Python the users can be anything with the shape of the seam."""
    path = files(tmp_path)
    case_id = api.load_eval_set(path).cases[0].id
    done = api.evaluate(path, echo, users=ScriptedUsers({case_id: ["Hello 0", "bye"]}))
    [(_, recording)] = done.recordings
    assert [one.reply for one in recording.trace.invocations] == ["You said: Hello 0", "You said: bye"]


def test_scenarios_are_named_as_google_adk_names_them(tmp_path: Path) -> None:
    """The id of a scenario's case is that of `adk eval_set add_eval_case`: SHA-256 of its sorted JSON, 8 digits.

    Here of {"conversation_plan": "Ask where order A-17 is.", "starting_prompt": "Hello 0", "user_persona": null}.
    """
    assert api.load_eval_set(files(tmp_path)).cases[0].id == "849613b3"


def test_what_playing_the_user_took_is_counted_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two calls of 1,000 and 100 tokens a case: 15 and 60 cents a million with gpt-4o-mini; no judge was asked."""
    config = {**CONFIG, "user_simulator_config": {"model": "openai/gpt-4o-mini", "max_allowed_invocations": 3}}
    with Loopback(lambda request: f"message {request.number}") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        done = api.evaluate(files(tmp_path, config, cases=2), echo)
    (first, second) = done.cases
    one = first.simulator
    assert one is not None
    assert (one.calls, one.input_tokens, one.output_tokens) == (2, 2000, 200)
    assert one.cost == pytest.approx(2 * (1000 * 0.15 + 100 * 0.60) / 1e6)
    assert first.judge is None
    assert second.simulator is not None
    assert done.summary.spending.simulator == one + second.simulator


def test_judge_and_user_are_not_mixed_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In JSON and on the terminal each has calls, tokens and money of its own, for the case and for the run."""
    options = {"judge_model_options": {"judge_model": "openai/gpt-4o-mini", "num_samples": 1}}
    config = {**CONFIG, "criteria": {"safety_v1": {"threshold": 1.0, **options}}}

    def script(request: Request) -> str:
        return request.answers("safe") if request.schema else "</finished>"

    enter(tmp_path, monkeypatch)
    files(tmp_path, config)
    with Loopback(script) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        done = fairtrial("run", "shop.scenarios.json", "--agent", "commands:obedient", "--json", "run.json")
        shown = fairtrial("show", "2", "*").out
    assert done.code == 0, done.out + done.err
    report = json.loads(Path("run.json").read_bytes())
    counts = {"calls": 1, "input_tokens": 1000, "output_tokens": 100}
    judge = {**counts, "cost": pytest.approx(0.00021), "unreported_calls": 0, "unpriced_calls": 0}
    user = {**counts, "cost": None, "unreported_calls": 0, "unpriced_calls": 1}
    assert report["run"]["spending"] == {"agent": None, "judge": judge, "simulator": user, "environment": None}
    (case,) = report["attempts"]
    assert (case["usage"], case["judge"], case["simulator"]) == (None, judge, user)
    lines = [line.split() for line in done.out.splitlines()]
    assert ["judges", "1", "1,000", "100", "$0.0002"] in lines
    assert ["simulated", "users", "1", "1,000", "100", "–"] in lines
    assert "judges: 1 call, 1,000 tokens in, 100 out, cost $0.0002" in shown
    assert "simulated user: 1 call, 1,000 tokens in, 100 out, cost –" in shown


def test_each_configuration_of_users_is_in_the_runs_signatures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A resume sees where any of them has changed; users and their caps are those of their own file."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    paths = []
    for cap, folder in enumerate((tmp_path / "one", tmp_path / "two"), 1):
        folder.mkdir()
        users = {"model": "openai/user", "max_allowed_invocations": cap}
        config = {"criteria": {"tool_call_count_v1": 3}, "user_simulator_config": users}
        paths.append(files(folder, config, cases=2))
    plan = api.plan_run(paths, echo)
    told = {name: signed for name, signed in plan.info.signatures.items() if "user_simulator" in name}
    assert [one["max_allowed_invocations"] for one in told.values()] == [1, 2]
    assert [planned.cap for planned in plan.cases] == [1, 1, 2, 2]


@pytest.mark.parametrize(("options", "most"), [({}, 20), ({"max_allowed_invocations": 3}, 3)], ids=["default", "3"])
def test_a_user_in_python_has_the_cap_of_the_configuration(options: dict[str, Any], most: int) -> None:
    """A user that never says None would talk for ever."""

    class Chatterbox:
        """A user who always goes on."""

        async def next_message(self, _: Trace) -> str:
            """Say something."""
            return "and then?"

    scenarios = EvalSet("set", (EvalCase("case", scenario=Scenario("Hello", "Talk.")),))
    config = {"criteria": {"tool_call_count_v1": 3}, "user_simulator_config": options}
    run = api.evaluate(scenarios, lambda _: "yes", config, users=lambda *_: Chatterbox())
    ((_, recording),) = run.recordings
    assert len(recording.trace.invocations) == most
    assert run.cases[0].ended_by == "cap"
