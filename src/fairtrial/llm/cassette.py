"""Calls of models in a file, from which a run can be replayed without a network.

A cassette is JSON lines: a head, then a line for each call with its key and either its reply or its failure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import InitVar, dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from fairtrial.errors import FormatError, UsageError
from fairtrial.llm.model import CallError, UnsentError, call_key
from fairtrial.records.decoding import json_decoder
from fairtrial.records.record import Json, Record
from fairtrial.records.reply import Prompt, Reply
from fairtrial.system.file_lock import try_to_lock

if TYPE_CHECKING:
    from fairtrial.protocols import Model


class CassetteHead(Record, frozen=True):
    """The first line: the layout version."""

    fairtrial_cassette: int


class CassetteEntry(Record, frozen=True, omit_defaults=True):
    """One call with its prompt, and its reply or its failure. If `sent` is False, the call was never made."""

    key: str
    prompt: str
    reply: Reply | None = None
    failure: str = ""
    sent: bool = True


class MissingEntryError(UsageError):
    """A replayed cassette lacks a call."""

    code = "missing-entry"


@dataclass
class CassetteWriter:
    """Writes each call once, when it ends.

    The old file content stays until the first call. A writer that `only_adds` leaves it for good, and does not write
    calls from the `recorded_keys` again.
    """

    path: Path
    only_adds: bool = False
    recorded_keys: InitVar[Iterable[str]] = ()
    _file: IO[bytes] = field(init=False)
    _keys: set[str] = field(init=False)

    def __post_init__(self, recorded_keys: Iterable[str]) -> None:
        self._keys = set(recorded_keys)
        self._file = self.path.open("ab")
        if not try_to_lock(self._file):
            self._file.close()
            raise UsageError(f"{self.path}: another run is recording this cassette; choose another file", code="busy")
        if not self._file.tell():
            self._write(CassetteHead(fairtrial_cassette=1))

    def add(self, entry: CassetteEntry) -> None:
        """Write an entry, unless the file has its key."""
        if not self._keys and not self.only_adds:
            self._file.truncate(0)
            self._write(CassetteHead(fairtrial_cassette=1))
        if entry.key not in self._keys:
            self._keys.add(entry.key)
            self._write(entry)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, line: Record) -> None:
        self._file.write(msgspec.json.encode(line) + b"\n")
        self._file.flush()


def load_cassette(path: Path) -> dict[str, CassetteEntry]:
    """Return a cassette's entries by key. Raises `FormatError` with every line that cannot be read."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as problem:
        raise FormatError(str(path), [str(problem.strerror or problem)]) from None
    problems: list[str] = []
    try:
        json_decoder(CassetteHead).decode(lines[0] if lines else b"")
    except (msgspec.DecodeError, msgspec.ValidationError):
        raise FormatError(str(path), ["line 1: this is not a cassette"]) from None
    entries: dict[str, CassetteEntry] = {}
    for number, line in enumerate(lines[1:], 2):
        try:
            entry = json_decoder(CassetteEntry).decode(line)
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
    writer: CassetteWriter

    async def __call__(self, prompt: Prompt) -> Reply:
        """Return the model's reply, and write the call with its reply or its failure."""
        key, name = call_key(self.signature, prompt), f"{prompt.id}/{prompt.version}"
        try:
            reply = await self.model(prompt)
        except CallError as failure:
            sent = not isinstance(failure, UnsentError)
            self.writer.add(CassetteEntry(key=key, prompt=name, failure=str(failure), sent=sent))
            raise
        self.writer.add(CassetteEntry(key=key, prompt=name, reply=reply))
        return reply


@dataclass(frozen=True)
class CompletedModel:
    """A cassette before a model: recorded replies are replayed, and every other call is made.

    A recorded failure is no reply, so the call is made again.
    """

    model: Model
    signature: Mapping[str, Json]
    entries: Mapping[str, CassetteEntry]

    async def __call__(self, prompt: Prompt) -> Reply:
        """Return the recorded reply, or else the model's reply."""
        entry = self.entries.get(call_key(self.signature, prompt))
        return await self.model(prompt) if entry is None or entry.reply is None else entry.reply


@dataclass(frozen=True)
class ReplayedModel:
    """A cassette instead of any model. It never opens a connection."""

    signature: Mapping[str, Json]
    entries: Mapping[str, CassetteEntry]
    path: str = ""

    async def __call__(self, prompt: Prompt) -> Reply:
        """Return the recorded reply. Raises `MissingEntryError` if the cassette lacks the call."""
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
