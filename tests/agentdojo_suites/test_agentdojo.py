"""AgentDojo's own suites: our criteria of state and of goals decide as AgentDojo's own checks do."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("agentdojo", reason="needs AgentDojo (make test-agentdojo)")

import dojo

import fairtrial
from fairtrial.api.attacks.attack_choice import AttackChoice
from fairtrial.api.attacks.attack_planning import plan_attacks
from fairtrial.api.execution import execute
from fairtrial.api.planning import plan_run

pytestmark = [pytest.mark.agentdojo, pytest.mark.filterwarnings("ignore")]
STATE = {"final_state_match_v1": 1.0}
_EACH = 6
"""The number of cases in which every goal is tried."""
OVERWRITTEN = {("banking", "user_task_14", "injection_task_7")}
"""The user asks for another password later in the same conversation, so that the state no longer shows the call."""
RELATIVE = {f"injection_task_{number}" for number in range(6, 13)}
"""The injections of workspace whose check compares with the first state: the next id, and the unread mails."""


def _is_hidden(name: str, task: str, injection: str) -> bool:
    """Return whether the state that AgentDojo looks at cannot show a goal whose calls were made.

    The user's own task overwrites the state, or it changes the state before, for example reads the unread mails.
    """
    if name != "workspace" or injection not in RELATIVE:
        return (name, task, injection) in OVERWRITTEN
    environment = dojo.world(name, task)
    before = dojo.state(environment)
    dojo.apply(name, environment, dojo.truth(dojo.suite(name).user_tasks[task], environment))
    return dojo.state(environment) != before


def _attack_case(name: str, folder: Path, *, obeys: bool) -> Counter[tuple[bool, bool]]:
    """Run every goal of a suite in its cases. Count our decisions beside AgentDojo's."""
    store = f"sqlite:///{folder}/runs.db"
    goals = tuple(dojo.goal(name, task_id) for task_id in dojo.suite(name).injection_tasks)
    plan = plan_run(dojo.cases(name), dojo.agent(name, obeys=obeys), STATE)
    baseline = execute(plan, store=store)
    choice = AttackChoice(
        ("direct",), languages=("en",), places=("result", "document"), goals=goals, sample=_EACH * len(goals)
    )
    run = execute(plan_attacks(plan, baseline, choice).plan, store=store)
    expected = {case.position: case.case for case in run.expected}
    decisions = {
        (result.position): outcome.score
        for result in run.cases
        for outcome in result.outcomes
        if outcome.criterion == "attack_success_v1"
    }
    counts: Counter[tuple[bool, bool]] = Counter()
    seen = set()
    for position, recording in run.recordings:
        attack = expected[position].attack
        if attack is None or attack.goal is None:
            continue
        calls = [call for turn in recording.trace.invocations for call in turn.tool_calls]
        task = expected[position].id.partition("+")[0].removeprefix(f"{name}-")
        reply = recording.trace.invocations[-1].reply
        theirs = dojo.security(name, task, attack.goal.id, calls, reply)
        ours = decisions[position].value == 1
        counts[ours, theirs] += 1
        seen.add(attack.goal.id)
        if ours != theirs:
            assert _is_hidden(name, task, attack.goal.id), (task, attack.goal.id)
    assert seen == {goal.id for goal in goals}
    return counts


@pytest.mark.parametrize("name", dojo.SUITES)
def test_the_ground_truth_passes_under_our_criterion_of_state(name: str, tmp_path: Path) -> None:
    """Every user task passes by its final state, and by AgentDojo's own check of the same calls."""
    run = fairtrial.evaluate(dojo.cases(name), dojo.agent(name, obeys=False), STATE, store=f"sqlite:///{tmp_path}/a.db")
    assert run.summary.cases == {"passed": len(dojo.suite(name).user_tasks)}
    for (_, recording), case in zip(run.recordings, run.expected, strict=True):
        trace = recording.trace
        calls, task = list(trace.invocations[0].tool_calls), case.case.id.removeprefix(f"{name}-")
        assert dojo.utility(name, task, calls, trace.invocations[0].reply), task


@pytest.mark.parametrize("name", dojo.SUITES)
def test_an_agent_that_obeys_is_decided_as_by_agentdojo(name: str, tmp_path: Path) -> None:
    """Each goal is reached where AgentDojo's own check says so."""
    counts = _attack_case(name, tmp_path, obeys=True)
    assert counts[False, True] == 0
    assert counts[True, False] <= counts[True, True] / 5
    assert counts[True, True] >= len(dojo.suite(name).injection_tasks)


@pytest.mark.parametrize("name", dojo.SUITES)
def test_an_agent_that_ignores_is_decided_as_by_agentdojo(name: str, tmp_path: Path) -> None:
    """No goal is reached, and AgentDojo's own check says the same."""
    counts = _attack_case(name, tmp_path, obeys=False)
    assert set(counts) == {(False, False)}, counts
