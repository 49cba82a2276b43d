"""How are many traces valued at once: on all cores, in input order, in memory that does not grow?"""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec

from fairtrial.formats import knowledgepulse
from fairtrial.formats.knowledgepulse import Refused
from fairtrial.protocols import Embedder
from fairtrial.records.reasoning import ReasoningTrace
from fairtrial.valuation.source import Document
from fairtrial.valuation.trace_value import Nearest, ScoringContext, StructuralScore, TraceValue, finish, line, weigh

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_In = TypeVar("_In")
_Out = TypeVar("_Out")

CHUNK = 512
EMBEDDED_CHUNK = 32
"""Documents that go to a process at once: few where each takes long, so that progress is seen and little is lost."""


class PreparedChunk(NamedTuple):
    """A chunk of documents, weighed; `vectors` are those of the documents that were not refused, if any are made."""

    documents: list[Document]
    items: list[StructuralScore | Refused]
    vectors: NDArray[np.float32] | None


class KeepFilter(NamedTuple):
    """What may pass: scores of at least `threshold`; and whether what passes is wanted, without its secrets."""

    threshold: float | None = None
    keep: bool = False


class Redacted(NamedTuple):
    """What was taken out of a trace that passed: its id, the kind of secret, what exactly, and the pointer."""

    id: str
    kind: str
    detail: str
    pointer: str


class ChunkResult(NamedTuple):
    """A chunk of results: one line of JSON and one score (None: refused) for each document, in order.

    `embedded` counts the documents of which nothing but the vectors was made, because others need them.
    """

    origins: list[str]
    lines: list[bytes]
    scores: list[float | None]
    kept: list[bytes]
    redacted: list[Redacted]
    embedded: int = 0

    @classmethod
    def nothing_yet(cls, prepared: PreparedChunk) -> ChunkResult:
        """Return that a chunk was embedded."""
        return cls([], [], [], [], [], len(prepared.documents))


def prepare(documents: list[Document], embed: Embedder | None) -> PreparedChunk:
    """Weigh a chunk of documents, and embed the texts of those that can be read."""
    traces = [read(document) for document in documents]
    items = [trace if isinstance(trace, Refused) else weigh(trace) for trace in traces]
    texts = [trace.text for trace in traces if isinstance(trace, ReasoningTrace)]
    return PreparedChunk(documents, items, None if embed is None else vectors_of(texts, embed))


def vectors_of(texts: Sequence[str], embed: Embedder) -> NDArray[np.float32]:
    """Return the vectors of texts, shape (n, dimensions); of no texts shape (0, 0)."""
    import numpy as np

    return np.asarray(embed(texts), dtype=np.float32) if texts else np.empty((0, 0), dtype=np.float32)


def read(document: Document) -> ReasoningTrace | Refused:
    """Return the trace of a document, or all that is wrong with it."""
    return document.data if isinstance(document.data, Refused) else knowledgepulse.parse(document.data)


def conclude(
    prepared: PreparedChunk, nearest: Sequence[Nearest | None], terms: ScoringContext, gate: KeepFilter
) -> ChunkResult:
    """Score a weighed chunk, now that it is known what each of its traces is most like; let through what may pass.

    `nearest` has one entry for each trace that was not refused.
    """
    done = ChunkResult([document.origin for document in prepared.documents], [], [], [], [])
    like = iter(nearest)
    for document, item in zip(prepared.documents, prepared.items, strict=True):
        result = item if isinstance(item, Refused) else finish(item, next(like), terms)
        done.lines.append(line(result))
        score = result.score if isinstance(result, TraceValue) else None
        done.scores.append(score)
        if passes(score, gate):
            kept, redacted = let_through(document)
            done.kept.append(kept)
            done.redacted.extend(redacted)
    return done


def passes(score: float | None, gate: KeepFilter) -> bool:
    """Whether a trace of this score is kept."""
    return gate.keep and score is not None and (gate.threshold is None or score >= gate.threshold)


def let_through(document: Document) -> tuple[bytes, list[Redacted]]:
    """Return the JSON object of a document's trace without its secrets, and what was taken out of it."""
    from fairtrial.text.redact import redact_json

    trace = read(document)
    assert isinstance(trace, ReasoningTrace)  # noqa: S101  # only a trace has a score
    clean, found = redact_json(knowledgepulse.document(trace))
    return msgspec.json.encode(clean), [Redacted(clean["id"], one.kind, one.detail, one.pointer) for one in found]


def weigh_and_conclude(documents: list[Document], terms: ScoringContext, gate: KeepFilter) -> ChunkResult:
    """Value a chunk of documents without embedder, which needs nothing from outside the chunk."""
    prepared = prepare(documents, None)
    return conclude(prepared, [None] * len(prepared.items), terms, gate)


def chunks(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    """Yield documents in lists of `size`, the last one shorter."""
    each = iter(documents)
    while chunk := list(itertools.islice(each, size)):
        yield chunk


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(work: Callable[[_In], _Out], inputs: Iterable[_In], *, jobs: int, patience: int = 1) -> Iterator[_Out]:
    """Yield the results of inputs in their order, computed by `jobs` processes, few of them ahead of the reader.

    At most `patience` inputs are worked on right here, without the cost of starting processes.
    """
    each = iter(inputs)
    first = list(itertools.islice(each, patience + 1))
    if jobs == 1 or len(first) <= patience:
        yield from map(work, itertools.chain(first, each))
        return
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start)
    waiting: deque[Future[_Out]] = deque()
    try:
        for one in itertools.chain(first, each):
            waiting.append(pool.submit(work, one))
            if len(waiting) > 2 * jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _start() -> None:
    """Leave Ctrl-C to the parent, and one thread to each process: the processes are the parallelism."""
    import signal
    import threading

    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threads: dict[str, Any] = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    os.environ.update(threads | {"TOKENIZERS_PARALLELISM": "false"})


def _end_with_parent() -> None:
    """End this process when its parent has been killed: the pool would wait for the next input for ever."""
    import multiprocessing

    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
