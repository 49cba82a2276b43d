"""Walk the files of a folder that belong to the user, and skip those of tools."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

_OF_TOOLS = frozenset(("node_modules", "__pycache__", "site-packages"))


def walk_files(folder: Path, patterns: Sequence[str] = ("*",)) -> Iterator[Path]:
    """Yield the files below a folder whose names match a pattern, sorted.

    Hidden folders, virtual environments and the folders of package managers are left out, except for the folder itself.
    """
    for root, folders, names in os.walk(folder):
        here = Path(root)
        folders[:] = sorted(name for name in folders if not _is_of_tool(here / name))
        for name in sorted(names):
            if any(fnmatch(name, pattern) for pattern in patterns) and (here / name).is_file():
                yield here / name


def _is_of_tool(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name in _OF_TOOLS or (folder / "pyvenv.cfg").is_file()
