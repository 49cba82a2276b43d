"""Read `tasks.yaml` of skilljack-evals: prompts with a marker to find and a checklist."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from fairtrial.formats.skills.evals_json import FINAL_RESPONSE
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.rubric import Rubric
from fairtrial.records.trace import Invocation, Message
from fairtrial.records.workspace import Workspace, WorkspaceCheck

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

KIND = "tasks of skilljack-evals"
_MARKS = ("expected_skill_load", "golden_checklist", "deterministic")
_DETERMINISTIC = ("expect_skill_activation", "expect_marker", "expect_tool_calls", "expect_no_tool_calls")


def is_tasks(whole: dict[str, Any]) -> bool:
    """Whether a document holds tasks of skilljack."""
    tasks = whole.get("tasks")
    return isinstance(tasks, list) and any(isinstance(task, dict) and set(_MARKS) & task.keys() for task in tasks)


def read_tasks(whole: dict[str, Any], reading: Diagnostics, stem: str) -> EvalSet:
    """Return the tasks as cases. Notes say what is not read, for example weights."""
    skill = reading.text(whole, "skill", ())
    defaults = reading.mapping(whole, "defaults", ()) or {}
    unread: Counter[str] = Counter(f"/{key}" for key in whole if key not in ("skill", "defaults", "tasks"))
    unread.update(f"/defaults/{key}" for key in defaults if key != "expected_skill_load")
    cases = [
        _case(task, skill, defaults, (((), "tasks"), i), reading, unread)
        for i, task in enumerate(reading.array(whole, "tasks", ()))
    ]
    if unread:
        names = ", ".join(name if number == 1 else f"{name} ({number} times)" for name, number in unread.items())
        reading.notes.append(f"not read: {names}")
    return EvalSet(skill or stem, tuple(cases), name=skill)


def _case(
    raw: Any, skill: str, defaults: dict[str, Any], at: Place, reading: Diagnostics, unread: Counter[str]
) -> EvalCase:
    task = raw if isinstance(raw, dict) else {}
    if task is not raw:
        reading.wrong_type(at, "a task", raw)
    prompt, own_id = reading.required(task, "prompt", at), reading.required(task, "id", at)
    exact = reading.mapping(task, "deterministic", at) or {}
    expected = task.get("expected_skill_load", defaults.get("expected_skill_load"))
    triggers = exact.get("expect_skill_activation")
    if not isinstance(triggers, bool):
        triggers = None if expected is None else expected != "none"
    checks: list[WorkspaceCheck] = []
    if isinstance(exact.get("expect_marker"), str):
        checks.append(WorkspaceCheck("contains", texts=(exact["expect_marker"],)))
    if isinstance(exact.get("expect_tool_calls"), list):
        checks.append(WorkspaceCheck("uses_tools", tools=tuple(map(str, exact["expect_tool_calls"]))))
    if isinstance(exact.get("expect_no_tool_calls"), list):
        checks.append(WorkspaceCheck("avoids_tools", tools=tuple(map(str, exact["expect_no_tool_calls"]))))
    rubrics = [
        Rubric(f"checklist-{i}", text, type=FINAL_RESPONSE)
        for i, text in enumerate(reading.array(task, "golden_checklist", at), 1)
        if isinstance(text, str)
    ]
    criteria = reading.mapping(task, "criteria", at) or {}
    for name, criterion in criteria.items():
        text = criterion.get("description") if isinstance(criterion, dict) else None
        if isinstance(text, str):
            rubrics.append(Rubric(name, text, type=FINAL_RESPONSE))
        if isinstance(criterion, dict) and "weight" in criterion:
            unread["/tasks/*/criteria/*/weight"] += 1
    known_keys = {"id", "prompt", "deterministic", "expected_skill_load", "golden_checklist", "criteria"}
    unread.update(f"/tasks/*/{key}" for key in task if key not in known_keys)
    unread.update(f"/tasks/*/deterministic/{key}" for key in exact if key not in _DETERMINISTIC)
    return EvalCase(
        own_id,
        (Invocation(Message(prompt)),),
        rubrics=tuple(rubrics),
        workspace=Workspace(skill=skill, triggers=triggers, checks=tuple(checks)),
    )
