"""Which keys and endpoints stand in `.env` files? The agent's folder first, then beside the config."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairtrial.errors import UsageError

_NAME = ".env"


def read_environment(*, agent: str | None = None, config: str | Path | None = None, paths: Sequence[str] = ()) -> None:
    """Take the variables of `.env` files into the environment; what is set there already stays as it is.

    Looked at are the agent's folder, then that of the config, or without one those of the eval sets. Raises UsageError
    for a file that cannot be read.
    """
    for folder in dict.fromkeys(_folders(agent, config, paths)):
        file = folder / _NAME
        if not file.is_file():
            continue
        from dotenv import dotenv_values

        try:
            values = dotenv_values(file, encoding="utf-8")
        except (OSError, ValueError) as error:
            raise UsageError(f"{file}: cannot be read: {error}") from None
        for name, value in values.items():
            if value is not None:
                os.environ.setdefault(name, value)


def _folders(agent: str | None, config: str | Path | None, paths: Sequence[str]) -> Iterator[Path]:
    if agent is not None:
        yield from _agent_folders(agent)
    if config is not None:
        yield Path(config).parent
        return
    for path in map(Path, paths):
        yield path if path.is_dir() else path.parent


def _agent_folders(agent: str) -> Iterator[Path]:
    """The folder that a target means: of `adk:FOLDER` that one, of `package.module:name` that of the module."""
    kind, _, rest = agent.partition(":")
    if "//" in agent:
        return
    if kind == "adk":
        yield Path(rest)
        return
    module = rest.partition(":")[0] if rest.count(":") else kind
    yield Path(*module.split(".")[:-1])
