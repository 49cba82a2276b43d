"""A real LangGraph server, `langgraph dev`, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
_STARTED = "Application started up"
_SECONDS = 120


def _environment() -> dict[str, str]:
    """Neither analytics, nor a look for newer versions, nor traces: the server talks to nobody but us."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LANGSMITH", "LANGCHAIN"))}
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path]),
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LANGSMITH_TRACING": "false",
    }


@contextmanager
def langgraph_dev(folder: Path, module: Path, graphs: tuple[str, ...]) -> Iterator[str]:
    """Serve the graphs of a module, and give the URL of the server. Its files stand in the folder."""
    config = folder / "langgraph.json"
    config.write_text(json.dumps({"dependencies": ["."], "graphs": {name: f"{module}:{name}" for name in graphs}}))
    command = [str(Path(sys.executable).parent / "langgraph"), "dev", "--no-browser", "--no-reload"]
    command += ["--config", str(config), "--host", "127.0.0.1", "--n-jobs-per-worker", "2"]
    process, port = _start(command, folder)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _start(command: list[str], folder: Path) -> tuple[subprocess.Popen[str], int]:
    """Start the server on a free port. Another process may take the port in between, so that another is tried."""
    printed: list[str] = []
    for _ in range(3):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        process = subprocess.Popen(
            [*command, "--port", str(port)],
            cwd=folder,
            env=_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        printed = []
        if _has_started(process, port, printed):
            return process, port
        process.kill()
        process.wait()
    raise AssertionError("".join(printed))


def _has_started(process: subprocess.Popen[str], port: int, printed: list[str]) -> bool:
    """Whether the server takes connections. What it prints is read on and on, or it would wait for a reader."""
    assert process.stdout is not None
    output = process.stdout
    is_over = threading.Event()

    def read() -> None:
        with output:
            printed.extend(output)
        is_over.set()

    threading.Thread(target=read, daemon=True).start()
    for _ in range(_SECONDS * 10):
        # The server says that it has started before it listens.
        if any(_STARTED in line for line in [*printed]) and _listens(port):
            return not is_over.is_set()
        if is_over.wait(0.1):
            return False
    return False


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
