"""SIGTERM as an interruption: turns are stored, and a run can be resumed, as after Ctrl-C."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager


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
