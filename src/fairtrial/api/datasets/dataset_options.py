"""Options for scoring a data set: how much of it is scored, and which problems stop it."""

from __future__ import annotations

from fairtrial.errors import UsageError, spell
from fairtrial.loading.shards import Columns
from fairtrial.records.record import Record


class DatasetOptions(Record, frozen=True):
    """How a data set is scored into a folder.

    `sample` is a number of conversations, or a share of them below 1. `seed` chooses which. `stratify` is a field: each
    of its values is sampled in proportion. `max_refused` is the share
    of conversations that may be unreadable. `keep_failures` attempts that did not pass go into the store. `carry` names
    fields of the input that become columns of the results.
    """

    columns: Columns | None = None
    sample: float | None = None
    seed: int = 0
    max_refused: float = 0.01
    keep_failures: int = 1000
    stratify: str = ""
    carry: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise UsageError for a value that is not allowed."""
        if self.sample is not None and not (
            0 < self.sample < 1 or (self.sample >= 1 and self.sample == int(self.sample))
        ):
            raise UsageError(
                f"{spell('sample')}: must be a share between 0 and 1, or a whole number, got {self.sample:g}"
            )
        if self.stratify and self.sample is None:
            raise UsageError(
                f"{spell('stratify')}: needs {spell('sample')}, the number or the "
                "share of conversations that are scored",
                code="missing-option",
            )
        if not 0 <= self.max_refused <= 1:
            raise UsageError(f"{spell('max_refused')}: must be a share from 0 to 1, got {self.max_refused:g}")
        if self.keep_failures < 0:
            raise UsageError(f"{spell('keep_failures')}: must be at least 0, got {self.keep_failures}")
