"""Write large files whole or not at all, even if the machine stops."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from fairtrial.system.file_lock import try_to_lock


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
    finally:
        part.unlink(missing_ok=True)


def remove_old_parts(path: Path) -> None:
    """Remove the parts of a file that nobody writes any more, because their processes were killed."""
    for part in path.parent.glob(f"{escape(path.name)}.*.part"):
        with suppress(OSError), part.open("rb") as file:
            if try_to_lock(file):
                part.unlink()
