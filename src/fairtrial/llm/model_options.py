"""Under which limits are models called, and which models are the caller's own?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from fairtrial.errors import ConfigError
from fairtrial.llm.budget import Budget
from fairtrial.protocols import Model

CassetteMode = Literal["record", "replay", "auto"]


@dataclass(frozen=True, kw_only=True)
class BatchOptions:
    """How calls go into batches of their providers, at half the price and with replies within a day.

    `most_requests` is the largest number of calls in a batch, and `poll` is the time in seconds after which a provider
    is asked for the state of its batches. By default, they are the limit of the provider, and a time that grows to a
    minute.
    """

    most_requests: int | None = None
    poll: float | None = None


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """How the models of a run are called. Every run makes its own models, paces and caches from these options.

    `custom_models` are models of your own, by the names under which criteria, users and tools ask for them.
    `cassette` is a file of recorded calls: in `cassette_mode` "record" the run writes the file, in "replay" the file
    answers every call and no connection is opened. In "auto" the file answers the calls that it has, and the run adds
    the others; a model is connected at the first of them. `budget` limits calls and cost; several runs that get the
    same `Budget` object share it. `concurrency` is the largest number of calls in flight. `calls_per_minute` is the
    largest number of requests to each model, repeated attempts included. `timeout` is in seconds per call. It takes
    precedence over the `judge_timeout` of a configuration, and the default is 120. With `batch`, the calls of judges
    go into batches of their providers.
    """

    custom_models: Mapping[str, Model] = field(default_factory=dict)
    cassette: Path | None = None
    cassette_mode: CassetteMode | None = None
    budget: Budget | None = None
    concurrency: int | None = None
    calls_per_minute: float | None = None
    timeout: float | None = None
    batch: BatchOptions | None = None

    def __post_init__(self) -> None:
        if (self.cassette is None) != (self.cassette_mode is None):
            raise ConfigError("cassette and cassette_mode: give both or neither")

    @property
    def replays(self) -> bool:
        """Whether a cassette answers every call."""
        return self.cassette_mode == "replay"
