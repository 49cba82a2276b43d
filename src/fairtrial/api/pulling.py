"""How do the traces of a service become a file of recordings? Page by page, so that an interrupted pull goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec

from fairtrial.errors import UsageError
from fairtrial.formats import recordings
from fairtrial.formats.conversation import DEFAULTS, TraceOptions, recordings_of
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.real_tools import with_real_tools
from fairtrial.formats.spans.readers import reader_of
from fairtrial.formats.spans.span import SpanItem
from fairtrial.platforms.platform import PullQuery
from fairtrial.platforms.services import Wait, trace_source
from fairtrial.records.record import Json, Record

_UNITS = {"m": 60, "h": 3600, "d": 86400}


class PullReport(NamedTuple):
    """The number of recordings in the file, and the warnings of their reader."""

    recordings: int
    warnings: tuple[str, ...]


class _Header(Record, frozen=True):
    """The first line of a part: the pull as the user gave it, and its query, whose times are absolute."""

    arguments: tuple[str, ...]
    query: PullQuery


class _Line(Record, frozen=True):
    """Another line of a part: a page."""

    cursor: str
    documents: list[Json]


def pull(
    source: str,
    output: Path,
    *,
    since: str = "",
    until: str = "",
    session: str = "",
    filter_text: str = "",
    url: str = "",
    project: str = "",
    traces: TraceOptions = DEFAULTS,
    on_page: Callable[[int], None] = lambda _: None,
    wait: Wait = time.sleep,
) -> PullReport:
    """Write the traces of a service as recordings, one a line. Nothing is changed in the service.

    Until all pages are there, they are in `OUTPUT.part`. The same pull goes on with that file. `on_page` receives the
    number of documents so far. Raises UsageError.
    """
    part = output.with_name(f"{output.name}.part")
    arguments = (source, url, project, since, until, session, filter_text)
    query = PullQuery(_time_of(since, "--since"), _time_of(until, "--until"), session, filter_text)
    service = trace_source(source, url=url, project=project, wait=wait)
    header, cursor, count = _resumed(part, _Header(arguments, query))
    try:
        with part.open("ab") as file:
            if not file.tell():
                file.write(msgspec.json.encode(header) + b"\n")
            for page in service.pages(header.query, cursor) if cursor is not None else ():
                file.write(msgspec.json.encode(_Line(page.cursor, page.documents)) + b"\n")
                file.flush()
                count += len(page.documents)
                on_page(count)
        report = _write(part, output, session, traces)
    except OSError as error:
        raise UsageError(f"{error.filename or part}: {error.strerror or error}") from None
    part.unlink()
    return report


def _resumed(part: Path, header: _Header) -> tuple[_Header, str | None, int]:
    """Return the header of a part that exists, the place of its next page, and the number of its documents.

    The place is None if all pages are there. A line that was not written to its end is cut off.
    """
    if not part.exists():
        return header, "", 0
    cursor: str | None = ""
    count = length = 0
    with part.open("r+b") as file:
        for number, line in enumerate(file):
            if not line.endswith(b"\n"):
                break
            try:
                if number == 0:
                    earlier = msgspec.json.decode(line, type=_Header)
                else:
                    page = msgspec.json.decode(line, type=_Line)
                    cursor, count = page.cursor or None, count + len(page.documents)
            except msgspec.DecodeError:
                raise UsageError(f"{part}: is not the part of a pull; remove it, or choose another --output") from None
            length += len(line)
            if number == 0 and earlier.arguments != header.arguments:
                raise UsageError(
                    f"{part}: belongs to a pull with other options ({' '.join(filter(None, earlier.arguments))}); "
                    "repeat them, or remove the file"
                )
        file.truncate(length)
    return (earlier if length else header), cursor, count


def _write(part: Path, output: Path, session: str, traces: TraceOptions) -> PullReport:
    reading = Diagnostics(str(output))
    count = 0
    with output.open("wb") as file:
        for recording in recordings_of(_items(part), reading, traces):
            if not session or recording.trace.session_id in ("", session):
                file.write(recordings.line(with_real_tools(recording, traces.tool_names)))
                count += 1
    return PullReport(count, tuple(reading.warnings))


def _items(part: Path) -> Iterator[SpanItem]:
    with part.open("rb") as file:
        next(file)  # the header
        for line in file:
            for document in msgspec.json.decode(line, type=_Line).documents:
                reader = reader_of(document)
                if reader is not None:  # for example, a trace whose observations are not there yet
                    yield from reader.items(document)


def _time_of(text: str, option: str) -> str:
    """Return a time such as 24h, 7d or 2026-01-02T15:04 in ISO 8601 and UTC. Raises UsageError."""
    if not text:
        return ""
    try:
        if text[-1] in _UNITS:
            moment = datetime.now(UTC) - timedelta(seconds=float(text[:-1]) * _UNITS[text[-1]])
        else:
            moment = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(f"{option}: must be a time such as 24h, 7d or 2026-01-02T15:04, got {text!r}") from None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
