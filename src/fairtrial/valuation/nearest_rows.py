"""The nearest rows of matrices of unit vectors, by products of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from fairtrial.errors import UsageError
from fairtrial.records.value_row import Nearest

with suppress(ImportError):  # without the extra `embed` the module can still be imported
    import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

BLOCK = 256
"""Vectors in a block. A larger block computes more masked products, and a smaller block is less efficient."""


def leave_one_out(ids: Sequence[str], vectors: Any) -> list[Nearest | None]:
    """Return for each of n vectors the nearest other vector. The order of the set does not matter.

    If two cosines are equal, the earlier vector is the nearest. Each pair is computed once: n * n / 2 products.
    """
    rows = np.asarray(vectors, dtype=np.float32)
    unit = unit_rows(rows, (len(ids), rows.shape[1] if rows.ndim == 2 else 0))
    best = BestRows(len(unit))
    for low in range(0, len(unit), BLOCK):
        block = unit[low : low + BLOCK]
        products = block @ block.T
        np.fill_diagonal(products, -np.inf)
        best.offer(low, products, low)
        for start in range(low + BLOCK, len(unit), BLOCK):
            products = block @ unit[start : start + BLOCK].T
            best.offer(low, products, start)
            best.offer(start, products.T, low)
    return best.as_nearest(ids)


class Ids(Protocol):
    """The id of each vector, by its place."""

    def __getitem__(self, place: int, /) -> str:
        """Return the id of a vector."""
        ...


class BestRows:
    """The largest cosine of each row so far, with its place."""

    def __init__(self, count: int) -> None:
        self.cosines = np.full(count, -np.inf, dtype=np.float32)
        self.places = np.zeros(count, dtype=np.int64)

    def offer(self, low: int, products: Floats, start: int) -> None:
        """Update the rows from `low` on, if their products with the vectors from `start` on are larger."""
        rows = slice(low, low + len(products))
        columns = products.argmax(axis=1)
        cosines = products[np.arange(len(products)), columns]
        check_numbers(cosines)
        better = cosines > self.cosines[rows]
        self.cosines[rows][better] = cosines[better]
        self.places[rows][better] = columns[better] + start

    def offer_places(self, row: int, products: Floats, places: NDArray[np.int64]) -> None:
        """Update a row, if one of its products with the vectors at some places is larger."""
        column = int(products.argmax())
        check_numbers(products[column])
        if products[column] > self.cosines[row]:
            self.cosines[row], self.places[row] = products[column], places[column]

    def as_nearest(self, ids: Ids) -> list[Nearest | None]:
        """Return the nearest vector of each row, or None for a row without products."""
        return [
            None if cosine == -np.inf else Nearest(id=ids[place], cosine=min(1.0, max(-1.0, cosine)))
            for cosine, place in zip(self.cosines.tolist(), self.places.tolist(), strict=True)
        ]


def unit_rows(vectors: Any, shape: tuple[int, int]) -> Floats:
    """Return rows of unit length. Zero stays zero. Raises UsageError for another shape or infinite numbers."""
    rows = np.asarray(vectors, dtype=np.float32)
    rows = rows.reshape(shape) if rows.size == 0 else rows
    if rows.shape != shape:
        raise UsageError(f"vectors: must have the shape {shape}, got {rows.shape}")
    if not np.isfinite(rows).all():
        raise UsageError("vectors: must be finite numbers")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Floats = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return unit


def check_numbers(numbers: Floats) -> None:
    """Raise UsageError if a number is none. The largest of numbers among which one is none is none."""
    if not np.isfinite(numbers).all() and np.isnan(numbers).any():
        raise UsageError("the index holds vectors that are not numbers: it is damaged; delete it, and build it again")
