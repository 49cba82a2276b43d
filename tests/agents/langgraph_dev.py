"""A real LangGraph server, `langgraph dev`, in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ports import accepts, free_port

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
    port = free_port()
    command = [str(Path(sys.executable).parent / "langgraph"), "dev", "--no-browser", "--no-reload"]
    options = ["--config", str(config), "--host", "127.0.0.1", "--port", str(port), "--n-jobs-per-worker", "2"]
    process = subprocess.Popen(
        [*command, *options],
        cwd=folder,
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        _wait_for_start(process)
        _wait_for_connections(process, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for_connections(process: subprocess.Popen[str], port: int) -> None:
    """Wait until the server accepts a connection: it prints that it has started before it listens."""
    while not accepts(port):
        assert process.poll() is None, f"the server ended with {process.returncode}"


def _wait_for_start(process: subprocess.Popen[str]) -> None:
    """Read what the server prints until it has started. It goes on printing, so the reader goes on reading."""
    assert process.stdout is not None
    output = process.stdout
    printed: list[str] = []
    told = threading.Event()

    def read() -> None:
        with output:
            for line in output:
                printed.append(line)
                if _STARTED in line:
                    told.set()
        told.set()

    threading.Thread(target=read, daemon=True).start()
    assert told.wait(_SECONDS), "".join(printed)
    assert any(_STARTED in line for line in printed), "".join(printed)
