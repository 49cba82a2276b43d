"""`fairtrial.value`: the value of a trace, asked from Python."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fairtrial.errors import CaseError, FormatError, UsageError
from fairtrial.formats import knowledgepulse
from fairtrial.records.reasoning import ReasoningTrace
from fairtrial.records.trace import Invocation, Message, Trace
from fairtrial.valuation import embed
from fairtrial.valuation.embed import TokenCount
from fairtrial.valuation.novelty import VectorCache
from fairtrial.valuation.single import shared_cache, value
from reasonings import by_words, many, reasoning


def test_one_trace_gives_one_value_and_several_give_several() -> None:
    """A trace gives a record, an iterable a tuple of them in order, none an empty one."""
    assert value(reasoning(3), embedder=None).id == "kp:trace:3"
    assert [one.id for one in value(iter(map(reasoning, range(3))), embedder=None)] == [
        f"kp:trace:{n}" for n in range(3)
    ]
    assert value([], embedder=None) == ()


def test_the_noun_and_its_json_have_the_same_value() -> None:
    """A ReasoningTrace and the object that it was read from."""
    trace = knowledgepulse.loads(json.dumps(reasoning()))
    assert value(trace, embedder=None) == value(reasoning(), embedder=None)


def test_the_breakdown_says_how_it_came_about() -> None:
    """Without embedder: novelty one half, no nearest, and the weights that were used."""
    found = value(reasoning(), embedder=None)
    assert (found.embedder, found.mode, found.novelty, found.nearest) == ("none", "none", 0.5, None)
    assert found.weights.novelty == 0.35


def test_a_repeated_trace_is_not_new() -> None:
    """In a cache of its own, the second time it has novelty 0 and is nearest to itself."""
    cache = VectorCache()
    first, again = (value(reasoning(1), embedder=by_words, cache=cache) for _ in range(2))
    assert (first.novelty, again.novelty) == (0.5, 0.0)
    assert again.nearest is not None
    assert again.nearest.id == "kp:trace:1"


def test_the_process_remembers_between_calls_until_it_is_told_to_forget() -> None:
    """Without a cache the process's own is used; it can be reset."""
    value(reasoning(), embedder=by_words)
    assert value(reasoning(), embedder=by_words).novelty == 0.0
    own = shared_cache(by_words)
    assert own is not None
    own.reset()
    assert value(reasoning(), embedder=by_words).novelty == 0.5


def test_leaving_one_out_remembers_nothing() -> None:
    """A set valued twice has the same values."""
    traces = many(20)
    first, again = (value(traces, embedder=by_words, novelty="leave-one-out") for _ in range(2))
    assert first == again


def test_an_index_is_extended_by_a_sequence_and_only_searched_as_a_corpus(tmp_path: Path) -> None:
    """A sequence leaves its traces in the index; a corpus finds them there and adds nothing."""
    index = tmp_path / "index"
    value(many(5), embedder=by_words, index=index)
    before = index.read_bytes()
    copies = [trace | {"id": f"{trace['id']}-copy"} for trace in many(5)]
    again = value(copies, embedder=by_words, index=index, novelty="corpus")
    assert [one.novelty for one in again] == [0.0] * 5
    assert index.read_bytes() == before


def test_what_was_built_in_python_is_checked_too() -> None:
    """A noun is not checked when it is built; its value would be above 1."""
    good = knowledgepulse.loads(json.dumps(reasoning()))
    bad = ReasoningTrace(
        good.id, good.metadata, good.task, good.steps, type(good.outcome)(result_summary="", confidence=float("nan"))
    )
    with pytest.raises(FormatError, match="/outcome/confidence"):
        value(bad, embedder=None)


def test_every_problem_of_a_bad_trace_is_raised() -> None:
    """Two problems, both with their pointers."""
    with pytest.raises(FormatError) as caught:
        value(reasoning(steps=[], outcome={"result_summary": "", "confidence": 2}), embedder=None)
    assert [problem.partition(":")[0] for problem in caught.value.problems] == ["/steps", "/outcome/confidence"]


def test_any_trace_has_a_value_once_what_it_does_not_say_is_said() -> None:
    """One reply: C = 1/4 * 0.5 + 1/20 * 0.2 = 0.135; no tool; O = 0.8; score = 0.25 C + 0.175 + 0.2."""
    trace = Trace((Invocation(Message("hi"), (), Message("hello")),))
    assert value(trace, embedder=None, confidence=0.8, success=True).score == pytest.approx(0.40875)
    with pytest.raises(CaseError):
        value(trace, embedder=None)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"novelty": "sequenze"}, "did you mean 'sequence'"),
        ({"novelty": "corpus", "embedder": by_words}, "needs an index"),
        ({"novelty": "leave-one-out"}, "needs an embedder"),
        ({"novelty": "leave-one-out", "embedder": by_words, "index": "i"}, "takes no index"),
        ({"index": "i"}, "needs an embedder"),
        ({"profile": "x"}, "profile: must be one of"),
        ({"confidence": 5}, "confidence: must be a number from 0 to 1, got 5"),
        ({"novelty": "corpus", "embedder": by_words, "index": "/nowhere/i"}, "no such index"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, object], problem: str) -> None:
    """Before anything is computed, with what is allowed."""
    with pytest.raises(UsageError, match=problem):
        value(reasoning(), **({"embedder": None} | options))  # type: ignore[call-overload]


@pytest.mark.parametrize("wrong", ["traces.jsonl", [5], b"{}", 5, None])
def test_what_is_no_trace_is_refused_with_what_would_be_one(wrong: Any) -> None:
    """A path is no trace, and a number neither."""
    with pytest.raises(UsageError, match="must be a ReasoningTrace, a Trace, a JSON object, or several of them, got "):
        value(wrong, embedder=None)


def test_without_an_embedder_it_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """From two places in a program, under Python's own rule that a place is warned of once."""
    monkeypatch.setattr(embed, "installed_embedder", lambda: None)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("default")
        found = [value(reasoning())]
        found += value([reasoning()])
    assert [one.mode for one in found] == ["none", "none"]
    assert ["no embedder is installed" in str(one.message) for one in said] == [True]


class _EnglishEmbedder:
    """Embeds words, sees five of them, and knows English only."""

    name = "english"
    is_english = True

    def __call__(self, texts: Sequence[str]) -> Any:
        return by_words(texts)

    def count_tokens(self, texts: Sequence[str]) -> list[TokenCount]:
        lengths = [len(text.split()) for text in texts]
        return [TokenCount(min(5, length), length) for length in lengths]


def test_a_truncated_text_is_reported_with_its_tokens() -> None:
    """The fields say how much the embedder saw, and a warning says it in words. The score does not change."""
    trace = reasoning(text="one two three four")
    result = value(trace, embedder=_EnglishEmbedder(), cache=VectorCache())
    assert (result.tokens_seen, result.tokens) == (5, 10)
    assert "the embedder saw 5 of 10 tokens" in result.warnings
    assert result.score == value(trace, embedder=by_words, cache=VectorCache()).score


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("로그에서 오류를 찾았습니다", "Korean"),
        ("ログでエラーを見つけました", "Japanese"),
        ("在日志中找到了错误", "Chinese"),
    ],
)
def test_a_language_that_the_embedder_does_not_know_is_reported(text: str, language: str) -> None:
    """An English model says little about other languages, so the value says so. An unknown model is not accused."""
    trace = reasoning(task={"objective": text}, text=text, steps=[{"step_id": 0, "type": "thought", "content": text}])
    warning = f"the trace is {language}, and the embedder english knows English only"
    assert warning in value(trace, embedder=_EnglishEmbedder(), cache=VectorCache()).warnings
    assert warning not in value(trace, embedder=by_words, cache=VectorCache()).warnings
