"""Layout of terminal lines behind a mark or a margin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from fairtrial.reports.summary_table import MARKS

if TYPE_CHECKING:
    from fairtrial.records.result import Verdict


def marked_line(verdict: Verdict, *parts: str | tuple[str, str]) -> Table:
    """Return a line with its mark in a column of its own, so that further lines of a long text are indented."""
    mark, style = MARKS[verdict]
    line = Table.grid(padding=(0, 1, 0, 0))
    line.add_column(no_wrap=True)
    line.add_column(overflow="fold")
    line.add_row(Text(mark, style), Text.assemble(*parts))
    return line


class Indented:
    """Content behind a margin. Rich's own Padding measures nested content again at every level, which is slow."""

    def __init__(self, indent: int, content: RenderableType) -> None:
        self._indent, self._content = indent, content

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render each line behind the margin."""
        inner = options.update(width=max(1, options.max_width - self._indent), height=None)
        for line in console.render_lines(self._content, inner, pad=False):
            yield Segment(" " * self._indent)
            yield from line
            yield Segment.line()
