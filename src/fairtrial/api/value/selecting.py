"""Select the best traces of files, or of a Python program. Composes everything for `select`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial.batch.executors import ProcessPool, count_cores, split_into_chunks
from fairtrial.batch.sinks import JsonLines
from fairtrial.errors import FormatError, UsageError, spell
from fairtrial.loading.documents import TraceDefaults, document_files, iter_documents
from fairtrial.records.reasoning import ReasoningTrace, RefusedTrace
from fairtrial.text.redaction.redact import make_finders
from fairtrial.valuation import embed as embedding
from fairtrial.valuation.chunk import Document, parse_document, prepare_chunk, redact_document
from fairtrial.valuation.selected_traces import Candidates, EligibilityCheck, SelectOptions, choose_group, select_traces
from fairtrial.valuation.single import Valuable, as_reasoning, choose_embedder, list_traces
from fairtrial.valuation.trace_value import ScoringContext, StructuralScore, add_novelty, score_structure
from fairtrial.valuation.whole_trace import NoveltyOf, TraceEmbedder, choose_part, embed_traces

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fairtrial.api.arguments import Paths
    from fairtrial.protocols import Embedder
    from fairtrial.records.trace_selection import By, Per, TraceSelection

EMBEDDED_AT_ONCE = 32


@dataclass(frozen=True)
class FileSelection:
    """The selection from files. `refused` names each document that is not a valid trace, with its first problem."""

    selection: TraceSelection
    refused: tuple[str, ...]


def select(
    traces: Paths | Valuable | Iterable[Valuable],
    *,
    budget: int,
    by: By = "verdict",
    per: Per | None = None,
    embedder: str | Embedder | None = "auto",
    novelty_of: NoveltyOf = "contents",
    vectors: ArrayLike | None = None,
    confidence: float | None = None,
    success: bool | None = None,
) -> TraceSelection:
    """Return the best `budget` traces of a set, in the order of their selection, each with its reasons.

    The traces are objects, or the paths of files, folders and URLs, as the command `select` takes them.

    `by` is the goal: the best coverage of the set by traces that passed (`verdict`), the best coverage by any traces,
    or the highest values. A trace whose steps nearly repeat those of an earlier trace is never selected.

    `per` gives equal quotas to the tools, languages or domains of the set. `novelty_of` is the part of a trace that is
    embedded: its objective and contents, or everything (`trace`). `vectors` are the vectors of the traces, if they were
    computed before: one row for each trace. `confidence` and `success` are for traces that do not contain them, as in
    `value`. The same traces always give the same selection. Raises UsageError if options do not fit together, and
    FormatError for an invalid trace.
    """
    defaults = TraceDefaults(confidence, success)
    reasonings = [own for trace in list_traces(traces) for own in _reasonings(trace, defaults)]
    if not reasonings:
        raise UsageError("traces: must hold at least one trace, got none")
    embed = choose_part(choose_embedder(embedder), novelty_of) if vectors is None else None
    name = embedding.read_name(embed) if vectors is None else "vectors"
    SelectOptions(budget=budget, by=by, per=per).check(embedded=name != "none")
    rows = vectors if embed is None else embed_traces(reasonings, embed)
    check = EligibilityCheck(by)
    check.add(reasonings)
    candidates = Candidates(
        [trace.id for trace in reasonings],
        [_score(score_structure(trace)) for trace in reasonings],
        [choose_group(trace, per) for trace in reasonings],
        None if rows is None else _unit_rows(rows, len(reasonings)),
        name,
        frozenset(check.failed),
        frozenset(check.repeated),
    )
    return select_traces(candidates, SelectOptions(budget=budget, by=by, per=per))


def _reasonings(trace: Any, defaults: TraceDefaults) -> Iterator[ReasoningTrace]:
    """Yield a trace of a Python program, or each trace of the files at a path."""
    if not isinstance(trace, str | Path):
        yield as_reasoning(trace, *defaults[:2])
        return
    for document in iter_documents(document_files([str(trace)]), defaults):
        parsed = parse_document(document)
        if isinstance(parsed, RefusedTrace):
            raise FormatError(document.origin, [str(problem) for problem in parsed.problems])
        yield parsed


def select_files(
    paths: Sequence[str],
    *,
    budget: int,
    by: By = "verdict",
    per: Per | None = None,
    embedder: str | None = None,
    novelty_of: NoveltyOf = "contents",
    output: Path | None = None,
    redact: str | None = None,
    confidence: float | None = None,
    success: bool | None = None,
    jobs: int | None = None,
) -> FileSelection:
    """Return the best traces of files, and write them to `output` without their secrets, the best first.

    If `redact` is `people`, personal data is removed from them, too.
    """
    texts_embedder = embedding.installed_embedder() if embedder is None else embedding.embedder(embedder)
    embed = choose_part(texts_embedder, novelty_of)
    if redact is not None and output is None:
        raise UsageError(
            f"{spell('redact')} needs {spell('output')}: only written traces are redacted", code="missing-option"
        )
    make_finders(people=redact == "people")  # raises if the library is missing
    options = SelectOptions(budget=budget, by=by, per=per)
    options.check(embedded=embed is not None)
    files = document_files(paths)
    if "-" in files:
        raise UsageError(
            "select reads its input twice, which standard input does not allow; save it to a file",
            code="input-read-twice",
        )
    if output is not None and output.resolve() in {Path(file).resolve() for file in files}:
        raise UsageError(f"{spell('output')}: {output}: would be written over, as an input", code="would-overwrite")
    defaults = TraceDefaults(confidence, success)
    reading = _Reading(embed, options, ProcessPool(jobs or count_cores()))
    candidates = reading.read(iter_documents(files, defaults))
    if not candidates.ids:
        raise UsageError(
            f"nothing to select from: {'; '.join(reading.refused[:3]) or 'the files hold no trace'}",
            code="other-content",
        )
    selection = select_traces(candidates, options)
    if output is not None:
        _write(output, iter_documents(files, defaults), selection, people=redact == "people")
    return FileSelection(selection, tuple(reading.refused))


class _Reading:
    """Reads documents into candidates. Only ids, values, groups and vectors are held, not the traces."""

    def __init__(self, embed: TraceEmbedder | None, options: SelectOptions, executor: ProcessPool) -> None:
        self._embed, self._options, self._executor = embed, options, executor
        self.refused: list[str] = []

    def read(self, documents: Iterable[Document]) -> Candidates:
        """Return the valid traces of documents."""
        ids: list[str] = []
        scores: list[float] = []
        groups: list[str] = []
        vectors: list[Any] = []
        check = EligibilityCheck(self._options.by)
        chunks = split_into_chunks(documents, EMBEDDED_AT_ONCE)
        for prepared in self._executor.map(partial(prepare_chunk, embed=self._embed), chunks):
            for document, score in zip(prepared.documents, prepared.scores, strict=True):
                if isinstance(score, RefusedTrace):
                    self.refused.append(f"{document.origin}: {score.problems[0]}")
                    continue
                trace = parse_document(document)
                assert isinstance(trace, ReasoningTrace)  # noqa: S101  # only a trace has a score
                check.add([trace])
                ids.append(score.id)
                scores.append(_score(score))
                groups.append(choose_group(trace, self._options.per))
            if prepared.vectors is not None and prepared.ids:
                vectors.append(prepared.vectors)
        name = embedding.read_name(self._embed)
        return Candidates(
            ids, scores, groups, _join_items(vectors), name, frozenset(check.failed), frozenset(check.repeated)
        )


def _score(structural: StructuralScore) -> float:
    """Return the value of a trace with an unknown novelty, because coverage already prefers traces that differ."""
    return add_novelty(structural, None, ScoringContext(mode="none")).score


def _join_items(parts: list[Any]) -> Any:
    import numpy as np

    return np.concatenate(parts) if parts else None


def _unit_rows(vectors: Any, count: int) -> Any:
    import numpy as np

    rows = np.asarray(vectors, dtype=np.float32)
    # Vectors may fill a memory-mapped file. Then nothing of their size is made here.
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows)) if rows.ndim == 2 else np.zeros(0)
    if len(lengths) != count or not np.isfinite(lengths).all():
        raise UsageError(f"vectors: must be {count} rows of finite numbers, got the shape {rows.shape}")
    if np.allclose(lengths, 1.0, atol=1e-3):
        return rows
    return np.divide(rows, lengths[:, None], out=np.zeros_like(rows), where=lengths[:, None] > 0)


def _write(output: Path, documents: Iterator[Document], selection: TraceSelection, *, people: bool) -> None:
    """Write the selected traces in the order of their selection. Of traces with the same id, the first is written."""
    ranks = {trace.id: trace.rank for trace in reversed(selection.traces)}
    clean: dict[int, msgspec.Raw] = {}
    for document in documents:
        trace = parse_document(document)
        rank = ranks.get(trace.id) if isinstance(trace, ReasoningTrace) else None
        if rank is not None and rank not in clean:
            clean[rank] = redact_document(document, people=people)[0]
    with JsonLines(output) as sink:
        sink.write([clean[rank] for rank in sorted(clean)])
