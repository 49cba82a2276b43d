"""Plan a run of a skill: the same cases with the skill and without it, in clean workspaces."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_fields
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from fairtrial import loading
from fairtrial.agents import COMMAND_LINE_AGENTS
from fairtrial.agents.harness.harness_agent import HarnessAgent, SkillSource, agent_at
from fairtrial.agents.harness.harness_table import program_version, warn_of_version
from fairtrial.agents.harness.sandbox import check_credentials, choose_sandbox, start_of_image
from fairtrial.agents.harness.workspaces import copy_folder, find_source, hash_path
from fairtrial.api.attempt_planning import Attempts
from fairtrial.api.plan_options import READ, RUN, ReadOptions, RunOptions
from fairtrial.api.planning import Criteria, Plan, PreparedSets, plan_run
from fairtrial.api.skills.skill_versions import version_at
from fairtrial.config.attempt_options import AttemptOptions
from fairtrial.errors import UsageError, spell
from fairtrial.formats.skills.skill_files import KINDS, TRIGGER_KIND
from fairtrial.formats.skills.skill_md import FILE, Skill, SkillPart, skill_parts, without_part
from fairtrial.llm.budget import Budget
from fairtrial.loading.skill_folders import EVALS, eval_files, find_root, find_skill, read_skill_at
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.workspace import CaseFile, Workspace
from fairtrial.text.display import count

Drop = Literal["sections", "sentences"]
WITH, WITHOUT, OLD = "with", "without", "old"
_NO_SANDBOX = ": nothing but its own manners keeps the agent in its workspace"
ATTEMPTS = 3
"""The attempts at each case with each variant, if nobody says how many."""
_MOST_PARTS = 40
_PRICED_LOGS = ("claude", "opencode")
_OWN_PARTS = ("references", "scripts", "assets")
_RUBRICS, _TRIGGER = "rubric_based_final_response_quality_v1", "skill_trigger_v1"
_CHECKS, _WORKSPACE_CHECKS = "checks_v1", "workspace_checks_v1"


@dataclass(frozen=True)
class SkillOptions:
    """How a skill is tested.

    `versus` is another version: a folder, or a revision of git. `trigger` asks whether the skill fires when it should,
    instead of what it is worth. `descriptions` are files with other descriptions to try. `credentials` are variables of
    the environment, and files in the home of the user, that the agent may see. `sandbox` is bwrap, docker:IMAGE or
    none. With `drop`, the skill is compared with itself without each of its sections, or of its sentences.
    """

    versus: str | None = None
    trigger: bool = False
    descriptions: tuple[str, ...] = ()
    credentials: tuple[str, ...] = ()
    sandbox: str | None = None
    drop: Drop | None = None


def is_skill_run(paths: Sequence[str], agent: str | None) -> bool:
    """Whether a run is about a skill: one path with the eval files of a skill, and a command-line agent."""
    if agent is None or not (agent.partition("#")[0] in COMMAND_LINE_AGENTS or agent.startswith("harness:")):
        return False
    return len(paths) == 1 and _skill_folder(paths[0]) is not None


def _skill_folder(path: str) -> Path | None:
    """Return the folder of a skill that a path means: the skill, its repository, or one of its eval files."""
    place = Path(path)
    if place.is_file() and place.suffix in (".json", ".yaml", ".yml"):
        place = find_root(place)
        return place if place.is_dir() and ((place / FILE).is_file() or any(place.glob(f"skills/*/{FILE}"))) else None
    is_there = place.is_dir() and ((place / FILE).is_file() or any(place.glob(f"skills/*/{FILE}")))
    return place if is_there else None


def plan_skill_run(
    path: str,
    agent: str,
    options: SkillOptions,
    criteria: Criteria = None,
    reading: ReadOptions = READ,
    running: RunOptions = RUN,
) -> Plan:
    """Plan a run of the cases of a skill with each variant of it. Raises UsageError before anything runs.

    Without `criteria`, the checks and the rubrics of the cases decide. With `trigger`, the use of the skill decides.
    """
    start = _skill_folder(path)
    if start is None:
        raise UsageError(f"{path}: holds no {FILE}")
    folder = find_skill(start)
    skill = read_skill_at(folder)
    files = [Path(path)] if Path(path).is_file() else eval_files(start) or eval_files(folder)
    if not files:
        raise UsageError(
            f"{path}: the skill has no eval files; write evals/evals.json, see docs/how-to/test-a-skill.md"
        )
    sources, root = loading.sources(files, lenient=reading.lenient), find_root(files[0])
    sets, paths, notes = _select_sets(sources, options, skill, folder, root)
    parts = _parts_to_drop(folder, options)
    sources_of = _variants(folder, skill, options, parts)
    target = _equip(agent, options, root, sources_of, running)
    variants = list(dict(sources_of))
    prepared = tuple(_with_variant(own, variant, sources_of) for variant in variants for own in sets)
    baselines = tuple(own.id for own in prepared if own.id.rpartition("@")[2] in (WITHOUT, OLD, *parts))
    digests = {source.loaded.path: source.sha256 for source in sources}
    origins = tuple((path, digests[path]) for _ in variants for path in paths)
    program = f" {target.program}" if target.program else ""
    risk = _NO_SANDBOX if target.sandbox == "none" else ""
    notes.insert(0, f"agent {target.harness.name}{program}, sandbox {target.sandbox}{risk}")
    old = warn_of_version(target.harness, target.program)
    warnings = (
        *filter(None, [old]),
        *skill.warnings,
        *(warning for source in sources for warning in source.loaded.warnings),
    )
    plan = plan_run(
        PreparedSets(prepared, origins, warnings, tuple(notes)),
        target,
        criteria if criteria is not None else _default_criteria(sets, trigger=options.trigger),
        reading,
        with_fields(running, attempts=_count_attempts(running.attempts), reply_timeout=None),
    )
    rules = replace(plan.info.attempt_rules, baselines=baselines)
    own_config = {
        "paths": [path],
        "agent": agent,
        "reply_timeout": running.reply_timeout,
        "skill": _as_json(options),
        "variants": variants,
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


def skill_options_in(config: Mapping[str, Any]) -> SkillOptions | None:
    """Return the options in the manifest of a run, or None if the run is not about a skill."""
    own = config.get("skill")
    if not isinstance(own, dict):
        return None
    lists = {name: tuple(own[name]) for name in ("descriptions", "credentials")}
    return SkillOptions(own["versus"], own["trigger"], sandbox=own["sandbox"], drop=own.get("drop"), **lists)


def _select_sets(
    sources: Sequence[loading.Source], options: SkillOptions, skill: Skill, folder: Path, root: Path
) -> tuple[list[EvalSet], list[str], list[str]]:
    """Return the eval sets with the cases that the run is about, their paths, and notes about the others."""
    sets: list[EvalSet] = []
    paths: list[str] = []
    notes = [note for source in sources for note in source.loaded.notes]
    omitted = 0
    for source in sources:
        eval_set = source.loaded.eval_set
        if eval_set is None or source.loaded.kind not in (*KINDS, TRIGGER_KIND):
            raise UsageError(f"{source.loaded.path}: holds {source.loaded.kind}, and no cases of a skill")
        asks = [case for case in eval_set.cases if _is_asked(case, source.loaded.kind, trigger=options.trigger)]
        omitted += len(eval_set.cases) - len(asks)
        if asks:
            cases = tuple(_prepare(case, skill.name, folder, root, notes) for case in asks)
            sets.append(replace(eval_set, cases=cases, extra=None))
            paths.append(source.loaded.path)
    if not sets:
        problem = "no case says whether the skill should be used" if options.trigger else "no case asks for work"
        advice = "write trigger queries" if options.trigger else "set trigger to ask whether the skill fires"
        raise UsageError(f"{sources[0].loaded.path}: {problem}; {advice}")
    if omitted:
        kind = "ask for work" if options.trigger else "only ask whether the skill fires, which needs trigger"
        notes.append(f"left out {count(omitted, 'case')} that {kind}")
    return sets, paths, list(dict.fromkeys(notes))


def _is_asked(case: EvalCase, kind: str, *, trigger: bool) -> bool:
    has_answer = case.workspace is not None and case.workspace.triggers is not None
    return has_answer if trigger else kind != TRIGGER_KIND


def _prepare(case: EvalCase, skill: str, folder: Path, root: Path, notes: list[str]) -> EvalCase:
    """Return a case with the digests of its files. Files of the skill itself are not given: it brings them along."""
    own = case.workspace or Workspace()
    files: list[CaseFile] = []
    for file in own.files:
        source = find_source(file, root)
        if source is not None and _is_of_skill(source, folder):
            notes.append(f"{file.source!r} is a part of the skill, and is not given to the agent as a file")
            continue
        if source is None:
            raise UsageError(f"{root}: holds no {file.source!r}, which the case {case.id!r} gives to the agent")
        files.append(replace(file, sha256=hash_path(source)))
    return replace(case, workspace=replace(own, files=tuple(files), skill=skill), extra=None)


def _is_of_skill(path: Path, folder: Path) -> bool:
    home = folder.resolve()
    if not path.resolve().is_relative_to(home):
        return False
    parts = path.resolve().relative_to(home).parts
    return parts == (FILE,) or (bool(parts) and parts[0] in _OWN_PARTS)


def _parts_to_drop(folder: Path, options: SkillOptions) -> dict[str, SkillPart]:
    """Return the parts of the skill that are left out in turn, by the variant without each."""
    if options.drop is None:
        return {}
    if options.versus is not None or options.descriptions or options.trigger:
        raise UsageError("drop: compares a skill with its own parts, so that it takes no other version and no trigger")
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
            raise UsageError(f"descriptions: {file!r}: cannot be read: {error}") from None
        name = Path(file).stem
        if not text or name in (WITH, WITHOUT, OLD, *dict(variants)):
            raise UsageError(f"descriptions: {file!r}: must hold a text, and have a name of its own")
        variants.append((name, with_fields(current, description=text)))
    if options.versus is not None:
        old = version_at(options.versus, folder, temporary_folder("version"))
        variants.append((OLD, _prepare_skill(old, read_skill_at(old).name)))
    elif options.drop is not None:
        variants += [(name, _without_part(current, part)) for name, part in parts.items()]
    elif not options.trigger:
        variants.append((WITHOUT, SkillSource()))
    return variants


def temporary_folder(purpose: str) -> Path:
    """Return a new folder, which is removed when the process ends."""
    path = Path(tempfile.mkdtemp(prefix=f"fairtrial-{purpose}-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def _prepare_skill(folder: Path, name: str) -> SkillSource:
    """Copy a skill without its eval files, which tell the expected answers, and return the copy."""
    own = {path.resolve() for path in eval_files(folder)}
    is_waza = any(path.name in ("eval.yaml", "eval.yml") for path in own)

    def leave_out(path: Path) -> bool:
        top = path.relative_to(folder).parts[0]
        return top in (EVALS, ".git") or (is_waza and top in ("tasks", "fixtures")) or path.resolve() in own

    copy = temporary_folder("skill") / "skill"
    copy_folder(folder, copy, folder, leave_out)
    return SkillSource(str(copy), hash_path(copy), name)


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
    target = agent_at(
        agent if agent.startswith("harness:") else f"harness:{agent}", on_path=not start_of_image(sandbox)
    )
    check_credentials(options.credentials)
    return with_fields(
        target,
        root=str(root),
        skills=tuple(variants),
        credentials=options.credentials,
        sandbox=sandbox,
        seconds=target.seconds if running.reply_timeout is None else running.reply_timeout,
        budget=_budget(target, running),
        program=program_version(target.harness, start_of_image(sandbox)),
    )


def _budget(target: HarnessAgent, running: RunOptions) -> Budget | None:
    """Return the budget that the agent and the judges share if it limits the cost. Raises UsageError."""
    budget = running.judges.models.budget
    if budget is None or budget.max_cost is None:
        return None
    if target.harness.log not in _PRICED_LOGS:
        raise UsageError(f"{spell('max_cost')}: {target.harness.name} does not report what an attempt costs")
    return budget


def _with_variant(eval_set: EvalSet, variant: str, sources: Sequence[tuple[str, SkillSource]]) -> EvalSet:
    name = dict(sources)[variant].name
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
        raise UsageError("no case has a check, an assertion or an expected output, so that nothing can be graded")
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
