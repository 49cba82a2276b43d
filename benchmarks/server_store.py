"""Scores that are stored in Postgres beside the same in SQLite, and round trips with 3 ms between program and server.

Then runs are read: their history, a run with its recordings, a comparison, and the pages of the viewer.

FAIRTRIAL_TEST_POSTGRES=postgresql+pg8000://USER@127.0.0.1:PORT/DATABASE python benchmarks/server_store.py
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from statistics import median

import history
import measuring
import sqlalchemy as sa

import fairtrial
from fairtrial.api.viewer.view_index import CaseQuery
from fairtrial.api.viewer.viewing import StoreViewer
from fairtrial.store import Store

FEW, MANY, ROUNDS, SECONDS = 2_000, 10_000, 3, 0.003
RUNS, CASES = 10, (100, 1_000)
CRITERIA = {"criteria": {"tool_call_count_v1": {"threshold": None}, "token_usage_v1": {"threshold": None}}}


class SlowNetwork:
    """A port in front of a server. Every answer takes `SECONDS` longer, and each question is counted."""

    def __init__(self, url: sa.URL) -> None:
        self.round_trips = 0
        self._target = (url.host, url.port or 5432)
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        listening = asyncio.start_server(self._connect, "127.0.0.1", 0)
        server = asyncio.run_coroutine_threadsafe(listening, self._loop).result()
        self.url = url.set(host="127.0.0.1", port=server.sockets[0].getsockname()[1])

    async def _connect(self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection(*self._target)
        asks = [False]
        await asyncio.gather(
            self._forward(from_client, to_server, asks, is_client=True),
            self._forward(from_server, to_client, asks, is_client=False),
        )

    async def _forward(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, asks: list[bool], *, is_client: bool
    ) -> None:
        while data := await source.read(1 << 20):
            self.round_trips += is_client and not asks[0]
            asks[0] = is_client
            await asyncio.sleep(SECONDS / 2)
            target.write(data)
            await target.drain()
        target.close()


def main(peer: str) -> None:  # noqa: ARG001
    url = os.environ.get("FAIRTRIAL_TEST_POSTGRES")
    if url is None:
        measuring.line("a store in Postgres", "left out: FAIRTRIAL_TEST_POSTGRES names no server")
        return
    measuring.heading(f"{FEW:,} conversations with two criteria, stored")
    network = SlowNetwork(sa.make_url(url))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.json").write_text(json.dumps(CRITERIA))
        for count in (FEW, MANY):
            (folder / f"{count}.jsonl").write_text("".join(map(_conversation, range(count))))
        in_file, on_server = [], []
        for number in range(ROUNDS):
            in_file.append(_score(folder, FEW, f"sqlite:///{number}.db"))
            on_server.append(_score(folder, FEW, url))
        measuring.line("SQLite, Postgres on loopback", f"{median(in_file):.2f} s, {median(on_server):.2f} s")
        ratio = median(there / here for here, there in zip(in_file, on_server, strict=True))
        measuring.target("times SQLite", ratio, "", at_most=1.5)
        far = network.url.render_as_string(hide_password=False)
        trips = []
        for count in (FEW, MANY):
            before = network.round_trips
            seconds = _score(folder, count, far)
            trips.append(network.round_trips - before)
            measuring.line(f"{count:,} with {SECONDS * 1000:g} ms", f"{seconds:.2f} s, {trips[-1]} round trips")
        measuring.target("round trips for 100 more", 100 * (trips[1] - trips[0]) / (MANY - FEW), "", at_most=2)
    _read(url, network)


def _read(url: str, network: SlowNetwork) -> None:
    """Print the round trips of readers for small and for large runs, and of 100 more attempts."""
    few, many = (_count_reads(url, network, cases) for cases in CASES)
    measuring.heading(f"{RUNS} runs of {CASES[0]} or {CASES[1]:,} attempts, read with {SECONDS * 1000:g} ms")
    for name, (trips, seconds) in few.items():
        more_trips, more_seconds = many[name]
        measuring.line(name, f"{seconds:.2f} s, {more_seconds:.2f} s; {trips} and {more_trips} round trips")
        attempts = (CASES[1] - CASES[0]) * (RUNS if "history" in name else 2 if name in ("compare", "base") else 1)
        measuring.target("for 100 more", 100 * (more_trips - trips) / attempts, "", at_most=2)


def _count_reads(url: str, network: SlowNetwork, cases: int) -> dict[str, tuple[int, float]]:
    """Return the round trips and the seconds of readers."""
    far = network.url.render_as_string(hide_password=False)
    with closing(Store(url)) as store:
        for info in store.runs():
            store.remove(info.id)
    history.fill_store(url, RUNS, cases)
    with closing(Store(url)) as store:
        first, *_, last = (info.id for info in store.runs())
    taken: dict[str, tuple[int, float]] = {}

    def count(name: str, read: Callable[[], object]) -> None:
        before, begin = network.round_trips, time.perf_counter()
        read()
        taken[name] = network.round_trips - before, time.perf_counter() - begin

    count("open", lambda: Store(far).close())
    count("history", lambda: fairtrial.history(store=far))
    count("history again", lambda: fairtrial.history(store=far))
    count("case history", lambda: fairtrial.case_history("cases-1", store=far))
    count("results", lambda: list(fairtrial.open_run(first, store=far).cases))
    count("compare", lambda: fairtrial.compare(last, first, store=far))
    with closing(StoreViewer(far)) as viewer:
        count("viewer: runs", viewer.runs)
        count("runs again", viewer.runs)
        count("run", lambda: viewer.open(first))
        count("cases", lambda: viewer.find_cases(first, CaseQuery()))
        count("rows", lambda: viewer.rows(first, range(100)))
        count("attempt", lambda: viewer.attempt(first, 0, 1))
        count("base", lambda: viewer.open(first, last))
    return taken


def _score(folder: Path, count: int, store: str) -> float:
    begin = time.perf_counter()
    arguments = ("score", f"{count}.jsonl", "--config", "config.json", "--store", store, "--quiet")
    measuring.run([measuring.OURS, "-m", "fairtrial", *arguments], cwd=folder, codes=(3,))  # nothing decides
    return time.perf_counter() - begin


def _conversation(number: int) -> str:
    texts = {"user": f"Where is order A-{number}?", "assistant": f"Order A-{number} ships on day {number % 28 + 1}."}
    return json.dumps({"messages": [{"role": role, "content": text} for role, text in texts.items()]}) + "\n"


if __name__ == "__main__":
    main("")
