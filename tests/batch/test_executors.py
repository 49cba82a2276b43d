"""Executors: chunks in order, in this process or in several."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path

import pytest

from fairtrial.batch.executors import Executor, InProcess, ProcessPool, split_into_chunks


@pytest.mark.parametrize("executor", [InProcess(), ProcessPool(1), ProcessPool(2)], ids=repr)
def test_results_come_in_the_order_of_the_chunks(executor: Executor) -> None:
    """The order does not depend on which worker is done first."""
    assert list(executor.map(abs, range(-50, 0))) == list(range(50, 0, -1))


def test_few_chunks_start_no_process() -> None:
    """A function that cannot be pickled works, because at most `patience` chunks stay in this process."""
    executor = ProcessPool(2, patience=3)
    assert list(executor.map(lambda number: number + 1, range(3))) == [1, 2, 3]


def test_chunks_hold_every_item_once() -> None:
    """Seven items in chunks of three: the last chunk is shorter."""
    assert list(split_into_chunks(range(7), 3)) == [[0, 1, 2], [3, 4, 5], [6]]


@pytest.mark.long
def test_processes_end_with_their_parent() -> None:
    """After kill -9 of the parent no worker is left: each holds the pipe open, which ends with the last of them."""
    script = (
        "import itertools\nfrom fairtrial.batch.executors import ProcessPool\n"
        "for number in ProcessPool(2).map(abs, itertools.count()): print(number, flush=True)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"0\n"
        process.kill()
        process.communicate(timeout=30)


def _die_once(mark: Path, number: int) -> int:
    """Kill the worker at the number 5, unless there is a mark that this has happened."""
    if number == 5 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.long
def test_a_killed_worker_is_replaced(tmp_path: Path) -> None:
    """Its chunks are repeated: nothing is lost, and nothing comes twice."""
    assert list(ProcessPool(2).map(partial(_die_once, tmp_path / "mark"), range(20))) == list(range(20))


def _die(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.long
def test_a_chunk_that_kills_each_worker_ends_the_work() -> None:
    """Otherwise it would go on forever."""
    with pytest.raises(BrokenProcessPool):
        list(ProcessPool(2).map(_die, range(4)))


def test_workers_have_the_environment_of_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if processes were started before a variable was set."""
    assert list(ProcessPool(2).map(os.getenv, ["FAIRTRIAL_TEST_NEW"] * 2)) == [None, None]
    monkeypatch.setenv("FAIRTRIAL_TEST_NEW", "set")
    assert list(ProcessPool(2).map(os.getenv, ["FAIRTRIAL_TEST_NEW"] * 2)) == ["set", "set"]


def _wait_for_reader(pipe: Path, number: int) -> int:
    """Block at the number 0 until the reader of the results opens the pipe."""
    if number == 0:
        pipe.read_bytes()
    return number


@pytest.mark.long
def test_a_slow_chunk_holds_back_no_other(tmp_path: Path) -> None:
    """If the order does not matter, results come as they are ready. In order, the work would never end."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    results = ProcessPool(2).map(partial(_wait_for_reader, pipe), range(4), in_order=False)
    early = [next(results) for _ in range(3)]
    pipe.write_bytes(b"")
    assert (sorted(early), list(results)) == ([1, 2, 3], [0])


@pytest.mark.long
def test_a_killed_worker_is_replaced_out_of_order(tmp_path: Path) -> None:
    """Its chunks are repeated: nothing is lost, and nothing comes twice."""
    results = ProcessPool(2).map(partial(_die_once, tmp_path / "mark"), range(20), in_order=False)
    assert sorted(results) == list(range(20))
