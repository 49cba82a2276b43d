"""A cache of calls, so that the same call is never paid twice."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fairtrial.llm.fences import sendable
from fairtrial.llm.model import CallError, call_key
from fairtrial.llm.token_counts import parse_amount, parse_count
from fairtrial.records.reply import Prompt, Reply

if TYPE_CHECKING:
    from fairtrial.protocols import Model
    from fairtrial.records.record import Json


@dataclass
class CallCache:
    """A run's replies by call key. `earlier` holds a run's replies to reuse.

    If two tasks need the same call at the same time, the second waits for the first reply.
    """

    replies: MutableMapping[str, Reply] = field(default_factory=dict)
    earlier: Mapping[str, Reply] = field(default_factory=dict)
    calls: int = 0
    _in_flight: dict[str, asyncio.Future[Reply]] = field(init=False, default_factory=dict)

    async def reply(self, key: str, model: Model, prompt: Prompt) -> Reply:
        """Return the reply for a key. Calls the model only if the reply is neither stored nor in flight."""
        while True:
            stored = self.replies.get(key)
            if stored is not None:
                return stored
            if (earlier := self.earlier.get(key)) is not None:
                self.replies[key] = earlier
                return earlier
            if (pending := self._in_flight.get(key)) is None:
                return await self._call(key, model, prompt)
            await asyncio.wait([pending])
            if not pending.cancelled():
                return pending.result()

    async def _call(self, key: str, model: Model, prompt: Prompt) -> Reply:
        promise: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._in_flight[key] = promise
        self.calls += 1
        try:
            reply = await model(prompt)
            reply = _storable(reply)
            self.replies[key] = reply
        except asyncio.CancelledError:
            promise.cancel()
            raise
        except BaseException as error:
            promise.set_exception(error)
            promise.exception()  # marks the exception as seen, since the caller gets it even if no other task waits
            raise
        else:
            promise.set_result(reply)
            return reply
        finally:
            del self._in_flight[key]


def _storable(reply: Reply) -> Reply:
    """Return a reply that can be stored. A caller's model may put anything into its fields.

    A lone surrogate cannot be stored, and would lose the reply with its cost. Raises `CallError` without a text.
    """
    if not isinstance(reply, Reply) or not isinstance(reply.text, str):
        raise CallError(
            f"the model must return a Reply with a text, got {type(getattr(reply, 'text', reply)).__name__}"
        )
    return Reply(
        text=sendable(reply.text),
        model=sendable(reply.model) if isinstance(reply.model, str) else "",
        input_tokens=parse_count(reply.input_tokens),
        output_tokens=parse_count(reply.output_tokens),
        cost=parse_amount(reply.cost),
        seconds=parse_amount(reply.seconds) or 0.0,
        attempts=parse_count(reply.attempts) or 1,
        stop=sendable(reply.stop) if isinstance(reply.stop, str) else "",
    )


@dataclass(frozen=True)
class Cached:
    """A model that is called only if the cache lacks the reply."""

    model: Model
    signature: Mapping[str, Json]
    cache: CallCache

    async def __call__(self, prompt: Prompt) -> Reply:
        """Answer from the cache, or else from the model."""
        return await self.cache.reply(call_key(self.signature, prompt), self.model, prompt)
