"""Print text to a terminal or a pipe, also to a reader who has left, and end at a signal as at Ctrl-C."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TextIO

import click

if TYPE_CHECKING:
    from rich.console import Console

_PIPED_WIDTH = 120
_WIDTH = re.compile("[1-9][0-9]{1,3}")
"""A number of columns that a table fits in: 10 to 9999."""
_TRAILING_SPACES = re.compile(r" +(?=\n|$)")


_SOURCES: dict[str, str] = {}
"""The sources of temporary files, by the paths of the files."""


def echo(text: str, *, err: bool = False, code: str = "") -> None:
    """Print a line of this package in the language of the terminal. Names and values in it stay as they are.

    The code of an error follows in brackets. It is the same in every language.
    """
    from fairtrial.text.translated_lines import say_sentence

    click.echo(say_sentence(name_sources(text)) + (f" [{code}]" if code else ""), err=err)


def add_source(path: str, source: str) -> None:
    """Name a source wherever the path of its temporary file would be printed."""
    _SOURCES[path] = source


def name_sources(value: Any) -> Any:
    """Return a text, or a JSON value with texts, in which sources stand for the paths of their temporary files."""
    if isinstance(value, str):
        for path, source in _SOURCES.items():
            value = value.replace(path, source)
        return value
    if isinstance(value, dict):
        return {key: name_sources(item) for key, item in value.items()}
    return type(value)(map(name_sources, value)) if isinstance(value, list | tuple) else value


@cache
def _console_class() -> type[Console]:
    """Make the class when the first console is made, because a help needs none."""
    from rich.console import Console

    class RaisingConsole(Console):
        """A console that raises if its reader has left, so that the caller can still exit with the verdict."""

        def on_broken_pipe(self) -> None:
            """Raise, and leave the reaction to the caller."""
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

        def print(self, *objects: Any, **options: Any) -> None:
            """Print the texts of this package in the language of the terminal."""
            from fairtrial import api

            super().print(*map(api.translate, objects), **options)

    return RaisingConsole


def console(*, stderr: bool = False) -> Console:
    """Return a console. In a pipe or a file it prints plain text without trailing spaces.

    This text is as wide as the variable COLUMNS says, otherwise 120 characters.
    """
    stream = sys.stderr if stderr else sys.stdout
    if stream.isatty():
        return _console_class()(file=stream, highlight=False, emoji=False, markup=False, force_jupyter=False)
    plain: Any = _Trimmed(stream)
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if _WIDTH.fullmatch(columns) else _PIPED_WIDTH
    return _console_class()(file=plain, width=width, highlight=False, emoji=False, markup=False, force_jupyter=False)


class _Trimmed:
    """A stream that removes the trailing spaces of lines. rich fills every line of a table up to the width."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.encoding = stream.encoding

    def write(self, text: str) -> int:
        """Write text without the trailing spaces of its lines."""
        self._stream.write(_TRAILING_SPACES.sub("", text))
        return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        self._stream.flush()


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """Continue if nobody reads stdout any more, for example after `| head`. The exit code still tells the verdict."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Terminated(KeyboardInterrupt):
    """The process got SIGTERM."""


@contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """Raise Terminated in the main thread at the first SIGTERM during the block. The second one ends the process.

    A handler of somebody else stays, and processes that the block forks end as before.
    """
    owner = os.getpid()

    def stop(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if os.getpid() != owner:
            os.kill(os.getpid(), signal.SIGTERM)
        raise Terminated

    is_set = False
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        try:
            signal.signal(signal.SIGTERM, stop)
            is_set = True
        except ValueError:  # only the main thread gets signals
            pass
    try:
        yield
    finally:
        if is_set and signal.getsignal(signal.SIGTERM) is stop:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
