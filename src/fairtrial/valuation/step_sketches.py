"""Sketches of trace steps, which estimate the share of steps that two traces have in common.

MinHash estimates it from signatures of fixed length (Broder 1997, doi:10.1109/SEQUEN.1997.666900), and bands of the
signatures lead to the traces that are worth an exact comparison.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import msgspec
import regex

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fairtrial.records.reasoning import ReasoningStep, ReasoningTrace

PERMUTATIONS = 128
WORDS_IN_SHINGLE = 3
_RECALL = 0.999
"""The least probability that two traces at the threshold share a band."""
_SEED = 20260102
# Korean, Japanese and Chinese are written without spaces or with endings, so each of their letters is a word.
_WORD = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]|[^\W_]+")
_encode = msgspec.json.Encoder(order="sorted").encode


class Sketch(NamedTuple):
    """A trace for comparison: its tools, the sorted hashes of its shingles, and their MinHash signature.

    A shingle is three words in a row of one step, with the type and the tool of the step. For example, the same words
    as a thought and as an observation are two shingles.
    """

    tools: frozenset[str]
    shingles: NDArray[np.uint32]
    signature: NDArray[np.uint32]


def sketch(trace: ReasoningTrace) -> Sketch:
    """Return the sketch of a trace. It has at least one shingle, because a trace has at least one step."""
    import numpy as np

    hashes = {crc32(shingle.encode("utf-8", "replace")) for step in trace.steps for shingle in _shingles(step)}
    shingles = np.fromiter(hashes, dtype=np.uint32, count=len(hashes))
    shingles.sort()
    factors, offsets = _permutations()
    # The high half of (a x + b) mod 2^64 is a hash whose order is as good as random. Numpy drops the overflow.
    signature = ((shingles.astype(np.uint64)[:, None] * factors + offsets) >> np.uint64(32)).min(axis=0)
    tools = frozenset(step.tool.name for step in trace.steps if step.tool is not None)
    return Sketch(tools, shingles, signature.astype(np.uint32))


def similarity(actual: Sketch, other: Sketch) -> float:
    """Return the exact share of shingles that two sketches have in common, 0..1: the Jaccard index."""
    import numpy as np

    common = len(np.intersect1d(actual.shingles, other.shingles, assume_unique=True))
    return common / (len(actual.shingles) + len(other.shingles) - common)


def rows_of_band(threshold: float) -> int:
    """Return the rows of a band: as many as still find pairs of this similarity with a probability of 99.9 %.

    With b bands of r rows, two traces of similarity s share a band with the probability 1 - (1 - s^r)^b.
    """
    fitting = [
        rows
        for rows in range(1, PERMUTATIONS + 1)
        if 1 - (1 - threshold**rows) ** (PERMUTATIONS // rows) >= _RECALL or rows == 1
    ]
    return max(fitting)


def bands(actual: Sketch, rows: int) -> Iterator[int]:
    """Yield a number for each band of a signature. Equal bands have equal numbers."""
    data = actual.signature[: PERMUTATIONS // rows * rows].tobytes()
    size = rows * actual.signature.itemsize
    for place, start in enumerate(range(0, len(data), size)):
        yield hash((place, data[start : start + size]))


def _shingles(step: ReasoningStep) -> Iterator[str]:
    head = f"{step.type} {step.tool.name if step.tool is not None else ''}\0"
    inputs = _encode(step.input).decode() if step.input else ""
    words = _WORD.findall(f"{step.content or ''} {inputs} {step.output_summary or ''}".lower())
    for start in range(max(1, len(words) - WORDS_IN_SHINGLE + 1)):
        yield head + " ".join(words[start : start + WORDS_IN_SHINGLE])


@lru_cache(maxsize=1)
def _permutations() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    import numpy as np

    rng = np.random.default_rng(_SEED)
    numbers = rng.integers(0, 2**64, size=(2, PERMUTATIONS), dtype=np.uint64, endpoint=False)
    return numbers[0] | np.uint64(1), numbers[1]
