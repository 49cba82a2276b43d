"""Write cases as a specification of waza with its tasks. A check without a twin is named."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fairtrial.text.user_patterns import escape

if TYPE_CHECKING:
    from fairtrial.records.workspace import Workspace, WorkspaceCheck

_UNSAFE = re.compile(r"[^\w-]+")
_LONGEST_NAME = 80
_ORDERS = {"exact": "exact_match", "in_order": "in_order_match", "any": "any_order_match"}
_SKILL_ORDERS = {"exact": "exact_match", "in_order": "in_order", "any": "any_order"}
_LIMITS = {"calls": ("max_tool_calls", 1), "tokens": ("max_tokens", 1), "seconds": ("max_duration_ms", 1000)}
_NEGATED = ("not_contains", "not_matches")

Grader = tuple[str, dict[str, Any]]
"""The type and the settings of a grader."""


def waza_files(skill: str, tasks: Iterable[dict[str, Any]]) -> tuple[bytes, dict[str, bytes]]:
    """Return the content of `eval.yaml`, and the task files that it names, by their paths beside it."""
    spec = {
        "name": f"{skill}-eval",
        "skill": skill,
        "version": "1.0",
        "config": {"trials_per_task": 3, "timeout_seconds": 600, "executor": "copilot-sdk", "model": "MODEL"},
        "metrics": [{"name": "task_completion", "weight": 1.0, "threshold": 1.0}],
        "tasks": ["tasks/*.yaml"],
    }
    files: dict[str, bytes] = {}
    for task in tasks:
        name = _UNSAFE.sub("-", task["id"])[:_LONGEST_NAME].lower()
        path = f"tasks/{name}.yaml"
        files[path if path not in files else f"tasks/{name}-{len(files) + 1}.yaml"] = as_yaml(task)
    return as_yaml(spec), files


def as_yaml(document: Mapping[str, Any]) -> bytes:
    """Return a document as YAML, without a line break at its end."""
    import yaml

    return bytes(yaml.safe_dump(document, allow_unicode=True, sort_keys=False, width=120, encoding="utf-8")).rstrip()


def waza_task(
    case: str, prompt: str, workspace: Workspace, rubrics: Sequence[tuple[str, str]]
) -> tuple[dict[str, Any], list[str]]:
    """Return a task, and the checks that waza has no grader for. `rubrics` are names and texts for the judge."""
    losses: list[str] = []
    graders: list[dict[str, Any]] = []
    names: dict[str, int] = defaultdict(int)

    def add(kind: str, title: str, config: dict[str, Any]) -> None:
        name = _UNSAFE.sub("_", title)[:_LONGEST_NAME].strip("_") or kind
        names[name] += 1
        own = name if names[name] == 1 else f"{name}_{names[name]}"
        graders.append({"name": own, "type": kind, "config": config})

    for check in workspace.checks:
        grader = _grader(check)
        if grader is None:
            losses.append(f"the check {check.title!r}")
        else:
            add(grader[0], check.title, grader[1])
    for name, text in rubrics:
        add("prompt", name, {"prompt": text})
    losses += [f"the revision of {file.source!r}" for file in workspace.files if file.revision]
    inputs: dict[str, Any] = {"prompt": prompt}
    if workspace.files:
        inputs["files"] = [{"path": file.source} for file in workspace.files]
    task: dict[str, Any] = {"id": case, "name": case, "inputs": inputs}
    if workspace.triggers is not None:
        task["should_trigger"] = workspace.triggers
    return task | ({"graders": graders} if graders else {}), losses


def _grader(check: WorkspaceCheck) -> Grader | None:
    """Return the grader that decides a check, or None."""
    write = _WRITERS.get(check.type)
    return write(check) if write is not None else None


def _texts(check: WorkspaceCheck) -> Grader | None:
    return _file_texts(check) if check.path else _reply_texts(check)


def _files(check: WorkspaceCheck) -> Grader | None:
    key = "must_exist" if check.type == "exists" else "must_not_exist"
    is_counted = (check.at_least, check.at_most) != (None, None)
    return None if _is_glob(check.path) or is_counted else ("file", {key: [check.path]})


def _json(check: WorkspaceCheck) -> Grader | None:
    return None if check.path else ("json_schema", {"schema": check.json_schema or {}})


def _limits(check: WorkspaceCheck) -> Grader | None:
    """Return the grader of a maximum. waza takes 0 for "no limit"."""
    key, factor = _LIMITS[check.type]
    if not check.at_most or check.at_least is not None or check.tools:
        return None
    return "behavior", {key: round(check.at_most * factor)}


def _tools(check: WorkspaceCheck) -> Grader:
    if check.type == "avoids_tools":
        return "behavior", {"forbidden_tools": list(check.tools)}
    if check.type == "uses_skills":
        return "skill_invocation", {"required_skills": list(check.tools), "mode": _SKILL_ORDERS[check.order]}
    return "action_sequence", {"expected_actions": list(check.tools), "matching_mode": _ORDERS[check.order]}


def _is_glob(path: str) -> bool:
    return any(sign in path for sign in "*?[")


def _reply_texts(check: WorkspaceCheck) -> Grader:
    if check.texts:
        return "text", {f"{check.type}{'' if check.ignore_case else '_cs'}": list(check.texts)}
    return "text", {"regex_not_match" if check.type in _NEGATED else "regex_match": [_pattern(check)]}


def _file_texts(check: WorkspaceCheck) -> Grader | None:
    if _is_glob(check.path):
        return None
    flag = "(?i)" if check.ignore_case else ""
    texts = [f"{flag}{escape(text)}" for text in check.texts] or [_pattern(check)]
    key = "must_not_match" if check.type in _NEGATED else "must_match"
    return "file", {"content_patterns": [{"path": check.path, key: texts}]}


def _pattern(check: WorkspaceCheck) -> str:
    return f"(?i){check.pattern}" if check.ignore_case else check.pattern


_WRITERS: dict[str, Callable[[WorkspaceCheck], Grader | None]] = {
    **dict.fromkeys(("contains", "not_contains", "matches", "not_matches"), _texts),
    **dict.fromkeys(("exists", "absent"), _files),
    "json": _json,
    **dict.fromkeys(_LIMITS, _limits),
    **dict.fromkeys(("uses_tools", "uses_skills", "avoids_tools"), _tools),
}
