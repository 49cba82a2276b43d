"""Plain text of terminal output."""

from __future__ import annotations

import io
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.containers import Lines
from rich.text import Text

from fairtrial.text.display import visible_line
from fairtrial.text.languages import say

_WIDTH = 120
_EMOJI = "\ufe0f"
_WIDE = "[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
_BREAK = re.compile(
    rf"(?<= )(?! )(?!(?<=\d )%)|(?:(?<={_WIDE})|(?={_WIDE}))"
    "(?<![ （「『【〔《〈“‘])(?![ 、。，．・：；！？）」』】〕》〉”’…ー々ぁぃぅぇぉっゃゅょァィゥェォッャュョ])"
)
"""The places at which a line may end: behind a space, but not between 99 and %, and between the signs of Japanese and
Chinese, which need no space. No line begins with a sign that ends a phrase, or ends with one that begins a phrase."""


class Paragraph(Text):
    """A text in any language. Rich's own Text breaks a line at spaces only, of which Japanese and Chinese have few."""

    def wrap(self, console: Console, width: int, **options: Any) -> Lines:
        """Return the lines of at most so many cells."""
        if options.get("no_wrap") or options.get("justify") not in (None, "default", "left"):
            return super().wrap(console, width, **options)
        lines = Lines()
        for line in self.split(allow_blank=True):
            line.expand_tabs(options.get("tab_size", 8))
            pieces = line.divide(list(_line_ends(line.plain, width)))
            for piece in pieces:
                piece.rstrip_end(width)
            lines.extend(pieces)
        return lines


def _line_ends(text: str, width: int) -> Iterator[int]:
    """Yield the ends of all lines of a text but the last. A word of more cells than a line has is broken anywhere."""
    cells = [0, *accumulate(_sign_cells(text))]
    places = [match.start() for match in _BREAK.finditer(text, 1)] if cells[-1] > width else []
    begin = end = 0
    for place in [*places, len(text)]:
        while cells[begin + len(text[begin:place].rstrip())] - cells[begin] > width:
            if end == begin:
                end = max(begin + 1, bisect_right(cells, cells[begin] + width) - 1)
            yield end
            begin = end
        end = place


def _sign_cells(text: str) -> list[int]:
    """Return the cells of each sign. The sign before U+FE0F is an emoji, for example ⚠️, which may be wider."""
    sizes, shown = list(map(cell_len, text)), 0
    for place, sign in enumerate(text if _EMOJI in text else ""):
        if sign == _EMOJI:
            sizes[shown] = cell_len(text[shown] + _EMOJI)
        elif sizes[place]:
            shown = place
    return sizes


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
