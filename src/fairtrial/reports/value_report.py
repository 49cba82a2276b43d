"""How does the value of traces look in a terminal, and in a Parquet file?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from fairtrial.reports.numbers import NONE
from fairtrial.text.display import shortened, visible

if TYPE_CHECKING:
    from rich.console import Console

    from fairtrial.reports.rows import Rows

ROWS = 100
"""So many traces are shown in a table; more would not be read."""
_HEADS = ("trace", "score", "C", "N", "D", "O", "overrides", "nearest", "!")
_KEY = "C complexity, N novelty, D tool diversity, O outcome confidence, ! warnings"


class Totals:
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
            console.print(_table(self.rows))
            console.print(_KEY, style="dim")
        total = self.scored + self.refused
        if total > len(self.rows):
            console.print(f"… and {total - len(self.rows):,} more; --json or --output gives them all", style="dim")
        console.print(self.sentence())

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


def _table(rows: list[tuple[str, bytes]]) -> Rows:
    from fairtrial.reports.rows import Rows

    table = Rows(_HEADS)
    for origin, line in rows:
        result = msgspec.json.decode(line)
        if result["score"] is None:
            table.add(_plain(result["id"] or origin), "refused", *[NONE] * (len(_HEADS) - 2), style="red")
        else:
            table.add(_plain(result["id"]), *_cells(result))
    return table


def _cells(result: dict[str, Any]) -> Iterator[str]:
    like = result["nearest"]
    yield f"{result['score']:.4f}"
    for name in ("complexity", "novelty", "tool_diversity", "outcome_confidence"):
        yield f"{result[name]:.3f}"
    yield ", ".join(result["overrides"]) or NONE
    yield f"{like['cosine']:.3f} {_plain(like['id'])}" if like else NONE
    yield str(len(result["warnings"]) or NONE)


def _plain(own_id: str) -> str:
    """The id of a stranger's trace on one line, without a character that steers a terminal."""
    return visible(shortened(own_id.removeprefix("kp:trace:"), 200)).replace("\n", "\\n")


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
