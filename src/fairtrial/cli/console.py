"""Where do reports appear? A terminal, or what stands in for it."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console

_PIPED_WIDTH = 120
_FILLING = re.compile(r" +(?=\n|$)")


class _Console(Console):
    """A console whose reader may leave: that is no reason to forget the verdict."""

    def on_broken_pipe(self) -> None:
        """Leave it to the caller."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


def console(*, stderr: bool = False) -> Console:
    """Return a console that is plain text, without spaces at the ends of lines, where nobody watches."""
    stream = sys.stderr if stderr else sys.stdout
    if stream.isatty():
        return _Console(file=stream, highlight=False, emoji=False, markup=False)
    plain: Any = _Trimmed(stream)
    return _Console(file=plain, width=_PIPED_WIDTH, highlight=False, emoji=False, markup=False)


class _Trimmed:
    """A stream that lines reach without the spaces that fill them up to the width."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.encoding = stream.encoding

    def write(self, text: str) -> int:
        """Write whole lines, trimmed."""
        self._stream.write(_FILLING.sub("", text))
        return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """Go on where nobody reads stdout any more: the verdict is what it is."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
