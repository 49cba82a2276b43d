"""Which documents with reasoning are in the files that the user named? The documents are never all held."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import msgspec

from fairtrial.errors import CaseError, FormatError, UsageError
from fairtrial.formats import knowledgepulse
from fairtrial.formats.conversation.options import DEFAULTS
from fairtrial.formats.items import REASONING
from fairtrial.formats.recognise import Loaded, read
from fairtrial.loading.folders import walk_files
from fairtrial.loading.span_files import with_conversations
from fairtrial.loading.streams import FilePass
from fairtrial.records.attempt import Recording
from fairtrial.records.reasoning import Problem, RefusedTrace
from fairtrial.valuation.chunk import Document
from fairtrial.valuation.from_trace import from_trace

SUFFIXES = (".json", ".jsonl", ".ndjson")
_LINES = (".jsonl", ".ndjson")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class TraceDefaults(NamedTuple):
    """The agent's confidence and its success, for traces that do not contain them.

    `verdict` is the success that a stored run found. It takes precedence over `success`.
    """

    confidence: float | None = None
    success: bool | None = None
    verdict: bool | None = None


def document_files(paths: Sequence[str]) -> list[Path]:
    """Return the files at paths: a file itself, and all JSON files below a folder, sorted by path.

    `-` is standard input. Raises UsageError for a path that does not exist, and for a folder without such files.
    """
    files: list[Path] = []
    for name in paths:
        path = Path(name)
        if path.is_dir():
            members = sorted(file for file in walk_files(path) if file.suffix.lower() in SUFFIXES)
            if not members:
                raise UsageError(f"{name}: the folder holds no {', '.join(SUFFIXES)} file")
            files += members
        elif name == "-" or path.is_file():
            files.append(path)
        elif path.exists():
            raise UsageError(f"{name}: is read more than once, so it cannot be a pipe; give it as -")
        else:
            raise UsageError(f"{name}: no such file or folder")
    return files


def iter_documents(paths: Sequence[Path], defaults: TraceDefaults) -> Iterator[Document]:
    """Yield the documents of files in order.

    A JSON file holds one object or a list of objects. A file of JSON lines holds one object a line. A file in another
    format gives the reasoning of each of its recordings. An unreadable file is one refused document, because a
    million readable files may be beside it.
    """
    for path in paths:
        if str(path) == "-":
            yield from _documents_of_stdin(defaults)
        elif _is_reasoning(path):
            yield from _reasoning_documents(path)
        else:
            yield from _recorded_documents(path, defaults)


def documents_of_recordings(
    recordings: Iterable[Recording], defaults: TraceDefaults, origin: str
) -> Iterator[Document]:
    """Yield the reasoning of recordings under the ids of their cases, or why it cannot be derived."""
    for recording in recordings:
        name = recording.case_id if recording.attempt == 1 else f"{recording.case_id}/{recording.attempt}"
        try:
            trace = from_trace(
                recording.trace,
                confidence=defaults.confidence,
                success=defaults.success,
                verdict=defaults.verdict,
                name=name,
            )
        except CaseError as error:
            crash = f"the conversation broke off: {recording.failure.cause}; " if recording.failure is not None else ""
            refused = RefusedTrace(id=f"kp:trace:{name}", problems=(Problem("", f"{crash}{error}"),))
            yield Document(f"{origin}#{name}", refused)
        else:
            yield Document(f"{origin}#{name}", knowledgepulse.dumps(trace))


def _documents_of_stdin(defaults: TraceDefaults) -> Iterator[Document]:
    """Yield the documents on standard input. Lines with reasoning are read one by one, all other JSON as a whole."""
    lines = iter(sys.stdin.buffer)
    first = next((line for line in lines if line.strip().removeprefix(_BYTE_ORDER_MARK)), b"")
    if _is_reasoning_line(first):
        yield from _documents_of_lines("-", chain([first], lines))
        return
    data = first + b"".join(lines)
    try:
        loaded = read(data, "-")
    except FormatError as error:
        # If the lines are JSON lines after all, each has its own problem.
        if _count_object_lines(data) > 1:
            yield from _documents_of_lines("-", data.splitlines())
        else:
            yield _unreadable("-", error.problems)
        return
    if loaded.kind == REASONING.kind:
        items = msgspec.json.decode(data, type=list[msgspec.Raw]) if data.lstrip()[:1] == b"[" else [data]
        yield from (Document(f"-/{place}", bytes(item)) for place, item in enumerate(items))
    else:
        yield from _documents_of_loaded(loaded, defaults, "-")


def _reasoning_documents(path: Path) -> Iterator[Document]:
    is_lines = path.suffix.lower() in _LINES
    return _documents_by_line(path) if is_lines else _documents_of_json(path)


def _recorded_documents(path: Path, defaults: TraceDefaults) -> Iterator[Document]:
    """Yield the reasoning of the recordings in a file. The first pass checks the file, the second pass reads it."""
    first_pass = FilePass(path)
    try:
        for _ in first_pass:
            pass
    except FormatError as error:
        yield _unreadable(str(path), error.problems)
        return
    if first_pass.loaded is None:
        yield from documents_of_recordings(FilePass(path), defaults, str(path))
    else:
        yield from _documents_of_loaded(first_pass.loaded, defaults, str(path))


def _documents_of_loaded(loaded: Loaded, defaults: TraceDefaults, origin: str) -> Iterator[Document]:
    """Yield the reasoning of the recordings in a file that was read as a whole. Spans are joined to recordings."""
    recordings = with_conversations([loaded], DEFAULTS)[0].recordings if loaded.spans else loaded.recordings
    if recordings:
        yield from documents_of_recordings(recordings, defaults, origin)
    else:
        yield _unreadable(origin, [f"holds {loaded.kind} without recorded traces, so there is nothing to value"])


def _unreadable(origin: str, problems: Iterable[str]) -> Document:
    return Document(origin, RefusedTrace(id=None, problems=tuple(Problem("", problem) for problem in problems)))


def _documents_by_line(path: Path) -> Iterator[Document]:
    with path.open("rb") as file:
        yield from _documents_of_lines(path, file)


def _documents_of_lines(path: Path | str, lines: Iterable[bytes]) -> Iterator[Document]:
    for number, line in enumerate(lines, start=1):
        data = line.strip()
        if data and data != _BYTE_ORDER_MARK:
            yield Document(f"{path}:{number}", data)


def _documents_of_json(path: Path) -> Iterator[Document]:
    data = path.read_bytes().removeprefix(_BYTE_ORDER_MARK)
    if not data.lstrip().startswith(b"["):
        # A file that is named .json may hold JSON lines all the same.
        if not _is_json(data) and _count_object_lines(data) > 1:
            yield from _documents_by_line(path)
        else:
            yield Document(str(path), data)
        return
    try:
        items = msgspec.json.decode(data, type=list[msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        yield Document(str(path), data)
        return
    for place, item in enumerate(items):
        yield Document(f"{path}/{place}", bytes(item))


def _is_json(data: bytes) -> bool:
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _count_object_lines(data: bytes) -> int:
    """Return the number of lines if each line looks like an object, else 0."""
    lines = [line for line in data.splitlines() if line.strip()]
    return len(lines) if all(line.lstrip()[:1] + line.rstrip()[-1:] == b"{}" for line in lines) else 0


def _is_reasoning(path: Path) -> bool:
    """Whether the first document of a file is a ReasoningTrace. Of JSON lines only the start is read."""
    if path.suffix.lower() not in SUFFIXES:
        return False
    first = next(_reasoning_documents(path), None)
    return (
        first is None or not isinstance(first.data, bytes) or not _is_json(first.data) or _is_reasoning_line(first.data)
    )


def _is_reasoning_line(data: bytes) -> bool:
    """Whether a text of JSON is one ReasoningTrace."""
    try:
        head = msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return False
    return isinstance(head, dict) and (bool(knowledgepulse.MARKS & head.keys()) or {"steps", "outcome"} <= head.keys())
