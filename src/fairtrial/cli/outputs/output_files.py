"""Check the paths to which a command writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from fairtrial.errors import UsageError
from fairtrial.system.paths import exists


class FileToWrite(click.Path):
    """The type of an option for a file to write. It refuses `-`, because that would be a file with the name `-`."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path, whose folders are made. It fails for `-`, and for folders that cannot be made."""
        if str(value) == "-":
            self.fail("must be a file, got '-'", param, ctx)
        path: Any = super().convert(value, param, ctx)
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self.fail(f"cannot make the folder of {path}: {error.strerror or error}", param, ctx)
        return path


def collect_inputs(config: Mapping[str, Any]) -> list[Path]:
    """Return the files that a run reads, as its manifest names them: eval sets, recordings and configurations."""
    return [Path(path) for name in ("eval_sets", "recordings", "criteria") for path, _ in config.get(name) or ()]


def store_file(url: str | None) -> list[Path]:
    """Return the file of a store of SQLite. A store on a server has none."""
    prefix = "sqlite:///"
    return [Path(url.removeprefix(prefix))] if url is not None and url.startswith(prefix) else []


def refuse_overwriting(option: str, path: Path, inputs: Iterable[Path]) -> None:
    """Raise UsageError if a file to write is a file that the command reads, also under another name."""
    if exists(path) and any(file.exists() and path.samefile(file) for file in inputs):
        raise UsageError(
            f"{option}: {path} is a file that this command reads; choose another file", code="would-overwrite"
        )
