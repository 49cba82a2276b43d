"""Numbers equal those of google-adk 2.13, except if criteria.md says that they do not."""

from __future__ import annotations

from math import isclose
from typing import Any

import pytest

from builders import call, case, trace, turn, values
from fairtrial.errors import ConfigError
from fairtrial.formats.adk.usage import usage
from fairtrial.formats.reading import Diagnostics
from fairtrial.metrics.efficiency import InferenceCallCount, TokenUsage, ToolCallCount
from fairtrial.metrics.response import ResponseMatch
from fairtrial.metrics.trajectory import ToolTrajectory
from fairtrial.records.result import Criterion, Outcome, Verdict
from fairtrial.records.trace import Invocation, Message, ToolCall, Usage
from fairtrial.text import rouge

pytestmark = pytest.mark.shared


def read_calls(raw: list[dict[str, Any]] | None) -> tuple[ToolCall, ...] | None:
    """The calls of a vector; null is "no intermediate data"."""
    return None if raw is None else tuple(ToolCall(one["name"], one.get("args") or {}) for one in raw)


def turns(raw: list[dict[str, Any]], side: str) -> list[Invocation]:
    """One side of the invocations of a trajectory vector."""
    return [Invocation(Message("q"), read_calls(one[side])) for one in raw]


def is_difference(one: dict[str, Any]) -> bool:
    """Whether a vector shows one of the three differences that tests below name."""
    return any(pair["expected"] is None or _meets_a_difference(pair) for pair in one["invocations"])


def _meets_a_difference(pair: dict[str, Any]) -> bool:
    """Whether two calls meet of which one has no `args` and the other `{}`, or one has `true` and the other 1."""
    return any(
        ours["name"] == theirs["name"]
        and (ours.get("args") or {}) == (theirs.get("args") or {})
        and repr(ours) != repr(theirs)
        and (("args" in ours) != ("args" in theirs) or ("True" in repr(ours)) != ("True" in repr(theirs)))
        for ours in pair["actual"] or []
        for theirs in pair["expected"]
    )


def test_trajectory_scores_are_the_peers(vectors: dict[str, Any]) -> None:
    """Every trajectory vector without a named difference gives the peer's part values and score."""
    compared = 0
    for one in vectors["trajectory"]:
        if is_difference(one):
            continue
        metric = ToolTrajectory(match_type=one["match_type"], ignore_args=one["ignore_args"])
        score = metric(trace(*turns(one["invocations"], "actual")), case(*turns(one["invocations"], "expected")))
        assert values(score) == one["per_invocation"], one
        assert score.value == one["score"], one
        compared += 1
    assert compared > 250, "nearly all of the 267 vectors must be compared"


def test_trajectory_verdicts_are_the_peers(vectors: dict[str, Any]) -> None:
    """A trajectory score held against its threshold passes and fails as in the peer."""
    for one in vectors["trajectory"]:
        if is_difference(one):
            continue
        metric = ToolTrajectory(match_type=one["match_type"], ignore_args=one["ignore_args"])
        score = metric(trace(*turns(one["invocations"], "actual")), case(*turns(one["invocations"], "expected")))
        verdict = Outcome("tool_trajectory_avg_score", score, one["threshold"]).verdict
        assert verdict == one["status"].lower(), one


def test_expected_null_is_not_applicable(vectors: dict[str, Any]) -> None:
    """Without intermediate data nothing is expected, and nothing scored; the peer scores it as "no calls"."""
    seen = 0
    for one in vectors["trajectory"]:
        for pair in one["invocations"]:
            if pair["expected"] is None:
                expected, actual = turns([pair], "expected"), turns([pair], "actual")
                score = ToolTrajectory()(trace(*actual), case(*expected))
                assert not score.applicable, one
                seen += 1
    assert seen, "the vectors hold this difference"


def test_true_is_not_one(vectors: dict[str, Any]) -> None:
    """The peer compares arguments as Python does, where True == 1; in JSON they differ."""
    assert any(is_difference(one) for one in vectors["trajectory"])
    score = ToolTrajectory()(trace(turn(call("A", x=True))), case(turn(call("A", x=1))))
    assert score.value == 0


def test_absent_arguments_equal_no_arguments(vectors: dict[str, Any]) -> None:
    """A hand-written call without `args` matches a model's `{}`; in the peer it never does."""
    seen = 0
    for one in vectors["trajectory"]:
        for pair in one["invocations"]:
            absent = [each for each in pair["expected"] or [] if "args" not in each]
            if not absent:
                continue
            plain = [{"name": each["name"], "args": each.get("args") or {}} for each in pair["expected"]]
            score = ToolTrajectory()(
                trace(Invocation(Message("q"), read_calls(plain))), case(*turns([pair], "expected"))
            )
            assert score.value == 1, one
            seen += 1
    assert seen, "the vectors hold this difference"


def test_lengths_may_differ(vectors: dict[str, Any]) -> None:
    """The peer raises for another number of turns; here a missing turn has the worst value."""
    assert vectors["trajectory_errors"][0]["raises"] == "ValueError"
    score = ToolTrajectory()(trace(turn(call("A"))), case(turn(call("A")), turn(call("B"))))
    assert values(score) == [1, 0]


def test_match_type_spellings_are_the_peers(vectors: dict[str, Any]) -> None:
    """Every spelling that the peer reads is read the same way, and every other one is refused."""
    for one in vectors["match_type_coercion"]:
        if "result" in one:
            assert ToolTrajectory(match_type=one["match_type"]).match_type == one["result"], one
        else:
            with pytest.raises(ConfigError, match="must be one of EXACT, IN_ORDER, ANY_ORDER"):
                ToolTrajectory(match_type=one["match_type"])


def test_rouge_tokens_are_the_peers(vectors: dict[str, Any]) -> None:
    """Texts of any script are cut into the peer's tokens."""
    for one in vectors["rouge_tokens"]:
        assert rouge.characters(one["text"]) == one["tokens"], one


def test_stems_are_the_peers(vectors: dict[str, Any]) -> None:
    """Every word is stemmed as by the peer, which leaves words of up to three letters alone."""
    for word, stem in vectors["porter_stem"].items():
        assert rouge.characters(word) == [stem if len(word) > 3 else word], word


def test_rouge_is_the_peers(vectors: dict[str, Any]) -> None:
    """Precision, recall and F equal the peer's to 1e-12."""
    for one in vectors["rouge"]:
        found = rouge.rouge(rouge.characters(one["candidate"]), rouge.characters(one["reference"]))
        for name in ("precision", "recall", "f"):
            assert isclose(getattr(found, name), one[name], abs_tol=1e-12), one


def replies(raw: list[dict[str, Any]], side: str) -> list[Invocation]:
    """One side of the invocations of a ROUGE case; null is "no reply", or "no reference"."""
    return [turn(reply=one[side]) for one in raw]


def test_response_cases_are_the_peers(vectors: dict[str, Any]) -> None:
    """Every invocation with a reference has the peer's number; where all have one, so has the case."""
    for one in vectors["rouge_cases"]:
        raw = one["invocations"]
        score = ResponseMatch()(trace(*replies(raw, "actual")), case(*replies(raw, "expected")))
        for part, pair, theirs in zip(score.parts, raw, one["per_invocation"], strict=True):
            if pair["expected"] is not None:
                assert part.value is not None
                assert isclose(part.value, theirs, abs_tol=1e-12), one
        if all(pair["expected"] is not None for pair in raw):
            assert score.value is not None
            assert isclose(score.value, one["score"], abs_tol=1e-12), one
            assert Outcome("response_match_score", score, one["threshold"]).verdict == one["status"].lower()


def test_no_reference_is_not_applicable(vectors: dict[str, Any]) -> None:
    """The peer scores a missing reference as an empty one, which is always 0; here there is nothing to compare with."""
    seen = 0
    for one in vectors["rouge_cases"]:
        for pair in one["invocations"]:
            if pair["expected"] is None:
                assert not ResponseMatch()(trace(*replies([pair], "actual")), case(turn())).applicable
                seen += 1
    assert seen, "the vectors hold this difference"


def test_case_verdicts_are_the_peers_except_that_unscored_blocks(vectors: dict[str, Any]) -> None:
    """Of any verdicts of metrics follows the peer's case status; but an unscored one is never covered by a passed one.

    The peer has one word, NOT_EVALUATED, for unscored and for informational cases.
    """
    from fairtrial.records.result import CaseResult
    from fairtrial.records.score import Score

    made = {
        "PASSED": Outcome("m", Score(1.0), 0.5),
        "FAILED": Outcome("m", Score(0.0), 0.5),
        "NOT_EVALUATED": Outcome("m", Score(None), 0.5),
        "INFORMATIONAL": Outcome("m", Score(1.0)),
    }
    for one in vectors["final_status"]:
        statuses = one["metric_statuses"]
        verdict = CaseResult("case", 0, tuple(made[status] for status in statuses)).verdict
        if "NOT_EVALUATED" in statuses and "FAILED" not in statuses:
            assert verdict is Verdict.UNSCORED, one
        elif one["final"] == "NOT_EVALUATED":
            assert verdict is Verdict.INFORMATIONAL, one
        else:
            assert verdict == one["final"].lower(), one


_WIRE_NAMES = ("prompt", "candidates", "thoughts", "tool_use_prompt", "cached_content")


def used_tokens(counts: list[int | None]) -> Usage:
    """The tokens of a model call, by the reader of ADK's files."""
    metadata = {f"{name}_token_count": count for name, count in zip(_WIRE_NAMES, counts, strict=False)}
    found = usage({"usage_metadata": metadata}, (), Diagnostics("vector"))
    assert found is not None
    return found


def used(raw: dict[str, Any]) -> Invocation:
    """An invocation of an efficiency vector: its model calls and its tool calls."""
    usages = tuple(used_tokens(counts or []) for counts in raw["usage"])
    return Invocation(Message("q"), tuple(call("f") for _ in range(raw["tool_calls"])), Message("a"), usages=usages)


def test_efficiency_is_the_peers(vectors: dict[str, Any]) -> None:
    """Tool calls, model calls and the tokens of each invocation are the peer's, if each model call has tokens."""
    for one in vectors["efficiency"]:
        happened = trace(*map(used, one["invocations"]))
        assert ToolCallCount()(happened, case()).value == one["tool_calls"], one
        assert InferenceCallCount()(happened, case()).value == one["inference_calls"], one
        assert values(TokenUsage()(happened, case())) == known_tokens(one), one


def known_tokens(one: dict[str, Any]) -> list[float | None]:
    """The peer's tokens of each invocation, without those that have a model call of unknown tokens."""
    totals = [[used_tokens(counts or []).total_tokens for counts in raw["usage"]] for raw in one["invocations"]]
    return [None if None in each else tokens for each, tokens in zip(totals, one["token_per_invocation"], strict=True)]


def test_mean_tokens_are_of_the_invocations_that_recorded_all(vectors: dict[str, Any]) -> None:
    """The peer divides by all turns, and adds nothing for calls of unknown tokens: silent understatements."""
    differ = 0
    for one in vectors["efficiency"]:
        known = [value for value in known_tokens(one) if value is not None]
        score = TokenUsage()(trace(*map(used, one["invocations"])), case())
        assert score.value == (sum(known) / len(known) if known else None), one
        differ += score.value != one["token_total"]
    assert differ, "the vectors hold this difference"


def test_efficiency_without_threshold_informs(vectors: dict[str, Any]) -> None:
    """Without a threshold the efficiency criteria only inform, also where nothing was recorded."""
    for one in vectors["efficiency"]:
        score = TokenUsage()(trace(*map(used, one["invocations"])), case())
        assert Outcome("token_usage_v1", score).verdict == one["status"].lower()


def test_configs_that_the_peer_reads(vectors: dict[str, Any]) -> None:
    """Thresholds are coerced as in the peer; but where it ignores a mistake, there is an error."""
    from builders import load
    from fairtrial.errors import UsageError
    from fairtrial.loading import join_criteria

    for one in vectors["config"]:
        criteria = one["config"].get("criteria") or {}
        if "raises" in one or "x" in criteria or not criteria:
            with pytest.raises(UsageError):
                join_criteria(load(one["config"]).config or pytest.fail("not a config"), origin="here")
            continue
        config = load(one["config"]).config
        assert config is not None
        made: tuple[Criterion, ...] = join_criteria(config, origin="here").criteria
        assert {each.name: each.threshold for each in made} == one["result"]
