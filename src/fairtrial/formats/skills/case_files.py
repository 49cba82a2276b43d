"""Place the files of a case in its workspace."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from fairtrial.formats.skills.check_types import escapes
from fairtrial.records.workspace import CaseFile

if TYPE_CHECKING:
    from fairtrial.formats.reading import Diagnostics, Place


def read_files(raw: object, prompt: str, at: Place, reading: Diagnostics) -> tuple[CaseFile, ...]:
    """Return the files that a case gives to the agent. A path that leaves the folder of the skill is an error.

    The agent finds `evals/files/a.csv` as `a.csv`: the folders that all files of a case share are left out. If the
    prompt itself names a path as the case writes it, all files keep their folders. An object may name a `revision` of
    git.
    """
    if raw is None:
        return ()
    if not isinstance(raw, list):
        reading.wrong_type(at, "an array of paths", raw)
        return ()
    paths: list[str] = []
    revisions: dict[str, str] = {}
    for i, item in enumerate(raw):
        path = item.get("path") if isinstance(item, dict) else item
        if not isinstance(path, str) or not path:
            reading.wrong_type((at, i), "a path", item)
        elif escapes(path):
            reading.error((at, i), f"must stay inside of the folder of the skill, got {path!r:.80}")
        else:
            paths.append(str(PurePosixPath(path.replace("\\", "/"))))
            if isinstance(item, dict):
                revisions[paths[-1]] = reading.text(item, "revision", (at, i))
    keeps = any(path in prompt for path in paths if "/" in path)
    return tuple(
        CaseFile(path, path if keeps else _target(path, paths), revision=revisions.get(path, "")) for path in paths
    )


def _target(path: str, paths: Sequence[str]) -> str:
    """Return a path without the folders that all paths share. A path without a suffix is a folder, and goes whole."""
    own = PurePosixPath(path)
    folders = [PurePosixPath(each) if _is_folder(each) else PurePosixPath(each).parent for each in paths]
    shared = folders[0]
    while not all(folder.is_relative_to(shared) for folder in folders):
        shared = shared.parent
    target = own.relative_to(shared)
    return "" if target == PurePosixPath() else str(target)


def _is_folder(path: str) -> bool:
    return not PurePosixPath(path).suffix
