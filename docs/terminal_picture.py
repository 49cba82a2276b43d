"""Draws the output of a command, as README.md shows it, as a terminal: docs/terminal.svg. `make docs` runs it.

The tests of the documentation compare the output in README.md with the program, so that the picture is as true.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

ROOT = Path(__file__).parent.parent
PICTURE = Path(__file__).parent / "terminal.svg"
_COMMAND = re.compile(
    r"^```sh\n(fairtrial run examples [^\n]*?)(?:  # [^\n]*)?\n```\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
_WIDTH = 118
_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_STYLES = (
    (re.compile(r"^\s*✓.*?(?=  |$)"), "green"),
    (re.compile(r"^\s*✗.*?(?=  |$)"), "bold red"),
    (re.compile(r"^\s*►.*?(?=  |$)"), "red"),
    (re.compile(r"^\s*decisive .*$"), "yellow"),
    (re.compile(r"^(criteria|run|\d+ attempts).*$"), "dim"),
)


def draw() -> str:
    """Return the picture. It names no font of a server, and is the same for the same text."""
    match = _COMMAND.search((ROOT / "README.md").read_text(encoding="utf-8"))
    if match is None:
        raise ValueError("README.md shows no output of 'fairtrial run examples'")
    console = Console(record=True, width=_WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text(f"$ {match[1]}", style="bold"))
    for line in match[2].splitlines():
        text = Text(line)
        for pattern, style in _STYLES:
            text.highlight_regex(pattern, style)
        console.print(text)
    return _FONT.sub("", console.export_svg(title="fairtrial", theme=MONOKAI, unique_id="fairtrial"))
