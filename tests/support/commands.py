"""The command line for tests: run in this process or in one of its own, on small files, with small agents.

The agents are named by their import path: `--agent commands:obedient`.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairtrial import Score, ToolCall, Trace
from fairtrial.cli import main
from fairtrial.records.case import EvalCase
from forked_commands import ForkedProcess, start_forked

if TYPE_CHECKING:
    import pytest  # the processes of agents do without it

STOPPED = Path("stop_waiting")
"""A file in the current folder that ends the waiting of `patient`."""

_IMPATIENT = "from fairtrial import cli; cli._PATIENCE = {}; cli.command()"

MATCH = {"criteria": {"response_match_score": 0.8}}


@dataclass(frozen=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, as JSON."""
        return json.loads(self.out)


def fairtrial(*arguments: str | Path) -> Done:
    """Run a command in this process, as the console script does."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    code: Any = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main([str(one) for one in arguments])
        except SystemExit as left:
            code = left.code
    for stream in (out, err):
        stream.flush()
    return Done(code, *(one.buffer.getvalue().decode() for one in (out, err)))


def start(
    *arguments: str | Path, env: Mapping[str, str] | None = None, patience: float | None = None, **more: Any
) -> ForkedProcess:
    """Start a command in a process of its own, both its streams piped.

    `patience` is the time in seconds that threads of an agent may keep the process after its work.
    """
    program = ["fairtrial"] if patience is None else ["python", "-c", _IMPATIENT.format(patience)]
    return start_forked([*program, *map(str, arguments)], environment=_environment(env), **more)


def start_python(*arguments: str | Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start a command in a new Python, for tests of the start or the end of a process."""
    return subprocess.Popen(
        [str(Path(sys.executable).parent / "fairtrial"), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=_environment(env),
    )


def _environment(more: Mapping[str, str] | None) -> dict[str, str]:
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, **(more or {})}


def finish(process: subprocess.Popen[str] | ForkedProcess) -> Done:
    """Wait for the end of a command."""
    out, err = process.communicate(timeout=60)
    assert process.returncode is not None
    return Done(process.returncode, out, err)


def enter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder; what commands add to the import path is forgotten afterwards."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])


def write(path: str | Path, document: Any) -> Path:
    """Write a JSON document, and the folders above it."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")
    return file


def case(name: str, reference: str = "ok", *calls: str, query: str = "") -> dict[str, Any]:
    """A case of one invocation; the user says the name of the case, or `query`."""
    return {
        "eval_id": name,
        "conversation": [
            {
                "user_content": {"role": "user", "parts": [{"text": query or name}]},
                "final_response": {"role": "model", "parts": [{"text": reference}]},
                "intermediate_data": {"tool_uses": [{"name": one, "args": {}} for one in calls]},
            }
        ],
    }


def eval_set(*cases: str | dict[str, Any], name: str = "trips") -> dict[str, Any]:
    """An eval set of cases, or of names of cases that expect "ok"."""
    return {"eval_set_id": name, "eval_cases": [case(one) if isinstance(one, str) else one for one in cases]}


def session(name: str, *said: str) -> dict[str, Any]:
    """A session file in which user and agent spoke in turns."""
    authors = ("user", "agent")
    events = [
        {"author": authors[i % 2], "content": {"role": authors[i % 2], "parts": [{"text": text}]}}
        for i, text in enumerate(said)
    ]
    return {"id": name, "appName": "app", "userId": "u", "events": events}


def obedient(conversation: Trace) -> str:
    """Do what the first word of the user's message says: fail, crash, exit, or else say ok."""
    word = conversation.invocations[-1].query.partition("_")[0]
    if word == "crash":
        raise RuntimeError("the agent fell over")
    if word == "exit":
        sys.exit(7)
    return "no" if word == "fail" else "ok"


def loud(conversation: Trace) -> str:
    """Print while working, as many an agent does."""
    print("debugging", conversation.session_id)  # noqa: T201
    return "ok"


def in_the_way(conversation: Trace) -> str:
    """Make a folder where a report is to be written."""
    del conversation
    Path("report.xml").mkdir(exist_ok=True)
    return "ok"


def hostile(conversation: Trace) -> Iterator[str | ToolCall]:
    """Say and call what would take over a terminal."""
    del conversation
    yield ToolCall("\x1b[2J", {"\u202e": "[red]\x07"})
    yield HOSTILE


HOSTILE = "\x1b[31mred\x1b[0m \x9b31m [bold red]x[/] \u202eabc\u2066 \x07\x08 \x1b]0;title\x07 \r over :smile:"


async def patient(conversation: Trace) -> AsyncIterator[str]:
    """Answer at once, but wait without end where the user says wait; say on stderr when that begins."""
    if conversation.invocations[-1].query.startswith("wait") and not STOPPED.exists():  # noqa: ASYNC240
        print("WAITING", file=sys.stderr, flush=True)  # noqa: T201
        await asyncio.Event().wait()
    yield "ok"


def hanging(conversation: Trace) -> str:
    """Never answer, as a function that is stuck; say on stderr when that begins."""
    del conversation
    print("WAITING", file=sys.stderr, flush=True)  # noqa: T201
    threading.Event().wait()
    return "never"


async def stuck(conversation: Trace) -> str:
    """Wait without end in a thread that keeps the process, as a tool of a framework does that hangs."""
    del conversation
    print("WAITING", file=sys.stderr, flush=True)  # noqa: T201
    await asyncio.to_thread(threading.Event().wait)
    return "never"


def polite(trace: Trace, case: EvalCase) -> Score:
    """A user's metric: whether every reply says please."""
    del case
    said = [one.reply for one in trace.invocations]
    return Score(float(all("please" in one for one in said)), "not polite: " + HOSTILE)


def broken_metric(trace: Trace, case: EvalCase) -> Score:
    """A user's metric that cannot score anything."""
    raise ValueError(f"cannot score {len(trace.invocations)} of {case.id}")
