"""Find the files of a folder: those of the user, the data of a dataset, the sub-agents of a session."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import NoReturn

from fairtrial.errors import FormatError, UsageError
from fairtrial.formats import packed
from fairtrial.text.display import visible_line

_MARKS = ("dataset_dict.json", "dataset_info.json", "dataset_infos.json")
_NOT_DATA = (*_MARKS, "state.json")
_TEXTS = (".jsonl", ".json", ".csv", ".tsv")
_SUFFIXES = (".parquet", ".arrow", *_TEXTS, *(f"{text}{suffix}" for text in _TEXTS for suffix in packed.SUFFIXES))
_CARD = "README.md"
_CARD_KEYS = re.compile(r"^(?:configs|dataset_info|task_categories|size_categories|pretty_name):", re.MULTILINE)
_SPLIT = re.compile(r"(?<![a-z0-9])(train(?:ing)?|test(?:ing)?|eval(?:uation)?|validation|valid|val|dev)(?![a-z0-9])")
_LARGEST_CARD = 1 << 20


def data_files(folder: Path) -> list[Path]:
    """Return the data files of a dataset of Hugging Face, or nothing if a folder is not a dataset.

    A dataset has a `dataset_info.json` or its like, or a card in `README.md`. Raises UsageError if the dataset has
    several splits, because nobody wants to run an agent on the data of a training by accident.
    """
    if not _is_dataset(folder):
        return []
    files = [
        file for file in walk_files(folder) if file.name.lower().endswith(_SUFFIXES) and file.name not in _NOT_DATA
    ]
    splits = {_split(file.relative_to(folder)): file for file in reversed(files)}
    if len(splits) > 1:
        names = ", ".join(sorted(filter(None, splits)) or ["no name"])
        path = splits.get("test") or files[0]
        raise UsageError(f"{folder}: is a dataset with several splits ({names}); name the files of a split: {path}")
    return files


def _is_dataset(folder: Path) -> bool:
    if any((folder / name).is_file() for name in _MARKS):
        return True
    try:
        with (folder / _CARD).open(encoding="utf-8", errors="replace") as file:
            text = file.read(_LARGEST_CARD)
    except OSError:
        return False
    head = text.removeprefix("---\n").partition("\n---")
    return text.startswith("---\n") and bool(head[1]) and _CARD_KEYS.search(head[0]) is not None


def _split(file: Path) -> str:
    """Return the split that the name of a file or of its folders contains, such as `test-00000-of-00001.parquet`."""
    names: Sequence[str] = [file.name, *(folder.name for folder in file.parents)]
    match = next((match for name in names if (match := _SPLIT.search(name.lower())) is not None), None)
    return match.group(1) if match else ""


_FOLDER = "subagents"


def agent_files(path: Path) -> list[Path]:
    """Return the files of agents in the folder that has the name of a session, for example `ID/subagents/*.jsonl`."""
    folder = path.with_suffix("") / _FOLDER
    return sorted(folder.glob("*.jsonl")) if path.suffix == ".jsonl" and folder.is_dir() else []


def belongs_to_session(path: Path) -> bool:
    """Whether a file is of an agent whose session is beside its folder. The session is read with it."""
    return path.parent.name == _FOLDER and path.parent.parent.with_suffix(".jsonl").is_file()


def with_agents(path: Path, data: bytes) -> bytes:
    """Return the bytes of a session with the lines of its agents behind them. Raises FormatError."""
    try:
        return b"\n".join([data, *(file.read_bytes() for file in agent_files(path))])
    except OSError as error:
        raise FormatError(str(error.filename), [error.strerror or str(error)]) from None


_OF_TOOLS = frozenset(("node_modules", "__pycache__", "site-packages"))


def walk_files(folder: Path, patterns: Sequence[str] = ("*",)) -> Iterator[Path]:
    """Yield the files below a folder whose names match a pattern, sorted.

    Hidden folders, virtual environments and the folders of package managers are left out, except for the folder itself.
    A link that leads nowhere is a file, too, so that its reader says so. Raises UsageError for a folder that cannot be
    listed.
    """
    for path in _walk(folder, patterns):
        if path.is_file() or _leads_nowhere(path):
            yield path


def walk_unread(folder: Path, patterns: Sequence[str] = ("*",)) -> Iterator[tuple[str, Path]]:
    """Yield links to folders, and pipes whose names match a pattern, each with its kind. `walk_files` passes them by.

    A socket or a device is a `pipe`, too. Raises UsageError as `walk_files` does.
    """
    for path in _walk(folder, patterns, links=True):
        if path.is_dir():
            yield "linked folder", path
        elif path.exists() and not path.is_file():
            yield "pipe", path


def _walk(folder: Path, patterns: Sequence[str], *, links: bool = False) -> Iterator[Path]:
    """Yield files, pipes and their like below a folder whose names match, and with `links` the links to folders."""
    for root, folders, names in os.walk(folder, onerror=_refuse):
        here = Path(root)
        folders[:] = sorted(name for name in folders if not is_of_tool(here / name))
        if links:
            yield from (here / name for name in folders if (here / name).is_symlink())
        yield from (here / name for name in sorted(names) if any(fnmatch(name, pattern) for pattern in patterns))


def _leads_nowhere(path: Path) -> bool:
    return path.is_symlink() and not path.exists()


def _refuse(error: OSError) -> NoReturn:
    raise UsageError(
        f"{visible_line(str(error.filename))}: cannot be listed: {error.strerror or error}", code="unreadable-file"
    )


def is_of_tool(folder: Path) -> bool:
    """Whether a folder is hidden, a virtual environment, or the folder of a package manager."""
    return folder.name.startswith(".") or folder.name in _OF_TOOLS or os.path.isfile(folder / "pyvenv.cfg")  # noqa: PTH113  (it may not be readable)
