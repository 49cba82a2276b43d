"""Collect the judge questions of a data set's shard, so that they go into batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairtrial.api.datasets.shard_scoring import ShardScorer, choose_cases
from fairtrial.api.run_batches import ask_in_wave
from fairtrial.errors import UsageError
from fairtrial.llm.remote_calls import collect_ballots, connect_to
from fairtrial.planned_case import PlannedCase
from fairtrial.system.event_loop import blocking

if TYPE_CHECKING:
    from fairtrial.loading.shards import Shard


@dataclass(frozen=True)
class ShardAsker:
    """Asks the questions of shards. `scorer` has only the criteria that ask models. It is picklable."""

    scorer: ShardScorer

    def __call__(self, shard: Shard) -> int:
        """Return the number of conversations whose judges have not replied to every question."""
        number: int = blocking(self._ask_all(shard))
        return number

    async def _ask_all(self, shard: Shard) -> int:
        if self.scorer.link is None:
            raise UsageError("no criterion asks a model", code="too-little-data")
        number = 0
        async with connect_to(self.scorer.link) as connection:
            collect_ballots({})
            for _, case, recording in choose_cases(self.scorer, self.scorer.items(shard)):
                if isinstance(case, PlannedCase):
                    number += await ask_in_wave(case, recording, connection)
        return number
