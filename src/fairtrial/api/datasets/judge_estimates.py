"""Estimate the judge costs of a data set from its first conversations, before any call is made."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.api.datasets.shard_scoring import ShardScorer, choose_cases
from fairtrial.api.datasets.shared_models import asks_models, with_models
from fairtrial.llm.address import address
from fairtrial.llm.batch_services import DISCOUNT
from fairtrial.llm.model import DeferredCallError, NamedModel
from fairtrial.llm.model_pool import discard
from fairtrial.llm.token_counts import expected_price
from fairtrial.llm.vertex_service import NAME as VERTEX
from fairtrial.planned_case import PlannedCase
from fairtrial.scoring import score_case
from fairtrial.system.event_loop import blocking, own_tasks

if TYPE_CHECKING:
    from fairtrial.judge.judges import Judges
    from fairtrial.loading.shards import Shard
    from fairtrial.records.reply import Prompt, Reply

_SAMPLED = 20


@dataclass
class _Counted:
    """The calls of the first waves so far, and the expected price of those whose models have a known price."""

    calls: int = 0
    priced_calls: int = 0
    cost: float = 0.0
    models: dict[str, None] = field(default_factory=dict)
    unpriced: frozenset[str] = frozenset((VERTEX,))

    def add(self, model: NamedModel, prompt: Prompt) -> None:
        """Count a call."""
        self.calls += 1
        self.models[model.name] = None
        if model.model is not None or model.name in self.unpriced:
            return
        price = expected_price(address(model.name, model.endpoint), f"{prompt.system}{prompt.text}")
        if price is not None:
            self.priced_calls += 1
            self.cost += price


@dataclass(frozen=True)
class _CountingModel:
    model: NamedModel
    counted: _Counted

    async def __call__(self, prompt: Prompt) -> Reply:
        self.counted.add(self.model, prompt)
        raise DeferredCallError


def estimate_judges(scorer: ShardScorer, shards: Sequence[Shard], judges: Judges) -> str:
    """Return about how many calls the judges of a data set make, and their cost, or an empty text without judges.

    The first 20 conversations count. Later waves come on top: they ask what the first votes leave open.
    """
    counted = _Counted(unpriced=frozenset((VERTEX, *judges.models.custom_models)))
    criteria = tuple(
        with_models(criterion, lambda model: model.through(_CountingModel(model, counted)), discard)
        for criterion in scorer.criteria
        if asks_models(criterion)
    )
    if not criteria or judges.models.replays:
        return ""
    conversations = blocking(_ask_first(scorer, criteria, shards))
    if not conversations or not counted.calls:
        return ""
    share = DISCOUNT if judges.models.batch is not None else 1.0
    names = ", ".join(counted.models)
    text = f"judges: {names}; at least {counted.calls / conversations:.1f} calls for each conversation"
    if counted.priced_calls < counted.calls:
        return text
    cost = share * counted.cost / conversations
    return f"{text}, about ${1000 * cost:,.2f} for 1,000 conversations{' at half price' if share < 1 else ''}"


async def _ask_first(scorer: ShardScorer, criteria: Any, shards: Sequence[Shard]) -> int:
    """Ask the questions about the first conversations. Return their number."""
    number = 0
    for case, recording in islice(_first_cases(scorer, shards), _SAMPLED):
        number += 1
        earlier_tasks = own_tasks()
        await score_case(replace(case, criteria=criteria), recording)
        if unfinished := own_tasks() - earlier_tasks:
            await asyncio.wait(unfinished)
    return number


def _first_cases(scorer: ShardScorer, shards: Sequence[Shard]) -> Iterator[tuple[PlannedCase, Any]]:
    for shard in shards:
        for _, case, recording in choose_cases(scorer, scorer.items(shard)):
            if isinstance(case, PlannedCase):
                yield case, recording
