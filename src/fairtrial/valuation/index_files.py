"""The file of an index: its form, and the lock of whoever writes it. It needs no numpy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fairtrial.errors import UsageError, spell
from fairtrial.valuation.whole_files import locked_file


def is_segmented(path: Path) -> bool:
    """Whether a file is the file of an index with segments."""
    with suppress(OSError), path.open("rb") as file:
        return file.read(1) == b"{"
    return False


@contextmanager
def write_lock(path: Path, *, patience: float = 0.0) -> Iterator[None]:
    """Keep other processes from writing an index during the block. Raises UsageError if another process writes it."""
    with locked_file(path, patience=patience) as has_lock:
        if not has_lock:
            raise UsageError(
                f"{spell('index')}: {path}: another process is writing it; wait for its end, or use another file"
            )
        yield
