"""Where a run's models come from: each name once, behind what is to stand before it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import msgspec

from fairtrial.errors import ConfigError
from fairtrial.llm.budget import Budget, Budgeted
from fairtrial.llm.call_cache import Cached, CallCache
from fairtrial.llm.cassette import CassetteEntry, CassetteWriter, RecordedModel, ReplayedModel
from fairtrial.llm.model import NamedModel
from fairtrial.llm.pacing import Pace, Paced, Places
from fairtrial.llm.provider import Address, Provider, address, price_known
from fairtrial.llm.vertex_service import NAME as VERTEX
from fairtrial.llm.vertex_service import Vertex
from fairtrial.protocols import Model
from fairtrial.records.record import Json


@dataclass
class ModelPool:
    """Hands out models. Enter it before the first call, leave it after the last.

    A call goes through the cassette that records, the ledger, the budget and the pace, in this order: what the ledger
    knows costs neither money nor time. Each model at each endpoint has one pace, since that is what providers limit;
    `concurrency` bounds the calls in flight of all of them together. `own` are models of yours, by the names under
    which criteria ask for them. With `replay` there is nothing behind a name but the cassette's entries.
    """

    ledger: CallCache = field(default_factory=CallCache)
    budget: Budget = field(default_factory=Budget)
    recorder: CassetteWriter | None = None
    replay: Mapping[str, CassetteEntry] | None = None
    replay_path: Path | None = None
    own: Mapping[str, Model] = field(default_factory=dict)
    concurrency: int | None = None
    timeout: float = 120.0
    _named: dict[bytes, NamedModel] = field(init=False, default_factory=dict)
    _vertex: NamedModel | None = field(init=False, default=None)
    _paces: dict[Address | None, Pace] = field(init=False, default_factory=dict)
    _providers: list[Provider | Vertex] = field(init=False, default_factory=list)
    _stack: AsyncExitStack = field(init=False, default_factory=AsyncExitStack)

    def __post_init__(self) -> None:
        self._places = Places(self.concurrency)

    def model(
        self,
        name: str,
        settings: Mapping[str, Json] | None = None,
        *,
        base_url: str | None = None,
        structured: bool = True,
    ) -> NamedModel:
        """Return the model of that name with these settings; equal arguments, the same model.

        The endpoint is no part of its signature: the same model elsewhere is the same model. Raises `ConfigError` for
        names and settings that nobody knows, and where a budget in money is set and the model's price is unknown.
        """
        options = dict(settings or {})
        key = msgspec.json.encode([name, options, base_url, structured], order="deterministic")
        if key not in self._named:
            self._named[key] = self._open(name, options, base_url=base_url, structured=structured)
        return self._named[key]

    def check_name(self, name: str, settings: Mapping[str, Json]) -> None:
        """Raise `ConfigError` for a name and settings that nobody knows; the model is not asked for by that."""
        if self._known(name, dict(settings)) is None:
            Provider(address(name), dict(settings))

    def vertex(self, metric: str) -> NamedModel:
        """Return Vertex AI's evaluation service, and note that it will be asked for one of its metrics.

        Raises `ConfigError` where extra, project or location are missing, or a budget in money is set.
        """
        if self._vertex is None:
            self._vertex = self._known(VERTEX, {}) or self._outside(VERTEX, {}, None, Vertex.from_environment())
        for provider in self._providers:
            if isinstance(provider, Vertex):
                provider.metrics.add(metric)
        return self._vertex

    def _open(self, name: str, options: dict[str, Json], *, base_url: str | None, structured: bool) -> NamedModel:
        known = self._known(name, options)
        if known is not None:
            return known
        at = address(name, base_url=base_url)
        return self._outside(name, options, at, Provider(at, options, structured=structured))

    def _known(self, name: str, options: dict[str, Json]) -> NamedModel | None:
        """Return a model that is no provider's: of the cassette, or one's own."""
        signature: dict[str, Json] = {"model": name, "settings": options}
        if self.replay is not None:
            return NamedModel(name, ReplayedModel(signature, self.replay, str(self.replay_path or "cassette")), options)
        return NamedModel(name, self._before(self.own[name], signature), options) if name in self.own else None

    def _outside(
        self, name: str, options: dict[str, Json], at: Address | None, provider: Provider | Vertex
    ) -> NamedModel:
        if self.budget.max_cost is not None and (at is None or not price_known(at)):
            raise ConfigError(f"model {name!r}: its price is not known, so that --max-cost cannot be kept")
        self._providers.append(provider)
        return NamedModel(
            name, self._before(Paced(provider, self._pace(at)), {"model": name, "settings": options}), options
        )

    def _pace(self, at: Address | None) -> Pace:
        """Return the pace of a model at an endpoint (None: of the service), whatever the settings of its calls."""
        if at not in self._paces:
            most = self.concurrency or Pace.most
            self._paces[at] = Pace(most=most, start=min(Pace.start, most), timeout=self.timeout, places=self._places)
        return self._paces[at]

    def _before(self, model: Model, signature: dict[str, Json]) -> Model:
        cached = Cached(Budgeted(model, self.budget), signature, self.ledger)
        return RecordedModel(cached, signature, self.recorder) if self.recorder else cached

    async def check(self) -> None:
        """Find out whether every model can be called, before anything runs; `UnusableModelError` if not."""
        for provider in self._providers:
            await provider.check()

    async def __aenter__(self) -> Self:
        for provider in self._providers:
            await self._stack.enter_async_context(provider)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()
        if self.recorder is not None:
            self.recorder.close()
