"""What is left to do of a job whose output broke off?"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from fairtrial.errors import UsageError
from fairtrial.formats.knowledgepulse import Refused
from fairtrial.records.reasoning import ReasoningTrace
from fairtrial.valuation import batch
from fairtrial.valuation.batch import Redacted
from fairtrial.valuation.dimensions import UNKNOWN_NOVELTY, structure, total, weights_of
from fairtrial.valuation.job import Job
from fairtrial.valuation.trace_value import ScoringContext


class _Said(msgspec.Struct):
    id: str | None
    score: float | None
    novelty: float | None = None
    embedder: str | None = None


class Before(NamedTuple):
    """What a broken-off output holds: the score of each document (None: refused), and which traces are remembered.

    `recent` are the places and ids of the last traces that were not refused.
    """

    scores: list[float | None]
    recent: Sequence[tuple[int, str]]

    def rest(self, job: Job) -> Job:
        """Return what is left to do of the job that the output is of."""
        done = len(self.scores)
        again = done - self.recent[0][0] if self.recent else 0
        if next(islice(job.all_documents, done, None), None) is None and self._in_index(job.index):
            again = 0  # only the last word was missing: the index had been saved
        return replace(job, skip=done, again=again)

    def _in_index(self, index: Path | None) -> bool:
        from fairtrial.valuation.novelty import VectorCache

        known = VectorCache.load(index).ids if index is not None and index.exists() else ()
        return known[len(known) - len(self.recent) :] == tuple(own_id for _, own_id in self.recent)


def resumed(job: Job, lines: Iterable[bytes]) -> Before:
    """Return what a broken-off output holds.

    UsageError where a line is not what these files give under this job: resuming would mix two outputs.
    """
    recent: deque[tuple[int, str]] = deque(maxlen=_remembered(job))
    scores: list[float | None] = []
    ours = job.all_documents
    for number, line in enumerate(lines, start=1):
        document = next(ours, None)
        try:
            said = msgspec.json.decode(line, type=_Said)
        except msgspec.MsgspecError:
            said = None
        if document is None or said is None or not _agrees(said, trace := batch.read(document), job.terms):
            where = "the end of the input" if document is None else document.origin
            raise UsageError(f"line {number} of the output is not the result of {where} under these options")
        if isinstance(trace, ReasoningTrace):
            recent.append((number - 1, trace.id))
        scores.append(said.score)
    return Before(scores, recent)


def _remembered(job: Job) -> int | None:
    """How many traces that are done count for those that follow; None for all."""
    from fairtrial.valuation.novelty import CAPACITY, VectorCache

    if job.embed is None or job.terms.mode == "leave-one-out":
        return 0
    there = job.index is not None and job.index.exists()
    if job.terms.mode == "corpus":
        return None if job.extend or not there else 0
    return VectorCache.load(job.index).capacity if there and job.index is not None else CAPACITY


def redacted(job: Job, scores: Sequence[float | None]) -> Iterator[Redacted]:
    """Yield again what was taken out of the first documents of a job, given their scores."""
    for document, score in zip(job.all_documents, scores, strict=False):
        if batch.passes(score, job.gate):
            yield from batch.let_through(document)[1]


def _agrees(said: _Said, trace: ReasoningTrace | Refused, terms: ScoringContext) -> bool:
    if said.id != trace.id or isinstance(trace, Refused) or said.score is None:
        return said.id == trace.id and isinstance(trace, Refused) and said.score is None
    expected = total(
        structure(trace), UNKNOWN_NOVELTY if said.novelty is None else said.novelty, weights_of(terms.profile)
    )
    return said.embedder == terms.embedder and abs(expected - said.score) < 1e-9
