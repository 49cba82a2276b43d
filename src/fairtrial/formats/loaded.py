"""The content of a file, and the kinds of files that are joined or refused by their kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairtrial.config.eval_config import EvalConfig
from fairtrial.formats.spans.large_files import LargeFile
from fairtrial.formats.spans.span import SpanItem
from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalSet
from fairtrial.records.record import Record

TABLE = "table"
BATCH = "batch of requests"
"""The kind of files with requests or answers of a batch."""
NO_ANSWER = "the batch holds no answer to this request; give its input and its output together"
NO_REQUEST = "holds an answer of a batch without its request; give its input and its output together"


class Loaded(Record, frozen=True):
    """The content of a file: an eval set (the expectation), recordings, both, or a configuration.

    A file of `spans` has no recordings of its own: the spans of several files are one body of data, and a file of log
    records completes the spans of another. `formats.conversation` makes the recordings. The recordings in the spans of
    large files stay on disk.
    `branches` are recordings of the abandoned branches of a session. `notes` say how a table was read. `columns` is the
    map of a table or of mapped JSON: those that the user named, and those that were guessed.
    """

    path: str
    kind: str
    eval_set: EvalSet | None = None
    recordings: Sequence[Recording] = ()
    config: EvalConfig | None = None
    warnings: tuple[str, ...] = ()
    spans: tuple[SpanItem, ...] | LargeFile = ()
    branches: tuple[Recording, ...] = ()
    notes: tuple[str, ...] = ()
    columns: Mapping[str, str] = {}  # each record gets its own
