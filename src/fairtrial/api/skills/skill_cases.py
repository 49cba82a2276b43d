"""Read a skill, and the cases and queries that a run of it asks for."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as with_fields
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from fairtrial import loading
from fairtrial.agents.harness.git_folders import find_commit
from fairtrial.agents.harness.workspaces import copy_revision, find_source, hash_path
from fairtrial.api.plan_options import ReadOptions
from fairtrial.errors import UsageError, spell
from fairtrial.formats.skills.evals_json import DESCRIBED, TODO
from fairtrial.formats.skills.skill_files import KINDS, TRIGGER_KIND
from fairtrial.formats.skills.skill_md import FILE, Skill
from fairtrial.loading.skill_folders import eval_files, find_root, find_skill, lack_of_evals, read_skill_at
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.workspace import CaseFile, Workspace
from fairtrial.text.display import count

Drop = Literal["sections", "sentences"]
_OWN_PARTS = ("references", "scripts", "assets")


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


@dataclass(frozen=True)
class SkillCases:
    """A skill with the cases that a run asks for. `origins` are their files with digests."""

    folder: Path
    skill: Skill
    root: Path
    sets: Sequence[EvalSet]
    origins: Sequence[tuple[str, str]]
    notes: Sequence[str]
    warnings: Sequence[str]


def find_skill_folder(path: str) -> Path | None:
    """Return the folder of a skill that a path means: the skill, its repository, or one of its eval files."""
    place = Path(path)
    if place.name == FILE and place.is_file():
        return place.parent
    if place.is_file() and place.suffix in (".json", ".yaml", ".yml"):
        place = find_root(place)
        return place if place.is_dir() and ((place / FILE).is_file() or any(place.glob(f"skills/*/{FILE}"))) else None
    is_there = place.is_dir() and ((place / FILE).is_file() or any(place.glob(f"skills/*/{FILE}")))
    return place if is_there else None


def read_skill_cases(path: str, options: SkillOptions, reading: ReadOptions) -> SkillCases:
    """Return the skill at a path with the cases that a run asks for. Raises UsageError if it has none."""
    start = find_skill_folder(path)
    if start is None:
        raise UsageError(f"{path}: holds no {FILE}")
    folder = find_skill(start)
    skill = read_skill_at(folder)
    is_eval_file = Path(path).is_file() and Path(path).name != FILE
    files = [Path(path)] if is_eval_file else eval_files(start) or eval_files(folder)
    if not files:
        raise UsageError(f"{path}: {lack_of_evals(folder)}")
    sources, root = loading.sources(files, lenient=reading.lenient), find_root(files[0])
    sets, paths, notes = _select_sets(sources, options, skill, folder, root)
    digests = {source.loaded.path: source.sha256 for source in sources}
    warnings = [*skill.warnings, *(warning for source in sources for warning in source.loaded.warnings)]
    return SkillCases(folder, skill, root, sets, [(path, digests[path]) for path in paths], notes, warnings)


def with_distinct_ids(skills: Sequence[SkillCases]) -> list[SkillCases]:
    """Return skills whose eval sets have ids of their own: bare lists of queries are named after their file.

    Raises UsageError if two skills have the same name, because an agent finds only one of them.
    """
    names: set[str] = set()
    ids: set[str] = set()
    distinct_skills = []
    for own in skills:
        if own.skill.name in names:
            raise UsageError(
                f"{own.folder}: another skill is named {own.skill.name!r}, too; try it with {spell('versus')}"
            )
        names.add(own.skill.name)
        sets = [
            replace(eval_set, id=f"{own.skill.name}-{eval_set.id}") if eval_set.id in ids else eval_set
            for eval_set in own.sets
        ]
        ids.update(eval_set.id for eval_set in sets)
        distinct_skills.append(with_fields(own, sets=sets))
    return distinct_skills


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
        advice = (
            "write trigger queries" if options.trigger else f"set {spell('trigger')} to ask whether the skill fires"
        )
        raise UsageError(f"{sources[0].loaded.path}: {problem}; {advice}")
    if drafts := [case.id for own in sets for case in own.cases if _is_draft(case)]:
        raise UsageError(f"{paths[0]}: {', '.join(map(repr, drafts[:5]))}: still to be written; replace each {TODO}")
    if omitted:
        kind = (
            "ask for work" if options.trigger else f"only ask whether the skill fires, which needs {spell('trigger')}"
        )
        notes.append(f"left out {count(omitted, 'case')} that {kind}")
    return sets, paths, list(dict.fromkeys(notes))


def _is_draft(case: EvalCase) -> bool:
    """Whether a case holds a text that somebody has to write before it can be run."""
    texts = [invocation.query for invocation in case.conversation or ()]
    return any(text.removeprefix(DESCRIBED).startswith(TODO) for text in (*texts, *(own.text for own in case.rubrics)))


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
        files.append(_with_digest(file, source))
    return replace(case, workspace=replace(own, files=tuple(files), skill=skill), extra=None)


def _with_digest(file: CaseFile, source: Path) -> CaseFile:
    """Return a file with the digest of its content. A revision is fixed to its commit, so that no branch moves it."""
    if not file.revision:
        return replace(file, sha256=hash_path(source))
    commit = find_commit(source, file.revision, f"{file.source!r}: {file.revision!r}:")
    with tempfile.TemporaryDirectory(prefix="fairtrial-revision-") as folder:
        copy_revision(replace(file, revision=commit), source, Path(folder))
        return replace(file, sha256=hash_path(Path(folder)), revision=commit)


def _is_of_skill(path: Path, folder: Path) -> bool:
    home = folder.resolve()
    if not path.resolve().is_relative_to(home):
        return False
    parts = path.resolve().relative_to(home).parts
    return parts == (FILE,) or (bool(parts) and parts[0] in _OWN_PARTS)
