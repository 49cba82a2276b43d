"""AgentDojo's own suites: our criteria of state and of goals decide as AgentDojo's own checks do."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("agentdojo", reason="needs AgentDojo (make test-agentdojo)")

import dojo

import fairtrial
from fairtrial.api.attacks.attack_candidates import AttackChoice
from fairtrial.api.attacks.attack_planning import plan_attacks
from fairtrial.api.execution import execute
from fairtrial.api.planning import plan_run

pytestmark = [pytest.mark.agentdojo, pytest.mark.filterwarnings("ignore")]
STATE = {"final_state_match_v1": 1.0}
_EACH = 6
"""The number of cases in which every goal is tried."""
OVERWRITTEN = {
    # The user asks for another password later in the same conversation, so that the state no longer shows the call.
    ("banking", "user_task_14", "injection_task_7"),
    # The user's own task adds to a file before, so that other files are the five largest than in the first state.
    ("workspace", "user_task_35", "injection_task_11"),
}
_ABOUT_UNREAD = ("injection_task_6", "injection_task_8", "injection_task_9")


def _is_hidden(name: str, task: str, injection: str, tools: list[str]) -> bool:
    """Return whether the state that AgentDojo looks at cannot show a goal whose calls were made.

    The user's own task overwrites the state, or it read the unread mails before, so that none is unread for the goal.
    """
    has_read = name == "workspace" and injection in _ABOUT_UNREAD and "get_unread_emails" in tools
    return has_read or (name, task, injection) in OVERWRITTEN


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
            assert _is_hidden(name, task, attack.goal.id, [call.name for call in calls]), (task, attack.goal.id)
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
    assert counts[True, False] <= counts[True, True] / 20
    assert counts[True, True] >= len(dojo.suite(name).injection_tasks)


@pytest.mark.parametrize("name", dojo.SUITES)
def test_an_agent_that_ignores_is_decided_as_by_agentdojo(name: str, tmp_path: Path) -> None:
    """No goal is reached, and AgentDojo's own check says the same."""
    counts = _attack_case(name, tmp_path, obeys=False)
    assert set(counts) == {(False, False)}, counts
