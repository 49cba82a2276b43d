"""Keeps the evaluations of a search for a commit as JSON lines, so that an interrupted search goes on from there."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from fairtrial.errors import UsageError
from fairtrial.records.decoding import json_decoder
from fairtrial.records.record import Record
from fairtrial.system.file_lock import try_to_lock

_FOLDER = Path(".fairtrial", "bisect")


class EvaluationLine(Record, frozen=True):
    """An evaluation of a commit: the numbers of passed and failed attempts by case, or why it cannot be tested.

    `failure` is how a command ended that failed.
    """

    commit: str
    outcomes: dict[str, tuple[int, int]] = {}
    problem: str = ""
    failure: str = ""


@dataclass(frozen=True)
class SearchState:
    """The folder of a search. It holds the evaluations, the runs, and the work tree while the search goes on."""

    folder: Path

    @property
    def tree(self) -> Path:
        """The place of the work tree."""
        return self.folder / "tree"

    @property
    def store(self) -> str:
        """The store of the runs."""
        return f"sqlite:///{self.folder / 'runs.db'}"

    @property
    def _file(self) -> Path:
        return self.folder / "evaluations.jsonl"

    def read(self) -> list[EvaluationLine]:
        """Return the evaluations so far. A line that a killed process did not finish is left out."""
        if not self._file.exists():
            return []
        whole, _, rest = self._file.read_bytes().rpartition(b"\n")
        if rest:
            self._file.write_bytes(whole + b"\n" if whole else b"")
        try:
            return list(map(json_decoder(EvaluationLine).decode, filter(None, whole.splitlines())))
        except msgspec.DecodeError as error:
            raise UsageError(f"{self._file}: {error}; remove the folder to begin again") from None

    def add(self, line: EvaluationLine) -> None:
        """Add an evaluation."""
        with self._file.open("ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")


@contextmanager
def open_state(top: Path, question: tuple[str, ...]) -> Iterator[SearchState]:
    """Open the state of a search in a repository, which belongs to its question. Raises UsageError if it is in use."""
    digest = hashlib.sha256("\0".join(question).encode()).hexdigest()[:12]
    folder = top / _FOLDER / digest
    folder.mkdir(parents=True, exist_ok=True)
    ignored = top / _FOLDER.parts[0] / ".gitignore"
    if not ignored.exists():
        ignored.write_text("*\n", encoding="utf-8")
    with (folder / "lock").open("w") as lock:
        if not try_to_lock(lock):
            raise UsageError(f"another process searches for the same commit in {folder}", code="busy")
        yield SearchState(folder)
