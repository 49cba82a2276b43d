"""Mutation testing of an agent reports which degraded tools an evaluation notices."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from builders import call, case, criterion, turn
from fairtrial import api
from fairtrial.errors import UsageError
from fairtrial.judge.judges import Judges
from fairtrial.llm.budget import Budget
from fairtrial.llm.model_options import ModelOptions
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import ToolCall, Trace

CASES = EvalSet(
    "shop",
    (
        case(turn(call("find", number=17), reply="Order 17 is shipped.", query="Where is 17?"), name="order"),
        case(turn(reply="Hello!", query="Hi"), name="greeting"),
    ),
)
WORDS: dict[str, Any] = {"response_match_score": 0.8}
CALLS: dict[str, Any] = {"tool_trajectory_avg_score": 1.0}
ASKED: Counter[str] = Counter()


def find(number: int) -> dict[str, Any]:
    """Find an order."""
    return {"id": number, "state": "shipped"}


async def honest(message: str, call: Any) -> str:
    """Say what the tool found, or that it found nothing."""
    ASKED[message] += 1
    if "17" not in message:
        return "Hello!"
    found = await call(find, number=17)
    return f"Order 17 is {found['state']}." if "state" in found else "Sorry, I cannot look it up."


async def deaf(message: str, call: Any) -> str:
    """Call the tool, and say the same whatever it answers."""
    if "17" in message:
        await call(find, number=17)
        return "Order 17 is shipped."
    return "Hello!"


async def careless(message: str, call: Any) -> str:
    """Break if an answer is not as expected."""
    return f"Order 17 is {(await call(find, number=17))['state']}." if "17" in message else "Hello!"


async def silent(message: str) -> str:
    """Answer without tools that an environment could stand before."""
    return message


def test_a_criterion_on_replies_catches_an_agent_without_its_tool() -> None:
    """The reply of the honest agent changes if its tool is removed, if the tool fails, and if its result is cut."""

    def truthful(trace: Trace, expected: EvalCase) -> bool:
        return [turn.reply for turn in trace.invocations] == [turn.reply for turn in expected.conversation or ()]

    report = api.mutate(CASES, [criterion(truthful, 1.0)], agent=honest, operators=["tool_removed", "tool_fails"])
    assert {row.operator: (row.overall.caught, row.overall.mutants) for row in report.operators} == {
        "tool_removed": (1, 1),
        "tool_fails": (1, 1),
    }
    assert (report.baselines, report.inert) == (2, 0)


def test_a_criterion_on_calls_lets_a_changed_reply_pass() -> None:
    """The survivor names the tool, shows the changed reply, and gets a hint."""
    report = api.mutate(CASES, CALLS, agent=honest, operators=["tool_fails"])
    (survivor,) = report.survivors
    assert (survivor.case, survivor.mutation.operator, survivor.mutation.tool) == ("order", "tool_fails", "find")
    assert "+ 1 Sorry, I cannot look it up." in survivor.diff
    assert "hallucinations_v1" in survivor.hint


def test_an_agent_that_behaves_as_before_is_inert() -> None:
    """Mutants with the calls and replies of the baseline are counted, and are in no rate."""
    report = api.mutate(CASES, WORDS, agent=deaf)
    assert (report.inert, report.score.mutants, report.operators) == (5, 0, ())


def test_an_agent_that_breaks_is_caught() -> None:
    """An exception of the agent in a degraded environment fails the attempt."""
    report = api.mutate(CASES, WORDS, agent=careless, operators=["tool_removed", "results_truncated"])
    assert report.score.rate == 1.0
    assert report.score.mutants == 2


def test_documents_of_retrieval_get_lost_wrong_and_exchanged() -> None:
    """An agent that quotes its documents says otherwise in each environment, and a comparison of facts notices it."""
    fees = {"title": "Fees", "text": "A room costs 120 dollars."}
    pets = {"title": "Pets", "text": "A dog costs 15 dollars."}

    def search(query: str) -> dict[str, Any]:
        """Find documents."""
        return {"query": query, "documents": [fees, pets]}

    async def agent(message: str, call: Any) -> str:
        documents = (await call(search, query=message))["documents"]
        texts = [document["text"] for document in documents if document["title"] == "Fees"]
        return texts[0] if texts else "I do not know the price."

    rooms = EvalSet("rooms", (case(turn(call("search", query="Price?"), reply=fees["text"], query="Price?")),))
    operators = ["documents_dropped", "documents_exchanged", "results_wrong"]
    report = api.mutate(rooms, {"facts_match_v1": 1.0}, agent=agent, operators=operators, seed=1)
    caught = {row.operator: row.overall.caught for row in report.operators}
    assert caught["documents_exchanged"] == 1
    assert report.inert + sum(row.overall.mutants for row in report.operators) == len(operators)
    assert all(row.overall.rate == 1.0 for row in report.operators)


def test_tools_that_the_agent_never_calls_are_not_degraded() -> None:
    """The greeting runs once, and the order runs once more for each degradation."""
    ASKED.clear()
    api.mutate(CASES, WORDS, agent=honest)
    assert ASKED == {"Hi": 1, "Where is 17?": 6}


def test_a_repeated_call_gets_its_earlier_answer_if_results_are_stale() -> None:
    """An agent that reads, writes and reads again sees the old state."""
    orders = EvalSet("s", (case(turn(reply="now cancelled", query="Cancel it."), name="one"),))
    states: list[str] = []

    def read() -> dict[str, str]:
        """Return the state of the order."""
        return {"state": states[-1]}

    def cancel() -> str:
        """Cancel the order."""
        states.append("cancelled")
        return "ok"

    async def agent(message: str, call: Any) -> str:  # noqa: ARG001
        states[:] = ["open"]
        await call(read)
        await call(cancel)
        return f"now {(await call(read))['state']}"

    report = api.mutate(orders, {"response_match_score": 0.9}, agent=agent, operators=["results_stale"])
    assert (report.score.caught, report.score.mutants, report.inert) == (1, 1, 1)


def test_a_configured_environment_stays_under_the_degradation(tmp_path: Path) -> None:
    """Other tools keep their injections, and the degradation answers before an injection of the same tool."""
    config = tmp_path / "test_config.json"
    config.write_text(
        '{"criteria": {"response_match_score": 0.8}, "environment_simulation_config": {"tool_simulation_configs": '
        '[{"tool_name": "find", "injection_configs": [{"injected_response": {"state": "shipped"}}]}]}}'
    )
    report = api.mutate(CASES, config, agent=honest, operators=["tool_fails"])
    assert (report.baselines, report.score.rate) == (2, 1.0)


def test_the_store_alone_gives_the_report_again(tmp_path: Path) -> None:
    """The stored mutants hold their operators and tools."""
    store = f"sqlite:///{tmp_path}/runs.db"
    report = api.mutate(CASES, WORDS, agent=honest, store=store)
    assert api.mutation_report(report.run, store) == report


def test_a_sample_limits_the_runs_of_the_agent() -> None:
    """Two mutants are two conversations more than the baselines."""
    ASKED.clear()
    api.mutate(CASES, WORDS, agent=honest, sample=2)
    assert ASKED.total() == 2 + 2


def test_an_agent_whose_tools_cannot_be_reached_is_refused() -> None:
    """The message says what the function needs."""
    with pytest.raises(UsageError, match=r"cannot be degraded: .*second parameter `call`"):
        api.mutate(CASES, WORDS, agent=silent)


def test_a_resumed_run_does_not_repeat_finished_mutants(tmp_path: Path) -> None:
    """After an interruption in the third of five conversations, the agent holds the other three only."""
    store = f"sqlite:///{tmp_path}/runs.db"
    orders = EvalSet("s", CASES.cases[:1])
    questions = 0

    async def interrupted(message: str, call: Any) -> str:
        nonlocal questions
        questions += 1
        if questions == 3:
            raise KeyboardInterrupt
        return await honest(message, call)

    plan = api.plan_degradation(orders, interrupted, WORDS, run=api.RunOptions(concurrency=1))
    with pytest.raises(KeyboardInterrupt):
        api.execute_mutation(plan, store=store)
    again = api.plan_degradation(orders, interrupted, WORDS, run=api.RunOptions(concurrency=1))
    earlier = api.reread(store, plan.plan.info.id).info
    resumed = api.resume_mutation(again, earlier)
    report = api.execute_mutation(resumed, store=store, resumed=True).report
    assert (report.run, questions) == (plan.plan.info.id, 3 + 4)
    assert report.score.mutants + report.inert == 5


def test_an_unknown_degradation_is_refused() -> None:
    """The message names a near one."""
    with pytest.raises(UsageError, match=r"'tool_fail' is not a degradation.*tool_fails"):
        api.mutate(CASES, WORDS, agent=honest, operators=["tool_fail"])


def test_no_baseline_that_passes_stops_before_any_degradation() -> None:
    """The agent runs once for each case."""
    ASKED.clear()
    with pytest.raises(UsageError, match="no baseline passes"):
        api.mutate(CASES, [criterion(lambda trace, case: False, 1.0)], agent=honest)  # noqa: ARG005
    assert ASKED.total() == 2


def test_the_recorded_call_is_the_agents_own() -> None:
    """A degradation changes answers, and never the calls of the agent."""
    calls: list[Any] = []

    def kept(trace: Trace, expected: EvalCase) -> bool:  # noqa: ARG001
        calls.extend(step for turn in trace.invocations for step in turn.steps or () if isinstance(step, ToolCall))
        return True

    api.mutate(EvalSet("s", CASES.cases[:1]), [criterion(kept, 1.0)], agent=honest)
    assert {(step.name, step.args["number"]) for step in calls} == {("find", 17)}


JUDGED: dict[str, Any] = {
    "final_response_match_v2": {"threshold": 0.8, "judge_model_options": {"judge_model": "openai/gpt-4o"}}
}


def bill(agent: Any, **options: Any) -> str:
    """The bill of a run with the agent, whose judge has a limit."""
    limited = Judges(models=ModelOptions(budget=Budget(max_calls=1)))
    run = api.RunOptions(judges=limited)
    return api.plan_degradation(CASES, agent, JUDGED, api.MutationOptions(**options), run=run).bill


def test_the_bill_counts_conversations() -> None:
    """Two cases and a tool with 4 degradations: 2 + 4. A sample limits the degraded conversations."""
    assert bill(honest).startswith("about 9 conversations for final_response_match_v2")
    assert bill(honest, sample=3).startswith("about 5 conversations for")


def test_the_refused_bill_counts_conversations() -> None:
    """Without a limit, the message says about how many conversations the judge would get."""
    with pytest.raises(UsageError, match="would ask judges about 9 conversations"):
        api.plan_degradation(CASES, honest, JUDGED)
