"""Options of models: limits on calls, batches, and the caller's own models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Meta

from fairtrial.config.reader import OptionReader, ReadWith, check_options
from fairtrial.config.wording import format_value
from fairtrial.errors import ConfigError
from fairtrial.llm.budget import Budget  # noqa: TC001  # read at run time
from fairtrial.protocols import Model  # noqa: TC001  # read at run time

CassetteMode = Literal["record", "replay", "auto"]


def _read_path(raw: Any, reader: OptionReader, pointer: str) -> Path | None:
    if isinstance(raw, str | Path):
        return Path(raw)
    reader.note(pointer, f"must be a path, got {format_value(raw)}")
    return None


@dataclass(frozen=True, kw_only=True)
class BatchOptions:
    """How calls go into batches of their providers, at half the price and with replies within a day.

    `most_requests` is the largest number of calls in a batch, and `poll` is the time in seconds after which a provider
    is asked for its batch states. By default, they are the provider's limit, and a time that grows to a
    minute.
    """

    most_requests: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="the largest number of calls in a batch")
    ] = None
    poll: Annotated[
        Annotated[float, Meta(ge=0)] | None, Meta(description="the seconds between two questions for the state")
    ] = None

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """How a run's models are called. Every run makes its own models, paces and caches from these options.

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
    cassette: Annotated[Path | None, ReadWith(_read_path), Meta(description="the file of recorded calls")] = None
    cassette_mode: Annotated[CassetteMode | None, Meta(description="what the file is for")] = None
    budget: Budget | None = None
    concurrency: Annotated[
        Annotated[int, Meta(ge=1)] | None, Meta(description="the largest number of calls in flight")
    ] = None
    calls_per_minute: Annotated[
        Annotated[float, Meta(gt=0)] | None, Meta(description="the largest number of requests to each model")
    ] = None
    timeout: Annotated[Annotated[float, Meta(gt=0)] | None, Meta(description="the seconds of a call")] = None
    batch: BatchOptions | None = None

    def __post_init__(self) -> None:
        check_options(self)
        if (self.cassette is None) != (self.cassette_mode is None):
            raise ConfigError("cassette and cassette_mode: give both or neither")

    @property
    def replays(self) -> bool:
        """Whether a cassette answers every call."""
        return self.cassette_mode == "replay"
