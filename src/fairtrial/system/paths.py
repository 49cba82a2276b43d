"""Checks of paths, the same in every version of Python."""

from __future__ import annotations

from pathlib import Path

from fairtrial.errors import UsageError

DEFAULT_URL = "sqlite:///.fairtrial/fairtrial.db"
"""The store of a project, as a URL: a file below the working folder."""
_OBJECT_STORES = ("s3://", "gs://", "abfs://", "az://")


def exists(path: Path) -> bool:
    """Whether there is a file or a folder at a path.

    Raises OSError if the system cannot look, for example because a name has 5,000 characters. `Path.exists` returns
    False then from Python 3.14 on, so that the reader of a message would search for a file.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: no path can have such a character
        return False
    return True


def name_store(store: str | Path | None) -> str | None:
    """Return the URL of a store. A path is the file of SQLite, and a text or None stays.

    Raises UsageError if the path holds "?", behind which a URL has options, so that it would name another file.
    """
    if isinstance(store, Path) and "?" in store.as_posix():
        raise UsageError(f"the path of a store cannot hold '?': {store.as_posix()}")
    return f"sqlite:///{store.as_posix()}" if isinstance(store, Path) else store


def is_repository(folder: Path) -> bool:
    """Whether a folder is the top of a git repository. A folder in which nobody may look is none."""
    try:
        return exists(folder / ".git")
    except OSError:
        return False


def is_object_folder(path: str | Path) -> bool:
    """Whether a path names a folder in an object store that can be written."""
    return str(path).startswith(_OBJECT_STORES)
