"""Combine spans of several files into recordings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.errors import FormatError
from fairtrial.formats.reading import Diagnostics
from fairtrial.formats.spans.large_files import LargeFile

if TYPE_CHECKING:
    from fairtrial.formats.conversation.options import TraceOptions
    from fairtrial.formats.loaded import Loaded
    from fairtrial.records.attempt import Recording

_NO_AGENT = (
    "/: holds spans, but none of them is of an agent, a model or a tool in a dialect that is read here; "
    "give the file with the spans of the agent too"
)


def with_conversations(files: Sequence[Loaded], options: TraceOptions) -> list[Loaded]:
    """Return files of spans with recordings. All recordings are in the first file, because the files are one body.

    Raises FormatError if no span belongs to an agent.
    """
    if not files:
        return []
    from fairtrial.formats.conversation.span_conversations import collect_recordings
    from fairtrial.loading.joined_spans import SpanSpool

    first = files[0]
    # A warning may be about the spans of any file, so that it names their folder.
    reading = Diagnostics(first.path if len(files) == 1 else os.path.commonpath([loaded.path for loaded in files]))
    recordings: Sequence[Recording]
    if any(isinstance(loaded.spans, LargeFile) for loaded in files):
        spool = SpanSpool(options)
        for loaded in files:
            spool.add(loaded.spans)
        recordings = spool.read_recordings(reading)
    else:
        recordings = collect_recordings(chain.from_iterable(loaded.spans for loaded in files), reading, options)
    if not recordings:
        raise FormatError(first.path, [_NO_AGENT, *(warning.partition(": ")[2] for warning in reading.warnings)])
    joined = replace(first, recordings=recordings, spans=(), warnings=(*first.warnings, *reading.warnings))
    return [joined, *(replace(loaded, spans=()) for loaded in files[1:])]
