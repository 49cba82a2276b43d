"""Plain text of terminal output."""

from __future__ import annotations

import io
from collections.abc import Callable

from rich.console import Console, RenderableType
from rich.text import Text

from fairtrial.text.display import visible_line
from fairtrial.text.languages import say

_WIDTH = 120


def plain_text(content: RenderableType, width: int = _WIDTH) -> str:
    """Return the text without colours, without spaces at the ends of lines, and without empty lines around it."""
    return capture_text(lambda console: console.print(content), width)


def capture_text(show: Callable[[Console], object], width: int = _WIDTH) -> str:
    """Return the text that a function prints, as `plain_text` does."""
    file = io.StringIO()
    # In a notebook, a console of rich would display there what it prints, although it has a file.
    show(
        Console(
            file=file,
            width=width,
            highlight=False,
            emoji=False,
            markup=False,
            color_system=None,
            force_jupyter=False,
        )
    )
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()).strip("\n")


def signature_line(signature: str) -> Text:
    """Return the line that names everything that determines the numbers above it."""
    return Text(visible_line(say("signature: {signature}", signature=signature)), "dim")
