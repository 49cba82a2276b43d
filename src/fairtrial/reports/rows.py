"""Tables of names and numbers that fit a terminal of any width."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fairtrial.text.display import DASH, visible_line
from fairtrial.text.languages import say

CASES = "cases"
"""The measure that is no criterion: whether cases pass."""
INTERVAL = "95 % interval"
_NAME_WIDTH = 26
"""The fewest cells of a column of names. Longer names are broken into lines, so that numbers need not be."""


class Name(str):
    """A name or a text of a user in a table. It stays as it is in each language, also if it is a word of the tables."""

    __slots__ = ()


def name_measure(measure: str) -> str:
    """Return the name of a measure as a cell: `cases` in the language of the terminal, and a criterion as it is."""
    return Name(say(measure) if measure == CASES else visible_line(measure))


def name_series(series: Mapping[str, str]) -> str:
    """Return what the runs of a series share: `agent shop, eval set refunds`."""
    return ", ".join(f"{say(name.replace('_', ' '))} {value or say('not known')}" for name, value in series.items())


@dataclass
class Rows:
    """A table of names with their numbers. If it is too wide for the terminal, it becomes a list.

    The first cell of a row is a `Name`. If it is a word of this package, the caller translates it.
    """

    titles: tuple[str, ...]
    rows: list[tuple[tuple[str, ...], str]] = field(default_factory=list)

    def add(self, name: str, *cells: str, style: str = "") -> None:
        """Add a row."""
        self.rows.append(((Name(visible_line(name)), *cells), style))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the table if it fits, otherwise the list."""
        titles = tuple(map(_say_title, self.titles))
        columns = list(zip(titles, *(cells for cells, _ in self.rows), strict=True))
        widths = [max(map(cell_len, column)) for column in columns]
        table_width = min(widths[0], _NAME_WIDTH) + sum(widths[1:]) + 2 * len(widths)
        yield self._table() if table_width <= options.max_width else self._list()

    def _table(self) -> Table:
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1), collapse_padding=True, show_edge=False)
        table.add_column(_say_title(self.titles[0]), overflow="fold")
        for title in self.titles[1:]:
            table.add_column(_say_title(title), justify="right", no_wrap=True)
        for cells, style in self.rows:
            table.add_row(*cells, style=style)
        return table

    def _list(self) -> RenderableType:
        # In a list an interval follows its number in brackets, so its title stands once, in the first line.
        note = say(" (with {interval}s)", interval=say(INTERVAL)) if INTERVAL in self.titles else ""
        lines: list[RenderableType] = [Text(f"{_say_title(self.titles[0])}{note}", "dim")]
        for (name, *cells), style in self.rows:
            numbers = ""
            for title, cell in zip(self.titles[1:], cells, strict=True):
                if cell not in ("", DASH):
                    named = f"{_say_title(title)} {cell}".lstrip()
                    numbers += f" ({cell})" if title == INTERVAL else f"{', ' if numbers else ''}{named}"
            lines += [Text(name, f"{style} bold"), Padding(Text(numbers, style), (0, 0, 0, 4))]
        return Group(*lines)


def _say_title(title: str) -> str:
    """Return the title of a column in the language of the terminal. The name of a criterion stays as it is."""
    return title if isinstance(title, Name) else say(title)
