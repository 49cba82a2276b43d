"""Commands and scripts, each in a process of its own that has the modules of fairtrial already.

A server imports the modules once, and forks for each command. A command then takes a tenth of the time of a new Python.
The server reads requests as lines of JSON from standard input, and writes exit codes to standard output.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import fairtrial
from fairtrial.cli import command
from fairtrial.process_end import end_process

_LIBRARIES = ("numpy", "pydantic_ai", "sqlalchemy.dialects.sqlite")
"""The slow libraries that fairtrial imports where it uses them."""


class ForkedCommands:
    """A running server."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(
        self, arguments: Sequence[str], *, folder: Path, environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Run `fairtrial ARGUMENT...` or `python -c CODE` in a folder; ValueError for another program."""
        if arguments[0] not in ("fairtrial", "python"):
            raise ValueError(arguments[0])
        streams = [folder / f".{name}" for name in ("stdout", "stderr")]
        request = [list(arguments), str(folder), dict(environment), *map(str, streams)]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        code = int(self._process.stdout.readline())
        outputs = [stream.read_text(encoding="utf-8") for stream in streams]
        for stream in streams:
            stream.unlink()
        return subprocess.CompletedProcess(list(arguments), code, *outputs)


@contextmanager
def forked_commands() -> Iterator[ForkedCommands]:
    """Start a server, and end it with the block."""
    command = [sys.executable, "-m", __name__]
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    ) as process:
        yield ForkedCommands(process)
        assert process.stdin is not None
        process.stdin.close()


def _serve() -> None:
    """Answer requests until standard input ends."""
    for module in pkgutil.walk_packages(fairtrial.__path__, "fairtrial."):
        if not module.name.endswith("__main__") and ".migrations" not in module.name:
            with suppress(ImportError):  # it needs a library that is not installed here
                importlib.import_module(module.name)
    for library in _LIBRARIES:
        importlib.import_module(library)
    gc.freeze()  # the collector of a forked process leaves alone what it shares
    for line in sys.stdin:
        process = os.fork()
        if not process:
            _leave(*json.loads(line))
        _, status = os.waitpid(process, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _leave(*request: Any) -> NoReturn:
    """Run a command, and end the process as Python does, but without a visit to every object in memory."""
    code: object = 1
    try:
        _become(*request)
        code = 0
    except SystemExit as error:
        code = error.code or 0
    except BaseException:  # noqa: BLE001  (as Python does at the end of a script)
        traceback.print_exc()
    for thread in threading.enumerate():
        if not thread.daemon and thread is not threading.current_thread():
            thread.join()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    end_process(code if isinstance(code, int) else 1)


def _become(arguments: list[str], folder: str, environment: dict[str, str], stdout: str, stderr: str) -> None:
    """Become the process of a command, and run it."""
    for number, path in ((0, os.devnull), (1, stdout), (2, stderr)):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC), number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = arguments
    if arguments[0] == "python":
        sys.path[0] = ""
        warnings.simplefilter("error")
        exec(compile(arguments[2], "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102  (code of our own pages)
    else:
        command()


if __name__ == "__main__":
    _serve()
