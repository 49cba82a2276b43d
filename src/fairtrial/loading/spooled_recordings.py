"""Recordings that stay in a temporary database until somebody needs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

from fairtrial.records.attempt import Recording
from fairtrial.records.decoding import json_decoder

if TYPE_CHECKING:
    from fairtrial.loading.temporary_database import TemporaryDatabase


class SpooledRecording:
    """A recording that stays in a temporary database until somebody needs it."""

    def __init__(self, connection: TemporaryDatabase, place: int, case_id: str) -> None:
        self.case_id = case_id
        self._connection = connection
        self._place = place

    def read(self) -> Recording:
        """Return the recording."""
        query = "SELECT recording FROM recordings WHERE place = ?"
        (encoded,) = self._connection.execute(query, (self._place,)).fetchone()
        return json_decoder(Recording).decode(encoded)


class SpooledRecordings(Sequence[Recording]):
    """Recordings in a temporary database, in their order. Each access reads its recording again."""

    def __init__(self, connection: TemporaryDatabase) -> None:
        query = "SELECT place, case_id FROM recordings ORDER BY place"
        self.references = tuple(
            SpooledRecording(connection, place, case_id.decode("utf-8", "surrogatepass"))
            for place, case_id in connection.execute(query)
        )

    def __len__(self) -> int:
        return len(self.references)

    @overload
    def __getitem__(self, index: int) -> Recording: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Recording]: ...

    def __getitem__(self, index: int | slice) -> Recording | Sequence[Recording]:
        """Return the recording at a place, or the recordings in a part."""
        if isinstance(index, slice):
            return [reference.read() for reference in self.references[index]]
        return self.references[index].read()


def yield_case_ids(recordings: Sequence[Recording]) -> Iterator[str]:
    """Yield the case id of each recording. Recordings on disk are not read for that."""
    holders = recordings.references if isinstance(recordings, SpooledRecordings) else recordings
    return (holder.case_id for holder in holders)
