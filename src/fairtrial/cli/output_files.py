"""Which files may a command write?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


class FileToWrite(click.Path):
    """A file that is written, which standard output is not: `-` would be a file of that name."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path."""
        if str(value) == "-":
            self.fail("must be a file, got '-'", param, ctx)
        return super().convert(value, param, ctx)
