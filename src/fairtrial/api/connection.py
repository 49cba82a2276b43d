"""Which models, judges and ballots belong to one run? They are made when the run starts, from the plan's options."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from msgspec.structs import replace

from fairtrial.judge.judge import Judge
from fairtrial.judge.service import Service
from fairtrial.llm.call_cache import CallCache
from fairtrial.llm.model_options import ModelOptions
from fairtrial.llm.model_pool import ModelPool
from fairtrial.planned_case import PlannedCase
from fairtrial.records.ballot import Ballot
from fairtrial.records.result import Criterion
from fairtrial.simulate.environment import SimulatedEnvironments
from fairtrial.simulate.user import SimulatedUsers

T = TypeVar("T")


@asynccontextmanager
async def connected(
    cases: Iterable[PlannedCase], options: ModelOptions, cache: CallCache, ballots: MutableMapping[str, Ballot]
) -> AsyncIterator[dict[int, PlannedCase]]:
    """Yield the cases of a run by position, with models of its own behind every criterion, user and tool.

    The plan's cases stay as they are, so that a second run of the same plan shares nothing with this one. Raises
    UsageError if a model cannot be called.
    """
    async with ModelPool(options, cache) as pool:
        connection = _Connection(pool, ballots)
        connected_cases = {case.position: connection.case(case) for case in cases}
        await pool.check()
        yield connected_cases


def judges_of(metric: Any) -> Mapping[str, Judge | Service]:
    """Return the judges that are fields of a metric, by the names of the fields."""
    if not dataclasses.is_dataclass(metric) or isinstance(metric, type):
        return {}
    values = {field.name: getattr(metric, field.name) for field in dataclasses.fields(metric)}
    return {name: value for name, value in values.items() if isinstance(value, Judge | Service)}


class _Connection:
    def __init__(self, pool: ModelPool, ballots: MutableMapping[str, Ballot]) -> None:
        self._pool = pool
        self._ballots = ballots
        self._made: dict[int, Any] = {}

    def case(self, case: PlannedCase) -> PlannedCase:
        return replace(
            case,
            criteria=self._once(case.criteria, lambda criteria: tuple(map(self._criterion, criteria))),
            users=self._once(case.users, self._users),
            environments=self._once(case.environments, self._environments),
        )

    def _once(self, planned: T, connect: Callable[[T], T]) -> T:
        """Connect an object that many cases share once; the plan keeps it alive, so that its id stays its own."""
        if id(planned) not in self._made:
            self._made[id(planned)] = connect(planned)
        connected: T = self._made[id(planned)]
        return connected

    def _criterion(self, criterion: Criterion) -> Criterion:
        judges = judges_of(criterion.metric)
        if not judges:
            return criterion
        fields: Any = {name: judge.connected(self._pool, self._keep) for name, judge in judges.items()}
        metric: Any = criterion.metric
        return replace(criterion, metric=dataclasses.replace(metric, **fields))

    def _keep(self, ballot: Ballot) -> None:
        self._ballots[ballot.id] = ballot

    def _users(self, users: Any) -> Any:
        return users.connected(self._pool) if isinstance(users, SimulatedUsers) else users

    def _environments(self, environments: Any) -> Any:
        return environments.connected(self._pool) if isinstance(environments, SimulatedEnvironments) else environments
