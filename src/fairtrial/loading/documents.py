"""Stream reasoning documents from the files that the user named. They are never all held in memory."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from fairtrial.errors import CaseError, FormatError, UsageError
from fairtrial.formats import knowledgepulse
from fairtrial.formats.chats.dialects import is_message
from fairtrial.formats.conversation.options import DEFAULTS
from fairtrial.formats.items import REASONING, ItemFormat, detect_item_format, is_table_row
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.recognise import read
from fairtrial.formats.recordings import REASONING_MARKS
from fairtrial.loading.damaged_files import read_undamaged
from fairtrial.loading.data_files import find_data_files, is_url, locate
from fairtrial.loading.packed_streams import UNREADABLE, detect_packing
from fairtrial.loading.shard_reading import Item, Refused, decode_item, read_item, read_shard
from fairtrial.loading.shards import cut_into_shards
from fairtrial.loading.span_files import with_conversations
from fairtrial.loading.streams import FilePass
from fairtrial.loading.text_files import open_unpacked
from fairtrial.records.decoding import json_decoder
from fairtrial.records.reasoning import Problem, RefusedTrace
from fairtrial.text.display import describe_error
from fairtrial.valuation.chunk import Document
from fairtrial.valuation.from_trace import from_trace

if TYPE_CHECKING:
    from fairtrial.formats.loaded import Loaded
    from fairtrial.records.attempt import Recording

_SUFFIXES = (".json", ".jsonl", ".ndjson")
_LINES = (".jsonl", ".ndjson")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MOST_DAMAGED = 20
"""The number of lines at the start of a file of which at least one must be JSON."""


class TraceDefaults(NamedTuple):
    """The agent's confidence and its success, for traces that do not contain them.

    `verdict` is the success that a stored run found. It takes precedence over `success`.
    """

    confidence: float | None = None
    success: bool | None = None
    verdict: bool | None = None


def document_files(paths: Sequence[str]) -> list[str]:
    """Return the files at paths, folders, globs and URLs of object stores, in the order of the paths and then by name.

    `-` is standard input. Raises UsageError for a path without files, and for a file that two paths name.
    """
    for name in paths:
        if (
            name != "-"
            and not is_url(name)
            and Path(name).exists()
            and not (Path(name).is_dir() or Path(name).is_file())
        ):
            raise UsageError(
                f"{name}: is read more than once, so it cannot be a pipe; give it as -", code="input-read-twice"
            )
    files: dict[str, str] = {}
    for name in paths:
        for path in [name] if name == "-" else [file.path for file in find_data_files([name])]:
            place = path if name == "-" else locate(path)
            if place in files:
                raise UsageError(
                    f"{path}: is named twice, so that its traces would count twice", code="input-read-twice"
                )
            files[place] = path
    return list(files.values())


def iter_documents(paths: Iterable[str | Path], defaults: TraceDefaults) -> Iterator[Document]:
    """Yield the documents of files in order.

    A JSON file holds one object or a list of objects. A file of JSON lines holds one object a line. A file in another
    format gives the reasoning of each of its recordings. Files may be packed with gzip or Zstandard. An unreadable file
    is one refused document, because a million readable files may be beside it. An unreadable line is one, too.
    """
    for path in map(str, paths):
        if path == "-":
            yield from _documents_of_stdin(defaults)
            continue
        try:
            yield from _documents_of_file(path, defaults)
        except UNREADABLE as error:
            yield _unreadable(path, [f"cannot be read: {describe_error(error)}"])


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
                # A user who says that all traces succeeded does not mean those that crashed.
                success=defaults.success if recording.failure is None else None,
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
            yield from _undamaged_documents(data, "-", error, defaults)
        return
    if loaded.kind == REASONING.kind:
        items = json_decoder(list[msgspec.Raw]).decode(data) if data.lstrip()[:1] == b"[" else [data]
        yield from (Document(f"-/{place}", bytes(item)) for place, item in enumerate(items))
    else:
        yield from _documents_of_loaded(loaded, defaults, "-")


def _documents_of_file(path: str, defaults: TraceDefaults) -> Iterator[Document]:
    if _is_reasoning(path):
        yield from _reasoning_documents(path)
        return
    array = _items_of_array(path)
    if array is not None:
        yield from _documents_of_array(array, path, defaults)
        return
    item_format = _format_of_lines(path)
    if item_format is not None:
        yield from _documents_of_items(path, item_format, defaults)
        return
    (first_shard, *_) = shards = list(cut_into_shards(find_data_files([path])))
    if first_shard.kind == "rows" or is_url(path) or first_shard.packing == "zstd":
        items = chain.from_iterable(map(read_shard, shards))
        yield from chain.from_iterable(_documents_of_item(item, path, path, defaults) for item in items)
    else:
        yield from _recorded_documents(Path(path), defaults)


def _format_of_lines(path: str) -> ItemFormat | None:
    """Return the format of a file of JSON lines in which each line is a recording of its own, else None.

    One line alone is a file in the format of the line.
    """
    suffix = _suffix(path)
    if suffix not in _SUFFIXES:
        return None
    with open_unpacked(path) as (stream, _):
        first, second = islice(chain((line.strip() for line in stream if line.strip()), [b"", b""]), 2)
    if not second or (suffix not in _LINES and not second.startswith(b"{")):
        return None
    value = decode_item(first.removeprefix(_BYTE_ORDER_MARK))
    if isinstance(value, Refused) or is_table_row(value, Diagnostics(path)):
        return None
    return detect_item_format(value)


def _items_of_array(path: str) -> list[Any] | None:
    """Return the items of a JSON array in which each item is a recording of its own, else None.

    The first item in a known format decides, because an item before it may be damaged.
    """
    if _suffix(path) != ".json":
        return None
    with open_unpacked(path) as (stream, _):
        if not stream.read(len(_BYTE_ORDER_MARK) + 64).removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(b"["):
            return None
    with open_unpacked(path) as (stream, _):
        items = decode_item(stream.read().removeprefix(_BYTE_ORDER_MARK))
    if not isinstance(items, list) or all(map(is_message, items)):
        return None
    return items if next(filter(None, map(_format_of_item, items)), None) else None


def _format_of_item(item: Any) -> ItemFormat | None:
    return None if is_table_row(item, Diagnostics("")) else detect_item_format(item)


def _documents_of_array(items: list[Any], path: str, defaults: TraceDefaults) -> Iterator[Document]:
    """Yield the reasoning of the items of an array. A damaged item is refused alone."""
    item_format = next(filter(None, map(_format_of_item, items)))
    reading = Diagnostics(path)
    for place, value in enumerate(items):
        content = read_item(value, place, item_format.kind, reading)
        yield from _documents_of_item(Item(place, content), path, f"{path}/{place}", defaults)


def _documents_of_items(path: str, item_format: ItemFormat, defaults: TraceDefaults) -> Iterator[Document]:
    """Yield the reasoning of the recordings in JSON lines. A broken line is refused alone."""
    reading = Diagnostics(path)
    place = 0
    with open_unpacked(path) as (stream, _):
        for number, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            value = decode_item(line.removeprefix(_BYTE_ORDER_MARK))
            content = value if isinstance(value, Refused) else read_item(value, place, item_format.kind, reading)
            yield from _documents_of_item(Item(place, content), path, f"{path}:{number}", defaults)
            place += 1


def _documents_of_item(item: Item, path: str, origin: str, defaults: TraceDefaults) -> Iterator[Document]:
    """Yield the reasoning of an item, or why it has none. `origin` is the place of an item that cannot be read."""
    if isinstance(item.content, Refused):
        name = f"kp:trace:{item.content.id}" if item.content.id else None
        problem = Problem(item.content.pointer, item.content.reason)
        yield Document(origin, RefusedTrace(id=name, problems=(problem,)))
    else:
        yield from documents_of_recordings([item.content], defaults, path)


def _reasoning_documents(path: str) -> Iterator[Document]:
    return _documents_by_line(path) if _suffix(path) in _LINES else _documents_of_json(path)


def _suffix(path: str) -> str:
    """Return the suffix of a file without the suffix of its packing, for example `.jsonl` for `a.jsonl.gz`."""
    name = PurePath(path.partition("?")[0] if is_url(path) else path)
    return PurePath(name.stem if detect_packing(name) else name).suffix.lower()


def _recorded_documents(path: Path, defaults: TraceDefaults) -> Iterator[Document]:
    """Yield the reasoning of the recordings in a file. The first pass checks the file, the second pass reads it.

    If the file is damaged, each damaged part is refused alone.
    """
    first_pass = FilePass(path)
    try:
        for _ in first_pass:
            pass
    except FormatError as error:
        with open_unpacked(str(path)) as (stream, _):
            yield from _undamaged_documents(stream.read(), str(path), error, defaults)
        return
    if first_pass.loaded is None:
        yield from documents_of_recordings(FilePass(path), defaults, str(path))
    else:
        yield from _documents_of_loaded(first_pass.loaded, defaults, str(path))


def _undamaged_documents(data: bytes, path: str, error: FormatError, defaults: TraceDefaults) -> Iterator[Document]:
    """Yield the damaged parts of a file and the reasoning of the others. `error` is about the whole file."""
    undamaged = read_undamaged(data, path)
    if undamaged is None:
        yield _unreadable(path, error.problems)
        return
    for part in undamaged.damaged:
        yield Document(part.place, RefusedTrace(id=None, problems=(Problem(part.pointer, part.reason),)))
    yield from _documents_of_loaded(undamaged.loaded, defaults, path)


def _documents_of_loaded(loaded: Loaded, defaults: TraceDefaults, origin: str) -> Iterator[Document]:
    """Yield the reasoning of the recordings in a file that was read as a whole. Spans are joined to recordings."""
    recordings = with_conversations([loaded], DEFAULTS)[0].recordings if loaded.spans else loaded.recordings
    if recordings:
        yield from documents_of_recordings(recordings, defaults, origin)
    else:
        yield _unreadable(origin, [f"holds {loaded.kind} without recorded traces, so there is nothing to value"])


def _unreadable(origin: str, problems: Iterable[str]) -> Document:
    return Document(origin, RefusedTrace(id=None, problems=tuple(Problem("", problem) for problem in problems)))


def _documents_by_line(path: str) -> Iterator[Document]:
    with open_unpacked(path) as (stream, _):
        yield from _documents_of_lines(path, stream)


def _documents_of_lines(path: str, lines: Iterable[bytes]) -> Iterator[Document]:
    for number, line in enumerate(lines, start=1):
        data = line.strip()
        if data and data != _BYTE_ORDER_MARK:
            yield Document(f"{path}:{number}", data)


def _documents_of_json(path: str) -> Iterator[Document]:
    with open_unpacked(path) as (stream, _):
        data = stream.read().removeprefix(_BYTE_ORDER_MARK)
    if not data.lstrip().startswith(b"["):
        # A file that is named .json may hold JSON lines all the same.
        if not _is_json(data) and _count_object_lines(data) > 1:
            yield from _documents_by_line(path)
        else:
            yield Document(path, data)
        return
    try:
        items = json_decoder(list[msgspec.Raw]).decode(data)
    except (msgspec.DecodeError, RecursionError):
        yield Document(path, data)
        return
    for place, item in enumerate(items):
        yield Document(f"{path}/{place}", bytes(item))


def _is_json(data: bytes) -> bool:
    """Whether a text can be decoded. JSON that is nested too deeply cannot."""
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, ValueError):
        return False
    return True


def _count_object_lines(data: bytes) -> int:
    """Return the number of lines if each line looks like an object, else 0."""
    lines = [line for line in data.splitlines() if line.strip()]
    return len(lines) if all(line.lstrip()[:1] + line.rstrip()[-1:] == b"{}" for line in lines) else 0


def _is_reasoning(path: str) -> bool:
    """Whether the first document of a file is a ReasoningTrace. Of JSON lines only the start is read.

    The first document that is JSON decides, because a document before it may be damaged.
    """
    if _suffix(path) not in _SUFFIXES:
        return False
    starts = (document.data for document in islice(_reasoning_documents(path), _MOST_DAMAGED))
    first = next((data for data in starts if isinstance(data, bytes) and _is_json(data)), None)
    return first is None or _is_reasoning_line(first)


def _is_reasoning_line(data: bytes) -> bool:
    """Whether a text of JSON is one ReasoningTrace."""
    try:
        head = msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return False
    return isinstance(head, dict) and (bool(REASONING_MARKS & head.keys()) or {"steps", "outcome"} <= head.keys())
