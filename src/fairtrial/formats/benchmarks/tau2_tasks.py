"""Read tau2-bench tasks as cases. A task becomes a scenario, with what its evaluation criteria expect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairtrial.formats.chats.assembly import object_at, text_at
from fairtrial.formats.message_entries import read_arguments
from fairtrial.records.case import EvalCase, EvalSet, Persona, Scenario
from fairtrial.records.rubric import Rubric, make_statement_rubric
from fairtrial.records.trace import ToolCall
from fairtrial.text.display import count

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place
    from fairtrial.records.record import Json

KIND = "tau2-bench tasks"
DB_MATCH, ASSERTIONS = "tau2_db_match", "tau2_env_assertions"
"""Keys of the final state: whether the data are as after the gold actions, and whether the assertions hold."""
_STARTING_PROMPT = "Hello, I need help."
_DEFAULT_BASIS = ("DB", "COMMUNICATE")
_TRAJECTORY = "TRAJECTORY_QUALITY"
_HEADINGS = (
    ("reason_for_call", "Why you call"),
    ("known_info", "What you know"),
    ("unknown_info", "What you do not know"),
    ("task_instructions", "How you act"),
)


def is_task(value: Any) -> bool:
    """Whether a value is a task of tau2-bench."""
    scenario = value.get("user_scenario") if isinstance(value, dict) else None
    return isinstance(scenario, dict) and "instructions" in scenario


def read_tasks(tasks: Sequence[Any], reading: Diagnostics, stem: str) -> EvalSet:
    """Return the tasks as cases. A task that begins in the middle of a conversation is left out, and a warning says so.

    Notes say what the cases cannot hold.
    """
    cases: list[EvalCase] = []
    user_tasks, compared = 0, 0
    for i, task in enumerate(tasks):
        at: Place = ((), i)
        if not is_task(task):
            reading.wrong_type(at, "a task {'id': ..., 'user_scenario': {'instructions': ...}}", task)
        elif object_at(task, "initial_state").get("message_history"):
            reading.warning(at, "begins in the middle of a conversation, and is left out")
        else:
            cases.append(_case(task, at, reading))
            actions = object_at(task, "evaluation_criteria").get("actions") or ()
            objects = [action for action in actions if isinstance(action, dict)]
            user_tasks += any(action.get("requestor") == "user" for action in objects)
            compared += any(action.get("compare_args") is not None for action in objects)
    if user_tasks:
        reading.notes.append(
            f"{count(user_tasks, 'task')} with gold actions of the user: the expected calls hold the agent's only"
        )
    if compared:
        reading.notes.append(f"{count(compared, 'task')} with compare_args: the expected calls hold every argument")
    return EvalSet(stem, tuple(cases))


def gold_calls(criteria: dict[str, Any], at: Place, reading: Diagnostics) -> tuple[ToolCall, ...]:
    """Return the gold actions of the agent. Actions of the simulated user are not expected of the agent."""
    calls: list[ToolCall] = []
    for i, action in enumerate(reading.array(criteria, "actions", (at, "evaluation_criteria"))):
        if not isinstance(action, dict) or not isinstance(action.get("name"), str):
            place = (((at, "evaluation_criteria"), "actions"), i)
            reading.wrong_type(place, "an action {'name': ..., 'arguments': {...}}", action)
        elif action.get("requestor", "assistant") == "assistant":
            calls.append(ToolCall(action["name"], read_arguments(action.get("arguments"))))
    return tuple(calls)


def _case(task: dict[str, Any], at: Place, reading: Diagnostics) -> EvalCase:
    criteria = object_at(task, "evaluation_criteria")
    basis = tuple(reading.array(criteria, "reward_basis", (at, "evaluation_criteria"))) or _DEFAULT_BASIS
    return EvalCase(
        str(task.get("id")),
        scenario=_scenario(task["user_scenario"]),
        rubrics=_rubrics(criteria, basis, (at, "evaluation_criteria"), reading),
        expected_calls=None if criteria.get("actions") is None else gold_calls(criteria, at, reading),
        final_session_state=_final_state(criteria, basis) or None,
    )


def _scenario(user: dict[str, Any]) -> Scenario:
    persona = text_at(user, "persona").strip()
    described = Persona("tau2-bench", persona) if persona else None
    return Scenario(_STARTING_PROMPT, _plan(user["instructions"]), described)


def _plan(instructions: Any) -> str:
    """Return the instructions of the simulated user, each part under its heading."""
    if not isinstance(instructions, dict):
        return str(instructions)
    parts = [(heading, text_at(instructions, key).strip()) for key, heading in _HEADINGS]
    return "\n\n".join(f"{heading}:\n{text}" for heading, text in parts if text)


def _rubrics(criteria: dict[str, Any], basis: Sequence[Any], at: Place, reading: Diagnostics) -> tuple[Rubric, ...]:
    """Return what the agent must say, and the assertions in words. The description tells whether the reward counts it.

    tau2-bench looks for the text that the agent must say. A judge also accepts other words for the same fact.
    """
    rubrics: list[Rubric] = []
    for key, reward in (("communicate_info", "COMMUNICATE"), ("nl_assertions", "NL_ASSERTION")):
        role = "part of the reward" if reward in basis else "not part of the reward"
        for number, text in enumerate(reading.array(criteria, key, at), 1):
            if not isinstance(text, str):
                reading.wrong_type(((at, key), number - 1), "a text", text)
                continue
            make = make_statement_rubric if key == "communicate_info" else Rubric
            rubrics.append(make(f"{key}_{number}", text, f"{reward}, {role}", _TRAJECTORY))
    return tuple(rubrics)


def _final_state(criteria: dict[str, Any], basis: Sequence[Any]) -> dict[str, Json]:
    """Return what the reward asks of the state of the domain. Without actions and assertions, it asks for nothing."""
    if criteria.get("actions") is None and criteria.get("env_assertions") is None:
        return {}
    return {key: True for key, reward in ((DB_MATCH, "DB"), (ASSERTIONS, "ENV_ASSERTION")) if reward in basis}
