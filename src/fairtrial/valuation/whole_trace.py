"""Embed a whole trace as one vector: task, steps, tools, inputs, results and outcome.

Half of the cosine of two vectors compares their meaning: the mean of the embeddings of windows over all tokens. A mean
alone would hide one difference among a hundred windows. The other half therefore compares their wording: the counts of
shingles, which are three words in a row. With square roots of counts, its cosine is the Bhattacharyya coefficient. It
falls in proportion to the number of differences. Hashing keeps the vector short (Weinberger et al. 2009, arXiv
0902.2206).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args
from zlib import crc32

import msgspec
import regex

from fairtrial.errors import UsageError, nearest
from fairtrial.protocols import CountsTokens, Embedder
from fairtrial.text.pieces import split_text
from fairtrial.valuation.embed import Reservations, TokenCount, embedder, read_name, reservations

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fairtrial.records.reasoning import ReasoningTrace

    Floats = NDArray[np.float32]

NoveltyOf = Literal["contents", "trace"]
"""The part of a trace that its novelty compares: the objective and the contents, as the rule says, or everything."""
PREFIX = "trace:"
"""Begins the name of the vectors of whole traces, for example `trace:minilm`."""
WINDOW = 500
"""The largest number of characters of a window. In English, these are about 110 tokens."""
WORDS_IN_SHINGLE = 3
WORDING_DIMENSIONS = 512
_MIXER = 0x9E3779B97F4A7C15
# Korean, Japanese and Chinese are written without spaces or with endings, so each of their letters is a word.
_WORD = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]|[^\W_]+|[^\w\s]|_")
_encode = msgspec.json.Encoder(order="sorted").encode


@dataclass(frozen=True)
class WholeTrace:
    """Embeds everything in a trace. An embedder of texts embeds its windows."""

    embed: Embedder

    @property
    def name(self) -> str:
        """The name of the vectors in reports and in an index."""
        return f"{PREFIX}{read_name(self.embed)}"

    def vectors(self, traces: Sequence[ReasoningTrace]) -> Floats:
        """Return one vector of unit length for each trace. Equal windows are computed once."""
        import numpy as np

        parts_by_trace = [list(_parts(trace)) for trace in traces]
        distinct = dict.fromkeys(part for parts in parts_by_trace for part in parts)
        pieces_of = _fitting_windows({window for part in distinct for window in part.windows}, self.embed)
        place_by_piece: dict[str, int] = {}
        for pieces in pieces_of.values():
            for piece in pieces:
                place_by_piece.setdefault(piece, len(place_by_piece))
        embedded = np.asarray(self.embed(list(place_by_piece)), dtype=np.float32)
        shingles = {part: np.fromiter(_shingles(part), dtype=np.uint32) for part in distinct}
        rows = np.empty((len(traces), embedded.shape[1] + WORDING_DIMENSIONS), dtype=np.float32)
        for row, parts in zip(rows, parts_by_trace, strict=True):
            windows = [window for part in parts for window in part.windows]
            places = [place_by_piece[piece] for window in windows for piece in pieces_of[window]]
            row[: embedded.shape[1]] = _unit(embedded[places].mean(axis=0))
            row[embedded.shape[1] :] = _unit(_wording([*(shingles[part] for part in parts), _order(parts)]))
        rows *= np.float32(0.5**0.5)
        return rows

    def limits(self, traces: Sequence[ReasoningTrace]) -> list[Reservations]:
        """Return the limits of the vectors. The embedder sees all tokens, because each window fits."""
        texts = ["\n".join(part.text for part in _parts(trace)) for trace in traces]
        return [
            Reservations(limit.tokens and TokenCount(limit.tokens.all, limit.tokens.all), limit.language)
            for limit in reservations(texts, self.embed)
        ]


TraceEmbedder = Embedder | WholeTrace
"""Embeds traces. An embedder of texts embeds the objective and the contents, as the rule says."""


def embed_traces(traces: Sequence[ReasoningTrace], embed: TraceEmbedder) -> Floats:
    """Return the vectors of traces, shape (n, dimensions). If `traces` is empty, the shape is (0, 0)."""
    import numpy as np

    if not traces:
        return np.empty((0, 0), dtype=np.float32)
    if isinstance(embed, WholeTrace):
        return embed.vectors(traces)
    return np.asarray(embed([trace.text for trace in traces]), dtype=np.float32)


def trace_limits(traces: Sequence[ReasoningTrace], embed: TraceEmbedder | None) -> list[Reservations]:
    """Return what limits the vectors of some traces."""
    if isinstance(embed, WholeTrace):
        return embed.limits(traces)
    return reservations([trace.text for trace in traces], embed)


def check_novelty_part(novelty_of: str, *, embedded: bool) -> None:
    """Raise UsageError for an unknown part of a trace, or for whole traces without an embedder."""
    parts = get_args(NoveltyOf)
    if novelty_of not in parts:
        raise UsageError(
            f"novelty of: must be one of {', '.join(parts)}, got {novelty_of!r}{nearest(novelty_of, parts)}",
            code="unknown-name",
        )
    if novelty_of != "contents" and not embedded:
        raise UsageError(f"novelty of {novelty_of!r} needs an embedder, got none", code="missing-option")


def choose_part(embed: Embedder | None, novelty_of: str) -> TraceEmbedder | None:
    """Return the embedder of whole traces, or the embedder itself if only the contents count."""
    check_novelty_part(novelty_of, embedded=embed is not None)
    return WholeTrace(embed) if novelty_of == "trace" and embed is not None else embed


def trace_embedder(name: str) -> TraceEmbedder | None:
    """Return the embedder of a name that an index remembers, for example `minilm` or `trace:minilm`."""
    embed = embedder(name.removeprefix(PREFIX))
    return WholeTrace(embed) if name.startswith(PREFIX) and embed is not None else embed


class _Part(NamedTuple):
    """The task, a step or the outcome of a trace: its kind with its tool, and its text."""

    head: str
    body: str

    @property
    def text(self) -> str:
        return f"{self.head}: {self.body}"

    @property
    def windows(self) -> list[str]:
        """Pieces of the text, each after the head."""
        return [f"{self.head}: {piece}" for piece in split_text(self.body, WINDOW)]


def _parts(trace: ReasoningTrace) -> Iterator[_Part]:
    yield _Part("task", trace.task.objective)
    for step in trace.steps:
        inputs = _encode(step.input).decode() if step.input else ""
        body = " ".join(text for text in (step.content, inputs, step.output_summary) if text)
        yield _Part(step.type if step.tool is None else f"{step.type} {step.tool.name}", body)
    yield _Part("outcome", trace.outcome.result_summary)


def _fitting_windows(windows: set[str], embed: object) -> dict[str, list[str]]:
    """Return the pieces of each window. A window is halved until the embedder sees all of its tokens."""
    ordered = sorted(windows)
    counts = embed.count_tokens(ordered) if isinstance(embed, CountsTokens) and ordered else ()
    too_long = {window for window, (seen, total) in zip(ordered, counts, strict=False) if seen < total}
    halves = {window: split_text(window, (len(window) + 1) // 2) for window in too_long if len(window) > 1}
    fitting = _fitting_windows({half for pair in halves.values() for half in pair}, embed) if halves else {}
    return {
        window: [piece for half in halves[window] for piece in fitting[half]] if window in halves else [window]
        for window in ordered
    }


def _shingles(part: _Part) -> Iterator[int]:
    words = _WORD.findall(part.body)
    for start in range(max(1, len(words) - WORDS_IN_SHINGLE + 1)):
        yield _hash(f"{part.head}\0{' '.join(words[start : start + WORDS_IN_SHINGLE])}")


def _order(parts: Sequence[_Part]) -> NDArray[np.uint32]:
    """Return a hash of each two neighbours, so that the order of the steps counts."""
    import numpy as np

    hashes = [_hash(part.text) for part in parts]
    return np.array([_hash(f"{first} {second}") for first, second in pairwise(hashes)], dtype=np.uint32)


def _hash(text: str) -> int:
    return crc32(text.encode("utf-8", "replace"))


def _wording(hashes: Sequence[NDArray[np.uint32]]) -> NDArray[np.float64]:
    """Return the square roots of the counts of some hashes, hashed again into few dimensions with random signs."""
    import numpy as np

    distinct, counts = np.unique(np.concatenate(hashes), return_counts=True)
    mixed = distinct.astype(np.uint64) * np.uint64(_MIXER)  # numpy drops the overflow
    signs = 1.0 - 2.0 * ((mixed >> np.uint64(31)) & np.uint64(1)).astype(np.float64)
    places = ((mixed >> np.uint64(40)) % np.uint64(WORDING_DIMENSIONS)).astype(np.int64)
    wording = np.bincount(places, weights=signs * np.sqrt(counts), minlength=WORDING_DIMENSIONS)
    return wording.astype(np.float64)


def _unit(vector: Any) -> Any:
    """Return a vector of unit length. Zero stays zero."""
    import numpy as np

    length = np.linalg.norm(vector)
    return vector / length if length > 0 else vector
