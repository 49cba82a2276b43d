"""Connect the models, judges and ballots of one run, from the options of its plan."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable, Iterable, MutableMapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from fairtrial.llm.model import ignore
from fairtrial.llm.model_pool import ConnectsModels, ModelPool, find_models

if TYPE_CHECKING:
    from fairtrial.llm.batch_outbox import BatchOutbox
    from fairtrial.llm.call_cache import CallCache
    from fairtrial.llm.model_options import ModelOptions
    from fairtrial.planned_case import Environments, PlannedCase, Users
    from fairtrial.records.ballot import Ballot
    from fairtrial.records.result import Criterion

T = TypeVar("T")


@asynccontextmanager
async def connected(
    cases: Iterable[PlannedCase],
    options: ModelOptions,
    cache: CallCache,
    ballots: MutableMapping[str, Ballot],
    note: Callable[[str], None] = ignore,
    outbox: BatchOutbox | None = None,
) -> AsyncIterator[Callable[[PlannedCase], PlannedCase]]:
    """Yield a function that puts models of this run behind the criteria, the user and the tools of a case.

    The plan's cases stay as they are, so that a second run of the same plan shares nothing with this one. Raises
    UsageError if a model cannot be called. `note` receives what people should know about a model. Calls go into the
    `outbox` if there is one.
    """

    def keep(ballot: Ballot) -> None:
        ballots[ballot.id] = ballot

    async with ModelPool(options, cache, keep, note, outbox) as pool:
        connection = _Connection(pool)
        for case in cases:
            connection.parts(case)  # all models must be known before the check
        await pool.check()
        yield connection.case


def connect_criterion(criterion: Criterion, pool: ModelPool) -> Criterion:
    """Return a criterion with the models of a pool behind its names."""
    fields: Any = {name: value.connect_models(pool) for name, value in find_models(criterion.metric).items()}
    if not fields:
        return criterion
    metric: Any = criterion.metric
    return replace(criterion, metric=dataclasses.replace(metric, **fields))


class _Connection:
    def __init__(self, pool: ModelPool) -> None:
        self._pool = pool
        self._connected: dict[int, Any] = {}

    def case(self, case: PlannedCase) -> PlannedCase:
        criteria, users, environments = self.parts(case)
        return replace(case, criteria=criteria, users=users, environments=environments)

    def parts(self, case: PlannedCase) -> tuple[tuple[Criterion, ...], Users | None, Environments | None]:
        """Return the criteria, the users and the environments of a case with models of this run behind them."""
        return (
            self._once(case.criteria, self._criteria),
            self._once(case.users, self._factory),
            self._once(case.environments, self._factory),
        )

    def _once(self, item: T, connect: Callable[[T], T]) -> T:
        """Connect an object that many cases share once. The plan keeps it alive, so that its id stays its own."""
        if id(item) not in self._connected:
            self._connected[id(item)] = connect(item)
        connected: T = self._connected[id(item)]
        return connected

    def _criteria(self, criteria: tuple[Criterion, ...]) -> tuple[Criterion, ...]:
        return tuple(map(self._criterion, criteria))

    def _criterion(self, criterion: Criterion) -> Criterion:
        return connect_criterion(criterion, self._pool)

    def _factory(self, factory: Any) -> Any:
        return factory.connect_models(self._pool) if isinstance(factory, ConnectsModels) else factory
