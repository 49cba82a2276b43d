"""Send a message of the user in a session of any kind."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, cast

from fairtrial.protocols import Closable, Item, PartsSession, Session

if TYPE_CHECKING:
    from fairtrial.records.trace import Part


async def send_message(session: Session, text: str, parts: Sequence[Part] = ()) -> AsyncGenerator[Item, None]:
    """Yield the items of a session, and close its generator at once instead of at garbage collection."""
    # That the agent takes parts was checked before the run.
    items = cast("PartsSession", session).send(text, parts) if parts else session.send(text)
    try:
        async for item in items:
            yield item
    finally:
        if isinstance(items, Closable):
            await items.aclose()
