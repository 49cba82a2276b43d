"""The stages of a valuation: load documents, prepare them in workers, compare them with other traces, value them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from fairtrial.batch.executors import Executor, InProcess, split_into_chunks
from fairtrial.loading.documents import TraceDefaults, iter_documents
from fairtrial.records.reasoning import ReasoningTrace
from fairtrial.valuation.chunk import (
    Document,
    KeepFilter,
    PreparedChunk,
    ValuedChunk,
    parse_document,
    prepare_chunk,
    value_chunk,
    value_prepared,
)
from fairtrial.valuation.index_files import write_lock
from fairtrial.valuation.near_duplicates import DedupOptions, DuplicateFinder
from fairtrial.valuation.novelty_index import NoveltyIndex, is_locked_long
from fairtrial.valuation.trace_value import ScoringContext

if TYPE_CHECKING:
    from fairtrial.valuation.embed import Reservations
    from fairtrial.valuation.whole_trace import TraceEmbedder

CHUNK = 512
EMBEDDED_CHUNK = 32
"""Documents in a chunk. Embedding is slow, so its chunks are small: progress is visible, and an interruption loses
little."""


@dataclass(frozen=True)
class Valuation:
    """Which documents to value, and how.

    The documents are in the files `paths`, or ready in `documents`. The first `finished` documents are valued
    already. The vectors of the last `remembered` of them are needed again, because later traces are compared with these
    vectors. `dedup` looks for traces that repeat an earlier trace. `ttl` is the time to live of the vectors in the
    index, in seconds. None leaves it as it is. `approximate` searches the index with a graph.
    """

    paths: Sequence[str | Path] = ()
    context: ScoringContext = field(default_factory=ScoringContext)
    embed: TraceEmbedder | None = None
    keep_filter: KeepFilter = field(default_factory=KeepFilter)
    index: Path | None = None
    extend: bool = False
    ttl: float | None = None
    approximate: bool = False
    executor: Executor = field(default_factory=InProcess)
    defaults: TraceDefaults = field(default_factory=TraceDefaults)
    documents: Sequence[Document] | None = None
    dedup: DedupOptions | None = None
    finished: int = 0
    remembered: int = 0

    def iter_all(self) -> Iterator[Document]:
        """Yield all documents, finished or not."""
        return iter_documents(self.paths, self.defaults) if self.documents is None else iter(self.documents)

    def iter_open(self) -> Iterator[Document]:
        """Yield the documents that are not finished."""
        return islice(self.iter_all(), self.finished, None)

    def run(self) -> Iterator[ValuedChunk]:
        """Yield the results chunk by chunk, in input order. The index is saved after the last chunk."""
        finder = None if self.dedup is None else DuplicateFinder(self.dedup)
        if self.embed is None and finder is not None:
            for prepared in self._prepare(None, self.iter_open(), CHUNK):
                yield value_prepared(prepared, [None] * len(prepared.ids), self.context, self.keep_filter, finder)
        elif self.embed is None:
            work = partial(value_chunk, context=self.context, keep_filter=self.keep_filter)
            yield from self.executor.map(work, split_into_chunks(self.iter_open(), CHUNK))
        elif self.context.mode == "leave-one-out":
            yield from self._run_twice(self.embed, finder)
        else:
            yield from self._run_once(self.embed, finder)

    def _run_once(self, embed: TraceEmbedder, finder: DuplicateFinder | None) -> Iterator[ValuedChunk]:
        from fairtrial.valuation.opened_index import open_index  # the help of a command needs no numpy

        with write_lock(self.index) if self.index and is_locked_long(self.context.mode, self.index) else nullcontext():
            index = open_index(
                self.context.mode,
                self.index,
                embedder=self.context.embedder,
                extend=self.extend,
                ttl=self.ttl,
                approximate=self.approximate,
            )
            yield from self._run_with(index, embed, finder)
            index.save()

    def _run_with(
        self, index: NoveltyIndex, embed: TraceEmbedder, finder: DuplicateFinder | None
    ) -> Iterator[ValuedChunk]:
        remembered = islice(self.iter_all(), self.finished - self.remembered, self.finished)
        for prepared in self._prepare(embed, remembered):
            if prepared.ids:
                index.nearest(prepared.ids, prepared.vectors, prepared.digests)
            yield _report_embedded(prepared)
        for prepared in self._prepare(embed, self.iter_open()):
            nearest = index.nearest(prepared.ids, prepared.vectors, prepared.digests) if prepared.ids else []
            yield value_prepared(prepared, nearest, self.context, self.keep_filter, finder)

    def _run_twice(self, embed: TraceEmbedder, finder: DuplicateFinder | None) -> Iterator[ValuedChunk]:
        """Embed all documents, then value them: the first novelty is known only after the last vector.

        The second pass reads the documents again, so that they are never all held. A resumed valuation needs all
        vectors, too.
        """
        import numpy as np

        from fairtrial.valuation.nearest_rows import leave_one_out

        ids: list[str] = []
        vectors = []
        limits: list[Reservations] = []
        for prepared in self._prepare(embed, self.iter_all()):
            ids += prepared.ids
            limits += prepared.limits
            vectors += [prepared.vectors] if prepared.ids and prepared.vectors is not None else []
            yield _report_embedded(prepared)
        finished = islice(self.iter_all(), self.finished)
        finished_traces = sum(isinstance(parse_document(document), ReasoningTrace) for document in finished)
        rows = np.concatenate(vectors) if ids else np.empty((0, 0), dtype=np.float32)
        nearest = islice(leave_one_out(ids, rows) if ids else [], finished_traces, None)
        for chunk in split_into_chunks(self.iter_open(), CHUNK):
            prepared = prepare_chunk(chunk, None)
            count = len(prepared.ids)
            part = slice(finished_traces, finished_traces + count)
            prepared = prepared._replace(vectors=rows[part], limits=limits[part])
            finished_traces += count
            yield value_prepared(prepared, list(islice(nearest, count)), self.context, self.keep_filter, finder)

    def _prepare(
        self, embed: TraceEmbedder | None, documents: Iterable[Document], size: int = EMBEDDED_CHUNK
    ) -> Iterator[PreparedChunk]:
        return self.executor.map(partial(prepare_chunk, embed=embed), split_into_chunks(documents, size))


def _report_embedded(prepared: PreparedChunk) -> ValuedChunk:
    """Return the result of documents that were embedded only."""
    return ValuedChunk([], [], [], [], len(prepared.documents))
