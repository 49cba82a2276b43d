"""Find the skill and the eval files in a folder, and the task files that a specification of waza names."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from fairtrial.errors import FormatError, UsageError
from fairtrial.formats import yaml_text
from fairtrial.formats.loaded import Loaded
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.skills.skill_md import FILE, Skill, read_skill

EVALS = "evals"
_NAMES = ("evals.json", "eval.yaml", "eval.yml", "tasks.yaml", "tasks.yml")
_TRIGGERS = ("trigger-eval*.json", "trigger_eval*.json", "triggers.json", "trigger*tests.yaml", "trigger*tests.yml")
_OTHER_PLACES = ("cases", "evals/cases", "evals", "eval", "tests", "tests/cases")
_UP = 2
"""Folders above a skill in which its eval files may stand, as `evals/` beside `skills/NAME/`."""
_MOST_TASKS = 10_000


def find_skill(folder: Path) -> Path:
    """Return the folder of the skill in a folder: the folder itself, or the only one below `skills/`.

    Raises UsageError if it holds none, or several.
    """
    if (folder / FILE).is_file():
        return folder
    paths = sorted({path.parent for path in folder.glob(f"skills/*/{FILE}")})
    paths = paths or sorted({path.parent for path in folder.glob(f".*/skills/*/{FILE}")})
    if not paths:
        raise UsageError(f"{folder}: holds no {FILE}, neither here nor in skills/NAME/", code="other-content")
    if len(paths) > 1:
        names = ", ".join(str(path.relative_to(folder)) for path in paths[:5])
        raise UsageError(f"{folder}: holds several skills; give one of them: {names}")
    return paths[0]


def read_skill_at(folder: Path) -> Skill:
    """Return the header of the skill in a folder. Raises FormatError."""
    path = folder / FILE
    try:
        return read_skill(path.read_bytes(), str(path), folder.resolve().name)
    except OSError as error:
        raise FormatError(str(path), [error.strerror or str(error)]) from None


def eval_files(folder: Path) -> list[Path]:
    """Return the eval files of a skill or a repository of one skill, or nothing.

    They stand in the folder, in its `evals/`, or in `evals/` of a folder above that holds the skill in `skills/`.
    """
    own = _files_in(folder)
    if own or not (folder / FILE).is_file():
        return own
    for above in list(folder.resolve().parents)[:_UP]:
        if (above / EVALS / "evals.json").is_file() and folder.resolve().is_relative_to(above / "skills"):
            return _files_in(above)
    return []


def _files_in(folder: Path) -> list[Path]:
    places = [folder, folder / EVALS]
    eval_paths = [place / name for place in places for name in _NAMES if (place / name).is_file()]
    triggers = [path for place in places for pattern in _TRIGGERS for path in sorted(place.glob(pattern))]
    return [*dict.fromkeys((*eval_paths, *triggers))]


def lack_of_evals(folder: Path) -> str:
    """Return that a skill has no eval files, and which files of its folder look like cases in another layout."""
    text = "the skill has no eval files; `fairtrial init` writes some"
    paths = (path for place in _OTHER_PLACES for path in sorted((folder / place).glob("*")))
    if first := next((path for path in paths if path.suffix in (".json", ".yaml", ".yml")), None):
        text += f". {first.relative_to(folder)} is not read: put cases into the list 'evals' of {EVALS}/evals.json"
    return text


def is_skill_folder(path: Path) -> bool:
    """Whether a folder holds a skill with eval files, or the eval files of a skill."""
    return path.is_dir() and bool(_files_in(path) or ((path / FILE).is_file() and eval_files(path)))


def is_of_skill(path: Path, folder: Path) -> bool:
    """Whether a file stands in the folder of a skill, somewhere below another folder."""
    return any((above / FILE).is_file() for above in path.parents if above.is_relative_to(folder))


def find_root(eval_file: Path) -> Path:
    """Return the folder that the paths in an eval file begin at: the folder of the skill, above `evals/`."""
    folder = eval_file.resolve().parent
    return folder.parent if folder.name == EVALS else folder


def read_suite(path: Path, data: bytes, *, lenient: bool) -> tuple[Loaded, str] | None:
    """Return the tasks that a specification of waza names, and a digest of all files. None for any other file.

    A task file must lie below the folder of the specification. Raises FormatError.
    """
    if path.suffix not in yaml_text.SUFFIXES or b"tasks" not in data:
        return None
    from fairtrial.formats.skills import waza  # such a specification is rare

    spec = yaml_text.decode(data, str(path))
    if not waza.is_spec(spec):
        return None
    reading, digest = Diagnostics(str(path), lenient=lenient), hashlib.sha256(data)
    tasks: list[tuple[dict[str, object], Diagnostics]] = []
    for file in _task_files(path.parent, waza.task_patterns(spec), str(path)):
        content = file.read_bytes()
        digest.update(content)
        task = yaml_text.decode(content, str(file))
        if isinstance(task, dict) and waza.is_task(task):
            tasks.append((task, Diagnostics(str(file), lenient=lenient)))
        else:
            reading.warning(((), "tasks"), f"{file.name} holds no task with inputs and a prompt, and is left out")
    eval_set = waza.read_spec(spec, tasks, reading)
    for diagnostics in (reading, *(own for _, own in tasks)):
        diagnostics.finish()
    notes = [f"{own.path}: {note}" for _, own in tasks for note in own.notes]
    warnings = [*reading.warnings, *(warning for _, own in tasks for warning in own.warnings)]
    loaded = Loaded(str(path), waza.KIND, eval_set, warnings=tuple(warnings), notes=(*reading.notes, *notes))
    return loaded, digest.hexdigest()


def _task_files(folder: Path, patterns: Sequence[str], path: str) -> list[Path]:
    from fairtrial.formats.skills.check_types import escapes

    files: dict[Path, None] = {}
    home = folder.resolve()
    for pattern in patterns:
        if escapes(pattern):
            raise FormatError(path, [f"/tasks: must stay inside of the folder, got {pattern!r:.80}"])
        paths = sorted(file for file in folder.glob(pattern) if file.is_file())[:_MOST_TASKS]
        if not paths:
            raise FormatError(path, [f"/tasks: no file matches {pattern!r}"])
        for file in paths:
            if not file.resolve().is_relative_to(home):
                raise FormatError(path, [f"/tasks: {file.name} leads out of the folder"])
            files[file] = None
    return list(files)
