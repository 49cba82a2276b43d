"""The log of finished shards in the output folder of a data set. It survives a kill."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import msgspec

from fairtrial.errors import UsageError, spell
from fairtrial.records.decoding import json_decoder
from fairtrial.system.file_lock import try_to_lock

if TYPE_CHECKING:
    from fairtrial.records.record import Json

_MOST_DIFFERENCES = 20


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
                f"{count}; use a new {spell('output')}",
                code="cannot-resume",
            )
        file.truncate(end)


Entry = TypeVar("Entry")


class ShardLog(Generic[Entry]):
    """A file of JSON lines: the work and how it was begun, then an entry for each finished shard.

    One process writes it at a time. An entry survives the death of the process, and of the machine.
    """

    def __init__(self, path: Path, kind: type[Entry]) -> None:
        self._path = path
        self._decoder = json_decoder(kind)
        self._file: Any = None

    def open(self, work: Json, begun: Json, *, resume: bool) -> tuple[Json, list[Entry]]:
        """Begin the log, or go on with it. Return how the work was begun, and the entries.

        Raises UsageError if the log belongs to other work, if it exists and is not resumed, or if another process has
        it.
        """
        exists = self._path.exists()
        if exists and not resume:
            raise UsageError(
                f"{self._path.parent}: holds an unfinished run; go on with {spell('resume')}, or give another folder",
                code="cannot-resume",
            )
        if resume and not exists:
            raise UsageError(
                f"{self._path.parent}: holds no unfinished run that {spell('resume')} could continue",
                code="cannot-resume",
            )
        self._file = self._path.open("ab")
        if not try_to_lock(self._file):
            raise UsageError(f"{self._path.parent}: another process is writing this folder", code="busy")
        if exists:
            cut_to_whole_lines(self._path)
            lines = iter_lines(self._path)
            head = msgspec.json.decode(next(lines, b'{"work": null, "begun": null}'))
            check_same(head["work"], work)
            return head["begun"], [self._decoder.decode(line) for line in lines]
        self._append({"work": work, "begun": begun})
        return msgspec.to_builtins(begun), []

    def add(self, entry: Entry) -> None:
        """Add a finished shard."""
        self._append(entry)

    def _append(self, entry: Any) -> None:
        self._file.write(msgspec.json.encode(entry))
        self._file.write(b"\n")
        self._file.flush()
        with suppress(OSError):  # not every file system can
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Give the file back."""
        if self._file is not None:
            self._file.close()

    def remove(self) -> None:
        """Remove the log, because the work is finished."""
        self.close()
        self._path.unlink()


def check_same(earlier: Json, now: Json) -> None:
    """Raise UsageError with the first differences between the work that was begun and the work that is asked for."""
    differences = list(islice(_differences(now, earlier, ""), _MOST_DIFFERENCES))
    if differences:
        raise UsageError(
            "\n".join(f"{spell('resume')}: {difference}" for difference in differences), code="cannot-resume"
        )


def _differences(now: Json, earlier: Json, place: str) -> Iterator[str]:
    # The work may name a million files, so that it is copied value by value.
    now = now if isinstance(now, dict) else msgspec.to_builtins(now)
    if isinstance(now, dict) and isinstance(earlier, dict):
        for name in (*earlier, *(name for name in now if name not in earlier)):
            yield from _differences(now.get(name), earlier.get(name), f"{place}, {name}" if place else name)
    elif now != earlier:
        yield f"{place} is not the same as in the run: {_short(now)}, was {_short(earlier)}"


def _short(value: Json) -> str:
    return "absent" if value is None else msgspec.json.encode(value).decode()[:200]
