"""A run owns its models, caches, ballots, users and environments; two runs share only what the caller shares."""

from __future__ import annotations

import asyncio
import copy
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

import fairtrial
from fairtrial import Budget, Criterion, Judges, ModelOptions, Prompt, Reply, Trace, UsageError, api
from fairtrial.api.execution import RunEvents, run_plan
from fairtrial.api.planning import Plan
from fairtrial.errors import ConfigError
from fairtrial.judge.judge import Judge
from fairtrial.llm.model import NamedModel
from fairtrial.metrics.response_judged import FinalResponseMatch
from fairtrial.records.case import EvalCase, EvalSet, Scenario
from fairtrial.records.trace import Invocation, Message
from fairtrial.store import Store

pytestmark = pytest.mark.long

CASES = 20
TOOLS = {
    "simulation_model": "tools",
    "tool_simulation_configs": [{"tool_name": "get_order", "mock_strategy_type": "MOCK_STRATEGY_TOOL_SPEC"}],
}
CONFIG: dict[str, Any] = {
    "criteria": {
        "final_response_match_v2": {"threshold": 0.5, "judge_model_options": {"judge_model": "judge"}},
        "per_turn_user_simulator_quality_v1": {"threshold": 0.5, "judge_model_options": {"judge_model": "judge"}},
    },
    "user_simulator_config": {"model": "users", "max_allowed_invocations": 3},
    "environment_simulation_config": TOOLS,
}


async def judge(prompt: Prompt) -> Reply:
    """Answer "valid" to each item, after others had their turn."""
    await asyncio.sleep(0)
    assert prompt.schema is not None
    items = prompt.schema["properties"]["answers"]["items"]["properties"]["id"]["enum"]
    answers = [{"id": item, "rationale": prompt.draw, "answer": "valid"} for item in items]
    return Reply(json.dumps({"answers": answers}), input_tokens=10, output_tokens=5, cost=0.001)


async def users(prompt: Prompt) -> Reply:
    """Say a message that the place of the call determines."""
    await asyncio.sleep(0)
    return Reply(f"and then? {prompt.draw}", input_tokens=3, output_tokens=2, cost=0.01)


async def tools(prompt: Prompt) -> Reply:
    """Answer a tool call by the place of the call."""
    await asyncio.sleep(0)
    return Reply(json.dumps({"place": prompt.draw}), input_tokens=2, output_tokens=1, cost=0.1)


JUDGES = Judges(models=ModelOptions(custom_models={"judge": judge, "users": users, "tools": tools}))


def get_order(order_id: str) -> str:
    """Never called: the environment plays this tool."""
    raise AssertionError(order_id)


async def shop(trace: Trace, call: Callable[..., Any]) -> str:
    """Look up an order that the user's message names."""
    answer = await call(get_order, order_id=trace.invocations[-1].query)
    return f"It says {answer}."


def eval_set(name: str) -> EvalSet:
    """Cases with a fixed conversation, and scenarios, whose texts carry the name of the set."""
    fixed = (
        EvalCase(f"{name}{i}", (Invocation(Message(f"{name} {i}?"), (), Message("a reply")),)) for i in range(CASES)
    )
    played = (EvalCase(f"{name}s{i}", scenario=Scenario(f"{name} {i}!", "ask on")) for i in range(CASES))
    return EvalSet(name, (*fixed, *played))


def plan(name: str, judges: Judges = JUDGES) -> Plan:
    """Plan a run over the cases of a name; an environment stands around its agent."""
    return api.plan_run(eval_set(name), shop, CONFIG, run=api.RunOptions(judges=judges))


def facts(run: api.Run) -> dict[str, Any]:
    """Return the ballots, replies, costs and results of a run; only durations may differ between equal runs."""
    kept = [one for one in run.summary.criteria if "duration" not in one.criterion]
    results = [
        replace_durations(msgspec.to_builtins(case.outcomes), msgspec.to_builtins(case.simulator)) for case in run.cases
    ]
    return {
        "ballots": dict(run.ballots),
        "replies": dict(run.replies),
        "criteria": kept,
        "results": results,
    }


def replace_durations(outcomes: list[dict[str, Any]], simulator: Any) -> tuple[list[dict[str, Any]], Any]:
    """Leave out the outcomes that measure time."""
    return [one for one in outcomes if "duration" not in one["criterion"]], simulator


def test_two_runs_in_two_threads_are_each_equal_to_the_run_alone() -> None:
    """The same options are given to both; ballots, replies, costs and results are those of the run alone."""
    alone = {name: facts(api.execute(plan(name))) for name in ("a", "b")}
    together: dict[str, Any] = {}
    start = threading.Barrier(2)

    def run(name: str) -> None:
        planned = plan(name)
        start.wait()
        together[name] = facts(api.execute(planned))

    threads = [threading.Thread(target=run, args=(name,)) for name in alone]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone
    assert len(alone["a"]["ballots"]) == 2 * CASES


def test_two_runs_as_tasks_of_one_loop_are_each_equal_to_the_run_alone(tmp_path: Path) -> None:
    """Here too: each run has its own models, so that no ballot or reply goes to the other run."""
    alone = {name: facts(api.execute(plan(name))) for name in ("a", "b")}
    plans = {name: plan(name) for name in alone}
    stores = {name: Store(f"sqlite:///{tmp_path}/{name}.db") for name in alone}

    async def both() -> None:
        await asyncio.gather(*(run_plan(plans[name], stores[name], RunEvents()) for name in alone))

    asyncio.run(both())
    for store in stores.values():
        store.close()
    together = {name: facts(api.reread(f"sqlite:///{tmp_path}/{name}.db", plans[name].info.id)) for name in alone}
    assert together == alone


def test_a_plan_that_is_executed_twice_gives_two_equal_runs() -> None:
    """The second run asks its own models, and finds nothing of the first."""
    planned = plan("a")
    first, second = (facts(api.execute(planned)) for _ in range(2))
    assert first == second
    assert first["criteria"][0].calls


def test_what_a_caller_passes_stays_as_it_is() -> None:
    """Options, config, eval set, criteria with a judge, and the plan are after a run equal to what they were before."""
    cases = eval_set("a")
    own = [Criterion("mine", FinalResponseMatch(Judge((NamedModel("judge"), NamedModel("own", judge)), votes=2)))]
    config, environment = copy.deepcopy((CONFIG, TOOLS))
    before = copy.deepcopy((JUDGES, config, environment, cases, own))
    fairtrial.evaluate(cases, shop, config, judges=JUDGES)
    fixed = EvalSet("fixed", cases.cases[:CASES])
    run = fairtrial.evaluate(fixed, shop, own, judges=JUDGES, environment=environment)
    assert (JUDGES, config, environment, cases, own) == before
    assert [voter.model for voter in own[0].metric.judge.panel] == [None, judge]  # type: ignore[attr-defined]
    assert {call.voter for ballot in run.ballots.values() for call in ballot.calls} == {"judge", "own"}


def test_a_budget_is_shared_by_the_runs_that_get_it() -> None:
    """The caller passes one budget to two runs in two threads; together they make no more calls than it allows."""
    budget = Budget(max_calls=70)
    judges = replace(JUDGES, models=replace(JUDGES.models, budget=budget))
    threads = [threading.Thread(target=lambda name=name: api.execute(plan(name, judges))) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert budget.calls == 70


def test_a_budget_in_money_is_waited_for_across_threads() -> None:
    """Until the price of a call is known one call is in flight, also if the other caller is in another thread."""
    budget = Budget(max_cost=1.0)
    order: list[str] = []
    first_asks, second_waits = threading.Event(), threading.Event()

    async def first() -> None:
        await budget.reserve()
        first_asks.set()
        await asyncio.to_thread(second_waits.wait)
        order.append("first settles")
        budget.settle(Reply("yes", cost=0.1))

    async def second() -> None:
        await asyncio.to_thread(first_asks.wait)
        asyncio.get_running_loop().call_later(0.05, second_waits.set)
        await budget.reserve()
        order.append("second goes")

    threads = [threading.Thread(target=asyncio.run, args=(work(),)) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert order == ["first settles", "second goes"]


def test_a_cassette_that_another_run_records_is_refused(tmp_path: Path) -> None:
    """Two runs would write over each other's calls; the second is told so before it runs anything."""
    models = replace(JUDGES.models, cassette=tmp_path / "c.jsonl", cassette_mode="record")
    judges = replace(JUDGES, models=models)
    inner: list[str] = []

    def agent(trace: Trace) -> str:
        if not inner:
            inner.append("")
            with pytest.raises(UsageError, match="another run is recording"):
                api.execute(plan("b", judges))
        return trace.invocations[-1].query

    only = EvalSet("one", eval_set("a").cases[:1])
    fairtrial.evaluate(only, agent, {"final_response_match_v2": 0.5}, judges=replace(judges, model="judge"))
    assert inner == [""]


def test_a_cassette_needs_a_mode() -> None:
    """A path alone does not say whether to write or to read."""
    with pytest.raises(ConfigError, match="give both or neither"):
        ModelOptions(cassette=Path("c.jsonl"))
