"""What a run was: enough to repeat it, and to refuse a resume that would not be the same run."""

from __future__ import annotations

from fairtrial.records.record import Json, Record
from fairtrial.records.result import Verdict


class RunInfo(Record, frozen=True):
    """What a run was: enough to repeat it, and to refuse a resume that would not be the same run."""

    id: str
    started: str
    version: str
    kind: str
    config: dict[str, Json] = {}
    signatures: dict[str, Json] = {}
    finished: str | None = None
    seconds: float | None = None
    verdict: Verdict | None = None
