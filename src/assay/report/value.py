"""How does the value of traces look in a terminal, and in a Parquet file?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from assay.text.display import shortened, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

ROWS = 100
"""So many traces are shown in a table; more would not be read."""
_HEADS = ("trace", "score", "C", "N", "D", "O", "overrides", "nearest", "!")
_NUMBERS = frozenset({"score", "C", "N", "D", "O", "!"})
_KEY = "C complexity, N novelty, D tool diversity, O outcome confidence, ! warnings"


class Summary:
    """The first rows of a valuation for a table, and its totals; memory does not grow with the traces."""

    def __init__(self, threshold: float | None) -> None:
        self.threshold = threshold
        self.rows: list[tuple[str, bytes]] = []
        self.scored = self.refused = self.passed = 0
        self.sum = 0.0
        self.low, self.high = 1.0, 0.0

    def add(self, origin: str, line: bytes, score: float | None) -> None:
        """Count one result, and keep it if it is among the first."""
        if len(self.rows) < ROWS:
            self.rows.append((origin, line))
        if score is None:
            self.refused += 1
            return
        self.scored += 1
        self.sum += score
        self.low, self.high = min(self.low, score), max(self.high, score)
        self.passed += self.threshold is not None and score >= self.threshold

    def print(self, console: Console) -> None:
        """Print the table and the line below it."""
        if self.rows:
            console.print(_table(self.rows, console.width))
        total = self.scored + self.refused
        if total > len(self.rows):
            console.print(f"… and {total - len(self.rows):,} more; --json or --output gives them all", style="dim")
        console.print(self.sentence(), highlight=False)

    def sentence(self) -> str:
        """Return the totals in a sentence."""
        parts = [f"{self.scored:,} valued"]
        if self.scored:
            parts.append(f"mean {self.sum / self.scored:.3f} ({self.low:.3f} to {self.high:.3f})")
        if self.threshold is not None:
            parts.append(f"{self.passed:,} of at least {self.threshold:g}")
        if self.refused:
            parts.append(f"{self.refused:,} refused")
        return ", ".join(parts)


def _table(rows: list[tuple[str, bytes]], width: int) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), caption=_KEY, caption_justify="left")
    room = max(0, width - 80)
    widths = {"trace": 10 + room // 2, "nearest": 14 + room // 2, "overrides": 15, "score": 6, "!": 1}
    for head in _HEADS:
        table.add_column(
            head,
            justify="right" if head in _NUMBERS else "left",
            no_wrap=head != "overrides",
            overflow="ellipsis",
            min_width=min(5, widths.get(head, 5)),
            max_width=widths.get(head, 5),
        )
    for origin, line in rows:
        result = msgspec.json.decode(line)
        if result["score"] is None:
            table.add_row(plain(_short(result["id"] or origin)), *[""] * 5, plain("refused"), style="red")
        else:
            table.add_row(*_cells(result))
    return table


def _cells(result: dict[str, Any]) -> Iterator[Text]:
    like = result["nearest"]
    yield plain(_short(result["id"]))
    yield plain(f"{result['score']:.4f}")
    for name in ("complexity", "novelty", "tool_diversity", "outcome_confidence"):
        yield plain(f"{result[name]:.3f}")
    yield plain(", ".join(result["overrides"]))
    yield plain(f"{like['cosine']:.3f} {_short(like['id'])}" if like else "")
    yield plain(str(len(result["warnings"]) or ""))


def _short(own_id: str) -> str:
    return own_id.removeprefix("kp:trace:")


def plain(text: str, limit: int = 200) -> Text:
    """Return text from outside as a cell: never markup, on one line, and no character that steers a terminal."""
    from rich.text import Text

    return Text(visible(shortened(text, limit)).replace("\n", "\\n"))


class Parquet:
    """A Parquet file of results, written row group by row group, and there only when it is whole."""

    def __init__(self, path: Path, *, rows: int = 20_000) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        nearest = pa.struct([("id", pa.string()), ("cosine", pa.float64())])
        errors = pa.list_(pa.struct([("pointer", pa.string()), ("problem", pa.string())]))
        numbers = ("score", "complexity", "novelty", "tool_diversity", "outcome_confidence")
        self._schema = pa.schema(
            [
                ("id", pa.string()),
                *[(name, pa.float64()) for name in numbers],
                ("overrides", pa.list_(pa.string())),
                ("warnings", pa.list_(pa.string())),
                ("embedder", pa.string()),
                ("nearest", nearest),
                ("errors", errors),
            ]
        )
        self._path = path
        self._part = path.with_name(f"{path.name}.part")
        self._writer = parquet.ParquetWriter(self._part, self._schema)
        self._rows: list[dict[str, Any]] = []
        self._size = rows

    def add(self, lines: Iterable[bytes]) -> None:
        """Add results, given as lines of JSON."""
        for line in lines:
            self._rows.append(msgspec.json.decode(line))
            if len(self._rows) >= self._size:
                self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
        self._rows = []

    def close(self, *, whole: bool) -> None:
        """Put the file in its place if it is `whole`, else leave nothing behind."""
        if whole and self._rows:
            self._flush()
        self._writer.close()
        if whole:
            self._part.replace(self._path)
        else:
            self._part.unlink()
