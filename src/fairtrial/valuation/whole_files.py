"""Write large files whole or not at all, even if the machine stops."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from fairtrial.system.file_lock import try_to_lock

_PAUSE = 0.02


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield the path of a part beside a file. After the block, the part is on the disk, and takes the file's place."""
    remove_old_parts(path)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as holder:
            try_to_lock(holder)  # so that others know that somebody still writes it
            yield part
        with part.open("r+b") as file:
            os.fsync(file.fileno())
        part.replace(path)
        _sync_folder(path.parent)
    finally:
        part.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Put the names of a folder on the disk. Windows does this itself."""
    if sys.platform != "win32":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def remove_old_parts(path: Path) -> None:
    """Remove the parts of a file that nobody writes any more, because their processes were killed."""
    for part in path.parent.glob(f"{escape(path.name)}.*.part"):
        remove_part(part)


def remove_part(part: Path) -> None:
    """Remove a part, unless somebody still writes it."""
    with suppress(OSError):
        with part.open("rb") as file:
            is_free = try_to_lock(file)
        if is_free:
            part.unlink()


@contextmanager
def locked_file(path: Path, *, patience: float = 0.0) -> Iterator[bool]:
    """Hold the lock FILE.lock during the block. Yield False if another holder keeps it for `patience` seconds."""
    with path.with_name(f"{path.name}.lock").open("ab") as file:
        end = time.monotonic() + patience
        while not (has_lock := try_to_lock(file)) and time.monotonic() < end:
            time.sleep(_PAUSE)
        yield has_lock
