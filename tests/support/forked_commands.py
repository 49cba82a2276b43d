"""Commands and scripts, each in a process of its own that has the modules of fairtrial already.

A server imports the modules once, and forks for each command. A command then takes a tenth of the time of a new Python.
Tests of what Python itself does when a process starts or ends start a new Python instead.

The server gets each request over a socket: a length, JSON of that length, and the file descriptors of the new process.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NoReturn

import pytest

import fairtrial
from fairtrial.cli import command
from fairtrial.system.process_end import end_process

PROGRAMS = ("fairtrial", "pytest", "python")
_LIBRARIES = ("numpy", "pydantic_ai", "sqlalchemy.dialects.sqlite")
"""The slow libraries that fairtrial imports where it uses them."""
_AGENTS = ("commands",)
"""The modules of tests whose agents many commands run."""
_PATIENCE = 60.0
"""Seconds to wait for the end of a process."""
_LENGTH = 8


class ForkedProcess:
    """A running command, with those methods of `subprocess.Popen` that tests use."""

    def __init__(self, reports: int, stdout: IO[str] | None, stderr: IO[str] | None) -> None:
        self._reports = os.fdopen(reports, "rb", buffering=0)
        self.stdout = stdout
        self.stderr = stderr
        self.returncode: int | None = None
        self.pid = int(self._reports.readline())

    def poll(self) -> int | None:
        """Return the exit code, or None while the process runs."""
        return self._code_within(0)

    def wait(self, timeout: float = _PATIENCE) -> int:
        """Wait for the end, and return the exit code."""
        code = self._code_within(timeout)
        assert code is not None, "the process does not end"
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal to the process, unless it has ended."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End the process at once."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float = _PATIENCE) -> tuple[str, str]:
        """Read both streams to their ends, and wait for the end of the process."""
        errors: list[str] = []
        reader = threading.Thread(target=lambda: errors.append(_read_rest(self.stderr)))
        reader.start()
        output = _read_rest(self.stdout)
        reader.join()
        self.wait(timeout)
        return output, errors[0]

    def _code_within(self, seconds: float) -> int | None:
        if self.returncode is None and select.select([self._reports], [], [], seconds)[0]:
            self.returncode = int(self._reports.readline())
            self._reports.close()
        return self.returncode


def _read_rest(stream: IO[str] | None) -> str:
    if stream is None:
        return ""
    with stream:
        return stream.read()


class _Server:
    """A process that forks for each command."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair()
        path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": path},
            )
        atexit.register(self._end)

    def fork(self, request: Sequence[Any], *descriptors: int) -> None:
        """Let the server fork a process with standard streams, and a pipe for its id and its exit code."""
        content = json.dumps(request).encode()
        socket.send_fds(self._socket, [len(content).to_bytes(_LENGTH, "big")], descriptors)
        self._socket.sendall(content)

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()


_server = functools.cache(_Server)
"""The server of this process. It starts with the first command."""


def start_forked(
    arguments: Sequence[str],
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    stdout: int | IO[Any] = subprocess.PIPE,
    stderr: int | IO[Any] = subprocess.PIPE,
    encoding: str = "utf-8",
    errors: str = "strict",
) -> ForkedProcess:
    """Start `fairtrial`, `pytest` or `python` with arguments; ValueError for another program.

    Python runs the file that the first argument names, or the code behind `-c`, and warnings are errors. The streams
    are pipes, open files, `subprocess.DEVNULL` or, for the standard error, `subprocess.STDOUT`. The process leads a
    session of its own, so that a test can end its whole group.
    """
    if arguments[0] not in PROGRAMS:
        raise ValueError(arguments[0])
    ours: dict[int, IO[str]] = {}
    given: list[int] = []
    with open(os.devnull, "r+b") as nothing:  # noqa: PTH123  (a path of the system)
        given.append(os.dup(nothing.fileno()))
        for stream in (stdout, stderr):
            if stream == subprocess.PIPE:
                reading, writing = os.pipe()
                ours[len(given)] = os.fdopen(reading, encoding=encoding, errors=errors)
                given.append(writing)
            elif stream == subprocess.STDOUT:
                given.append(os.dup(given[1]))
            elif stream == subprocess.DEVNULL:
                given.append(os.dup(nothing.fileno()))
            else:
                given.append(os.dup(stream if isinstance(stream, int) else stream.fileno()))
    reports, writing = os.pipe()
    given.append(writing)
    request = [list(arguments), str(folder or Path.cwd()), dict(os.environ if environment is None else environment)]
    _server().fork(request, *given)
    for descriptor in given:
        os.close(descriptor)
    return ForkedProcess(reports, ours.get(1), ours.get(2))


def run_forked(
    arguments: Sequence[str], *, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run what `start_forked` starts, until it ends."""
    process = start_forked(arguments, folder=folder, environment=environment)
    outputs = process.communicate()
    return subprocess.CompletedProcess(list(arguments), process.wait(), *outputs)


def _serve(connection: socket.socket) -> None:
    """Answer requests until the other end closes the socket."""
    for module in pkgutil.walk_packages(fairtrial.__path__, "fairtrial."):
        if not module.name.endswith("__main__") and ".migrations" not in module.name:
            with suppress(ImportError):  # it needs a library that is not installed here
                importlib.import_module(module.name)
    for library in (*_LIBRARIES, *_AGENTS):
        importlib.import_module(library)
    gc.freeze()  # the collector of a forked process leaves alone what it shares
    while True:
        length, descriptors, _, _ = socket.recv_fds(connection, _LENGTH, 4)
        _forget_ended_processes()
        if not length:
            return
        request = json.loads(_received(connection, int.from_bytes(length, "big")))
        if not os.fork():
            connection.close()
            _watch(request, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _forget_ended_processes() -> None:
    with suppress(ChildProcessError):  # there is no process
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _received(connection: socket.socket, length: int) -> bytes:
    content = b""
    while len(content) < length:
        part = connection.recv(length - len(content))
        if not part:  # the process of the tests was killed
            raise SystemExit(1)
        content += part
    return content


def _watch(request: list[Any], descriptors: list[int]) -> NoReturn:
    """Fork the process of a command, and report its id and then its exit code."""
    *streams, reports = descriptors
    process = os.fork()
    if not process:
        os.close(reports)
        os.setsid()
        _leave(request, streams)
    for stream in streams:
        os.close(stream)
    os.write(reports, f"{process}\n".encode())
    _, status = os.waitpid(process, 0)
    with suppress(BrokenPipeError):
        os.write(reports, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _leave(request: list[Any], streams: list[int]) -> NoReturn:
    """Run a command, and end the process as Python does, but without a visit to every object in memory."""
    code: object = 1
    try:
        _become(request, streams)
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
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    end_process(code if isinstance(code, int) else 1)


def _become(request: list[Any], streams: list[int]) -> None:
    """Become the process of a command, and run it."""
    arguments, folder, environment = request
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    before = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    given = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = ["", *given, *(path for path in sys.path[1:] if path not in before)]
    _open_streams()
    sys.argv = arguments[1:] if arguments[0] == "python" else arguments
    if sys.argv[0] == "-c":
        warnings.simplefilter("error")
        code = sys.argv.pop(1)
        exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102  (code of our own pages)
    elif arguments[0] == "python":
        warnings.simplefilter("error")
        runpy.run_path(sys.argv[0], run_name="__main__")
    else:
        sys.path[0] = str(Path(sys.executable).parent)
        command() if arguments[0] == "fairtrial" else sys.exit(pytest.console_main())


def _open_streams() -> None:
    """Open the standard streams as Python does."""
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "").partition(":")
    sys.stdin = open(0, encoding=encoding or "utf-8")  # noqa: SIM115  (a descriptor)
    for number, name in ((1, "stdout"), (2, "stderr")):
        raw = io.FileIO(number, "w", closefd=False)
        stream = io.TextIOWrapper(
            io.BufferedWriter(raw),
            encoding=encoding or "utf-8",
            errors="backslashreplace" if name == "stderr" else errors or "strict",
            line_buffering=name == "stderr" or raw.isatty(),
            write_through="PYTHONUNBUFFERED" in os.environ,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
