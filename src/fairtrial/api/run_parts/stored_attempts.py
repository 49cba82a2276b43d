"""The attempts of a run in a store, read when they are needed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, overload

from msgspec.structs import replace

from fairtrial.records.result import CaseResult, Verdict
from fairtrial.reports.transcript import Attempts, Transcript, transcripts

if TYPE_CHECKING:
    from fairtrial.analysis.failures.run_failures import FoundAttempt
    from fairtrial.store import Store

_BATCH = 500


class StoredResults(Sequence[CaseResult]):
    """The results of a run as a sequence that reads them from the store."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store = store
        self._run_id = run_id

    def __len__(self) -> int:
        return self._store.count_results(self._run_id)

    def __iter__(self) -> Iterator[CaseResult]:
        return self._store.results(self._run_id)

    @overload
    def __getitem__(self, index: int) -> CaseResult: ...

    @overload
    def __getitem__(self, index: slice) -> list[CaseResult]: ...

    def __getitem__(self, index: int | slice) -> CaseResult | list[CaseResult]:
        """Return the result at a place in file order, or a list of results."""
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return list(self)[index]
            return list(self._store.results(self._run_id, offset=start, limit=max(0, stop - start)))
        place = index + len(self) if index < 0 else index
        results = list(self._store.results(self._run_id, offset=place, limit=1)) if place >= 0 else []
        if not results:
            raise IndexError(f"the run has {len(self)} results, got the index {index}")
        return results[0]

    def __repr__(self) -> str:
        return f"<{len(self)} results of the run {self._run_id}>"


class StoredAttempts:
    """The attempts of a run with the findings of their scoring."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store, self._run_id = store, run_id

    def found_failures(self) -> Iterator[FoundAttempt]:
        """Yield each attempt in file order, with its finding if there is one."""
        from fairtrial.analysis.failures.run_failures import FoundAttempt  # only reports of failures need it

        return (FoundAttempt(*own) for _, own in self._store.found_failures([self._run_id]))

    def transcripts(self, positions: Sequence[int]) -> Iterator[Transcript]:
        """Yield the attempts at the cases at some positions, which are in file order, with their conversations."""
        for start in range(0, len(positions), _BATCH):
            yield from transcripts(self._select(positions[start : start + _BATCH]))

    def _select(self, positions: Collection[int]) -> Attempts:
        store, run_id = self._store, self._run_id
        return Attempts(
            store.results(run_id, positions=positions),
            store.cases(run_id, positions=positions),
            store.recordings(run_id, positions=positions),
        )


def read_transcript(store: Store, run_id: str, result: CaseResult) -> Transcript:
    """Return an attempt with its conversation and its case, and with its decisive step if it failed."""
    at = (result.position,)
    recordings = {recording.attempt: recording for _, recording in store.recordings(run_id, positions=at)}
    expected = next(store.cases(run_id, positions=at), None)
    case = None if expected is None else expected.case
    transcript = Transcript(result, recordings.get(result.attempt), case)
    if transcript.recording is None or result.verdict not in (Verdict.FAILED, Verdict.ERROR):
        return transcript
    from fairtrial.analysis.failures.run_failures import FailureCollector  # most runs have few failures, or none

    collector = FailureCollector()
    collector.add_case([(own, recordings.get(own.attempt)) for own in store.results(run_id, positions=at)], case)
    return replace(transcript, failed=next((own for own in collector.failed if own.attempt == result.attempt), None))
