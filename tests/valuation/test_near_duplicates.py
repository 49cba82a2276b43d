"""Near-duplicates are merged, with the reason for each."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import fairtrial
from fairtrial.errors import UsageError
from fairtrial.formats import knowledgepulse
from fairtrial.records.reasoning import ReasoningTrace
from fairtrial.valuation import near_duplicates
from fairtrial.valuation.near_duplicates import DedupOptions, DuplicateFinder
from fairtrial.valuation.step_sketches import similarity, sketch
from reasonings import WORDS, by_words, reasoning


def trace(number: int, words: list[str], *, tool: str = "grep") -> ReasoningTrace:
    """A trace with one call that has these words as its argument."""
    steps = [{"step_id": 0, "type": "tool_call", "tool": {"name": tool}, "content": " ".join(words)}]
    built = knowledgepulse.build(reasoning(number, steps=steps))
    assert isinstance(built, ReasoningTrace)
    return built


def jaccard(left: list[str], right: list[str]) -> float:
    """The share of runs of three words that two texts have in common, by sets."""
    first, second = ({tuple(words[start : start + 3]) for start in range(len(words) - 2)} for words in (left, right))
    return len(first & second) / len(first | second)


def variants(count: int, changes: int, rng: random.Random) -> list[list[str]]:
    """Texts of 60 distinct words, and after each some copies in which a few words are replaced."""
    texts: list[list[str]] = []
    for number in range(count):
        words = [f"w{number}x{place}" for place in range(60)]
        texts.append(words)
        for copy in range(1, changes + 1):
            changed = list(words)
            for place in rng.sample(range(60), copy):
                changed[place] = f"new{number}x{copy}x{place}"
            texts.append(changed)
    return texts


def test_similarity_is_the_exact_share_of_common_shingles() -> None:
    """The similarity of two traces is the Jaccard index of their runs of three words."""
    texts = variants(1, 6, random.Random(1))
    for left, right in combinations(texts, 2):
        assert similarity(sketch(trace(0, left)), sketch(trace(1, right))) == pytest.approx(jaccard(left, right))


@pytest.mark.long
def test_no_pair_above_the_threshold_is_missed() -> None:
    """Of 120 traces, the same are merged as when each is compared with each earlier trace that stands for itself."""
    texts = variants(20, 5, random.Random(2))
    found = DuplicateFinder(DedupOptions()).find([trace(number, words) for number, words in enumerate(texts)])
    originals: list[int] = []
    for number, words in enumerate(texts):
        shares = [(jaccard(words, texts[other]), other) for other in originals]
        share, nearest = max(shares, key=lambda pair: pair[0], default=(0.0, -1))
        expected = [f"kp:trace:{nearest}", round(share, 9)] if share >= 0.8 else []
        duplicate = found[number]
        assert ([duplicate.of, round(duplicate.similarity, 9)] if duplicate else []) == expected
        originals += [] if duplicate else [number]
    assert 20 < len(originals) < 120


def test_traces_with_different_tools_are_never_duplicates() -> None:
    """The same words in a call of another tool are another trace, for steps and for vectors."""
    finder = DuplicateFinder(DedupOptions(similarity=0.01, cosine=0.01))
    traces = [trace(number, list(WORDS), tool=tool) for number, tool in enumerate(["grep", "delete"])]
    assert finder.find(traces, np.array([[1.0, 0.0]] * 2, dtype=np.float32)) == [None, None]


def test_a_chain_of_small_changes_is_not_merged_into_its_first_trace() -> None:
    """Each duplicate is compared with the trace that it is merged into, so a long chain has several of these."""
    words = [f"w{place}" for place in range(60)]
    finder = DuplicateFinder(DedupOptions())
    merges: dict[str, float] = {}
    for number in range(30):
        words = [*words[2:], f"n{number}a", f"n{number}b"]
        (duplicate,) = finder.find([trace(number, words)])
        if duplicate is not None:
            merges[f"kp:trace:{number}"] = duplicate.similarity
    assert 0 < len(merges) < 29
    assert min(merges.values()) >= 0.8


def test_other_words_with_the_same_meaning_are_merged_by_their_vectors() -> None:
    """Texts in another order share few shingles, and have the same vector as sums of words."""
    words, mixed = list(WORDS), sorted(WORDS)
    vectors = by_words([" ".join(words), " ".join(mixed)])
    first, duplicate = DuplicateFinder(DedupOptions()).find([trace(0, words), trace(1, mixed)], vectors)
    assert first is None
    assert duplicate is not None
    assert (duplicate.of, duplicate.by) == ("kp:trace:0", "embedding")
    assert duplicate.similarity == pytest.approx(1.0, abs=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("sizes", [[1] * 900, [512, 388], [900]], ids=["one by one", "chunks", "all"])
def test_vectors_are_compared_with_all_earlier_originals(sizes: list[int]) -> None:
    """In blocks as one by one: 900 traces with three sets of tools are merged as a search through all would merge."""
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(120, 16))
    rows = centres[rng.integers(0, 120, 900)] + 0.05 * rng.normal(size=(900, 16))
    vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    texts = [[f"w{number}-{place}" for place in range(20)] for number in range(900)]
    traces = [trace(number, words, tool=f"tool_{number % 3}") for number, words in enumerate(texts)]
    finder, merges, low = DuplicateFinder(DedupOptions()), [], 0
    for size in sizes:
        merges += finder.find(traces[low : low + size], vectors[low : low + size])
        low += size
    originals: list[int] = []
    for number, duplicate in enumerate(merges):
        cosines = {other: float(vectors[number] @ vectors[other]) for other in originals if (number - other) % 3 == 0}
        nearest = max(cosines, key=cosines.__getitem__, default=-1)
        is_repeated = nearest >= 0 and cosines[nearest] >= 0.98
        assert (duplicate.of if duplicate else "") == (f"kp:trace:{nearest}" if is_repeated else "")
        originals += [] if duplicate else [number]
    assert 300 < len(originals) < 700


@pytest.mark.long
@pytest.mark.parametrize("size", [256, 100])
def test_a_graph_finds_the_duplicates_of_many_vectors(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Nearly all of those that a search through all finds, and no others."""
    pytest.importorskip("usearch", reason="the extra approximate is not installed")
    monkeypatch.setattr(near_duplicates, "GRAPH_FROM", 150)
    monkeypatch.setattr(near_duplicates, "_ROWS", 40)
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(400, 48))
    rows = centres[rng.integers(0, 400, 1200)] + 0.05 * rng.normal(size=(1200, 48))
    vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    traces = [trace(number, [f"w{number}-{place}" for place in range(20)]) for number in range(1200)]
    exact, approximate = (DuplicateFinder(DedupOptions(approximate=by_graph)) for by_graph in (False, True))
    expected = exact.find(traces, vectors)
    proposed = [
        merge
        for low in range(0, 1200, size)
        for merge in approximate.find(traces[low : low + size], vectors[low : low + size])
    ]
    pairs = list(zip(proposed, expected, strict=True))
    assert sum(duplicate is not None for duplicate in expected) > 500
    assert sum((one and one.of) == (other and other.of) for one, other in pairs) >= 0.99 * len(pairs)
    assert all(duplicate is None or duplicate.similarity >= 0.98 - 1e-6 for duplicate in proposed)


@pytest.mark.parametrize("limits", [{"similarity": 0.0}, {"similarity": 1.5}, {"cosine": -1.0}])
def test_limits_outside_of_0_to_1_are_refused(limits: dict[str, Any]) -> None:
    """The message names the option and its range."""
    with pytest.raises(UsageError, match="must be a number above 0, at most 1"):
        DedupOptions(**limits).check()


def test_letters_of_korean_japanese_and_chinese_are_words() -> None:
    """A change of one word in a text without spaces leaves most of the text in common."""
    left = trace(0, ["我们检查数据库连接超时的原因并且重启服务然后确认延迟恢复正常"])
    right = trace(1, ["我们检查数据库连接超时的原因并且重启系统然后确认延迟恢复正常"])
    assert 0.5 < similarity(sketch(left), sketch(right)) < 1.0


def test_python_programs_find_duplicates_of_traces_that_they_hold() -> None:
    """The result has an entry for each trace, with an embedder or without."""
    traces = [reasoning(0), reasoning(1, text="another thought"), reasoning(2)]
    by_steps = fairtrial.find_duplicates(traces, similarity=0.6)
    assert [duplicate and duplicate.of for duplicate in by_steps] == [None, None, "kp:trace:0"]
    assert fairtrial.find_duplicates([], embedder=by_words) == ()
    by_vector = fairtrial.find_duplicates(traces, embedder=by_words, similarity=1.0, cosine=0.1)
    assert [duplicate and duplicate.by for duplicate in by_vector] == [None, "embedding", "embedding"]


def test_whole_traces_are_embedded_on_demand() -> None:
    """Two traces with equal contents and different results have equal vectors, unless everything is embedded."""
    traces = [trace(0, list(WORDS)), trace(1, list(WORDS))]
    steps = [replace(traces[1].steps[0], output_summary=" ".join(f"r{place}" for place in range(200)))]
    traces[1] = replace(traces[1], steps=tuple(steps))
    _, contents = fairtrial.find_duplicates(traces, embedder=by_words)
    _, whole = fairtrial.find_duplicates(traces, embedder=by_words, novelty_of="trace")
    assert contents is not None
    assert contents.by == "embedding"
    assert whole is None
