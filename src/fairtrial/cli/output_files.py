"""Which paths may a command write to?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


class FileToWrite(click.Path):
    """The type of an option for a file to write. It refuses `-`, because that would be a file with the name `-`."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path. It fails for `-`."""
        if str(value) == "-":
            self.fail("must be a file, got '-'", param, ctx)
        return super().convert(value, param, ctx)
