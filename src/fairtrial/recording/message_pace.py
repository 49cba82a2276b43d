"""The pace at which the messages of all conversations of a run go to the agent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fairtrial.agents.outages import find_outage
from fairtrial.llm.model import RefusedError, UnsentError
from fairtrial.llm.pacing import Pace
from fairtrial.text.display import describe_error, shorten

_MOST = 1024
"""Conversations that may wait for a reply at once. The concurrency of a run is the lower limit."""


class PaceClosedError(ConnectionError):
    """The agent, or a server behind it, refused so often that no further message is sent."""


class MessagePace:
    """Sends at most a number of messages in a second. After a refusal, all conversations wait."""

    def __init__(self, requests_per_second: float) -> None:
        self._pace = Pace(start=_MOST, most=_MOST, most_a_minute=requests_per_second * 60)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until a message may go out, and learn from the way in which it ends."""
        try:
            ticket = await self._pace.enter()
        except UnsentError as error:
            raise PaceClosedError(str(error)) from None
        try:
            yield
        except Exception as error:
            outage = find_outage(error)
            if outage is not None and outage.is_overload:
                refusal = RefusedError(shorten(describe_error(error), 200), overload=True, after=outage.after)
                self._pace.refuse(ticket, refusal)
            else:
                self._pace.leave()
            raise
        except BaseException:
            self._pace.leave()
            raise
        else:
            self._pace.accept(ticket)
