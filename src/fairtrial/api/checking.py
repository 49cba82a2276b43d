"""Check files: recognise their formats, and report whether they can be used."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fairtrial import loading
from fairtrial.api.simulation import check_names
from fairtrial.errors import FormatError, OtherContentError, UsageError, collecting
from fairtrial.formats.conversation.options import DEFAULTS
from fairtrial.formats.datasets.column_roles import check_columns
from fairtrial.formats.dialects.dialect_table import dialect_names
from fairtrial.formats.reading import NO_COLUMNS
from fairtrial.formats.skills.skill_files import KINDS as SKILL_KINDS
from fairtrial.formats.skills.skill_md import FILE as SKILL_FILE
from fairtrial.formats.skills.waza import TASK_KIND
from fairtrial.formats.spans.span import LogRecord
from fairtrial.llm.model_options import ModelOptions
from fairtrial.loading.skill_folders import eval_files, lack_of_evals, read_skill_at
from fairtrial.records.contents import withheld_contents
from fairtrial.records.record import Record
from fairtrial.simulate.user import check_persona
from fairtrial.text.display import count

if TYPE_CHECKING:
    from fairtrial.formats.loaded import Loaded

_WITH_FILES = tuple(kind for kind in SKILL_KINDS if kind != TASK_KIND)
"""Eval files of skills whose cases name files. A task of waza names them for its suite."""
_PATTERNS = (*loading.RECORDED_NAMES, "*config.yaml", "*config.yml", "*.evalset.yaml", "*.evalset.yml")


class Checked(Record, frozen=True):
    """One file: its format and the number of its cases, the problems that make it unusable, and warnings.

    `holds` says whether it holds spans or only log records, which complete the spans of other files. `columns` is the
    map of a table or of mapped JSON.
    """

    path: str
    content: str
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    holds: Literal["", "spans", "logs"] = ""
    columns: Mapping[str, str] = NO_COLUMNS


def check(paths: Sequence[str], *, lenient: bool = False, columns: Mapping[str, str] = NO_COLUMNS) -> Iterator[Checked]:
    """Yield each file. A folder stands for all JSON files in it and for its skill, and `-` for standard input.

    A file of a folder that has neither a format nor a name that is known here may belong to something else. That is not
    a problem. Files of spans and log records that complete them are also yielded together, as they would be scored.
    """
    loading.check_stdin(paths)
    check_columns(columns)
    together: dict[str, list[Path]] = {"spans": [], "logs": []}
    for path in map(Path, paths):
        for checked in _check_path(path, lenient=lenient, columns=columns):
            yield checked
            if checked.holds and Path(checked.path).is_file():  # standard input can be read only once
                together[checked.holds].append(Path(checked.path))
    if all(together.values()):
        yield _check_together([*together["spans"], *together["logs"]])


def _check_path(path: Path, *, lenient: bool, columns: Mapping[str, str]) -> Iterator[Checked]:
    """Yield a file, or each file of a folder."""
    if not path.is_dir():
        is_skill = path.name == SKILL_FILE and path.is_file()
        yield _check_skill(path) if is_skill else _ensure_valid(path, lenient=lenient, columns=columns)
        return
    is_skill = (path / SKILL_FILE).is_file()
    if is_skill:
        yield _check_skill(path / SKILL_FILE)
    of_skill = eval_files(path) if is_skill else []
    for file in (files := sorted({*loading.walk_files(path, _PATTERNS), *of_skill})):
        is_named = file in of_skill or loading.has_known_name(file)
        yield _ensure_valid(file, lenient=lenient, columns=columns, is_named=is_named)
    if not files and not is_skill:
        yield Checked(str(path), "cannot be read", (f"holds no {' or '.join(_PATTERNS)}",))


def _check_skill(path: Path) -> Checked:
    """Return the skill in a `SKILL.md`, with the rules that it breaks."""
    try:
        skill = read_skill_at(path.parent)
    except FormatError as error:
        return Checked(str(path), "cannot be read", error.problems)
    warnings = tuple(warning.removeprefix(f"{path}: ") for warning in skill.warnings)
    notes = () if eval_files(path.parent) else (lack_of_evals(path.parent),)
    return Checked(str(path), f"the Agent Skill {skill.name!r}", warnings=warnings, notes=notes)


def _check_together(paths: Sequence[Path]) -> Checked:
    """Return what files of spans and log records hold as one body of data."""
    name = f"these {count(len(paths), 'file')} together"
    try:
        loaded = loading.sources(paths, recorded=True)[0].loaded
    except (FormatError, UsageError) as error:
        return Checked(name, "cannot be read", (str(error),))
    return Checked(name, f"{loaded.kind}, {_counts(loaded)}", warnings=loaded.warnings)


def _ensure_valid(path: Path, *, lenient: bool, columns: Mapping[str, str], is_named: bool = True) -> Checked:
    try:
        part, _ = loading.read_part(path, lenient=lenient, columns=columns, hashed=False)
        if part.spans and all(isinstance(item, LogRecord) for item in part.spans):
            count_of_logs = count(sum(1 for _ in part.spans), "log record")
            content = f"{part.kind}, {count_of_logs}: they complete the spans of another file"
            return Checked(str(path), content, holds="logs")
        loaded = loading.with_conversations([part], DEFAULTS)[0] if part.spans else part
    except OtherContentError as error:
        if not is_named:
            return Checked(str(path), f"{_read_content(path)} of another kind, left out")
        return Checked(str(path), "cannot be read", error.problems)
    except FormatError as error:
        return Checked(str(path), "cannot be read", loading.find_problems(error, path, allow_code=True))
    warnings = tuple(warning.removeprefix(f"{path}: ") for warning in loaded.warnings)
    problems: list[str] = []
    if loaded.config is None:
        for case in loaded.eval_set.cases if loaded.eval_set else ():
            with collecting(problems):
                check_persona(case)
        if loaded.kind in _WITH_FILES and loaded.eval_set is not None and path.is_file():
            from fairtrial.api.skills.skill_cases import check_files  # other files need no workspaces

            problems += check_files(loaded.eval_set.cases, path)
        dialects = dialect_names(part.spans)
        kind = loaded.kind + (f" ({', '.join(dialects)})" if dialects else "")
        notes = tuple(note.removeprefix(f"{path}: ") for note in loaded.notes)
        holds: Literal["", "spans"] = "spans" if part.spans else ""
        return Checked(str(path), f"{kind}, {_counts(loaded)}", tuple(problems), warnings, notes, holds, loaded.columns)
    content = f"EvalConfig, criteria: {', '.join(criterion.name for criterion in loaded.config.criteria)}"
    with collecting(problems):
        criteria = loading.join_criteria(loaded.config, origin=str(path), lenient=lenient, allow_code=True)
        warnings = (*warnings, *criteria.warnings)
        check_names(criteria, ModelOptions())
    return Checked(str(path), content, tuple(problem.removeprefix(f"{path}: ") for problem in problems), warnings)


def _read_content(path: Path) -> str:
    return "JSON" if path.suffix == ".json" else "data"


def _counts(loaded: Loaded) -> str:
    counts = []
    if loaded.eval_set is not None:
        counts.append(count(len(loaded.eval_set.cases), "case"))
    if loaded.recordings:
        invocations = [invocation for recording in loaded.recordings for invocation in recording.trace.invocations]
        counts.append(count(len(loaded.recordings), "recording"))
        counts.append(count(len(invocations), "invocation"))
        is_unknown = bool(invocations) and all(invocation.steps is None for invocation in invocations)
        calls = sum(len(invocation.tool_calls) for invocation in invocations)
        counts.append("tool calls not recorded" if is_unknown else count(calls, "tool call"))
    withheld = withheld_contents(
        invocation for recording in loaded.recordings for invocation in recording.trace.invocations
    )
    return ", ".join(counts) + (f"; not recorded: {', '.join(withheld)}" if withheld else "")
