"""Which documents stand in the files that the user named, one after the other, without holding them all?"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from fairtrial.errors import CaseError, FormatError, UsageError
from fairtrial.formats import knowledgepulse, recognise
from fairtrial.formats.knowledgepulse import Problem, Refused
from fairtrial.records.attempt import Recording
from fairtrial.valuation.from_trace import from_trace

SUFFIXES = (".json", ".jsonl", ".ndjson")
_LINES = (".jsonl", ".ndjson")


class Document(NamedTuple):
    """One document, not yet read: where it is from, its bytes, or why there are none."""

    origin: str
    data: bytes | Refused


class Defaults(NamedTuple):
    """What the user says of traces that do not say it themselves: the agent's confidence, and its success.

    `verdict` is the success that a stored run found.
    """

    confidence: float | None = None
    success: bool | None = None
    verdict: bool | None = None


def files(paths: Sequence[str]) -> list[Path]:
    """Return the files of what the user named: a file itself, of a folder all JSON files below it, sorted by path.

    `-` is standard input. UsageError for what does not exist, and for a folder without such files.
    """
    found: list[Path] = []
    for name in paths:
        path = Path(name)
        if path.is_dir():
            inside = sorted(one for one in path.rglob("*") if one.suffix.lower() in SUFFIXES and one.is_file())
            if not inside:
                raise UsageError(f"{name}: the folder holds no {', '.join(SUFFIXES)} file")
            found += inside
        elif name == "-" or path.is_file():
            found.append(path)
        else:
            what = (
                "is read more than once, so it cannot be a pipe; give it as -"
                if path.exists()
                else "no such file or folder"
            )
            raise UsageError(f"{name}: {what}")
    return found


def documents(paths: Sequence[Path], said: Defaults) -> Iterator[Document]:
    """Yield the documents of files in order: of a JSON file its object, or each item of its list; else its lines.

    Of a file in another format that fairtrial reads, the reasoning of each of its recordings. A file that is neither is
    one refused document, because a million others may stand beside it.
    """
    for path in paths:
        if str(path) != "-" and not _is_ours(path):
            yield from _foreign(path, said)
        else:
            yield from _own(path)


def _own(path: Path) -> Iterator[Document]:
    return _lines(path) if str(path) == "-" or path.suffix.lower() in _LINES else _whole(path)


def recorded(recordings: Iterable[Recording], said: Defaults, origin: str) -> Iterator[Document]:
    """Yield the reasoning of recordings under the ids of their cases; what it cannot be derived from is refused."""
    for recording in recordings:
        name = recording.case_id if recording.attempt == 1 else f"{recording.case_id}/{recording.attempt}"
        try:
            trace = from_trace(
                recording.trace, confidence=said.confidence, success=said.success, verdict=said.verdict, name=name
            )
        except CaseError as error:
            refused = Refused(id=f"kp:trace:{name}", problems=(Problem("", str(error)),))
            yield Document(f"{origin}#{name}", refused)
        else:
            yield Document(f"{origin}#{name}", knowledgepulse.dumps(trace))


def _foreign(path: Path, said: Defaults) -> Iterator[Document]:
    try:
        loaded = recognise.read(path.read_bytes(), str(path))
    except FormatError as error:
        yield _unreadable(path, error.problems)
        return
    if loaded.recordings:
        yield from recorded(loaded.recordings, said, str(path))
    else:
        yield _unreadable(path, [f"holds {loaded.kind} without recorded traces, so there is nothing to value"])


def _unreadable(path: Path, problems: Iterable[str]) -> Document:
    return Document(str(path), Refused(id=None, problems=tuple(Problem("", problem) for problem in problems)))


def _lines(path: Path) -> Iterator[Document]:
    with sys.stdin.buffer if str(path) == "-" else path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            data = line.strip()
            if data and data != b"\xef\xbb\xbf":
                yield Document(f"{path}:{number}", data)


def _whole(path: Path) -> Iterator[Document]:
    data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    if not data.lstrip().startswith(b"["):
        try:
            msgspec.json.decode(data, type=msgspec.Raw)
        except (msgspec.DecodeError, RecursionError):
            if len(_objects_by_line(data)) > 1:
                yield from _lines(path)
                return
        yield Document(str(path), data)
        return
    try:
        items = msgspec.json.decode(data, type=list[msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        yield Document(str(path), data)
        return
    for place, item in enumerate(items):
        yield Document(f"{path}/{place}", bytes(item))


def _objects_by_line(data: bytes) -> list[bytes]:
    lines = [line for line in data.splitlines() if line.strip()]
    return lines if all(line.lstrip().startswith(b"{") and line.rstrip().endswith(b"}") for line in lines) else []


def _is_ours(path: Path) -> bool:
    """Whether the first document of a file says that it is JSON-LD; only its beginning is read of JSON lines."""
    if path.suffix.lower() not in SUFFIXES:
        return False
    first = next(_own(path), None)
    if first is None or not isinstance(first.data, bytes):
        return True
    try:
        head = msgspec.json.decode(first.data)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return True
    return isinstance(head, dict) and (bool(knowledgepulse.MARKS & head.keys()) or {"steps", "outcome"} <= head.keys())
