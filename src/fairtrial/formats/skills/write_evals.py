"""Write cases as files of Agent Skills: `evals.json`, trigger queries, and the tasks of skilljack and waza."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from fairtrial.formats.skills.check_types import write_check
from fairtrial.formats.skills.evals_json import DESCRIBED, FINAL_RESPONSE
from fairtrial.formats.skills.write_waza import as_yaml, waza_files, waza_task
from fairtrial.formats.written_checks import check_json
from fairtrial.records.workspace import Workspace
from fairtrial.text.display import count

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase, EvalSet
    from fairtrial.records.rubric import Rubric

SkillFormat = Literal["agent-skills", "trigger-queries", "waza", "skilljack"]
EXPECTED_OUTPUT = "expected_output"
_NAME_MODEL = "/config/model is MODEL: name the model that waza should run"


class WrittenEvals(NamedTuple):
    """The content of a file, each loss with its case, further files by their paths beside it, and notes."""

    content: bytes
    losses: list[str]
    files: dict[str, bytes] = {}
    notes: tuple[str, ...] = ()


class _WrittenCase(NamedTuple):
    """A case as a format holds it, or None if the format has no place for it, and what it loses."""

    content: dict[str, Any] | None
    losses: list[str]


def write_evals(eval_set: EvalSet, form: SkillFormat) -> WrittenEvals:
    """Return cases in a format of eval files of skills, and everything that the format has no place for."""
    skill = next((own.workspace.skill for own in eval_set.cases if own.workspace and own.workspace.skill), "")
    skill = skill or eval_set.name or eval_set.id
    losses: list[str] = []
    cases: list[tuple[EvalCase, dict[str, Any]]] = []
    for case in eval_set.cases:
        content, lost = _WRITERS[form](case)
        reasons = [*_losses_of_conversations(case), *lost] if content is not None else lost
        losses += [f"case {case.id!r}: {reason}" for reason in reasons]
        if content is not None:
            cases.append((case, content))
    contents = [content for _, content in cases]
    if form == "waza":
        own, files = waza_files(skill, contents)
        return WrittenEvals(own, losses, files, (_NAME_MODEL,))
    if form == "skilljack":
        return WrittenEvals(as_yaml({"skill": skill, "tasks": contents}), losses)
    document = contents if form == "trigger-queries" else {"skill_name": skill, "evals": contents}
    return WrittenEvals(json.dumps(document, ensure_ascii=False, indent=2).encode("utf-8", "replace"), losses)


def _losses_of_conversations(case: EvalCase) -> Iterator[str]:
    """Yield the parts of a case that no file of a skill has a place for."""
    conversation = case.conversation or ()
    if case.scenario is not None:
        yield "the simulated user: only the first message is kept"
    if len(conversation) > 1:
        yield f"{count(len(conversation) - 1, 'further message')} of the user"
    if case.expected_calls or any(invocation.steps for invocation in conversation):
        yield "expected calls"
    if any(invocation.rubrics or invocation.checks for invocation in conversation):
        yield "rubrics and checks of single messages"
    if any(invocation.user.parts for invocation in conversation):
        yield "the parts of messages that are not text"
    for name, value in (
        ("the final state", case.final_session_state),
        ("the session at the start", case.session_input and case.session_input.state),
        ("the context", case.context),
        ("approvals", case.approvals),
        ("the expected failure", case.expected_failure),
        ("the cluster", case.cluster),
    ):
        if value:
            yield name


def _prompt(case: EvalCase) -> str:
    if case.scenario is not None:
        return case.scenario.starting_prompt
    return case.conversation[0].user.text if case.conversation else ""


def _description(case: EvalCase) -> str:
    """Return the description of a good result that a judge holds the result against, or an empty text."""
    texts = (rubric.text.removeprefix(DESCRIBED) for rubric in case.rubrics if rubric.id == EXPECTED_OUTPUT)
    return next(texts, "")


def _reference(case: EvalCase) -> str:
    """Return the description of a good result for readers: beside checks, or a reference reply."""
    own = (case.extra or {}).get(EXPECTED_OUTPUT)
    return own if isinstance(own, str) else case.conversation[-1].reply if case.conversation else ""


def _other_rubrics(case: EvalCase) -> list[Rubric]:
    """Return the rubrics but that of the expected output."""
    return [rubric for rubric in case.rubrics if rubric.id != EXPECTED_OUTPUT]


def _type_losses(case: EvalCase) -> Iterator[str]:
    for rubric in case.rubrics:
        if rubric.type not in ("", FINAL_RESPONSE):
            yield f"the type {rubric.type!r} of the rubric {rubric.id!r}"


def _extra_losses(case: EvalCase) -> Iterator[str]:
    if names := [name for name in case.extra or {} if name != EXPECTED_OUTPUT]:
        yield f"the keys {', '.join(map(repr, names))}"


def _write_eval(case: EvalCase) -> _WrittenCase:
    own, losses = case.workspace or Workspace(), list(_type_losses(case))
    content: dict[str, Any] = {"id": case.id, "prompt": _prompt(case)}
    if text := _description(case) or _reference(case):
        content["expected_output"] = text
    if own.files:
        content["files"] = [
            {"path": file.source, "revision": file.revision} if file.revision else file.source for file in own.files
        ]
    if rubrics := _other_rubrics(case):
        content["assertions"] = [
            rubric.text if _is_numbered(rubric.id) else {"name": rubric.id, "text": rubric.text} for rubric in rubrics
        ]
    if checks := [*map(check_json, case.checks), *map(write_check, own.checks)]:
        content["checks"] = checks
    if own.triggers is not None:
        content["should_trigger"] = own.triggers
    for name, value in case.groups.items():
        if name == "category":
            content["category"] = value
        else:
            losses.append(f"the group {name!r}")
    extra = {name: value for name, value in (case.extra or {}).items() if name not in content}
    return _WrittenCase(content | extra, losses)


def _is_numbered(name: str) -> bool:
    return name.rpartition("-")[2].isdecimal() and name.rpartition("-")[0] in (
        "assertion", "expectation", "has", "has-not", "checklist"
    )  # fmt: skip


def _write_query(case: EvalCase) -> _WrittenCase:
    own = case.workspace or Workspace()
    if own.triggers is None:
        return _WrittenCase(None, ["is left out: it does not say whether the skill should be used"])
    content: dict[str, Any] = {"id": case.id, "query": _prompt(case), "should_trigger": own.triggers}
    content |= {name: value for name, value in case.groups.items() if name in ("category", "confidence")}
    losses = [f"the group {name!r}" for name in case.groups if name not in content]
    losses += [count(len(items), name) for name, items in _work(case) if items]
    return _WrittenCase(content, [*losses, *_extra_losses(case)])


def _work(case: EvalCase) -> list[tuple[str, Any]]:
    own = case.workspace or Workspace()
    return [
        ("expected output", list(filter(None, [_description(case) or _reference(case)]))),
        ("assertion", _other_rubrics(case)),
        ("check", [*case.checks, *own.checks]),
        ("file", own.files),
    ]


def _write_skilljack(case: EvalCase) -> _WrittenCase:
    own, losses = case.workspace or Workspace(), [*_type_losses(case), *_extra_losses(case)]
    texts = [rubric.text for rubric in case.rubrics]
    content: dict[str, Any] = {"id": case.id, "prompt": _prompt(case)}
    exact: dict[str, Any] = {}
    if own.triggers is not None:
        content["expected_skill_load"] = own.skill or "auto" if own.triggers else "none"
        exact["expect_skill_activation"] = own.triggers
    for check in own.checks:
        key, value = {
            "contains": ("expect_marker", check.texts[0] if len(check.texts) == 1 else None),
            "uses_tools": ("expect_tool_calls", list(check.tools) if check.order == "any" else None),
            "avoids_tools": ("expect_no_tool_calls", list(check.tools)),
        }.get(check.type, ("", None))
        if value and not check.path and not check.ignore_case and key not in exact:
            exact[key] = value
        else:
            losses.append(f"the check {check.title!r}")
    losses += [f"the check {check.name or check.kind!r}" for check in case.checks]
    losses += [f"the file {file.source!r}" for file in own.files]
    losses += [f"the group {name!r}" for name in case.groups]
    if exact:
        content["deterministic"] = exact
    if _reference(case):
        losses.append("the expected output, which no judge decides")
    content["golden_checklist"] = texts
    return _WrittenCase(content, losses)


def _write_waza(case: EvalCase) -> _WrittenCase:
    own = case.workspace or Workspace()
    content, losses = waza_task(case.id, _prompt(case), own, [(rubric.id, rubric.text) for rubric in case.rubrics])
    if text := _reference(case):
        content["description"] = text
    tags = case.groups.get("tags", case.groups.get("category"))
    if tags is not None:
        content["tags"] = tags if isinstance(tags, list) else [str(tags)]
    losses += [f"the check {check.name or check.kind!r}" for check in case.checks]
    losses += [f"the group {name!r}" for name in case.groups if name not in ("tags", "category")]
    return _WrittenCase(content, [*losses, *_type_losses(case), *_extra_losses(case)])


_WRITERS: dict[SkillFormat, Callable[[EvalCase], _WrittenCase]] = {
    "agent-skills": _write_eval,
    "trigger-queries": _write_query,
    "skilljack": _write_skilljack,
    "waza": _write_waza,
}
