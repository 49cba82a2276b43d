"""Find duplicates among traces that a Python program holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fairtrial.errors import ConfigError, lacks_extra
from fairtrial.valuation.near_duplicates import DedupOptions, DuplicateFinder
from fairtrial.valuation.single import Valuable, as_reasoning, choose_embedder, list_traces
from fairtrial.valuation.whole_trace import NoveltyOf, choose_part, embed_traces

if TYPE_CHECKING:
    from fairtrial.protocols import Embedder
    from fairtrial.records.value_row import Duplicate


def find_duplicates(
    traces: Valuable | Iterable[Valuable],
    *,
    embedder: str | Embedder | None = "none",
    novelty_of: NoveltyOf = "contents",
    similarity: float = 0.8,
    cosine: float = 0.98,
    confidence: float | None = None,
    success: bool | None = None,
) -> tuple[Duplicate | None, ...]:
    """Return for each trace the earlier trace that it repeats, and why, or None if it repeats nothing.

    Two traces are duplicates if they use the same tools, and if they have at least the share `similarity` of their
    steps' text in common, or, with an embedder, a cosine of at least `cosine`. For example, `(None, Duplicate(...))`
    says that the second trace repeats the first trace. `novelty_of` is the part of a trace that is embedded, and
    `confidence` and `success` are for traces that do not contain
    them, as in `value`. Raises UsageError for a limit outside of 0 to 1.
    """
    options = DedupOptions(similarity=similarity, cosine=cosine)
    options.check()
    try:
        finder = DuplicateFinder(options)
        reasonings = [as_reasoning(trace, confidence, success) for trace in list_traces(traces)]
        embed = choose_part(choose_embedder(embedder), novelty_of)
        return tuple(finder.find(reasonings, None if embed is None else embed_traces(reasonings, embed)))
    except ImportError as error:
        raise ConfigError(lacks_extra("find_duplicates", "select")) from error
