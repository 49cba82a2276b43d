"""The novelty index of a data set: its modes, and when its file is locked. It needs no numpy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from fairtrial.errors import UsageError, nearest, spell
from fairtrial.valuation.approximate_search import check_approximate
from fairtrial.valuation.index_files import is_segmented

if TYPE_CHECKING:
    from fairtrial.records.value_row import Nearest

Mode = Literal["sequence", "corpus", "leave-one-out"]


class NoveltyIndex(Protocol):
    """Finds the most similar earlier trace."""

    def nearest(self, ids: Sequence[str], vectors: Any, digests: Sequence[str]) -> list[Nearest | None]:
        """Return the nearest trace of each. It is called once for every chunk, in input order."""
        ...

    def save(self) -> None:
        """Save the index, if it has a file. It is called after the last chunk."""
        ...


def check_mode(mode: str, *, index: object, embedded: bool, approximate: bool = False) -> None:
    """Raise UsageError for a novelty mode that is unknown, or that lacks its index or its embedder."""
    if approximate and mode != "corpus":
        raise UsageError(
            f"{spell('approximate')} needs {spell('novelty')} corpus or {spell('dedup')}: "
            "only a saved index, or the vectors of duplicates, are searched with a graph",
            code="missing-option",
        )
    if approximate:
        check_approximate(None)
    modes = get_args(Mode)
    if mode not in modes:
        raise UsageError(
            f"novelty: must be one of {', '.join(modes)}, got {mode!r}{nearest(mode, modes)}", code="unknown-name"
        )
    if not embedded and (mode != "sequence" or index is not None):
        raise UsageError(
            f"novelty {mode!r}{' with an index' if index else ''} needs an embedder, got none", code="missing-option"
        )
    if mode == "corpus" and index is None:
        raise UsageError("novelty 'corpus' needs an index to search", code="missing-option")
    if mode == "leave-one-out" and index is not None:
        raise UsageError(
            "novelty 'leave-one-out' compares the traces with each other; it takes no index", code="options-conflict"
        )


def is_locked_long(mode: str, path: Path | None) -> bool:
    """Whether a valuation holds the lock of its index from its begin, because it writes the index as a whole."""
    return mode == "sequence" and path is not None and not is_segmented(path)
