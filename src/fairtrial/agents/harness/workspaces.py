"""Make the workspace of an attempt, and compare its files before and after."""

from __future__ import annotations

import base64
import contextlib
import difflib
import hashlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fairtrial.agents.harness.git_folders import find_commit, write_revision
from fairtrial.errors import UsageError
from fairtrial.records.state_delta import FileChange
from fairtrial.records.trace import Part
from fairtrial.text.redaction.redact import without_secrets

if TYPE_CHECKING:
    from fairtrial.records.workspace import CaseFile

_LARGEST_HASHED = 50 * 2**20
_MOST_FILES = 20_000
_MOST_LEVELS = 100
_LARGEST_TEXT = 64_000
_MOST_LINES = 2_000
_LONGEST_DIFF = 20_000
_LONGEST_TOGETHER = 200_000
_MOST_LISTED = 200
_LARGEST_COPY = 500 * 2**20
_MOST_PICTURES, _LARGEST_PICTURES = 6, 3_000_000
_PICTURES = {
    re.compile(rb"\x89PNG\r\n\x1a\n"): "image/png",
    re.compile(rb"\xff\xd8\xff"): "image/jpeg",
    re.compile(rb"GIF8[79]a"): "image/gif",
    re.compile(rb"RIFF.{4}WEBP", re.DOTALL): "image/webp",
}
"""The beginnings of pictures."""
_NOT_A_FILE = "not a regular file"


class FileState(NamedTuple):
    """A file as it stands: its size, a digest of its content, and its text if it is a short text."""

    size: int
    digest: str
    text: str | None


Snapshot = dict[str, FileState]
"""The files of a folder by their path in it."""


def no_links_out(root: Path, path: Path) -> None:
    """Raise UsageError if a path leads out of a folder, for example by a link."""
    if not path.resolve().is_relative_to(root.resolve()):
        raise UsageError(f"{path}: leads out of {root}", code="unsafe-input")


def place_files(files: tuple[CaseFile, ...], root: Path, workspace: Path) -> None:
    """Copy the files of a case into a workspace. Raises UsageError if one is missing, or leads out of its folder."""
    for file in files:
        source = find_source(file, root)
        if source is None:
            raise UsageError(
                f"{root}: holds no {file.source!r}, which a case gives to the agent", code="unusable-agent"
            )
        target = workspace / file.target
        if file.revision:
            copy_revision(file, source, target)
        elif source.is_dir():
            copy_folder(source, target, root)
        else:
            target = target / source.name if file.target == "" else target
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def copy_revision(file: CaseFile, source: Path, target: Path) -> None:
    """Copy a folder as it stands at the revision of a file. Raises UsageError if there is no such revision."""
    problem = f"{file.source!r}: {file.revision!r}:"
    if not source.is_dir():
        raise UsageError(f"{problem} must be a folder in a repository of git", code="unusable-agent")
    with tempfile.TemporaryDirectory(prefix="fairtrial-revision-") as folder:
        commit = find_commit(source, file.revision, problem)
        own = write_revision(source, commit, Path(folder), problem)
        copy_folder(own, target, own)


def find_source(file: CaseFile, root: Path) -> Path | None:
    """Return the path of a file of a case: in the folder of the skill, or beside the eval file. None if it is missing.

    Raises UsageError if it leads out of the folder.
    """
    for place in (root, root / "evals", root / "fixtures"):
        path = place / file.source
        if path.exists():
            no_links_out(root, path)
            return path
    return None


def copy_folder(source: Path, target: Path, root: Path, leave_out: Callable[[Path], bool] = lambda _: False) -> None:
    """Copy a folder. A link that leads out of `root` is refused, and other links become copies."""
    target.mkdir(parents=True, exist_ok=True)
    total = 0
    for path in _walk(source):
        if leave_out(path):
            continue
        no_links_out(root, path)
        place = target / path.relative_to(source)
        if path.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        elif path.is_file():
            total += path.stat().st_size
            if total > _LARGEST_COPY:
                raise UsageError(f"{source}: is larger than {_LARGEST_COPY:,} bytes", code="too-large")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, place)


def hash_path(path: Path, leave_out: Callable[[Path], bool] = lambda _: False) -> str:
    """Return the SHA-256 of a file, or of a folder with the names in it."""
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    total = hashlib.sha256()
    for file in _walk(path):
        if file.is_file() and not leave_out(file):
            total.update(f"{file.relative_to(path).as_posix()}\0{len(file.read_bytes())}\0".encode())
            total.update(file.read_bytes())
    return total.hexdigest()


def _walk(folder: Path) -> Iterator[Path]:
    """Yield everything below a folder in the order of its names, and enter no link and no folder of git.

    Nothing below 100 levels is looked at, so that an agent cannot exhaust the stack or the longest path.
    """
    stack = [_entries(folder)]
    while stack:
        entry = next(stack[-1], None)
        if entry is None:
            stack.pop()
        elif entry.name not in (".git", "__pycache__"):
            yield Path(entry.path)
            if len(stack) < _MOST_LEVELS and entry.is_dir(follow_symlinks=False):
                stack.append(_entries(Path(entry.path)))


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        return iter(sorted(os.scandir(folder), key=lambda entry: entry.name))
    except OSError:  # the agent may take away the right to read
        return iter(())


def remove_folder(folder: Path) -> None:
    """Remove a folder of an agent, whatever its depth and its rights are.

    Folders in folders are first moved to the top, so that no path becomes too long.
    """
    number = 0
    todo = [folder / name for name in _names(folder)]
    while todo:
        path = todo.pop()
        if path.is_symlink() or not path.is_dir():
            with contextlib.suppress(OSError):
                path.unlink()
            continue
        for name in _names(path):
            inner, number = path / name, number + 1
            with contextlib.suppress(OSError):
                if inner.is_dir() and not inner.is_symlink():
                    inner.chmod(0o700)
                    todo.append(inner.rename(folder / f".{number}-{id(todo)}"))
                else:
                    inner.unlink()
        with contextlib.suppress(OSError):
            path.rmdir()
    with contextlib.suppress(OSError):
        folder.rmdir()


def _names(folder: Path) -> list[str]:
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
        return [path.name for path in folder.iterdir()]
    return []


def take_snapshot(workspace: Path) -> Snapshot:
    """Return the files of a workspace. No link is followed, and of a large file only its size counts.

    At most 20,000 files are looked at, so that an agent cannot fill the memory.
    """
    states: Snapshot = {}
    for path in _walk(workspace):
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            continue
        if len(states) >= _MOST_FILES:
            break
        states[path.relative_to(workspace).as_posix()] = _look_at(path, mode)
    return states


def _look_at(path: Path, mode: int) -> FileState:
    size = path.lstat().st_size
    if stat.S_ISLNK(mode):
        target = path.readlink()
        return FileState(size, f"link {target}", f"link to {target}")
    if not stat.S_ISREG(mode):
        return FileState(size, _NOT_A_FILE, None)
    if size > _LARGEST_HASHED:
        return FileState(size, f"{size} bytes", None)
    try:
        data = path.read_bytes()
    except OSError as error:  # the agent may take away the right to read
        return FileState(size, f"unreadable: {error.errno}", None)
    return FileState(size, hashlib.sha256(data).hexdigest(), _text(data))


def _text(data: bytes) -> str | None:
    if len(data) > _LARGEST_TEXT or b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def compare(before: Snapshot, after: Snapshot) -> tuple[tuple[FileChange, ...], int]:
    """Return the changes between two snapshots, and the number of changes that are not listed.

    Diffs are bounded, and secrets in them are replaced.
    """
    paths = [path for path in sorted({*before, *after}) if _differ(before.get(path), after.get(path))]
    budget, changes = _LONGEST_TOGETHER, []
    for path in paths[:_MOST_LISTED]:
        change = _change(path, before.get(path), after.get(path), budget)
        budget -= len(change.diff)
        changes.append(change)
    return tuple(changes), max(0, len(paths) - _MOST_LISTED)


def find_pictures(changes: Iterable[FileChange], workspace: Path) -> tuple[Part, ...]:
    """Return the pictures among new and changed files, for judges and readers, up to a number and a size."""
    pictures: list[Part] = []
    budget = _LARGEST_PICTURES
    for change in changes:
        if change.change == "removed" or not 0 < change.size <= budget or len(pictures) == _MOST_PICTURES:
            continue
        path = workspace / change.path
        if path.is_symlink():
            continue
        with contextlib.suppress(OSError):
            data = path.read_bytes()
            kind = next((kind for mark, kind in _PICTURES.items() if mark.match(data)), "")
            if kind and len(data) == change.size:
                budget -= len(data)
                pictures.append(Part(kind, data=base64.b64encode(data).decode(), name=change.path))
    return tuple(pictures)


def _differ(before: FileState | None, after: FileState | None) -> bool:
    return before is None or after is None or before.digest != after.digest


def _change(path: str, before: FileState | None, after: FileState | None, budget: int) -> FileChange:
    if after is None:
        return FileChange(path, "removed", before.size if before else 0)
    longest = max(0, min(_LONGEST_DIFF, budget))
    if before is None:
        text, kind = after.text or "", "added"
    else:
        text, kind = _diff(before.text, after.text), "changed"
    text = without_secrets(text)
    is_cut = len(text) > longest or (after.text is None and after.size > 0)
    return FileChange(path, "added" if kind == "added" else "changed", after.size, text[:longest], is_cut)


def _diff(before: str | None, after: str | None) -> str:
    if before is None or after is None:
        return ""
    old, new = before.splitlines(), after.splitlines()
    if len(old) > _MOST_LINES or len(new) > _MOST_LINES:
        return ""
    return "\n".join(list(difflib.unified_diff(old, new, lineterm="", n=2))[2:])
