"""A run's models. Each model is opened once, behind cassette, cache, budget and pace."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from fairtrial.errors import ConfigError, UsageError, spell
from fairtrial.llm.address import Address, address
from fairtrial.llm.budget import Budget, Budgeted
from fairtrial.llm.call_cache import Cached, CallCache
from fairtrial.llm.library_settings import settings_for
from fairtrial.llm.model import NamedModel, ignore
from fairtrial.llm.model_options import ModelOptions
from fairtrial.llm.pacing import Pace, Paced, Places
from fairtrial.llm.provider import Provider
from fairtrial.llm.served_models import is_same_model
from fairtrial.llm.token_counts import price_known
from fairtrial.llm.vertex_service import NAME as VERTEX
from fairtrial.llm.vertex_service import Vertex

if TYPE_CHECKING:
    from fairtrial.llm.batch_outbox import BatchOutbox
    from fairtrial.llm.cassette import CassetteEntry, CassetteWriter
    from fairtrial.protocols import Model
    from fairtrial.records.ballot import Ballot
    from fairtrial.records.reply import Prompt, Reply


def check_model(model: NamedModel, options: ModelOptions) -> None:
    """Raise `ConfigError` if no run with these options could call a model. No connection is opened.

    For example, the name or a setting is unknown, or Vertex AI lacks its extra or its project. A budget in money needs
    a model whose price is known. The caller's models and models that a cassette replays always pass.
    """
    if options.replays or model.model is not None or model.name in options.custom_models:
        return
    endpoint = None
    if model.name == VERTEX:
        Vertex.from_environment()
    else:
        endpoint = address(model.name, model.endpoint)
        settings_for(endpoint.provider, model.settings)
    if options.batch is not None:
        from fairtrial.llm.batch_outbox import check_batches

        check_batches(endpoint, model.name)
    limited = options.budget is not None and options.budget.max_cost is not None
    if limited and (endpoint is None or not price_known(endpoint)):
        raise ConfigError(f"model {model.name!r}: its price is not known, so that {spell('max_cost')} cannot be kept")


@runtime_checkable
class ConnectsModels(Protocol):
    """Names models that a run has to connect: a judge, simulated users or simulated environments."""

    def connect_models(self, pool: ModelPool) -> Self:
        """Return the same object with a run's models behind its names."""
        ...


@runtime_checkable
class HasPanel(Protocol):
    """Puts questions to the vote of language models."""

    @property
    def panel(self) -> tuple[NamedModel, ...]:
        """The models that vote."""
        ...

    @property
    def votes(self) -> int:
        """The number of votes on each question."""
        ...


@runtime_checkable
class HasModel(Protocol):
    """Is played by a language model, as simulated users and environments are."""

    @property
    def model(self) -> Model | None:
        """The model, if there is one."""
        ...


def find_models(metric: Any) -> Mapping[str, ConnectsModels]:
    """Return the fields of a metric that name models, by the names of the fields. For example, its judge."""
    if not dataclasses.is_dataclass(metric) or isinstance(metric, type):
        return {}
    values = {field.name: getattr(metric, field.name) for field in dataclasses.fields(metric)}
    return {name: value for name, value in values.items() if isinstance(value, ConnectsModels)}


def find_panels(metric: Any) -> list[HasPanel]:
    """Return the fields of a metric that put questions to the vote of models."""
    return [judge for judge in find_models(metric).values() if isinstance(judge, HasPanel)]


def discard(ballot: Ballot) -> None:
    """Ignore a ballot."""


@dataclass(frozen=True)
class _OpenedByCall:
    """A provider that is opened by its first call."""

    provider: Provider | Vertex
    open: Callable[[Provider | Vertex], Awaitable[None]]

    async def __call__(self, prompt: Prompt) -> Reply:
        await self.open(self.provider)
        return await self.provider(prompt)


@dataclass(frozen=True)
class _NotedModel:
    """A model that notes once for each other model that answers in its place."""

    model: Model
    name: str
    note: Callable[[str], None]
    noted: set[str] = field(default_factory=set)

    async def __call__(self, prompt: Prompt) -> Reply:
        reply = await self.model(prompt)
        if reply.model not in self.noted and not is_same_model(self.name, reply.model):
            self.noted.add(reply.model)
            self.note(
                f"model {self.name!r}: another model answered: {reply.model!r}; its replies count as those of "
                f"{self.name!r}; name the model that you mean, or switch off the fallback of the router"
            )
        return reply


class ModelPool:
    """The models of one run: enter the pool, connect every model, check them, and leave it after the last call.

    A call passes the recording cassette, the cache, the budget and the pace, in this order. A reply from the cache
    costs neither money nor time. Each model at each endpoint has its own pace, because providers limit each model
    separately. If a cassette is replayed, its entries are the only models. Calls of providers go into the `outbox`, if
    there is one, which has the budget.
    `keep` receives every ballot by this run's judges. `note` receives what people should know about a model, once.
    """

    def __init__(
        self,
        options: ModelOptions | None = None,
        cache: CallCache | None = None,
        keep: Callable[[Ballot], None] = discard,
        note: Callable[[str], None] = ignore,
        outbox: BatchOutbox | None = None,
    ) -> None:
        self.keep = keep
        self._note = note
        self._outbox = outbox
        self._options = options or ModelOptions()
        self._cache = cache or CallCache()
        self._budget = self._options.budget or Budget()
        self._connections: dict[tuple[object, ...], NamedModel] = {}
        self._vertex: Vertex | None = None
        self._places = Places(self._options.concurrency)
        self._paces: dict[Address | None, Pace] = {}
        self._providers: list[Provider | Vertex] = []
        self._open_ids: set[int] = set()
        self._opening = asyncio.Lock()
        self._stack = AsyncExitStack()
        self._entries: Mapping[str, CassetteEntry] = {}
        self._recorder: CassetteWriter | None = None

    async def __aenter__(self) -> Self:
        self._open_cassette()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def _open_cassette(self) -> None:
        path = self._options.cassette
        if path is None:
            return
        from fairtrial.llm.cassette import CassetteWriter, load_cassette  # few runs record their calls

        if self._options.replays or (self._adds and path.exists() and path.stat().st_size):
            self._entries = load_cassette(path)
        if self._options.replays:
            return
        try:
            replies = (key for key, entry in self._entries.items() if entry.reply is not None)
            self._recorder = CassetteWriter(path, only_adds=self._adds, recorded_keys=replies)
        except OSError as problem:
            raise UsageError(
                f"{spell('cassette')} {path}: {problem.strerror or problem}", code="unreadable-file"
            ) from None
        self._stack.callback(self._recorder.close)

    def connected(self, model: NamedModel) -> NamedModel:
        """Return the model with this run's own connection behind its name. Equal models share a connection.

        Raises `ConfigError` as `check_model` does.
        """
        settings = repr(sorted(model.settings.items()))
        key = (model.name, settings, model.endpoint, model.structured, model.timeout, id(model.model))
        if key not in self._connections:
            connection = self._connection(model)
            if model.model is None and model.name not in self._options.custom_models and model.name != VERTEX:
                connection = _NotedModel(connection, model.name, self._note)
            self._connections[key] = model.through(connection)
        return self._connections[key]

    def vertex(self, model: NamedModel, metric: str) -> NamedModel:
        """Return Vertex AI's evaluation service, and note for `check` which of its metrics the run asks for."""
        service = self.connected(model)
        if self._vertex is not None:
            self._vertex.metrics.add(metric)
        return service

    def _connection(self, model: NamedModel) -> Model:
        options = self._options
        check_model(model, options)
        signature = model.signature
        if options.replays:
            from fairtrial.llm.cassette import ReplayedModel

            return Cached(ReplayedModel(signature, self._entries, str(options.cassette)), signature, self._cache)
        own = model.model or options.custom_models.get(model.name)
        if own is None and self._outbox is not None:
            from fairtrial.llm.batch_outbox import BatchedModel

            provider = self._provider(model)
            self._providers.append(provider)
            caller: Model = BatchedModel(provider, signature, self._outbox)
        else:
            caller = Budgeted(own or self._pace_model(model), self._budget)
        if self._adds:
            from fairtrial.llm.cassette import CompletedModel

            caller = CompletedModel(caller, signature, self._entries)
        cached = Cached(caller, signature, self._cache)
        if self._recorder is None:
            return cached
        from fairtrial.llm.cassette import RecordedModel

        return RecordedModel(cached, signature, self._recorder)

    def _pace_model(self, model: NamedModel) -> Model:
        if model.name == VERTEX:
            self._vertex = Vertex.from_environment()
            return Paced(self._provide_model(self._vertex), self._pace(None), self._options.timeout)
        provider = self._provider(model)
        return Paced(
            self._provide_model(provider), self._pace(provider.address), self._options.timeout or model.timeout
        )

    def _provider(self, model: NamedModel) -> Provider:
        return Provider(address(model.name, model.endpoint), model.settings, model.structured, self._note)

    def _provide_model(self, provider: Provider | Vertex) -> Model:
        """Return a provider that is opened before the run, or by its first call."""
        self._providers.append(provider)
        return _OpenedByCall(provider, self._open) if self._adds else provider

    @property
    def _adds(self) -> bool:
        return self._options.cassette_mode == "auto"

    def _pace(self, endpoint: Address | None) -> Pace:
        """Return a model's pace at an endpoint, or the service's pace, whatever its call settings."""
        if endpoint not in self._paces:
            most = self._options.concurrency or Pace.most
            self._paces[endpoint] = Pace(
                most=most,
                start=min(Pace.start, most),
                most_a_minute=self._options.calls_per_minute,
                places=self._places,
            )
        return self._paces[endpoint]

    async def check(self) -> None:
        """Open every connection, and raise `UnusableModelError` if a model cannot be called.

        If a cassette may answer every call, a connection is opened by its first call instead.
        """
        for provider in () if self._adds else self._providers:
            await self._open(provider)

    async def _open(self, provider: Provider | Vertex) -> None:
        async with self._opening:
            if id(provider) not in self._open_ids:
                await self._stack.enter_async_context(provider)
                await provider.check()
                self._open_ids.add(id(provider))
