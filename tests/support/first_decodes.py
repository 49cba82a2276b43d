"""A process that decodes records for the first time in several threads at once.

    python tests/first_decodes.py evaluate              two threads do the same work
    python tests/first_decodes.py view --no-open        a command, whose threads are those of its server

The first thread that meets a record waits in the middle of it, until another one is done or has waited, too.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import fairtrial
from fairtrial import EvalCase, EvalSet, Invocation, Message, Trace
from fairtrial.cli import main

_TURN = Invocation(Message("q"), (), Message("a"))
_CONFIG = {"response_match_score": 0.5}
_PAUSE = 0.5
"""So long the first thread waits. With a lock the others wait for it, too."""

in_the_middle, done = threading.Event(), threading.Event()


def pause(frame: Any, event: str, _: Any) -> None:
    """Wait if msgspec, in this thread, looks at the fields of a record inside another record for the first time."""
    is_look = event == "call" and frame.f_code.co_name == "get_class_annotations"
    if is_look and frame.f_locals["obj"] is Invocation and not in_the_middle.is_set():
        in_the_middle.set()
        done.wait(_PAUSE)


def evaluate(_: str) -> None:
    """Evaluate an eval set that was made in Python."""
    run = fairtrial.evaluate(EvalSet("set", (EvalCase("case", (_TURN,)),)), lambda _: "a", _CONFIG)
    assert run.verdict == "passed"


def score(_: str) -> None:
    """Score a trace that was made in Python."""
    fairtrial.score([Trace((_TURN,))], None, _CONFIG)


def load(path: str) -> None:
    """Read recordings."""
    assert fairtrial.load_recordings([path])


def open_run(store: str) -> None:
    """Read the first result and the first recording of a stored run."""
    run = fairtrial.open_run("20261120", store=store)
    assert run.cases[0]
    assert list(run.recordings)


WORK: dict[str, Callable[[str], None]] = {"evaluate": evaluate, "score": score, "load": load, "open_run": open_run}


def _first(work: Callable[[str], None], argument: str) -> None:
    threading.setprofile(pause)
    first = threading.Thread(target=work, args=(argument,))
    first.start()
    threading.setprofile(None)
    while first.is_alive() and not in_the_middle.wait(0.1):
        pass
    work(argument)
    done.set()
    first.join()


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    if name in WORK:
        _first(WORK[name], "".join(arguments))
    else:
        threading.setprofile(pause)
        main([name, *arguments])
