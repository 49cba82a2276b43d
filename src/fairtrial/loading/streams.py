"""Stream files with many recordings: one pass checks them, and the next one scores them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.errors import FormatError, UsageError
from fairtrial.formats import columnar_rows, packed
from fairtrial.formats.benchmarks import inspect_logs
from fairtrial.formats.chats.joined_requests import RequestJoiner, joined_message
from fairtrial.formats.conversation.options import DEFAULTS, Join, TraceOptions
from fairtrial.formats.datasets import case_tables, delimited_rows, message_rows
from fairtrial.formats.items import iter_recordings, iter_value_recordings
from fairtrial.formats.loaded import Loaded
from fairtrial.formats.reading import NO_COLUMNS, Diagnostics, strip_suffixes
from fairtrial.formats.spans.large_files import large_file
from fairtrial.formats.values import BLOCK, NotStreamableError
from fairtrial.loading.case_index import RECORDED, AttemptCounter, CaseIndex, IndexedCase
from fairtrial.loading.cases import check_globs, matches
from fairtrial.loading.found_files import FoundFile, can_read_again, check_name
from fairtrial.loading.sources import (
    Source,
    are_batches,
    as_source,
    check_useful,
    join_spans,
    read_each,
    read_file,
    read_part,
)
from fairtrial.planned_case import Pair, PlannedCase
from fairtrial.records.case import EvalCase
from fairtrial.records.keys import digest_bytes

if TYPE_CHECKING:
    from hashlib import _Hash

    from fairtrial.records.attempt import Recording
    from fairtrial.records.result import Criterion


@dataclass
class FilePass:
    """One pass over the recordings of a file. After it, `warnings` and `sha256` are those of the file.

    A file that is not a list of recordings is read as a whole. It is then in `loaded`. A broken recording is left
    out, and at the end FormatError names the problems of all recordings.
    """

    path: Path
    lenient: bool = False
    columns: Mapping[str, str] = field(default_factory=lambda: NO_COLUMNS)
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sha256: str = ""
    loaded: Loaded | None = None

    def __iter__(self) -> Iterator[Recording]:
        """Yield the recordings."""
        check_name(self.path)
        reading = Diagnostics(str(self.path), lenient=self.lenient, columns=self.columns)
        hashed = hashlib.sha256()
        count = 0
        try:
            for recording in self._recordings(hashed, reading):
                yield recording
                count += 1
            reading.finish()
            self.warnings, self.notes = tuple(reading.warnings), tuple(reading.notes)
            self.sha256 = hashed.hexdigest()
        except NotStreamableError:
            self.loaded, self.sha256 = read_part(self.path, lenient=self.lenient, columns=self.columns)
            self.warnings, self.notes = self.loaded.warnings, self.loaded.notes
            yield from islice(self.loaded.recordings, count, None)

    def _recordings(self, hashed: _Hash, reading: Diagnostics) -> Iterator[Recording]:
        if large_file(self.path) is not None:
            raise NotStreamableError  # spans become recordings together with those of the other files
        path, start = str(self.path), self._start()
        is_archive = packed.is_archive(start)
        if is_archive or columnar_rows.is_parquet(start) or columnar_rows.is_arrow(path):
            for _ in self._blocks(hashed):  # an archive is read from its end, so that it is hashed first
                pass
            if is_archive:
                return inspect_logs.iter_archive(self.path, reading)
            return iter_value_recordings(columnar_rows.iter_rows(self.path, path), reading)
        if delimited_rows.is_named_so(path) and not packed.packing_at(start):
            rows = delimited_rows.yield_rows(self._blocks(hashed), reading)
            first = next(rows, None)
            if first is not None:
                if not reading.columns and message_rows.is_row(first[1]):
                    raise NotStreamableError  # the rows of a conversation may stand anywhere
                rows = chain([first], rows)
            return case_tables.iter_table_recordings(rows, reading, strip_suffixes(path))
        return iter_recordings(self._blocks(hashed), reading)

    def _start(self) -> bytes:
        """Return the first bytes of the file, which show whether it is an archive."""
        if not can_read_again(self.path):
            return b""
        with suppress(OSError), self.path.open("rb") as file:  # a file that cannot be read has its problem later
            return file.read(4)
        return b""

    def _blocks(self, hashed: _Hash) -> Iterator[bytes]:
        if not can_read_again(self.path):
            raise NotStreamableError  # a pipe cannot be read a second time
        try:
            with self.path.open("rb") as file:
                while block := file.read(BLOCK):
                    hashed.update(block)
                    yield block
        except OSError as error:
            raise FormatError(str(self.path), [error.strerror or str(error)]) from None


def scan_sources(
    paths: Sequence[str | Path],
    *,
    lenient: bool = False,
    columns: Mapping[str, str] = NO_COLUMNS,
    traces: TraceOptions = DEFAULTS,
) -> tuple[list[Source], CaseIndex | None]:
    """Return the files at paths, checked but without their recordings, and the index of the cases of the recordings.

    If a file also holds an eval set, the recordings depend on it. The spans of all files make recordings together. Then
    all files are returned with their recordings, and the index is None. Raises FormatError or UsageError with the
    problems of all files.
    """
    index = CaseIndex()
    join = _Join(traces.join)

    def scan(file: FoundFile, number: int) -> Source:
        file_pass = FilePass(file.path, lenient, columns)
        for recording in file_pass:
            index.coverage.add(recording.trace.incomplete)
            for place, request in join.add(number, file.path, recording):
                index.add(place, request.case_id)
        loaded = file_pass.loaded or Loaded(
            str(file.path), "recordings", warnings=file_pass.warnings, notes=file_pass.notes
        )
        if file_pass.loaded is not None:
            check_useful(loaded, recorded=True)
        if loaded.eval_set is None and not loaded.branches and can_read_again(file.path):
            loaded = replace(loaded, recordings=())
        return as_source(file, loaded, file_pass.sha256)

    sources = read_each(paths, scan, recorded=True)
    if all(map(_can_stream, sources)) and not are_batches([source.loaded for source in sources]):
        for place, request in join.finish():
            index.add(place, request.case_id)
        return join.with_warning(sources), index
    whole = [_whole(source, lenient=lenient, columns=columns) if _can_stream(source) else source for source in sources]
    return join_spans(whole, traces), None


class _Join:
    """Requests that follow one another while files are streamed. With "history", they are joined across all files."""

    def __init__(self, join: Join) -> None:
        self._joiner = RequestJoiner[int]() if join == "history" else None

    def add(self, place: int, path: Path, recording: Recording) -> Iterable[tuple[int, Recording]]:
        """Add a recording of the file at a place, and return the recordings that are whole by now."""
        if self._joiner is None:
            return [(place, recording)]
        return self._joiner.add(place, strip_suffixes(str(path)), recording)

    def finish(self) -> Iterable[tuple[int, Recording]]:
        """Return the other recordings after the last file."""
        return () if self._joiner is None else self._joiner.finish()

    def with_warning(self, sources: list[Source]) -> list[Source]:
        """Return the files with a warning if requests were joined."""
        if self._joiner is None or not self._joiner.count:
            return sources
        warning = f"{sources[0].loaded.path}: {joined_message(self._joiner.count)}"
        return [sources[0].with_warning(warning), *sources[1:]]


def _can_stream(source: Source) -> bool:
    return source.loaded.eval_set is None and not source.loaded.recordings and not source.loaded.spans


def _whole(source: Source, *, lenient: bool, columns: Mapping[str, str]) -> Source:
    loaded = read_file(Path(source.loaded.path), lenient=lenient, columns=columns)
    return replace(source, loaded=replace(source.loaded, recordings=loaded.recordings))


@dataclass(frozen=True)
class StreamedCases:
    """The cases of streamed recordings. Nothing is expected of them, so they consist of their ids and criteria.

    `criteria` has an entry for each file.
    """

    index: CaseIndex
    criteria: Sequence[tuple[Criterion, ...]]
    digest_bytes: bytes = field(default_factory=lambda: digest_bytes(EvalCase("")))

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[PlannedCase]:
        """Yield the cases, in the order in which recordings first name them."""
        return map(self.plan, self.index)

    def plan(self, case: IndexedCase) -> PlannedCase:
        """Return a case with its criteria."""
        criteria = self.criteria[case.source]
        return PlannedCase(case.position, case.name, EvalCase(case.id), criteria, RECORDED, self.digest_bytes)


@dataclass(frozen=True)
class StreamedRecordings:
    """Recordings beside their cases, read from their files again for each iteration."""

    sources: Sequence[Source]
    cases: StreamedCases
    lenient: bool = False
    columns: Mapping[str, str] = field(default_factory=lambda: NO_COLUMNS)
    join: Join = "none"

    def __len__(self) -> int:
        return self.cases.index.attempts

    def __iter__(self) -> Iterator[Pair]:
        """Yield the recordings in file order. The recordings of a case are its attempts, from 1.

        Raises UsageError if a file has changed since it was checked.
        """
        counter = AttemptCounter()
        for number, recording in self._join_items():
            case = self.cases.index.find(number, recording.case_id)
            if case is not None:
                attempt = counter.count(case.position) if case.attempts > 1 else 1
                yield self.cases.plan(case), replace(recording, eval_set=RECORDED, attempt=attempt)

    def _join_items(self) -> Iterator[tuple[int, Recording]]:
        """Yield the recordings with the numbers of their files."""
        join = _Join(self.join)
        for number, source in enumerate(self.sources):
            path = Path(source.loaded.path)
            file_pass = FilePass(path, self.lenient, self.columns)
            for recording in file_pass:
                yield from join.add(number, path, recording)
            if file_pass.sha256 != source.sha256:
                raise UsageError(
                    f"{source.loaded.path}: the file changed while its recordings were scored", code="unreadable-file"
                )
        yield from join.finish()


def select_streamed(index: CaseIndex, sources: Sequence[Source], only: Sequence[str]) -> None:
    """Leave out the cases whose id or name matches no glob of `only`, or whose id matches no glob of its own file.

    Raises UsageError for a glob that matches nothing.
    """
    _check_streamed_globs(only, index, None)
    for number, source in enumerate(sources):
        _check_streamed_globs(source.only, index, number)
    if only or any(source.only for source in sources):
        index.select(
            lambda case: matches((case.id, case.name), only) and matches((case.id,), sources[case.source].only)
        )


def _check_streamed_globs(globs: Sequence[str], index: CaseIndex, source: int | None) -> None:
    for glob in globs:
        cases = (case for case in index if source in (None, case.source))
        if not any(matches((case.id, case.name) if source is None else (case.id,), [glob]) for case in cases):
            # Only the message needs all ids at once, for the nearest of them.
            ids = [case for case in index if source in (None, case.source)]
            check_globs([glob], [(case.id, case.name if source is None else case.id) for case in ids])
