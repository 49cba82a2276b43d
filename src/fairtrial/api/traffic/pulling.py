"""Pull traces from a service into a file of recordings, page by page, and resumable."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_hex
from typing import NamedTuple

import msgspec

from fairtrial.errors import UsageError, spell
from fairtrial.formats import recordings
from fairtrial.formats.conversation.options import DEFAULTS, TraceOptions
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.span_redaction import SpanRedactor
from fairtrial.formats.spans.readers import find_reader
from fairtrial.formats.spans.span import LogRecord, Span, SpanItem
from fairtrial.loading.joined_spans import SpanSpool
from fairtrial.platforms.platform import Page, PullQuery
from fairtrial.platforms.services import Wait, trace_source
from fairtrial.records.decoding import json_decoder
from fairtrial.records.record import Record
from fairtrial.text.display import count as text_count
from fairtrial.text.display import visible_line
from fairtrial.text.redaction.redact import make_finders

_MOST_IDS = 5
"""So many ids of missing traces stand in a warning."""
_UNITS = {"m": 60, "h": 3600, "d": 86400}


class PullReport(NamedTuple):
    """The number of recordings in the file, and the warnings of their reader."""

    recordings: int
    warnings: tuple[str, ...]


class _Header(Record, frozen=True):
    """The first line of a part: the pull as the user gave it, and its query, whose times are absolute.

    `key` is the random key of pseudonyms. It goes with the part.
    """

    arguments: tuple[str, ...]
    query: PullQuery
    key: str


class _Line(Record, frozen=True):
    """Another line of a part: the spans of a page, the number of its documents, and the ids of missing traces."""

    cursor: str
    documents: int
    spans: tuple[Span, ...]
    logs: tuple[LogRecord, ...]
    missing: tuple[str, ...] = ()


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
    redact: str | None = None,
    on_page: Callable[[int], None] = lambda _: None,
    wait: Wait = time.sleep,
) -> PullReport:
    """Write the traces of a service as recordings, one a line. Nothing is changed in the service.

    Until all pages are there, they are in `OUTPUT.part`. The same pull goes on with that file. `on_page` receives the
    number of documents so far. If `redact` is `people`, secrets and personal data are removed from each page before it
    is written. Raises UsageError.
    """
    make_finders(people=redact == "people")  # raises if the library is missing
    part = output.with_name(f"{output.name}.part")
    arguments = (source, url, project, since, until, session, filter_text, redact or "")
    query = PullQuery(_parse_time(since, spell("since")), _parse_time(until, spell("until")), session, filter_text)
    service = trace_source(source, url=url, project=project, wait=wait)
    header, cursor, count = _resume_part(part, _Header(arguments, query, token_hex()))
    redactor = SpanRedactor(people=True, key=header.key, conversation=traces.conversation) if redact else None
    try:
        with closing(service), part.open("ab") as file:
            if not file.tell():
                file.write(msgspec.json.encode(header) + b"\n")
            for page in service.pages(header.query, cursor) if cursor is not None else ():
                file.write(msgspec.json.encode(_line(page, redactor)) + b"\n")
                file.flush()
                count += len(page.documents)
                on_page(count)
        sessions = {"", session, redactor.pseudonym(session) if redactor else ""} if session else set[str]()
        report = _write(part, output, sessions, traces)
    except OSError as error:
        raise UsageError(f"{error.filename or part}: {error.strerror or error}", code="unwritable-file") from None
    part.unlink()
    return report


def _resume_part(part: Path, header: _Header) -> tuple[_Header, str | None, int]:
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
                    earlier = json_decoder(_Header).decode(line)
                else:
                    page = json_decoder(_Line).decode(line)
                    cursor, count = page.cursor or None, count + page.documents
            except msgspec.DecodeError:
                raise UsageError(
                    f"{part}: is not the part of a pull; remove it, or choose another {spell('output')}"
                ) from None
            length += len(line)
            if number == 0 and earlier.arguments != header.arguments:
                raise UsageError(
                    f"{part}: belongs to a pull with other options ({' '.join(filter(None, earlier.arguments))}); "
                    "repeat them, or remove the file"
                )
        file.truncate(length)
    return (earlier if length else header), cursor, count


def _line(page: Page, redactor: SpanRedactor | None) -> _Line:
    """Return the spans of a page, without personal data if there is a redactor."""
    spans: list[Span] = []
    logs: list[LogRecord] = []
    for document in page.documents:
        reader = find_reader(document)
        for item in reader.items(document) if reader is not None else ():  # a trace may still have no observations
            clean = item if redactor is None else redactor.clean(item)
            if isinstance(clean, Span):
                spans.append(clean)
            else:
                logs.append(clean)
    return _Line(page.cursor, len(page.documents), tuple(spans), tuple(logs), page.missing)


def _write(part: Path, output: Path, sessions: AbstractSet[str], traces: TraceOptions) -> PullReport:
    """Write the recordings of some sessions, or of all sessions if `sessions` is empty."""
    reading = Diagnostics(str(output))
    count = 0
    spool = SpanSpool(traces)  # a service may hold more spans than memory
    spool.add(_items(part))
    with output.open("wb") as file:
        for recording in spool.read_recordings(reading):
            if not sessions or recording.trace.session_id in sessions:
                file.write(recordings.line(recording))
                count += 1
    missing = [trace_id for page in _pages(part) for trace_id in page.missing]
    if missing:
        examples = ", ".join(visible_line(trace_id) for trace_id in missing[:_MOST_IDS])
        reading.warnings.append(
            f"{output}: the service lists {text_count(len(missing), 'trace')} that it does not have any more, for "
            f"example after their deletion; they are left out: {examples}"
        )
    return PullReport(count, tuple(reading.warnings))


def _items(part: Path) -> Iterator[SpanItem]:
    for page in _pages(part):
        yield from page.spans
        yield from page.logs


def _pages(part: Path) -> Iterator[_Line]:
    with part.open("rb") as file:
        next(file)  # the header
        for line in file:
            yield json_decoder(_Line).decode(line)


def _parse_time(text: str, option: str) -> str:
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
