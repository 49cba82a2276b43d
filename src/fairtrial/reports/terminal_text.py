"""How does something for the terminal look as plain text?"""

from __future__ import annotations

import io

from rich.console import Console, RenderableType

_WIDTH = 120


def plain_text(content: RenderableType, width: int = _WIDTH) -> str:
    """Return the text without colours, without spaces at the ends of lines, and without empty lines around it."""
    file = io.StringIO()
    Console(file=file, width=width, highlight=False, emoji=False, markup=False, color_system=None).print(content)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()).strip("\n")
