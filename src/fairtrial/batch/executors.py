"""Executors that work on the chunks of a data set, in this process or in several.

A new kind of executor, for example for a cluster, is one more class with the method `map`.
"""

from __future__ import annotations

import os
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any, ClassVar, Protocol, TypeVar

Item = TypeVar("Item")
Chunk = TypeVar("Chunk")
Result = TypeVar("Result")


class Executor(Protocol):
    """Applies a function to each chunk of a data set.

    The function, the chunks and the results must be picklable, because they may travel to another process.
    Live objects, for example loaded models, are rebuilt by the worker from the pickled description of them.
    """

    @property
    def host(self) -> str:
        """The address at which the workers reach this process."""
        ...

    def map(
        self, work: Callable[[Chunk], Result], chunks: Iterable[Chunk], *, in_order: bool = True
    ) -> Iterator[Result]:
        """Yield the result of each chunk, in the order of the chunks, or each as soon as it is ready.

        Only a few chunks are held at a time.
        """
        ...


_LOOPBACK = "127.0.0.1"
_MOST_DEATHS = 2
"""If workers are killed so often before another chunk is finished, the chunk itself is probably the cause."""


@dataclass(frozen=True)
class InProcess:
    """Works on one chunk after the other in this process."""

    host: ClassVar[str] = _LOOPBACK

    def map(
        self,
        work: Callable[[Chunk], Result],
        chunks: Iterable[Chunk],
        *,
        in_order: bool = True,  # noqa: ARG002
    ) -> Iterator[Result]:
        """Yield the result of each chunk. They are ready in the order of the chunks."""
        return map(work, chunks)


@dataclass(frozen=True)
class ProcessPool:
    """Works on chunks in several processes of this machine.

    If there are at most `patience` chunks, this process does them itself: starting processes would take longer. If a
    worker is killed, for example by the system because memory is short, the chunks that were under way are repeated
    by other workers. So the work must give the same when it is repeated.
    """

    processes: int
    patience: int = 1
    host: ClassVar[str] = _LOOPBACK

    def map(
        self, work: Callable[[Chunk], Result], chunks: Iterable[Chunk], *, in_order: bool = True
    ) -> Iterator[Result]:
        """Yield the result of each chunk, with at most `2 * processes` chunks ahead of the reader.

        If the results may come out of order, a slow chunk holds back no other.

        Raises BrokenProcessPool if workers are killed again and again over the same chunks.
        """
        remaining = iter(chunks)
        first = list(islice(remaining, self.patience + 1))
        if self.processes == 1 or len(first) <= self.patience:
            yield from map(work, chain(first, remaining))
            return
        # The function may hold much, for example the cases of an eval set. It travels once, and not with each chunk.
        workers = _Workers(self.processes, pickle.dumps(work), _find_module(work))
        pending: deque[_Pending] = deque()
        try:
            for chunk in chain(first, remaining):
                pending.append(workers.begin(chunk))
                if len(pending) > 2 * self.processes:
                    yield workers.finish(pending, in_order=in_order)
            while pending:
                yield workers.finish(pending, in_order=in_order)
        finally:
            workers.stop()


class _Pending:
    """A chunk that a worker has, or is to have."""

    def __init__(self, chunk: Any) -> None:
        self.chunk = chunk
        self.future: Future[Any] | None = None

    @property
    def has_result(self) -> bool:
        """Whether a worker has done the chunk without an exception."""
        future = self.future
        return future is not None and future.done() and not future.cancelled() and future.exception() is None


class _Workers:
    """Processes of this machine, which are replaced if one of them is killed."""

    def __init__(self, processes: int, pickled_work: bytes, module: str) -> None:
        self._processes = processes
        self._pickled_work = pickled_work
        self._context = _process_context(module)
        self._deaths = 0
        self._pool = self._start()

    def _start(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self._processes,
            mp_context=self._context,
            initializer=_prepare_worker,
            # A fork server has the environment that this process had when it started the server.
            initargs=(self._pickled_work, dict(os.environ)),
        )

    def begin(self, chunk: Any) -> _Pending:
        """Give a chunk to the workers."""
        pending = _Pending(chunk)
        # If they are gone, `finish` gives the chunk to others.
        with suppress(BrokenProcessPool):
            pending.future = self._pool.submit(_work_on, chunk)
        return pending

    def finish(self, pending: deque[_Pending], *, in_order: bool) -> Any:
        """Return the result of the first chunk, or of a chunk that is ready, and remove it from `pending`.

        If a worker was killed, give the unfinished chunks to new workers.
        """
        while True:
            place = 0 if in_order else _find_ready(pending)
            future = pending[place].future
            try:
                if future is None:
                    raise BrokenProcessPool("the workers of this chunk are gone")  # noqa: TRY301
                result = future.result()
            except BrokenProcessPool:
                self._deaths += 1
                if self._deaths > _MOST_DEATHS:
                    raise
                self._replace(pending)
                continue
            self._deaths = 0
            del pending[place]
            return result

    def _replace(self, pending: deque[_Pending]) -> None:
        self.stop()
        self._pool = self._start()
        for each in pending:
            if not each.has_result:
                each.future = self._pool.submit(_work_on, each.chunk)

    def stop(self) -> None:
        """End the processes after the chunks that they have."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def _find_ready(pending: deque[_Pending]) -> int:
    """Wait until a chunk is done, or has lost its workers, and return its place."""
    wait([each.future for each in pending if each.future is not None], return_when=FIRST_COMPLETED)
    return next(place for place, each in enumerate(pending) if each.future is None or each.future.done())


def _find_module(work: Any) -> str:
    """Return the module that a worker needs for a function: that of the function, or of the class of an object."""
    function = work.func if isinstance(work, partial) else work
    return str(getattr(function, "__module__", ""))


def _process_context(module: str) -> Any:
    """Return the way in which processes start: with a module that is imported once for all of them, if possible.

    A process that is forked from this one would inherit the locks of threads that it does not have. A fork server has
    no threads. Systems without it start each process afresh.
    """
    import multiprocessing

    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([module])
    return context


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


def _prepare_worker(pickled_work: bytes, environment: dict[str, str]) -> None:
    """Leave Ctrl-C to the parent process, and give each worker one thread: the processes are the parallelism."""
    import signal
    import threading

    global _work  # noqa: PLW0603  (a worker process does one work in its life)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    os.environ.clear()
    os.environ.update(environment | threads | {"TOKENIZERS_PARALLELISM": "false"})
    _work = pickle.loads(pickled_work)  # noqa: S301  (our own function, from the parent process)


def _exit_with_parent() -> None:
    """End this process when its parent was killed. Otherwise the worker would wait for its next chunk forever."""
    import multiprocessing

    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
