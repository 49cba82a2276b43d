"""What is every trace of some files worth, each held against the traces that its novelty is to be measured by?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from fairtrial.errors import UsageError, nearest
from fairtrial.protocols import Embedder
from fairtrial.records.reasoning import ReasoningTrace
from fairtrial.valuation import batch
from fairtrial.valuation.batch import ChunkResult, KeepFilter, PreparedChunk
from fairtrial.valuation.source import Defaults, Document, documents
from fairtrial.valuation.trace_value import Nearest, ScoringContext, StructuralScore

if TYPE_CHECKING:
    from fairtrial.valuation.novelty import VectorCache

Mode = Literal["sequence", "corpus", "leave-one-out"]
PATIENCE = 16
"""So many chunks without embedder are done before it pays to start processes for the rest."""


@dataclass(frozen=True)
class Job:
    """Files to value, or documents given ready, and how.

    `skip` documents are done already; of the last `again` of them the vectors are needed once more. `ttl`, in seconds,
    is the time to live of what the index holds; None leaves it as it is.
    """

    paths: Sequence[Path]
    terms: ScoringContext = field(default_factory=ScoringContext)
    embed: Embedder | None = None
    gate: KeepFilter = field(default_factory=KeepFilter)
    index: Path | None = None
    extend: bool = False
    jobs: int = 1
    skip: int = 0
    again: int = 0
    ttl: float | None = None
    said: Defaults = field(default_factory=Defaults)
    given: Sequence[Document] | None = None

    @property
    def documents(self) -> Iterator[Document]:
        """The documents that are still to be done."""
        return islice(self.all_documents, self.skip, None)

    @property
    def all_documents(self) -> Iterator[Document]:
        """All documents of the input: those that were given ready, else those of the files."""
        return documents(self.paths, self.said) if self.given is None else iter(self.given)


class NoveltyIndex(Protocol):
    """Knows which earlier trace is nearest."""

    def nearest(self, ids: Sequence[str], vectors: Any) -> list[Nearest | None]:
        """Return the nearest trace of each; called once for every chunk, in input order."""
        ...

    def close(self) -> None:
        """Keep what is to be kept, after the last chunk."""
        ...


def check_mode(mode: str, *, index: object, embedded: bool) -> None:
    """Refuse, as UsageError, a mode that is unknown or that lacks its index or its embedder."""
    modes = get_args(Mode)
    if mode not in modes:
        raise UsageError(f"novelty: must be one of {', '.join(modes)}, got {mode!r}{nearest(mode, modes)}")
    if not embedded and (mode != "sequence" or index is not None):
        raise UsageError(f"novelty {mode!r}{' with an index' if index else ''} needs an embedder, and there is none")
    if mode == "corpus" and index is None:
        raise UsageError("novelty 'corpus' needs an index to search")
    if mode == "leave-one-out" and index is not None:
        raise UsageError("novelty 'leave-one-out' compares the traces with each other; it takes no index")


def run(job: Job) -> Iterator[ChunkResult]:
    """Yield the results of a job chunk by chunk, in input order; the index is saved after the last one."""
    if job.embed is None:
        work = partial(batch.weigh_and_conclude, terms=job.terms, gate=job.gate)
        chunks = batch.chunks(job.documents, batch.CHUNK)
        yield from batch.in_order(work, chunks, jobs=job.jobs, patience=PATIENCE)
    elif job.terms.mode == "leave-one-out":
        yield from _left_out(job, job.embed)
    else:
        yield from _one_pass(job, job.embed)


def _one_pass(job: Job, embed: Embedder) -> Iterator[ChunkResult]:
    book = book_of(job.terms.mode, job.index, embedder=job.terms.embedder, extend=job.extend, ttl=job.ttl)
    for ids, prepared in _prepared(job, embed, islice(job.all_documents, job.skip - job.again, job.skip)):
        if ids:
            book.nearest(ids, prepared.vectors)
        yield ChunkResult.nothing_yet(prepared)
    for ids, prepared in _prepared(job, embed, job.documents):
        yield batch.conclude(prepared, book.nearest(ids, prepared.vectors) if ids else [], job.terms, job.gate)
    book.close()


def _prepared(job: Job, embed: Embedder, some: Iterable[Document]) -> Iterator[tuple[list[str], PreparedChunk]]:
    """Yield documents chunk by chunk, weighed and embedded, with the ids of those that were not refused."""
    chunks = batch.chunks(some, batch.EMBEDDED_CHUNK)
    for prepared in batch.in_order(partial(batch.prepare, embed=embed), chunks, jobs=job.jobs):
        yield [item.id for item in prepared.items if isinstance(item, StructuralScore)], prepared


def _left_out(job: Job, embed: Embedder) -> Iterator[ChunkResult]:
    """Two passes: all vectors have to be known before the first novelty is; documents are read again, never held.

    A job that goes on needs all vectors once more, too.
    """
    import numpy as np

    from fairtrial.valuation.novelty import leave_one_out

    ids: list[str] = []
    vectors = []
    for own, prepared in _prepared(job, embed, job.all_documents):
        ids += own
        vectors += [prepared.vectors] if own and prepared.vectors is not None else []
        yield ChunkResult.nothing_yet(prepared)
    done = sum(isinstance(batch.read(document), ReasoningTrace) for document in islice(job.all_documents, job.skip))
    found = islice(leave_one_out(ids, np.concatenate(vectors)) if ids else [], done, None)
    for chunk in batch.chunks(job.documents, batch.CHUNK):
        weighed = batch.prepare(chunk, None)
        count = sum(isinstance(item, StructuralScore) for item in weighed.items)
        yield batch.conclude(weighed, list(islice(found, count)), job.terms, job.gate)


def book_of(
    mode: str,
    index: Path | None,
    *,
    embedder: str,
    extend: bool = False,
    cache: VectorCache | None = None,
    ttl: float | None = None,
) -> NoveltyIndex:
    """Return the book of a mode. A corpus that is not there yet is made from the traces, each then of novelty 0.5."""
    from fairtrial.valuation.novelty import VectorCache

    there = index is not None and index.exists()
    if there and index is not None:
        cache = VectorCache.load(index, embedder=embedder)
        cache.ttl = ttl or cache.ttl
    if mode == "corpus" and index is not None:
        return _Corpus(cache, index, embedder, extend=extend or not there, ttl=ttl)
    return _Sequence(cache, index, embedder, ttl=ttl)


class _Sequence:
    """Each trace against those before it; the cache is made when the first vectors say how long they are."""

    def __init__(self, cache: VectorCache | None, index: Path | None, embedder: str, *, ttl: float | None) -> None:
        self.cache, self.index, self.embedder, self.ttl = cache, index, embedder, ttl

    def nearest(self, ids: Sequence[str], vectors: Any) -> list[Nearest | None]:
        if self.cache is None:
            from fairtrial.valuation.novelty import VectorCache

            self.cache = VectorCache(dimensions=vectors.shape[1], ttl=self.ttl)
        return self.cache.sequence(ids, vectors)

    def close(self) -> None:
        if self.index is not None and self.cache is not None:
            self.cache.save(self.index, embedder=self.embedder)


class _Corpus:
    """Each trace against the index alone; the index is extended, if at all, only after the last one."""

    def __init__(
        self, cache: VectorCache | None, index: Path, embedder: str, *, extend: bool, ttl: float | None
    ) -> None:
        self.cache, self.index, self.embedder, self.ttl = cache, index, embedder, ttl
        self.fresh: list[tuple[Sequence[str], Any]] | None = [] if extend else None

    def nearest(self, ids: Sequence[str], vectors: Any) -> list[Nearest | None]:
        if self.fresh is not None:
            self.fresh.append((ids, vectors))
        return [None] * len(ids) if self.cache is None else self.cache.search(vectors)

    def close(self) -> None:
        from fairtrial.valuation.novelty import VectorCache

        if self.fresh:
            grown = self.cache or VectorCache(dimensions=self.fresh[0][1].shape[1], ttl=self.ttl)
            grown.capacity = None
            for ids, vectors in self.fresh:
                grown.extend(ids, vectors)
            grown.save(self.index, embedder=self.embedder)
