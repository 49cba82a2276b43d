"""Read the specification and the tasks of waza: prompts with files, expectations and graders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairtrial.formats.skills.case_files import read_files
from fairtrial.formats.skills.waza_graders import Grading, read_graders, texts_at
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.trace import Invocation, Message
from fairtrial.records.workspace import Workspace, WorkspaceCheck
from fairtrial.text.user_patterns import escape

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place

KIND = "evals of waza"
TASK_KIND = "task of waza"
_SPEC_MARKS = ("graders", "metrics", "config")
_TASK_READ = {"id", "name", "description", "tags", "inputs", "expected", "graders", "should_trigger"}
_EXPECTED_READ = {"output_contains", "output_not_contains", "output_contains_any", "behavior", "should_trigger"}
_BEHAVIOR_READ = {"max_tool_calls", "max_response_time_ms", "max_tokens"}


def is_spec(whole: Any) -> bool:
    """Whether a document is a specification, whose tasks stand in files of their own."""
    if not isinstance(whole, dict) or not isinstance(whole.get("skill"), str):
        return False
    tasks = whole.get("tasks")
    are_paths = isinstance(tasks, list) and bool(tasks) and all(isinstance(task, str) for task in tasks)
    return are_paths and any(mark in whole for mark in _SPEC_MARKS)


def is_task(whole: dict[str, Any]) -> bool:
    """Whether a document is one task."""
    inputs = whole.get("inputs")
    return isinstance(inputs, dict) and isinstance(inputs.get("prompt"), str)


def task_patterns(spec: Mapping[str, Any]) -> list[str]:
    """Return the globs of a specification that name its task files."""
    return [pattern for pattern in spec.get("tasks") or () if isinstance(pattern, str)]


def read_spec(
    spec: dict[str, Any], tasks: Sequence[tuple[dict[str, Any], Diagnostics]], reading: Diagnostics
) -> EvalSet:
    """Return the tasks of a specification, each read with the diagnostics of its own file."""
    skill = reading.text(spec, "skill", ())
    shared = read_graders(spec.get("graders"), ((), "graders"), reading)
    config = reading.mapping(spec, "config", ()) or {}
    trials = config.get("trials_per_task")
    if isinstance(trials, int) and not isinstance(trials, bool) and trials > 1:
        reading.notes.append(f"/config/trials_per_task is {trials}: run with --attempts {trials}")
    read_keys = {"name", "description", "skill", "version", "graders", "tasks"}
    unread = [f"/{key}" for key in spec if key not in {*read_keys, "config"}]
    unread += [f"/config/{key}" for key in config if key != "trials_per_task"]
    if unread:
        reading.notes.append(f"not read: {', '.join(unread)}")
    cases = tuple(_case(task, skill, own, shared) for task, own in tasks)
    names: set[str] = set()
    for case in cases:
        if case.id in names:
            reading.error(((), "tasks"), f"two tasks have the id {case.id!r}")
        names.add(case.id)
    return EvalSet(str(spec.get("name") or skill), cases, name=skill)


def read_task(whole: dict[str, Any], reading: Diagnostics, stem: str) -> EvalSet:
    """Return one task as an eval set. The graders of its specification are not known here."""
    reading.notes.append("a task alone: the graders of its eval.yaml are not read")
    return EvalSet(stem, (_case(whole, "", reading, Grading()),))


def _case(task: dict[str, Any], skill: str, reading: Diagnostics, shared: Grading) -> EvalCase:
    inputs = reading.mapping(task, "inputs", ()) or {}
    at: Place = ((), "inputs")
    prompt = reading.required(inputs, "prompt", at)
    own = read_graders(task.get("graders"), ((), "graders"), reading)
    checks = _expectations(task, reading)
    unread = [f"/{key}" for key in task if key not in _TASK_READ]
    unread += [f"/inputs/{key}" for key in inputs if key not in ("prompt", "files")]
    if unread:
        reading.notes.append(f"not read: {', '.join(unread)}")
    triggers = task.get("should_trigger", (reading.mapping(task, "expected", ()) or {}).get("should_trigger"))
    grading = shared.joined(own)
    return EvalCase(
        reading.required(task, "id", ()),
        (Invocation(Message(prompt)),),
        rubrics=grading.rubrics,
        groups={"tags": tags} if (tags := task.get("tags")) else {},
        workspace=Workspace(
            read_files(inputs.get("files"), prompt, (at, "files"), reading),
            skill,
            triggers if isinstance(triggers, bool) else None,
            checks=(*checks, *grading.checks),
        ),
    )


def _expectations(task: dict[str, Any], reading: Diagnostics) -> list[WorkspaceCheck]:
    """Return the checks of `expected`. waza compares texts without regard to case."""
    at: Place = ((), "expected")
    expected = reading.mapping(task, "expected", ()) or {}
    checks: list[WorkspaceCheck] = []
    if contained := texts_at(expected, "output_contains", at, reading):
        checks.append(WorkspaceCheck("contains", texts=contained, ignore_case=True))
    if refused := texts_at(expected, "output_not_contains", at, reading):
        checks.append(WorkspaceCheck("not_contains", texts=refused, ignore_case=True))
    if any_of := texts_at(expected, "output_contains_any", at, reading):
        pattern = "|".join(escape(text) for text in any_of)
        checks.append(WorkspaceCheck("matches", pattern=pattern, ignore_case=True))
    behavior = reading.mapping(expected, "behavior", at) or {}
    for key, kind, factor in (
        ("max_tool_calls", "calls", 1.0),
        ("max_response_time_ms", "seconds", 0.001),
        ("max_tokens", "tokens", 1.0),
    ):
        if (limit := reading.number(behavior, key, (at, "behavior"))) is not None:
            checks.append(WorkspaceCheck(kind, at_most=limit * factor))
    unread = [f"/expected/{key}" for key in expected if key not in _EXPECTED_READ]
    unread += [f"/expected/behavior/{key}" for key in behavior if key not in _BEHAVIOR_READ]
    if unread:
        reading.notes.append(f"not read: {', '.join(unread)}")
    return checks
