"""Load and save eval sets and recordings from Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from fairtrial.api.arguments import Paths, read_paths
from fairtrial.errors import FormatError, UsageError
from fairtrial.formats.adk.write import dumps
from fairtrial.formats.conversation.options import DEFAULTS
from fairtrial.formats.datasets.column_roles import check_columns
from fairtrial.formats.reading import NO_COLUMNS
from fairtrial.loading import (
    as_recording,
    check_useful,
    collect_recordings,
    find_files,
    read_file,
    sources,
    with_conversations,
)
from fairtrial.loading.streams import FilePass

if TYPE_CHECKING:
    from fairtrial.formats.loaded import Loaded
    from fairtrial.records.attempt import Recording
    from fairtrial.records.case import EvalSet

_RECORDINGS = "paths must be a path or several paths"


def load_eval_set(path: str | Path, *, lenient: bool = False, columns: Mapping[str, str] = NO_COLUMNS) -> EvalSet:
    """Return the eval set in a file of any format that fairtrial reads. Raises FormatError with all problems.

    `columns` names the columns of a table, for example `{"input": "question"}`.
    """
    check_columns(columns)
    loaded = read_file(Path(path), lenient=lenient, columns=columns, as_reference=True)
    if loaded.eval_set is None:
        raise FormatError(str(path), [f"holds {loaded.kind}, but an eval set is needed"])
    return loaded.eval_set


def save_eval_set(eval_set: EvalSet, path: str | Path) -> None:
    """Write an eval set in ADK's current schema, whatever it was read from. Unknown keys are written back."""
    try:
        data = dumps(eval_set)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the eval set {eval_set.id!r} must hold JSON only: {error}") from error
    try:
        Path(path).write_bytes(data)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}", code="unwritable-file") from None


def load_recordings(paths: Paths, *, lenient: bool = False, columns: Mapping[str, str] = NO_COLUMNS) -> list[Recording]:
    """Return the recordings of files, in order. Raises UsageError with the problems of all files."""
    check_columns(columns)
    files = sources(read_paths(paths, _RECORDINGS), lenient=lenient, columns=columns, recorded=True)
    return list(map(as_recording, collect_recordings(files)))


def iter_recordings(
    paths: Paths, *, lenient: bool = False, columns: Mapping[str, str] = NO_COLUMNS
) -> Iterator[Recording]:
    """Yield the recordings of files one after the other. Lists of recordings, such as JSON lines, are never held.

    Raises UsageError at the end of a file with broken recordings. The error names the problems of the file.
    """
    check_columns(columns)
    span_files: list[Loaded] = []
    for file in find_files(read_paths(paths, _RECORDINGS), recorded=True):
        file_pass = FilePass(file.path, lenient, columns)
        yield from file_pass
        loaded = file_pass.loaded
        if loaded is not None and loaded.spans:
            span_files.append(loaded)
        elif loaded is not None and not loaded.recordings:
            check_useful(loaded, recorded=True)
            # An eval set without recordings was itself recorded: its conversations happened.
            yield from map(as_recording, loaded.eval_set.cases if loaded.eval_set else ())
    for joined in with_conversations(span_files, DEFAULTS):
        yield from joined.recordings
