"""The manifest of a run."""

from __future__ import annotations

from fairtrial.records.record import Json, Record
from fairtrial.records.result import Verdict


class RunInfo(Record, frozen=True):
    """The manifest of a run. It suffices to repeat the run, and to refuse a resume with other options.

    `started` and `finished` are in ISO 8601. `finished` is None if the run was interrupted.
    """

    id: str
    started: str
    version: str
    kind: str
    config: dict[str, Json] = {}
    signatures: dict[str, Json] = {}
    finished: str | None = None
    seconds: float | None = None
    verdict: Verdict | None = None

    @property
    def informs(self) -> bool:
        """Whether its configuration is of a kind that cannot state thresholds."""
        return bool(self.config.get("informs"))
