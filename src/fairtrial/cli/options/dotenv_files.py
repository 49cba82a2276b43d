"""Read keys and endpoints from `.env` files, first in the agent's folder, then in the configuration's folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from fairtrial import api
from fairtrial.errors import UsageError

_NAME = ".env"


def read_environment(
    *, agent: str | None = None, config: str | Path | None = None, paths: Sequence[str] = ()
) -> list[Path]:
    """Add the variables of `.env` files to the environment. Variables that are already set keep their values.

    The files are returned. The folders are the agent's folder, then the folder of the config. Without a config they are
    the folders of the eval sets. Raises UsageError if a file cannot be read, or if it would send a key of the
    environment elsewhere.
    """
    files: list[Path] = []
    for folder in dict.fromkeys(_folders(agent, config, paths)):
        file = folder / _NAME
        if not file.is_file():
            continue
        files.append(file)
        from dotenv import dotenv_values

        try:
            values = dotenv_values(file, encoding="utf-8")
        except (OSError, ValueError) as error:
            raise UsageError(f"{file}: cannot be read: {error}", code="unreadable-file") from None
        if problem := api.mixed_sources(values, os.environ):
            raise UsageError(f"{file}: {problem}", code="unreadable-file")
        for name, value in values.items():
            if value is not None:
                os.environ.setdefault(name, value)
    return files


def _folders(agent: str | None, config: str | Path | None, paths: Sequence[str]) -> Iterator[Path]:
    if agent is not None:
        yield from _agent_folders(agent)
    if config is not None:
        yield Path(config).parent
        return
    for path in map(Path, paths):
        yield path if path.is_dir() else path.parent


def _agent_folders(agent: str) -> Iterator[Path]:
    """Yield the folder of an agent: FOLDER for `adk:FOLDER`, the folder of the module for `package.module:name`."""
    kind, _, rest = agent.partition(":")
    if "//" in agent:
        return
    if kind == "adk":
        yield Path(rest)
        return
    module = rest.partition(":")[0] if rest.count(":") else kind
    yield Path(*module.split(".")[:-1])
