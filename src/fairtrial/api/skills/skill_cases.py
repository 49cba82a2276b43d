"""Read a skill, and the cases and queries that a run of it asks for."""

from __future__ import annotations

import glob
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_fields
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial import loading
from fairtrial.agents.harness.git_folders import find_commit
from fairtrial.agents.harness.workspaces import copy_revision, find_source, hash_path
from fairtrial.api.skills.skill_options import SkillOptions, find_skill_folder
from fairtrial.errors import UsageError, spell
from fairtrial.formats.skills.evals_json import DESCRIBED, TODO
from fairtrial.formats.skills.skill_files import KINDS, TRIGGER_KIND
from fairtrial.formats.skills.skill_md import FILE, Skill
from fairtrial.loading.cases import check_globs, matches
from fairtrial.loading.found_files import split_cases
from fairtrial.loading.skill_folders import eval_files, find_root, find_skill, lack_of_evals, read_skill_at
from fairtrial.records.case import EvalCase, EvalSet
from fairtrial.records.workspace import CaseFile, Workspace
from fairtrial.text.display import count

if TYPE_CHECKING:
    from fairtrial.api.plan_options import ReadOptions

_OWN_PARTS = ("references", "scripts", "assets")


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


def read_skill_cases(path: str, options: SkillOptions, reading: ReadOptions) -> SkillCases:
    """Return the skill at a path with the cases that a run asks for. Raises UsageError if it has none."""
    start = find_skill_folder(path)
    if start is None:
        raise UsageError(f"{path}: holds no {FILE}", code="other-content")
    folder = find_skill(start)
    skill = read_skill_at(folder)
    place, only = split_cases(path)
    is_eval_file = place.is_file() and place.name != FILE
    files = [place] if is_eval_file else eval_files(start) or eval_files(folder)
    if not files:
        raise UsageError(f"{path}: {lack_of_evals(folder)}")
    sources, root = loading.sources(files, lenient=reading.lenient), find_root(files[0])
    chosen = _ChosenCases(only, reading.case_ids)
    sets, paths, notes = _select_sets(sources, options, chosen, _Place(skill.name, folder, root))
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


@dataclass(frozen=True)
class _Place:
    """The name of a skill, its folder, and the folder that the paths of its cases begin at."""

    skill: str
    folder: Path
    root: Path


@dataclass(frozen=True)
class _ChosenCases:
    """The globs for cases behind a path, and those of the whole run, which may also fit names with an eval set."""

    own: Sequence[str]
    of_run: Sequence[str]

    def __contains__(self, case: EvalCase) -> bool:
        """Whether a case may be run. The files of other cases do not matter."""
        is_possible = any(":" in own for own in self.of_run) or matches((case.id,), self.of_run)
        return matches((case.id,), self.own) and is_possible


def _select_sets(
    sources: Sequence[loading.Source], options: SkillOptions, chosen: _ChosenCases, place: _Place
) -> tuple[list[EvalSet], list[str], list[str]]:
    """Return the eval sets with the cases that the run is about, their paths, and notes about the others."""
    sets: list[EvalSet] = []
    paths: list[str] = []
    notes = [note for source in sources for note in source.loaded.notes]
    omitted = 0
    all_cases = [case for source in sources for case in (source.loaded.eval_set or EvalSet("")).cases]
    for globs in (chosen.own, [own for own in chosen.of_run if ":" not in own]):
        check_globs(globs, [(case.id, case.id) for case in all_cases])
    for source in sources:
        eval_set = source.loaded.eval_set
        if eval_set is None or source.loaded.kind not in (*KINDS, TRIGGER_KIND):
            raise UsageError(
                f"{source.loaded.path}: holds {source.loaded.kind}, and no cases of a skill", code="other-content"
            )
        own = [case for case in eval_set.cases if case in chosen]
        asks = [case for case in own if _is_asked(case, source.loaded.kind, trigger=options.trigger)]
        omitted += len(own) - len(asks)
        if asks:
            cases = tuple(_prepare(case, place, notes) for case in asks)
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


def _prepare(case: EvalCase, place: _Place, notes: list[str]) -> EvalCase:
    """Return a case with the digests of its files. Files of the skill itself are not given: it brings them along."""
    own = case.workspace or Workspace()
    files: list[CaseFile] = []
    for file in own.files:
        source = find_source(file, place.root)
        if source is not None and _is_of_skill(source, place.folder):
            notes.append(f"{file.source!r} is a part of the skill, and is not given to the agent as a file")
            continue
        if source is None:
            raise UsageError(f"{place.root}: {_lack_of_file(file, case, place.root)}", code="no-such-file")
        files.append(_with_digest(file, source))
    return replace(case, workspace=replace(own, files=tuple(files), skill=place.skill), extra=None)


def check_files(cases: Iterable[EvalCase], eval_file: Path) -> Iterator[str]:
    """Yield a problem for each file of a case that is missing, or that leads out of the folder of the skill."""
    root = find_root(eval_file)
    for case in cases:
        for file in case.workspace.files if case.workspace is not None else ():
            try:
                if find_source(file, root) is None:
                    yield _lack_of_file(file, case, root)
            except UsageError as error:
                yield f"the case {case.id!r}: {error}"


def _lack_of_file(file: CaseFile, case: EvalCase, root: Path) -> str:
    """Say that a file of a case is missing, and where a file of its name lies, because folders get new names."""
    name = PurePosixPath(file.source).name
    paths = sorted(path.relative_to(root).as_posix() for path in root.glob(f"evals/**/{glob.escape(name)}"))
    hint = f"; {paths[0]!r} has the same name" if name and paths else ""
    return f"holds no {file.source!r}, which the case {case.id!r} gives to the agent{hint}"


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
