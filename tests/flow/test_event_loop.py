"""Synchronous functions run on one event loop, on which clients of users live from run to run."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import httpx2
import pytest

import fairtrial
from fairtrial import EvalCase, EvalSet, Invocation, Message, Trace
from fairtrial.system.event_loop import blocking
from loopback import Loopback, Request

ONE_CASE = EvalSet("set", (EvalCase("case", (Invocation(Message("q"), (), Message("fine")),)),))
CONFIG = {"response_match_score": 0.5}


@contextmanager
def connected() -> Iterator[Agent]:
    """Yield an agent with a client that is open."""
    with Loopback(say) as server:
        agent = Agent(server.url)
        yield agent
        blocking(agent.client.aclose())


class Agent:
    """An agent whose client keeps its connections, as the clients of all SDKs do."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.client = httpx2.AsyncClient(timeout=20, limits=httpx2.Limits(keepalive_expiry=600))
        self.loops: set[Any] = set()

    async def __call__(self, trace: Trace) -> str:
        """Ask the server."""
        self.loops.add(asyncio.get_running_loop())
        message = {"role": "user", "content": trace.invocations[-1].query}
        body = {"model": "m", "messages": [message]}
        response = await self.client.post(f"{self._url}/v1/chat/completions", json=body)
        text: str = response.json()["choices"][0]["message"]["content"]
        return text

    def passes(self, *_: object) -> bool:
        """Evaluate the agent, and return whether it passes."""
        return fairtrial.evaluate(ONE_CASE, self, CONFIG).verdict == "passed"


def say(request: Request) -> str:  # noqa: ARG001
    """Answer a request."""
    return "fine"


def test_a_client_keeps_its_connections_from_run_to_run() -> None:
    """The SDK's pool holds connections of the first run when the second one begins."""
    with connected() as agent:
        assert [agent.passes() for _ in range(4)] == [True] * 4
    assert len(agent.loops) == 1


def test_a_client_keeps_its_connections_in_a_notebook() -> None:
    """The loop of the notebook runs, while cell after cell evaluates."""
    with connected() as agent:

        async def cells() -> list[bool]:
            return [agent.passes() for _ in range(3)]

        assert asyncio.run(cells()) == [True] * 3


def test_two_threads_share_a_client() -> None:
    """Each evaluates twice, at the same time."""
    with connected() as agent, ThreadPoolExecutor(2) as threads:
        assert list(threads.map(agent.passes, range(4))) == [True] * 4


def test_a_metric_may_evaluate_on_the_loop_itself() -> None:
    """The loop waits for the inner run, which has a loop of its own."""

    async def asks_itself(trace: Trace) -> str:
        inner = fairtrial.evaluate(ONE_CASE, lambda _: "fine", CONFIG)
        return "fine" if inner.verdict == "passed" and trace.invocations else "broken"

    assert fairtrial.evaluate(ONE_CASE, asks_itself, CONFIG).verdict == "passed"


def test_an_agent_sees_the_context_of_the_caller() -> None:
    """For example, the tenant for which a test runs."""
    tenant: ContextVar[str] = ContextVar("tenant", default="")

    async def agent(trace: Trace) -> str:  # noqa: ARG001
        return tenant.get()

    tenant.set("fine")
    assert fairtrial.evaluate(ONE_CASE, agent, CONFIG).verdict == "passed"


def test_a_task_that_does_not_stop_keeps_its_loop_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next run gets another loop, which the task cannot disturb."""
    monkeypatch.setattr("fairtrial.system.event_loop._GRACE", 0.02)
    loops: list[Any] = []
    may_stop = threading.Event()

    async def stubborn() -> None:
        while not may_stop.is_set():
            try:
                await asyncio.sleep(0.001)
            except asyncio.CancelledError:
                continue

    async def agent(trace: Trace) -> str:  # noqa: ARG001
        loops.append(asyncio.get_running_loop())
        if len(loops) == 1:
            loops.append(asyncio.create_task(stubborn()))
        return "fine"

    for _ in range(2):
        assert fairtrial.evaluate(ONE_CASE, agent, CONFIG).verdict == "passed"
    may_stop.set()
    first, _, second = loops
    assert first is not second


SCRIPT = """
import asyncio, os, sys
import fairtrial
from fairtrial import EvalCase, EvalSet, Invocation, Message

one_case = EvalSet("set", (EvalCase("case", (Invocation(Message("q"), (), Message("fine")),)),))
left = []

async def agent(trace):
    left.append(asyncio.create_task(asyncio.sleep(600)))
    return "fine"

def passes():
    return fairtrial.evaluate(one_case, agent, {"response_match_score": 0.5}).verdict == "passed"

assert passes()
child = os.fork() if hasattr(os, "fork") else 1
if child == 0:
    sys.exit(0 if passes() else 1)
assert not hasattr(os, "fork") or os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert passes()
print("done")
"""


@pytest.mark.long
def test_a_process_forks_and_ends_though_its_loop_is_there(tmp_path: Path) -> None:
    """The forked process makes a loop of its own. Nothing is written at the end, and nothing waits."""
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
