"""Sessions that are recorded by the spans of their agent, beside the report of its adapter."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fairtrial.agents.sending import send_message
from fairtrial.agents.tracing.joined_steps import join_turn
from fairtrial.agents.tracing.otel_routes import forget, open_routes
from fairtrial.agents.tracing.span_collection import SpanCollection, collect_spans
from fairtrial.agents.tracing.span_receiver import SpanReceiver
from fairtrial.protocols import Agent, Environment, HidesCalls, Item, Session
from fairtrial.records.trace import About, AgentDetails, Part, Usage

if TYPE_CHECKING:
    from fairtrial.records.case import EvalCase

_QUIET = 0.3
_LONGEST_WAIT = 5.0
"""Seconds without a new span after which a program has sent all spans of a turn, and the longest wait for that."""


def with_spans(agent: Agent) -> Agent:
    """Return an agent whose conversations also hold the contents of its spans.

    Raises UsageError if spans cannot be recorded.
    """
    open_routes()
    receiver = SpanReceiver.open_shared()

    @asynccontextmanager
    async def open_session(case: EvalCase, environment: Environment | None) -> AsyncIterator[Session]:
        collection = SpanCollection()
        with receiver.open_for(collection), collect_spans(collection):
            try:
                async with agent(case, environment) as session:
                    yield SpanSession(session, collection)
            finally:
                forget(collection)

    return open_session


class SpanSession:
    """One conversation. The items of a turn are yielded when the agent has ended, because spans end late."""

    def __init__(self, session: Session, collection: SpanCollection) -> None:
        self._session = session
        self._collection = collection
        self._agents: dict[str, AgentDetails] = {}
        self.incomplete = ""

    @property
    def about(self) -> About | None:
        """The agents as the adapter describes them, and those that only the spans describe."""
        own = self._session.about
        if own is not None and own.agents:
            return own
        others = tuple(self._agents.values())
        return replace(own or About(), agents=others) if own or others else None

    @property
    def hides_calls(self) -> bool:
        """Whether only spans can show calls, and none came."""
        own = self._session
        return isinstance(own, HidesCalls) and own.hides_calls

    async def send(self, message: str, parts: Sequence[Part] = ()) -> AsyncIterator[Item]:
        """Send a message, and yield the items of the adapter and of the spans. Items before an error are kept."""
        self._agents = {}
        items: list[Item] = []
        failure: BaseException | None = None
        open_routes()  # the agent may have set a provider since
        self._collection.is_open = True
        began = time.time()
        try:
            async for item in send_message(self._session, message, parts):
                items.append(item)  # noqa: PERF401  (what came before an error is kept)
            await self._wait_for_programs()
        except Exception as error:  # noqa: BLE001  (raised again below, after the items before it)
            failure = error
        finally:
            self._collection.is_open = False
        turn = join_turn(items, self._collection.take(), began)
        self._agents = {agent.name: agent for agent in turn.agents}
        self.incomplete = self.incomplete or self._collection.gap or turn.gap
        # The span of a request that a server refused is no work: without it, the first call can be tried again.
        is_refused = failure is not None and all(isinstance(item, Usage) and not _tells(item) for item in turn.items)
        for item in () if is_refused else turn.items:
            yield item
        if failure is not None:
            raise failure

    async def _wait_for_programs(self) -> None:
        """Wait until a program has sent the spans of its turn. Spans of this process are there at once."""
        if not self._collection.is_remote:
            return
        end = time.monotonic() + _LONGEST_WAIT
        while time.monotonic() < end:
            if self._collection.size and time.monotonic() - self._collection.latest > _QUIET:
                return
            await asyncio.sleep(_QUIET / 6)


def _tells(usage: Usage) -> bool:
    """Whether a usage says more than the name of its model."""
    return usage != Usage(model=usage.model)
