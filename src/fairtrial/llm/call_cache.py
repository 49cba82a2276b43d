"""Nothing is paid for twice: replies by the key of their call, and calls under way that others wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field

from fairtrial.llm.model import call_key
from fairtrial.protocols import Model
from fairtrial.records.record import Json
from fairtrial.records.reply import Prompt, Reply


@dataclass
class CallCache:
    """The replies of a run, kept in the mapping that it is handed; `earlier` are those of a run to be reused."""

    replies: MutableMapping[str, Reply] = field(default_factory=dict)
    earlier: Mapping[str, Reply] = field(default_factory=dict)
    asked: int = 0
    _under_way: dict[str, asyncio.Future[Reply]] = field(init=False, default_factory=dict)

    async def reply(self, key: str, model: Model, prompt: Prompt) -> Reply:
        """Return the reply of that key, asking the model only where nobody has and nobody is."""
        while True:
            known = self.replies.get(key)
            if known is not None:
                return known
            if (reused := self.earlier.get(key)) is not None:
                self.replies[key] = reused
                return reused
            if (other := self._under_way.get(key)) is None:
                return await self._ask(key, model, prompt)
            await asyncio.wait([other])
            if not other.cancelled():
                return other.result()

    async def _ask(self, key: str, model: Model, prompt: Prompt) -> Reply:
        promise: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._under_way[key] = promise
        self.asked += 1
        try:
            reply = await model(prompt)
            self.replies[key] = reply
        except asyncio.CancelledError:
            promise.cancel()
            raise
        except BaseException as error:
            promise.set_exception(error)
            promise.exception()  # nobody may be waiting for it; the caller gets it anyway
            raise
        else:
            promise.set_result(reply)
            return reply
        finally:
            del self._under_way[key]


@dataclass(frozen=True)
class Cached:
    """A model that is asked only what the ledger does not know."""

    model: Model
    signature: Mapping[str, Json]
    ledger: CallCache

    async def __call__(self, prompt: Prompt) -> Reply:
        """Answer from the ledger, else from the model."""
        return await self.ledger.reply(call_key(self.signature, prompt), self.model, prompt)
