"""Calls written to a file, and answered from it: the same run again, without a network.

A cassette is JSON lines: a head, then one line for each call with its key and its reply, or why there was none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import msgspec

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from fairtrial.errors import FormatError, UsageError
from fairtrial.llm.model import CallError, UnsentError, call_key
from fairtrial.protocols import Model
from fairtrial.records.record import Json, Record
from fairtrial.records.reply import Prompt, Reply


class CassetteHead(Record, frozen=True):
    """The first line: which layout the others have."""

    fairtrial_cassette: int


class CassetteEntry(Record, frozen=True):
    """One call: of which prompt, and its reply or its failure; `sent` is whether it was made at all."""

    key: str
    prompt: str
    reply: Reply | None = None
    failure: str = ""
    sent: bool = True


class MissingEntryError(UsageError):
    """A cassette that is replayed does not know a call."""


@dataclass
class CassetteWriter:
    """Writes each call once, as soon as it is over. What is in the file already stays until there is a first call."""

    path: Path
    _file: IO[bytes] = field(init=False)
    _written: set[str] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self._file = self.path.open("ab")
        try:
            _lock(self._file)
        except OSError:
            self._file.close()
            raise UsageError(f"{self.path}: another run is recording this cassette; choose another file") from None
        if not self._file.tell():
            self._write(CassetteHead(fairtrial_cassette=1))

    def add(self, entry: CassetteEntry) -> None:
        """Write an entry whose key is not in the file."""
        if not self._written:
            self._file.truncate(0)
            self._write(CassetteHead(fairtrial_cassette=1))
        if entry.key not in self._written:
            self._written.add(entry.key)
            self._write(entry)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, line: Record) -> None:
        self._file.write(msgspec.json.encode(line) + b"\n")
        self._file.flush()


def _lock(file: IO[bytes]) -> None:
    """Lock a file until it is closed; OSError if it is locked already. Windows has no such lock."""
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def load_cassette(path: Path) -> dict[str, CassetteEntry]:
    """Read a cassette; entries by key. Raises `FormatError` with every line that cannot be read."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as problem:
        raise FormatError(str(path), [str(problem.strerror or problem)]) from None
    problems: list[str] = []
    try:
        msgspec.json.decode(lines[0] if lines else b"", type=CassetteHead)
    except (msgspec.DecodeError, msgspec.ValidationError):
        raise FormatError(str(path), ["line 1: this is no cassette"]) from None
    entries: dict[str, CassetteEntry] = {}
    for number, line in enumerate(lines[1:], 2):
        try:
            entry = msgspec.json.decode(line, type=CassetteEntry)
        except (msgspec.DecodeError, msgspec.ValidationError) as problem:
            problems.append(f"line {number}: {problem}")
        else:
            entries[entry.key] = entry
    if problems:
        raise FormatError(str(path), problems)
    return entries


@dataclass(frozen=True)
class RecordedModel:
    """A model whose calls are written to a cassette."""

    model: Model
    signature: Mapping[str, Json]
    recorder: CassetteWriter

    async def __call__(self, prompt: Prompt) -> Reply:
        """Answer, and write down what was answered, or why nothing was."""
        key, name = call_key(self.signature, prompt), f"{prompt.id}/{prompt.version}"
        try:
            reply = await self.model(prompt)
        except CallError as failure:
            sent = not isinstance(failure, UnsentError)
            self.recorder.add(CassetteEntry(key=key, prompt=name, failure=str(failure), sent=sent))
            raise
        self.recorder.add(CassetteEntry(key=key, prompt=name, reply=reply))
        return reply


@dataclass(frozen=True)
class ReplayedModel:
    """A cassette in place of a model; there is nothing behind it that could open a socket."""

    signature: Mapping[str, Json]
    entries: Mapping[str, CassetteEntry]
    path: str = ""

    async def __call__(self, prompt: Prompt) -> Reply:
        """Answer as it was answered then; `MissingEntryError` for a call that was not made then."""
        key = call_key(self.signature, prompt)
        entry = self.entries.get(key)
        if entry is None:
            raise MissingEntryError(
                f"{self.path}: no entry for a call of {self.signature.get('model')} with prompt {prompt.id}/"
                f"{prompt.version}, draw {prompt.draw}, ask {prompt.ask} (key {key}); record the cassette again"
            )
        if entry.reply is None:
            raise (CallError if entry.sent else UnsentError)(entry.failure)
        return entry.reply
