"""Read the attempts of a run case by case, and count its failure modes. No conversation is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from msgspec.structs import replace

from fairtrial.analysis.failures.failure_tally import EvenSample, FailureTally
from fairtrial.analysis.failures.mode_changes import compare_modes, rates_of_run
from fairtrial.analysis.failures.mode_counts import count_modes
from fairtrial.analysis.failures.modes import LARGEST_DISTANCE
from fairtrial.analysis.failures.named_failures import ReadFailure, estimate_names, names_of_modes, read_failures
from fairtrial.analysis.failures.run_failures import BEFORE_PASSES, FAILED, FINDINGS, FailureCollector, FoundAttempt
from fairtrial.errors import UsageError
from fairtrial.records.failure_mode import Failures, ModeChanges
from fairtrial.records.label import FAILURES
from fairtrial.records.result import Verdict
from fairtrial.reports.transcript import Transcript, transcripts
from fairtrial.system.paused_collector import paused_collector

if TYPE_CHECKING:
    from fairtrial.api.run_parts.stored_attempts import StoredAttempts
    from fairtrial.records.keys import CaseKey
    from fairtrial.reports.report_table import ReportedRun


MOST_PASSES = 2_000
"""The most cases that passed whose properties are compared with those of failures. Of more, it is an even sample."""


@runtime_checkable
class _InStore(Protocol):
    """A run in a store."""

    @property
    def stored_attempts(self) -> StoredAttempts:
        """Its attempts with the findings of their scoring."""
        ...


def find_failures(run: ReportedRun, *, largest_distance: float = LARGEST_DISTANCE) -> Failures:
    """Return the decisive step of each failed attempt, and the modes.

    Raises UsageError if `largest_distance` is not in 0..1.
    """
    check_distance(largest_distance)
    failures, _ = count_failures(run, largest_distance=largest_distance)
    readings = labelled_failures(run, failures)
    if not readings:
        return failures
    names = estimate_names(readings, names_of_modes(failures.modes, run.board_events))
    return replace(failures, names=names, labels=len(readings))


def count_failures(run: ReportedRun, *, largest_distance: float = LARGEST_DISTANCE) -> tuple[Failures, FailureTally]:
    """Return the failures of a run without the labels of people, and the counts behind them."""
    collector = FailureCollector()
    with paused_collector():
        if isinstance(run, _InStore):
            stored = run.stored_attempts
            collect_stored(stored, stored.found_failures(), collector, has_clusters="clusters" in run.info.config)
        else:
            for attempts in by_position(transcripts(run)):
                _collect(attempts, collector)
    tally = collector.tally
    return count_modes(tally, run.info.id, largest_distance=largest_distance, failed=collector.failed), tally


def _collect(attempts: Sequence[Transcript], collector: FailureCollector) -> None:
    collector.add_case([(own.result, own.recording) for own in attempts], attempts[0].case)


def collect_stored(
    stored: StoredAttempts,
    stored_attempts: Iterable[FoundAttempt],
    collector: FailureCollector,
    *,
    has_clusters: bool,
    passes: int = MOST_PASSES,
) -> None:
    """Collect the failures of a run in a store, from its attempts with their findings.

    Conversations are read only where the findings are not enough. Properties of `passes` are read for an even sample of
    so many cases at which an attempt passed. No failure and no mode depends on them.
    """
    cases = [(place, list(own)) for place, own in groupby(stored_attempts, key=lambda own: own.position)]
    sample: EvenSample[int] = EvenSample(passes)
    for position, attempts in cases:
        if passes and _has_pass(attempts):
            sample.add(position)
    positions = {position for position, attempts in cases if not _is_enough(attempts, has_clusters=has_clusters)}
    positions.update(sample.items)
    read = by_position(stored.transcripts(sorted(positions)))
    following = next(read, None)
    for position, attempts in cases:
        if following is not None and following[0].result.position == position:
            _collect(following, collector)
            following = next(read, None)
        elif position not in positions:
            collector.add_found(attempts)


def _has_pass(attempts: Sequence[FoundAttempt]) -> bool:
    return any(own.verdict is Verdict.PASSED for own in attempts)


def _is_enough(attempts: Sequence[FoundAttempt], *, has_clusters: bool) -> bool:
    """Whether the findings of the attempts at a case say all about its failures, and the case needs not be read.

    They do if they are of this version, and if no attempt passed or each failure has a better source than passes.
    """
    findings = [own.finding for own in attempts if own.verdict in FAILED]
    if not findings:
        return _has_pass(attempts) and not has_clusters
    is_compared = _has_pass(attempts)
    return all(
        finding is not None and finding.version == FINDINGS and (not is_compared or finding.evidence in BEFORE_PASSES)
        for finding in findings
    )


def labelled_failures(run: ReportedRun, failures: Failures) -> dict[tuple[int, int], ReadFailure]:
    """Return the failed attempts that people labelled."""
    labels = [label for label in run.labels if label.criterion == FAILURES]
    if not labels:
        return {}
    failed = {(own.position, own.attempt) for own in failures.failed}
    positions = {expected.key: expected.position for expected in run.expected}
    readings = read_failures(labels, positions, run.board_events)
    return {place: reading for place, reading in readings.items() if place in failed}


def check_distance(largest_distance: float) -> None:
    """Raise UsageError if a distance is not in 0..1."""
    if not 0 <= largest_distance <= 1:
        raise UsageError(f"largest_distance must be from 0 to 1, got {largest_distance:g}")


MOST_FAILED = 20_000
"""The most failed attempts of a run whose modes a report shows. They are held in memory while it is written."""


def report_failures(run: ReportedRun) -> Failures | None:
    """Return the failures of a run for its reports, or None if there are too many of them."""
    failed = sum(run.summary.cases.get(verdict, 0) for verdict in FAILED)
    if failed > MOST_FAILED:
        return None
    if not failed:
        return Failures("", run.info.id, 0, 0, 0, 0, ())
    return find_failures(run)


def report_changes(run: ReportedRun, base: ReportedRun) -> ModeChanges | None:
    """Return how the failure modes of a run changed since a base run, or None if one of them has too many failures."""
    now, before = run.failure_modes, base.failure_modes
    if now is None or before is None or not now.failed_attempts:
        return None
    return compare_modes(before, now, rates_of_run(before, case_keys(base)), rates_of_run(now, case_keys(run)))


def case_keys(run: ReportedRun) -> Mapping[int, CaseKey]:
    """Return the identities of the cases of a run by their positions."""
    return {expected.position: expected.key for expected in run.expected}


def by_position(attempts: Iterator[Transcript]) -> Iterator[list[Transcript]]:
    """Yield the attempts at each case together."""
    for _, own in groupby(attempts, key=lambda transcript: transcript.result.position):
        yield list(own)
