"""Value the traces of files, or of a stored run. Composes everything that `fairtrial value` needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from msgspec.structs import replace

from fairtrial.api.value.valuation_resume import read_finished, redact_finished, skip_finished
from fairtrial.api.value.valuation_stages import Valuation
from fairtrial.batch.executors import ProcessPool, count_cores
from fairtrial.batch.shard_log import cut_to_whole_lines, iter_lines
from fairtrial.batch.sinks import JsonLines, JsonStream, Parquet, Sink
from fairtrial.errors import UsageError, lacks_extra, spell
from fairtrial.loading.documents import TraceDefaults, document_files, documents_of_recordings
from fairtrial.records.result import CaseResult, Verdict
from fairtrial.records.value_row import RedactionRow, ValueRow
from fairtrial.reports.value.value_report import ValueReport
from fairtrial.system.unreadable_rows import EXPLANATION
from fairtrial.text.display import count
from fairtrial.text.redaction.redact import make_finders
from fairtrial.valuation import embed as embedding
from fairtrial.valuation.chunk import Document, KeepFilter, ValuedChunk
from fairtrial.valuation.dimensions import find_weights
from fairtrial.valuation.near_duplicates import DedupOptions
from fairtrial.valuation.novelty_index import check_mode
from fairtrial.valuation.single import WITHOUT_EMBEDDER
from fairtrial.valuation.trace_value import ScoringContext
from fairtrial.valuation.whole_trace import choose_part

if TYPE_CHECKING:
    from fairtrial.records.attempt import Recording

__all__ = [
    "PlannedValuation",
    "ValueOptions",
    "ValueOutputs",
    "ValueReport",
    "ValuedChunk",
    "plan_value",
]

PATIENCE = 16
"""Without an embedder a chunk takes milliseconds, so only more chunks than this pay for starting processes."""


@dataclass(frozen=True)
class ValueOptions:
    """The options of a valuation, under their names on the command line."""

    profile: str = "default"
    novelty: str = "sequence"
    novelty_of: str = "contents"
    index: Path | None = None
    extend: bool = False
    ttl: float | None = None
    approximate: bool = False
    embedder: str | None = None
    confidence: float | None = None
    success: bool | None = None
    jobs: int | None = None
    dedup: bool = False
    dedup_similarity: float | None = None
    dedup_cosine: float | None = None

    @property
    def dedup_options(self) -> DedupOptions | None:
        """When a trace repeats another, or None if duplicates are not looked for."""
        limits = {"similarity": self.dedup_similarity, "cosine": self.dedup_cosine}
        given = {name: limit for name, limit in limits.items() if limit is not None}
        if not self.dedup:
            if given:
                limit = spell(f"dedup_{next(iter(given))}")
                raise UsageError(
                    f"{limit} needs {spell('dedup')}: it says when two traces are duplicates", code="missing-option"
                )
            return None
        if find_spec("numpy") is None:
            raise UsageError(lacks_extra(spell("dedup"), "select"), code="missing-package")
        options = DedupOptions(**given, approximate=self.approximate)
        options.check()
        return options


@dataclass(frozen=True)
class ValueOutputs:
    """The outputs of a valuation, under their names on the command line. `stream` takes the rows of `--json`."""

    stream: BinaryIO | None = None
    output: Path | None = None
    resume: bool = False
    parquet: Path | None = None
    keep: Path | None = None
    keep_private: bool = False
    redact: str | None = None
    redactions: Path | None = None
    threshold: float | None = None
    fail_under: float | None = None

    @property
    def keep_filter(self) -> KeepFilter:
        """Which traces are kept."""
        return KeepFilter(
            self.threshold, keep=self.keep is not None, keep_private=self.keep_private, people=self.redact == "people"
        )

    def check(self, inputs: Sequence[str]) -> None:
        """Raise UsageError for options that do not fit together, and for an output that is an input."""
        self._check_keep()
        if self.resume and self.output is None:
            raise UsageError(
                f"{spell('resume')} needs {spell('output')}: the finished rows are read from it", code="missing-option"
            )
        if self.resume and "-" in inputs:
            raise UsageError(
                f"{spell('resume')} reads its input from the start, which standard input does not allow",
                code="input-read-twice",
            )
        for name, limit in ((spell("threshold"), self.threshold), (spell("fail_under"), self.fail_under)):
            if limit is not None and not 0.0 <= limit <= 1.0:
                raise UsageError(f"{name}: must be a number from 0 to 1, got {limit!r}")
        paths_in_use = {Path(path).resolve() for path in inputs}
        for path in (self.output, self.parquet, self.keep, self.redactions):
            if path is not None and path.resolve() in paths_in_use:
                raise UsageError(
                    f"{path}: would be written over, as an input or by another output", code="would-overwrite"
                )
            paths_in_use |= {path.resolve()} if path is not None else set()

    def _check_keep(self) -> None:
        """Raise UsageError for options about kept traces without --keep."""
        if self.keep is not None and self.threshold is None:
            raise UsageError(
                f"{spell('keep')} needs {spell('threshold')}: the least score of a trace that is kept",
                code="missing-option",
            )
        if self.redact is not None and self.keep is None:
            raise UsageError(
                f"{spell('redact')} needs {spell('keep')}: only kept traces are redacted", code="missing-option"
            )
        make_finders(people=self.redact == "people")  # raises if the library is missing
        if self.keep_private and self.keep is None:
            raise UsageError(
                f"{spell('keep_private')} needs {spell('keep')}: it says which traces are kept", code="missing-option"
            )
        if self.redactions is not None and self.keep is None:
            raise UsageError(
                f"{spell('redactions')} needs {spell('keep')}: only kept traces are redacted", code="missing-option"
            )


@dataclass(frozen=True)
class PlannedValuation:
    """A valuation that was checked and is ready to run. `notes` are worth showing before it runs."""

    valuation: Valuation
    outputs: ValueOutputs
    notes: tuple[str, ...]

    def run(self, *, on_resume: Callable[[int], None], on_chunk: Callable[[ValuedChunk], None]) -> ValueReport:
        """Write all outputs and return the report.

        `on_resume` is called with the number of rows that were already finished, `on_chunk` with each chunk after it
        was written.
        """
        outputs, valuation = self.outputs, self.valuation
        report = ValueReport(outputs.threshold, outputs.fail_under)
        redactions: list[RedactionRow] = []
        if outputs.resume and outputs.output is not None and outputs.output.exists():
            valuation, redactions = self._resume(outputs.output, report)
            on_resume(valuation.finished)
        with ExitStack() as stack:
            sinks = _Sinks(outputs, stack)
            sinks.write_finished(redactions)
            for chunk in valuation.run():
                sinks.write(chunk)
                report.add(chunk)
                on_chunk(chunk)
        return report

    def _resume(self, output: Path, report: ValueReport) -> tuple[Valuation, list[RedactionRow]]:
        """Cut half-written lines, and return the rest of the valuation and what was redacted before."""
        cut_to_whole_lines(output)
        finished_rows = read_finished(self.valuation, iter_lines(output), output)
        keep, keep_filter = self.outputs.keep, self.valuation.keep_filter
        kept_count = sum(map(keep_filter.passes, finished_rows.scores, finished_rows.private))
        if keep is not None and keep.exists():
            cut_to_whole_lines(keep, kept_count)
        elif kept_count:
            raise UsageError(
                f"{spell('resume')}: {keep}: does not exist, although the run kept {count(kept_count, 'trace')}; "
                f"use a new {spell('output')}",
                code="no-such-file",
            )
        redactions = list(redact_finished(self.valuation, finished_rows))
        report.add_finished(finished_rows.scores, redactions)
        return skip_finished(self.valuation, finished_rows), redactions


class _Sinks:
    """All outputs of a valuation."""

    def __init__(self, outputs: ValueOutputs, stack: ExitStack) -> None:
        self._outputs = outputs
        append = outputs.resume
        self._redactions = stack.enter_context(JsonLines(outputs.redactions)) if outputs.redactions else None
        self._parquet = stack.enter_context(_open_parquet(outputs.parquet)) if outputs.parquet else None
        output = stack.enter_context(JsonLines(outputs.output, append=append)) if outputs.output else None
        self._keep = stack.enter_context(JsonLines(outputs.keep, append=append)) if outputs.keep else None
        stream = stack.enter_context(JsonStream(outputs.stream)) if outputs.stream else None
        self._rows: list[Sink] = [sink for sink in (output, stream, self._parquet) if sink is not None]

    def write_finished(self, redactions: Sequence[RedactionRow]) -> None:
        """Write the finished rows of a resumed output to the outputs that are made anew."""
        output = self._outputs.output
        if self._redactions:
            self._redactions.write(redactions)
        if self._parquet and self._outputs.resume and output is not None and output.exists():
            self._parquet.write_json(iter_lines(output))

    def write(self, chunk: ValuedChunk) -> None:
        """Write a chunk. Kept traces come before the rows, so that after a crash no row promises a missing trace."""
        if self._keep:
            self._keep.write(chunk.kept)
        for sink in self._rows:
            sink.write(chunk.rows)
        if self._redactions:
            self._redactions.write(chunk.redactions)


def plan_value(
    paths: Sequence[str],
    options: ValueOptions,
    outputs: ValueOutputs | None = None,
    *,
    from_run: str | None = None,
    store: str | None = None,
) -> PlannedValuation:
    """Return a valuation of files, or of the traces of a stored run. Raises UsageError before anything is written.

    In a stored run the verdict of a case is its success: passed or failed. Any other verdict leaves it unknown.
    """
    outputs = outputs or ValueOutputs()
    files = [] if from_run is not None else document_files(paths)
    outputs.check(files)
    dedup = options.dedup_options
    if dedup is not None and outputs.resume:
        raise UsageError(
            f"{spell('resume')} cannot continue {spell('dedup')}, which compares "
            "each trace with all before it; start anew",
            code="options-conflict",
        )
    _check_options(options, paths, from_run, store)
    notes: list[str] = []
    if options.embedder is None:
        embed = embedding.installed_embedder()
        notes += [] if embed is not None else [WITHOUT_EMBEDDER]
    else:
        embed = embedding.embedder(options.embedder)
    traces_embedder = choose_part(embed, options.novelty_of)
    is_searched_by_graph = options.approximate and (options.novelty == "corpus" or dedup is None)
    check_mode(options.novelty, index=options.index, embedded=embed is not None, approximate=is_searched_by_graph)
    if options.novelty == "corpus" and options.index is not None and not options.index.exists():
        notes.append(f"{options.index}: made from these traces; there is nothing to search yet, so novelty is 0.5")
    if options.index is not None and not options.index.absolute().parent.is_dir():
        raise UsageError(
            f"{spell('index')}: {options.index}: its folder does not exist, so the index could not be saved",
            code="no-such-file",
        )
    defaults = TraceDefaults(options.confidence, options.success)
    if options.novelty == "leave-one-out" and "-" in files:
        raise UsageError(
            "novelty 'leave-one-out' reads its input twice, which standard input does not allow",
            code="input-read-twice",
        )
    valuation = Valuation(
        files,
        context=ScoringContext(
            profile=options.profile,
            mode=options.novelty if embed is not None else "none",
            embedder=embedding.read_name(traces_embedder),
        ),
        embed=traces_embedder,
        keep_filter=outputs.keep_filter,
        index=options.index,
        extend=options.extend,
        ttl=options.ttl,
        approximate=options.approximate,
        executor=ProcessPool(options.jobs or count_cores(), patience=PATIENCE if embed is None else 1),
        defaults=defaults,
        dedup=dedup,
        documents=None if from_run is None else _documents_of_run(from_run, store, defaults, notes),
    )
    return PlannedValuation(valuation, outputs, tuple(notes))


def _check_options(options: ValueOptions, paths: Sequence[str], from_run: str | None, store: str | None) -> None:
    if bool(paths) == bool(from_run):
        raise UsageError(f"give either FILE... or {spell('from_run')} RUN", code="options-conflict")
    if store and not from_run:
        raise UsageError(
            f"{spell('store')} needs {spell('from_run')}: only a stored run is read from it", code="missing-option"
        )
    if options.extend and options.novelty != "corpus":
        raise UsageError(
            f"{spell('extend')} needs {spell('novelty')} corpus: a sequence always "
            "extends its index, leave-one-out has none",
            code="missing-option",
        )
    find_weights(options.profile)
    if options.confidence is not None and not 0.0 <= options.confidence <= 1.0:
        raise UsageError(f"{spell('confidence')}: must be a number from 0 to 1, got {options.confidence!r}")
    if options.ttl is not None and not options.ttl > 0:
        raise UsageError(f"{spell('ttl')}: must be more than 0 seconds, got {options.ttl!r}")
    if options.ttl is not None and options.index is None:
        raise UsageError(
            f"{spell('ttl')} needs {spell('index')}: it is the time to live of the traces in the index",
            code="missing-option",
        )


def _documents_of_run(run_id: str, store: str | None, defaults: TraceDefaults, notes: list[str]) -> list[Document]:
    from fairtrial.store import DEFAULT_URL, Store  # importing SQL takes time that most commands need not spend

    run_store = Store(store or DEFAULT_URL, create=False)
    try:
        run = run_store.run(run_id)
        results = {(result.position, result.attempt): result for result in run_store.results(run.id)}
        documents = list(
            chain.from_iterable(
                _documents_of_attempt(recording, results.get((position, recording.attempt)), run.id, defaults)
                for position, recording in run_store.recordings(run.id)
            )
        )
        if skipped := run_store.count_skipped():
            notes.append(f"{skipped} {EXPLANATION}")
            run_store.forget_skipped()
    finally:
        run_store.close()
    if not documents:
        raise UsageError(
            f"{spell('from_run')}: the run {run.id} holds no traces; value the files that it scored instead",
            code="other-content",
        )
    return documents


def _documents_of_attempt(
    recording: Recording, result: CaseResult | None, run_id: str, defaults: TraceDefaults
) -> Iterator[Document]:
    """Yield the reasoning of one stored recording, under the name that reports give to its case."""
    if result is None:
        return documents_of_recordings([recording], defaults, run_id)
    recording = replace(recording, case_id=result.title)
    return documents_of_recordings([recording], defaults._replace(verdict=_success(result.verdict)), run_id)


def _success(verdict: Verdict | None) -> bool | None:
    """Return whether a verdict means success, or None if it says neither."""
    return verdict is Verdict.PASSED if verdict in {Verdict.PASSED, Verdict.FAILED} else None


def _open_parquet(path: Path) -> Parquet:
    try:
        return Parquet(path, ValueRow)
    except ImportError as error:
        raise UsageError(lacks_extra(spell("parquet"), "parquet"), code="missing-package") from error
