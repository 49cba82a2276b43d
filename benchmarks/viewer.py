"""How fast is the viewer with 100,000 attempts while another process writes, and does the writer notice?

A real server answers real requests over SQLite. On a machine with other work, the time until an answer says little, so
that the targets hold for the CPU time of the server, and the time of the clock is printed beside it.
"""

from __future__ import annotations

import http.client
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import measuring

from fairtrial.records.attempt import Recording
from fairtrial.records.case import EvalCase
from fairtrial.records.expectation import ExpectedCase
from fairtrial.records.result import CaseResult, Outcome
from fairtrial.records.run import RunInfo
from fairtrial.records.score import Score
from fairtrial.records.trace import Invocation, Message, ToolCall, Trace
from fairtrial.store import Store

_ATTEMPTS = 100_000
_RUN = "20261122-120000-aaaaaa"
_RATE = 100
_SECONDS = 10.0
_ROUNDS = 2
_ROWS = 100
_TICKS = os.sysconf("SC_CLK_TCK")
_FILTERS = ("verdict=failed", "only=failed", "criterion=response_match_score", "side=agent", "only=flaky")
_SEARCHES = ("B-50000", "arrives on friday", "friday", "issue_refund", "f", "fr", "fri", "frid", "zzzz")
_INDEX_SECONDS = 300.0
_TOOLS = ("get_order", "cancel_order", "issue_refund")


def main(peer: str) -> None:
    """Print the times of pages, and the rate of the writer. The peer has no viewer of a store."""
    del peer
    measuring.heading(f"viewer: a run of {_ATTEMPTS:,} attempts, and {_RATE} more results a second")
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/runs.db"
        _fill(url)
        alone, watched = [], []
        with _server(url) as viewer:
            _measure_first_page(viewer)
            _measure_searches(viewer)
            for _ in range(_ROUNDS):
                alone.append(_written(url))
                with _traffic(viewer):
                    watched.append(_written(url))
            with _writer(url, math.inf):
                _measure_pages(viewer)
        _print_writers(alone, watched)


def _fill(url: str) -> None:
    """Store a run that is not finished, with an attempt at each case."""
    with closing(Store(url)) as store:
        info = RunInfo(_RUN, "2026-11-22T12:00:00.000+00:00", "0", "run", {"attempts": 1}, seconds=1000.0)
        store.begin(info)
        store.add_cases(_RUN, map(_case, range(2 * _ATTEMPTS)))
        for position in range(_ATTEMPTS):
            store.add_recording(_RUN, position, _recording(position), may_wait=True)
            store.add_result(_RUN, _result(position))


def _case(position: int) -> ExpectedCase:
    case = EvalCase(f"case_{position}", (Invocation(Message(f"Where is my order {position}?")),))
    return ExpectedCase(position, case.id, case, "shop", f"{position:064d}")


def _recording(position: int) -> Recording:
    call = ToolCall(_TOOLS[position % len(_TOOLS)], {"order_id": f"B-{position}"})
    reply = Message(f"Your order {position} has been sent. It arrives on Friday. " * 5)
    trace = Trace((Invocation(Message(f"Where is my order {position}?"), (call,), reply),))
    return Recording(f"case_{position}", trace, eval_set="shop")


def _result(position: int) -> CaseResult:
    reached = position % 7 > 0
    outcomes = (
        Outcome("tool_trajectory_avg_score", Score(float(reached), "" if reached else "get_order is missing"), 1.0),
        Outcome("response_match_score", Score(position % 11 / 10, "words that are equal"), 0.3),
    )
    return CaseResult(f"case_{position}", position, outcomes, eval_set="shop", digest=f"{position:064d}")


class Answer(NamedTuple):
    """What a request took: seconds of the clock, CPU seconds of the server, and the JSON that it got."""

    seconds: float
    cpu: float
    json: Any


class Viewer(NamedTuple):
    """A viewer in a process of its own."""

    pid: int
    host: str
    cookie: str

    def get(self, path: str) -> Answer:
        """Return the answer to a request."""
        cpu, start = self._cpu(), time.perf_counter()
        with closing(http.client.HTTPConnection(self.host, timeout=120)) as connection:
            connection.request("GET", path, headers={"Cookie": self.cookie})
            answer = connection.getresponse()
            body = answer.read()
        if answer.status != 200:
            sys.exit(f"{path}: {answer.status} {body[:300]!r}")
        return Answer(time.perf_counter() - start, self._cpu() - cpu, json.loads(body))

    def _cpu(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS


@contextmanager
def _server(url: str) -> Iterator[Viewer]:
    command = [measuring.OURS, "-m", "fairtrial", "view", "--no-open", "--store", url, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as own:
        assert own.stdout is not None
        address = next(word for line in own.stdout for word in line.split() if word.startswith("http://"))
        parts = urlsplit(address)
        with closing(http.client.HTTPConnection(parts.netloc, timeout=120)) as connection:
            connection.request("GET", f"/?{parts.query}")
            cookie = (connection.getresponse().getheader("Set-Cookie") or "").partition(";")[0]
        try:
            yield Viewer(own.pid, parts.netloc, cookie)
        finally:
            own.terminate()


def _measure_first_page(viewer: Viewer) -> None:
    """Print the time from an empty server to the first rows."""
    answers = [viewer.get(f"/api/runs/{_RUN}"), viewer.get(f"/api/runs/{_RUN}/cases")]
    answers.append(viewer.get(_rows_path(answers[1].json["positions"], 0)))
    measuring.target("first page: CPU of the server", sum(own.cpu for own in answers), "s", at_most=1.0)
    measuring.line("  clock", f"{sum(own.seconds for own in answers):.2f} s")


def _measure_searches(viewer: Viewer) -> None:
    """Print the time from a request to the whole answer, for texts that were not searched before.

    The times of the clock are the target, because a reader waits for them. They hold on a machine without other work.
    """
    began = time.perf_counter()
    number = 0
    while (
        viewer.get(f"/api/runs/{_RUN}/cases?q=absent{number}").cpu > 1.0
        and time.perf_counter() - began < _INDEX_SECONDS
    ):
        number += 1
    measuring.line("index of all texts: until it answers", f"{time.perf_counter() - began:.1f} s")
    answers = {text: viewer.get(f"/api/runs/{_RUN}/cases?q={quote(text)}") for text in _SEARCHES}
    for text, own in answers.items():
        found = f"{own.seconds:.3f} s, {own.cpu:.2f} CPU-s, {len(own.json['positions']):,} cases"
        measuring.line(f"  search for {text!r}", found)
    measuring.target("search: longest wait", max(own.seconds for own in answers.values()), "s", at_most=0.3)
    measuring.target("search: CPU of the server", max(own.cpu for own in answers.values()), "s", at_most=0.3)


def _rows_path(positions: list[int], start: int) -> str:
    return f"/api/runs/{_RUN}/rows?at={','.join(map(str, positions[start : start + _ROWS]))}"


def _measure_pages(viewer: Viewer) -> None:
    """Print the times of every kind of page while a writer writes."""
    positions = viewer.get(f"/api/runs/{_RUN}/cases").json["positions"]
    starts = range(0, len(positions), len(positions) // 10)
    _print_pages("a page of rows", [viewer.get(_rows_path(positions, start)) for start in starts])
    _print_pages("an attempt", [viewer.get(f"/api/runs/{_RUN}/cases/{positions[start]}/1") for start in starts])
    _print_pages("the run", [viewer.get(f"/api/runs/{_RUN}") for _ in range(7)])
    _print_pages("the list of runs", [viewer.get("/api/runs") for _ in range(7)])
    for query in _FILTERS:
        _print_pages(query, [viewer.get(f"/api/runs/{_RUN}/cases?{query}") for _ in range(5)])


def _print_pages(what: str, answers: list[Answer]) -> None:
    cpu = statistics.median(own.cpu for own in answers)
    measuring.target(f"{what}: CPU of the server", cpu, "s", at_most=0.3)
    measuring.line("  clock: median, longest", f"{_median(answers):.3f} s, {max(own.seconds for own in answers):.3f} s")


def _median(answers: list[Answer]) -> float:
    return statistics.median(own.seconds for own in answers)


@contextmanager
def _traffic(viewer: Viewer) -> Iterator[None]:
    """Read one page after the other, as somebody who scrolls does, while the page's own events are open."""
    ended = threading.Event()

    def follow() -> None:
        with closing(http.client.HTTPConnection(viewer.host, timeout=120)) as connection:
            connection.request("GET", f"/api/runs/{_RUN}/events", headers={"Cookie": viewer.cookie})
            answer = connection.getresponse()
            while not ended.is_set() and answer.readline():
                pass

    def scroll() -> None:
        positions = viewer.get(f"/api/runs/{_RUN}/cases").json["positions"]
        place = 0
        while not ended.wait(0.5):
            viewer.get(_rows_path(positions, place % len(positions)))
            place += 9973

    readers = [threading.Thread(target=own, daemon=True) for own in (follow, scroll)]
    for reader in readers:
        reader.start()
    try:
        yield
    finally:
        ended.set()
        readers[1].join()


@contextmanager
def _writer(url: str, seconds: float) -> Iterator[subprocess.Popen[str]]:
    """Run a writer for some seconds, or until the block ends."""
    command = [measuring.OURS, __file__, url, str(seconds)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as own:
        assert own.stdout is not None
        own.stdout.readline()  # it has begun
        try:
            yield own
        finally:
            own.terminate()


def _written(url: str) -> dict[str, float]:
    """Return what a writer achieved in some seconds."""
    with _writer(url, _SECONDS) as own:
        assert own.stdout is not None
        numbers: dict[str, float] = json.loads(own.stdout.read())
        return numbers


def _print_writers(alone: list[dict[str, float]], watched: list[dict[str, float]]) -> None:
    rates = [statistics.median(own["rate"] for own in side) for side in (alone, watched)]
    measuring.target("writer: rate with a viewer / rate alone", rates[1] / rates[0], "", at_least=0.95)
    measuring.line("  results a second: alone, with a viewer", f"{rates[0]:.1f}, {rates[1]:.1f}")
    longest = [max(own["longest"] for own in side) for side in (alone, watched)]
    measuring.line("  longest wait for the store", f"{longest[0]:.2f} s, {longest[1]:.2f} s")


def write(url: str, seconds: float) -> None:
    """Write `_RATE` results a second, and print the rate that was reached and the longest wait for the store."""
    with closing(Store(url)) as store:
        position = store.last_change(_RUN)
        print("writing", flush=True)
        start, written, longest = time.monotonic(), 0, 0.0
        while time.monotonic() - start < seconds:
            before = time.monotonic()
            store.add_recording(_RUN, position, _recording(position))
            store.add_result(_RUN, _result(position))
            position, written = position + 1, written + 1
            longest = max(longest, time.monotonic() - before)
            time.sleep(max(0.0, start + written / _RATE - time.monotonic()))
        rate = written / (time.monotonic() - start)
    print(json.dumps({"rate": rate, "longest": longest}))


if __name__ == "__main__":
    write(sys.argv[1], float(sys.argv[2]))
