"""Where are chunks of a data set worked on: in this process, or in several?

A new kind of executor, for example for a cluster, is one more class with the method `map`.
"""

from __future__ import annotations

import os
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Protocol, TypeVar

Item = TypeVar("Item")
Chunk = TypeVar("Chunk")
Result = TypeVar("Result")


class Executor(Protocol):
    """Applies a function to each chunk of a data set.

    The function, the chunks and the results must be picklable, because they may travel to another process.
    Live objects, for example loaded models, are rebuilt by the worker from the pickled description of them.
    """

    def map(self, work: Callable[[Chunk], Result], chunks: Iterable[Chunk]) -> Iterator[Result]:
        """Yield the result of each chunk, in the order of the chunks. Only a few chunks are held at a time."""
        ...


@dataclass(frozen=True)
class InProcess:
    """Works on one chunk after the other in this process."""

    def map(self, work: Callable[[Chunk], Result], chunks: Iterable[Chunk]) -> Iterator[Result]:
        """Yield the result of each chunk."""
        return map(work, chunks)


@dataclass(frozen=True)
class ProcessPool:
    """Works on chunks in several processes of this machine.

    If there are at most `patience` chunks, this process does them itself: starting processes would take longer.
    """

    processes: int
    patience: int = 1

    def map(self, work: Callable[[Chunk], Result], chunks: Iterable[Chunk]) -> Iterator[Result]:
        """Yield the result of each chunk, in order, with at most `2 * processes` chunks ahead of the reader."""
        remaining = iter(chunks)
        first = list(islice(remaining, self.patience + 1))
        if self.processes == 1 or len(first) <= self.patience:
            yield from map(work, chain(first, remaining))
            return
        import multiprocessing

        # A forked process would inherit the locks of threads that it does not have; a spawned one starts clean.
        context = multiprocessing.get_context("spawn")
        # The function may hold much, for example the cases of an eval set. It travels once, and not with each chunk.
        pool = ProcessPoolExecutor(
            self.processes, mp_context=context, initializer=_prepare_worker, initargs=(pickle.dumps(work),)
        )
        pending: deque[Future[Result]] = deque()
        try:
            for chunk in chain(first, remaining):
                pending.append(pool.submit(_work_on, chunk))
                if len(pending) > 2 * self.processes:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def executor_for(engine: str, jobs: int, address: str = "") -> Executor:
    """Return the executor that an option names: `processes` of this machine, or the cluster of `ray` at an address."""
    if engine == "ray":
        from fairtrial.batch.ray_cluster import RayCluster

        return RayCluster(address)
    return ProcessPool(jobs)


def split_into_chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items in lists of `size`. The last list may be shorter."""
    remaining = iter(items)
    while chunk := list(islice(remaining, size)):
        yield chunk


def count_cores() -> int:
    """Return the number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_work: Callable[[Any], Any]
"""The function of this worker process."""


def _work_on(chunk: Any) -> Any:
    return _work(chunk)


def _prepare_worker(pickled_work: bytes) -> None:
    """Leave Ctrl-C to the parent process, and give each worker one thread: the processes are the parallelism."""
    import signal
    import threading

    global _work  # noqa: PLW0603  (a worker process does one work in its life)
    _work = pickle.loads(pickled_work)  # noqa: S301  (our own function, from the parent process)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threads: dict[str, Any] = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    os.environ.update(threads | {"TOKENIZERS_PARALLELISM": "false"})


def _exit_with_parent() -> None:
    """End this process when its parent was killed. Otherwise the worker would wait for its next chunk forever."""
    import multiprocessing

    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
