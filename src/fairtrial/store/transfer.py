"""Export a store's runs to files, and import them into another store.

A file holds one JSON object per line: the run, then its cases, recordings, results, judge calls, labels, queues of
labels and the changes of its board, and last a line that counts them. The lines hold records with every field, not
rows, so a file does not depend on the schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from fairtrial.errors import FormatError, StoreError, UsageError, spell
from fairtrial.records.attempt import Recording
from fairtrial.records.ballot import Ballot
from fairtrial.records.board_event import BoardEvent
from fairtrial.records.decoding import json_decoder
from fairtrial.records.expectation import ExpectedCase
from fairtrial.records.label import Label, LabelQueue
from fairtrial.records.record import Record
from fairtrial.records.reply import Reply
from fairtrial.records.result import CaseResult
from fairtrial.records.run import RunInfo
from fairtrial.records.summary import Summary
from fairtrial.store.database_errors import show_url
from fairtrial.store.queue_rows import QueueItem

if TYPE_CHECKING:
    from fairtrial.store.store import Store

EXPORT_VERSION = 1
_JSON = msgspec.json.Encoder()


class ExportLine(Record, frozen=True, omit_defaults=True):
    """One line: a record under its kind, and what else is needed to store it."""

    fairtrial_export: int | None = None
    run: RunInfo | None = None
    summary: Summary | None = None
    case: ExpectedCase | None = None
    position: int | None = None
    recording: Recording | None = None
    result: CaseResult | None = None
    key: str | None = None
    reply: Reply | None = None
    ballot: Ballot | None = None
    label: Label | None = None
    queue: LabelQueue | None = None
    board: BoardEvent | None = None
    items: list[QueueItem] = []
    lines: int | None = None


def export_run(store: Store, run_id: str) -> Iterator[bytes]:
    """Yield a run's lines. Memory does not grow with the run.

    Raises StoreError if a row cannot be read. The last line is then missing, so that nobody imports the file.
    """
    count = 0
    for line in _lines(store, run_id):
        count += 1
        yield _encode_line(line)
    if skipped := store.count_skipped():
        store.forget_skipped()  # the error says how many they are
        raise StoreError(f"{skipped} of run {run_id} cannot be read; export it with the fairtrial that wrote it")
    yield _encode_line(ExportLine(lines=count))


def _lines(store: Store, run_id: str) -> Iterator[ExportLine]:
    yield ExportLine(fairtrial_export=EXPORT_VERSION, run=store.run(run_id), summary=store.summary(run_id))
    for case in store.cases(run_id):
        yield ExportLine(case=case)
    for position, recording in store.recordings(run_id):
        yield ExportLine(position=position, recording=recording)
    for result in store.results(run_id):
        yield ExportLine(result=result)
    for key, reply in store.replies(run_id).items():
        yield ExportLine(key=key, reply=reply)
    for key, ballot in store.ballots(run_id).items():
        yield ExportLine(key=key, ballot=ballot)
    for label in store.labels(run_id):
        yield ExportLine(label=label)
    queues = store.label_queues(run_id)
    for number, queue in queues.queues().items():
        yield ExportLine(queue=queue, items=queues.items(number))
    for event in store.board(run_id).events().values():
        yield ExportLine(board=event)


def _encode_line(line: ExportLine) -> bytes:
    """Return a line without the fields that it does not use. The records in it have all their fields."""
    return _JSON.encode(line) + b"\n"


def import_run(store: Store, lines: Iterable[bytes], origin: str) -> RunInfo:
    """Add the run in a file to a store, and return it.

    Raises FormatError if the file cannot be read, and UsageError if the store has a run with this id. Then the store is
    as it was before.
    """
    records = read_export(lines, origin)
    first = next(records)
    if first.run is None:
        raise FormatError(origin, ["line 1: must hold a run that `fairtrial runs export` wrote"])
    if any(run.id == first.run.id for run in store.runs()):
        raise UsageError(
            f"{origin}: run {first.run.id} is in {show_url(store.url)} already; remove it with "
            f"`fairtrial runs rm {first.run.id}`, or import into another {spell('store')}"
        )
    store.begin(replace(first.run, finished=None, verdict=None))  # an import that is killed leaves an unfinished run
    try:
        for line in records:
            _add(store, first.run.id, line)
    except BaseException:
        store.remove(first.run.id)
        raise
    if first.summary is None:
        store.commit()
        store.begin(first.run)
    else:
        store.finish(first.run, first.summary)
    return first.run


def read_export(lines: Iterable[bytes], origin: str) -> Iterator[ExportLine]:
    """Yield file lines up to the line that counts them."""
    decoder = json_decoder(ExportLine)
    number = 0
    for number, text in enumerate(lines, 1):
        try:
            _check_version(text if number == 1 else b"{}", origin)
            line = decoder.decode(text)
        except msgspec.DecodeError as error:
            raise FormatError(origin, [f"line {number}: is not a line of an exported run: {error}"]) from None
        if line.lines is not None:
            if line.lines != number - 1:
                raise FormatError(origin, [f"line {number}: counts {line.lines} lines, got {number - 1}"])
            return
        yield line
    raise FormatError(origin, [f"line {number}: the file ends before the line that counts its lines; export it again"])


def _check_version(text: bytes, origin: str) -> None:
    """Raise FormatError for the first line in a file that a newer fairtrial wrote, whatever else it holds."""
    version = json_decoder(dict).decode(text).get("fairtrial_export", EXPORT_VERSION)
    if version != EXPORT_VERSION:
        problem = f"line 1: has export version {version!r}, and this fairtrial reads version {EXPORT_VERSION}"
        raise FormatError(origin, [f"{problem}; install a newer fairtrial"])


def _add(store: Store, run_id: str, line: ExportLine) -> None:
    if line.case is not None:
        store.add_cases(run_id, [line.case])
    if line.recording is not None and line.position is not None:
        store.add_recording(run_id, line.position, line.recording, may_wait=True)
    if line.result is not None:
        store.add_result(run_id, line.result)
    if line.key is not None and line.reply is not None:
        store.replies(run_id)[line.key] = line.reply
    if line.key is not None and line.ballot is not None:
        store.ballots(run_id)[line.key] = line.ballot
    if line.label is not None:
        store.add_label(run_id, line.label)
    if line.queue is not None:
        store.label_queues(run_id).add(line.queue, line.items)
    if line.board is not None:
        board = store.board(run_id)
        board.add(len(board.events()) + 1, line.board)
