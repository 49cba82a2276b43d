"""What are the traces of files, or of a stored run, worth? Puts together what `fairtrial value` needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from msgspec.structs import replace as replace_fields

from fairtrial.errors import UsageError
from fairtrial.records.attempt import Recording
from fairtrial.records.result import CaseResult, Verdict
from fairtrial.valuation import embed as embedding
from fairtrial.valuation import job as jobs
from fairtrial.valuation import resume, source
from fairtrial.valuation.batch import ChunkResult, KeepFilter, Redacted, cores
from fairtrial.valuation.dimensions import weights_of
from fairtrial.valuation.single import WITHOUT, shared_cache, value
from fairtrial.valuation.trace_value import ScoringContext

__all__ = ["KeepFilter", "PlannedValuation", "ValueOptions", "plan_value", "shared_cache", "value"]


@dataclass(frozen=True)
class ValueOptions:
    """The options of a valuation, as the user gave them; the same names as on the command line."""

    profile: str = "default"
    novelty: str = "sequence"
    index: Path | None = None
    extend: bool = False
    ttl: float | None = None
    embedder: str | None = None
    confidence: float | None = None
    success: bool | None = None
    gate: KeepFilter = KeepFilter()  # a tuple
    jobs: int | None = None


@dataclass(frozen=True)
class PlannedValuation:
    """A valuation that is ready to run: what to do, and what to say beforehand."""

    job: jobs.Job
    notes: tuple[str, ...]

    def results(self) -> Iterator[ChunkResult]:
        """Yield the results in input order, chunk by chunk."""
        return jobs.run(self.job)

    def after(self, lines: Iterator[bytes]) -> tuple[PlannedValuation, list[float | None]]:
        """Return what is left to do after the lines of a broken-off output, and the scores that it holds.

        UsageError where the lines are not what this valuation gives.
        """
        before = resume.resumed(self.job, lines)
        return replace(self, job=before.rest(self.job)), before.scores

    def redacted(self, scores: Sequence[float | None]) -> Iterator[Redacted]:
        """Yield what was taken out of the first traces before they were kept, given their scores."""
        return resume.redacted(self.job, scores)


def plan_value(
    paths: Sequence[str], asked: ValueOptions, *, from_run: str | None = None, store: str | None = None
) -> PlannedValuation:
    """Return a valuation of files, or of the traces of a stored run; UsageError for what cannot be done.

    Of a stored run, success is what the verdicts of its cases say: passed or failed; any other verdict says nothing.
    """
    weights_of(asked.profile)
    if asked.confidence is not None and not 0.0 <= asked.confidence <= 1.0:
        raise UsageError(f"--confidence: must be a number from 0 to 1, got {asked.confidence!r}")
    if asked.ttl is not None and not asked.ttl > 0:
        raise UsageError(f"--ttl: must be more than 0 seconds, got {asked.ttl!r}")
    notes: list[str] = []
    if asked.embedder is None:
        embed = embedding.installed_embedder()
        notes += [] if embed is not None else [WITHOUT]
    else:
        embed = embedding.embedder(asked.embedder)
    jobs.check_mode(asked.novelty, index=asked.index, embedded=embed is not None)
    if asked.novelty == "corpus" and not _exists(asked.index):
        notes.append(f"{asked.index}: made from these traces; there was nothing to search yet, so every novelty is 0.5")
    if asked.index is not None and not asked.index.absolute().parent.is_dir():
        raise UsageError(f"--index: {asked.index}: its folder does not exist, so that it could not be saved")
    if asked.ttl is not None and asked.index is None:
        raise UsageError("--ttl needs --index: it says how long what the index holds counts")
    said = source.Defaults(asked.confidence, asked.success)
    files = [] if from_run is not None else source.files(paths)
    if asked.novelty == "leave-one-out" and Path("-") in files:
        raise UsageError("novelty 'leave-one-out' reads its input twice, which standard input does not allow")
    return PlannedValuation(
        jobs.Job(
            files,
            terms=ScoringContext(
                profile=asked.profile,
                mode=asked.novelty if embed is not None else "none",
                embedder=embedding.name_of(embed),
            ),
            embed=embed,
            gate=asked.gate,
            index=asked.index,
            extend=asked.extend,
            ttl=asked.ttl,
            jobs=asked.jobs or cores(),
            said=said,
            given=None if from_run is None else _of_run(from_run, store, said),
        ),
        tuple(notes),
    )


def _of_run(run_id: str, store: str | None, said: source.Defaults) -> list[source.Document]:
    from fairtrial.store import DEFAULT_URL, Store  # SQL is imported only where it is used

    opened = Store(store or DEFAULT_URL, create=False)
    try:
        run = opened.run(run_id)
        results = {(result.position, result.attempt): result for result in opened.results(run.id)}
        found = list(
            chain.from_iterable(
                _of_recording(recording, results.get((position, recording.attempt)), run.id, said)
                for position, recording in opened.recordings(run.id)
            )
        )
    finally:
        opened.close()
    if not found:
        raise UsageError(f"--from-run: the run {run.id} keeps no traces; value the files that it scored instead")
    return found


def _of_recording(
    recording: Recording, result: CaseResult | None, run_id: str, said: source.Defaults
) -> Iterator[source.Document]:
    """Yield the reasoning of one stored recording, under the name that reports give to its case."""
    if result is None:
        return source.recorded([recording], said, run_id)
    named = replace_fields(recording, case_id=result.title)
    return source.recorded([named], said._replace(verdict=_success(result.verdict)), run_id)


def _success(verdict: Verdict | None) -> bool | None:
    """Return what a verdict says of success; None where it says nothing."""
    return verdict is Verdict.PASSED if verdict in {Verdict.PASSED, Verdict.FAILED} else None


def _exists(index: Path | None) -> bool:
    return index is not None and index.exists()
