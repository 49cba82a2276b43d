"""Show what a program of an agent writes to standard error, without lending it the standard error of the run."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TextIO

from fairtrial.text.display import shorten, visible_line

_MOST_SHOWN = 1_000_000
_LONGEST_LINE = 4_000
_END_SECONDS = 1.0


@asynccontextmanager
async def relay_errors(label: str) -> AsyncIterator[TextIO]:
    """Yield a file for the standard error of a program. Its lines are shown behind the label, up to 1,000,000 bytes.

    The file is a pipe of its own: a process that the program leaves behind does not keep the output of the run open.
    """
    read, write = os.pipe()
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read, "rb", buffering=0)
    )
    task = asyncio.create_task(_show(reader, label))
    try:
        with os.fdopen(write, "w", encoding="utf-8") as file:
            yield file
    finally:
        await asyncio.wait([task], timeout=_END_SECONDS)
        transport.close()
        task.cancel()
        await asyncio.wait([task])


async def _show(reader: asyncio.StreamReader, label: str) -> None:
    shown, line = 0, b""
    while chunk := await reader.read(65536):
        if shown > _MOST_SHOWN:
            continue
        shown += len(chunk)
        *lines, line = (line + chunk).split(b"\n")
        for full in lines:
            _print(label, full)
        if len(line) > _LONGEST_LINE or shown > _MOST_SHOWN:
            _print(label, line)
            line = b""
        if shown > _MOST_SHOWN:
            _print(label, b"writes more, which is not shown")
    if line:
        _print(label, line)


def _print(label: str, line: bytes) -> None:
    text = shorten(visible_line(line.decode(errors="replace").rstrip()), _LONGEST_LINE)
    with contextlib.suppress(OSError, ValueError):  # the reader of the run has gone
        sys.stderr.write(f"{label}: {text}\n")
        sys.stderr.flush()
