"""Cut an interrupted output after its last whole line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fairtrial.errors import UsageError, spell


def iter_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, without holding the whole file."""
    with path.open("rb") as file:
        yield from file


def cut_to_whole_lines(path: Path, count: int | None = None) -> None:
    """Cut a file of JSON lines after its last whole line, or after its first `count` lines.

    A crash can leave half a line. Raises UsageError if the file holds fewer than `count` whole lines.
    """
    end = lines = 0
    with path.open("r+b") as file:
        for line in file:
            if not line.endswith(b"\n") or lines == count:
                break
            end, lines = end + len(line), lines + 1
        if count is not None and lines < count:
            raise UsageError(
                f"{spell('resume')}: {path}: holds {lines} lines, expected at least "
                f"{count}; use a new {spell('output')}"
            )
        file.truncate(end)
