"""The domains of tau2-bench are refused if they are not installed, and answer and compare if they are.

The package index has no tau2-bench. The tests of its mock domain run where somebody has installed it.
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import pytest

import fairtrial
from fairtrial import EvalCase, EvalSet, Scenario
from fairtrial.errors import ConfigError
from fairtrial.records.attempt import Recording
from fairtrial.testing import ScriptedUsers

is_here = importlib.util.find_spec("tau2") is not None and importlib.util.find_spec("tau2.registry") is not None
needs_tau2 = pytest.mark.skipif(not is_here, reason="needs tau2-bench, which is not on the package index")
CREATE, UPDATE, MADE_BEFORE = "create_task_1", "update_task_1", "update_task_with_initialization_actions"


def update_task_status(task_id: str, status: str) -> str:
    """Set the status of a task."""
    return f"the real tool, {task_id}, {status}"


def create_task(user_id: str, title: str) -> str:
    """Create a task."""
    return f"the real tool, {user_id}, {title}"


def remember(note: str) -> str:
    """Note something. The domain has no such tool."""
    return f"noted: {note}"


def agent(conversation: Any, call: Any) -> str:
    """Do as the user says: the name of a tool, and its arguments."""
    name, *args = conversation.invocations[-1].user.text.split("|")
    if name == "create":
        return str(call(create_task, user_id=args[0], title=args[1]))
    if name == "update":
        return str(call(update_task_status, task_id=args[0], status=args[1]))
    return str(call(remember, note=name))


def held(case_id: str, *messages: str, domain: str = "mock") -> Recording:
    """The recording of one task in which the user says this."""
    eval_set = EvalSet("mock", (EvalCase(case_id, scenario=Scenario("", "")),))
    run = fairtrial.evaluate(
        eval_set,
        agent,
        {"response_match_score": 0.0},
        users=ScriptedUsers({case_id: list(messages)}),
        environment={"tau2_domain": domain},
    )
    return next(run.recordings)[1]


def state(recording: Recording) -> dict[str, Any]:
    """The state at the end."""
    assert recording.failure is None, recording.failure.cause
    assert recording.trace.final_state is not None
    return recording.trace.final_state


@pytest.mark.skipif(is_here, reason="tau2-bench is installed")
def test_a_domain_needs_tau2_bench() -> None:
    """The message says where the package is, before anything runs."""
    with pytest.raises(ConfigError, match="/environment_simulation_config/tau2_domain: tau2-bench is not installed"):
        held(CREATE, "hi")


@pytest.mark.skipif(is_here, reason="tau2-bench is installed")
def test_the_other_package_of_this_name_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package index has a package of chemistry with the name tau2."""
    (tmp_path / "tau2").mkdir()
    (tmp_path / "tau2" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match="the installed package tau2 is not tau2-bench"):
        held(CREATE, "hi")


@needs_tau2
def test_an_unknown_domain_is_refused() -> None:
    """The message offers the nearest name."""
    with pytest.raises(ConfigError, match="has no domain 'mok'; did you mean 'mock'"):
        held(CREATE, "hi", domain="mok")


@needs_tau2
def test_a_case_without_a_task_is_the_environments_failure() -> None:
    """The domain has tasks with other ids."""
    failure = held("no_such_task", "hi").failure
    assert failure is not None
    assert (failure.side, failure.cause) == (
        "environment",
        "the domain 'mock' of tau2-bench has no task 'no_such_task'",
    )


@needs_tau2
def test_the_domain_answers_in_place_of_the_real_tool() -> None:
    """Its data change, and a tool that it does not have is the agent's own."""
    recording = held(CREATE, "create|user_1|Important Meeting", "a note")
    created, noted = (invocation.reply for invocation in recording.trace.invocations)
    assert "'task_id': 'task_2'" in created
    assert noted == "noted: a note"
    assert state(recording)["tau2_db_match"] is True


@needs_tau2
def test_a_state_that_differs_is_told() -> None:
    """The places are those of the data of the domain. A refused call changes nothing."""
    recording = held(UPDATE, "update|task_9|completed")
    assert recording.trace.invocations[0].reply == "Error: Task task_9 not found"
    assert state(recording) == {
        "tau2_db_match": False,
        "tau2_env_assertions": True,
        "tau2_differences": ['/agent/tasks/task_1/status: expected "completed", got "pending"'],
    }


@needs_tau2
def test_conversations_have_their_own_data() -> None:
    """Each begins in the initial state of its task."""
    first, second = (held(MADE_BEFORE, "update|task_2|completed") for _ in range(2))
    assert state(first)["tau2_db_match"] is state(second)["tau2_db_match"] is True


@needs_tau2
@pytest.mark.parametrize(
    ("task_id", "message"),
    [(UPDATE, "update|task_1|completed"), (UPDATE, "update|task_1|pending"), (MADE_BEFORE, "update|task_2|completed")],
)
def test_the_state_is_judged_as_by_tau2_bench(task_id: str, message: str) -> None:
    """Its own evaluator replays the same calls, and reaches the same decision."""
    evaluator = importlib.import_module("tau2.evaluator.evaluator_env").EnvironmentEvaluator
    registry = importlib.import_module("tau2.registry").registry
    messages = importlib.import_module("tau2.data_model.message")
    make = registry.get_env_constructor("mock")
    (task,) = [each for each in registry.get_tasks_loader("mock")(None) if each.id == task_id]
    _, *args = message.split("|")
    call = messages.ToolCall(
        id="1", name="update_task_status", arguments=dict(zip(("task_id", "status"), args, strict=True))
    )
    answering = make()
    start = task.initial_state
    answering.set_state(None, start.initialization_actions if start is not None else None, [])
    trajectory = [
        messages.AssistantMessage(role="assistant", content=None, tool_calls=[call]),
        answering.get_response(call),
    ]
    reward = evaluator.calculate_reward(environment_constructor=make, task=task, full_trajectory=trajectory)
    assert state(held(task_id, message))["tau2_db_match"] is reward.db_check.db_match
