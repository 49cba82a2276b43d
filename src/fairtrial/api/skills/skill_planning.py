"""Plan a run of a skill: the same cases with the skill and without it, in clean workspaces."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace as with_fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.agents.harness.git_folders import find_commit, write_revision
from fairtrial.agents.harness.harness_agent import HarnessAgent, SkillSource, agent_at
from fairtrial.agents.harness.harness_table import check_version, program_version
from fairtrial.agents.harness.sandbox import check_credentials, choose_sandbox, start_of_image
from fairtrial.agents.harness.workspaces import copy_folder, hash_path
from fairtrial.api.eval_sets.set_loading import Criteria, PreparedSets
from fairtrial.api.plan_options import READ, RUN, ReadOptions, RunOptions
from fairtrial.api.planning import Plan, plan_run
from fairtrial.api.skills.skill_cases import read_skill_cases, with_distinct_ids
from fairtrial.config.attempt_options import AttemptOptions
from fairtrial.errors import UsageError, spell
from fairtrial.formats.skills.skill_md import FILE, Skill, SkillPart, skill_parts, without_part
from fairtrial.loading.skill_folders import EVALS, eval_files, find_skill, read_skill_at
from fairtrial.records.workspace import Workspace
from fairtrial.text.display import count

if TYPE_CHECKING:
    from fairtrial.api.attempt_planning import Attempts
    from fairtrial.api.skills.skill_options import SkillOptions
    from fairtrial.llm.budget import Budget
    from fairtrial.records.case import EvalSet

WITH, WITHOUT, OLD = "with", "without", "old"
_NO_SANDBOX = ": nothing but its own manners keeps the agent in its workspace"
ATTEMPTS = 3
"""The attempts at each case with each variant, if nobody says how many."""
_MOST_PARTS = 40
_PRICED_LOGS = ("claude", "opencode")
_RUBRICS, _TRIGGER = "rubric_based_final_response_quality_v1", "skill_trigger_v1"
_CHECKS, _WORKSPACE_CHECKS = "checks_v1", "workspace_checks_v1"


def plan_skill_run(
    paths: str | Sequence[str],
    agent: str,
    options: SkillOptions,
    criteria: Criteria = None,
    reading: ReadOptions = READ,
    running: RunOptions = RUN,
) -> Plan:
    """Plan a run of the cases of a skill with each variant of it. Raises UsageError before anything runs.

    Without `criteria`, the checks and the rubrics of the cases decide. With `trigger`, the use of the skill decides.
    Several skills compete: all of them are installed, and the trigger queries of all are asked. The variants are those
    of the first.
    """
    paths = [paths] if isinstance(paths, str) else list(paths)
    if len(paths) > 1 and not options.trigger:
        raise UsageError(f"{paths[1]}: several skills are only compared by their queries; set {spell('trigger')}")
    skills = with_distinct_ids([read_skill_cases(path, options, reading) for path in paths])
    first = skills[0]
    parts = _parts_to_drop(first.folder, options)
    sources_of = _variants(first.folder, first.skill, options, parts)
    beside = tuple(_prepare_skill(own.folder, own.skill.name, str(own.root)) for own in skills[1:])
    target = with_fields(_equip(agent, options, first.root, sources_of, running), beside=beside)
    variants = list(dict(sources_of))
    prepared = tuple(
        _with_variant(own, variant, sources_of if place == 0 else [])
        for variant in variants
        for place, skill in enumerate(skills)
        for own in skill.sets
    )
    baselines = tuple(own.id for own in prepared if own.id.rpartition("@")[2] != WITH)
    origins = tuple(origin for _ in variants for own in skills for origin in own.origins)
    program = f" {target.program}" if target.program else ""
    risk = _NO_SANDBOX if target.sandbox == "none" else ""
    notes = [f"agent {target.harness.name}{program}, sandbox {target.sandbox}{risk}"]
    notes += dict.fromkeys(note for own in skills for note in own.notes)
    warnings = tuple(warning for own in skills for warning in own.warnings)
    plan = plan_run(
        PreparedSets(prepared, origins, warnings, tuple(notes)),
        target,
        criteria if criteria is not None else _default_criteria(first.sets, trigger=options.trigger),
        reading,
        with_fields(running, attempts=_count_attempts(running.attempts), reply_timeout=None),
    )
    rules = replace(plan.info.attempt_rules, baselines=baselines)
    own_config = {
        "paths": paths,
        "agent": agent,
        "reply_timeout": running.reply_timeout,
        "skill": _as_json(options),
        "variants": variants,
        "skills": [own.skill.name for own in skills],
        "dropped_parts": {name: part.title for name, part in parts.items()},
        "attempt_rules": rules.to_json(),
    }
    info = replace(plan.info, config={**plan.info.config, **own_config})
    return with_fields(plan, info=info, cases=_interleave(plan))


def _count_attempts(attempts: Attempts) -> Attempts:
    """Return the attempts of the caller, or 3 if the caller says nothing."""
    return ATTEMPTS if attempts is None or attempts == AttemptOptions() else attempts


def _as_json(options: SkillOptions) -> dict[str, Any]:
    """Return the options as a manifest holds them. A credential with a value is stored by its name only."""
    names = [name if name.startswith("~/") else name.partition("=")[0] for name in options.credentials]
    return {
        "versus": options.versus,
        "trigger": options.trigger,
        "descriptions": list(options.descriptions),
        "credentials": names,
        "sandbox": options.sandbox,
        "drop": options.drop,
    }


def _parts_to_drop(folder: Path, options: SkillOptions) -> dict[str, SkillPart]:
    """Return the parts of the skill that are left out in turn, by the variant without each."""
    if options.drop is None:
        return {}
    if options.versus is not None or options.descriptions or options.trigger:
        raise UsageError(
            "drop: compares a skill with its own parts, so that it takes no other version and no trigger",
            code="options-conflict",
        )
    parts = skill_parts((folder / FILE).read_bytes(), options.drop)
    if not 1 <= len(parts) <= _MOST_PARTS:
        raise UsageError(f"drop: the skill has {count(len(parts), options.drop[:-1])}; 1 to {_MOST_PARTS} are possible")
    return {f"drop-{number}": part for number, part in enumerate(parts, 1)}


def _variants(
    folder: Path, skill: Skill, options: SkillOptions, parts: Mapping[str, SkillPart]
) -> list[tuple[str, SkillSource]]:
    """Return the versions of the skill to install, by variant, in the order of their attempts."""
    current = _prepare_skill(folder, skill.name)
    variants = [(WITH, current)]
    for file in options.descriptions:
        try:
            text = Path(file).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"descriptions: {file!r}: cannot be read: {error}", code="unreadable-file") from None
        name = Path(file).stem
        if not text or name in (WITH, WITHOUT, OLD, *dict(variants)):
            raise UsageError(f"descriptions: {file!r}: must hold a text, and have a name of its own")
        variants.append((name, with_fields(current, description=text)))
    if options.versus is not None:
        old = _version_at(options.versus, folder)
        variants.append((OLD, _prepare_skill(old, read_skill_at(old).name)))
    elif options.drop is not None:
        variants += [(name, _without_part(current, part)) for name, part in parts.items()]
    elif not options.trigger:
        variants.append((WITHOUT, SkillSource()))
    return variants


def _version_at(name: str, folder: Path) -> Path:
    """Return the folder of another version of the skill in `folder`: a folder, or that folder at a revision of git."""
    if Path(name).is_dir():
        return find_skill(Path(name))
    problem = f"versus: {name!r}:"
    commit = find_commit(folder, name, f"{problem} is no folder, and")
    old = write_revision(folder, commit, temporary_folder("version"), problem)
    if not (old / FILE).is_file():
        raise UsageError(f"{problem} holds no {FILE} in its folder", code="other-content")
    return old


def temporary_folder(purpose: str) -> Path:
    """Return a new folder, which is removed when the process ends."""
    path = Path(tempfile.mkdtemp(prefix=f"fairtrial-{purpose}-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def _prepare_skill(folder: Path, name: str, root: str = "") -> SkillSource:
    """Copy a skill without its eval files, which tell the expected answers, and return the copy.

    `root` is the folder that the paths of its cases begin at.
    """
    own = {path.resolve() for path in eval_files(folder)}
    is_waza = any(path.name in ("eval.yaml", "eval.yml") for path in own)

    def leave_out(path: Path) -> bool:
        top = path.relative_to(folder).parts[0]
        return top in (EVALS, ".git") or (is_waza and top in ("tasks", "fixtures")) or path.resolve() in own

    copy = temporary_folder("skill") / "skill"
    copy_folder(folder, copy, folder, leave_out)
    return SkillSource(str(copy), hash_path(copy), name, root=root)


def _without_part(source: SkillSource, part: SkillPart) -> SkillSource:
    copy = temporary_folder("skill") / "skill"
    copy_folder(Path(source.folder), copy, Path(source.folder))
    file = copy / FILE
    file.write_bytes(without_part(file.read_bytes(), part))
    return SkillSource(str(copy), hash_path(copy), source.name)


def _equip(
    agent: str,
    options: SkillOptions,
    root: Path,
    variants: Sequence[tuple[str, SkillSource]],
    running: RunOptions,
) -> HarnessAgent:
    sandbox = choose_sandbox(options.sandbox)
    name = agent if agent.startswith("harness:") else f"harness:{agent}"
    try:
        target = agent_at(name, on_path=not start_of_image(sandbox))
    except UsageError as error:
        raise UsageError(f"{spell('agent')} {agent}: {error}", code=error.code) from None
    if options.trigger and target.harness.log == "text":
        raise UsageError(
            f"{spell('trigger')}: the log of {target.harness.name} is text, which names no use of a skill",
            code="not-supported",
        )
    check_credentials(options.credentials)
    program = program_version(target.harness, start_of_image(sandbox))
    check_version(target.harness, program)
    return with_fields(
        target,
        root=str(root),
        skills=tuple(variants),
        credentials=options.credentials,
        sandbox=sandbox,
        seconds=target.seconds if running.reply_timeout is None else running.reply_timeout,
        budget=_budget(target, running),
        program=program,
    )


def _budget(target: HarnessAgent, running: RunOptions) -> Budget | None:
    """Return the budget that the agent and the judges share if it limits the cost. Raises UsageError."""
    budget = running.judges.models.budget
    if budget is None or budget.max_cost is None:
        return None
    if target.harness.log not in _PRICED_LOGS:
        raise UsageError(
            f"{spell('max_cost')}: {target.harness.name} does not report what an attempt costs", code="not-supported"
        )
    return budget


def _with_variant(eval_set: EvalSet, variant: str, sources: Sequence[tuple[str, SkillSource]]) -> EvalSet:
    source = dict(sources).get(variant)
    name = source.name if source is not None else ""
    cases = []
    for case in eval_set.cases:
        own = case.workspace or Workspace()
        cases.append(replace(case, workspace=replace(own, variant=variant, skill=name or own.skill)))
    return replace(eval_set, id=f"{eval_set.id}@{variant}", cases=tuple(cases))


def _default_criteria(sets: Sequence[EvalSet], *, trigger: bool) -> dict[str, Any]:
    if trigger:
        return {_TRIGGER: 1.0}
    cases = [case for own in sets for case in own.cases]
    criteria: dict[str, Any] = {}
    if any(case.workspace.checks for case in cases if case.workspace is not None):
        criteria[_WORKSPACE_CHECKS] = 1.0
    if any(case.checks for case in cases):
        criteria[_CHECKS] = 1.0
    if any(case.rubrics for case in cases):
        criteria[_RUBRICS] = 1.0
    if not criteria:
        raise UsageError(
            "no case has a check, an assertion or an expected output, so that nothing can be graded",
            code="too-little-data",
        )
    return criteria


def _interleave(plan: Plan) -> Any:
    """Return the cases with the variants of a case side by side, so that a slow provider hits all of them alike."""
    order: dict[str, int] = {}
    for case in plan.cases:
        order.setdefault(f"{case.eval_set.rpartition('@')[0]}/{case.case.id}", len(order))
    return tuple(
        sorted(
            plan.cases, key=lambda case: (order[f"{case.eval_set.rpartition('@')[0]}/{case.case.id}"], case.position)
        )
    )
