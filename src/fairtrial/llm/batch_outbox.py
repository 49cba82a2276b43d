"""The outbox of judge calls: collects them, submits batches, awaits the replies and keeps them."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from msgspec.structs import replace

from fairtrial.errors import ConfigError, UsageError, spell
from fairtrial.llm.batch_client import LostBatchError
from fairtrial.llm.batch_services import DISCOUNT, BatchResult, BatchService, batch_service
from fairtrial.llm.fences import sendable
from fairtrial.llm.model import CallError, DeferredCallError, RefusedError, UnsentError, call_key, ignore
from fairtrial.llm.provider_refusals import TRANSIENT
from fairtrial.llm.token_counts import expected_price

if TYPE_CHECKING:
    from fairtrial.llm.address import Address
    from fairtrial.llm.batch_book import BatchBook, OpenBatch
    from fairtrial.llm.budget import Budget
    from fairtrial.llm.provider import Provider
    from fairtrial.records.record import Json
    from fairtrial.records.reply import Prompt, Reply

PROVIDERS = ("openai", "anthropic", "google")
"""The providers with a batch interface."""
_MOST_TRIES = 3
_FIRST_WAIT, _LONGEST_WAIT = 2.0, 60.0
_QUEUE_IS_FULL = ("token_limit", "quota", "rate limit", "RESOURCE_EXHAUSTED")
"""Words in a batch refusal that fits when other batches have finished."""


def check_batches(at: Address | None, name: str) -> None:
    """Raise `ConfigError` if a model's provider has no batch interface. A service has no address."""
    if at is None or at.provider not in PROVIDERS or at.known.protocol == "responses":
        raise ConfigError(
            f"{spell('batch_api')}: model {name!r} has no batches; must be a model of {', '.join(PROVIDERS)}"
        )


@dataclass
class BatchOutbox:
    """A run's calls that go into batches. `book` keeps the batches at a provider, `replies` gets the replies.

    Several waves of calls are made: each is collected with `take`, and `exchange` brings its replies. At most
    `most_requests` go into a batch. `note` receives messages about the batches, for people. `deferred` counts the calls
    so far whose replies may come in a later batch.
    """

    book: BatchBook
    replies: MutableMapping[str, Reply]
    budget: Budget
    most_requests: int | None = None
    poll: float | None = None
    note: Callable[[str], None] = ignore
    is_closed: bool = False
    deferred: int = 0
    _services: dict[str, tuple[BatchService, Provider]] = field(init=False, default_factory=dict)
    _names: dict[int, str] = field(init=False, default_factory=dict)
    _failures: dict[str, str] = field(init=False, default_factory=dict)
    _is_full: bool = field(init=False, default=False)
    _has_finished: bool = field(init=False, default=False)

    async def take(self, provider: Provider, key: str, prompt: Prompt) -> NoReturn:
        """Collect a call, unless a batch holds it already.

        Raises `DeferredCallError` as long as its reply may come, and `CallError` if no reply will come.
        """
        if key in self._failures:
            raise CallError(self._failures[key])
        if self.is_closed:
            self.budget.check()
            raise UnsentError("the question came up after the last batch")
        name = hashlib.sha256(key.encode()).hexdigest()[:40]
        is_pending = self.book.is_pending(name)
        if not is_pending or id(provider) not in self._names:
            service, entry = await self._prepare(provider, name, prompt)
            if not is_pending:
                if (tries := self.book.tries(name)) >= _MOST_TRIES:
                    self._failures[key] = f"no reply in {tries} batches"
                    raise CallError(self._failures[key])
                usual_price = expected_price(provider.address, f"{prompt.system}{prompt.text}")
                batch_price = None if usual_price is None else usual_price * DISCOUNT
                self.budget.commit(batch_price)
                self.book.add(name, key, service, entry, batch_price or 0.0)
        self.deferred += 1
        raise DeferredCallError

    async def _prepare(self, provider: Provider, name: str, prompt: Prompt) -> tuple[str, bytes]:
        """Return a call's service name, and its batch entry."""
        request = await provider.request_for(prompt)
        at = provider.address
        # One batch has one set of headers.
        beta = request.headers.get("anthropic-beta", "")
        service = f"{at.provider}/{at.model} at {at.base_url or 'its provider'}{f' ({beta})' if beta else ''}"
        if service not in self._services:
            batches = batch_service(at.known.protocol, at.model, provider.client, request, provider.clean)
            self._services[service] = batches, provider
        self._names[id(provider)] = service
        body = json.loads(request.content)
        body.pop("stream", None)
        return service, self._services[service][0].entry(name, body)

    async def exchange(self) -> None:
        """Submit the collected calls, wait for all batches, and keep their replies.

        Raises UsageError if a provider refuses a batch, or if somebody cancelled a batch. Submitted batches stay at
        the provider, and another process with the same book goes on with it.
        """
        wait, last_text = _FIRST_WAIT, ""
        while True:
            await self._submit()
            batches = self.book.open_batches(self._services)
            if not batches:
                return
            self._has_finished = False
            states = [await self._check(batch) for batch in batches]
            open_states = [state for state in states if state is not None]
            if len(open_states) < len(states):
                self._is_full = False
                wait = _FIRST_WAIT
            if not open_states:
                continue
            total = sum(batch.number for batch, state in zip(batches, states, strict=True) if state is not None)
            noun = "batch" if len(open_states) == 1 else "batches"
            text = f"waiting for {len(open_states)} {noun}: {sum(open_states):,} of {total:,} replies"
            if text != last_text:
                self.note(text)
                last_text = text
            await asyncio.sleep(wait if self.poll is None else self.poll)
            wait = min(_LONGEST_WAIT, 1.5 * wait)

    async def _submit(self) -> None:
        for batch in self.book.open_batches(self._services):
            if batch.id is None:
                await self._find_or_submit(batch)
        if self._is_full:
            return
        for service, (number, cost) in self.book.sums().items():
            if service not in self._services:
                continue
            bill = f", for about ${cost:,.2f} at half price" if cost else ""
            self.note(f"submitting {number:,} {'question' if number == 1 else 'questions'} to {service}{bill}")
            limits = self._services[service][0]
            most = min(limits.most_requests, self.most_requests or limits.most_requests)
            while (batch_to_submit := self.book.begin_batch(service, most, limits.most_bytes)) is not None:
                await self._submit_batch(batch_to_submit)

    async def _find_or_submit(self, batch: OpenBatch) -> None:
        """Go on with a batch whose submission was interrupted."""
        service = self._services[batch.service][0]
        async with aclosing(service.find(batch.tag, batch.start, batch.number)) as identifiers:
            async for identifier in identifiers:
                if not self.book.is_taken(identifier):
                    self.book.set_id(batch, identifier, is_guess=not service.has_tags)
                    self.note(f"found batch {identifier}, which was submitted before")
                    return
        await self._submit_batch(batch)

    async def _submit_batch(self, batch: OpenBatch) -> None:
        service = self._services[batch.service][0]
        try:
            identifier = await service.submit(batch.tag, self.book.entries(batch))
        except LostBatchError as error:
            raise UsageError(
                f"a batch of {batch.number} questions may be lost on its way: {error}; {spell('resume')} looks for it",
                code="cannot-resume",
            ) from None
        except UsageError:
            self.book.release_batch(batch)
            raise
        self.book.set_id(batch, identifier)
        self.note(f"submitted batch {identifier} with {batch.number:,} questions")

    async def _check(self, batch: OpenBatch) -> int | None:
        """Return the number of replies in a batch that is not finished, or None after keeping its replies."""
        if batch.id is None:
            return 0
        state = await self._services[batch.service][0].state(batch.id)
        if not state.is_finished:
            return state.replies
        if state.problem:
            self._refuse(batch, state.problem)
            return None
        if not await self._keep_results(batch) and batch.is_guess:
            self.book.forget_id(batch)
            return None
        self.book.close_batch(batch, count_try=not state.is_cancelled)
        if state.is_cancelled:
            raise UsageError(
                f"batch {batch.id} was cancelled at its provider; its replies so far are kept, "
                f"and {spell('resume')} asks the "
                "other questions in a new batch",
                code="cannot-resume",
            )
        return None

    def _refuse(self, batch: OpenBatch, problem: str) -> None:
        """Let a refused batch's requests be asked again. Raises UsageError unless the provider's queue is full."""
        is_last = len(self.book.open_batches(self._services)) == 1
        text = self._services[batch.service][1].clean(problem)
        if (not is_last or self._has_finished) and any(words.lower() in text.lower() for words in _QUEUE_IS_FULL):
            self.book.release_batch(batch)
            self._is_full = True
            self.note(f"batch {batch.id} has to wait until another has finished: {text}")
            return
        self.book.release_batch(batch)
        raise UsageError(
            f"batch {batch.id} was refused: {text}; {spell('resume')} submits its questions again", code="cannot-resume"
        )

    async def _keep_results(self, batch: OpenBatch) -> bool:
        """Keep a finished batch's replies. Return whether it held any request of ours."""
        service, provider = self._services[batch.service]
        requests = {request.name: request for request in self.book.yield_requests(batch)}
        number, names = len(requests), list[str]()
        assert batch.id is not None  # noqa: S101  (a finished batch has an id)
        async with aclosing(service.results(batch.id)) as results:
            async for result in results:
                request = requests.pop(result.id, None)
                if request is None:
                    continue
                reply, failure = await _parse_result(provider, result)
                self.budget.settle_committed(request.price, reply)
                if reply is not None:
                    self.replies[request.key] = reply
                elif failure:
                    self._failures[request.key] = failure
                else:
                    continue
                names.append(request.name)
        self._has_finished = True
        # The replies are kept before their requests are forgotten, so that a kill between loses nothing.
        self.book.remove(names)
        self.note(f"batch {batch.id} has finished: {len(names):,} of {number:,} questions are answered")
        return len(requests) < number


async def _parse_result(provider: Provider, result: BatchResult) -> tuple[Reply | None, str]:
    """Return the reply or the failure in a result, or neither if the same call may succeed in another batch."""
    if result.status == 0 or result.status in TRANSIENT:
        return None, ""
    try:
        reply = await provider.reply_from(result.status, result.content)
    except RefusedError:
        return None, ""
    except (CallError, UsageError) as error:
        return None, str(error)
    cost = None if reply.cost is None else reply.cost * DISCOUNT
    return replace(reply, cost=cost, text=sendable(reply.text)), ""


@dataclass(frozen=True)
class BatchedModel:
    """A model whose calls go into batches."""

    provider: Provider
    signature: Mapping[str, Json]
    outbox: BatchOutbox

    async def __call__(self, prompt: Prompt) -> Reply:
        """Collect the call. Raises `DeferredCallError` as long as its reply may come."""
        await self.outbox.take(self.provider, call_key(self.signature, prompt), prompt)
