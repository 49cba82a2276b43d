"""Share models among the workers of a data set. This process makes all calls, and keeps each reply once."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from fairtrial.api.call_journal import SECONDS, CallEntry, CallJournal, NotedMapping
from fairtrial.api.connection import connected
from fairtrial.api.run_canaries import RunCanaries
from fairtrial.api.stores import open_store
from fairtrial.llm.batch_book import BatchBook
from fairtrial.llm.batch_outbox import BatchOutbox
from fairtrial.llm.budget import Budget
from fairtrial.llm.call_cache import CallCache
from fairtrial.llm.call_server import CallServer
from fairtrial.llm.model_pool import HasModel, HasPanel, find_models
from fairtrial.llm.remote_calls import Link, RemoteModel, keep_ballot
from fairtrial.planned_case import PlannedCase
from fairtrial.records.case import EvalCase

if TYPE_CHECKING:
    from fairtrial.api.run_batches import OnBatch
    from fairtrial.judge.judges import Judges
    from fairtrial.llm.model import NamedModel
    from fairtrial.records.ballot import Ballot
    from fairtrial.records.reply import Reply
    from fairtrial.records.result import Criterion
    from fairtrial.records.run import RunInfo
    from fairtrial.store import Store

KEPT_CALLS = "judge.db"
"""The file in the folder of a data set that keeps the replies and the ballots of its judges. It is a store."""


BATCHES = "batches.db"
"""The file in the folder of a data set that keeps which batches are at a provider, as long as there are any."""


def open_call_store(folder: Path) -> Store:
    """Open the store of the replies and the ballots of a data set."""
    return open_store(f"sqlite:///{folder / KEPT_CALLS}")


def asks_models(criterion: Criterion) -> bool:
    """Whether a criterion asks a model."""
    return bool(find_models(criterion.metric))


@dataclass(frozen=True)
class SharedModels:
    """The criteria of a run for workers, and the address of the process that calls their models, if they ask any.

    `notes` are what people should know about the models. `alarms` are about judges that have changed.
    """

    criteria: tuple[Criterion, ...]
    link: Link | None = None
    notes: Sequence[str] = ()
    alarms: Sequence[str] = ()
    _server: CallServer | None = None
    _outbox: BatchOutbox | None = None
    _loop: asyncio.AbstractEventLoop | None = None

    @property
    def asks_in_batches(self) -> bool:
        """Whether the calls go into batches."""
        return self._outbox is not None

    def exchange(self) -> None:
        """Submit the calls that were collected as batches, and wait for their replies, which may take a day."""
        if self._outbox is not None and self._loop is not None:
            asyncio.run_coroutine_threadsafe(self._outbox.exchange(), self._loop).result()

    def end_batches(self) -> None:
        """End the batches, because every question has been asked."""
        if self._outbox is not None:
            self._outbox.is_closed = True

    def check(self) -> None:
        """Raise the first error that makes every further call useless, if there was one."""
        if self._server is not None and self._server.failure is not None:
            raise self._server.failure


@contextmanager
def shared_models(
    criteria: Sequence[Criterion],
    judges: Judges,
    folder: Path,
    info: RunInfo,
    host: str,
    on_batch: OnBatch,
    journal: CallJournal | None = None,
) -> Iterator[SharedModels]:
    """Call the models of criteria for workers during the block. Replies and ballots are kept in the folder.

    `host` is the address at which the workers reach this machine. `on_batch` receives what happens to batches. The
    replies and the ballots are also in the `journal`, if there is one. Raises UsageError if a model cannot be called.
    """
    thread = _ModelThread(tuple(criteria), judges, folder, info, host, on_batch, journal)
    thread.start()
    try:
        yield thread.ready.result()
        thread.is_finished = True
    finally:
        thread.stop()


class _ModelThread(threading.Thread):
    """The loop of the models. The thread of the caller waits for workers meanwhile."""

    def __init__(
        self,
        criteria: tuple[Criterion, ...],
        judges: Judges,
        folder: Path,
        info: RunInfo,
        host: str,
        on_batch: OnBatch,
        journal: CallJournal | None,
    ) -> None:
        super().__init__(name="fairtrial-models", daemon=True)
        self._journal = journal
        self.ready: Future[SharedModels] = Future()
        self.is_finished = False
        self._criteria, self._judges, self._folder = criteria, judges, folder
        self._info, self._host, self._on_batch = info, host, on_batch
        self._ending: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    def run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001  (raised again in the thread of the caller)
            if not self.ready.done():
                self.ready.set_exception(error)

    def stop(self) -> None:
        """End the calls in flight, and wait until the thread has ended."""
        if self._ending is not None:
            loop, event = self._ending
            with suppress(RuntimeError):  # the loop has ended already, because a model cannot be called
                loop.call_soon_threadsafe(event.set)
        self.join()

    async def _serve(self) -> None:
        stop = asyncio.Event()
        self._ending = asyncio.get_running_loop(), stop
        async with AsyncExitStack() as stack:
            store = open_call_store(self._folder)
            stack.callback(store.close)
            store.begin(self._info)
            replies, ballots = self._journal_entries(store.replies(self._info.id), store.ballots(self._info.id))
            cache = CallCache(replies)
            outbox = self._outbox(stack, cache)
            case, notes = PlannedCase(0, "", EvalCase(""), self._criteria), list[str]()
            options = self._judges.models
            connection = connected([case], options, cache, ballots, notes.append, outbox)
            connect = await stack.enter_async_context(connection)
            own_canaries = RunCanaries(self._judges.canaries, notes.append)
            stack.callback(own_canaries.cancel)
            if own_canaries.number:
                connect = await own_canaries.before(connect, [case])
            models: list[NamedModel] = []
            criteria = tuple(_remote(criterion, models) for criterion in connect(case).criteria)
            server = CallServer(models, lambda ballot: ballots.__setitem__(ballot.id, ballot))
            link = await stack.enter_async_context(server.listening(self._host))
            loop = asyncio.get_running_loop()
            alarms: list[str] = []
            self.ready.set_result(SharedModels(criteria, link, notes, alarms, server, outbox, loop))
            while not stop.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), None if self._journal is None else SECONDS)
                if self._journal is not None:
                    await asyncio.to_thread(self._journal.upload)
            if self.is_finished:
                alarms += await own_canaries.after()

    def _journal_entries(
        self, replies: MutableMapping[str, Reply], ballots: MutableMapping[str, Ballot]
    ) -> tuple[MutableMapping[str, Reply], MutableMapping[str, Ballot]]:
        """Return mappings whose entries also go into the journal, after its earlier entries are in the mappings."""
        journal = self._journal
        if journal is None:
            return replies, ballots
        journal.restore(replies, ballots)
        return (
            NotedMapping(replies, lambda key, reply: journal.add(CallEntry(key, reply=reply))),
            NotedMapping(ballots, lambda key, ballot: journal.add(CallEntry(key, ballot=ballot))),
        )

    def _outbox(self, stack: AsyncExitStack, cache: CallCache) -> BatchOutbox | None:
        options = self._judges.models
        if options.batch is None:
            return None
        return BatchOutbox(
            stack.enter_context(BatchBook(self._folder / BATCHES)),
            cache.replies,
            options.budget or Budget(),
            options.batch.most_requests,
            options.batch.poll,
            self._on_batch,
        )


def _remote(criterion: Criterion, models: list[NamedModel]) -> Criterion:
    """Return a criterion for workers, and add its models to those that this process calls."""

    def remote(model: NamedModel) -> NamedModel:
        models.append(model)
        return model.through(RemoteModel(len(models) - 1))

    return with_models(criterion, remote, keep_ballot)


def with_models(
    criterion: Criterion, change: Callable[[NamedModel], NamedModel], keep: Callable[[Ballot], None]
) -> Criterion:
    """Return a criterion with other models in place of its models. `keep` receives its ballots."""
    fields: dict[str, Any] = {}
    for name, field in find_models(criterion.metric).items():
        owner: Any = field
        if isinstance(field, HasPanel):
            fields[name] = dataclasses.replace(owner, panel=tuple(map(change, field.panel)), keep=keep)
        elif isinstance(field, HasModel):
            fields[name] = dataclasses.replace(owner, model=change(owner.model), keep=keep)
    if not fields:
        return criterion
    metric: Any = criterion.metric
    return replace(criterion, metric=dataclasses.replace(metric, **fields))
